"""The GELU function, from a table and a straight line."""

from amaranth import *
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from .checks import check_integer
from .rounding import sign_extended
from .vector_format import GELU_TABLE, check_element_bits

__all__ = ["Gelu"]

VALUE_BITS = 17  # entries and results between them, signed
SLOPE_BITS = 10  # from entry to entry, signed
EDGE = 8 << 12   # beyond it a result is x, or 0
REST_BITS = 8    # of x, between two entries


class Gelu(wiring.Component):
    """x * normal distribution(x), both in units of 2**-12, `lanes` elements per cycle.

    One beat per cycle, never stalls; `LATENCY` cycles to the result: the table, its entry, the
    product, the sum. Masked, like every x below -8, gives 0. The numpy model is
    :meth:`VectorFormat.gelu`.

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
    o : Out(ArrayLayout(signed(element_bits), lanes))
        Kept until the next result.
    """

    LATENCY = 4  # cycles from a beat to its result

    def __init__(self, *, element_bits, lanes):
        check_element_bits(element_bits)
        check_integer("lanes", lanes, 1, 1 << 16)
        self._bits, self._lanes = element_bits, lanes
        entry = data.StructLayout({"value": signed(VALUE_BITS), "slope": signed(SLOPE_BITS)})
        self._table = memory.MemoryData(shape=entry, depth=len(GELU_TABLE) - 1, init=[
            {"value": value, "slope": following - value}
            for value, following in zip(GELU_TABLE, GELU_TABLE[1:])])
        elements = data.ArrayLayout(signed(element_bits), lanes)
        super().__init__({"valid": In(1), "x": In(elements), "o": Out(elements)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.table = table = memory.Memory(self._table)
        ports = []
        valid = Signal(3)
        m.d.sync += valid.eq(Cat(self.valid, valid[:-1]))
        places = [(x + EDGE)[:REST_BITS + 8] for x in self.x]
        for place in places:
            port = table.read_port()
            ports.append(port)
            m.d.comb += [port.en.eq(self.valid), port.addr.eq(place[REST_BITS:])]
        x = Signal.like(self.x)
        inside = Signal(self._lanes)
        rest = Signal(data.ArrayLayout(REST_BITS, self._lanes))
        entries = Signal(data.ArrayLayout(self._table.shape, self._lanes))
        entry_x, entry_rest, entry_inside = (
            Signal.like(value, name=f"entry_{name}")
            for name, value in (("x", x), ("rest", rest), ("inside", inside)))
        start = Signal.like(self.x)
        step = Signal(data.ArrayLayout(signed(SLOPE_BITS + 1), self._lanes))
        with m.If(self.valid):
            m.d.sync += [
                inside.eq(Cat((value >= -EDGE) & (value < EDGE) for value in self.x)),
                rest.eq(Cat(place[:REST_BITS] for place in places)),
                # outside the table: the result
                x.eq(Cat(Mux(value < -EDGE, 0, value)[:self._bits] for value in self.x))]
        with m.If(valid[0]):
            m.d.sync += [entries.eq(Cat(port.data for port in ports)), entry_x.eq(x),
                         entry_rest.eq(rest), entry_inside.eq(inside)]
        with m.If(valid[1]):
            m.d.sync += [
                start.eq(Cat(sign_extended(Mux(is_inside, entry.value, value), self._bits)
                             for is_inside, entry, value in zip(entry_inside, entries, entry_x))),
                step.eq(Cat(Mux(is_inside, (entry.slope * part + 128) >> REST_BITS, 0)
                            [:SLOPE_BITS + 1]
                            for is_inside, entry, part in zip(
                                entry_inside, entries, entry_rest)))]
        with m.If(valid[2]):
            m.d.sync += self.o.eq(Cat((value + more)[:self._bits]
                                      for value, more in zip(start, step)))
        return m
