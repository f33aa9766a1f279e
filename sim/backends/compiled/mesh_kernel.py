"""Writes the array of a design, skew and de-skew included, as C++ loops over all its cells."""

from amaranth.hdl import Shape, Signal, Value

from .expressions import c_type, expression, fit
from .mesh_capture import capture_code
from .mesh_structure import MeshStructure

__all__ = ["MeshKernel"]


class MeshKernel:
    """The C++ source of a matrix unit's array.

    Every register of the cells is an array [rows][cols] in which all cells step in one loop. A
    row whose registers did not change in its last step, and whose inputs are what they were
    then, is not stepped: nothing would change.

    Parameters
    ----------
    unit : MatrixUnit
    rows, cols : int

    Attributes
    ----------
    registers : list of (str, str)
        C type and name of every register of a cell.
    structure : MeshStructure
    """

    def __init__(self, unit, rows: int, cols: int):
        self._unit, self._rows, self._cols = unit, rows, cols
        self.structure = self._mesh = MeshStructure(unit.mesh(2, 2))
        self._block = self._mesh.block
        self.registers = [(register.type, register.name) for register in self._block.registers]
        self._row_word = c_type(Shape(self._mesh.row_bits))
        self._col_word = c_type(Shape(self._mesh.col_bits))
        self._sum = self._mesh.output.type

    def source(self) -> str:
        """The whole source; its interface is that of kernel.h."""
        parts = ['#include "kernel.h"', "#include <algorithm>", "#include <cstddef>",
                 "#include <cstring>", "", "namespace {",
                 f"constexpr int ROWS = {self._rows}, COLS = {self._cols};",
                 *self._state(), *self._row_step(), *self._lanes(), *self._step(),
                 *capture_code(self._mesh, self._mesh.signals, self._edge), "}", "",
                 *self._interface()]
        return "\n".join(parts) + "\n"

    # -- parts ---------------------------------------------------------------------------------

    def _state(self):
        lines = ["struct Array {"]
        lines += [f"  alignas(64) {kind} {name}[ROWS * COLS];" for kind, name in self.registers]
        lines += [f"  alignas(64) {self._row_word} rows_ring[ROWS * ROWS], row_now[ROWS];",
                  f"  alignas(64) {self._col_word} cols_ring[COLS * COLS], col_now[COLS];",
                  f"  alignas(64) {self._sum} sums_ring[COLS * COLS];",
                  f"  uint8_t weights[{self._weight_bytes()}];",
                  "  bool changed[ROWS], any_changed;",
                  "  uint32_t mark;",
                  "  int row_place, col_place;",
                  "  // Cycles since a row entered, other weights entered, other sums left.",
                  "  int rows_quiet, cols_quiet, sums_quiet;",
                  "};"]
        return lines

    def _vectors(self, source):
        return [entry for entry in self._mesh.inputs if entry.source == source]

    def _edge(self, entry, word, bits):
        """The C expression of what enters at the edge, from a lane word."""
        shape = entry.signal.shape()
        if entry.edge is None:
            return str(entry.signal.init)
        start, inner = entry.edge
        lane = Signal(bits, name="lane")
        value = lane[start:start + inner.width]
        value = value.as_signed() if inner.signed else value
        return fit(expression(value, lambda _signal: word), inner, shape)

    def _row_step(self):
        """Steps the cells of one row; true if any register has changed."""
        name = self._block.name
        inputs = self._mesh.inputs
        arguments = [f"{kind} *__restrict row_{register}" for kind, register in self.registers]
        for entry in inputs:
            own, kind = name(entry.signal), c_type(entry.signal.shape())
            if entry.source == "row":
                arguments.append(f"const {kind} from_{own}")
            elif entry.source != "init":
                arguments.append(f"const {kind} *__restrict from_{own}")
        kinds = sorted({kind.removeprefix("u") for kind, _register in self.registers})
        body = [f"const {kind} {register} = row_{register}[c];"
                for kind, register in self.registers]
        for entry in inputs:
            own = name(entry.signal)
            text = {"row": f"from_{own}", "init": str(entry.signal.init)}.get(
                entry.source, f"from_{own}[c]")
            body.append(f"const {c_type(entry.signal.shape())} {own} = {text};")
        body += [*self._block.comb_code(), *self._block.sync_code()]
        for kind, register in self.registers:
            plain = kind.removeprefix("u")
            body += [f"row_{register}[c] = next_{register};",
                     f"changes_{plain} |= (u{plain})(next_{register} ^ {register});"]
        return ["__attribute__((noinline)) bool step_row(", "    " + ",\n    ".join(arguments),
                ") {", *(f"  u{kind} changes_{kind} = 0;" for kind in kinds),
                "  for (int c = 0; c < COLS; c++) {", *(f"    {line}" for line in body), "  }",
                f"  return ({' | '.join(f'changes_{kind}' for kind in kinds)}) != 0;", "}"]

    def _lanes(self):
        """What enters from the operands of the unit, lane by lane."""
        unit, format = self._unit, self._unit.format
        activation = Signal(format.activation_bits, name="activation")
        unsigned, mark = Signal(name="is_unsigned"), Signal(name="mark")
        marks = Signal(self._mesh.row_bits - format.activation_shape.width, name="marks")
        weight = Signal(format.weight_shape, name="weight")
        names = {id(signal): signal.name
                 for signal in (activation, unsigned, marks, weight, mark)}

        def text(value):
            return expression(Value.cast(value), lambda signal: names[id(signal)])

        bits, weight_bits = format.activation_bits, format.weight_bits
        sign = fit("bits", Shape(weight_bits), weight.shape())
        return [
            f"inline {self._row_word} row_lane(const uint8_t *from, int lane, uint32_t is_unsigned,"
            " uint32_t marks) {",
            f"  const uint32_t activation = kernel_bits(from, lane * {bits}, {bits});",
            f"  return {text(unit.row_lane(activation, unsigned, marks))};", "}",
            f"inline {self._col_word} col_lane(const uint8_t *from, int lane, uint32_t mark) {{",
            f"  const uint32_t bits = kernel_bits(from, lane * {weight_bits}, {weight_bits});",
            f"  const int32_t weight = {sign};",
            f"  return {text(unit.col_lane(weight, mark))};", "}"]

    def _step(self):
        row, col = self._row_word, self._col_word
        return [
            "bool take_lanes(Array &s, const KernelInputs &in) {",
            "  s.rows_quiet = in.entering ? 0 : std::min(s.rows_quiet + 1, ROWS + 1);",
            "  const bool same = in.mark == s.mark"
            " && !memcmp(s.weights, in.weights, sizeof s.weights);",
            "  s.cols_quiet = same ? std::min(s.cols_quiet + 1, COLS) : 0;",
            "  s.mark = in.mark;",
            "  memcpy(s.weights, in.weights, sizeof s.weights);",
            "  for (int r = 0, place = s.row_place; s.rows_quiet <= ROWS && r < ROWS; r++) {",
            f"    const {row} word = in.entering ? row_lane(in.activations, r, in.is_unsigned, "
            "in.marks) : 0;",
            "    s.rows_ring[place * ROWS + r] = word;",
            "    if (++place == ROWS) place = 0;", "  }",
            "  if (s.cols_quiet == COLS) return false;",
            "  for (int c = 0, place = s.col_place; c < COLS; c++) {",
            "    s.cols_ring[place * COLS + c] = col_lane(in.weights, c, in.mark);",
            "    if (++place == COLS) place = 0;", "  }",
            f"  const {col} *now = s.cols_ring + s.col_place * COLS;",
            "  const bool changed = memcmp(s.col_now, now, sizeof s.col_now) != 0;",
            "  memcpy(s.col_now, now, sizeof s.col_now);",
            "  return changed;", "}",
            "", "void step_cells(Array &s, bool cols_changed) {",
            "  if (!s.any_changed && !cols_changed && s.rows_quiet > ROWS) return;",
            "  s.any_changed = false;",
            *self._col_arrays(),
            f"  const {row} *row_words = s.rows_ring + s.row_place * ROWS;",
            "  for (int r = ROWS - 1; r >= 0; r--) {",
            f"    const {row} word = row_words[r];",
            "    const bool still = !s.changed[r] && word == s.row_now[r]"
            f" && !({self._col_dependence()}) && !(r && s.changed[r - 1]);",
            "    s.row_now[r] = word;",
            "    if (still) { s.changed[r] = false; continue; }",
            *self._call(), "  }", "}"]

    def _col_dependence(self):
        """Whether a change of what enters the columns concerns row r."""
        return "cols_changed" if self._vectors("col") else "cols_changed && r == 0"

    def _col_arrays(self):
        """What enters the columns, as arrays of the cells' inputs."""
        lines = []
        for entry in self._vectors("col") + self._vectors("above"):
            own, kind = self._block.name(entry.signal), c_type(entry.signal.shape())
            edge = self._edge(entry, "s.col_now[c]", self._mesh.col_bits)
            lines += [f"  alignas(64) {kind} top_{own}[COLS];",
                      f"  for (int c = 0; c < COLS; c++) top_{own}[c] = {edge};"]
        return lines

    def _call(self):
        lines, arguments = [], [f"s.{name} + r * COLS" for _kind, name in self.registers]
        for entry in self._mesh.inputs:
            own, kind = self._block.name(entry.signal), c_type(entry.signal.shape())
            edge = self._edge(entry, "word", self._mesh.row_bits)
            if entry.source == "left":
                lines += [f"    alignas(64) {kind} left_{own}[COLS + 1];",
                          f"    left_{own}[0] = {edge};",
                          f"    memcpy(left_{own} + 1, s.{entry.register.name} + r * COLS, "
                          f"COLS * sizeof left_{own}[0]);"]
                arguments.append(f"left_{own}")
            elif entry.source == "above":
                arguments.append(f"r ? s.{entry.register.name} + (r - 1) * COLS : top_{own}")
            elif entry.source == "col":
                arguments.append(f"top_{own}")
        arguments += [self._edge(entry, "word", self._mesh.row_bits)
                      for entry in self._vectors("row")]
        return [*lines, f"    s.changed[r] = step_row({', '.join(arguments)});",
                "    s.any_changed |= s.changed[r];"]

    def _weight_bytes(self):
        return -(-self._cols * self._unit.format.weight_bits // 8)

    def _interface(self):
        bits, init = self._mesh.sum_bits, [
            f"  for (int i = 0; i < ROWS * COLS; i++) s.{register.name}[i] = "
            f"{register.signal.init};" for register in self._block.registers
            if register.signal.init]
        described = ", ".join(
            f'{{"{register.signal.name}", offsetof(Array, {register.name}), '
            f"sizeof(Array::{register.name}[0])}}" for register in self._block.registers)
        return [
            'extern "C" {',
            "const size_t kernel_size = sizeof(Array);",
            f"const KernelRegister kernel_registers[] = {{{described}, {{nullptr, 0, 0}}}};",
            "void kernel_reset(void *state) {", "  Array &s = *static_cast<Array *>(state);",
            "  memset(&s, 0, sizeof s);", *init,
            "  for (int r = 0; r < ROWS; r++) s.changed[r] = true;",
            "  s.any_changed = true;", "  s.cols_quiet = -1;", "}",
            "void kernel_step(void *state, const KernelInputs *in, uint8_t *sums) {",
            "  Array &s = *static_cast<Array *>(state);",
            "  const bool cols_changed = take_lanes(s, *in);",
            "  if (in->capture) capture(s, *in->capture);",
            "  step_cells(s, cols_changed);",
            f"  const {self._sum} *bottom = s.{self._mesh.output.name} + (ROWS - 1) * COLS;",
            "  if (++s.row_place == ROWS) s.row_place = 0;",
            "  if (++s.col_place == COLS) s.col_place = 0;",
            "  s.sums_quiet = s.changed[ROWS - 1] ? 0 : std::min(s.sums_quiet + 1, COLS);",
            "  if (s.sums_quiet == COLS) return;",
            "  for (int c = 0, place = s.col_place; c < COLS; c++) {",
            "    // Lane c waits COLS - 1 - c cycles.",
            "    s.sums_ring[(place + COLS - 1 - c) % COLS * COLS + c] = bottom[c];", "  }",
            f"  const {self._sum} *out = s.sums_ring + s.col_place * COLS;",
            f"  kernel_pack(sums, out, COLS, {bits});",
            "}", "}"]

