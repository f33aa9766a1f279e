"""Every component: same parameters, same circuit; nothing breaks at the smallest parameters."""

import dataclasses
import re

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Signal, Value, signed
from harness import MachineBench, TiledProduct

from cubewave.rtl import Design
from cubewave.rtl.accumulator import Accumulators
from cubewave.rtl.array_control import ArrayControl
from cubewave.rtl.core import Core
from cubewave.rtl.counters import CounterBank
from cubewave.rtl.delay import Delay
from cubewave.rtl.drain_tags import DrainTags
from cubewave.rtl.exchange import Exchange
from cubewave.rtl.formats import IntegerFormat
from cubewave.rtl.handoff import HandoffUnit
from cubewave.rtl.handoff_formats import ProbabilityFormat, ScoreFormat
from cubewave.rtl.loader import Loader
from cubewave.rtl.mac import WeightStationaryCell
from cubewave.rtl.machine import Machine
from cubewave.rtl.matrix_unit import MatrixUnit
from cubewave.rtl.memory_channel import MemoryChannel
from cubewave.rtl.memory_mover import MemoryMover
from cubewave.rtl.memory_storage import MemoryStorage
from cubewave.rtl.mesh import Mesh
from cubewave.rtl.operand_slots import OperandSlots
from cubewave.rtl.output_cell import OutputStationaryCell
from cubewave.rtl.output_control import OutputControl
from cubewave.rtl.output_mesh import OutputMesh
from cubewave.rtl.queue import Queue
from cubewave.rtl.sequencer import Sequencer
from cubewave.rtl.skew import Skew
from cubewave.rtl.store import StoreUnit
from cubewave.rtl.vector_fill import VectorFill
from cubewave.rtl.weight_fifo import WeightFifo

SMALLEST = Design(
    rows=1, cols=1, activation_bits=4, weight_bits=4, accumulator_bits=16, weight_fifo_depth=1,
    input_slots=1, slot_bytes=1, accumulator_banks=1, accumulator_rows=1,
    memory_bytes_per_cycle=1, memory_latency_cycles=0, memory_outstanding=1,
    memory_transaction_bytes=1, buffer_port_rows=1)
ODD = Design(rows=3, cols=2, buffer_port_rows=2, weight_fifo_depth=3, input_slots=3,
             memory_bytes_per_cycle="340/7", accumulator_rows=5, weight_double_buffer=False,
             mac_latency=3)
DESIGNS = {"smallest": SMALLEST, "odd": ODD}
OUTPUT_STATIONARY = {"dataflow": "output_stationary"}

COMPONENTS = {
    "accumulator": lambda design: Accumulators(design=design, format=IntegerFormat.of(design)),
    "array_control": lambda design: ArrayControl(
        design=design, max_rows_in_flight=MatrixUnit.latency(design) + 1),
    "core": lambda design: Core(design=design),
    "counters": lambda design: CounterBank(),
    "delay": lambda design: Delay(shape=signed(5), cycles=design.rows),
    "drain_tags": lambda design: DrainTags(design=design),
    "exchange": lambda design: Exchange(design=design),
    "handoff": lambda design: HandoffUnit(design=design),
    "loader": lambda design: Loader(design=design),
    "mac": lambda design: WeightStationaryCell(
        format=IntegerFormat.of(design), double_buffer=design.weight_double_buffer,
        mac_latency=design.mac_latency),
    "machine": lambda design: Machine(design=design, lines=2, commands=1),
    "matrix_unit": lambda design: MatrixUnit(design=design),
    "memory_channel": lambda design: MemoryChannel(design=design, lines=2),
    "memory_mover": lambda design: MemoryMover(design=design, row_bits=7, line_bytes=2, lanes=2),
    "memory_storage": lambda design: MemoryStorage(design=design, readers=1, lines=2),
    "mesh": lambda design: Mesh(format=IntegerFormat.of(design), rows=design.rows,
                                cols=design.cols),
    "operand_slots": lambda design: OperandSlots(design=design),
    "output_cell": lambda design: OutputStationaryCell(
        format=IntegerFormat.of(design), mac_latency=design.mac_latency),
    "output_control": lambda design: OutputControl(
        design=design, max_rows_in_flight=MatrixUnit.latency(design) + 2 * design.rows),
    "output_core": lambda design: Core(design=dataclasses.replace(design, **OUTPUT_STATIONARY)),
    "output_matrix_unit": lambda design: MatrixUnit(
        design=dataclasses.replace(design, **OUTPUT_STATIONARY)),
    "output_mesh": lambda design: OutputMesh(format=IntegerFormat.of(design), rows=design.rows,
                                             cols=design.cols, mac_latency=design.mac_latency),
    "probability_format": lambda design: ProbabilityFormat(design=design),
    "queue": lambda design: Queue(shape=7, depth=design.weight_fifo_depth),
    "score_format": lambda design: ScoreFormat(design=design),
    "sequencer": lambda design: Sequencer(shape=7, depth=design.weight_fifo_depth),
    "skew": lambda design: Skew(shape=signed(4), lanes=design.rows),
    "staged_handoff": lambda design: HandoffUnit(
        design=dataclasses.replace(design, handoff="staged")),
    "store": lambda design: StoreUnit(design=design),
    "vector_fill": lambda design: VectorFill(design=design),
    "weight_fifo": lambda design: WeightFifo(design=design),
}
LARGE = {"machine", "core", "output_core"}


def convert(component):
    """RTLIL with the ports that are signals: the ready of an always-ready stream is constant."""
    ports = (Value.cast(value) for _path, _member, value in component.signature.flatten(component))
    return rtlil.convert(component, ports=[port for port in ports if isinstance(port, Signal)],
                         emit_src=False)


@pytest.mark.parametrize("design,name", [
    (design, name) for design in DESIGNS for name in COMPONENTS
    if design == "odd" or name not in LARGE])  # the large ones once
def test_same_parameters_same_circuit_and_names(design, name):
    """A waveform shows names; Amaranth's own numbering, `$signal$7` and `U$3`, is not one."""
    first, second = (convert(COMPONENTS[name](DESIGNS[design])) for _ in range(2))
    assert first == second
    names = re.findall(r"\\\S*(?:\$signal|U\$|fsm_state\$)\S*", first)
    assert names == []


@pytest.mark.parametrize("overflow,double_buffer", [("wrap", True), ("saturate", False)])
@pytest.mark.parametrize("dataflow", ["weight_stationary", "output_stationary"])
def test_the_smallest_machine_computes(overflow, double_buffer, dataflow):
    design = dataclasses.replace(SMALLEST, accumulator_overflow=overflow, dataflow=dataflow,
                                 weight_double_buffer=double_buffer)
    program = TiledProduct(design, [[-8, 7, 3]], [[-8, 5], [7, -8], [-1, 1]])
    bench = MachineBench(program.machine()).run(program.commands, contents=program.contents)
    assert program.stored(bench.memory).tolist() == [[110, -93]]
