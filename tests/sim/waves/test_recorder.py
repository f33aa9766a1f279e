"""What a waveform holds."""

import dataclasses
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from amaranth.sim import Simulator

from cubewave.rtl import Design
from cubewave.rtl.commands import array_layout, load_layout, store_layout
from cubewave.rtl.status import UNITS
from cubewave.sim import OptionError, VcdOptions, simulate
from cubewave.sim.waves import read_counters
from cubewave.sim.waves.vcd_parser import VCDVCD
from cubewave.sim.waves.writer import half_period

TINY = Design.preset("tiny")


def test_f093_cells_have_names_of_their_own(cells):
    """Equal signal names in all cells: each is found by its row and column."""
    pattern = re.compile(r"machine\.core\.matrix\.mesh\.cell_(\d)_(\d)\.sum_out")
    found = {match.groups(): name for name in cells.vcd.signals
             if (match := pattern.fullmatch(name))}
    assert set(found) == {(str(row), str(col)) for row in range(4) for col in range(4)}
    assert len({cells.vcd.references_to_ids[name] for name in found.values()}) == 16
    assert not cells.failed


def test_f095_negative_values(control):
    """-1, -128, 127 and 0 at the edges of the array, in two's complement and declared width."""
    for lane in range(4):
        for name in (f"core.matrix.activations__{lane}",
                     f"core.matrix.mesh.i_cols__{lane}__weight"):
            assert control.vcd[f"machine.{name}"].size == "8"
            values = {value.zfill(8) for value in control.values(name)}
            assert {"11111111", "10000000", "01111111", "00000000"} <= values
    inside = control.vcd["machine.core.matrix.mesh.i_rows__1__activation"]
    assert inside.size == "9" and {"111111111", "110000000"} <= {value for _, value in inside.tv}


def test_f095_every_value_is_known(control, cells):
    for recorded in (control, cells):
        for variable in recorded.vcd.data.values():
            if variable.var_type != "string":
                assert variable.tv and variable.tv[0][0] == 0
                assert all(set(value) <= {"0", "1"} for _time, value in variable.tv)


def test_f098_size(tmp_path, record, product):
    """About 1000 cycles: far below 5 MB, and large accumulators cost next to nothing."""
    sizes = []
    for rows in (TINY.accumulator_rows, 1024):
        design = dataclasses.replace(TINY, accumulator_rows=rows)
        recorded = record(tmp_path / f"{rows}.vcd", design, product(40, 16, 24))
        assert 950 < recorded.result.cycles < 1100 and not recorded.failed
        assert not [name for name in recorded.vcd.signals if re.search(r"\.row_\d+", name)]
        sizes.append(recorded.path.stat().st_size)
    assert sizes[0] < 2_000_000 and sizes[1] < 1.5 * sizes[0]


def test_f100_fields_have_names_of_their_own(control):
    """Commands and handshakes: every field of every unit's queue is a variable."""
    for unit, layout in (("loader", load_layout(TINY)), ("control", array_layout(TINY)),
                         ("store", store_layout(TINY))):
        port = f"machine.core.{unit}.i__"
        for name in ("valid", "ready", *(f"payload__{field}" for field in layout.members)):
            assert port + name in control.vcd.references_to_ids
        assert control.vcd[f"{port}payload__rows"].size == str(layout["rows"].width)
    assert "machine.core.memory__rows__payload__address" in control.vcd.references_to_ids


def test_f112_inputs_are_stable_at_the_active_edge(control):
    clock = control.vcd["machine.clk"].tv
    rises = {time for time, value in clock if value == "1"}
    assert len(rises) == control.result.cycles
    for variable in control.vcd.data.values():
        if "machine.clk" not in variable.references:
            assert not rises & {time for time, _value in variable.tv}


def test_f112_the_phase_of_the_clock_does_not_matter(tmp_path, monkeypatch, record, product):
    """The same stimulus at another time before the edge: same results, same waveform."""
    add_clock = Simulator.add_clock
    seen = set()
    for share in (0.5, 0.0, 0.25, 1.0):
        monkeypatch.setattr(Simulator, "add_clock", lambda self, period, share=share:
                            add_clock(self, period, phase=share * period))
        result = record(tmp_path / "phase.vcd", Design(rows=2, cols=2), product(3, 5, 3)).result
        seen.add((result.cycles, tuple(result.counters.items()), result.output.tobytes(),
                  (tmp_path / "phase.vcd").read_bytes()))
    assert len(seen) == 1


def test_clock_period_is_that_of_the_design(control):
    clock = control.vcd["machine.clk"].tv
    rises = [time for time, value in clock if value == "1"]
    seconds = float(control.vcd.timescale["timescale"]) * (rises[1] - rises[0])
    assert seconds == pytest.approx(1 / TINY.clock_hz)
    assert control.vcd.endtime == control.result.cycles * (rises[1] - rises[0])


