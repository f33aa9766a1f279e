"""Counters from the VCD alone."""

import re

import pytest
from designs import designs, gemms
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from waveforms import tamper

from cubewave.rtl.counters import COUNTERS
from cubewave.sim import OptionError
from cubewave.sim.waves import read_counters


def test_every_counter_is_rebuilt(control):
    check = control.result.checks[-1]
    assert check["name"] == "vcd_counters" and check["ok"]
    assert check["actual"] == read_counters(control.path)
    assert check["actual"].keys() == COUNTERS.keys()
    assert check["actual"]["useful_macs"] == control.result.useful_macs == 4 * 5 * 9
    assert check["actual"]["array.busy"] == control.result.units["array"].busy > 0


@settings(max_examples=4, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_random_designs_and_products(tmp_path, record, data):
    design = data.draw(designs())
    recorded = record(tmp_path / "random.vcd", design, data.draw(gemms(design)))
    assert not recorded.failed


@pytest.mark.parametrize("name,old,new,counter", [
    ("array_busy", "1", "0", "array.busy"),
    ("array_status", "b11", "b110", "array.weight_shift"),
    ("store_status", "b11", "b100", "store.memory"),
    ("i__payload__inner", "b1", "b10", "useful_macs"),
    ("written", "1", "0", "accumulator_rows"),
])
def test_a_tampered_file_is_found_out(control, tmp_path, name, old, new, counter):
    """The check compares with the file, not with what the recorder knows."""
    path = tmp_path / "tampered.vcd"
    path.write_text(tamper(control.path.read_text(), name, old, new))
    true, false = read_counters(control.path), read_counters(path)
    assert false[counter] != true[counter]


def test_vcd_counters_fails_on_a_tampered_file(record, product, tmp_path, monkeypatch):
    from cubewave.rtl import Design
    from cubewave.sim.waves.recorder import Recorder
    close = Recorder.close

    def close_and_tamper(self):
        if not self._closed:
            close(self)
            path = tmp_path / "run.vcd"
            path.write_text(tamper(path.read_text(), "loader_busy", "1", "0"))

    monkeypatch.setattr(Recorder, "close", close_and_tamper)
    recorded = record(tmp_path / "run.vcd", Design(rows=2, cols=2), product(2, 3, 2))
    failed, = recorded.failed
    assert failed["name"] == "vcd_counters"
    assert failed["expected"]["loader.busy"] > failed["actual"]["loader.busy"]


def test_files_that_are_refused(control, tmp_path):
    foreign = tmp_path / "foreign.vcd"
    foreign.write_text("$version other $end\n$scope module top $end\n$enddefinitions $end\n#0\n")
    binary = tmp_path / "binary.vcd"
    binary.write_bytes(b"\x89PNG\xff\xfe")
    broken = tmp_path / "broken.vcd"
    broken.write_text(control.path.read_text() + "b1\n")
    lacking = tmp_path / "lacking.vcd"
    lacking.write_text(control.path.read_text().replace(" store_busy ", " store_bored "))
    for path, reason in ((tmp_path / "none.vcd", "cannot be read: No such file or directory"),
                         (tmp_path, "cannot be read: Is a directory"),
                         (foreign, "not a VCD file written by cubewave"),
                         (binary, "not a VCD file written by cubewave"),
                         (broken, "not a valid VCD file: .*"),
                         (lacking, "has no signal machine.store_busy")):
        with pytest.raises(OptionError, match=f"^{re.escape(str(path))}: {reason}$"):
            read_counters(path)
