"""Addresses of convolution windows: one segment of each row per cycle."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .commands import (
    ADDRESS_BITS,
    COORDINATE_BITS,
    COUNT_BITS,
    WindowRegister,
    request_layout,
)

__all__ = ["WindowAddresses"]

_SIZES = ("HEIGHT", "WIDTH", "PADDING", "COLUMNS", "TAPS", "RUNS")
_WIDTHS = {"Y": COORDINATE_BITS, "X": COORDINATE_BITS, "ADDRESS": ADDRESS_BITS,
           "BYTES": COUNT_BITS + 1}


def _position(name):
    """Where a row or a segment is: registers of a pixel, an address, and what it counts."""
    return {"y": Signal(signed(COORDINATE_BITS), name=f"{name}_y"),
            "x": Signal(signed(COORDINATE_BITS), name=f"{name}_x"),
            "address": Signal(ADDRESS_BITS, name=f"{name}_address"),
            **{count: Signal(COUNT_BITS, name=f"{name}_{count}")
               for count in ("column", "tap", "run")}}


class WindowAddresses(wiring.Component):
    """Steps through the windows that a load asks for; see :class:`Load`.

    Rows are steps of the output pixels, segments steps of the taps and their runs; in an
    output-stationary design the other way round. Every step is an addition of registers that
    configuring loads have set: nothing is multiplied or divided.

    Latency 0 from `first`; `lanes` rows of one segment per cycle with `step`.

    Parameters
    ----------
    design : Design
    lanes : int
        Rows at a time.

    Members
    -------
    request : In(request_layout(design, "load"))
        The load of windows, while it is stepped through; its rows and base do not matter after
        `first`.
    first : In(1)
        This is the first cycle of the load.
    step : In(1)
        To the next segment, or the next rows, after this cycle.
    configure : In(1)
        Set the register of `request` after this cycle.
    address : Out(ArrayLayout(ADDRESS_BITS, lanes))
        Where the row, of which the segment is a part, would begin if all of it adjoined.
    real : Out(lanes)
        The segment is inside the image.
    offset, count : Out
        Its first byte within the row, and its bytes.
    first_segment, last_segment : Out(1)
    padding : Out(COUNT_BITS)
    """

    def __init__(self, *, design, lanes):
        self._design, self._lanes = design, lanes
        request = request_layout(design, "load")
        super().__init__({
            "request": In(request),
            "first": In(1),
            "step": In(1),
            "configure": In(1),
            "address": Out(data.ArrayLayout(ADDRESS_BITS, lanes)),
            "real": Out(lanes),
            "offset": Out(request["bytes_per_row"].shape),
            "count": Out(request["bytes_per_row"].shape),
            "first_segment": Out(1),
            "last_segment": Out(1),
            "padding": Out(COUNT_BITS),
        })

    def elaborate(self, platform):
        m = Module()
        registers = self._elaborate_registers(m)
        request = self.request
        step_row, step_segment = self._step_pixel, self._step_tap
        if self._design.dataflow == "output_stationary":
            step_row, step_segment = step_segment, step_row

        # What `request` counts belongs to the first row and to the first segment of every row.
        stored_row, stored_segment = _position("stored_row"), _position("stored_segment")
        row, segment = _position("row"), _position("segment")
        index = Signal.like(request.segments)
        begun = {"y": request.y, "x": request.x, "address": request.base, "column": request.column,
                 "tap": request.tap, "run": request.run}
        m.d.comb += [
            self.first_segment.eq(self.first | (index == 0)),
            self.last_segment.eq(Mux(self.first, 0, index) + 1 == request.segments),
        ]
        for name in row:
            start = 0 if name in ("y", "x", "address") else begun[name]
            m.d.comb += [
                row[name].eq(Mux(self.first, begun[name], stored_row[name])),
                segment[name].eq(Mux(self.first_segment, start, stored_segment[name])),
            ]
        rows = [row]
        for lane in range(1, self._lanes + 1):
            following = _position(f"row_{lane}")
            for name, value in step_row(registers, rows[-1]).items():
                m.d.comb += following[name].eq(value)
            rows.append(following)
        with m.If(self.step):
            m.d.sync += index.eq(Mux(self.last_segment, 0, Mux(self.first, 0, index) + 1))
            for name, value in step_segment(registers, segment).items():
                m.d.sync += stored_segment[name].eq(value)
            for name, value in rows[-1].items():
                m.d.sync += stored_row[name].eq(Mux(self.last_segment, value, row[name]))
        self._elaborate_segment(m, registers, rows, segment)
        return m

    def _elaborate_registers(self, m):
        registers = {}
        for register in WindowRegister:
            if register in (WindowRegister.NONE, WindowRegister.WAIT):
                continue
            width = (COUNT_BITS if register.name in _SIZES
                     else _WIDTHS[register.name.rsplit("_", 1)[1]])
            signal = Signal(width, name=f"window_{register.name.lower()}")
            registers[register.name.lower()] = signal
            with m.If(self.configure & (self.request.configure == register)):
                m.d.sync += signal.eq(self.request.base)
        m.d.comb += self.padding.eq(registers["padding"])
        return registers

    def _elaborate_segment(self, m, registers, rows, segment):
        """The outputs, from where the rows and the segment are."""
        request = self.request
        skip = Signal.like(request.skip, name="skip")
        whole = Signal(COUNT_BITS + 1)
        stored_offset = Signal.like(self.offset)
        left = Signal.like(self.offset)
        m.d.comb += [
            skip.eq(Mux(self.first_segment, request.skip, 0)),
            whole.eq(registers["run_bytes"] - skip),
            self.offset.eq(Mux(self.first_segment, 0, stored_offset)),
            left.eq(request.bytes_per_row - self.offset),
            self.count.eq(Mux(whole < left, whole, left)),
        ]
        with m.If(self.step):
            m.d.sync += stored_offset.eq(self.offset + self.count)
        for lane in range(self._lanes):
            y = Signal(signed(COORDINATE_BITS), name=f"y_{lane}")
            x = Signal(signed(COORDINATE_BITS), name=f"x_{lane}")
            m.d.comb += [
                y.eq(rows[lane]["y"] + segment["y"]),
                x.eq(rows[lane]["x"] + segment["x"]),
                self.real[lane].eq((y >= 0) & (y < registers["height"])
                                   & (x >= 0) & (x < registers["width"])),
                self.address[lane].eq(rows[lane]["address"] + segment["address"] + skip
                                      - self.offset),
            ]

    @staticmethod
    def _step_pixel(registers, at):
        """To the next output pixel."""
        wraps = at["column"] == registers["columns"]
        return {
            "y": at["y"] + Mux(wraps, registers["row_y"], 0).as_signed(),
            "x": at["x"] + Mux(wraps, registers["row_x"], registers["column_x"]).as_signed(),
            "address": at["address"] + Mux(wraps, registers["row_address"],
                                           registers["column_address"]),
            "column": Mux(wraps, 0, at["column"] + 1),
            "tap": at["tap"], "run": at["run"]}

    @staticmethod
    def _step_tap(registers, at):
        """To the next run, perhaps of the next tap, perhaps of the next row of taps."""
        tap_ends = at["run"] == registers["runs"]
        row_ends = tap_ends & (at["tap"] == registers["taps"])
        return {
            "y": at["y"] + Mux(row_ends, registers["kernel_row_y"], 0).as_signed(),
            "x": at["x"] + Mux(row_ends, registers["kernel_row_x"],
                               Mux(tap_ends, registers["tap_x"], 0)).as_signed(),
            "address": at["address"] + Mux(
                row_ends, registers["kernel_row_address"],
                Mux(tap_ends, registers["tap_address"], registers["run_address"])),
            "run": Mux(tap_ends, 0, at["run"] + 1),
            "tap": Mux(tap_ends, Mux(row_ends, 0, at["tap"] + 1), at["tap"]),
            "column": at["column"]}
