"""Networks: every layer from an idle machine, identical ones once, and what is reported."""

import dataclasses
import io
import json

import numpy as np
import pytest
from click.testing import CliRunner
from rich.console import Console

from cubewave.rtl import Design
from cubewave.sim import OptionError, simulate, simulate_network
from cubewave.sim.cli import main
from cubewave.sim.network import run
from cubewave.sim.report_network import print_report
from cubewave.sim.size import LARGEST_TILES
from cubewave.workloads import (
    Gemm,
    Layer,
    Network,
    QProjection,
    RandomAttention,
    RandomResidual,
    RandomRope,
    Residual,
    Sequence,
    WorkloadError,
)
from cubewave.workloads.gemm import RandomGemm
from cubewave.workloads.network import Omitted

TINY = Design.preset("tiny")
LEVELS = ("rtl", "cycle", "analytic")


def network():
    return Network("three", [Layer("first", RandomGemm(5, 9, 7)),
                             Layer("same", RandomGemm(5, 9, 7, seed=3), 4),
                             Layer("pair", Sequence([RandomGemm(2, 4, 3), RandomGemm(3, 5, 2)]))],
                   {"kind": "test"}, ["a note"])


def invoke(*arguments):
    result = CliRunner().invoke(main, list(arguments))
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


@pytest.mark.parametrize("level, timing", [*((level, "rtl") for level in LEVELS),
                                           ("cycle", "ideal")])
def test_totals_are_the_sums_of_layers_run_alone(level, timing):
    result = simulate_network(TINY, network(), level=level, timing=timing)
    assert result.ok and len(result.runs) == 2
    alone = [simulate(TINY, layer.product, level=level, timing=timing) for layer in
             network().layers()]
    for name in ("cycles", "useful_macs", "bytes_read", "bytes_written"):
        values = [getattr(one, name) for one in alone]
        assert [getattr(layer, name) for layer in result.layers] == [
            values[0], 4 * values[1], values[2]]
        assert getattr(result, name) == values[0] + 4 * values[1] + values[2]
    assert result.useful_macs == 5 * 315 + 24 + 30 == network().useful_macs
    assert result.utilization == result.useful_macs / (16 * result.cycles)


def test_levels_agree():
    rtl, cycle, analytic = (simulate_network(TINY, network(), level=level) for level in LEVELS)
    assert rtl.cycles == cycle.cycles >= analytic.cycles
    assert rtl.overflow is False and cycle.overflow is None
    assert [run.output.shape for run in rtl.runs] == [(5, 7), (3, 2)]
    assert cycle.runs[0].output is None
    computed = simulate_network(TINY, network(), level="cycle", output=True)
    assert np.array_equal(computed.runs[0].output, rtl.runs[0].output)


def test_given_operands_are_not_taken_for_random_ones():
    ones, twos = np.ones((5, 9), int), np.full((9, 7), 2)
    layers = [Layer("random", RandomGemm(5, 9, 7)), Layer("given", Gemm(ones, twos)),
              Layer("other", Gemm(ones, ones[:5].T @ np.ones((5, 7), int)))]
    result = simulate_network(TINY, Network("given", layers), level="rtl")
    assert len(result.runs) == 3 and result.ok
    assert (result.runs[1].output == 18).all() and (result.runs[2].output == 45).all()


def test_masked_macs_are_not_useful():
    layers = [Layer("masked", RandomGemm(4, 4, 4), 3, masked_macs=24)]
    result = simulate_network(TINY, Network("mask", layers), level="cycle")
    assert result.useful_macs == 3 * 40 and result.masked_macs == 72
    assert result.layers[0].to_dict()["useful_macs"] == 40
    assert result.shape_efficiency == 40 / 64
    assert result.ok


def vector_network():
    return Network("vector", [
        Layer("rope", RandomRope(3, 2, 4), 2),
        Layer("attention", RandomAttention(3, 5, 4, heads=2, causal=True, rows_per_group=2), 3),
        Layer("residual", RandomResidual(3, 8)), Layer("other", RandomResidual(3, 8, seed=1)),
        Layer("given", Residual([[1, 2]], [[3, 4]]))], omitted=[Omitted("norm", 4, "3x8")])


