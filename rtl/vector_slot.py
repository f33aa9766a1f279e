"""Memory of one vector slot in one unit: runs of elements at any element address."""

from amaranth import *
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from .checks import ceil_div, ceil_log2
from .vector_commands import vector_element_bits, vector_slot_elements

__all__ = ["VectorSlot", "from_ring", "to_ring", "vector_word"]


def vector_word(design):
    """Elements of a word of a vector slot: a power of two that no access exceeds."""
    return 1 << ceil_log2(max(design.lanes, design.sfu_lanes, design.cols, design.rows))


def from_ring(ring, offset, word, bits):
    """The `word` elements from place `offset` on of a ring of 2 * `word` elements of `bits` bits.

    `offset` has as many bits as the places of the ring need.
    """
    half = word * bits
    value = Mux(offset[-1], Cat(ring[half:], ring[:half]), ring)
    for bit in reversed(range(len(offset) - 1)):
        step = 1 << bit
        value = Mux(offset[bit], value[step * bits:], value)[:(word + step - 1) * bits]
    return value[:half]


def to_ring(value, offset, word, bits):
    """A ring of 2 * `word` elements that holds `value` from place `offset` on, else zeros."""
    for bit in range(len(offset) - 1):
        value = Mux(offset[bit], Cat(C(0, bits << bit), value), value)
    half = word * bits
    ring = Cat(value, C(0, 2 * half))[:2 * half]
    return Mux(offset[-1], Cat(ring[half:], ring[:half]), ring)


class VectorSlot(wiring.Component):
    """Two interleaved halves, one of even and one of odd words of :func:`vector_word` elements.

    What it reads and writes is a *ring* of two words, one of each half: the element of address a
    is at place a % (2 * word), and those after it follow, around the end of the ring. So any
    `word` elements in a row are in one ring. :func:`from_ring` and :func:`to_ring` turn it.

    Latency `LATENCY`; one ring is read and one written per cycle and port. An element that is
    written and read in the same cycle is read as it was.

    Parameters
    ----------
    design : Design
    ports : int
        Read ports, and as many write ports.

    Members
    -------
    read : In(ports)
        One bit a port: read.
    read_address : In(ArrayLayout(range(vector_slot_elements), ports))
        The least address that the ring is to hold.
    o : Out(ArrayLayout(2 * word * vector_element_bits, ports))
        The rings.
    write : In(ArrayLayout(2 * word, ports))
        One bit a place: write it.
    write_address : In(ArrayLayout(range(vector_slot_elements), ports))
        The address of the first element written.
    i : In(ArrayLayout(2 * word * vector_element_bits, ports))
    """

    LATENCY = 1  # cycles from `read` to the ring

    def __init__(self, *, design, ports):
        self._word, self._bits = vector_word(design), vector_element_bits(design)
        self._ports = ports
        elements = vector_slot_elements(design)
        shape = data.ArrayLayout(signed(self._bits), self._word)
        depth = ceil_div(elements, self._word) // 2 + 1
        self.halves = [memory.MemoryData(shape=shape, depth=depth, init=[]) for _ in range(2)]
        addresses = data.ArrayLayout(range(elements), ports)
        rings = data.ArrayLayout(2 * self._word * self._bits, ports)
        super().__init__({
            "read": In(ports),
            "read_address": In(addresses),
            "o": Out(rings),
            "write": In(data.ArrayLayout(2 * self._word, ports)),
            "write_address": In(addresses),
            "i": In(rings),
        })

    def elaborate(self, platform):
        m = Module()
        word, half = self._word, self._word * self._bits
        shift = ceil_log2(word) + 1
        for name, contents, before in (("even", self.halves[0], word), ("odd", self.halves[1], 0)):
            m.submodules[name] = storage = memory.Memory(contents)
            side = slice(half, None) if name == "odd" else slice(half)
            places = slice(word, None) if name == "odd" else slice(word)
            for port in range(self._ports):
                read = storage.read_port()
                write = storage.write_port(granularity=1)
                m.d.comb += [
                    read.en.eq(self.read[port]),
                    read.addr.eq((self.read_address[port] + before) >> shift),
                    self.o[port][side].eq(read.data),
                    write.en.eq(self.write[port][places]),
                    write.addr.eq((self.write_address[port] + before) >> shift),
                    write.data.eq(self.i[port][side]),
                ]
        return m
