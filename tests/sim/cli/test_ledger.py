"""The energy of a run and its point on the roofline."""

import dataclasses
import json
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from cubewave.rtl import Design
from cubewave.sim import simulate
from cubewave.sim.analytic.model import find
from cubewave.sim.ledger import run_ledger
from cubewave.sim.network import simulate_network
from cubewave.sim.roofline import run_point
from cubewave.workloads import Gemm
from cubewave.workloads.qwen3 import Qwen3

TINY = Design.preset("tiny")
OUTPUT_STATIONARY = dataclasses.replace(TINY, dataflow="output_stationary")


def gemm():
    return Gemm(np.ones((5, 9), int), np.ones((9, 10), int))


def test_amounts_of_a_run_by_hand():
    # m 5, k 9 in 3 tiles of 4, n 10 in 3: A 45, B 90, result 5 * 10 * 4 = 200 bytes.
    # 9 tiles of 5 rows: 45 rows of 4 bytes; 9 * 4 weight rows of 4 bytes; 45 updates read and write
    # 4 sums of 4 bytes, 2 * 45 * 16, and the result is read once, 200.
    ledger = run_ledger(simulate(TINY, gemm(), level="cycle"))
    assert {line.name: line.amount for line in ledger.lines} == {
        "off-chip memory": 335, "buffers, written": 135, "operand slots, read": 180,
        "weight FIFO, read": 144, "accumulators": 1640, "useful MACs": 450}
    # 335 * 31.76 + (135 + 180 + 144 + 1640) * 1.25 + 450 * 1.5 = 10,639.6 + 2,623.75 + 675 pJ
    assert ledger.joules == pytest.approx(13_938.35e-12)
    assert ledger.average_watts == pytest.approx(ledger.joules * 1e8 / ledger.cycles)
    assert ledger.picojoules_per_mac == pytest.approx(13_938.35 / 450)


@pytest.mark.parametrize("design", [TINY, OUTPUT_STATIONARY], ids=["ws", "os"])
def test_the_ledger_is_the_same_at_every_level(design):
    levels = [simulate(design, gemm(), level=level) for level in ("rtl", "cycle", "analytic")]
    lines = [run_ledger(result).lines for result in levels]
    assert lines[0] == lines[1] == lines[2]


def test_a_ledger_of_a_network_is_the_sum_of_its_layers():
    design = Design.preset("tpu-v1")
    network = Qwen3("decode", scope="layer", context=64)
    result = simulate_network(design, network, level="analytic")
    total = {line.name: line.amount for line in run_ledger(result).lines}
    for name, amount in total.items():
        parts = [(layer.layer.count, {line.name: line.amount
                                      for line in run_ledger(layer.result).lines})
                 for layer in result.layers]
        assert amount == sum(count * lines.get(name, 0) for count, lines in parts)


def test_on_chip_memories_are_priced_by_their_size():
    # Slots of 24 MiB and accumulators of 4 MiB are of the larger class, a FIFO of 4 * 64 KiB not.
    result = simulate(Design.preset("tpu-v1"), gemm(), level="analytic")
    prices = {line.name: line.picojoules for line in run_ledger(result).lines}
    assert prices["operand slots, read"] == prices["accumulators"] == 12.5
    assert prices["weight FIFO, read"] == 1.25


def test_bandwidth_changes_power_and_not_energy():
    fast = dataclasses.replace(TINY, memory_bytes_per_cycle=64)
    slow, quick = (run_ledger(simulate(design, gemm(), level="cycle")) for design in (TINY, fast))
    assert slow.joules == quick.joules and slow.average_watts < quick.average_watts


def test_point_of_a_run():
    result = simulate(TINY, gemm(), level="cycle")
    point = run_point(result)
    assert point.intensity == pytest.approx(450 / 335)
    assert point.macs_per_cycle == 450 / result.cycles <= point.roof == 16
    assert point.shape_efficiency == 450 / (45 * 16)
    assert point.shape_efficiency == find("tile-padding")(
        m=5, k=9, n=10, tile_m=1, tile_k=4, tile_n=4)["efficiency"]
    # At a quarter of a byte a cycle the memory limits: 450 / 335 / 4.
    slow = dataclasses.replace(TINY, memory_bytes_per_cycle="1/4")
    point = run_point(simulate(slow, gemm(), level="analytic"))
    assert point.limited_by == "memory" and point.roof == pytest.approx(450 / 335 / 4)
    unlimited = dataclasses.replace(TINY, memory_bytes_per_cycle="unlimited")
    assert run_point(simulate(unlimited, gemm(), level="analytic")).roof == 16


