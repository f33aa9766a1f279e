"""The energy of a run, from its counters and a table of energies."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..rtl import Design
from .analytic.tables import entry
from .errors import OptionError
from .network_result import NetworkResult
from .result import Result

__all__ = ["LedgerLine", "RunLedger", "check_energies", "run_ledger"]

MEGABYTE_CLASS = 1 << 20  # bytes from which an on-chip memory has the energy of the larger class
NEEDED = ("off_chip_pj_per_byte", "sram_kb_pj_per_byte", "sram_mb_pj_per_byte", "mac_pj")


@dataclass(frozen=True)
class LedgerLine:
    """One part of the energy: bytes of a memory, or multiply-accumulates.

    Attributes
    ----------
    name : str
    amount : int
        Bytes or MACs.
    unit : str
    picojoules : float
        Energy of one.
    """
    name: str
    amount: int
    unit: str
    picojoules: float

    @property
    def joules(self) -> float:
        return self.amount * self.picojoules * 1e-12


@dataclass(frozen=True)
class RunLedger:
    """The energy of a run.

    Attributes
    ----------
    level, timing : str
        Of the run.
    table : str
        The table of energies.
    lines : tuple of LedgerLine
    cycles, useful_macs : int
    clock_hz : int
    """
    level: str
    timing: str
    table: str
    lines: tuple[LedgerLine, ...]
    cycles: int
    useful_macs: int
    clock_hz: int

    @property
    def joules(self) -> float:
        return sum(line.joules for line in self.lines)

    @property
    def average_watts(self) -> float:
        """Energy over the time of the run; at level analytic, at most, as cycles are a bound."""
        return self.joules * self.clock_hz / self.cycles

    @property
    def picojoules_per_mac(self) -> float | None:
        """Of a useful one; None without any."""
        return self.joules * 1e12 / self.useful_macs if self.useful_macs else None

    def to_dict(self) -> dict[str, Any]:
        """The ledger's entry in the JSON's `energy`."""
        return {"level": self.level, "timing": self.timing, "table": self.table,
                "joules": self.joules, "average_watts": self.average_watts,
                "picojoules_per_mac": self.picojoules_per_mac,
                "lines": [{"name": line.name, "amount": line.amount, "unit": line.unit,
                           "picojoules": line.picojoules, "joules": line.joules}
                          for line in self.lines]}


def check_energies(table: str) -> Mapping[str, float]:
    """The energies of a table that has all that a ledger needs.

    Raises
    ------
    OptionError
        There is no such table, or it lacks an energy.
    """
    energies = entry("energies", table)
    for name in NEEDED:
        if name not in energies:
            raise OptionError(f"{table}: the energy table has no {name}")
        if energies[name] < 0:
            raise OptionError(f"{table}: {name} must be 0 or more, not {energies[name]}")
    return energies


def run_ledger(result: Result | NetworkResult, table: str = "chapter") -> RunLedger:
    """The ledger of a run at any level.

    Parameters
    ----------
    result : Result or NetworkResult
    table : str
        An entry of the table of energies, FILE.toml or FILE.toml:ENTRY.

    Raises
    ------
    OptionError
        There is no such table, or it lacks an energy.
    """
    energies = check_energies(table)
    if isinstance(result, NetworkResult):
        amounts: dict[str, int] = {}
        for layer in result.layers:
            for name, amount in _amounts(layer.result).items():
                amounts[name] = amounts.get(name, 0) + layer.layer.count * amount
        amounts["useful MACs"] = result.useful_macs
    else:
        amounts = _amounts(result)
    prices = _prices(result.design, energies)
    lines = tuple(LedgerLine(name, amount, "MACs" if name == "useful MACs" else "bytes",
                             prices[name])
                  for name, amount in amounts.items()
                  if amount or name not in ("convolution windows", "exchange memory"))
    return RunLedger(result.level, result.timing, table, lines, result.cycles,
                     result.useful_macs, result.design.clock_hz)


def _amounts(result: Result) -> dict[str, int]:
    """Bytes that each memory moved, and MACs.

    The buffers take what is loaded and give what the array reads: an activation row has `rows`
    elements, a weight row `cols`; an output-stationary array reads a column of `rows`
    activations and a row of `cols` weights. An accumulator update reads and writes a row of
    `cols` sums; a stored result is read once. Convolution windows are read from the line buffer,
    which what is loaded fills, and written to where they go.
    """
    design, counters = result.design, result.counters
    activation_row = -(-design.rows * design.activation_bits // 8)
    weight_row = -(-design.cols * design.weight_bits // 8)
    sum_row = -(-design.cols * design.accumulator_bits // 8)
    return {
        "off-chip memory": result.bytes_read + result.bytes_written,
        "buffers, written": result.bytes_read,
        "operand slots, read": counters.get("activation_rows", 0) * activation_row,
        "weight FIFO, read": counters.get("weight_rows", 0) * weight_row,
        "accumulators": (2 * counters.get("accumulator_rows", 0) * sum_row
                         + result.bytes_written),
        "convolution windows": 2 * counters.get("window_bytes", 0),
        "exchange memory": result.exchange_bytes,
        "useful MACs": result.useful_macs}


def _prices(design: Design, energies: Mapping[str, float]) -> dict[str, float]:
    """Picojoules of each line: on-chip memories by their size."""

    def on_chip(nbytes: int) -> float:
        size = "sram_mb" if nbytes >= MEGABYTE_CLASS else "sram_kb"
        return energies[f"{size}_pj_per_byte"]

    slots = on_chip(design.input_slots * design.slot_bytes)
    fifo = on_chip(design.weight_fifo_depth * design.rows * design.cols * design.weight_bits // 8)
    sums = on_chip(design.accumulator_banks * design.accumulator_rows * design.cols
                   * design.accumulator_bits // 8)
    return {"off-chip memory": energies["off_chip_pj_per_byte"],
            "buffers, written": max(slots, fifo), "operand slots, read": slots,
            "weight FIFO, read": fifo, "accumulators": sums,
            "convolution windows": slots, "exchange memory": energies["sram_mb_pj_per_byte"],
            "useful MACs": energies["mac_pj"]}
