# amaranth: UnusedElaboratable=no
"""Addresses of windows in hardware against the numpy model, and the rows that become of them."""

import random

import pytest
from harness import lockstep
from window_cases import MASK, configured, geometry, random_case

from cubewave.rtl import Design
from cubewave.rtl.memory_mover import MemoryMover
from cubewave.rtl.window_addresses import WindowAddresses

WATCH = ["address", "real", "offset", "count", "first_segment", "last_segment"]


def design(output_stationary, bits=8):
    dataflow = "output_stationary" if output_stationary else "weight_stationary"
    return Design(rows=4, cols=4, dataflow=dataflow, activation_bits=bits, slot_bytes=64)


def request(load):
    fields = load._asdict()
    for name in ("keep_shape", "slot", "word", "take", "last", "pitch", "element_bytes"):
        fields.pop(name)
    return fields


def settings(values):
    """Steps that set all registers, one a cycle."""
    return [{"configure": 1, "request": {"base": value & MASK, "configure": register}}
            for register, value in values.items()]


def steps_of(load, lanes):
    """A cycle for each segment of each group of rows, with what is expected in it."""
    for group in range(0, load.rows, lanes):
        for segment in range(load.segments):
            yield {"request": request(load), "step": 1,
                   "first": int(group == 0 and segment == 0)}, group, segment


@pytest.mark.parametrize("output_stationary", [False, True])
@pytest.mark.parametrize("lanes", [1, 3])
def test_random_loads(output_stationary, lanes):
    dut = WindowAddresses(design=design(output_stationary), lanes=lanes)
    steps, expected = [], []
    for seed in range(40):
        shape, load = random_case(random.Random(1000 * lanes + seed))
        values = geometry(**shape)
        steps += settings(values)
        expected += [None] * len(values)
        reads = configured(values, output_stationary).reads(load)
        for step, group, segment in steps_of(load, lanes):
            steps.append(step)
            rows = range(group, min(group + lanes, load.rows))
            expected.append({
                "address": [int(reads.address[row, segment] - reads.offset[segment]) & MASK
                            for row in rows],
                "real": [int(reads.real[row, segment]) for row in rows],
                "offset": reads.offset[segment], "count": reads.size[segment],
                "first_segment": int(segment == 0),
                "last_segment": int(segment == load.segments - 1)})
    for number, (got, want) in enumerate(zip(lockstep(dut, steps, WATCH), expected)):
        if want is not None:
            rows = len(want["address"])
            got["address"] = got["address"][:rows]
            got["real"] = [got["real"] >> row & 1 for row in range(rows)]
            assert got == want, number


def rows_of(load, reads, memory, size, bits):
    """The rows of a load of two segments as the array takes them; 7 is outside the image."""
    rows = []
    for row in range(load.rows):
        data = bytearray()
        for segment in range(2):
            count, at = int(reads.size[segment]), int(reads.address[row, segment])
            data += (memory[at:at + count] if reads.real[row, segment]
                     else (b"\x07" + bytes(size - 1)) * (count // size))
        elements = [int.from_bytes(data[start:start + size], "little") & (1 << bits) - 1
                    for start in range(0, len(data), size)]
        rows.append(sum(element << number * bits for number, element in enumerate(elements)))
    return rows


@pytest.mark.parametrize("bits", [8, 16, 5])
@pytest.mark.parametrize("lanes", [1, 3])
def test_rows_are_put_together(bits, lanes):
    """The mover's beats: real bytes from memory, padding elsewhere, elements of the array."""
    machine = design(False, bits)
    size = machine.activation_bytes
    mover = MemoryMover(design=machine, row_bits=4 * bits, line_bytes=16, lanes=lanes,
                        window_bytes=machine.window_row_bytes, window_element_bits=bits)
    rng = random.Random(bits)
    memory = bytes(rng.randrange(256) for _ in range(1 << 12))
    shape = {"height": 4, "width": 5, "columns": 3, "taps": 2, "runs": 1, "run_bytes": 3 * size,
             "stride": (1, 2), "dilation": (1, 1), "row_pitch": 16 * size,
             "pixel_pitch": 3 * size, "run_pitch": size}
    values = geometry(**shape)
    _shape, load = random_case(rng)
    load = load._replace(base=2000, rows=5, bytes_per_row=4 * size, segments=2, y=-1, x=-1,
                         column=1, tap=1, run=0, skip=size)
    reads = configured(values, False).reads(load)

    commands = [{"base": value & MASK, "configure": register} for register, value
                in values.items()] + [request(load)]
    steps = []
    transfers = [{"request": command, "first_at": 5 + number}
                 for number, command in enumerate(commands)]
    beats = 2 * -(-load.rows // lanes)
    # The storage answers to the addresses of the model, one cycle later.
    answers = []
    for group in range(0, load.rows, lanes):
        for segment in range(2):
            lines = []
            for row in range(group, group + lanes):
                at = (int(reads.address[min(row, load.rows - 1), segment])
                      - int(reads.offset[segment]))
                lines.append(int.from_bytes(memory[at:at + 16], "little"))
            answers.append(lines)
    for cycle in range(5 + len(commands) + beats + 3):
        number = max(0, min(cycle - 5, len(commands) - 1))
        step = {"now": cycle, "i.valid": int(cycle < 5 + len(commands)),
                "i.payload": transfers[number]}
        place = cycle - 5 - len(commands)
        if 0 <= place < len(answers):
            step["data"] = answers[place]
        steps.append(step)
    log = lockstep(mover, steps, ["o.valid", "o.payload", "enable", "windows_read", "under_way"])

    rows = rows_of(load, reads, memory, size, bits)
    got = [cycle["o.payload"] for cycle in log if cycle["o.valid"]]
    assert [row for beat in got for row in beat["rows"][:beat["count"]]] == rows
    assert [beat["first"] for beat in got] == [1] + [0] * (len(got) - 1)
    assert [beat["last"] for beat in got] == [0] * (len(got) - 1) + [1]
    first = 5 + len(commands) - 1
    assert [cycle for cycle, line in enumerate(log) if line["o.valid"]] == [
        first + 2 + 2 * group for group in range(len(got))]
    assert sum(line["windows_read"] for line in log) == reads.nbytes
    last = max(cycle for cycle, line in enumerate(log) if line["under_way"])
    assert last == first + beats
    assert not any(line["enable"] for line in log[:first])


@pytest.mark.parametrize("lanes", [1, 2, 3, 4])
def test_windows_of_one_segment_are_read_whole(lanes):
    """As many bytes in one cycle as there can be."""
    machine = design(False)
    nbytes = machine.window_row_bytes
    mover = MemoryMover(design=machine, row_bits=8 * nbytes, line_bytes=nbytes, lanes=lanes,
                        window_bytes=nbytes, window_element_bits=8)
    values = geometry(height=9, width=9, columns=lanes, taps=1, run_bytes=nbytes, stride=(1, 1))
    load = random_case(random.Random(0))[1]._replace(
        base=0, rows=lanes, bytes_per_row=nbytes, segments=1, y=0, x=0, column=0, tap=0, run=0,
        skip=0)
    assert configured(values, False).reads(load).real.all()
    steps = [{"now": 0, "i.valid": 1, "i.payload": {"request": command}} for command in [
        *(step["request"] for step in settings(values)), request(load)]]
    log = lockstep(mover, [*steps, {}, {}], ["windows_read", "o.valid"])
    assert [line["windows_read"] for line in log] == [
        *[0] * len(values), lanes * nbytes, 0, 0]
    assert [line["o.valid"] for line in log] == [*[0] * len(steps), 1, 0]
