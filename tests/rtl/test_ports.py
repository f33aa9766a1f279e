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
from cubewave.rtl.exchange import Exchange
from cubewave.rtl.formats import IntegerFormat
from cubewave.rtl.handoff import HandoffUnit
from cubewave.rtl.handoff_formats import ProbabilityFormat, ScoreFormat, ScoreShift
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
from cubewave.rtl.vector_commands import vector_slots
from cubewave.rtl.vector_fill import VectorFill
from cubewave.rtl.weight_fifo import WeightFifo
from cubewave.rtl.window_addresses import WindowAddresses

DESIGN = Design(rows=3, cols=2, buffer_port_rows=2, weight_fifo_depth=3, input_slots=3,
                slot_bytes=40, accumulator_rows=5, accumulator_banks=3, vector_units=2,
                handoff_slots=2)
VSLOTS = vector_slots(DESIGN)
VSLOT = (VSLOTS - 1).bit_length()
FORMAT = IntegerFormat.of(DESIGN)  # sums of 18 bits
# 3 banks, 5 rows: valid 1, bank 2, row 3, accumulate, finish, store 2
TAG = 10
# slot, word 5 (32 elements of a vector slot), last, pitch 6, bytes of an element 3
LOAD_TAG = VSLOT + 5 + 1 + 6 + 3
BEAT = 2 + 1 + 1 + LOAD_TAG  # count, first, last
ELEMENT = 34                 # bits of a vector element
LOAD = 40 + 7 + 4 + 40   # base, up to 64 rows of up to 8 bytes, stride
# window, register, bytes, segments, y and x, column, tap and run, skip
WINDOW = 1 + 5 + 11 + 2 + 2 * 18 + 3 * 16 + 17
STORE = 40 + 3 + 4 + 40  # base, up to 5 rows of up to 8 bytes, stride
ROW = 40 + 4 + 64        # address, up to 8 bytes, data