# The command


@pytest.fixture
def document(cubewave):
    def run(*args):
        result = cubewave("run", "gemm", "--level", "all", *args, "--json", "-")
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout, parse_constant=pytest.fail)

    return run


def test_energy_is_in_report_and_json(cubewave, document):
    shown = cubewave("run", "gemm", "--level", "all", "--energy").stdout
    assert "energy, level rtl, table chapter" in shown
    assert "energy, level cycle, table chapter  the same as at level rtl" in shown
    assert "13.94 nJ" in shown and "30.97 pJ for each useful MAC" in shown
    energy = document("--energy")["energy"]
    assert [entry["level"] for entry in energy] == ["rtl", "cycle", "analytic"]
    assert energy[0]["joules"] == pytest.approx(13_938.35e-12)
    assert "energy" not in document() and "roofline" not in document()


def test_a_users_table_of_energies(document, tmp_path):
    (tmp_path / "own.toml").write_text(
        "off_chip_pj_per_byte = 1\nsram_kb_pj_per_byte = 0\nsram_mb_pj_per_byte = 0\n"
        "mac_pj = 2\n", encoding="utf-8")
    energy = document("--energy", "--energies", "own.toml")["energy"][0]
    assert energy["joules"] == pytest.approx((335 + 900) * 1e-12)


def test_roofline_has_a_point_for_each_level(cubewave, document, tmp_path):
    pytest.importorskip("matplotlib")
    args = ("run", "gemm", "--level", "all", "--roofline", "x.svg")
    shown = cubewave(*args).stdout
    assert "of its roof" in shown and "level analytic" in shown and "roofline" in shown
    first = (tmp_path / "x.svg").read_bytes()
    cubewave(*args)
    assert (tmp_path / "x.svg").read_bytes() == first
    texts = {element.text for element in ElementTree.parse(tmp_path / "x.svg").iter()
             if element.tag.endswith("}text")}
    assert "peak 16 MAC/cycle, memory 16 bytes/cycle" in texts
    assert "whole tiles: 62.5 % useful" in texts and "gemm on tiny" in texts
    point = document("--roofline", "y.svg")["roofline"][0]
    assert point["roof_macs_per_cycle"] == 16 and point["limited_by"] == "array"


@pytest.mark.parametrize("workload", ["rope", "residual"])
def test_a_workload_without_macs_has_no_roofline(cubewave, tmp_path, workload):
    pytest.importorskip("matplotlib")
    result = cubewave("run", workload, "--level", "cycle", "--roofline", "x.svg")
    assert result.exit_code == 2 and not result.stdout and not list(tmp_path.iterdir())
    assert result.stderr == (f"error: --roofline x.svg: needs a workload with MACs; {workload} "
                             f"has none\n")


@pytest.mark.parametrize("args,message", [
    (("--energies", "chapter"), "--energies chapter: needs --energy"),
    (("--energy", "--energies", "chaptr"), '--energies chaptr: unknown energy table "chaptr"; '
     'the nearest valid one is "chapter"'),
    (("--energy", "--energies", "own.toml"), "--energies own.toml: own.toml: the energy table "
     "has no sram_kb_pj_per_byte"),
    (("--energy", "--energies", "negative.toml"), "--energies negative.toml: negative.toml: "
     "off_chip_pj_per_byte must be 0 or more, not -1"),
    (("--roofline", "no/x.svg"), "--roofline no/x.svg: cannot be written: there is no folder no"),
])
def test_refusals(refused, tmp_path, args, message):
    if "--roofline" in args:
        pytest.importorskip("matplotlib")
    (tmp_path / "own.toml").write_text("off_chip_pj_per_byte = 1\n", encoding="utf-8")
    (tmp_path / "negative.toml").write_text("off_chip_pj_per_byte = -1\n", encoding="utf-8")
    assert refused("run", "gemm", *args).startswith(message)
