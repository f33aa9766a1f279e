"""Programs with commands out of a design's ranges are refused, by every level, before they run."""

from dataclasses import replace

import pytest
from designs import designs, gemms
from hypothesis import given, settings
from hypothesis import strategies as st

from cubewave.rtl import Design
from cubewave.rtl.commands import Destination
from cubewave.rtl.vector_commands import Direction, Operand
from cubewave.sim import simulate
from cubewave.sim.backends.pysim import run_pysim
from cubewave.sim.cycle import Durations, run_cycle_model
from cubewave.workloads import RandomAttention
from cubewave.workloads.gemm import RandomGemm
from cubewave.workloads.program import MemoryImage, Output, Program
from cubewave.workloads.program_check import ProgramError, check_program

TINY = Design.preset("tiny")


def product(**options):
    return RandomGemm(9, 10, 11, **options).program(TINY)


def attention():
    return RandomAttention(5, 9, 5, block_keys=4).program(TINY)


def change(program, queue, number, **fields):
    commands = list(getattr(program, queue))
    commands[number] = commands[number]._replace(**fields)
    return replace(program, **{queue: commands})


def assert_refused(program, message):
    with pytest.raises(ProgramError, match=message):
        check_program(program, TINY)


@pytest.mark.parametrize("queue, number, fields, message", [
    ("jobs", 0, {"rows": 0}, r"jobs\[0\]: rows must be an integer from 1 to 256, not 0"),
    ("jobs", 1, {"rows": 1.5}, r"jobs\[1\]: rows must be an integer of 64 bits at most, not 1.5"),
    ("jobs", 1, {"rows": 1 << 70}, r"jobs\[1\]: rows must be an integer of 64 bits at most, not "),
    ("jobs", 2, {"row": 250}, r"jobs\[2\]: rows must be an integer from 1 to 6, not 9"),
    ("jobs", 0, {"slot": 4}, r"jobs\[0\]: slot must be an integer from 0 to 3, not 4"),
    ("jobs", 0, {"bank": -1}, r"jobs\[0\]: bank must be an integer from 0 to 1, not -1"),
    ("jobs", 0, {"group": 2}, "group must be an integer from 0 to 1, not 2"),
    ("jobs", 0, {"inner": 5}, "inner must be an integer from 0 to 4, not 5"),
    ("jobs", 0, {"outer": 5}, "outer must be an integer from 0 to 4, not 5"),
    ("jobs", 0, {"store": 3}, "store must be an integer from 0 to 2, not 3"),
    ("jobs", 0, {"take_bank": 2}, "take_bank must be an integer from 0 to 1, not 2"),
    ("jobs", 0, {"acc_row": 248}, "its rows in the bank end at 257, beyond 256"),
    ("loads", 0, {"keep_shape": 1}, r"loads\[0\]: keep_shape needs a load to the same"),
    ("loads", 1, {"keep_shape": 1}, r"loads\[1\]: keep_shape needs a load to the same"),
    ("loads", 0, {"rows": 0}, r"loads\[0\]: rows must be an integer from 1 to 256, not 0"),
    ("loads", 0, {"rows": 257}, r"loads\[0\]: rows must be an integer from 1 to 256, not 257"),
    ("loads", 1, {"rows": 5}, r"loads\[1\]: rows must be an integer from 1 to 4, not 5"),
    ("loads", 0, {"bytes_per_row": 5}, "bytes_per_row must be an integer from 1 to 4, not 5"),
    ("loads", 0, {"word": 248}, "its rows in the slot end at 257, beyond 256"),
    ("loads", 2, {"word": 248}, r"loads\[2\]: its rows in the slot end at 257, beyond 256"),
    ("loads", 0, {"slot": 4}, "slot must be an integer from 0 to 3, not 4"),
    ("loads", 0, {"base": -1}, "base must be an integer from 0 to 1099511627775, not -1"),
    ("loads", 0, {"base": 570}, r"its bytes end at 654, beyond 652 \(memory_bytes\)"),
    ("loads", 2, {"base": 570}, r"loads\[2\]: its bytes end at 654, beyond 652 \(memory_bytes\)"),
    ("loads", 0, {"row_stride": 1 << 40}, "row_stride must be an integer from 0 to 1099511627775"),
    ("stores", 0, {"rows": 0}, r"stores\[0\]: rows must be an integer from 1 to 256, not 0"),
    ("stores", 0, {"bank": 2}, "bank must be an integer from 0 to 1, not 2"),
    ("stores", 0, {"bytes_per_row": 17}, "bytes_per_row must be an integer from 1 to 16, not 17"),
    ("stores", 0, {"acc_row": 248}, "its rows of the bank end at 257, beyond 256"),
    ("stores", 0, {"base": 300}, r"its bytes end at 668, beyond 652 \(memory_bytes\)"),
    ("stores", 0, {"vector": 1}, "element_bytes must be an integer from 1 to 7, not 0"),
    ("stores", 0, {"vector": 1, "element_bytes": 4, "pitch": 127, "acc_row": 5},
     "its elements of the vector slot end at 1025, beyond 1024"),
])
def test_products(queue, number, fields, message):
    assert_refused(change(product(), queue, number, **fields), message)


