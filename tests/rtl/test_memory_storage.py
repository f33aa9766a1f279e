# amaranth: UnusedElaboratable=no
"""Memory contents against a bytearray: unaligned rows, every read in every cycle."""

import random

import pytest
from harness import lockstep
from hypothesis import given, settings
from hypothesis import strategies as st

from cubewave.rtl import Design
from cubewave.rtl.memory_storage import MemoryStorage, line_bytes


@pytest.mark.parametrize("fields,size", [
    ({"rows": 1, "cols": 1, "accumulator_bits": 16}, 4),
    ({"rows": 1, "cols": 3, "accumulator_bits": 16}, 16),
    ({"rows": 9, "cols": 1, "accumulator_bits": 16}, 16),
    ({"rows": 1, "cols": 4, "accumulator_bits": 17}, 16),
    ({"rows": 1, "cols": 1, "accumulator_bits": 48}, 8),
    ({"rows": 8, "cols": 1, "accumulator_bits": 16}, 8)])
def test_line_bytes(fields, size):
    design = Design(**fields)
    assert line_bytes(design) == size
    assert MemoryStorage(design=design, readers=1, lines=4).line_bytes == size


@settings(max_examples=25, derandomize=True)
@given(cols=st.sampled_from([1, 2, 3, 5]), readers=st.integers(1, 3),
       lines=st.sampled_from([2, 4, 16]), seed=st.integers(0, 999))
def test_random_rows(cols, readers, lines, seed):
    """A read in the cycle of a write sees the old bytes; addresses wrap at the capacity."""
    design = Design(rows=2, cols=cols, accumulator_bits=16)
    size, rng = line_bytes(design), random.Random(seed)
    contents = bytearray(size * lines)
    steps, expected, due = [], [], [None] * readers
    for _ in range(80):
        expected.append(list(due))
        addresses = [rng.randrange(3 * len(contents)) for _ in range(readers)]
        enable = rng.getrandbits(readers)
        for reader, address in enumerate(addresses):
            due[reader] = sum(contents[(address + place) % len(contents)] << 8 * place
                              for place in range(size)) if enable >> reader & 1 else None
        row = {"address": rng.choice([rng.randrange(3 * len(contents)), addresses[0]]),
               "bytes": rng.randint(1, 2 * cols), "data": rng.getrandbits(16 * cols)}
        valid = rng.randrange(2)
        steps.append({"address": addresses, "enable": enable, "write.valid": valid,
                      "write.payload": row})
        if valid:
            for place, byte in enumerate(row["data"].to_bytes(2 * cols, "little")[:row["bytes"]]):
                contents[(row["address"] + place) % len(contents)] = byte
    storage = MemoryStorage(design=design, readers=readers, lines=lines)
    for got, want in zip(lockstep(storage, steps, ["data"]), expected, strict=True):
        for value, word in zip(got["data"], want, strict=True):
            assert word is None or value == word
    assert MemoryStorage.LATENCY == 1
