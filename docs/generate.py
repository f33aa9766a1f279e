"""Writes the parts of the documentation that follow from the code.

    python docs/generate.py [examples] [tables] [presets] [FILE.md]...

* `tables`: what stands between `<!-- begin NAME -->` and `<!-- end NAME -->` in a page;
* `examples`: what the examples print, see transcripts.py;
* `presets`: the table of presets.md, for which whole layers are scheduled (half a minute).

Without a word for it: examples and tables. Without files: all pages.
"""

import re
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from transcripts import ROOT, pages, rerun

from cubewave.rtl import Design
from cubewave.rtl.accumulator import Accumulators
from cubewave.rtl.core import QUEUE_DEPTH
from cubewave.rtl.counters import EVENTS
from cubewave.rtl.design_fields import FIELDS
from cubewave.rtl.loader import Loader
from cubewave.rtl.mac import WeightStationaryCell
from cubewave.rtl.matrix_unit import MatrixUnit
from cubewave.rtl.memory_channel import MemoryChannel
from cubewave.rtl.operand_slots import OperandSlots
from cubewave.rtl.output_cell import OutputStationaryCell
from cubewave.rtl.presets import OURS, PRESETS
from cubewave.rtl.queue import Queue
from cubewave.rtl.status import UNITS
from cubewave.rtl.store import StoreUnit
from cubewave.rtl.weight_fifo import WeightFifo
from cubewave.sim import simulate
from cubewave.sim.analytic.model import registry
from cubewave.sim.analytic.tables import table as data_table
from cubewave.sim.report_format import count, percent
from cubewave.workloads import QProjection
from cubewave.workloads.registry import WORKLOADS

SECTION = re.compile(r"(<!-- begin ([\w-]+) -->\n).*?(<!-- end \2 -->)", re.DOTALL)

#: Presets of presets.md. The tiny one would need a million weight tiles, 2 GB and a minute.
FULL_SIZE = [name for name in PRESETS if name != "tiny"]

#: Of each unit, the order in which its statuses are asked for: the first that applies counts.
PRECEDENCE = {
    "memory": ["busy", "idle"],
    "loader": ["busy", "drain", "idle", "slot", "fifo", "store", "port"],
    "array": ["busy", "drain", "idle", "fill", "accumulator", "output", "operands",
              "weight_shift", "weights"],
    "vector": ["busy", "drain", "idle", "input", "pipeline"],
    "handoff": ["busy", "drain", "idle", "scores", "slot", "probabilities", "operands"],
    "store": ["busy", "drain", "idle", "result", "memory"],
}


def table(header: Iterable[str], rows: Iterable[Iterable[str]], align: str = "") -> str:
    """A Markdown table; `align` has `r` for each column of numbers."""
    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"
    header = list(header)
    rule = ["---:" if align[place:place + 1] == "r" else "---" for place in range(len(header))]
    return line(header) + line(rule) + "".join(line(row) for row in rows)


def code(value: object) -> str:
    """A value as it is written after `-s`."""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


# -- tables --------------------------------------------------------------------------------------

def design_fields() -> str:
    default = Design()
    return table(
        ("field", "unit", "range", "default", "meaning"),
        ((f"`{name}`", spec.unit, spec.range, code(getattr(default, name)), spec.description)
         for name, spec in FIELDS.items()))


def design_presets() -> str:
    designs = [Design.preset(name) for name in PRESETS]
    return table(
        ("field", *(f"`{name}`" for name in PRESETS)),
        ((f"`{field}`", *(str(value).lower().removesuffix("_stationary")
                          for value in (getattr(design, field) for design in designs)))
         for field in FIELDS), "l" + "r" * len(designs))


def preset_sources() -> str:
    """The fields of each preset that have a source, without those of the preset `tiny`."""
    def sourced(name: str) -> str:
        fields = PRESETS[name].fields
        return "".join(f"  * `{field}`: {source}\n" for field, (_, source) in fields.items()
                       if source != OURS and source != PRESETS["tiny"].fields[field][1])
    return "".join(f"* `{name}`: {PRESETS[name].summary}\n{sourced(name)}" for name in PRESETS)


