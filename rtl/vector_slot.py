"""Memory of one vector slot in one unit: runs of elements at any element address."""

from amaranth import *
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from .checks import ceil_div, ceil_log2
from .exchange import matrix_beat
from .vector_commands import vector_element_bits, vector_slot_elements

__all__ = ["VectorSlot", "bank_rows", "rotated", "vector_word"]


def vector_word(design):
    """Elements of a word of a vector slot: a power of two that no access exceeds."""
    return 1 << ceil_log2(max(design.lanes, design.sfu_lanes, design.cols, matrix_beat(design)))


def bank_rows(design):
    """Rows of a bank of a vector slot.

    A power of two: the row after the last one, of which nothing is used, is the first.
    """
    return 1 << ceil_log2(ceil_div(vector_slot_elements(design), vector_word(design)))


def rotated(m, value, places, bits, name):
    """`value`, a power of two of elements of `bits` bits, with element `places` first.

    Element i of the result is element (i + `places`) modulo their number.
    """
    for bit in range(len(places)):
        turned = Signal(len(value), name=f"{name}_turned_{bit}")
        m.d.comb += turned.eq(Mux(places[bit], value.rotate_right(bits << bit), value))
        value = turned
    return value


class VectorSlot(wiring.Component):
    """A bank for each element of a word: the element of address a is in bank a % word, row
    a // word.

    So any :func:`vector_word` elements in a row lie in one row of some banks and in the next row
    of the others, and are read or written at once. They are in the order of the banks:
    :func:`rotated` turns them.

    Latency `LATENCY`; one word is read and one written per cycle and port. An element that is
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
    read_<port>_rows : In(ArrayLayout(row, word))
        The row of each bank.
    read_<port>_data : Out(word * vector_element_bits)
        The elements, bank by bank.
    write_<port>_en : In(word)
        One bit a bank: write it.
    write_<port>_rows : In(ArrayLayout(row, word))
        The row of each bank.
    write_<port>_data : In(word * vector_element_bits)
        The elements, bank by bank.
    """

    LATENCY = 1  # cycles from `read` to the elements

    def __init__(self, *, design, ports):
        self._word, self._bits = vector_word(design), vector_element_bits(design)
        rows = bank_rows(design)
        self.banks = [memory.MemoryData(shape=signed(self._bits), depth=rows, init=[])
                      for _ in range(self._word)]
        row_of_each = data.ArrayLayout(range(rows), self._word)
        self._ports = range(ports)
        members = {}
        for port in self._ports:
            members |= {
                f"read_{port}_en": In(1),
                f"read_{port}_rows": In(row_of_each),
                f"read_{port}_data": Out(self._word * self._bits),
                f"write_{port}_en": In(self._word),
                f"write_{port}_rows": In(row_of_each),
                f"write_{port}_data": In(self._word * self._bits)}
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
        for number, contents in enumerate(self.banks):
            m.submodules[f"bank_{number}"] = bank = memory.Memory(contents)
            for port in self._ports:
                read, write = bank.read_port(), bank.write_port()
                m.d.comb += [
                    read.en.eq(getattr(self, f"read_{port}_en")),
                    read.addr.eq(getattr(self, f"read_{port}_rows")[number]),
                    getattr(self, f"read_{port}_data").word_select(number, self._bits).eq(
                        read.data),
                    write.en.eq(getattr(self, f"write_{port}_en")[number]),
                    write.addr.eq(getattr(self, f"write_{port}_rows")[number]),
                    write.data.eq(getattr(self, f"write_{port}_data").word_select(
                        number, self._bits)),
                ]
        return m
