"""Writes the GTKWave save file of a waveform."""

import math
import os
from collections.abc import Mapping

from vcd.gtkw import GTKWFlag, GTKWSave

from ..errors import OptionError
from .layout import GROUPS, Group, Row
from .phases import Phases, read_phases
from .reader import read_header
from .vcd_parser import VCDVCD

__all__ = ["gtkw_path", "write_gtkw"]

_WIDTH, _HEIGHT = 1600, 1000  # of the window, in pixels
_NAMES_WIDTH = 290            # of its part that shows names and values
_WAVES_WIDTH = 1250           # of its part that shows waves
_FRAME = 200                  # pixels in the unit of GTKWave's zoom
_SHOWN_CYCLES = 120           # at most, when the file is opened
_OPEN_LANES = 8               # a group with more lines starts closed
_TAIL = 1 << 16               # bytes at the end of a file in which its last time stamp stands


def gtkw_path(vcd_path: str | os.PathLike[str]) -> str:
    """Where the save file of a waveform is: beside it.

    Raises
    ------
    OptionError
        That is the waveform itself.
    """
    vcd_path = os.fspath(vcd_path)
    path = os.path.splitext(vcd_path)[0] + ".gtkw"
    if path == vcd_path:
        raise OptionError(f"vcd {vcd_path}: .gtkw is the ending of the save file beside it")
    return path


def write_gtkw(vcd_path: str | os.PathLike[str], phases: Phases | None = None) -> str:
    """Write the .gtkw beside a VCD file of ours, from the names in the file.

    Parameters
    ----------
    vcd_path : path
    phases : Phases or None
        Where the markers are; read from the file when not given.

    Returns
    -------
    str
        The path of the .gtkw.

    Raises
    ------
    OptionError
        The VCD file is missing or not ours, or the .gtkw cannot be written.
    """
    vcd_path = os.fspath(vcd_path)
    header = read_header(vcd_path)
    path = gtkw_path(vcd_path)
    try:
        if phases is None:
            phases = read_phases(vcd_path)
        times, names = _time_range(vcd_path), _read_widths(vcd_path)
    except OptionError:
        raise
    except (IndexError, KeyError, ValueError) as error:   # from wherever a number should stand
        raise OptionError(f"{vcd_path}: not a valid VCD file: {error}") from None
    try:
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            save = GTKWSave(file)
            save.dumpfile(os.path.basename(vcd_path), abspath=False)
            save.size(_WIDTH, _HEIGHT)
            save.treeopen("machine")
            save.treeopen("machine.core")
            save.sst_expanded(False)
            save.signals_width(_NAMES_WIDTH)
            _place(save, header.period, phases, *times)
            for group in GROUPS:
                _write_group(save, group, names, phases.first_handoff is not None)
    except OSError as error:
        raise OptionError(f"{path}: cannot be written: {error.strerror}") from None
    return path


def _read_widths(path: str) -> Mapping[str, int]:
    """All variables of a VCD file and their widths; 0 for text."""
    vcd = VCDVCD(path, only_sigs=True)
    variables = ((name, vcd.data[vcd.references_to_ids[name]]) for name in vcd.signals)
    return {name: 0 if variable.var_type == "string" else int(variable.size)
            for name, variable in variables}


def _time_range(path: str) -> tuple[int, int]:
    """First and last time stamp of a VCD file."""
    with open(path, "rb") as file:
        first = next((int(line[1:]) for line in file if line.startswith(b"#")), 0)
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - _TAIL))
        stamps = [line for line in file.read().splitlines() if line.startswith(b"#")]
    return first, int(stamps[-1][1:]) if stamps else first


def _place(save: GTKWSave, period: int, phases: Phases, first: int, last: int) -> None:
    """Zoom, markers and the first time shown."""
    shown = max(period, min(last - first, _SHOWN_CYCLES * period))
    named = {"a": ("first row", phases.first_row), "b": ("last row", phases.last_row),
             "c": ("last store", phases.last_store)}
    markers = {letter: cycle * period for letter, (_name, cycle) in named.items()
               if cycle is not None}
    save.timestart(first)
    save.zoom_markers(-math.log2(shown * _FRAME / _WAVES_WIDTH), markers.get("a", -1),
                      **markers)  # type: ignore[arg-type]  # as pyvcd annotates it
    for letter in markers:
        save.file.write(f"[markername] {letter.upper()}{named[letter][0]}\n")


def _lines(item: Row | Group, names: Mapping[str, int]) -> int:
    if isinstance(item, Row):
        return len(list(item.found(names)))
    return sum(_lines(row, names) for row in item.rows)


def _write_group(save: GTKWSave, group: Group, names: Mapping[str, int], handoff: bool,
                 level: int = 0) -> None:
    lines = _lines(group, names)
    if not lines:
        return
    closed = (group.closed or (group.handoff and not handoff)
              or (level > 0 and lines > _OPEN_LANES))
    with save.group(group.title, closed=closed):
        for item in group.rows:
            if isinstance(item, Group):
                _write_group(save, item, names, handoff, level + 1)
                continue
            for name, label in item.found(names):
                _write_row(save, item, name, label, names[name])


def _write_row(save: GTKWSave, row: Row, name: str, label: str, width: int) -> None:
    flags = GTKWFlag.analog_step | GTKWFlag.analog_fullscale if row.height > 1 else GTKWFlag(0)
    suffix = f"[{width - 1}:0]" if width > 1 else ""
    save.trace(name + suffix, alias=label, color=row.color, datafmt=row.format, extraflags=flags)
    for _line in range(row.height - 1):
        save.blank(analog_extend=True)
