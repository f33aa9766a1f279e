"""Memory contents, programs and accumulator updates in C++ against their netlists."""

import random

import pytest
from register_bench import COMMANDS, LINES, PARTS, compare

from cubewave.rtl.formats import IntegerFormat
from cubewave.rtl.memory_storage import line_bytes

QUIET = (0.0, 0.3, 0.9, 1.0)   # chances of nothing at all, each for some cycles


def quiets(cycles):
    return (QUIET[cycle // 25 % len(QUIET)] for cycle in range(cycles))


def storage_inputs(design, rng, cycles):
    """Rows at all places in a line, around both ends of the memory and everywhere."""
    readers, capacity = 2 * design.buffer_port_rows + 1, LINES * line_bytes(design)
    inputs = {}

    def address():
        near = rng.choice((0, capacity - 2 * line_bytes(design), rng.getrandbits(39)))
        return near + rng.randrange(3 * line_bytes(design)) & (1 << 40) - 1

    for quiet in quiets(cycles):
        if rng.random() >= quiet / 2:   # else the same inputs, all of them
            packed = sum(address() << 40 * reader for reader in range(readers))
            nbytes = rng.randrange(design.vector_row_bytes + 1)
            row = address() | nbytes << 40
            row |= rng.getrandbits(8 * design.vector_row_bytes) \
                << 40 + design.vector_row_bytes.bit_length()
            inputs = {"storage.address": packed, "storage.write_payload": row}
        enable = sum((rng.random() >= quiet) << reader for reader in range(readers))
        yield {**inputs, "storage.enable": enable, "storage.write_valid": rng.random() >= quiet}


def update_inputs(design, rng, cycles):
    """Numbers of all sizes, the extremes too; the same ones for some time."""
    format = IntegerFormat.of(design)
    inputs = {}

    def row(shape):
        low, high = -1 << shape.width - 1, (1 << shape.width - 1) - 1
        values = [rng.choice((low, high, -1, 0, rng.randint(low, high)))
                  for _ in range(design.cols)]
        return sum((value & (1 << shape.width) - 1) << shape.width * col
                   for col, value in enumerate(values))

    for quiet in quiets(cycles):
        if rng.random() >= quiet / 2:
            inputs = {"update.old": row(format.accumulator_shape), "update.accumulate":
                      rng.getrandbits(1), "update.sums": row(format.sum_shape)}
        yield inputs


#: Commands of each program, which need not mean anything.
PROGRAMS = {"loader": 9, "array": 5, "vector": COMMANDS - 1, "handoff": 1, "store": 0}


def program_inputs(design, rng, cycles):
    """Whole and shortened programs, begun anew at any place, with commands not taken for long."""
    lengths = dict(PROGRAMS)
    for quiet in quiets(cycles):
        inputs = {}
        for queue, most in PROGRAMS.items():
            rewind = rng.random() < 0.04
            if rewind:
                lengths[queue] = rng.randint(0, most)
            inputs |= {f"program_{queue}.length": lengths[queue],
                       f"program_{queue}.go": rng.random() >= quiet / 2,
                       f"program_{queue}.rewind": rewind,
                       f"program_{queue}.o_ready": rng.random() >= quiet}
        yield inputs


DRIVERS = {"storage": storage_inputs, "update": update_inputs, "program": program_inputs}


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("part", DRIVERS)
def test_every_output_equals_the_netlist(name, part, compiled_parts):
    design, rng = PARTS[name], random.Random(f"{name} {part}")
    cycles = 400 if part == "storage" else 800
    ran = compare(design, compiled_parts(name), part,
                  lambda parts: DRIVERS[part](design, rng, cycles), PROGRAMS)
    assert ran == cycles
