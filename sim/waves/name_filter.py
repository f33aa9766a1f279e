"""Which names a regular expression matches, in a bounded time for each."""

import re
import signal
import threading
from types import FrameType

from ..errors import OptionError

__all__ = ["NameFilter"]

SECONDS = 1.0     # for one name; a sound expression takes microseconds

# Like names of ours, but for their ends.
_PROBES = ("machine.core.matrix_unit.mesh.cell_0_0.next_weight_valid!",
           "machine.core.loader.loading.loading.loading!", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!")


class _TooLong(Exception):
    pass


class NameFilter:
    """Searches names; an expression that takes forever is refused.

    Where the host or the thread has no timer, there is no limit.

    Parameters
    ----------
    expression : str or None
        A regular expression; None takes every name.

    Raises
    ------
    OptionError
        It takes more than `SECONDS` for a name: here, or in :meth:`search`.
    """

    def __init__(self, expression: str | None):
        self._expression = re.compile(expression or "")
        for name in _PROBES:
            self.search(name)

    def search(self, name: str) -> bool:
        """Whether some part of the name matches."""
        if not self._expression.pattern:
            return True
        if (not hasattr(signal, "setitimer")
                or threading.current_thread() is not threading.main_thread()):
            return self._expression.search(name) is not None
        before = signal.signal(signal.SIGALRM, _stop)
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        try:
            return self._expression.search(name) is not None
        except _TooLong:
            raise OptionError(f"vcd signals {self._expression.pattern} takes more than "
                              f"{SECONDS:g} s to match a name such as {name}; choose a regular "
                              f"expression without nested repeats") from None
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise _TooLong