PORTS = {
    "accumulator": (
        Accumulators(design=DESIGN, format=FORMAT),
        f"tag<{TAG} sums<36 take<1 take_bank<2 free>3 full>3 handoff_full>3 read<1 read_bank<2 "
        "read_row<3 release<1 release_bank<2 o>64 handoff_read<1 handoff_bank<2 handoff_row<3 "
        "handoff_release<1 handoff_release_bank<2 handoff_o>64 written>1 clear<1 overflow>1"),
    "accumulator_update": (
        AccumulatorUpdate(format=FORMAT, cols=2, overflow="wrap"),
        "old<64 accumulate<1 sums<36 new>64 overflows>2"),
    "array_control": (
        ArrayControl(design=DESIGN, max_rows_in_flight=9),
        "i<31 slots_ready<3 banks_free<3 groups_taken<2 whole<1 shifting<1 shift_ends<1 shift>1 "
        "enter>1 slot>2 row>4 unsigned>1 first>1 turn>1 release>1 take>1 bank>2 take_group>1 "
        f"release_group>1 group>1 tag>{TAG} tile_rows>2 retire<1 "
        "macs>3 clear<1 running>1 status>4"),
    "drain_tags": (DrainTags(design=DESIGN), f"i<{TAG + 2} o>{TAG}"),
    "exchange": (
        Exchange(design=DESIGN), "write<1 write_place<4 data<64 read<1 read_place<4 o>64"),
    "handoff": (
        HandoffUnit(design=DESIGN),
        # direction, slot, buffer 2, rows and length 7, row 4, piece pitch 4, address 5, pitch 6,
        # element bytes 3, shift 6, narrow, take, last
        f"i<{1 + VSLOT + 2 + 14 + 8 + 11 + 9 + 3} banks_full<3 slots_taken<3 "
        f"vector_taken<{VSLOTS} results<{VSLOTS} read>1 bank>2 row>3 release>1 data<64 "
        f"vector_read>1 vector_read_slot>{VSLOT} vector_read_unit>1 vector_read_address>5 "
        f"vector_read_data<{6 * ELEMENT} vector_write>1 vector_slot>{VSLOT} vector_unit>1 "
        f"vector_address>5 vector_count>2 vector_data>{2 * ELEMENT} vector_take>1 "
        f"vector_take_slot>{VSLOT} vector_filled>1 vector_filled_slot>{VSLOT} vector_use>1 "
        f"vector_use_slot>{VSLOT} operand_write>2 operand_slot>2 operand_row>8 operand_data>48 "
        "operand_take>1 operand_take_slot>2 operand_ready>1 operand_ready_slot>2 bytes>6 "
        "status>3"),
    "loader": (
        Loader(design=DESIGN),
        f"i<{2 + LOAD + 2 + LOAD_TAG + WINDOW} o>{2 + LOAD + LOAD_TAG + WINDOW} slots_taken<3 "
        f"vector_taken<{VSLOTS} fifo_room<1 take>1 take_slot>2 vector_take>1 "
        f"vector_take_slot>{VSLOT} reserve>1 loading<1 storing<1 under_way<1 status>3"),
    "mac": (
        WeightStationaryCell(format=FORMAT),
        "activation_in<9 activation_out>9 turn_in<1 turn_out>1 weight_in<8 weight_out>8 "
        "weight_valid_in<1 weight_valid_out>1 sum_in<18 sum_out>18"),
    "matrix_unit": (
        MatrixUnit(design=DESIGN),
        f"activations<24 enter<1 unsigned<1 first<1 turn<1 tag<{TAG} tile_rows<2 weights<16 "
        f"weights_valid<1 sums>36 tag_out>{TAG}"),
    "memory_mover": (
        MemoryMover(design=DESIGN, row_bits=7, line_bytes=2, lanes=2),
        f"i<{2 + LOAD + LOAD_TAG + WINDOW + 48} now<48 address>80 enable>2 data<32 o>{14 + BEAT} "
        "bytes>4 windows_read>1 under_way>1"),
    "memory_storage": (
        MemoryStorage(design=DESIGN, readers=2, lines=2),
        f"address<80 enable<2 data>128 write<{ROW}"),
    "mesh": (Mesh(format=FORMAT, rows=3, cols=2), "i_rows<30 i_cols<18 o>36"),
    "operand_slots": (
        OperandSlots(design=DESIGN),
        f"i<{48 + BEAT} take<1 take_slot<2 taken>3 ready>3 handoff_write<2 handoff_slot<2 "
        "handoff_row<8 handoff_data<48 handoff_take<1 handoff_take_slot<2 handoff_ready<1 "
        "handoff_ready_slot<2 read<1 read_slot<2 read_row<4 "
        "release<1 release_slot<2 o>24"),
    "output_cell": (
        OutputStationaryCell(format=FORMAT),
        "activation_in<9 activation_out>9 first_in<1 first_out>1 last_in<1 last_out>1 "
        "weight_in<8 weight_out>8 start<1 sum_in<18 sum_out>18"),
    "output_mesh": (OutputMesh(format=FORMAT, rows=3, cols=2), "i_rows<33 i_cols<18 o>36"),
    "probability_format": (ProbabilityFormat(design=DESIGN), "i<16 narrow<1 o>8"),
    "queue": (Queue(shape=7, depth=3), "i<7 o>7 level>2"),
    "score_format": (ScoreFormat(design=DESIGN), "i<33 narrow<1 o>32"),
    "score_shift": (ScoreShift(design=DESIGN), "i<32 shift<6 o>33"),
    "sequencer": (Sequencer(shape=7, depth=3), "length<2 go<1 rewind<1 o>7"),
    "store": (
        StoreUnit(design=DESIGN),
        f"i<{VSLOT + 5 + STORE + 1 + 6 + 3 + 2} o>{STORE} banks_full<3 results<{VSLOTS} stays<1 "
        "under_way<1 read>1 bank>2 row>3 "
        f"release>1 data<64 vector_read>1 vector_slot>{VSLOT} vector_unit>1 vector_address>5 "
        f"use>1 vector_release>1 vector_data<{2 * ELEMENT} write>{ROW} status>3"),
    "vector_fill": (
        VectorFill(design=DESIGN),
        f"i<{64 + 4 + 2 + LOAD_TAG} load_write>1 load_slot>{VSLOT} load_unit>1 load_address>5 "
        f"load_count>2 load_data>{2 * ELEMENT} load_filled>1 load_filled_slot>{VSLOT}"),
    "weight_fifo": (
        WeightFifo(design=DESIGN),
        f"i<{32 + BEAT} reserve<1 room>1 whole>1 shift<1 shifting>1 ends>1 o>16 valid>1"),
    "memory_interface": (
        MemorySignature(DESIGN),
        f"load>{2 + LOAD + LOAD_TAG + WINDOW} store>{STORE} weights<{32 + BEAT} "
        f"operands<{48 + BEAT} vectors<{64 + 4 + 2 + LOAD_TAG} rows>{ROW} "
        "loading<1 storing<1 store_next<1 store_stays<1 loads_under_way<1 stores_under_way<1 "
        "request_bytes<40 request_transactions<40 window_bytes<40"),
    "window_addresses": (
        WindowAddresses(design=DESIGN, lanes=2),
        f"request<{2 + LOAD + LOAD_TAG + WINDOW} first<1 step<1 configure<1 address>80 real>2 "
        "offset>4 count>4 first_segment>1 last_segment>1 padding>16"),
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
        "enable": 1, "clear": 1, "select": 6, "status_memory": 1, "status_loader": 3,
        "status_array": 4, "status_vector": 3, "status_handoff": 3, "status_store": 3,
        "add_span": 1, "add_activation_rows": 1, "add_useful_macs": 21, "add_weight_rows": 1,
        "add_accumulator_rows": 1, "add_vector_commands": 1, "add_both_busy": 1,
        "add_handoffs": 1, "add_handoff_bytes": 17, "add_exchange_bytes": 17, "add_loads": 1,
        "add_stores": 1, "add_bytes_read": 40, "add_bytes_written": 40, "add_window_bytes": 40,
        "add_transactions": 40,
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
