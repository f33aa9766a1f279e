"""The console of a command's stdout."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

__all__ = ["output_console"]


@contextmanager
def output_console() -> Iterator[Console]:
    """A console that prints when the block ends: in colour on a terminal, else plain text."""
    console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
    if console.is_terminal:
        yield console
        return
    with console.capture() as capture:
        yield console
    sys.stdout.writelines(f"{line.rstrip()}\n" for line in capture.get().splitlines())
