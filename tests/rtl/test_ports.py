# amaranth: UnusedElaboratable=no
"""The ports of every component and their widths, for one design of odd sizes.

Streams count their payload; their valid and ready are one bit each. A port that changes here has
changed for everything that is connected to it.
"""

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Shape
from amaranth.lib import stream
from amaranth.lib.wiring import In

from cubewave.rtl import Design
from cubewave.rtl.accumulator import Accumulators
from cubewave.rtl.accumulator_update import AccumulatorUpdate
from cubewave.rtl.array_control import ArrayControl
from cubewave.rtl.counters import CounterBank
from cubewave.rtl.drain_tags import DrainTags
from cubewave.rtl.formats import IntegerFormat
from cubewave.rtl.loader import Loader
from cubewave.rtl.mac import WeightStationaryCell
from cubewave.rtl.matrix_unit import MatrixUnit
from cubewave.rtl.memory_interface import MemorySignature
from cubewave.rtl.memory_mover import MemoryMover
from cubewave.rtl.memory_storage import MemoryStorage
from cubewave.rtl.mesh import Mesh
from cubewave.rtl.operand_slots import OperandSlots
from cubewave.rtl.output_cell import OutputStationaryCell
from cubewave.rtl.output_mesh import OutputMesh
from cubewave.rtl.queue import Queue
from cubewave.rtl.sequencer import Sequencer
from cubewave.rtl.skew import Skew
from cubewave.rtl.store import StoreUnit
from cubewave.rtl.weight_fifo import WeightFifo

DESIGN = Design(rows=3, cols=2, buffer_port_rows=2, weight_fifo_depth=3, input_slots=3,
                slot_bytes=40, accumulator_rows=5, accumulator_banks=3)
FORMAT = IntegerFormat.of(DESIGN)  # sums of 18 bits
# 3 banks, 5 rows: valid 1, bank 2, row 3, accumulate, finish, store
TAG = 9
# count 2, first, last; tag: slot 2, word 3, last 1
BEAT = 10
LOAD = 40 + 4 + 2 + 40   # base, up to 12 rows of up to 3 bytes, stride
STORE = 40 + 3 + 4 + 40  # base, up to 5 rows of up to 8 bytes, stride
ROW = 40 + 4 + 64        # address, up to 8 bytes, data

