"""Ctrl-C while the command line is still being loaded, or a core built."""

import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["INTERRUPTED", "drop_unused", "quiet_interrupt"]

INTERRUPTED = 130   # exit status


@contextmanager
def quiet_interrupt() -> Iterator[None]:
    """Ctrl-C ends the process with one line and a status, as later in a run."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, _exit)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def drop_unused() -> None:
    """No warnings about components that the interrupted build of a core has not reached."""
    warnings.filterwarnings("ignore", message=".* created but never used")


def _exit(_number: int, _frame: FrameType | None) -> None:
    print("interrupted", file=sys.stderr)
    raise SystemExit(INTERRUPTED)
