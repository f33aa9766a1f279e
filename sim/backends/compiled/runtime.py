"""CXXRTL's header as the generated C++ includes it."""

from pathlib import Path

from .compiler import runtime_folder
from .sources import source_folder

__all__ = ["write_runtime"]

_EMPTY = "chunk::type data[chunks] = {};"
_SLICES = "// Expression template for a slice,"
_AFTER_SLICES = "// Base class for expression templates,"
_COMMIT = """		if (curr != next) {
			observer.on_update(curr.chunks, curr.data, next.data);
			curr = next;
			return true;
		}
		return false;
"""
_COPY = """		curr = next;
		return false;
"""


def write_runtime(folder: Path, *, delta: bool) -> None:
    """Write the header into `folder`/cxxrtl, with changes.

    A value of no bits has no data there, although shifts and memory addresses read its first
    chunk: here it has one, which is 0. Slices and concatenations are those of slices.h. A commit
    tells whether anything has changed only with `delta`, for a machine that is evaluated until
    nothing does; otherwise it is a copy.
    """
    text = (runtime_folder() / "cxxrtl" / "cxxrtl.h").read_text(encoding="utf-8")
    text = text.replace(_EMPTY, "chunk::type data[chunks ? chunks : 1] = {};")
    if not delta:
        text = text.replace(_COMMIT, _COPY)
    before, rest = text.split(_SLICES)
    after = rest[rest.index(_AFTER_SLICES):]
    slices = (source_folder() / "slices.h").read_text(encoding="utf-8")
    (folder / "cxxrtl").mkdir()
    (folder / "cxxrtl" / "cxxrtl.h").write_text(f"{before}{slices}{after}", encoding="utf-8")
