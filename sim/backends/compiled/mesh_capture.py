"""Lets a recorder look into the mesh kernel: C++ that reads out single cells and lanes."""

from collections.abc import Iterator, Sequence

from amaranth.hdl import Signal

from .expressions import c_type

__all__ = ["CELL", "COL", "ROW", "SUM", "capture_code"]

#: Kinds of requests. Lane words: lane, cycles since it entered (0: it enters now). Of a cell:
#: row, column, number of the signal.
ROW, COL, SUM, CELL = range(4)


def capture_code(mesh, signals: Sequence[Signal], edge) -> list[str]:
    """Lines that define `capture`, which runs when what enters is known and no cell has stepped.

    Parameters
    ----------
    mesh : MeshStructure
    signals : sequence of Signal
        Of the cell; requests give their places in it.
    edge : callable
        (input, word, bits) -> C++ of what enters at the edge.
    """
    name = mesh.block.name
    return [
        "template <typename Word> void put(uint32_t *to, Word word) {",
        "  const int128_t wide = word;", "  memcpy(to, &wide, sizeof wide);", "}",
        "void capture_cell(const Array &s, int r, int c, uint32_t number, uint32_t *to) {",
        "  const auto row_word = s.rows_ring[s.row_place * ROWS + r];",
        "  const auto col_word = s.cols_ring[s.col_place * COLS + c];",
        *(f"  const {register.type} {register.name} = s.{register.name}[r * COLS + c];"
          for register in mesh.block.registers),
        *(f"  {line}" for line in _inputs(mesh, edge)),
        *(f"  {line}" for line in mesh.block.comb_code()),
        "  switch (number) {",
        *(f"  case {number}: put(to, {name(signal)}); break;"
          for number, signal in enumerate(signals)),
        "  }", "}",
        "void capture(const Array &s, const KernelCapture &wanted) {",
        "  for (uint32_t i = 0; i < wanted.count; i++) {",
        "    const KernelRequest &is = wanted.requests[i];",
        "    uint32_t *to = wanted.words[i];",
        "    const int a = is.a, b = is.b;",
        "    switch (is.kind) {",
        f"    case {ROW}: put(to, s.rows_ring[(s.row_place + a - b + ROWS) % ROWS * ROWS + a]);"
        " break;",
        f"    case {COL}: put(to, s.cols_ring[(s.col_place + a - b + COLS) % COLS * COLS + a]);"
        " break;",
        f"    case {SUM}:",
        "      put(to, b ? s.sums_ring[(s.col_place + 2 * COLS - 1 - a - b) % COLS * COLS + a]",
        f"                : s.{mesh.output.name}[(ROWS - 1) * COLS + a]);", "      break;",
        f"    case {CELL}: capture_cell(s, a, b, is.c, to); break;",
        "    }", "  }", "}"]


def _inputs(mesh, edge) -> Iterator[str]:
    for entry in mesh.inputs:
        own, kind = mesh.block.name(entry.signal), c_type(entry.signal.shape())
        at_edge = {"left": edge(entry, "row_word", mesh.row_bits),
                   "row": edge(entry, "row_word", mesh.row_bits),
                   "above": edge(entry, "col_word", mesh.col_bits),
                   "col": edge(entry, "col_word", mesh.col_bits),
                   "init": str(entry.signal.init)}[entry.source]
        inside = {"left": "c ? s.{}[r * COLS + c - 1] : ", "above": "r ? s.{}[(r - 1) * COLS + c]"
                  " : "}.get(entry.source, "").format(entry.register and entry.register.name)
        yield f"const {kind} {own} = {inside}{at_edge};"
