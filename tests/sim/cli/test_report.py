"""The report that a person reads."""

import dataclasses
import io

import numpy as np
import pytest
from rich.console import Console

from cubewave.rtl import Design
from cubewave.sim import simulate
from cubewave.sim.cli.progress import RunProgress
from cubewave.sim.report import print_report
from cubewave.sim.report_format import bar, byte_size, percent, seconds, si
from cubewave.workloads import Gemm

TINY = Design.preset("tiny")


@pytest.fixture(scope="module")
def results():
    a, b = np.ones((5, 9), int), np.ones((9, 10), int)
    return [simulate(TINY, Gemm(a, b), level=level) for level in ("rtl", "analytic")]


def report(results, width=80, encoding="utf-8", **options):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=stream, width=width, highlight=False, **options)
    print_report(console, "tiny", results, "rows=4", {"waveform": "x.vcd"})
    stream.flush()
    return stream.buffer.getvalue().decode(encoding)


def test_report_has_every_number_of_the_run(results):
    text = " ".join(report(results).split())
    rtl = results[0]
    for unit, counters in rtl.units.items():
        assert f"{unit} busy {counters.busy} {percent(counters.busy, rtl.cycles)}" in text
        for cause, cycles in counters.stalls.items():
            assert not cycles or f" {cause} {cycles} {percent(cycles, rtl.cycles)}" in text
    assert f"bound {results[1].cycles} limited by {rtl.limited_by}" in text
    for name, cycles in rtl.items.items():
        assert f"+ {name} {cycles}" in text
    assert f"= cycles {rtl.cycles}" in text
    assert f"cycles {rtl.cycles} {seconds(rtl.cycles / 1e8)} at 100 MHz" in text
    assert f"{rtl.counters['exposed_requests']} exposed requests" in text
    assert f"{len(rtl.checks)} checks ok" in text
    assert "waveform x.vcd" in text and "with rows=4" in text and "OVERFLOW" not in text


def test_every_rate_has_a_unit_and_its_peak(results):
    text = " ".join(report(results).split())
    assert " of 16 MAC/cycle" in text and " MMAC/s of 1.6 GMAC/s" in text
    assert " of 16 bytes/cycle (" in text and " MB/s of 1.6 GB/s" in text
    assert " cycles/s simulated" in text and "MAC/byte; the machine is balanced at 1" in text


def test_a_level_with_the_same_counters_says_just_that(results):
    design, rtl = results[0].design, results[0]
    cycle = simulate(design, Gemm(np.ones((5, 9), int), np.ones((9, 10), int)), level="cycle")
    text = " ".join(report([rtl, cycle]).split())
    assert f"cycles {rtl.cycles} the same, and every counter too, as at level rtl" in text
    assert text.count("weight_shift") <= 1 and text.count("= cycles") == 1
    other = dataclasses.replace(cycle, counters={**cycle.counters, "transactions": 0})
    assert " ".join(report([rtl, other]).split()).count("= cycles") == 2


@pytest.mark.parametrize("width", [60, 80, 200])
def test_nothing_is_cut_at_any_width(results, width):
    text = report(results, width)
    assert "…" not in text
    assert all(len(line) <= width for line in text.splitlines())


def test_plain_characters_where_the_terminal_has_no_others(results):
    text = report(results, encoding="ascii")
    assert "####" in text and "----" in text


def test_overflow_is_shown(results):
    text = report([dataclasses.replace(results[0], overflow=True)])
    assert "OVERFLOW: a sum left the 32-bit accumulators; the output holds wrapped sums" in text


def test_failed_checks_are_listed(results):
    failed = [{"name": f"check_{number}", "expected": number, "actual": -1, "ok": False}
              for number in range(30)]
    text = report([dataclasses.replace(results[0], checks=failed)])
    assert "30 of 30 checks FAILED" in text and "check_19" in text and "and 10 more" in text


def test_unlimited_memory_has_no_peak():
    design = dataclasses.replace(TINY, memory_bytes_per_cycle="unlimited")
    run = simulate(design, Gemm([[1, 2]], [[3], [4]]), level="analytic")
    text = " ".join(report([run]).split())
    assert "bytes/cycle of an unlimited channel" in text and "balanced" not in text


def test_numbers_for_people():
    assert si(1_600_000_000, "MAC/s") == "1.6 GMAC/s" and si(999, "B/s") == "999 B/s"
    assert si(65536 * 700e6, "MAC/s") == "45.88 TMAC/s"
    assert seconds(1.23e-6) == "1.23 us" and seconds(2.5) == "2.5 s" and seconds(0) == "0 ps"
    assert percent(1, 3) == "33.3 %" and percent(0, 5) == "0.0 %" and percent(5, 5) == "100.0 %"
    assert percent(1, 10**6) == "<0.1 %" and percent(10**6 - 1, 10**6) == ">99.9 %"
    assert byte_size(1 << 20) == "1 MiB" and byte_size(1000) == "1,000 bytes"
    assert bar(0, 8, True) == "" and bar(1e-9, 8, True) == "▏" and bar(1, 8, True) == "█" * 8
    assert bar(0.5, 8, False) == "####" and bar(1e-9, 8, False) == "#"


def test_progress_is_silent_in_a_pipe(capsys):
    with RunProgress("level rtl") as progress:
        progress(256, 10, rows=20)
    assert progress.cycles == 256
    assert capsys.readouterr() == ("", "")
