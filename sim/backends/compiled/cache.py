"""A folder of built machines that several processes may use at once."""

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:      # no Unix: builds are not shared while they are under way
    fcntl = None  # type: ignore[assignment]

from ...errors import OptionError

__all__ = ["Cache", "cache_folder"]

LIMIT_MB = 500   # unless CUBEWAVE_CACHE_MB says otherwise


def cache_folder() -> Path:
    """CUBEWAVE_CACHE_DIR, or cubewave in the user's cache folder."""
    chosen = os.environ.get("CUBEWAVE_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "cubewave"


class Cache:
    """Folders by their key, each built once.

    A build happens beside its final place, under a lock, and is renamed when it is complete; so
    an entry is whole or not there, whoever else builds and whenever a build is killed. The least
    recently used entries go when all together exceed the limit.

    Parameters
    ----------
    folder : Path
    """

    def __init__(self, folder: Path):
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OptionError(f"cache folder {folder}: cannot be made: {error.strerror}; "
                              f"CUBEWAVE_CACHE_DIR names another") from None

    def has(self, key: str) -> bool:
        """Whether an entry is there."""
        return (self._folder / key).is_dir()

    def get(self, key: str, build: Callable[[Path], None], *, rebuild: bool = False) -> Path:
        """The folder of an entry; `build` fills a folder when it is not there.

        A folder whose build raises is kept under `failed`; the build may look up its later place
        with :meth:`failed`.
        """
        entry = self._folder / key
        if not rebuild and entry.is_dir():
            _touch(entry)
            return entry
        with self._lock(key):
            if entry.is_dir() and not rebuild:
                return entry
            started = self._folder / f"{key}.build"
            shutil.rmtree(started, ignore_errors=True)     # of a build that was killed
            started.mkdir()
            try:
                build(started)
            except KeyboardInterrupt:
                shutil.rmtree(started, ignore_errors=True)
                raise
            except Exception:
                kept = self.failed(key)
                shutil.rmtree(kept, ignore_errors=True)
                kept.parent.mkdir(exist_ok=True)
                started.rename(kept)
                raise
            if entry.is_dir():
                old = self._folder / f"{key}.old"
                shutil.rmtree(old, ignore_errors=True)
                entry.rename(old)
                started.rename(entry)
                shutil.rmtree(old, ignore_errors=True)
            else:
                started.rename(entry)
        self._shrink(key)
        return entry

    def failed(self, key: str) -> Path:
        """Where the folder of a failed build is kept."""
        return self._folder / "failed" / key

    @contextlib.contextmanager
    def _lock(self, key: str) -> Iterator[None]:
        with open(self._folder / f"{key}.lock", "w", encoding="ascii") as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _shrink(self, newest: str) -> None:
        """Remove the entries that were used longest ago until the limit holds."""
        limit = _limit_bytes()
        entries = []
        for entry in self._folder.iterdir():
            if entry.is_dir() and "." not in entry.name and entry.name not in (newest, "failed"):
                with contextlib.suppress(OSError):
                    entries.append((entry.stat().st_mtime, _size(entry), entry))
        total = _size(self._folder / newest) + sum(size for _time, size, _entry in entries)
        for _time, size, entry in sorted(entries):
            if total <= limit:
                break
            shutil.rmtree(entry, ignore_errors=True)
            with contextlib.suppress(OSError):
                (self._folder / f"{entry.name}.lock").unlink()
            total -= size


def _limit_bytes() -> int:
    text = os.environ.get("CUBEWAVE_CACHE_MB", str(LIMIT_MB))
    if not text.isdecimal():
        raise OptionError(f"CUBEWAVE_CACHE_MB must be a number of megabytes, not {text}")
    return int(text) << 20


def _touch(entry: Path) -> None:
    with contextlib.suppress(OSError):
        os.utime(entry, (time.time(), time.time()))


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