@pytest.mark.parametrize("queue, number, fields, message", [
    ("vectors", 0, {"rows": 0}, r"vectors\[0\]: rows must be an integer from 1 to 1024, not 0"),
    ("vectors", 0, {"length": 0}, "length must be an integer from 1 to 1024, not 0"),
    ("vectors", 0, {"a_slot": 8}, "a_slot must be an integer from 0 to 7, not 8"),
    ("vectors", 0, {"a_address": 1005}, "its elements of a end at 1025, beyond 1024"),
    ("vectors", 0, {"d_address": 1020}, "its elements of d end at 1025, beyond 1024"),
    ("vectors", 1, {"d_address": 1005}, "its elements of d end at 1025, beyond 1024"),
    ("vectors", 1, {"b_address": 1020}, "its elements of b end at 1025, beyond 1024"),
    ("vectors", 1, {"b": Operand.VECTOR, "b_address": 1021},
     "its elements of b end at 1025, beyond 1024"),
    ("vectors", 0, {"flat": 1}, "rows must be an integer from 1 to 1, not 5"),
    ("vectors", 0, {"bits": 35}, "bits must be an integer from 0 to 34, not 35"),
    ("vectors", 0, {"shift": 64}, "shift must be an integer from 0 to 63, not 64"),
    ("vectors", 0, {"chain": 3}, "chain must be an integer from 0 to 2, not 3"),
    ("vectors", 0, {"immediate": 1 << 31}, "immediate must be an integer from -2147483648 to "),
    ("handoffs", 0, {"rows": 0}, r"handoffs\[0\]: rows must be an integer from 1 to 1024"),
    ("handoffs", 0, {"slot": 8}, "slot must be an integer from 0 to 7, not 8"),
    ("handoffs", 0, {"buffer": 2}, "buffer must be an integer from 0 to 1, not 2"),
    ("handoffs", 0, {"direction": Direction.TO_MATRIX, "buffer": 4},
     "buffer must be an integer from 0 to 3, not 4"),
    ("handoffs", 0, {"row": 252}, "its rows on the matrix side end at 257, beyond 256"),
    ("handoffs", 0, {"address": 1005}, "its elements in the vector slot end at 1025, beyond 1024"),
    ("handoffs", 0, {"element_bytes": 8}, "element_bytes must be an integer from 1 to 7, not 8"),
])
def test_attention(queue, number, fields, message):
    assert_refused(change(attention(), queue, number, **fields), message)


def test_places_of_pieces_at_a_time():
    """More than one piece of a row in a beat go to different rows of the port."""
    design = replace(TINY, buffer_port_rows=4, handoff_bytes_per_cycle=64)
    program = RandomAttention(5, 9, 5, block_keys=9).program(design)
    number = next(at for at, move in enumerate(program.handoffs)
                  if move.direction is Direction.TO_MATRIX)
    pitch = program.handoffs[number].piece_pitch
    check_program(program, design)
    with pytest.raises(ProgramError, match=r"piece_pitch % buffer_port_rows must be an integer "
                                           r"from 1 to 1, not 2"):
        check_program(change(program, "handoffs", number, piece_pitch=pitch + 1), design)


def test_loads_into_vector_slots():
    program = product(bias="random", requantize=(1, 4, 8))
    number = next(at for at, load in enumerate(program.loads)
                  if load.destination is Destination.VECTOR)
    check_program(program, TINY)
    for fields, message in (
            ({"slot": 8}, "slot must be an integer from 0 to 7, not 8"),
            ({"element_bytes": 0}, "element_bytes must be an integer from 1 to 7, not 0"),
            ({"word": 1021}, "its elements in the vector slot end at 1025, beyond 1024"),
            ({"bytes_per_row": 17}, "bytes_per_row must be an integer from 1 to 16, not 17")):
        with pytest.raises(ProgramError, match=message):
            check_program(change(program, "loads", number, keep_shape=0, **fields), TINY)


def test_what_is_preloaded_counts_as_before():
    program = product()
    moved = replace(program, preload=program.loads[:2], loads=program.loads[2:])
    check_program(moved, TINY)
    with pytest.raises(ProgramError, match=r"^preload\[1\]: rows must be an integer from 1 to 4"):
        check_program(change(moved, "preload", 1, rows=9), TINY)
    with pytest.raises(ProgramError, match=r"^loads\[0\]: keep_shape needs"):
        check_program(replace(moved, preload=[]), TINY)


@pytest.mark.parametrize("fields, message", [
    ({"images": [MemoryImage(650, bytes(3))]}, r"images\[0\]: 3 bytes from address 650 are not in "
                                               r"the program's 652 bytes of memory"),
    ({"outputs": [Output(256, 9, 12, 4)]}, r"outputs\[0\]: 432 bytes from address 256 are not"),
    ({"outputs": [Output(-1, 1, 1, 1)]}, r"outputs\[0\]: 1 bytes from address -1 are not"),
])
def test_memory(fields, message):
    with pytest.raises(ProgramError, match=message):
        check_program(replace(product(), **fields), TINY)


def test_nothing_is_a_program():
    check_program(Program(), TINY)


@settings(max_examples=30)
@given(st.data())
def test_products_of_this_project_pass(data):
    design = data.draw(designs())
    check_program(data.draw(gemms(design)).program(design), design)


@pytest.mark.parametrize("run", [
    run_pysim, lambda design, program: run_cycle_model(program, Durations.rtl(design))])
def test_every_level_refuses(run):
    with pytest.raises(ProgramError, match=r"jobs\[0\]: rows must be an integer from 1 to 256"):
        run(TINY, change(product(), "jobs", 0, rows=0))


def test_no_waveform_is_written_of_a_refused_program(tmp_path):
    class Broken(RandomGemm):
        def program(self, design, contents=True):
            return change(super().program(design, contents), "jobs", 0, bank=9)

    with pytest.raises(ProgramError, match=r"jobs\[0\]: bank must be"):
        simulate(TINY, Broken(4, 4, 4), vcd=tmp_path / "x.vcd")
    assert not list(tmp_path.iterdir())
