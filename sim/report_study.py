"""The report of a study that a person reads."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from .cycle.path_items import OTHER_PATH, Item
from .report import print_end
from .report_format import count
from .study import StudyRow

__all__ = ["print_study"]

#: Where an item's cycles come from, by unit and step; a vector result is named after its operation.
SOURCES = {
    ("array", "result"): "array result: rows + cols + mac_latency",
    ("array", "weight shift"): "weight shift: rows",
    ("array", "output interval"): "results out of the cells: tile_interval, sum_interval",
    ("array", "rows"): "array: rows of a tile - its MACs / (rows * cols)",
    ("handoff", "arrival"): "hand-off: HandoffUnit.LATENCY",
    ("handoff", "turnaround"): "staged: HandoffUnit.TURNAROUND",
    ("handoff", "transfer"): "hand-off: beats - bytes / handoff_bytes_per_cycle",
    ("vector", "acceptance"): "vector command: ACCEPT",
    ("vector", "elements"): "vector: elements - operations of the jobs",
    ("vector", "next command"): "vector: next command",
    ("loader", "operand arrival"): "operands: MemoryChannel.LATENCY + OperandSlots.ARRIVAL",
    ("loader", "weight arrival"): "weights: MemoryChannel.LATENCY + WeightFifo.ARRIVAL",
    ("loader", "vector arrival"): "elements: MemoryChannel.LATENCY + VectorFill.ARRIVAL",
    ("store", "read"): "store: accumulator rows - occupancy",
    ("store", "write"): "store: rows beyond the occupancy, StoreUnit.ROW_LATENCY",
}


def source(item: Item) -> str:
    """What an item is, with the attribute or field that its cycles come from."""
    if item.unit == "vector" and item.name.startswith("result "):
        return f"vector: result_latency({item.name.removeprefix('result ')}) - 1"
    return SOURCES.get((item.unit, item.name), f"{item.unit}: {item.name}")


def print_study(console: Console, study: str, design_name: str, rows: Sequence[StudyRow],
                files: dict[str, str]) -> None:
    """A line for each row of the study, then what lies between ideal and hardware."""
    level = rows[0].level
    how = f" ({rows[0].backend})" if rows[0].backend else ""
    console.print(Text.assemble("study ", (study, "bold cyan"),
                                f" on {design_name}, level {level}{how}"))
    started = rows[0].case.vector_start is not None
    console.print("span: cycles from first start to last end"
                  + ("; start: to first vector elements" if started else ""), style="dim")
    console.print()
    console.print(_spans(rows, level))
    console.print()
    console.print(_items(rows, level))
    print_end(console, [check for row in rows for check in row.checks], files)


def _table(*columns: str) -> Table:
    """The first column may wrap, the others hold numbers."""
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold underline")
    table.add_column(columns[0], overflow="fold")
    for header in columns[1:]:
        table.add_column(header, justify="right", no_wrap=True)
    return table


def _spans(rows: Sequence[StudyRow], level: str) -> Table:
    starts = rows[0].case.vector_start is not None
    columns = ("chapter", "ideal", level)
    table = _table("row", *((f"start\n{name}" for name in columns) if starts else ()),
                   *(f"span\n{name}" for name in columns), "over\nideal", "by\ngroup")
    for number, row in enumerate(rows, start=1):
        case = row.case
        vector = (case.vector_start, row.ideal_vector_start, row.vector_start) if starts else ()
        table.add_row(f"{number} {case.name}", *(count(start or 0) for start in vector),
                      count(case.span), count(row.ideal), Text(count(row.span), style="bold"),
                      Text(f"{row.beyond:+,}", style="yellow"),
                      f"{row.beyond / case.groups:,.4g}")
    return table


def _items(rows: Sequence[StudyRow], level: str) -> Table:
    """How often each item is on the critical path of each row."""
    table = _table("beyond ideal, on the critical path", "cycles",
                   *(f"row {number}" for number in range(1, len(rows) + 1)))
    counts = [{item[:4]: f"x {item.times}" for item in row.items if item.name != OTHER_PATH}
              for row in rows]
    keys = dict.fromkeys(key for row in counts for key in row)
    for key in sorted(keys, key=lambda key: (key[0], key[1], key[3])):
        table.add_row(source(Item(*key, 1)), f"{key[3]:+,}",
                      *(row.get(key, "") for row in counts))
    others = [sum(item.total for item in row.items if item.name == OTHER_PATH) for row in rows]
    if any(others):
        table.add_row("ideally another path is critical", "",
                      *(f"{other:+,}" if other else "" for other in others))
    table.add_row(Text(f"= {level} - ideal", style="bold"), "",
                  *(Text(f"{row.beyond:+,}", style="bold") for row in rows))
    return table
