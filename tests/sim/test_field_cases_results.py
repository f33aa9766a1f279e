"""Cases from the field: results, partial tiles, traffic, number ranges, hazards, refusals."""

import dataclasses

import numpy as np
import pytest

from cubewave.rtl import Design
from cubewave.rtl.counters import COUNTERS, EVENTS
from cubewave.rtl.memory_timing import MemoryTiming
from cubewave.rtl.status import UNITS
from cubewave.sim import DeadlockError, simulate
from cubewave.sim.backends.pysim import run_pysim
from cubewave.sim.backends.run import watchdog_cycles
from cubewave.workloads import Gemm, OperandTypeError, QProjection, Sequence, WorkloadError

TINY = Design.preset("tiny")


def pattern(m, k, n):
    """The operands of the cases: small, signed, without symmetry."""
    i, j = np.indices((m, k))
    a = (7 * i + 3 * j) % 11 - 5
    i, j = np.indices((k, n))
    return a, (5 * i + 2 * j) % 9 - 4


def run(design, workload, level="rtl"):
    result = simulate(design, workload, level=level)
    assert result.ok, [check for check in result.checks if not check["ok"]]
    return result


def weighted(c):
    """Sum of (i + 1)(j + 1) c[i, j]: notices a swapped or shifted element."""
    i, j = np.indices(c.shape)
    return int(((i + 1) * (j + 1) * c).sum())


@pytest.mark.parametrize("bits,read", [(8, 512), (16, 1024)])
def test_f025_byte_counters_follow_the_operand_width(bits, read):
    design = dataclasses.replace(TINY, activation_bits=bits, weight_bits=bits, slot_bytes=4096)
    result = run(design, QProjection(16, 16, 16))
    assert (result.bytes_read, result.bytes_written) == (read, 1024)


@pytest.mark.parametrize("bits,cycles", [(8, 4), (16, 8)])
def test_f027_a_32_bit_port_takes_a_row_of_16_elements_in_4_or_8_cycles(bits, cycles):
    design = Design(rows=16, cols=1, activation_bits=bits, memory_bytes_per_cycle=4)
    assert MemoryTiming.of(design).occupancy(design.activation_row_bytes) == cycles
    one, two = (run(design, QProjection(m, 16, 1, store_output=False)) for m in (1, 2))
    assert two.units["memory"].busy - one.units["memory"].busy == cycles


def test_f030_a_partial_last_tile_is_not_charged_as_a_full_one():
    design = Design(rows=16, cols=8, slot_bytes=4096)
    result = run(design, QProjection(4, 100, 24))
    assert result.bytes_read == 4 * 100 + 100 * 24  # weights 2400, not 7 * 16 * 24
    assert result.counters["weight_rows"] == 3 * 7 * 16


@pytest.mark.parametrize("k,updates", [(12, 288), (4, 96)])
def test_f032_result_words_are_written_once(k, updates):
    result = run(TINY, QProjection(8, k, 12))
    assert result.counters["accumulator_rows"] * TINY.cols == updates
    assert result.bytes_written == 96 * 4


@pytest.mark.parametrize("shape,expected", [
    ((3, 7, 5), {(0, 0): 26, (2, 4): -31, "sum": -29, "weighted": -577}),     # F033
    ((7, 7, 7), {(0, 0): 26, (6, 6): -14, "sum": -15, "weighted": -189}),     # F036
    ((5, 3, 9), {(0, 0): 15, (4, 8): -17, "sum": 0, "weighted": 36}),         # F037
], ids=["f033", "f036", "f037"])
def test_f033_f036_f037_partial_tiles(shape, expected):
    result = run(TINY, Gemm(*pattern(*shape)))
    c = result.output
    expected = dict(expected)
    assert (int(c.sum()), weighted(c)) == (expected.pop("sum"), expected.pop("weighted"))
    assert {place: int(c[place]) for place in expected} == expected
    assert result.useful_macs == np.prod(shape)
    tiles = {(7, 7, 7): 4, (5, 3, 9): 3}.get(shape)
    if tiles:
        assert result.counters["weight_rows"] == tiles * 4


def test_f039_last_row_and_column_of_a_full_tile():
    i, j = np.indices((16, 16))
    b = (16 * i + j) % 251 - 125
    result = run(Design.preset("edge"), Gemm(np.eye(16, dtype=int), b))
    assert (result.output == b).all()


@pytest.mark.parametrize("side", [1, 2, 3, 4, 5, 8, 16])
def test_f040_every_array_size_gives_the_same_product(side):
    c = run(Design(rows=side, cols=side), Gemm(*pattern(5, 9, 10))).output
    assert (c[0, 0], c[4, 9], c.sum(), weighted(c)) == (46, 24, 43, 948)


@pytest.mark.parametrize("bits", [4, 8, 12, 16])
def test_f043_every_operand_width_keeps_its_extremes(bits):
    extremes = [-(1 << bits - 1), (1 << bits - 1) - 1, 0, -1, 1]
    b = np.array([np.roll(extremes, shift) for shift in range(5)])
    design = dataclasses.replace(TINY, activation_bits=bits, weight_bits=bits)
    assert (run(design, Gemm(np.eye(5, dtype=int), b)).output == b).all()


def test_f060_a_program_that_cannot_end_is_stopped_and_named():
    program = QProjection(5, 9, 10).program(TINY)
    program.loads = [load for load in program.loads if load.slot != 1]
    with pytest.raises(DeadlockError, match=r"^deadlock: nothing has moved for \d+ cycles; "
                                            r"loader waits for .*; array waits for slot 1 to be "
                                            r"ready; store waits for accumulator bank 0 to be "
                                            r"full$"):
        run_pysim(TINY, program)