def derived_values() -> str:
    members = ((name, member) for name, member in vars(Design).items()
               if isinstance(member, property))
    presets = ("tiny", "edge", "tpu-v1")
    return table(
        ("derived value", "meaning", *(f"`{name}`" for name in presets)),
        ((f"`{name}`", " ".join((member.__doc__ or "").replace("``", "`").split()),
          *(str(getattr(Design.preset(preset), name)) for preset in presets))
         for name, member in members), "llrrr")


def latencies() -> str:
    rows = [
        ("`Queue.LATENCY`", Queue.LATENCY, "from a command's entry into an empty queue to its "
                                           "being at the head"),
        ("`Loader.LATENCY`", Loader.LATENCY, "from a load at the head, with room for it, to its "
                                             "request"),
        ("`MemoryChannel.LATENCY`", MemoryChannel.LATENCY,
         "beyond hold and memory latency, until a load's last rows reach their buffer"),
        ("`WeightFifo.ARRIVAL`", WeightFifo.ARRIVAL, "from a tile's last rows to the tile being "
                                                     "whole"),
        ("`OperandSlots.ARRIVAL`", OperandSlots.ARRIVAL, "from a slot's last rows to the slot "
                                                         "being ready"),
        ("`WeightFifo.LATENCY`", WeightFifo.LATENCY, "from reading a weight row to the row "
                                                     "entering the column skew"),
        ("`OperandSlots.LATENCY`", OperandSlots.LATENCY, "from reading an activation row to the "
                                                         "row entering the row skew"),
        ("`WeightStationaryCell.TRANSPORT`", WeightStationaryCell.TRANSPORT,
         "from cell to cell, in every direction"),
        ("`WeightStationaryCell.latency(1)`", WeightStationaryCell.latency(1),
         "from an activation at a cell to its product in the sum; `mac_latency` adds its own"),
        ("`OutputStationaryCell.latency(1)`", OutputStationaryCell.latency(1), "the same, output "
                                                                               "stationary"),
        ("`MatrixUnit.REGISTERS`", MatrixUnit.REGISTERS, "registers in the formula of the whole "
                                                         "product below"),
        ("`MatrixUnit.latency(tiny)`", MatrixUnit.latency(Design.preset("tiny")),
         "from reading an activation row to its sums: rows + cols + mac_latency"),
        ("`Accumulators.UPDATE`", Accumulators.UPDATE, "from the tag of a row to the write of "
                                                       "its sums, in the cycle they come in"),
        ("`Accumulators.LATENCY`", Accumulators.LATENCY, "from reading an accumulator row to "
                                                         "the row"),
        ("`StoreUnit.LATENCY`", StoreUnit.LATENCY, "from a full bank, its store at the head, to "
                                                   "the request"),
        ("`StoreUnit.ROW_LATENCY`", StoreUnit.ROW_LATENCY, "from reading a row that is stored to "
                                                           "writing it"),
    ]
    return table(("attribute", "cycles", "what"),
                 ((name, str(value), what) for name, value, what in rows), "lrl") \
        + f"\nEach queue holds `QUEUE_DEPTH` = {QUEUE_DEPTH} commands.\n"


def status_comments() -> dict[str, dict[str, str]]:
    """The meaning of every status, from the comments of rtl/status.py."""
    source = (ROOT / "rtl" / "status.py").read_text(encoding="utf-8")
    meanings = {}
    for unit, statuses in UNITS.items():
        body = source.split(f"class {statuses.__name__}(", 1)[1].split("\n\n\n", 1)[0]
        found = re.findall(r"^    (\w+) = \d+ +# (.*)$", body, re.MULTILINE)
        meanings[unit] = {name.lower(): meaning for name, meaning in found}
    return meanings


