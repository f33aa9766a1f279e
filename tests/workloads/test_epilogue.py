"""Bias, ReLU and requantisation of products: what is refused, programs, the numpy reference."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cubewave.rtl import Design
from cubewave.rtl.commands import Destination
from cubewave.rtl.vector_commands import VectorOp, operand_slot
from cubewave.workloads import Gemm, Sequence, WorkloadError
from cubewave.workloads.epilogue import Epilogue, Requantize
from cubewave.workloads.gemm import RandomGemm

TINY = Design.preset("tiny")
ONE = [[1]]


def column(*values):
    """A product whose result is these values, one below the other."""
    return [[value] for value in values], ONE


# Refusals


@pytest.mark.parametrize("options,message", [
    ({"bias": [1, 2]}, r"bias must have shape \(1,\), one element for each column of b, not "
                       r"\(2,\)"),
    ({"bias": [[1]]}, r"bias must have shape \(1,\), one element for each column of b, not "
                      r"\(1, 1\)"),
    ({"bias": "random"}, r"bias must have shape \(1,\), one element for each column of b, not "
                         r"\(\)"),
    ({"bias": [0.5]}, r"bias must hold integers \(floats only when integral\)"),
    ({"relu": 1}, "relu must be true or false, not 1"),
    ({"requantize": 8}, "requantize must be three integers MULTIPLIER,SHIFT,BITS, not 8"),
    ({"requantize": (1, 2)}, r"requantize must be three integers MULTIPLIER,SHIFT,BITS, not "
                             r"\(1, 2\)"),
    ({"requantize": (0, 8, 8)}, "requantize multiplier must be an integer from 1 to 2147483647, "
                                "not 0"),
    ({"requantize": (1 << 31, 8, 8)}, "requantize multiplier must be an integer from 1 to "
                                      "2147483647, not 2147483648"),
    ({"requantize": (1, -1, 8)}, "requantize shift must be an integer from 0 to 63, not -1"),
    ({"requantize": (1, 64, 8)}, "requantize shift must be an integer from 0 to 63, not 64"),
    ({"requantize": (1, 8, 1)}, "requantize bits must be an integer from 2 to 48, not 1"),
    ({"requantize": (1, 8, 8.5)}, "requantize bits must be an integer from 2 to 48, not 8.5"),
    ({"relu": True, "store_output": False}, "relu needs store_output: the vector unit changes "
                                            "results on their way to memory"),
    ({"bias": [1], "store_output": False}, "bias needs store_output: the vector unit changes "
                                           "results on their way to memory"),
    ({"requantize": (1, 0, 8), "store_output": False},
     "requantize needs store_output: the vector unit changes results on their way to memory"),
])
def test_refusals(options, message):
    with pytest.raises(WorkloadError, match=f"^{message}$"):
        Gemm(ONE, ONE, **options)


@pytest.mark.parametrize("design,options,message", [
    (TINY, {"bias": [1 << 31]}, "bias must be from -2147483648 to 2147483647 for this design, but "
                                "holds 2147483648"),
    (TINY, {"requantize": (1, 0, 33)}, "requantize bits must be from 2 to 32, the "
                                       "accumulator_bits of this design, not 33"),
])
def test_refusals_of_a_design(design, options, message):
    with pytest.raises(WorkloadError, match=f"^{message}$"):
        Gemm(ONE, ONE, **options).program(design)


def test_only_the_last_job_that_adds_may_change_its_result():
    sums = Gemm(ONE, ONE, store_output=False)
    last = Gemm(ONE, ONE, accumulate=True, relu=True)
    assert Sequence([sums, last]).reference(TINY)[0].tolist() == [[2]]
    Sequence([sums, last, Gemm(ONE, ONE)])
    with pytest.raises(WorkloadError, match="^accumulate needs the sums of the job before it, "
                                            "which has relu: only the last job that adds to the "
                                            "accumulators may change its result$"):
        Sequence([sums, last, Gemm(ONE, ONE, accumulate=True)])


# Results


def test_rounding_is_half_up_and_once():
    product = Gemm(*column(120, 127, -128, 0), requantize=(1, 8, 8))
    assert product.reference(TINY)[0].ravel().tolist() == [0, 0, 0, 0]
    product = Gemm(*column(3, 5, -3, -5), requantize=(1, 1, 8))
    assert product.reference(TINY)[0].ravel().tolist() == [2, 3, -1, -2]


def test_a_biased_sum_saturates_to_the_accumulators_without_overflow():
    least, most = -(1 << 31), (1 << 31) - 1
    for bias, expected in ((most, [most, most - 1]), (least, [least + 1, least])):
        result, overflow = Gemm(*column(1, -1), bias=[bias]).reference(TINY)
        assert (result.ravel().tolist(), overflow) == (expected, False)


def test_only_a_sum_beyond_an_element_overflows():
    """Two least numbers of a 48-bit accumulator: the one sum that an element cannot hold."""
    wide = replace(TINY, accumulator_bits=48)
    epilogue, least = Epilogue(biased=True), -(1 << 47)
    for value, overflows in ((least, True), (least + 1, False)):
        result, overflow = epilogue.apply(wide, np.array([[value]]), np.array([least]))
        assert (result.tolist(), overflow) == ([[least]], overflows)


@settings(max_examples=200)
@given(st.integers(-(1 << 31), (1 << 31) - 1), st.integers(1, (1 << 31) - 1),
       st.integers(0, 63), st.integers(2, 32))
def test_relu_before_requantisation_is_relu_after_it(value, multiplier, shift, bits):
    scaling, sums = Requantize(multiplier, shift, bits), np.array([[value]])
    before, _ = Epilogue(relu=True, requantize=scaling).apply(TINY, sums, None)
    scaled, _ = Epilogue(requantize=scaling).apply(TINY, sums, None)
    exact = (2 * value * multiplier + (1 << shift)) >> shift + 1
    assert scaled.item() == max(-(1 << bits - 1), min((1 << bits - 1) - 1, exact))
    assert before.item() == max(0, scaled.item())


def test_random_bias_comes_from_the_seed_and_leaves_the_operands_alone():
    plain, biased = (RandomGemm(3, 4, 9, 7, bias=bias) for bias in (None, "random"))
    for mine, other in zip(plain.operands(TINY), biased.operands(TINY)):
        assert (mine == other).all()
    bias = biased.bias_values(TINY)
    assert (bias == biased.seeded(7).bias_values(TINY)).all()
    assert (bias != biased.seeded(8).bias_values(TINY)).any()
    assert (biased.reference(TINY)[0] == plain.reference(TINY)[0] + bias).all()


# Programs


def test_commands_are_the_parts_that_there_are():
    parts = {"bias": [1], "relu": True, "requantize": (3, 4, 5)}
    ops = {}
    for chosen in ("relu", "requantize", "bias", "bias relu", "relu requantize",
                   "bias relu requantize"):
        program = Gemm(ONE, ONE, **{name: parts[name] for name in chosen.split()}).program(TINY)
        ops[chosen] = [command.op.name for command in program.vectors]
        first, last = program.vectors[0], program.vectors[-1]
        assert first.wait_a and last.done and last.last
        assert sum(command.done + command.last for command in program.vectors) == 2
    assert ops == {
        "relu": ["MAXIMUM"], "requantize": ["MULTIPLY"], "bias": ["ADD", "MULTIPLY"],
        "bias relu": ["ADD", "MAXIMUM", "MULTIPLY"],
        "relu requantize": ["MAXIMUM", "MULTIPLY"],
        "bias relu requantize": ["ADD", "MAXIMUM", "MULTIPLY"]}


@pytest.mark.parametrize("bits,expected", [(2, 1), (8, 1), (9, 2), (16, 2), (24, 3), (32, 4)])
def test_requantised_elements_are_stored_in_whole_bytes(bits, expected):
    program = RandomGemm(3, 4, 5, requantize=(1, 0, bits)).program(TINY)
    assert program.outputs[0].element_bytes == expected
    assert [store.element_bytes for store in program.stores] == [expected, expected]
    assert sum(store.rows * store.bytes_per_row for store in program.stores) == 15 * expected


def test_tiles_take_the_handoff_slots_in_turn():
    design = replace(TINY, handoff_slots=3, vector_units=2)
    program = RandomGemm(3, 9, 17, bias="random", relu=True).program(design)
    slots = [0, 1, 2, 0, 1]
    assert [move.slot for move in program.handoffs] == slots
    assert [store.bank for store in program.stores] == slots
    assert [command.a_slot for command in program.vectors
            if command.op is VectorOp.ADD] == slots
    assert {job.store for job in program.jobs} == {2}
    # The bias follows the last of the three weight tiles of its output tile.
    weights, biases = 0, []
    for load in program.loads:
        weights += load.destination is Destination.WEIGHT
        if load.destination is Destination.VECTOR:
            biases.append((weights, load.slot))
            assert (load.rows, load.row_stride, load.last) == (2, 0, 1)
    assert biases == [(3 * number + 3, operand_slot(design, slot))
                      for number, slot in enumerate(slots)]


def test_describe_names_the_parts():
    plain = RandomGemm(2, 3, 4).describe()
    assert not {"bias", "relu", "requantize"} & set(plain)
    described = RandomGemm(2, 3, 4, bias="random", relu=True, requantize=(1, 2, 3)).describe()
    assert described == {**plain, "bias": "random", "relu": True, "requantize": [1, 2, 3]}
    assert Gemm(ONE, ONE, bias=[1]).describe()["bias"] == "given"
