"""Durations of both timings: taken from the components, and what they mean for single commands."""

import dataclasses

import pytest

from cubewave.rtl import Design
from cubewave.rtl.commands import ArrayJob, Destination, Load, Store
from cubewave.rtl.handoff import HandoffUnit
from cubewave.rtl.matrix_unit import MatrixUnit
from cubewave.rtl.memory_channel import MemoryChannel
from cubewave.rtl.memory_timing import MemoryTiming
from cubewave.rtl.operand_slots import OperandSlots
from cubewave.rtl.output_control import sum_interval, tile_interval
from cubewave.rtl.queue import Queue
from cubewave.rtl.store import StoreUnit
from cubewave.rtl.vector_fill import VectorFill
from cubewave.rtl.vector_unit import ACCEPT
from cubewave.rtl.weight_fifo import WeightFifo
from cubewave.sim.cycle import Durations

DESIGN = Design(rows=5, cols=3, mac_latency=4, memory_latency_cycles=9, memory_bytes_per_cycle=2)
OUTPUT = dataclasses.replace(DESIGN, dataflow="output_stationary")


def test_timing_rtl_is_what_the_components_say():
    assert Durations.rtl(DESIGN) == Durations(
        DESIGN, MemoryTiming.of(DESIGN), first_command=Queue.LATENCY,
        operand_arrival=MemoryChannel.LATENCY + OperandSlots.ARRIVAL,
        weight_arrival=MemoryChannel.LATENCY + WeightFifo.ARRIVAL,
        vector_arrival=MemoryChannel.LATENCY + VectorFill.ARRIVAL, vector_accept=ACCEPT,
        handoff_latency=HandoffUnit.LATENCY,
        shift=5, result=MatrixUnit.latency(DESIGN) + 1, textbook=False,
        tile_interval=tile_interval(DESIGN), sum_interval=sum_interval(DESIGN))


def test_the_results_of_an_output_tile_take_rows_cycles():
    assert Durations.rtl(OUTPUT).result == MatrixUnit.latency(OUTPUT) + 5
    single = dataclasses.replace(OUTPUT, weight_double_buffer=False)
    assert Durations.rtl(single).tile_interval == 5
    assert Durations.rtl(single).sum_interval == 5 + 3 - 2 + 4
    assert Durations.rtl(OUTPUT).sum_interval == 1


@pytest.mark.parametrize("component,attribute,changed", [
    (Queue, "LATENCY", {"first_command": 1}),
    (MemoryChannel, "LATENCY", {"operand_arrival": 1, "weight_arrival": 1,
                                "vector_arrival": 1}),
    (OperandSlots, "ARRIVAL", {"operand_arrival": 1}),
    (WeightFifo, "ARRIVAL", {"weight_arrival": 1}),
    (VectorFill, "ARRIVAL", {"vector_arrival": 1}),
    (HandoffUnit, "LATENCY", {"handoff_latency": 1}),
])
def test_an_attribute_is_imported_never_copied(monkeypatch, component, attribute, changed):
    """A component that takes a cycle longer changes the model, and only where it should."""
    before = dataclasses.asdict(Durations.rtl(DESIGN))
    monkeypatch.setattr(component, attribute, getattr(component, attribute) + 1)
    after = dataclasses.asdict(Durations.rtl(DESIGN))
    assert {name: after[name] - before[name] for name in after
            if after[name] != before[name]} == changed


def test_the_arrays_latency_is_imported(monkeypatch):
    monkeypatch.setattr(MatrixUnit, "latency", staticmethod(lambda design: 1000))
    assert Durations.rtl(DESIGN).result == 1001
    assert Durations.rtl(OUTPUT).result == 1005


def test_the_latency_of_a_stored_row_is_imported(monkeypatch):
    """The last row of a store is read, then written: it matters where the channel is quick."""
    design = Design(memory_bytes_per_cycle="unlimited", memory_latency_cycles=0)
    store = Store(bank=0, acc_row=0, rows=4, base=0, bytes_per_row=16, row_stride=16)
    assert Durations.rtl(design).store(store) == (1, 4, 4 + StoreUnit.ROW_LATENCY)
    monkeypatch.setattr(StoreUnit, "ROW_LATENCY", 7)
    assert Durations.rtl(design).store(store) == (1, 4, 11)


def test_loads_and_stores_of_timing_rtl():
    """20 bytes at 2 bytes per cycle; 15 rows through a port of one; latency 9."""
    durations = Durations.rtl(DESIGN)
    few = Load(Destination.OPERAND, base=0, rows=4, bytes_per_row=5, row_stride=5)
    many = few._replace(rows=15, bytes_per_row=1)
    assert durations.load(few) == (10, 10)
    assert durations.load(many) == (8, 15)
    store = Store(bank=0, acc_row=0, rows=4, base=0, bytes_per_row=12, row_stride=12)
    assert durations.store(store) == (24, 24, 24 + 9)
    assert durations.store(store._replace(rows=15, bytes_per_row=1)) == (8, 15, 15 + 9)


def test_timing_ideal_has_service_times_only():
    assert Durations.ideal(DESIGN) == Durations(
        DESIGN, MemoryTiming.of(DESIGN), first_command=0, operand_arrival=0, weight_arrival=0,
        shift=0, result=1, textbook=True, tile_interval=0, sum_interval=0)
    store = Store(bank=0, acc_row=0, rows=15, base=0, bytes_per_row=1, row_stride=1)
    assert Durations.ideal(DESIGN).store(store) == (8, 8, 8 + 9)  # no time to read the rows


@pytest.mark.parametrize("rows,inner,outer,cycles", [
    (15, 5, 3, 15), (1, 1, 1, 1), (15, 4, 3, 12), (15, 5, 1, 5), (16, 5, 1, 6), (7, 1, 2, 1),
    (8, 1, 2, 2), (3, 0, 0, 0)])
def test_a_job_is_its_macs_through_the_whole_array(rows, inner, outer, cycles):
    """ceil(MACs / (rows * cols)), 15 MACs per cycle here; in timing rtl one row per cycle."""
    job = ArrayJob(rows=rows, slot=0, row=0, bank=0, acc_row=0, inner=inner, outer=outer)
    assert Durations.ideal(DESIGN).job(job) == cycles
    assert Durations.rtl(DESIGN).job(job) == rows


def test_timings_by_name():
    assert Durations.of(DESIGN, "rtl") == Durations.rtl(DESIGN)
    assert Durations.of(OUTPUT, "ideal") == Durations.ideal(OUTPUT)
