"""Powers of two with a negative exponent, from a table and a straight line."""

from amaranth import *
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from .checks import check_integer
from .rounding import round_shift
from .vector_format import EXPONENTIAL_TABLE, check_element_bits

__all__ = ["Exponential"]

RESULT_BITS = 31  # 2**30 and less
SLOPE_BITS = 23
POINT = 16        # bits of the fraction of an exponent
SHIFT_BITS = 5
MAX_SHIFT = (1 << SHIFT_BITS) - 1  # beyond it a result is 0


class Exponential(wiring.Component):
    """2**(x / 2**16) in units of 2**-30, `lanes` elements per cycle.

    One beat per cycle, never stalls; `LATENCY` cycles to the result: the table, its entry, the
    line between two entries, the shift. x > 0 counts as 0; masked gives 0. The numpy model is
    :meth:`VectorFormat.exponential`.

    Parameters
    ----------
    element_bits : int
        Bits of an element, see :class:`VectorFormat`.
    lanes : int
        Elements of a beat.

    Members
    -------
    valid : In(1)
        A beat is there.
    x : In(ArrayLayout(signed(element_bits), lanes))
    o : Out(ArrayLayout(RESULT_BITS, lanes))
        Kept until the next result.
    """

    LATENCY = 4  # cycles from a beat to its result

    def __init__(self, *, element_bits, lanes):
        check_element_bits(element_bits)
        check_integer("lanes", lanes, 1, 1 << 16)
        self._lanes = lanes
        entry = data.StructLayout({"value": RESULT_BITS, "slope": SLOPE_BITS})
        self._table = memory.MemoryData(shape=entry, depth=len(EXPONENTIAL_TABLE) - 1, init=[
            {"value": value, "slope": value - following}
            for value, following in zip(EXPONENTIAL_TABLE, EXPONENTIAL_TABLE[1:])])
        super().__init__({
            "valid": In(1),
            "x": In(data.ArrayLayout(signed(element_bits), lanes)),
            "o": Out(data.ArrayLayout(RESULT_BITS, lanes)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.table = table = memory.Memory(self._table)
        ports = []
        valid = Signal(3)
        m.d.sync += valid.eq(Cat(self.valid, valid[:-1]))
        exponents, shifts = zip(*(self._exponent(m, lane) for lane in range(self._lanes)))
        for exponent in exponents:
            port = table.read_port()
            ports.append(port)
            m.d.comb += [port.en.eq(self.valid), port.addr.eq(exponent[9:POINT])]
        rest = Signal(data.ArrayLayout(9, self._lanes))
        shift = Signal(data.ArrayLayout(SHIFT_BITS + 1, self._lanes))
        entries = Signal(data.ArrayLayout(self._table.shape, self._lanes))
        entry_rest = Signal.like(rest)
        entry_shift = Signal.like(shift)
        line = Signal(data.ArrayLayout(RESULT_BITS, self._lanes))
        line_shift = Signal.like(shift)
        with m.If(self.valid):
            m.d.sync += [
                rest.eq(Cat(exponent[:9] for exponent in exponents)),
                shift.eq(Cat(shifts))]
        with m.If(valid[0]):
            m.d.sync += [entries.eq(Cat(port.data for port in ports)), entry_rest.eq(rest),
                         entry_shift.eq(shift)]
        with m.If(valid[1]):
            m.d.sync += [
                line_shift.eq(entry_shift),
                line.eq(Cat((entry.value - (entry.slope * part + 256 >> 9))[:RESULT_BITS]
                            for entry, part in zip(entries, entry_rest)))]
        with m.If(valid[2]):
            m.d.sync += self.o.eq(Cat(
                Mux(places > MAX_SHIFT, 0, round_shift(value, places[:SHIFT_BITS]))
                for value, places in zip(line, line_shift)))
        return m

    def _exponent(self, m, lane):
        """How far an element is below 0, and the places by which its result is shifted."""
        x = self.x[lane]
        exponent = Signal(len(x), name=f"exponent_{lane}")
        shift = Signal(SHIFT_BITS + 1, name=f"places_{lane}")
        # -x needs more bits than a shift has. It is ~x + 1; this does not wait for its carry.
        low, high = (~x)[:POINT + SHIFT_BITS], (~x)[POINT + SHIFT_BITS:]
        beyond = high.any() | low.all()
        with m.If(~x[-1]):
            m.d.comb += [exponent.eq(0), shift.eq(0)]
        with m.Else():
            m.d.comb += [exponent.eq(-x), shift.eq(Mux(
                beyond, MAX_SHIFT + 1, exponent[POINT:POINT + SHIFT_BITS]))]
        return exponent, shift
