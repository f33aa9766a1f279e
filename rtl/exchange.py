"""Exchange memory: where a staged hand-off leaves what it moves."""

from amaranth import *
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from .vector_commands import matrix_pieces

__all__ = ["Exchange", "exchange_bits", "exchange_words", "matrix_beat"]


def matrix_beat(design):
    """Elements of a beat to the matrix unit."""
    return matrix_pieces(design) * design.rows


def exchange_bits(design):
    """Bits of a word: one beat of either direction."""
    return max(design.cols * design.accumulator_bits,
               matrix_beat(design) * design.activation_bits)


def exchange_words(design):
    """Words of the memory: the beats of a whole bank or operand slot."""
    return max(design.accumulator_rows, design.slot_rows)


class Exchange(wiring.Component):
    """One transfer's beats, written one after another and then read in the same order.

    Latency from `read` to the word on `o`: `LATENCY`; a word can be read in the cycle after its
    write. One word in and one out per cycle.

    Parameters
    ----------
    design : Design

    Members
    -------
    write : In(1), write_place, data : In
    read : In(1), read_place : In
    o : Out(exchange_bits)
    """

    LATENCY = 1  # cycles from `read` to the word on `o`

    def __init__(self, *, design):
        self._design = design
        place, bits = range(exchange_words(design)), exchange_bits(design)
        super().__init__({
            "write": In(1),
            "write_place": In(place),
            "data": In(bits),
            "read": In(1),
            "read_place": In(place),
            "o": Out(bits),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.storage = storage = memory.Memory(
            shape=exchange_bits(self._design), depth=exchange_words(self._design), init=[])
        write = storage.write_port()
        read = storage.read_port()
        m.d.comb += [
            write.en.eq(self.write),
            write.addr.eq(self.write_place),
            write.data.eq(self.data),
            read.en.eq(self.read),
            read.addr.eq(self.read_place),
            self.o.eq(read.data),
        ]
        return m