@pytest.mark.parametrize("hertz,expected", [
    (100_000_000, ("1 ns", 5)), (1, ("1 ns", 500_000_000)), (10 ** 9, ("1 ps", 500)),
    (10 ** 11, ("1 ps", 5)), (700_000_000, ("1 fs", 714_286)),
])
def test_half_period(hertz, expected):
    assert half_period(hertz) == expected


def test_cycle_counter(control):
    cycles = control.vcd["machine.cycle"].tv
    assert [int(value, 2) for _time, value in cycles] == list(range(control.result.cycles))
    assert [time for time, _value in cycles] == [10 * cycle for cycle, _change in enumerate(cycles)]


def test_enums_as_text_and_as_numbers(control):
    """Text for people; vcdvcd cannot read it and says nothing, so numbers for programs."""
    text = control.path.read_text()
    for unit, statuses in UNITS.items():
        identifier = re.search(rf"\$var string 1 (\S+) {unit}_status_text \$end", text)[1]
        shown = set(re.findall(rf"^s(\S+) {re.escape(identifier)}$", text, re.MULTILINE))
        codes = {int(value, 2) for value in control.values(f"{unit}_status")}
        assert shown == {statuses(code).name for code in codes}
        assert {int(value, 2) for value in control.values(f"{unit}_stall")} == {
            0 if statuses(code).name in ("IDLE", "BUSY") else code for code in codes}
        assert control.vcd[f"machine.{unit}_busy"].size == "1"
    assert re.search(r"^sOPERAND \S+$", text, re.MULTILINE)
    assert control.vcd["machine.core.loader.i__payload__destination"].size == "2"


def test_gauges(control):
    last = int(control.vcd["machine.utilization_percent"].tv[-1][1], 2)
    assert last == int(100 * control.result.utilization)
    rates = [int(value, 2) for _time, value in control.vcd["machine.mac_rate_percent"].tv]
    assert 0 < max(rates) <= 100 and rates[-1] == 0


def test_memory_contents_follow_the_writes(tmp_path, record, product):
    """At its end the memory holds the result; before, each row changes when it is written."""
    design = Design(rows=2, cols=2, accumulator_bits=16, accumulator_rows=8)
    recorded = record(tmp_path / "memory.vcd", design, product(2, 2, 2), depth="memory")
    assert not recorded.failed
    bank = "machine.core.accumulators.bank_0"
    final = [[int(recorded.vcd[f"{bank}.row_{row}__{col}"].tv[-1][1], 2) for col in range(2)]
             for row in range(2)]
    expected = recorded.result.output % (1 << 16)
    np.testing.assert_array_equal(final, expected)
    written = "machine.core.accumulators.written"
    writes = [time for time, value in recorded.vcd[written].tv if value == "1"]
    changes = [time for time, _value in recorded.vcd[f"{bank}.row_0__0"].tv]
    assert changes == [0, writes[0] + 10]
    operands = "machine.core.slots.slot_0_0.row_0"
    assert len(recorded.vcd[operands].tv) > 1
    assert any(name.startswith("machine.channel.storage.even.row_")
               for name in recorded.vcd.signals)
    assert "machine.core.matrix.mesh.cell_0_0.sum_out" in recorded.vcd.signals


def test_filter(tmp_path, control, record, product):
    recorded = record(tmp_path / "few.vcd", TINY, product(3, 5, 9), signals=r"store\.i__|_text$")
    assert not recorded.failed
    assert recorded.result.checks[-1]["name"] == "vcd_counters"
    names = set(recorded.vcd.signals)
    assert "machine.core.store.i__payload__base" in names
    assert "machine.array_busy" in names and "machine.array_status_text" in names
    assert "machine.core.store.o__payload__base" not in names
    assert len(names) < len(control.vcd.signals) / 8


def test_window(tmp_path, control, record, product):
    whole = record(tmp_path / "whole.vcd", TINY, product(9, 9, 9))
    part = record(tmp_path / "part.vcd", TINY, product(9, 9, 9), cycles=(20, 49))
    assert not part.failed and part.result.cycles == whole.result.cycles
    check = part.result.checks[-1]
    assert check["name"] == "vcd_counters" and check["actual"]["cycles"] == 30
    assert "span" not in check["actual"]
    cycles = part.vcd["machine.cycle"].tv
    assert [int(value, 2) for _time, value in cycles] == list(range(20, 50))
    assert part.vcd.begintime == 200 and part.vcd.endtime == 500
    for name in ("core.control.count", "mac_rate_percent", "core.counters.cycles"):
        for time in range(200, 500, 10):
            assert part.vcd[f"machine.{name}"][time] == whole.vcd[f"machine.{name}"][time]


def test_window_that_reaches_beyond_the_run(tmp_path, record, product):
    part = record(tmp_path / "tail.vcd", TINY, product(3, 4, 4), cycles=(10, 10_000))
    check = part.result.checks[-1]
    assert check["ok"] and check["actual"]["cycles"] == part.result.cycles - 10