def statuses() -> str:
    parts = []
    for unit, meanings in status_comments().items():
        if sorted(meanings) != sorted(PRECEDENCE[unit]):
            raise ValueError(f"PRECEDENCE of {unit} does not list its statuses: {list(meanings)}")
        numbers = {status.name.lower(): status.value for status in UNITS[unit]}
        parts.append(f"**`{unit}`**\n\n" + table(
            ("counter", "number", "one count is a cycle in which"),
            ((f"`{unit}.{name}`", str(numbers[name]), meanings[name])
             for name in PRECEDENCE[unit]), "lrl"))
    return "\n".join(parts)


def counters() -> str:
    return table(("counter", "unit", "counts", "in"),
                 ((f"`{name}`", event.unit, event.description, event.unit_of_count)
                  for name, event in EVENTS.items()))


def workloads() -> str:
    return "\n".join(
        f"**`{spec.name}`**: {spec.description}.\n\n" + table(
            ("`-p`", "unit", "range", "default", "meaning"),
            ((f"`{parameter.name}`", parameter.spec.unit, parameter.spec.range,
              parameter.default_text if parameter.default is None
              else f"`{parameter.default_text}`", parameter.spec.description)
             for parameter in spec.parameters))
        for spec in WORKLOADS.values())


# -- presets.md ------------------------------------------------------------------------------------

def preset_row(name: str, m: int) -> list[str]:
    """One row of the table of presets: the Q projection of M rows, at level cycle."""
    design = Design.preset(name)
    result = simulate(design, QProjection(m=m), level="cycle", output=False)
    if not result.ok:
        raise ValueError(f"checks failed: {name}, m={m}: {result.checks}")
    items = sorted(result.items.items(), key=lambda item: -item[1])
    bound = result.cycles - sum(result.items.values())
    return [f"`{name}`", f"{design.rows}x{design.cols}", count(m), count(result.cycles),
            percent(result.useful_macs, design.macs_per_cycle * result.cycles),
            f"{count(bound)} {result.limited_by}",
            " ".join(f"+ {count(cycles)} {item}" for item, cycles in items)]


def presets() -> str:
    return table(("preset", "array", "M", "cycles", "utilization", "bound, limited by",
                  "beyond the bound"),
                 [preset_row(name, m) for name in FULL_SIZE for m in (1, 256)], "llrrrll")


def analytic_models() -> str:
    return table(("section", "model", "estimates", "says what limits"),
                 ((model.section, code(model.name), model.summary,
                   "yes" if model.has_limit else "") for model in registry()))


def data_tables() -> str:
    parameters = {"devices": "`device`, `device_a`, `device_b`", "networks": "`network`",
                  "energies": "`energies`"}
    return table(("table", "chosen by", "entries"), (
        (f"`sim/analytic/data/{name}.toml`", parameter,
         ", ".join(code(entry) for entry in data_table(name)))
        for name, parameter in parameters.items()))


SECTIONS: dict[str, Callable[[], str]] = {
    function.__name__.replace("_", "-"): function
    for function in (design_fields, design_presets, preset_sources, derived_values, latencies,
                     statuses, counters, workloads, analytic_models, data_tables, presets)}
SLOW = ("presets",)


def regenerated(page: str, names: Iterable[str]) -> str:
    """The text of a page with these sections written anew."""
    names = set(names)

    def section(match: re.Match[str]) -> str:
        return match[1] + SECTIONS[match[2]]() + match[3] if match[2] in names else match[0]
    return SECTION.sub(section, page)


def main(words: list[str]) -> None:
    files = [Path(word).resolve() for word in words if word.endswith(".md")]
    what = {word for word in words if not word.endswith(".md")} or {"examples", "tables"}
    if unknown := what - {"examples", "tables", "presets"}:
        sys.exit(f"unknown: {', '.join(sorted(unknown))}\n\n{__doc__}")
    names = [name for name in SECTIONS
             if ("presets" if name in SLOW else "tables") in what]
    for path in files or pages():
        before = text = path.read_text(encoding="utf-8")
        text = regenerated(text, names)
        if "examples" in what:
            with tempfile.TemporaryDirectory() as folder:
                text = rerun(text, Path(folder))
        if text != before:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main(sys.argv[1:])
