"""Counts what a waveform shows, from the VCD file alone.

This reader shares nothing with the hardware's counters: it goes by what the units do in each
cycle, as anybody with the file could. What the numbers of a status mean stands in the header.
"""

import os
import traceback
import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..errors import OptionError
from .vcd_parser import VCDVCD
from .writer import VERSION

__all__ = ["HISTORY_COUNTERS", "Header", "NEEDED", "Waveform", "read_counters", "read_header"]

UNITS = ("memory", "loader", "array", "vector", "handoff", "store")

#: Counters that depend on more than the cycle they count.
HISTORY_COUNTERS = ("span", "exposed_requests")

_ARRAY, _MEMORY = "machine.core.control.", "machine.core.memory__"
_LOAD, _STORE = f"{_MEMORY}load__", f"{_MEMORY}store__"
_VECTOR, _HANDOFF = "machine.core.vector.i__", "machine.core.handoff.i__"

#: Names of the signals from which the counters are rebuilt; every waveform has them.
NEEDED = frozenset([
    "machine.clk", "machine.cycle", *(f"machine.{unit}_busy" for unit in UNITS),
    *(f"machine.{unit}_status" for unit in UNITS),
    f"{_ARRAY}i__payload__inner", f"{_ARRAY}i__payload__outer", f"{_ARRAY}running",
    f"{_ARRAY}shift", "machine.core.fifo.shifting", "machine.core.accumulators.written",
    *(f"{request}{name}" for request in (_LOAD, _STORE)
      for name in ("valid", "ready", "payload__rows", "payload__bytes_per_row")),
    *(f"{queue}{name}" for queue in (_VECTOR, _HANDOFF) for name in ("valid", "ready")),
    "machine.core.handoff.bytes",
    *(f"{_LOAD}payload__{name}" for name in ("window", "configure", "bytes")),
    f"{_MEMORY}window_bytes", f"{_MEMORY}request_transactions", f"{_MEMORY}loads_under_way",
    f"{_MEMORY}stores_under_way",
])


@dataclass(frozen=True)
class Header:
    """The header of a VCD file of ours.

    Attributes
    ----------
    period : int
        Time of a clock period, in units of the timescale.
    statuses : dict of str to dict of int to str
        What the numbers of each unit's status mean.
    staged : bool
        The hand-off goes through an exchange memory.
    """
    period: int
    statuses: Mapping[str, Mapping[int, str]]
    staged: bool = False


class Waveform:
    """Values of some signals of a VCD file of ours at every active clock edge.

    Parameters
    ----------
    path : str
    names : iterable of str
        Full names of numeric variables.

    Raises
    ------
    OptionError
        The file is missing, is not ours, or does not have these signals.
    """

    def __init__(self, path: str | os.PathLike[str], names) -> None:
        self.header = read_header(path)
        names = sorted({*names, "machine.clk"})
        try:
            self._vcd = VCDVCD(os.fspath(path), signals=names)
        except (ValueError, IndexError) as error:
            with warnings.catch_warnings():  # vcdvcd has not closed the file
                warnings.simplefilter("ignore", ResourceWarning)
                traceback.clear_frames(error.__traceback__)
            raise OptionError(f"{os.fspath(path)}: not a valid VCD file: {error}") from None
        for name in names:
            if name not in self._vcd.references_to_ids:
                raise OptionError(f"{os.fspath(path)}: has no signal {name}")
        clock = self._vcd["machine.clk"].tv
        self._edges = np.array([time for time, value in clock if value == "1"], np.int64)

    @property
    def cycles(self) -> int:
        """Cycles in the file: active clock edges."""
        return len(self._edges)

    @property
    def edges(self) -> np.ndarray:
        """Times of the active clock edges."""
        return self._edges

    def __getitem__(self, name: str) -> np.ndarray:
        """Values of a signal, one for each cycle."""
        changes = self._vcd[name].tv
        if not changes:
            return np.zeros(self.cycles, np.int64)
        times = np.array([time for time, _value in changes], np.int64)
        values = np.array([int(value, 2) for _time, value in changes], np.int64)
        return values[np.searchsorted(times, self._edges, side="right") - 1]


