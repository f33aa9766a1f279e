"""The progress bar of a run: on a terminal only, on stderr."""

import sys
import threading
import time
from types import TracebackType

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

__all__ = ["NOTE_DELAY", "RunProgress"]

NOTE_DELAY = 1.0   # seconds


class RunProgress:
    """Shows how far a run is; called by `simulate`, used as a context manager.

    Parameters
    ----------
    label : str
        What runs.
    before : str
        What happens before the first cycle.
    note : str or None
        Printed after `NOTE_DELAY` seconds, on a terminal or not: early, but not before a
        refusal of the run, which comes first and alone.

    Attributes
    ----------
    cycles : int
        Simulated so far.
    """

    def __init__(self, label: str, before: str = "", note: str | None = None):
        self.cycles = 0
        self._timer = None if note is None else threading.Timer(NOTE_DELAY, self.say, [note])
        self._label, self._before = label, before
        self._started: float | None = None
        self._bar: Progress | None = None
        self._task = TaskID(0)

    def __enter__(self) -> "RunProgress":
        if sys.stderr.isatty():
            self._bar = Progress(
                TextColumn("{task.description}"), BarColumn(bar_width=None),
                TextColumn("{task.percentage:>3.0f} %"), TextColumn("{task.fields[speed]}"),
                TimeRemainingColumn(compact=True), TextColumn("left"),
                console=Console(file=sys.stderr), transient=True, expand=True)
            self._task = self._bar.add_task(self._label, total=None, speed=self._before)
            self._bar.start()
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._bar is not None:
            self._bar.stop()

    def say(self, note: str) -> None:
        """Print a line now."""
        if self._bar is None:
            click.echo(note, err=True)
        else:
            self._bar.console.print(note, highlight=False, markup=False)

    def __call__(self, cycles: int, done: int, rows: int) -> None:
        """`done` of `rows` activation rows after this many cycles."""
        self.cycles = cycles
        if self._bar is None:
            return
        now = time.perf_counter()
        if self._started is None:
            self._started, self._first = now, cycles
        elapsed = now - self._started
        speed = f"{(cycles - self._first) / elapsed:,.0f} cycles/s" if elapsed else ""
        self._bar.update(self._task, completed=done, total=rows,
                         speed=f"{cycles:,} cycles  {speed}")
