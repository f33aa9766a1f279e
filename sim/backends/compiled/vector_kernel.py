"""Writes the lanes of a vector unit as C++ loops that are left out while nothing is to be done."""

from amaranth.hdl import Elaboratable, Fragment, Module, Value

from ....rtl.checks import ceil_log2
from ....rtl.reduction import LONGEST_ROW
from ....rtl.vector_commands import (
    VectorOp,
    vector_element_bits,
    vector_slot_elements,
    vector_slots,
)
from ....rtl.vector_operands import VectorOperands
from ....rtl.vector_slot import vector_word
from .boxes import mangle
from .expressions import WIDE_BITS, c_type, is_packed
from .statements import Block

__all__ = ["VectorKernel"]

READERS, WRITERS = ("handoff", "store"), ("handoff_write", "load_write")


class _Lane(Elaboratable):
    """One lane: operand registers and arithmetic."""

    def __init__(self, arithmetic, element_bits):
        self.operands = VectorOperands(element_bits=element_bits, lanes=1)
        self.arithmetic = arithmetic(element_bits=element_bits, lanes=1)

    def elaborate(self, platform):
        m = Module()
        m.submodules.operands = self.operands
        m.submodules.arithmetic = self.arithmetic
        m.d.comb += [self.arithmetic.x.eq(self.operands.x), self.arithmetic.y.eq(self.operands.y)]
        return m


class _Control(Elaboratable):
    """What steers the lanes."""

    def __init__(self, lanes):
        self._lanes = lanes

    def elaborate(self, platform):
        m = Module()
        self._lanes.elaborate_control(m)
        return m


class _Loop:
    """All lanes of one arithmetic: the translated step of a lane, in a loop.

    Its inputs are those of the same name of `operands` and `arithmetic`, parts of the unit; when
    there is no beat they are 0, for they mean nothing then.
    """

    def __init__(self, name, lanes, element_bits, operands, arithmetic):
        self.name, self.lanes = name, lanes
        lane = _Lane(type(arithmetic), element_bits)
        fragment = Fragment.get(lane, None)
        self._a, self._b, self._row = (
            Value.cast(getattr(lane.operands, port)) for port in ("a", "b", "row"))
        self._o = Value.cast(lane.arithmetic.o)
        overflows = [signal for statement in
                     fragment.find_subfragment("arithmetic").statements.get("sync", ())
                     for signal in statement._lhs_signals() if signal.name == "overflow"]
        x = Value.cast(lane.operands.x)
        self._block = block = Block(fragment, f"{name}_", [self._o, x, *overflows])
        self.x = block.name(x)
        self.overflows = [block.name(signal) for signal in overflows]
        #: Input of a lane -> that of the unit, and whether it is a number of lanes.
        self.inputs = [(inner, Value.cast(getattr(theirs, port)), port in ("real", "count"))
                       for mine, theirs in ((lane.operands, operands),
                                            (lane.arithmetic, arithmetic))
                       for port in mine.signature.members
                       if any((inner := Value.cast(getattr(mine, port))) is signal
                              for signal in block.inputs)
                       and not any(inner is own for own in (self._a, self._b, self._row))]
        self.take, self.valid = Value.cast(operands.take), Value.cast(arithmetic.valid)

    def state(self):
        return [*self._block.tables(),
                *(f"alignas(64) {register.type} {register.name}[{self.lanes}] = {{}};"
                  for register in self._block.registers),
                f"alignas(64) uint64_t {self.name}_out[{self.lanes}] = {{}};  // before the step",
                f"bool {self.name}_beat = false, {self.name}_moves = true;"]

    def step(self, control, engine):
        """Lines of C++; `control` names the signals of the unit."""
        block, name = self._block, self.name
        lane = [f"const {c_type(inner.shape())} {block.name(inner)} = "
                f"beat ? {control(outer)}{' > l' if counts else ''} : 0;"
                for inner, outer, counts in self.inputs]
        for signal, text in ((self._a, f"a_{engine}[l]"), (self._b, f"b_{engine}[l]"),
                             (self._row, f"extend(b_{engine}[0])")):
            lane.append(f"const {c_type(signal.shape())} {block.name(signal)} = {text};")
        lane += [f"const {register.type} {register.name} = this->{register.name}[l];"
                 for register in block.registers]
        lane += [*block.comb_code(), f"{name}_out[l] = {block.name(self._o)};",
                 *block.sync_code()]
        for register in block.registers:
            lane += [f"moves |= next_{register.name} != {register.name};",
                     f"this->{register.name}[l] = next_{register.name};"]
        return [
            f"if (const bool beat = {control(self.take)} | {control(self.valid)}; "
            f"beat | {name}_beat | {name}_moves) {{",
            "  bool moves = false;", f"  for (int l = 0; l < {self.lanes}; l++) {{",
            *(f"    {line}" for line in lane), "  }",
            f"  {name}_beat = beat;", f"  {name}_moves = moves;", "}"]


