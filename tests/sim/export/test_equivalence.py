"""The exported file in other simulators: every output of every cycle is the Python simulation's."""

import random

import pytest
from harness import simulate
from verilog_tools import (
    LANGUAGES,
    compile_verilated,
    icarus,
    lint,
    run,
    simulate_verilog,
    verilate,
)

from cubewave.rtl import Design
from cubewave.rtl.accumulator import Accumulators
from cubewave.rtl.formats import IntegerFormat
from cubewave.sim.export import (
    Column,
    Recording,
    bench_text,
    export_top,
    record,
    stimulus_text,
)
from cubewave.sim.export.export import export_component
from cubewave.sim.export.parts import ports
from cubewave.workloads import Gemm
from cubewave.workloads.registry import build

SMALL = Design(rows=3, cols=2, buffer_port_rows=2, lanes=2, sfu_lanes=1, accumulator_rows=8,
               slot_bytes=64, vector_units=2, handoff="staged")


def write(folder, exported, recording):
    """The exported file, its test bench and its stimulus; the two to compile."""
    (folder / "top.v").write_text(exported.text)
    (folder / "tb.v").write_text(bench_text(
        recording, exported.top, ["clk", "rst"], "tb.hex", "A run."))
    with open(folder / "tb.hex", "w", encoding="ascii") as file:
        file.writelines(stimulus_text(recording))
    return [folder / "tb.v", folder / "top.v"]


def spoil(folder):
    """Change the highest bit of an expected output in the last cycle but one."""
    lines = (folder / "tb.hex").read_text().splitlines()
    word = lines[-2]
    lines[-2] = f"{int(word, 16) ^ 1 << (int(word, 16) | 1).bit_length() - 1:0{len(word)}x}"
    (folder / "spoilt.hex").write_text("\n".join(lines) + "\n")


def test_whole_runs_on_tiny(tmp_path):
    """A product and an attention on the core, in Verilator and Icarus and in both languages."""
    design = Design()
    programs = [build(name, {}, None).program(design) for name in ("gemm", "attention")]
    recording = record(design, programs)
    assert len(recording.cycles) > 1000
    exported = export_top(design)
    files = write(tmp_path, exported, recording)
    passed = f"PASS: {len(recording.cycles)} cycles\n"
    for language in LANGUAGES:
        assert icarus(files, language, tmp_path) in (passed, None)
    sources = [verilate(files, f"{exported.top}_tb", language, tmp_path / language)
               for language in LANGUAGES]
    assert sources[0] == sources[1]  # so that one of them is enough to run
    program = compile_verilated(tmp_path / "verilog")
    assert run(program, tmp_path).startswith(passed)
    spoil(tmp_path)
    printed = run(program, tmp_path, "+stimulus=spoilt.hex")
    assert f"cycle {len(recording.cycles) - 2}: " in printed
    assert f"FAIL: outputs differ in 1 of {len(recording.cycles)} cycles\n" in printed


@pytest.mark.long
def test_edge(tmp_path):
    """Lint, size and a whole run of a 16x16 array."""
    design = Design.preset("edge")
    recording = record(design, [build("gemm", {}, None).program(design)])
    exported = export_top(design)
    assert exported.text.count("\n") <= 3 * export_top(Design()).text.count("\n")
    files = write(tmp_path, exported, recording)
    assert lint(tmp_path / "top.v", exported.top) == []
    verilate(files, f"{exported.top}_tb", "systemverilog", tmp_path / "verilated")
    printed = {run(compile_verilated(tmp_path / "verilated"), tmp_path).splitlines()[0],
               *((icarus(files, language, tmp_path) or "").strip() for language in LANGUAGES)}
    assert printed - {""} == {f"PASS: {len(recording.cycles)} cycles"}


@pytest.mark.long
@pytest.mark.parametrize("workload, settings", [
    ("attention", {"vector_schedule": "pipelined", "vector_units": 2, "handoff": "staged"}),
    ("gemm", {"dataflow": "output_stationary", "rows": 3, "cols": 2, "mac_latency": 3}),
])
def test_other_designs(tmp_path, workload, settings):
    """Vector slots with two write ports; an array whose sums stay in the cells."""
    design = Design(**settings)
    recording = record(design, [build(workload, {}, None).program(design)])
    exported = export_top(design)
    printed = simulate_verilog(write(tmp_path, exported, recording), f"{exported.top}_tb",
                               tmp_path)
    assert printed.startswith(f"PASS: {len(recording.cycles)} cycles\n")


def small_product(top, design=SMALL):
    rng = random.Random(2)
    a, b = ([[rng.randrange(-128, 128) for _ in range(cols)] for _ in range(rows)]
            for rows, cols in ((5, 7), (7, 5)))
    return record(design, [Gemm(a, b).program(design)], top)


@pytest.mark.parametrize("top", ["axi_core", "array", "weight_fifo"])
def test_parts_of_a_small_machine(tmp_path, top):
    recording = small_product(top)
    exported = export_top(SMALL, top)
    files = write(tmp_path, exported, recording)
    printed = simulate_verilog(files, f"{exported.top}_tb", tmp_path)
    assert printed.startswith(f"PASS: {len(recording.cycles)} cycles\n")


def accumulator_steps(design, count):
    """Inputs of each cycle, and the row that a read of the cycle before must show.

    A plain list is the model. Rows are few, so that updates and reads of the same row follow
    each other: an update writes in the cycle after its tag, and a read in that cycle sees the
    row as it was.
    """
    rng = random.Random(8)
    rows = [[0] * design.cols for _ in range(design.accumulator_rows)]
    tag, shown = None, None
    for step in range(count):
        sums = [rng.randrange(-1000, 1000) for _ in range(design.cols)]
        inputs = {"take": int(step == 0), "sums": sums, "read": 0, "tag": {"valid": 0}}
        expected, shown = shown, None
        row = rng.randrange(design.accumulator_rows)
        if step and rng.random() < 0.5:
            inputs.update(read=1, read_row=row)
            shown = list(rows[row])
        old, tag = tag, None
        if old is not None:
            rows[old["row"]] = [before * old["accumulate"] + new
                                for before, new in zip(rows[old["row"]], sums)]
        if step and not inputs["read"]:
            tag = {"valid": 1, "bank": 0, "row": row, "accumulate": rng.randrange(2)}
            inputs["tag"] = tag
        yield inputs, expected


def test_f110_accumulator_memory(tmp_path):
    """List model, Python simulation and exported Verilog read the same."""
    design = Design(rows=2, cols=2, accumulator_rows=3, accumulator_banks=1, slot_bytes=64)
    dut = Accumulators(design=design, format=IntegerFormat.of(design))
    found = ports(dut)
    recording = Recording([Column(port.name, len(port.signal), port.is_input) for port in found])
    steps = list(accumulator_steps(design, 500))
    assert sum(inputs["read"] for inputs, _ in steps) > 150

    async def bench(ctx):
        for inputs, expected in steps:
            for name, value in inputs.items():
                ctx.set(getattr(dut, name), value)
            _clk, _rst, row, *values = await ctx.tick().sample(
                dut.o, *(port.signal for port in found))
            if expected is not None:
                assert [int(element) for element in row] == expected
            recording.cycles.append(tuple(
                value % (1 << len(port.signal)) for port, value in zip(found, values)))

    simulate(dut, bench)
    exported = export_component(
        Accumulators(design=design, format=IntegerFormat.of(design)), design, "accumulators")
    files = write(tmp_path, exported, recording)
    printed = simulate_verilog(files, f"{exported.top}_tb", tmp_path)
    assert printed.startswith("PASS: 500 cycles\n")
