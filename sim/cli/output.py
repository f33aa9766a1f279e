"""The console of a command's stdout."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

__all__ = ["output_console"]


@contextmanager
def output_console(least: int = 60) -> Iterator[Console]:
    """A console that prints when the block ends: in colour on a terminal, else plain text.

    Parameters
    ----------
    least : int
        Columns that the output needs; in a narrower terminal lines wrap and nothing is cut.
    """
    console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
    if console.width < least:
        console.width = least
    with console.capture() as capture:
        yield console
    text = capture.get()
    if not console.is_terminal:
        text = "".join(f"{line.rstrip()}\n" for line in text.splitlines())
    sys.stdout.write(text)
