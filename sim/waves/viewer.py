"""Opens a waveform in GTKWave."""

import os
import shutil
import subprocess
import sys

from .save_file import write_gtkw

__all__ = ["open_waves"]

_started: list[subprocess.Popen] = []  # viewers outlive us; nobody waits for them


def open_waves(vcd_path: str | os.PathLike[str]) -> bool:
    """Write the .gtkw beside a VCD file of ours and show both in GTKWave.

    Returns whether GTKWave was started: False when there is none, or no display for it.

    Raises
    ------
    OptionError
        The file is missing, unreadable or not ours, or the .gtkw cannot be written.
    """
    vcd_path = os.fspath(vcd_path)
    gtkw_path = write_gtkw(vcd_path)
    program = shutil.which("gtkwave")
    if program is None or not _has_display():
        return False
    _started.append(subprocess.Popen(
        [program, vcd_path, gtkw_path], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, start_new_session=True))
    return True


def _has_display() -> bool:
    return (sys.platform in ("win32", "darwin")
            or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")))
