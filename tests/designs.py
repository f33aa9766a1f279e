"""Random designs and workloads for hypothesis, every field varied."""

import numpy as np
from hypothesis import strategies as st

from cubewave.rtl import Design, DesignError
from cubewave.rtl.formats import IntegerFormat
from cubewave.workloads import Gemm

__all__ = ["designs", "gemms", "small"]


def small(*values):
    return st.sampled_from(values)


@st.composite
def designs(draw):
    """A small machine; any field may be at its least or off a power of two."""
    fields = {
        "dataflow": draw(small("weight_stationary", "output_stationary")),
        "rows": draw(small(1, 2, 3, 4, 5)),
        "cols": draw(small(1, 2, 3, 4, 6)),
        "activation_bits": draw(small(8, 4, 5, 12, 16)),
        "weight_bits": draw(small(8, 4, 7, 16)),
        "accumulator_bits": draw(small(32, 16, 18, 24, 48)),
        "accumulator_overflow": draw(small("wrap", "saturate")),
        "weight_double_buffer": draw(st.booleans()),
        "mac_latency": draw(small(1, 2, 3, 5)),
        "weight_fifo_depth": draw(small(4, 1, 2, 3)),
        "input_slots": draw(small(4, 1, 2, 3)),
        "slot_bytes": draw(small(256, 64, 40, 24, 16, 8)),
        "accumulator_banks": draw(small(2, 1, 3)),
        "accumulator_rows": draw(small(64, 16, 7, 3, 2, 1)),
        "memory_bytes_per_cycle": draw(small(16, 1, 2, 7, 64, "unlimited", "7/3", "340/7",
                                             "1/2")),
        "memory_latency_cycles": draw(small(0, 1, 2, 5, 20)),
        "memory_outstanding": draw(small(8, 1, 2, 3)),
        "memory_transaction_bytes": draw(small(16, 1, 3, 8, 64)),
        "buffer_port_rows": draw(small(1, 2, 3, 4)),
        "clock_hz": draw(small(100_000_000, 1)),
    }
    try:
        return Design(**fields)
    except DesignError:  # the slot holds no port_rows rows
        return Design(**{**fields, "slot_bytes": 256})


@st.composite
def gemms(draw, design, dimensions=(1, 2, 3, 5, 7, 9, 13), **choices):
    """A product with operands of the full range, so that accumulators overflow now and then."""
    m, k, n = (draw(small(*dimensions)) for _ in range(3))
    format = IntegerFormat.of(design)
    choices.setdefault("unsigned", draw(st.booleans()))
    choices.setdefault("order", draw(small("mn", "nm")))
    choices.setdefault("store_output", draw(small(True, True, True, False)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return Gemm(
        rng.integers(*format.activation_range(choices["unsigned"]), size=(m, k), endpoint=True),
        rng.integers(*format.weight_range(), size=(k, n), endpoint=True), **choices)