class VectorKernel:
    """The C++ of the lanes of one vector unit, as the box that stands in for it.

    The slots are host memory. The steps of the lanes are translated from the netlist of one lane,
    what steers them from that of the unit; reductions of rows are written by hand.

    Parameters
    ----------
    lanes : VectorLanes
    ports : dict of str to Value
        Its ports.
    """

    def __init__(self, lanes, ports):
        design = lanes.design
        self._lanes, self._ports = lanes, ports
        self._bits, self._word = vector_element_bits(design), vector_word(design)
        self._width = design.lanes
        self._levels = ceil_log2(design.lanes)
        self._slots, self._elements = vector_slots(design), vector_slot_elements(design)
        self._loops = [_Loop("alu", design.lanes, self._bits, lanes.alu_operands, lanes.alu),
                       _Loop("special", design.sfu_lanes, self._bits, lanes.special_operands,
                             lanes.special)]
        storage, self._engines = lanes.storage, range(len(lanes.reduces))
        self._reads = {f"{side}_{number}": getattr(storage, f"read_{side}_{number}")
                       for number in self._engines for side in "ab"}
        self._writes = [getattr(storage, f"write_{number}") for number in self._engines]
        roots = [*lanes.is_special, *lanes.reduces, Value.cast(lanes.alu.first),
                 Value.cast(lanes.alu.last), Value.cast(lanes.alu.op),
                 Value.cast(lanes.alu.shift), Value.cast(lanes.alu.count)]
        roots += [Value.cast(getattr(read, name)) for read in self._reads.values()
                  for name in ("en", "slot", "address")]
        roots += [Value.cast(getattr(write, name)) for write in self._writes
                  for name in ("count", "slot", "address")]
        for loop in self._loops:
            roots += [loop.take, loop.valid, *(outer for _inner, outer, _counts in loop.inputs)]
        self._block = Block(Fragment.get(_Control(lanes), None), "c_", roots)

    def outputs(self):
        return {"handoff_data", "store_data", "overflow"}

    # -- code ----------------------------------------------------------------------------------

    def setup(self):
        """Members of the box."""
        buffers = [f"alignas(64) uint64_t {name}[{self._word}] = {{}};" for name in self._reads]
        space = (1 << (self._elements - 1).bit_length()) + 2 * self._word
        return [
            f"static constexpr int SLOTS = {self._slots}, WORD = {self._word}, "
            f"BITS = {self._bits}, LANES = {self._width}, LEVELS = {self._levels}, "
            f"TOTAL = {self._bits + ceil_log2(LONGEST_ROW)};",
            "static int64_t extend(uint64_t bits) {",
            "  return static_cast<int64_t>(bits << (64 - BITS)) >> (64 - BITS);", "}",
            "// One slot more, for accesses to one that is not there.",
            f"std::unique_ptr<uint64_t, void (*)(void *)> elements{{static_cast<uint64_t *>("
            f"calloc((SLOTS + 1) * {space}ull, 8)), free}};",
            "uint64_t *at(uint64_t slot, uint64_t address) {",
            f"  return elements.get() + (slot < SLOTS ? slot : SLOTS) * {space}ull + address;",
            "}", *buffers,
            *(line for loop in self._loops for line in loop.state()),
            *_REDUCTION,
            *(f"value<{len(self._ports[name])}> was_{name};" for name in self._compared()),
            "bool quiet = false;"]

    def _compared(self):
        """Inputs that tell whether anything is to be done; elements alone do not."""
        return [name for name in self._ports if name not in self.outputs()
                and not name.endswith("_data")]

    def body(self):
        """The step of one cycle."""
        compared = self._compared()
        same = " && ".join(f"was_{name} == {mangle(name)}" for name in compared)
        return [
            f"if (quiet && {same}) return true;",
            *(f"was_{name} = {mangle(name)};" for name in compared),
            *self._inputs(), *self._block.comb_code(),
            "quiet = true;", *self._arithmetic(), *self._read(), *self._write(),
            *(f"quiet &= !{name}_beat & !{name}_moves;" for name in ("alu", "special")),
            "quiet &= !reduction_moves;"]

    def _name(self, value):
        return self._block.name(Value.cast(value))

    def _inputs(self):
        lines = []
        for signal in self._block.inputs:
            port, = (mangle(name) for name, value in self._ports.items() if value is signal)
            name, bits = self._block.name(signal), len(signal)
            if is_packed(signal):
                lines.append(f"const uint8_t *{name} = bytes({port}.data);")
                continue
            text = f"number({port})"
            if bits > 64:
                text = (f"static_cast<uint128_t>(kernel_wide(bytes({port}.data), {WIDE_BITS}, "
                        f"{bits - WIDE_BITS})) << {WIDE_BITS} | "
                        f"kernel_wide(bytes({port}.data), 0, {WIDE_BITS})")
            elif signal.shape().signed:
                text = f"static_cast<int64_t>(number({port}) << {64 - bits}) >> {64 - bits}"
            lines.append(f"const {c_type(signal.shape())} {name} = {text};")
        return lines

    def _arithmetic(self):
        alu, special = self._loops
        lanes, name = self._lanes, self._name
        op, engines = name(lanes.alu.op), lanes.arithmetic_engines
        return [
            "const uint64_t row_before = row;  // as it is written in this cycle",
            f"const Beat beat = {{{name(alu.valid)} & (({op} == {VectorOp.ROW_MAXIMUM.value}) | "
            f"({op} == {VectorOp.ROW_SUM.value})), {op} == {VectorOp.ROW_MAXIMUM.value},",
            f"                   static_cast<bool>({name(lanes.alu.first)}), "
            f"static_cast<bool>({name(lanes.alu.last)}), "
            f"static_cast<uint8_t>({name(lanes.alu.shift)})}};",
            f"reduce(beat, {alu.x}, {name(lanes.alu.count)});",
            *alu.step(name, engines[0]), *special.step(name, engines[1]),
            "bool overflows = row_overflow;",
            *(f"for (int l = 0; l < {self._width}; l++) overflows |= {each}[l];"
              for each in alu.overflows),
            "p_overflow.next.set<bool>(overflows);"]

    def _read(self):
        """Read the slots, as they are before the writes of this cycle."""
        lines = []
        for buffer, read in self._reads.items():
            lines += [f"if ({self._name(read.en)}) {{", "  quiet = false;",
                      f"  memcpy({buffer}, at({self._name(read.slot)}, "
                      f"{self._name(read.address)}), sizeof {buffer});", "}"]
        for who in READERS:
            port = mangle(who)
            lines += [f"if ({port}__en.data[0]) {{", "  quiet = false;",
                      f"  kernel_pack(bytes({port}__data.next.data), at(number({port}__slot), "
                      f"number({port}__address)), WORD, BITS);", "}"]
        return lines

    def _write(self):
        lines = []
        for number, write in enumerate(self._writes):
            special, reduces = self._lanes.is_special[number], self._lanes.reduces[number]
            lines += [f"if (const uint64_t count = {self._name(write.count)}) {{",
                      "  quiet = false;",
                      f"  memcpy(at({self._name(write.slot)}, {self._name(write.address)}), "
                      f"{self._name(special)} ? special_out : {self._name(reduces)} ? "
                      "&row_before : alu_out, 8 * count);", "}"]
        for who in WRITERS:
            port = mangle(who)
            lines += [
                f"if (const uint64_t count = number({port}__count)) {{", "  quiet = false;",
                f"  uint64_t *to = at(number({port}__slot), number({port}__address));",
                "  for (uint64_t i = 0; i < count; i++)",
                f"    to[i] = kernel_wide(bytes({port}__data.data), i * BITS, BITS);", "}"]
        return lines