PORTS = {
    "accumulator": (
        Accumulators(design=DESIGN, format=FORMAT),
        f"tag<{TAG} sums<36 take<1 take_bank<2 free>3 full>3 read<1 read_bank<2 read_row<3 "
        "release<1 release_bank<2 o>64 written>1 clear<1 overflow>1"),
    "accumulator_update": (
        AccumulatorUpdate(format=FORMAT, cols=2, overflow="wrap"),
        "old<64 accumulate<1 sums<36 new>64 overflows>2"),
    "array_control": (
        ArrayControl(design=DESIGN, max_rows_in_flight=9),
        "i<27 slots_ready<3 banks_free<3 whole<1 shifting<1 shift_ends<1 shift>1 enter>1 slot>2 "
        f"row>4 unsigned>1 first>1 turn>1 release>1 take>1 bank>2 tag>{TAG} tile_rows>2 retire<1 "
        "macs>3 clear<1 running>1 status>4"),
    "drain_tags": (DrainTags(design=DESIGN), f"i<{TAG + 2} o>{TAG}"),
    "loader": (
        Loader(design=DESIGN),
        f"i<{1 + LOAD + 1 + 2 + 3 + 2} o>{1 + LOAD + 6} slots_taken<3 fifo_room<1 take>1 "
        "take_slot>2 reserve>1 loading<1 storing<1 under_way<1 status>3"),
    "mac": (
        WeightStationaryCell(format=FORMAT),
        "activation_in<9 activation_out>9 turn_in<1 turn_out>1 weight_in<8 weight_out>8 "
        "weight_valid_in<1 weight_valid_out>1 sum_in<18 sum_out>18"),
    "matrix_unit": (
        MatrixUnit(design=DESIGN),
        f"activations<24 enter<1 unsigned<1 first<1 turn<1 tag<{TAG} tile_rows<2 weights<16 "
        f"weights_valid<1 sums>36 tag_out>{TAG}"),
    "memory_mover": (
        MemoryMover(design=DESIGN, row_bits=7, line_bytes=2),
        f"i<{1 + LOAD + 6 + 48} now<48 address>80 enable>2 data<32 o>{14 + BEAT} under_way>1"),
    "memory_storage": (
        MemoryStorage(design=DESIGN, readers=2, lines=2),
        f"address<80 enable<2 data>128 write<{ROW}"),
    "mesh": (Mesh(format=FORMAT, rows=3, cols=2), "i_rows<30 i_cols<18 o>36"),
    "operand_slots": (
        OperandSlots(design=DESIGN),
        f"i<{48 + BEAT} take<1 take_slot<2 taken>3 ready>3 read<1 read_slot<2 read_row<4 "
        "release<1 release_slot<2 o>24"),
    "output_cell": (
        OutputStationaryCell(format=FORMAT),
        "activation_in<9 activation_out>9 first_in<1 first_out>1 last_in<1 last_out>1 "
        "weight_in<8 weight_out>8 start<1 sum_in<18 sum_out>18"),
    "output_mesh": (OutputMesh(format=FORMAT, rows=3, cols=2), "i_rows<33 i_cols<18 o>36"),
    "queue": (Queue(shape=7, depth=3), "i<7 o>7 level>2"),
    "sequencer": (Sequencer(shape=7, depth=3), "length<2 go<1 rewind<1 o>7"),
    "store": (
        StoreUnit(design=DESIGN),
        f"i<{2 + 3 + STORE} o>{STORE} banks_full<3 stays<1 under_way<1 read>1 bank>2 row>3 "
        f"release>1 data<64 write>{ROW} status>3"),
    "weight_fifo": (
        WeightFifo(design=DESIGN),
        f"i<{32 + BEAT} reserve<1 room>1 whole>1 shift<1 shifting>1 ends>1 o>16 valid>1"),
    "memory_interface": (
        MemorySignature(DESIGN),
        f"load>{1 + LOAD + 6} store>{STORE} weights<{32 + BEAT} operands<{48 + BEAT} rows>{ROW} "
        "loading<1 storing<1 store_next<1 store_stays<1 loads_under_way<1 stores_under_way<1 "
        "request_bytes<40 request_transactions<40"),
}


def describe(members):
    """name, direction (< in, > out) and bits of each member."""
    for name, member in members.items():
        if member.is_signature:
            assert isinstance(member.signature, stream.Signature)
            shape = member.signature.members["payload"].shape
        else:
            shape = member.shape
        yield f"{name}{'<' if member.flow is In else '>'}{Shape.cast(shape).width}"


@pytest.mark.parametrize("name", PORTS)
def test_ports(name):
    component, ports = PORTS[name]
    members = getattr(component, "signature", component).members
    assert " ".join(describe(members)) == ports


def test_counter_bank_ports():
    members = CounterBank().signature.members
    narrow = {name: Shape.cast(member.shape).width for name, member in members.items()
              if member.flow is In}
    assert narrow == {
        "enable": 1, "clear": 1, "status_memory": 1, "status_loader": 3, "status_array": 4,
        "status_store": 3, "add_span": 1, "add_activation_rows": 1, "add_useful_macs": 21,
        "add_weight_rows": 1, "add_accumulator_rows": 1, "add_loads": 1, "add_stores": 1,
        "add_bytes_read": 40, "add_bytes_written": 40, "add_transactions": 40,
        "add_exposed_requests": 1}


@pytest.mark.parametrize("component,defaults", [
    (lambda **kwargs: WeightStationaryCell(format=FORMAT, **kwargs),
     {"double_buffer": True, "mac_latency": 1}),
    (lambda **kwargs: OutputStationaryCell(format=FORMAT, **kwargs), {"mac_latency": 1}),
    (lambda **kwargs: Mesh(format=FORMAT, rows=1, cols=2, **kwargs),
     {"double_buffer": True, "mac_latency": 1}),
    (lambda **kwargs: OutputMesh(format=FORMAT, rows=1, cols=2, **kwargs), {"mac_latency": 1}),
    (lambda **kwargs: Skew(shape=3, lanes=3, **kwargs), {"reverse": False}),
])
def test_defaults(component, defaults):
    assert rtlil.convert(component(), emit_src=False) == rtlil.convert(
        component(**defaults), emit_src=False)
