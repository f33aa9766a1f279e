"""Memory of one vector slot in one unit: runs of elements at any element address."""

from amaranth import *
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from .checks import ceil_div, ceil_log2
from .exchange import matrix_beat
from .vector_commands import vector_element_bits, vector_slot_elements

__all__ = ["VectorSlot", "from_ring", "place", "to_ring", "vector_word"]


def vector_word(design):
    """Elements of a word of a vector slot: a power of two that no access exceeds."""
    return 1 << ceil_log2(max(design.lanes, design.sfu_lanes, design.cols, matrix_beat(design)))


def place(m, address, word, name):
    """Where the ring that begins at an element address is.

    Returns
    -------
    tuple of Signal
        The address in the even and in the odd half, and the place in the ring of `address`.
    """
    shift = ceil_log2(word) + 1
    even = Signal(max(len(address) + 1 - shift, 0), name=f"{name}_even")
    odd, offset = Signal.like(even, name=f"{name}_odd"), Signal(shift, name=f"{name}_offset")
    m.d.comb += [even.eq((address + word) >> shift), odd.eq(address >> shift),
                 offset.eq(address)]
    return even, odd, offset


def from_ring(m, ring, offset, word, bits, name):
    """The `word` elements from place `offset` on of a ring of 2 * `word` elements of `bits` bits.

    `offset` has as many bits as the places of the ring need.
    """
    half = word * bits
    value = Mux(offset[-1], Cat(ring[half:], ring[:half]), ring)
    for bit in reversed(range(len(offset))):
        turned = Signal((word + (1 << bit) - 1) * bits, name=f"{name}_turned_{bit}")
        m.d.comb += turned.eq(value)
        value = Mux(offset[bit - 1], turned[bits << bit - 1:], turned) if bit else turned
    return value


def to_ring(m, value, offset, word, bits, name):
    """A ring of 2 * `word` elements that holds `value` from place `offset` on, else zeros."""
    half = word * bits
    for bit in range(len(offset) - 1):
        turned = Signal((word + (2 << bit) - 1) * bits, name=f"{name}_turned_{bit}")
        m.d.comb += turned.eq(Mux(offset[bit], value.shift_left(bits << bit), value))
        value = turned
    ring = Signal(2 * half, name=f"{name}_ring")
    m.d.comb += ring.eq(Mux(offset[-1], Cat(value[half:], C(0, 2 * half - len(value)),
                                            value[:half]), value))
    return ring


class VectorSlot(wiring.Component):
    """Two interleaved halves, one of even and one of odd words of :func:`vector_word` elements.

    A word of each is read or written at once. The two are a *ring*: the element of address a is
    at place a % (2 * word), and those after it follow, around the end of the ring. So any `word`
    elements in a row are in one ring. :func:`place` says where it is, :func:`from_ring` and
    :func:`to_ring` turn it.

    Latency `LATENCY`; one ring is read and one written per cycle and port. An element that is
    written and read in the same cycle is read as it was.

    Parameters
    ----------
    design : Design
    ports : int
        Read ports, and as many write ports.

    Members
    -------
    read_<port>_en : In(1)
        Read.
    read_<port>_even, read_<port>_odd : In
        Addresses in the halves.
    read_<port>_even_data, read_<port>_odd_data : Out(word * vector_element_bits)
        The words.
    write_<port>_even_en, write_<port>_odd_en : In(word)
        One bit an element: write it.
    write_<port>_even, write_<port>_odd, write_<port>_even_data, write_<port>_odd_data : In
        Where, and what.
    """

    LATENCY = 1  # cycles from `read` to the words

    def __init__(self, *, design, ports):
        word, bits = vector_word(design), vector_element_bits(design)
        elements = vector_slot_elements(design)
        shape = data.ArrayLayout(signed(bits), word)
        depth = ceil_div(elements, word) // 2 + 1
        self.halves = [memory.MemoryData(shape=shape, depth=depth, init=[]) for _ in range(2)]
        self._ports = range(ports)
        members = {}
        for port in self._ports:
            members[f"read_{port}_en"] = In(1)
            for half in ("even", "odd"):
                members |= {
                    f"read_{port}_{half}": In(range(depth)),
                    f"read_{port}_{half}_data": Out(word * bits),
                    f"write_{port}_{half}": In(range(depth)),
                    f"write_{port}_{half}_en": In(word),
                    f"write_{port}_{half}_data": In(word * bits)}
        super().__init__(members)

    @property
    def collision_free(self):
        """No element is used that is written in the cycle of its read.

        With one engine a command's results are written cycles after their operands are read, and
        flags keep the other readers and writers apart. Two engines may meet.
        """
        return len(self._ports) == 1

    def elaborate(self, platform):
        m = Module()
        for half, contents in zip(("even", "odd"), self.halves):
            m.submodules[half] = storage = memory.Memory(contents)
            for port in self._ports:
                read = storage.read_port()
                write = storage.write_port(granularity=1)
                name = f"{port}_{half}"
                m.d.comb += [
                    read.en.eq(getattr(self, f"read_{port}_en")),
                    read.addr.eq(getattr(self, f"read_{name}")),
                    getattr(self, f"read_{name}_data").eq(Value.cast(read.data)),
                    write.en.eq(getattr(self, f"write_{name}_en")),
                    write.addr.eq(getattr(self, f"write_{name}")),
                    Value.cast(write.data).eq(getattr(self, f"write_{name}_data")),
                ]
        return m