def test_window_after_the_run(tmp_path, record, product):
    """A valid file without cycles, and no check that would compare nothing."""
    part = record(tmp_path / "none.vcd", TINY, product(3, 4, 4), cycles=(9_000, 10_000))
    assert "vcd_counters" not in [check["name"] for check in part.result.checks]
    assert read_counters(part.path)["cycles"] == 0


@pytest.mark.parametrize("depth", ["control", "memory"])
def test_window_of_memory_starts_with_the_contents_of_then(tmp_path, depth, record, product):
    design = Design(rows=2, cols=2, accumulator_rows=8)
    whole = record(tmp_path / "whole.vcd", design, product(4, 4, 2), depth="memory",
                   signals="bank_|operand_rows")
    part = record(tmp_path / "part.vcd", design, product(4, 4, 2), depth=depth,
                  signals="bank_|operand_rows", cycles=(22, 30))
    assert not part.failed
    for name in part.vcd.signals:
        if "bank_" in name or "operand_rows" in name:
            for time in range(220, 310, 10):
                assert part.vcd[name][time] == whole.vcd[name][time]


def test_resident_operands_are_loaded_before_the_waveform(tmp_path, record, product):
    workload = product(3, 4, 4, a_resident=True)
    recorded = record(tmp_path / "resident.vcd", TINY, workload)
    assert not recorded.failed
    assert int(recorded.vcd["machine.core.counters.cycles"].tv[0][1], 2) == 0


def test_interrupt_leaves_a_valid_file(tmp_path, product):
    def interrupt(cycles, _rows, **_more):
        raise KeyboardInterrupt

    path = tmp_path / "cut.vcd"
    with pytest.raises(KeyboardInterrupt):
        simulate(TINY, product(40, 8, 40), vcd=str(path), progress=interrupt)
    counts = read_counters(path)
    assert counts["cycles"] >= 250
    assert sum(counts[f"array.{name.name.lower()}"] for name in UNITS["array"]) == counts["cycles"]
    assert VCDVCD(str(path)).endtime == 10 * counts["cycles"]
    assert path.with_suffix(".gtkw").exists()


def test_interrupt_in_the_middle_of_a_cycle(tmp_path, monkeypatch, product):
    """What has been written of the cycle is left out."""
    from cubewave.sim.waves.contents import Contents
    changes, calls = Contents.changes, []

    def interrupted(self):
        calls.append(self)
        if self is calls[3 % len(calls)] and calls.count(self) == 9:
            raise KeyboardInterrupt
        return changes(self)

    monkeypatch.setattr(Contents, "changes", interrupted)
    path = tmp_path / "cut.vcd"
    with pytest.raises(KeyboardInterrupt):
        simulate(Design(rows=2, cols=2), product(4, 4, 4),
                 vcd=VcdOptions(str(path), depth="memory", signals="bank_"))
    vcd = VCDVCD(str(path))
    cycles = read_counters(path)["cycles"]
    assert cycles > 5 and vcd.endtime == 10 * cycles
    assert max(time for variable in vcd.data.values() for time, _value in variable.tv
               ) == vcd.endtime


def test_interrupt_before_the_run(tmp_path, monkeypatch, product):
    from cubewave.sim.waves.probe import Probe

    def interrupt(_self):
        raise KeyboardInterrupt

    monkeypatch.setattr(Probe, "build", interrupt)
    path = tmp_path / "cut.vcd"
    with pytest.raises(KeyboardInterrupt):
        simulate(TINY, product(3, 3, 3), vcd=str(path))
    assert read_counters(path)["cycles"] == 0


def test_header_tells_nothing_of_the_machine(control):
    header = control.path.read_text().partition("$enddefinitions")[0]
    assert "$date" not in header and str(control.path.parent) not in header
    assert os.sep not in header.partition("$scope")[0]


def test_same_run_same_bytes(tmp_path):
    """Whatever the hash seed, the folder and the process."""
    code = ("import sys; from cubewave.rtl import Design; from cubewave.sim import simulate; "
            "from cubewave.workloads import QProjection; "
            "simulate(Design(rows=2, cols=2), QProjection(2, 3, 3, seed=1), vcd=sys.argv[1])")
    contents = set()
    for seed in ("1", "2"):
        path = tmp_path / seed / "same.vcd"
        path.parent.mkdir()
        subprocess.run([sys.executable, "-c", code, str(path)], check=True,
                       env={**os.environ, "PYTHONHASHSEED": seed})
        contents.add(path.read_bytes() + path.with_suffix(".gtkw").read_bytes())
    assert len(contents) == 1


def test_a_file_that_cannot_be_written_is_refused(tmp_path, product):
    path = tmp_path / "missing" / "run.vcd"
    with pytest.raises(OptionError, match=re.escape(f"{path}: cannot be written: No such file")):
        simulate(TINY, product(2, 2, 2), vcd=path)
    with pytest.raises(OptionError, match=r"\.gtkw is the ending of the save file"):
        simulate(TINY, product(2, 2, 2), vcd=tmp_path / "run.gtkw")
    assert list(tmp_path.iterdir()) == []
