"""Data tables: devices, energies, networks and measured inputs, each with its source.

A table is a TOML file of entries, and an entry holds numbers. A user's own file has the same
form; wherever the name of an entry is expected, FILE.toml (of one entry) or FILE.toml:ENTRY is
taken too.
"""

import functools
import math
import os
import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Any

from ... import workloads
from ...rtl.design_fields import show, unknown_name
from ...rtl.toml_file import read_toml
from ..errors import OptionError

__all__ = ["TABLES", "entry", "figure_text", "look_up", "table"]

#: Name of a table: what its entries are called.
TABLES = {"devices": "device", "energies": "energy table", "networks": "network",
          "measured": "measured input"}
TEXTS = ("title", "source", "unit")

Entry = Mapping[str, Any]


def figure_text(name: str) -> str:
    """The text of a file of the package's data."""
    return (resources.files(__package__) / "data" / name).read_text(encoding="utf-8")


@functools.cache
def table(name: str) -> Mapping[str, Entry]:
    """The built-in table of this name: entries by name.

    `sizes` in an entry names a file of `cubewave.workloads` whose numbers belong to it.
    """
    entries = tomllib.loads(figure_text(f"{name}.toml"))
    for values in entries.values():
        if "sizes" in values:
            text = (resources.files(workloads) / values.pop("sizes")).read_text(encoding="utf-8")
            values.update({key: value for key, value in tomllib.loads(text).items()
                           if _is_number(value)})
    return entries


def _is_number(value: Any) -> bool:
    return (isinstance(value, int | float) and not isinstance(value, bool)
            and math.isfinite(value))


def entry(kind: str, choice: str) -> Entry:
    """An entry of a table.

    Parameters
    ----------
    kind : str
        One of :data:`TABLES`.
    choice : str
        The name of a built-in entry, FILE.toml, or FILE.toml:ENTRY.

    Raises
    ------
    OptionError
        There is no such entry, or the file is not a table.
    """
    built_in = table(kind)
    if choice in built_in:
        return built_in[choice]
    path, colon, name = choice.rpartition(":") if ".toml:" in choice else (choice, "", "")
    if not path.endswith(".toml"):
        what = TABLES[kind]
        raise OptionError(f"{unknown_name(what, choice, built_in)}; valid are "
                          f"{', '.join(built_in)} or FILE.toml")
    entries = _read(path, kind)
    if not colon:
        if len(entries) != 1:
            raise OptionError(f"{path}: has {len(entries)} entries; choose one as {path}:ENTRY, "
                              f"ENTRY being {', '.join(entries) or 'missing'}")
        return next(iter(entries.values()))
    if name not in entries:
        raise OptionError(f"{path}: {unknown_name(TABLES[kind], name, entries)}"
                          if entries else f"{path}: has no entries")
    return entries[name]


def _read(path: str, kind: str) -> dict[str, Entry]:
    """The entries of a user's file; numbers at the top level are one entry."""
    try:
        document = read_toml(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        article = "an" if TABLES[kind].startswith("e") else "a"
        raise OptionError(f"{path}: cannot be read as {article} {TABLES[kind]}: {reason}") from None
    entries: dict[str, Entry] = {name: value for name, value in document.items()
                                 if isinstance(value, dict)}
    entries = entries or {os.path.basename(path): document}
    valid = list(dict.fromkeys(key for values in table(kind).values() for key in values))
    for name, values in entries.items():
        for key, value in values.items():
            if key not in valid:
                raise OptionError(f"{path}: {name}: {unknown_name('number', key, valid)}; valid "
                                  f"are {', '.join(valid)}")
            if key not in TEXTS and not _is_number(value):
                raise OptionError(f"{path}: {name}.{key} must be a number, not {show(value)}")
    return entries


def look_up(reference: str) -> int | float:
    """The number that TABLE.ENTRY.KEY names; ENTRY may contain dots."""
    kind, _, rest = reference.partition(".")
    name, _, key = rest.rpartition(".")
    value = table(kind)[name][key]
    assert isinstance(value, int | float)
    return value