_REDUCTION = """
// Reductions of rows: see rtl/reduction.py.
struct Beat { bool valid, maximum, first, last; uint8_t shift; };
Beat beats[LEVELS + 1] = {};
int64_t levels[LEVELS + 1][(LANES + 1) / 2] = {};
int128_t total = 0;
uint64_t row = 0;   // raw bits
int64_t rounded_row = 0;
bool complete = false, maximum = false, row_overflow = false, reduction_moves = false;
bool is_rounded = false, is_outside = false;  // the row in `rounded_row`
uint8_t shift = 0;
void reduce(const Beat &beat, const uint64_t *x, uint64_t count) {
  if (!beat.valid && !reduction_moves) return;
  reduction_moves = beat.valid;
  finish();
  int64_t greatest[LANES], added[LANES];
  for (int l = 0; beat.valid && l < LANES; l++) {
    const bool real = static_cast<uint64_t>(l) < count;
    greatest[l] = real ? extend(x[l]) : -(int64_t(1) << (BITS - 1));
    added[l] = real ? extend(x[l]) : 0;
  }
  const Beat &end = LEVELS ? beats[LEVELS] : beat;
  add_up(end, LEVELS ? levels[LEVELS][0] : end.maximum ? greatest[0] : added[0]);
  for (int level = LEVELS; level > 0; level--) {
    const Beat &source = level > 1 ? beats[level - 1] : beat;
    beats[level].valid = source.valid;
    if (!source.valid) continue;
    reduction_moves = true;
    beats[level] = source;
    int places = LANES;
    for (int i = 1; i < level; i++) places = (places + 1) / 2;
    const int64_t *from = level > 1 ? levels[level - 1] : source.maximum ? greatest : added;
    int64_t *to = levels[level];
    for (int i = 0; i < places / 2; i++) {
      const int64_t a = from[2 * i], b = from[2 * i + 1];
      to[i] = source.maximum ? (a > b ? a : b) : a + b;
    }
    if (places % 2) to[places / 2] = from[places - 1];
  }
  reduction_moves |= complete | is_rounded | row_overflow;
}
// The rows' elements are in `total`: round and saturate, and show it a cycle later.
void finish() {
  const int128_t high = (int128_t(1) << (BITS - 1)) - 1;
  if (is_rounded) row = static_cast<uint64_t>(rounded_row) & ((1ull << BITS) - 1);
  row_overflow = is_rounded && is_outside;
  is_rounded = complete;
  if (complete) {
    bool outside = false;
    int128_t rounded = total;
    if (!maximum) {
      const int128_t exact = ((total * 2 >> shift) + 1) >> 1;
      rounded = static_cast<int128_t>(static_cast<uint128_t>(exact) << (128 - TOTAL))
                >> (128 - TOTAL);
      outside = rounded > high || rounded < -high;
      rounded = rounded > high ? high : rounded < -high ? -high : rounded;
    }
    rounded_row = static_cast<int64_t>(rounded);
    is_outside = outside;
  }
}
void add_up(const Beat &beat, int64_t element) {
  complete = beat.valid & beat.last;
  if (!beat.valid) return;
  maximum = beat.maximum;
  shift = beat.shift;
  if (beat.maximum) {
    if (beat.first || element > total) total = element;
  } else {
    const int128_t sum = (beat.first ? 0 : total) + element;
    total = static_cast<int128_t>(static_cast<uint128_t>(sum) << (128 - TOTAL))
            >> (128 - TOTAL);
  }
}
""".strip().splitlines()
