"""The .gtkw beside a waveform, and GTKWave."""

import os
import re
import stat

import pytest
from waveforms import check_names

from cubewave.rtl import Design
from cubewave.sim import OptionError
from cubewave.sim.waves import open_waves, write_gtkw
from cubewave.sim.waves import viewer as viewer_module


def test_every_name_exists(control):
    names = check_names(control)
    assert len(names) > 60
    assert names["array_status_text"] == "array" and names["array_busy"] == "busy"
    assert names["utilization_percent"] == "utilization %"
    for lane in range(4):
        assert names[f"core.matrix.mesh.i_rows__{lane}__activation"] == f"row {lane}"
        assert names[f"core.matrix.sums__{lane}"] == f"column {lane}"
    assert names["core.fifo.tiles.level"] == "FIFO tiles"
    assert names["core.counters.array_weights"] == "array_weights"


def test_only_names_that_the_filter_left(record, product, tmp_path):
    recorded = record(tmp_path / "few.vcd", Design(rows=2, cols=2), product(2, 2, 2),
                      signals="core.store")
    names = check_names(recorded)
    assert "core.store.o__valid" in names and "core.loader.o__payload__base" not in names
    text = recorded.path.with_suffix(".gtkw").read_text()
    assert "-Store" in text and "-sums out" not in text


def test_markers_stand_at_the_phases(control):
    text = control.path.with_suffix(".gtkw").read_text()
    markers = re.search(r"^\*\S+ (-?\d+) (-?\d+) (-?\d+) (-?\d+)", text, re.MULTILINE)
    primary, first, last, store = map(int, markers.groups())
    changes = control.vcd["machine.array_busy"].tv
    assert first == primary == next(time for time, value in changes if value == "1")
    assert last == changes[-1][0] - 10
    assert store == control.vcd["machine.store_busy"].tv[-1][0] - 10
    assert [line for line in text.splitlines() if line.startswith("[markername]")] == [
        "[markername] Afirst row", "[markername] Blast row", "[markername] Clast store"]


def test_formats_and_colours(control):
    text = control.path.with_suffix(".gtkw").read_text()
    assert re.search(r"^@88024\n\[color\] 2\n\+\{utilization %\}", text, re.MULTILINE)  # analog
    assert re.search(r"^@420\n\[color\] 3\n\+\{row 0\}", text, re.MULTILINE)  # signed decimal
    assert '[dumpfile] "control.vcd"' in text and str(control.path.parent) not in text


def test_written_again_from_the_file_alone(control):
    path = control.path.with_suffix(".gtkw")
    before = path.read_bytes()
    path.unlink()
    assert write_gtkw(control.path) == str(path)
    assert path.read_bytes() == before


def test_wide_groups_start_closed(record, product, tmp_path):
    recorded = record(tmp_path / "wide.vcd", Design(rows=2, cols=12, slot_bytes=64),
                      product(1, 2, 12))
    text = recorded.path.with_suffix(".gtkw").read_text()
    check_names(recorded)
    assert re.search(r"^@c00200\n-into columns$", text, re.MULTILINE)
    assert re.search(r"^@800200\n-into rows$", text, re.MULTILINE)


@pytest.fixture
def fake_gtkwave(tmp_path, monkeypatch):
    """A program called gtkwave that notes its arguments."""
    program, log = tmp_path / "bin" / "gtkwave", tmp_path / "log"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" > "{log}.part"\nmv "{log}.part" "{log}"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    monkeypatch.setenv("DISPLAY", ":0")
    return log


def test_gtkwave_is_started(control, fake_gtkwave):
    assert open_waves(control.path)
    viewer_module._started.pop().wait(timeout=10)
    assert fake_gtkwave.read_text().split() == [
        str(control.path), str(control.path.with_suffix(".gtkw"))]


def test_gtkwave_is_not_there(control, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not open_waves(control.path)
    assert control.path.with_suffix(".gtkw").exists()


def test_no_display(control, fake_gtkwave, monkeypatch):
    monkeypatch.setattr(viewer_module.sys, "platform", "linux")
    monkeypatch.delenv("DISPLAY")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert not open_waves(control.path)


def test_what_cannot_be_opened(control, tmp_path):
    with pytest.raises(OptionError, match=r"none\.vcd: cannot be read: No such file"):
        open_waves(tmp_path / "none.vcd")
    foreign = tmp_path / "foreign.vcd"
    foreign.write_text("$version other $end\n")
    with pytest.raises(OptionError, match=r"foreign\.vcd: not a VCD file written by cubewave"):
        write_gtkw(foreign)
    assert not foreign.with_suffix(".gtkw").exists()
    copy = tmp_path / "copy.vcd"
    copy.write_bytes(control.path.read_bytes())
    copy.with_suffix(".gtkw").mkdir()
    with pytest.raises(OptionError, match=r"copy\.gtkw: cannot be written: Is a directory"):
        write_gtkw(copy)
