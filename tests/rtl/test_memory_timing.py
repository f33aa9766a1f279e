"""The memory formula against a simulation with N tags; its hardware is in `memory_cost`."""

import math
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cubewave.rtl import Design
from cubewave.rtl.commands import Destination, Load, WindowRegister
from cubewave.rtl.memory_timing import MemoryTiming

BANDWIDTHS = [Fraction(1), Fraction(16), Fraction(7), Fraction(340, 7), Fraction(1, 3),
              Fraction(5, 4), Fraction(1 << 20)]


def timing(bandwidth, latency=2, outstanding=4, transaction_bytes=64, port_rows=1):
    return MemoryTiming(bandwidth, latency, outstanding, transaction_bytes, port_rows)


def simulated(nbytes, bandwidth, latency, outstanding, transaction_bytes):
    """Exact time at which a descriptor's last transaction ends.

    The channel is serial; a transaction takes one of the tags from its start until `latency`
    cycles after its end. Nothing is known here of windows or of a formula.
    """
    tags = [Fraction(0)] * outstanding  # when each is free again
    channel = Fraction(0)
    while nbytes:
        size = min(nbytes, transaction_bytes)
        tag = min(range(outstanding), key=tags.__getitem__)
        channel = max(channel, tags[tag]) + size / bandwidth
        tags[tag] = channel + latency
        nbytes -= size
    return channel


@settings(max_examples=300, derandomize=True)
@given(nbytes=st.integers(1, 3000), latency=st.integers(0, 60), outstanding=st.integers(1, 9),
       transaction_bytes=st.sampled_from([1, 3, 16, 48, 64]),
       bandwidth=st.sampled_from(BANDWIDTHS) | st.builds(
           Fraction, st.integers(1, 400), st.integers(1, 9)))
@example(nbytes=64, latency=60, outstanding=1, transaction_bytes=64, bandwidth=Fraction(16))
@example(nbytes=65, latency=60, outstanding=1, transaction_bytes=64, bandwidth=Fraction(16))
@example(nbytes=257, latency=12, outstanding=4, transaction_bytes=64, bandwidth=Fraction(16))
@example(nbytes=257, latency=13, outstanding=4, transaction_bytes=64, bandwidth=Fraction(16))
def test_formula_equals_a_simulation_with_tags(nbytes, latency, outstanding, transaction_bytes,
                                               bandwidth):
    exact = simulated(nbytes, bandwidth, latency, outstanding, transaction_bytes)
    assert timing(bandwidth, latency, outstanding, transaction_bytes).occupancy(nbytes) == \
        math.ceil(exact)


@pytest.mark.parametrize("nbytes,cycles", [(1, 1), (16, 1), (17, 2), (64, 4), (1024, 64)])
def test_enough_tags_leave_the_bandwidth_alone(nbytes, cycles):
    assert timing(Fraction(16), latency=128, outstanding=64).occupancy(nbytes) == cycles


def test_one_tag_pays_the_latency_between_transactions():
    """A single transaction never waits for a tag."""
    one = timing(Fraction(16), latency=20, outstanding=1)
    assert [one.occupancy(nbytes) for nbytes in (64, 65, 128, 192)] == [4, 25, 28, 52]


def test_fractions_are_rounded_up_once():
    """Three transactions of 64 * 7/340 cycles take 3.95 cycles, not 3 times 2."""
    assert timing(Fraction(340, 7), latency=0, outstanding=64).occupancy(192) == 4
    assert timing(Fraction(1, 3), latency=0).occupancy(5) == 15


def test_unlimited_bandwidth_is_one_cycle():
    free = timing(None, latency=50, outstanding=1)
    assert [free.occupancy(nbytes) for nbytes in (1, 64, 1 << 30)] == [1, 1, 1]
    assert free.hold(100, rows=7) == 7


@pytest.mark.parametrize("rows,port_rows,hold", [
    (1, 1, 4), (4, 1, 4), (5, 1, 5), (9, 2, 5), (8, 2, 4), (10, 2, 5), (12, 3, 4), (13, 3, 5)])
def test_hold_is_the_longer_of_channel_and_port(rows, port_rows, hold):
    assert timing(Fraction(16), port_rows=port_rows).hold(64, rows) == hold


@pytest.mark.parametrize("rows,hold", [(1, 4), (4, 4), (5, 5), (9, 9)])
@pytest.mark.parametrize("port_rows", [1, 2, 3])
def test_vector_slots_take_one_row_a_cycle(rows, hold, port_rows):
    assert timing(Fraction(16), port_rows=port_rows).hold(64, rows, vector=True) == hold
    assert timing(None, port_rows=port_rows).beats(rows, vector=True) == rows


@pytest.mark.parametrize("rows,bytes_per_row,stride,count", [
    (1, 1, 0, 1), (1, 64, 5, 1), (1, 65, 5, 2), (4, 16, 16, 1), (5, 16, 16, 2), (4, 16, 17, 4),
    (4, 65, 128, 8), (4, 65, 65, 5), (4, 64, 100, 4), (2, 16, 17, 2)])
def test_transactions(rows, bytes_per_row, stride, count):
    assert timing(Fraction(16)).transactions(rows, bytes_per_row, stride) == count


@pytest.mark.parametrize("rows,vector,segments,beats", [
    (5, False, 1, 3), (5, False, 4, 12), (5, True, 1, 5), (5, True, 4, 20)])
def test_every_segment_of_windows_takes_the_beats_of_their_rows(rows, vector, segments, beats):
    port = timing(Fraction(16), port_rows=2)
    assert port.beats(rows, vector, segments) == beats
    assert port.hold(16, rows, vector, segments) == beats
    assert port.hold(1600, rows, vector, segments) == 100


def test_a_load_without_bytes_takes_a_cycle_and_no_transaction():
    slow = timing(Fraction(1, 3), transaction_bytes=16)
    assert slow.occupancy(0) == 1
    windows = Load(Destination.OPERAND, 0, 4, 8, 0, window=1, segments=2)
    assert slow.load_transactions(windows) == 0
    assert slow.load_transactions(windows._replace(bytes=17)) == 2
    assert slow.load_transactions(Load(Destination.OPERAND, 0, 4, 8, 8)) == 2
    configuring = windows._replace(window=0, configure=WindowRegister.HEIGHT)
    assert (slow.load_transactions(configuring), configuring.nbytes) == (0, 0)


def test_of_a_design():
    design = Design(memory_bytes_per_cycle="340/7", memory_latency_cycles=5, memory_outstanding=3,
                    memory_transaction_bytes=48, buffer_port_rows=2)
    assert MemoryTiming.of(design) == MemoryTiming(Fraction(340, 7), 5, 3, 48, 2)
    assert MemoryTiming.of(Design(memory_bytes_per_cycle="unlimited")).bandwidth is None
