"""Random designs and workloads for hypothesis, every field and choice varied."""

import math

import numpy as np
from hypothesis import strategies as st

from cubewave.rtl import Design, DesignError
from cubewave.rtl.formats import IntegerFormat
from cubewave.rtl.memory_timing import MemoryTiming
from cubewave.workloads import Attention, Gemm, RandomAttention, Sequence, WorkloadError
from cubewave.workloads.gemm import RandomGemm

__all__ = ["attention_designs", "attentions", "designs", "gemms", "small", "workloads"]


def small(*values):
    return st.sampled_from(values)


@st.composite
def designs(draw, **fixed):
    """A small machine; any field but those given may be at its least or off a power of two."""
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
        "im2col_line_buffer": draw(st.booleans()),
        "clock_hz": draw(small(100_000_000, 1)),
    }
    try:
        return Design(**{**fields, **fixed})
    except DesignError:  # the slot holds no port_rows rows
        return Design(**{**fields, "slot_bytes": 256, **fixed})


def attention_designs():
    """A small machine that runs attention."""
    return small(2, 3, 4, 7).flatmap(lambda slots: designs(
        dataflow="weight_stationary", input_slots=slots))


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
        **draw(_epilogues(design)),
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
        if "bias" in choices:
            rng = np.random.default_rng(draw(st.integers(0, 99)))
            choices["bias"] = rng.integers(*IntegerFormat.of(design).accumulator_range(), size=n,
                                           endpoint=True) >> draw(small(0, 8))
        return _full_range(draw, design, m, k, n, **choices)
    return RandomGemm(m, k, n, draw(st.integers(0, 99)), **choices)


@st.composite
def _epilogues(draw, design):
    """What the vector unit does with a result, most often nothing."""
    if draw(small(True, True, True, False)):
        return {}
    requantize = (draw(small(1, 77, 1 << 20)), draw(small(0, 7, 20)),
                  draw(st.integers(2, design.accumulator_bits)))
    return {"bias": draw(small(None, "random")), "relu": draw(st.booleans()),
            "requantize": draw(small(None, requantize))}


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
def attentions(draw, design):
    """Attention that fits the design, mostly of random operands that a command line can tell.

    The others are of the full range, so that accumulators overflow now and then.
    """
    heads = draw(small(1, 1, 2, 4))
    choices = {
        "rows": draw(small(1, 2, 3, 5, 8)), "keys": draw(small(1, 2, 3, 5, 7, 9, 13)),
        "head_dim": draw(small(1, 2, 3, 5, 8)), "heads": heads,
        "kv_heads": draw(small(*(count for count in (1, 2, 4) if heads % count == 0))),
        "causal": draw(st.booleans()), "scale": draw(small(None, None, 0.01, 3.0)),
        "rows_per_group": draw(small(None, None, 1, 2, 3)),
        "block_keys": draw(small(None, None, 1, 2, 4, 5, 7)),
        "resident": draw(small(False, False, False, True)),
        "store_output": draw(small(True, True, True, False)),
    }
    seed, hidden = draw(st.integers(0, 99)), draw(small(None, None, 0.2, 0.5, 0.9))
    full_range = draw(small(False, False, True))
    while True:
        try:
            workload = _attention(design, choices, seed, hidden, full_range)
            workload.program(design, contents=False)
            return workload
        except WorkloadError as error:  # the message begins with the name
            name = str(error).split()[0]
            if name == "attention" and choices.get("block_keys"):
                del choices["block_keys"]
            elif name == "attention" and choices["head_dim"] > 1:
                choices["head_dim"] = 1
            elif name == "accumulator_bits":
                full_range = True
            elif name == "scale" and choices["scale"] != math.ulp(1):
                choices["scale"] = math.ulp(1)
            elif name in ("rows_per_group", "block_keys", "resident"):
                del choices[name]
            else:
                raise


def _attention(design, choices, seed, hidden, full_range):
    """Attention of random operands; `hidden` is the part of the scores that a mask hides."""
    rng = np.random.default_rng(seed)
    rows, keys = choices["rows"], choices["keys"]
    mask = None if hidden is None else rng.random((rows, keys)) >= hidden
    if not full_range:
        return RandomAttention(**choices, mask=mask, seed=seed)
    format = IntegerFormat.of(design)
    wide = choices["kv_heads"] * choices["head_dim"]
    operands = [rng.integers(*limits, size=size, endpoint=True) for limits, size in (
        (format.activation_range(False), (rows, choices["heads"] * choices["head_dim"])),
        (format.weight_range(), (keys, wide)), (format.weight_range(), (keys, wide)))]
    rest = {name: value for name, value in choices.items()
            if name not in ("rows", "keys", "head_dim")}
    return Attention(*operands, **rest, mask=mask)


@st.composite
def workloads(draw, design, tiles=3):
    """A product, a sequence of two or three, or attention, that the design takes."""
    attends = design.dataflow == "weight_stationary" and design.input_slots > 1
    if attends and draw(small(False, False, False, False, True)):
        return draw(attentions(design))
    jobs = [draw(_jobs(design, tiles))]
    for _ in range(draw(small(0, 0, 0, 0, 1, 2))):
        jobs.append(draw(_jobs(design, tiles, jobs[-1])))
        try:
            Sequence(jobs).program(design, contents=False)
        except WorkloadError:  # `accumulate` after a product tiled otherwise
            jobs.pop()
    return jobs[0] if len(jobs) == 1 else Sequence(jobs)
