"""Exchange memory: words come out as they went in, one of each in every cycle."""

import random

import pytest
from harness import lockstep

from cubewave.rtl import Design
from cubewave.rtl.exchange import Exchange, exchange_bits, exchange_words


@pytest.mark.parametrize("fields,bits,words", [
    ({"rows": 3, "cols": 2, "accumulator_bits": 18, "accumulator_rows": 9, "slot_bytes": 12},
     36, 9),
    ({"rows": 7, "cols": 2, "accumulator_bits": 18, "accumulator_rows": 1, "slot_bytes": 70},
     56, 10),
    ({"rows": 1, "cols": 1, "accumulator_bits": 16, "accumulator_rows": 1, "slot_bytes": 1},
     16, 1),
    ({"rows": 3, "cols": 2, "accumulator_bits": 18, "accumulator_rows": 4, "slot_bytes": 30,
      "buffer_port_rows": 2}, 48, 10)])
def test_a_word_can_be_read_in_the_cycle_after_its_write(fields, bits, words):
    design, rng = Design(**fields), random.Random(0)
    assert (exchange_bits(design), exchange_words(design)) == (bits, words)
    data = [rng.getrandbits(bits) for _ in range(3 * words)]
    steps = [{"write": int(cycle < len(data)), "write_place": cycle % words,
              "data": data[cycle] if cycle < len(data) else 1,
              "read": int(0 < cycle <= len(data)), "read_place": (cycle - 1) % words}
             for cycle in range(len(data) + 3)]
    rows = lockstep(Exchange(design=design), steps, ["o"])
    assert [row["o"] for row in rows[1 + Exchange.LATENCY:][:len(data)]] == data
    assert rows[-1]["o"] == data[-1]
