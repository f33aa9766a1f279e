"""Contents of the modelled memory: bytes, read and written a row at a time at any address."""

from amaranth import *
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from .checks import ceil_log2
from .commands import ADDRESS_BITS, row_layout
from .stand_in import stand_in

__all__ = ["MemoryStorage", "line_bytes"]


def line_bytes(design):
    """Bytes of a storage line: a power of two that no row of any kind exceeds."""
    return 1 << ceil_log2(max(design.activation_row_bytes, design.window_row_bytes,
                              design.weight_row_bytes, design.vector_row_bytes))


class MemoryStorage(wiring.Component):
    """Two interleaved halves, so that a row that crosses a line needs one access to each.

    A simulation model: `readers` rows are read and one is written per cycle, all at byte
    addresses. Addresses beyond the capacity wrap.

    Parameters
    ----------
    design : Design
    readers : int
        Rows that can be read in one cycle.
    lines : int
        Capacity in lines of :func:`line_bytes`, an even power of two.

    Members
    -------
    address : In(ArrayLayout(ADDRESS_BITS, readers))
    enable : In(readers)
    data : Out(ArrayLayout(8 * line_bytes, readers))
        `line_bytes` bytes from each address, `LATENCY` cycles later.
    write : In(stream, always_ready)
        Rows of results.
    """

    LATENCY = 1  # cycles from an address to its data

    def __init__(self, *, design, readers, lines):
        self._bytes = line_bytes(design)
        self._readers = readers
        shape = 8 * self._bytes
        self.halves = [memory.MemoryData(shape=shape, depth=lines // 2, init=[])
                       for _ in range(2)]
        super().__init__({
            "address": In(data.ArrayLayout(ADDRESS_BITS, readers)),
            "enable": In(readers),
            "data": Out(data.ArrayLayout(shape, readers)),
            "write": In(stream.Signature(row_layout(design), always_ready=True)),
        })

    @property
    def line_bytes(self):
        return self._bytes

    def _split(self, m, address, name):
        """Byte in the line, whether the line is in the odd half, and its index in each half."""
        shift = ceil_log2(self._bytes)
        line = address[shift:]
        bits = ceil_log2(self.halves[0].depth)
        indices = [Signal(bits, name=f"{name}_even"), Signal(bits, name=f"{name}_odd")]
        m.d.comb += [indices[0].eq((line + 1) >> 1), indices[1].eq(line >> 1)]
        return address[:shift], line[0], indices

    def elaborate(self, platform):
        m = Module()
        row = self.write.payload
        contents = stand_in(
            platform, self, address=self.address, enable=self.enable,
            data=self.data, write_valid=self.write.valid, write_address=row.address,
            write_bytes=row.bytes, write_data=row.data)
        if contents is not None:
            m.submodules.contents = contents
            return m
        m.submodules.even = even = memory.Memory(self.halves[0])
        m.submodules.odd = odd = memory.Memory(self.halves[1])
        self._elaborate_write(m, (even, odd))
        for reader in range(self._readers):
            offset, is_odd, indices = self._split(m, self.address[reader], f"read_{reader}")
            ports = []
            for half, index in zip((even, odd), indices, strict=True):
                port = half.read_port()
                m.d.comb += [port.addr.eq(index), port.en.eq(self.enable[reader])]
                ports.append(port)
            was_odd = Signal(name=f"was_odd_{reader}")
            was_offset = Signal.like(offset, name=f"was_offset_{reader}")
            with m.If(self.enable[reader]):
                m.d.sync += [was_odd.eq(is_odd), was_offset.eq(offset)]
            pair = Mux(was_odd, Cat(ports[1].data, ports[0].data),
                       Cat(ports[0].data, ports[1].data))
            m.d.comb += self.data[reader].eq(pair.bit_select(was_offset << 3, 8 * self._bytes))
        return m

    def _elaborate_write(self, m, halves):
        row = self.write.payload
        offset, is_odd, indices = self._split(m, row.address, "write")
        bits = 8 * self._bytes
        placed = Signal(2 * bits)
        enables = Signal(2 * self._bytes)
        m.d.comb += placed.eq(row.data << (offset << 3))
        with m.If(self.write.valid):
            m.d.comb += enables.eq(((1 << row.bytes) - 1) << offset)
        for half, index, swapped in zip(halves, indices, (is_odd, ~is_odd), strict=True):
            port = half.write_port(granularity=8)
            m.d.comb += [
                port.addr.eq(index),
                port.data.eq(Mux(swapped, placed[bits:], placed[:bits])),
                port.en.eq(Mux(swapped, enables[self._bytes:], enables[:self._bytes])),
            ]
