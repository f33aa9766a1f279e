"""vcdvcd's reader, without what importing it does to the process.

The import lets a pipe without a reader end the process (SIGPIPE), where Python raises
BrokenPipeError; here the import leaves things as they were.
"""

import signal
import threading

_SIGPIPE = getattr(signal, "SIGPIPE", None)   # Windows has none
_before = None if _SIGPIPE is None else signal.getsignal(_SIGPIPE)

from vcdvcd import VCDVCD  # noqa: E402

if _SIGPIPE is not None and threading.current_thread() is threading.main_thread():
    signal.signal(_SIGPIPE, _before)

__all__ = ["VCDVCD"]