def test_attention_and_vector_layers_at_every_level():
    results = [simulate_network(TINY, vector_network(), level=level) for level in LEVELS]
    rtl, cycle, analytic = results
    assert all(result.ok and len(result.runs) == 4 for result in results)
    assert rtl.cycles == cycle.cycles >= analytic.cycles
    # Rows see 3, 4 and 5 keys; the first group executes 4 for either of its rows.
    useful = 2 * 4 * 2 * (3 + 4 + 5)
    assert {result.useful_macs for result in results} == {3 * useful}
    assert {result.masked_macs for result in results} == {3 * 2 * 4 * 2}
    assert rtl.runs[3].output.tolist() == [[4, 6]]
    assert rtl.runs[1].output.shape == (3, 8) and rtl.overflow is False
    text = " ".join(printed(cycle, 80).split())
    assert "attention 2 x 3x4x5 3 " in text and "rope 3x8 2 " in text
    assert "norm 3x8 4 - - not simulated - -" in text


def test_a_seed_changes_the_operands_and_nothing_else():
    first, second = (simulate_network(TINY, network(), level="rtl", seed=seed)
                     for seed in (1, 2))
    assert first.totals() | {"simulate_seconds": 0} == second.totals() | {"simulate_seconds": 0}
    assert not np.array_equal(first.runs[0].output, second.runs[0].output)
    assert first.workload["seed"] == 1


def test_refusals():
    with pytest.raises(WorkloadError, match="^empty must have at least 1 layer, not 0$"):
        Network("empty", [])
    with pytest.raises(WorkloadError, match="^count of layer x must be an integer from 1 to "):
        Layer("x", RandomGemm(1, 1, 1), 0)
    with pytest.raises(WorkloadError, match="^masked_macs of layer x must be .* from 0 to 1, "):
        Layer("x", RandomGemm(1, 1, 1), 1, 2)
    with pytest.raises(WorkloadError, match="^layer x: m_tile must be an integer from 1 to 2"):
        simulate_network(TINY, Network("n", [Layer("x", RandomGemm(2, 2, 2, m_tile=3))]))
    with pytest.raises(OptionError, match="^--vcd x.vcd: needs a workload of one run, but three "
                                          "is a network of 3 layers$"):
        run(TINY, network(), vcd="x.vcd", level="rtl")
    with pytest.raises(OptionError, match="^workload three is a network of layers; run it with "):
        simulate(TINY, network(), level="cycle")


def test_layers_too_large_for_the_host_are_refused_before_anything_runs():
    huge = Network("huge", [Layer("small", RandomGemm(1, 4, 4)),
                            Layer("large", RandomGemm(1, 1 << 14, 1 << 14))])
    with pytest.raises(OptionError) as refusal:
        simulate_network(TINY, huge, level="cycle")
    assert str(refusal.value) == (
        f"layer large has 16,777,216 weight tiles on an array of 4x4, more than the "
        f"{LARGEST_TILES:,} that level cycle takes; choose a larger array or level analytic")
    assert simulate_network(TINY, huge, level="analytic").useful_macs == 16 + (1 << 28)


def test_progress_goes_over_all_runs():
    calls = []
    simulate_network(TINY, network(), level="rtl",
                     progress=lambda cycles, done, rows: calls.append((cycles, done, rows)))
    cycles, done, rows = zip(*calls)
    assert set(rows) == {5 * 3 * 2 + 2 + 3 * 2} == {done[-1]}
    assert list(done) == sorted(done) and list(cycles) == sorted(cycles)


