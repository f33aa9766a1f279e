"""Random designs and workloads for hypothesis, every field and choice varied."""

import numpy as np
from hypothesis import strategies as st

from cubewave.rtl import Design, DesignError
from cubewave.rtl.formats import IntegerFormat
from cubewave.rtl.memory_timing import MemoryTiming
from cubewave.workloads import Gemm, Sequence, WorkloadError
from cubewave.workloads.gemm import RandomGemm

__all__ = ["designs", "gemms", "small", "workloads"]


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
        "weight_fifo_depth": draw(small(4, 1, 2, 3, 6)),
        "input_slots": draw(small(4, 1, 2, 3, 7)),
        "slot_bytes": draw(small(256, 64, 40, 24, 16, 8)),
        "accumulator_banks": draw(small(2, 1, 3)),
        "accumulator_rows": draw(small(64, 16, 7, 3, 2, 1)),
        "memory_bytes_per_cycle": draw(small(16, 1, 2, 7, 64, "unlimited", "7/3", "340/7",
                                             "1/2")),
        "memory_latency_cycles": draw(small(0, 1, 2, 5, 20, 60)),
        "memory_outstanding": draw(small(8, 1, 2, 3)),
        "memory_transaction_bytes": draw(small(16, 1, 3, 8, 64)),
        "buffer_port_rows": draw(small(1, 2, 3, 4)),
        "lanes": draw(small(4, 1, 2, 3, 8)),
        "sfu_lanes": draw(small(1, 2, 3, 5)),
        "vector_units": draw(small(1, 2)),
        "vector_schedule": draw(small("sequential", "pipelined")),
        "handoff": draw(small("direct", "staged")),
        "handoff_bytes_per_cycle": draw(small(16, 1, 3, 7, 64)),
        "handoff_slots": draw(small(2, 1, 3, 4)),
        "score_bits": draw(small(32, 8, 13, 16, 24)),
        "probability_bits": draw(small(16, 8, 11)),
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
    choices.setdefault("unsigned", draw(st.booleans()))
    choices.setdefault("order", draw(small("mn", "nm")))
    choices.setdefault("store_output", draw(small(True, True, True, False)))
    return _full_range(draw, design, m, k, n, **choices)


def _full_range(draw, design, m, k, n, **choices):
    format = IntegerFormat.of(design)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return Gemm(
        rng.integers(*format.activation_range(choices["unsigned"]), size=(m, k), endpoint=True),
        rng.integers(*format.weight_range(), size=(k, n), endpoint=True), **choices)


def _dimension(draw, step, tiles):
    """Up to `tiles` tiles of `step`, mostly at a tile's edge."""
    edges = {1, step, step + 1, max(1, 2 * step - 1), *(step * count for count in range(1, tiles))}
    return draw(small(*sorted(edges), step * tiles))


@st.composite
def _jobs(draw, design, tiles=3, before=None):
    """A product that fits the design; `before` is the one before it in a sequence.

    Most operands come from a seed, which a command line can tell; the others, of the full range,
    overflow the accumulators now and then.
    """
    choices = {
        "unsigned": draw(st.booleans()),
        "order": draw(small("mn", "nm")),
        "store_output": draw(small(True, True, True, False)),
        "m_tile": draw(small(None, None, 1, 2, 3, 5)),
        "tile_rows": draw(small(None, None, None, 2, 3, design.rows)),
        "slices_per_slot": draw(small(None, None, 1, 2, 3)),
        "a_resident": before is None and draw(small(False, False, True)),
        "accumulate": draw(small(False, False, True)),
    }
    slow = MemoryTiming.of(design).occupancy(256) > 800  # a large product would take very long
    tiles = 1 if slow else tiles
    m = draw(small(1, 2, 3) if slow else small(1, 2, 3, 5, 7, 9, 13))
    n = _dimension(draw, design.cols, tiles)
    if before is not None and choices["accumulate"]:
        m, _k, n = before.shape
        for name in ("order", "m_tile", "tile_rows"):
            choices[name] = before.describe().get(name)
    k = _dimension(draw, design.rows, tiles)
    choices = _fitting(design, (m, k, n), choices)
    if draw(small(False, False, True)):
        return _full_range(draw, design, m, k, n, **choices)
    return RandomGemm(m, k, n, draw(st.integers(0, 99)), **choices)


def _fitting(design, shape, choices):
    """The choices without those that the design refuses for this shape."""
    choices = {name: value for name, value in choices.items() if value is not None}
    while True:
        try:
            RandomGemm(*shape, **choices).program(design, contents=False)
            return choices
        except WorkloadError as error:
            del choices[str(error).split()[0]]  # the message begins with the name


@st.composite
def workloads(draw, design, tiles=3):
    """A product, or a sequence of two or three, that the design takes."""
    jobs = [draw(_jobs(design, tiles))]
    for _ in range(draw(small(0, 0, 0, 0, 1, 2))):
        jobs.append(draw(_jobs(design, tiles, jobs[-1])))
        try:
            Sequence(jobs).program(design, contents=False)
        except WorkloadError:  # `accumulate` after a product tiled otherwise
            jobs.pop()
    return jobs[0] if len(jobs) == 1 else Sequence(jobs)