def test_f060_a_healthy_run_is_never_stopped():
    """Longer than the watchdog's limit, which counts cycles without progress only."""
    design = Design(rows=1, cols=1, accumulator_rows=4096, slot_bytes=4096)
    result = run(design, QProjection(4096, 3, 1))
    assert result.cycles > watchdog_cycles(design)


def test_f060_a_long_latency_is_no_deadlock():
    design = Design(rows=1, cols=1, memory_latency_cycles=12000)
    assert run(design, QProjection(1, 1, 1)).cycles > 24000


def test_f062_consecutive_accumulations_into_one_address():
    result = run(TINY, Gemm(np.ones((1, 16), int), np.full((16, 4), 3)))
    assert result.output.tolist() == [[48, 48, 48, 48]]


@pytest.mark.parametrize("m", [1, 2, 4, 8])
def test_f064_a_second_job_overwrites_what_the_first_left(m):
    job = QProjection(m, 4, 4, seed=m)
    twice = run(TINY, Sequence([job, job]))
    assert (twice.output == run(TINY, job).output).all()
    again = QProjection(m, 4, 4, seed=m, accumulate=True)
    assert (run(TINY, Sequence([job, again])).output == 2 * twice.output).all()


@pytest.mark.parametrize("bits,overflow,value", [
    (18, "saturate", 131071), (18, "wrap", -131072), (32, "wrap", 131072)])
def test_f066_an_accumulator_never_wraps_in_silence(bits, overflow, value):
    design = dataclasses.replace(TINY, accumulator_bits=bits, accumulator_overflow=overflow)
    result = run(design, Gemm(np.full((1, 8), -128), np.full((8, 1), -128)))
    assert result.output.tolist() == [[value]]
    assert result.overflow == (bits == 18)


def test_f068_unsigned_activations_instead_of_offsets():
    result = run(TINY, Gemm([[0], [128], [255]], [[1]], unsigned=True))
    assert result.output.ravel().tolist() == [0, 128, 255]
    with pytest.raises(TypeError, match="zero_point"):
        Gemm([[0]], [[1]], zero_point=128)


@pytest.mark.parametrize("dtype", [None, np.int8, np.int32, np.int64, np.float64])
def test_f070_input_types_are_taken_or_refused(dtype):
    a, b = [[2], [-1], [0], [5]], [[1, 0, -3, 4]]
    if dtype is not None:
        a, b = np.array(a, dtype), np.array(b, dtype)
    expected = [[2, 0, -6, 8], [-1, 0, 3, -4], [0, 0, 0, 0], [5, 0, -15, 20]]
    assert run(TINY, Gemm(a, b)).output.tolist() == expected


@pytest.mark.parametrize("a,error,message", [
    ([[0.5]], OperandTypeError, r"^a must hold integers \(floats only when integral\)$"),
    ([[np.inf]], OperandTypeError, r"^a must hold integers \(floats only when integral\)$"),
    ([["1"]], OperandTypeError, r"^a must hold integers, not <U1$"),
    ([[True]], OperandTypeError, r"^a must hold integers, not bool$"),
    ([1], WorkloadError, r"^a must have 2 dimensions, not 1$"),
    ([[2**63]], WorkloadError, r"^a must be within the operand format, not beyond 62 bits$"),
])
def test_f070_refusals(a, error, message):
    with pytest.raises(error, match=message):
        Gemm(a, [[1]])


@pytest.mark.parametrize("level", ["rtl", "analytic"])
def test_f070_values_beyond_the_operand_width_are_refused(level):
    with pytest.raises(WorkloadError,
                       match="^b must be from -128 to 127 for this design, but holds 128$"):
        simulate(TINY, Gemm([[1]], [[128]]), level=level)


@pytest.mark.parametrize("level", ["rtl", "cycle"])
def test_f072_a_sum_is_rounded_once_and_half_up(level):
    """Through two shifts by 4, with rounding each, 120 would become 1."""
    sums = [120, 127, 128, -128, -129]
    product = Gemm([[value // 2, value - value // 2] for value in sums], [[1], [1]],
                   requantize=(1, 8, 8))
    result = run(TINY, product, level=level)
    assert result.output.ravel().tolist() == [0, 0, 1, 0, -1]


@pytest.mark.parametrize("level", ["rtl", "cycle"])
@pytest.mark.parametrize("scale", [4, 1])
def test_f075_a_scale_factor_is_applied(level, scale):
    product = Gemm(np.full((16, 16), 3), np.eye(16, dtype=int), requantize=(scale, 0, 32))
    result = run(TINY, product, level=level)
    assert (result.output == 3 * scale).all() and result.output.shape == (16, 16)


def test_f080_an_unsigned_code_stays_unsigned():
    result = run(TINY, Gemm([[255]], [[1, -128]], unsigned=True))
    assert result.output.tolist() == [[255, -32640]]


def test_f118_every_counter_has_one_definition():
    result = run(TINY, QProjection(5, 9, 10))
    assert set(result.counters) == set(EVENTS)
    for unit, counts in result.units.items():
        names = {status.name.lower() for status in UNITS[unit]}
        assert set(counts.stalls) == names - {"busy", "idle"}
        assert counts.total == result.cycles
    for description in COUNTERS.values():
        assert "\n" not in description and len(description) > 10


def test_f123_signed_values_read_back_signed():
    result = run(TINY, Gemm([[-1, 7]], [[7, -1], [0, -1]]))
    assert result.output.tolist() == [[-7, -6]]
    assert result.to_json()["results"][0]["units"]["array"]["busy"] == 1