def read_header(path: str | os.PathLike[str]) -> Header:
    """What stands in the header of a VCD file of ours.

    Raises
    ------
    OptionError
        The file is missing or not ours.
    """
    path = os.fspath(path)
    statuses, period, staged, ours = {}, 0, False, False
    try:
        with open(path, encoding="ascii") as file:
            for line in file:
                words = line.split()
                if words[:1] == ["status"]:
                    pairs = (word.split("=") for word in words[2:])
                    statuses[words[1]] = {int(code): name.lower() for code, name in pairs}
                elif words[:1] == ["period"]:
                    period = int(words[1])
                elif words == ["handoff", "staged"]:
                    staged = True
                ours |= VERSION in line
                if line.startswith(("$scope", "#")):
                    break
    except OSError as error:
        raise OptionError(f"{path}: cannot be read: {error.strerror}") from None
    except (IndexError, ValueError):
        ours = False
    if not ours or not period:
        raise OptionError(f"{path}: not a VCD file written by cubewave")
    return Header(period, statuses, staged)


def read_counters(path: str | os.PathLike[str]) -> dict[str, int]:
    """All counters of `rtl/counters.py`, by dotted name, counted anew from a VCD file of ours.

    Raises
    ------
    OptionError
        The file is missing or not ours.
    """
    waves = Waveform(path, NEEDED)
    counts = {"cycles": waves.cycles}
    for unit, names in waves.header.statuses.items():
        codes = waves[f"machine.{unit}_status"]
        busy = waves[f"machine.{unit}_busy"]
        for code, name in names.items():
            counts[f"{unit}.{name}"] = int(np.sum(busy if name == "busy" else codes == code))
    counts |= _count_events(waves)
    return counts


def _count_events(waves: Waveform) -> Mapping[str, int]:
    busy = {unit: waves[f"machine.{unit}_busy"] for unit in UNITS}
    starts = busy["memory"] | busy["array"] | busy["vector"] | busy["handoff"]
    macs = waves[f"{_ARRAY}i__payload__inner"] * waves[f"{_ARRAY}i__payload__outer"]
    shifted = waves["machine.core.fifo.shifting"] | waves[f"{_ARRAY}shift"]
    passed = int(np.sum(waves["machine.core.handoff.bytes"]))
    return {
        "span": int(np.sum(np.maximum.accumulate(starts))) if waves.cycles else 0,
        "activation_rows": int(np.sum(busy["array"])),
        "useful_macs": int(np.sum(busy["array"] * macs)),
        "weight_rows": int(np.sum(shifted)),
        "accumulator_rows": int(np.sum(waves["machine.core.accumulators.written"])),
        "vector_commands": int(np.sum(_transfers(waves, _VECTOR))),
        "both_busy": int(np.sum(busy["vector"] & busy["array"])),
        "handoffs": int(np.sum(_transfers(waves, _HANDOFF))),
        "handoff_bytes": passed,
        "exchange_bytes": passed if waves.header.staged else 0,
        **_count_descriptors(waves),
        "exposed_requests": int(np.sum(np.diff(_waits(waves, busy), prepend=0) == 1)),
    }


def _transfers(waves: Waveform, port: str) -> np.ndarray:
    """1 in the cycles in which a stream passes something on."""
    return waves[f"{port}valid"] & waves[f"{port}ready"]


def _count_descriptors(waves: Waveform) -> Mapping[str, int]:
    starts = {kind: _transfers(waves, kind) for kind in (_LOAD, _STORE)}
    nbytes = {kind: waves[f"{kind}payload__rows"] * waves[f"{kind}payload__bytes_per_row"]
              for kind in starts}
    window, configure = (waves[f"{_LOAD}payload__{name}"] for name in ("window", "configure"))
    nbytes[_LOAD] = np.where(window, waves[f"{_LOAD}payload__bytes"],
                             np.where(configure, 0, nbytes[_LOAD]))
    return {
        "loads": int(np.sum(starts[_LOAD])),
        "stores": int(np.sum(starts[_STORE])),
        "bytes_read": int(np.sum(starts[_LOAD] * nbytes[_LOAD])),
        "bytes_written": int(np.sum(starts[_STORE] * nbytes[_STORE])),
        "window_bytes": int(np.sum(waves[f"{_MEMORY}window_bytes"])),
        "transactions": int(np.sum((starts[_LOAD] | starts[_STORE])
                                   * waves[f"{_MEMORY}request_transactions"])),
    }


def _waits(waves: Waveform, busy: Mapping[str, np.ndarray]) -> np.ndarray:
    """1 in the cycles in which nothing moves but what is under way in the memory."""
    moves = busy["memory"] | waves[f"{_ARRAY}running"] | busy["array"] | busy["store"]
    for unit, working in (("vector", ("busy", "drain", "pipeline")),
                          ("handoff", ("busy", "drain"))):
        codes = [code for code, name in waves.header.statuses[unit].items() if name in working]
        moves = moves | np.isin(waves[f"machine.{unit}_status"], codes)
    under_way = waves[f"{_MEMORY}loads_under_way"] | waves[f"{_MEMORY}stores_under_way"]
    return under_way & ~moves
