"""`cubewave fpga`: resources and clock of a design on an FPGA, by real tools."""

import json
import os
import sys
from collections.abc import Sequence

import click

from ...rtl import Design
from ...workloads.network import Network
from ...workloads.registry import build as build_workload
from ..errors import OptionError
from ..simulation import Workload, simulate
from .group import FAILED
from .options import Choice, Number, check_outputs, load_design, pairs
from .output import output_console
from .progress import RunProgress

__all__ = ["command"]

TARGETS = ("ecp5", "gowin", "xilinx")
ROWS, TILES = 64, 4  # of the workload by default: activation rows, and tiles along K and N


@click.command("fpga", short_help="Build a design for an FPGA and see its clock.", help=f"""
Synthesise a design, or a part of it, for an FPGA; place and route it; report what it needs, the
clock it reaches, what limits that, and how fast a workload runs then.

The tools are installed by `pip install 'cubewave[fpga]'`. The array of `tiny` takes half a
minute, its core many minutes. WORKLOAD is a name and parameters, as in "gemm m=3 k=8"; by default
a q-projection of {ROWS} rows and {TILES} x {TILES} tiles.

\b
  cubewave fpga
  cubewave fpga --top core --target gowin --no-place
  cubewave fpga -s rows=8 -s cols=8 "gemm m=256 k=64 n=64"
""")
@click.argument("workload", required=False)
@click.option("--design", default="tiny", metavar="PRESET|FILE.toml", show_default=True,
              help="The machine.")
@click.option("-s", "settings", multiple=True, metavar="FIELD=VALUE",
              help="Set a field of the design; may be repeated.")
@click.option("--target", default="ecp5", type=Choice(TARGETS), show_default=True,
              help="ecp5: Lattice ECP5 85k. gowin: GW2AR-18. xilinx: 7 series, synthesis only.")
@click.option("--top", default="array", metavar="NAME", show_default=True,
              help="What to build: array, core, axi_core, or any component by its name.")
@click.option("--no-place", is_flag=True, help="Only synthesise.")
@click.option("--minutes", default=30, type=Number(1, 1440), show_default=True,
              help="Stop a tool that takes longer.")
@click.option("--json", "json_path", metavar="FILE|-", help="Write the result as JSON; - prints "
              "only the JSON.")
def command(workload: str | None, design: str, settings: Sequence[str], target: str, top: str,
            no_place: bool, minutes: int, json_path: str | None) -> int:
    from ..fpga.flow import build, packages
    from ..fpga.report import Speed, document, print_build
    from ..fpga.targets import TARGETS as targets
    from ..fpga.tools import ToolError, need
    machine = load_design(design, pairs("-s", "FIELD", settings))
    text = workload or _default_workload(machine)
    problem = _workload(text)
    check_outputs({"--json": json_path}, inputs=[design] if os.path.isfile(design) else [])
    chosen = targets[target]
    need(f"--target {target}", packages(chosen, not no_place))
    run = simulate(machine, problem, level="cycle", output=False)
    try:
        with RunProgress("fpga", "synthesis, place and route") as progress:
            result = build(machine, top, chosen, is_placed=not no_place, seconds=60 * minutes,
                           say=lambda step: _say(progress, step))
    except OptionError as error:
        raise OptionError(f"--top {top}: {error}") from None
    except ToolError as error:
        click.echo(f"error: {error}", err=True)
        return FAILED
    speed = Speed(text, run.cycles, run.useful_macs)
    if json_path is not None:
        lines = json.dumps(document(result, speed), indent=2, allow_nan=False) + "\n"
        if json_path == "-":
            sys.stdout.write(lines)
            return 0
        with open(json_path, "w", encoding="utf-8") as file:
            file.write(lines)
    with output_console(least=100) as console:
        print_build(console, result, speed, design)
    return 0


def _default_workload(design: Design) -> str:
    return f"q-projection m={ROWS} k={TILES * design.rows} n={TILES * design.cols}"


def _workload(text: str) -> Workload:
    name, *options = text.split() or [""]
    found = build_workload(name, pairs(f"workload {text}:", "PARAM", options), None)
    if isinstance(found, Network):
        raise OptionError(f"{text}: a network has no single run; valid are gemm, q-projection, "
                          f"conv2d, attention, rope, residual and attention-head")
    return found


def _say(progress: RunProgress, step: str) -> None:
    """On a terminal, what happens now."""
    if sys.stderr.isatty():
        progress.say(step)