def test_lines_about_the_backend_arrive_once(monkeypatch):
    """They were lost, for the progress of a network had no `say`."""
    def chosen(backend, *_arguments):
        return dataclasses.replace(backend, name="pysim"), "note: chosen"

    class Progress:
        lines = []

        def __call__(self, cycles, done, rows): ...

        def say(self, line):
            self.lines.append(line)

    monkeypatch.setattr("cubewave.sim.backends.choice.Backend.choose", chosen)
    assert len(simulate_network(TINY, network(), level="rtl", progress=Progress()).runs) > 1
    assert Progress.lines == ["note: chosen"]


@pytest.mark.parametrize("network,message", [
    (QProjection(2, 2, 2), "network must be a Network, not <.*>; simulate runs one workload"),
    ("topology", "workload must be a workload such as .*, not 'topology'"),
])
def test_only_networks_are_taken(network, message):
    with pytest.raises(TypeError, match=f"^{message}$"):
        simulate_network(TINY, network)


def test_run_is_simulate_for_one_product():
    product = QProjection(2, 4, 4)
    assert run(TINY, product, level="cycle", output=False).cycles == simulate(
        TINY, product, level="cycle").cycles


def test_json_of_the_command_line():
    result = invoke("run", "topology", "--level", "all", "--json", "-")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert set(document) == {"schema", "workload", "design", "notes", "results", "totals",
                             "checks"}
    entries, totals = document["results"], document["totals"]
    assert [entry["level"] for entry in totals] == list(LEVELS)
    assert [(entry["layer"], entry["count"]) for entry in entries] == [
        ("conv1", 1), ("conv2", 1), ("fc", 1)] * 3
    assert entries[0]["workload"]["m"] == 25
    for total in totals:
        of_level = [entry for entry in entries if entry["level"] == total["level"]]
        for name in ("cycles", "useful_macs", "bytes_read"):
            assert total[name] == sum(entry[name] * entry["count"] for entry in of_level)
    assert all(check["ok"] for check in document["checks"])
    assert {check["name"].split(": ")[0] for check in document["checks"]} >= {"conv1", "fc"}


@pytest.mark.parametrize("level, option", [("rtl", "--vcd"), ("cycle", "--trace")])
def test_waveforms_and_traces_are_of_one_run(tmp_path, level, option):
    path = tmp_path / "file"
    result = invoke("run", "topology", "--level", level, option, str(path))
    assert result.exit_code == 2 and not list(tmp_path.iterdir())
    assert result.stderr == (f"error: {option} {path}: needs a workload of one run, but topology "
                             f"is a network of 3 layers\n")


def printed(result, width, encoding="utf-8"):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    print_report(Console(file=stream, width=width, highlight=False), "tiny", [result])
    stream.flush()
    return stream.buffer.getvalue().decode(encoding)


@pytest.mark.parametrize("width", [60, 80, 200])
def test_report_has_every_layer_and_the_totals(width):
    layers = [*network().layers(), Layer("a[0]", RandomGemm(1, 4, 4), group="a"),
              Layer("a[1]", RandomGemm(1, 8, 4), 2, group="a")]
    result = simulate_network(TINY, Network("five", layers, notes=["a note"]))
    text = printed(result, width)
    assert "…" not in text and all(len(line) <= width for line in text.splitlines())
    words = " ".join(text.split())
    assert f"{result.cycles:,}" in words and f"{result.useful_macs:,}" in words
    if width >= 80:  # below, labels wrap
        assert "a 2 shapes 3 " in words and "pair 2 products 1 " in words
    assert "a note" in words and " checks ok" in words
    assert "of 16 MAC/cycle" in words and "different runs of 9" in words


def test_report_says_what_a_formula_gave_and_a_mask_discarded():
    layers = [Layer("masked", RandomGemm(4, 4, 4), 3, masked_macs=24)]
    result = simulate_network(TINY, Network("mask", layers), level="analytic")
    text = " ".join(printed(result, 80, "ascii").split())
    assert "masked MACs 72 executed, then discarded" in text and "cycles at least" in text
    failed = dataclasses.replace(result, checks=[
        {"name": "x: y", "expected": 1, "actual": 2, "ok": False}])
    assert "1 of 1 checks FAILED" in printed(failed, 80)
