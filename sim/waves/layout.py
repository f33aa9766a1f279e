"""What the .gtkw shows: groups of signals, their names, formats and colours."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from vcd.gtkw import GTKWColor

from .derived import WINDOW

__all__ = ["GROUPS", "Group", "Row"]

YELLOW, ORANGE, GREEN, RED = (GTKWColor.yellow, GTKWColor.orange, GTKWColor.green,
                              GTKWColor.red)


@dataclass(frozen=True)
class Row:
    """A line of the display, or one for each lane.

    Attributes
    ----------
    name : str
        Full name without "machine."; "*" stands for the number of a lane.
    label : str
        What is displayed; "*" stands for the lane.
    format : str
        Of pyvcd: "dec", "signed", "hex", "bin" or "ascii".
    color : GTKWColor
    height : int
        Above 1: drawn as an analog curve of so many lines.
    """
    name: str
    label: str
    format: str = "dec"
    color: GTKWColor = YELLOW
    height: int = 1

    def found(self, names: Collection[str]) -> Iterator[tuple[str, str]]:
        """(name, label) of every signal among `names` that this line stands for."""
        full = f"machine.{self.name}"
        if "*" not in full:
            if full in names:
                yield full, self.label
            return
        pattern = re.compile(re.escape(full).replace(r"\*", r"(\d+)"))
        for name in names:
            if match := pattern.fullmatch(name):
                yield name, self.label.replace("*", match[1])


@dataclass(frozen=True)
class Group:
    """Lines under a title.

    Attributes
    ----------
    title : str
    rows : sequence of Row and Group
    closed : bool
        Shows only its title until it is opened.
    handoff : bool
        Is of interest only where the hand-off is used; starts closed elsewhere.
    """
    title: str
    rows: "Sequence[Row | Group]"
    closed: bool = False
    handoff: bool = False


def _unit(unit: str) -> list[Row]:
    return [Row(f"{unit}_busy", "busy", "bin", GREEN),
            Row(f"{unit}_stall_text", "stall", "ascii", RED)]


def _stream(port: str, label: str) -> list[Row]:
    return [Row(f"{port}__valid", f"{label} valid", "bin", GREEN),
            Row(f"{port}__ready", f"{label} ready", "bin", GREEN)]


def _payload(port: str, label: str, *fields: str) -> list[Row]:
    return [Row(f"{port}__payload__{field}", f"{label} {field}") for field in fields]


_COUNTERS = ("cycles", "useful_macs", "activation_rows", "weight_rows", "accumulator_rows",
             "loads", "stores", "bytes_read", "bytes_written", "transactions",
             "vector_commands", "handoffs", "handoff_bytes", "exchange_bytes", "both_busy",
             "array_busy", "array_fill", "array_weights", "array_weight_shift",
             "array_operands", "array_accumulator", "array_drain", "array_idle",
             "vector_busy", "vector_input", "vector_pipeline", "vector_drain", "vector_idle",
             "handoff_busy", "handoff_scores", "handoff_slot", "handoff_probabilities",
             "handoff_operands", "handoff_drain", "handoff_idle")

GROUPS = (
    Group("Run", [
        Row("clk", "clk", "bin", GREEN),
        Row("cycle", "cycle"),
        Row("utilization_percent", "utilization %", color=ORANGE, height=4),
        Row("mac_rate_percent", f"MAC rate % ({WINDOW} cycles)", color=YELLOW, height=4),
    ]),
    Group("Units", [Row(f"{unit}_status_text", unit, "ascii", ORANGE)
                    for unit in ("array", "handoff", "vector", "loader", "memory", "store")]),
    Group("Array", [
        *_unit("array"),
        *_stream("core.control.i", "job"),
        *_payload("core.control.i", "job", "rows", "slot", "bank", "inner", "outer"),
        Row("array_group_text", "job hand-off slot", "ascii", ORANGE),
        Row("core.control.turn", "weights swap", "bin", GREEN),
        Group("into rows", [Row("core.matrix.mesh.i_rows__*__activation", "row *", "signed")]),
        Group("into columns", [Row("core.matrix.mesh.i_cols__*__weight", "column *", "signed")]),
        Group("sums out", [Row("core.matrix.sums__*", "column *", "signed")]),
    ]),
    Group("Hand-off", [
        *_unit("handoff"),
        *_stream("core.handoff.i", "transfer"),
        Row("core.handoff.i__payload__direction_text", "direction", "ascii", ORANGE),
        Row("core.handoff.i__payload__slot", "vector slot"),
        Row("core.handoff.i__payload__buffer", "bank or operand slot"),
        *_payload("core.handoff.i", "transfer", "rows", "length"),
        Row("core.handoff.bytes", "bytes"),
        Row("core.handoff.second", "from exchange memory", "bin", GREEN),
    ], handoff=True),
    Group("Vector unit", [
        *_unit("vector"),
        *_stream("core.vector.i", "command"),
        Row("core.vector.i__payload__op_text", "next op", "ascii", ORANGE),
        Row("core.vector.i__payload__a_slot", "next slot"),
        *(Row(f"core.vector.engine_*.{name}", f"engine * {label}", format, color)
          for name, label, format, color in (
              ("executing", "executes", "bin", GREEN), ("current__op_text", "op", "ascii", ORANGE),
              ("current__a_slot", "slot a", "dec", YELLOW),
              ("current__b_slot", "slot b", "dec", YELLOW),
              ("current__d_slot", "slot d", "dec", YELLOW),
              ("current__rows", "rows", "dec", YELLOW),
              ("current__length", "length", "dec", YELLOW))),
        Row("core.vector.taken", "slots taken", "bin"),
        Row("core.vector.filled", "slots filled", "bin"),
        Row("core.vector.results", "slots with a result", "bin"),
        Row("core.vector.overflow", "overflow", "bin", RED),
    ], handoff=True),
    Group("Memory", [
        *_unit("memory"),
        Row("core.memory__loading", "loading", "bin", GREEN),
        Row("core.memory__storing", "storing", "bin", GREEN),
        Row("core.memory__request_bytes", "request bytes"),
    ]),
    Group("Loader", [
        *_unit("loader"),
        *_stream("core.loader.o", "request"),
        Row("core.loader.o__payload__destination_text", "destination", "ascii", ORANGE),
        Row("core.loader.o__payload__base", "base", "hex"),
        *_payload("core.loader.o", "request", "rows", "bytes_per_row"),
    ]),
    Group("Buffers", [
        Row("core.fifo.tiles__level", "FIFO tiles"),
        Row("core.fifo.tiles.level", "FIFO tiles"),
        Row("core.slots.taken", "slots taken", "bin"),
        Row("core.slots.ready", "slots ready", "bin"),
        Row("core.accumulators.free", "banks free", "bin"),
        Row("core.accumulators.full", "banks full for store", "bin"),
        Row("core.accumulators.handoff_full", "banks full for hand-off", "bin"),
        Row("core.accumulators.overflow", "overflow", "bin", RED),
    ]),
    Group("Store", [
        *_unit("store"),
        *_stream("core.store.o", "request"),
        Row("core.store.o__payload__base", "base", "hex"),
        *_payload("core.store.o", "request", "rows", "bytes_per_row"),
    ]),
    Group("Counters", [Row(f"core.counters.{name}", name) for name in _COUNTERS], closed=True),
)
