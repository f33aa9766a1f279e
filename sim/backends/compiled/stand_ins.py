"""What stands in for parts of a compiled machine: black boxes of the netlist and their C++."""

from typing import Any

from amaranth.hdl import Elaboratable, Fragment, Module, Value
from amaranth.lib import wiring

from ....rtl.accumulator_update import AccumulatorUpdate
from ....rtl.machine import QUEUES, Machine
from ....rtl.matrix_unit import MatrixUnit
from ....rtl.memory_storage import MemoryStorage
from ....rtl.sequencer import Sequencer
from ....rtl.vector_lanes import VectorLanes
from ....rtl.window_addresses import WindowAddresses
from .boxes import Box
from .expressions import c_type
from .mesh_kernel import MeshKernel
from .statements import Block
from .variant import Variant
from .vector_kernel import VectorKernel

__all__ = ["StandIns"]


class StandIns:
    """The platform of a compiled machine.

    Program memories and the contents of the modelled memory are host memory; accumulator
    updates are loops over all columns. With mesh "kernel" the array is one too.

    Parameters
    ----------
    machine : Machine
    variant : Variant
    """

    def __init__(self, machine: Machine, variant: Variant):
        self._machine, self._variant = machine, variant
        core = machine.core
        self._left_out: list[Any] = [] if variant.windows else [WindowAddresses]
        self._left_out += [] if variant.vector else [
            core.vector, core.vector_fill, core.handoff, core.queues["vector"],
            core.queues["handoff"], machine.sequencers["vector"], machine.sequencers["handoff"]]
        self.boxes: list[Box] = []
        #: Source of the mesh kernel, once the machine is elaborated.
        self.kernel: str | None = None

    def rtlil(self) -> str:
        """Declarations of all boxes."""
        return "".join(box.rtlil() for box in self.boxes)

    def cxx(self) -> str:
        """Implementations of all boxes."""
        return "\n".join(["namespace cxxrtl_design {", "",
                          *(box.cxx() for box in self.boxes), "}", ""])

    def leaves_out(self, component: wiring.Component) -> bool:
        """See `rtl/stand_in.py`."""
        return any(component is part for part in self._left_out)

    def get_stand_in(self, component: wiring.Component, ports: dict[str, Value]
                     ) -> Elaboratable | None:
        """See `rtl/stand_in.py`."""
        if isinstance(component, Sequencer):
            return self._program(component, ports)
        if isinstance(component, MemoryStorage):
            return self._storage(component, ports)
        if isinstance(component, AccumulatorUpdate):
            return self._accumulators(component, ports)
        if isinstance(component, VectorLanes) and not self._variant.lanes:
            return self._vector(component, ports)
        if isinstance(component, MatrixUnit) and self._variant.mesh == "kernel":
            return self._array(component, ports)
        return None

    def _box(self, name, ports, outputs, body, *, clocked=True, setup=()) -> Elaboratable:
        self.boxes.append(box := Box.of(name, ports, outputs, body, clocked, setup))
        module = Module()
        module.submodules.box = box.instance(ports)
        return module

    def _program(self, component, ports):
        name = next(name for name in QUEUES if self._machine.sequencers[name] is component)
        chunks = -(-len(ports["data"]) // 32)
        return self._box(f"cubewave_program_{name}", ports, {"data"}, [
            f"const Program &program = shared->programs[{list(QUEUES).index(name)}];",
            "const uint64_t place = number(p_address);",
            "if (place < program.count)",
            f"  memcpy(p_data.next.data, program.words + {chunks} * place, {4 * chunks});",
            "else",
            f"  memset(p_data.next.data, 0, {4 * chunks});"])

    def _storage(self, component, ports):
        readers, size = len(ports["enable"]), component.line_bytes
        bits = len(ports["address"]) // readers
        return self._box("cubewave_storage", ports, {"data"}, [
            f"for (int reader = 0; reader < {readers}; reader++) {{",
            "  if (!(p_enable.data[reader / 32] >> (reader % 32) & 1)) continue;",
            f"  const uint64_t address = kernel_wide(bytes(p_address.data), reader * {bits}, "
            f"{bits});",
            f"  read_memory(*shared, address, bytes(p_data.next.data) + reader * {size}, {size});",
            "}",
            "if (p_write__valid.data[0])",
            "  write_memory(*shared, number(p_write__address), bytes(p_write__data.data),",
            "               number(p_write__bytes));"])

    def _accumulators(self, component, ports):
        lane = component.lane()
        block = Block(Fragment.get(lane, None))
        cols = len(ports["overflows"])
        bits = len(ports["old"]) // cols
        sum_bits = len(ports["sums"]) // cols
        names = {port: block.name(Value.cast(getattr(lane, port))) for port in ports}
        kinds = {port: c_type(Value.cast(getattr(lane, port)).shape()) for port in ports}
        signed = {port: kinds[port].removeprefix("u") for port in ports}
        inputs = ("old", "accumulate", "sums")
        body = [
            "// The outputs of the same inputs are there already.",
            f"if (known && {' && '.join(f'was_{name} == p_{name}' for name in inputs)})",
            "  return true;",
            *(f"was_{name} = p_{name};" for name in inputs), "known = true;",
            f"const {kinds['accumulate']} {names['accumulate']} = p_accumulate.data[0];",
            f"{signed['old']} old_row[{cols}], new_row[{cols}];",
            f"{signed['sums']} sums_row[{cols}];",
            f"uint8_t overflows_row[{cols}];",
            f"kernel_unpack(old_row, bytes(p_old.data), {cols}, {bits});",
            f"kernel_unpack(sums_row, bytes(p_sums.data), {cols}, {sum_bits});",
            f"for (int c = 0; c < {cols}; c++) {{",
            f"  const {kinds['old']} {names['old']} = static_cast<{kinds['old']}>(old_row[c])"
            f" & {(1 << bits) - 1:#x}ull;",
            f"  const {kinds['sums']} {names['sums']} = static_cast<{kinds['sums']}>(sums_row[c])"
            f" & {(1 << sum_bits) - 1:#x}ull;",
            *(f"  {line}" for line in block.comb_code()),
            f"  new_row[c] = static_cast<{signed['new']}>({names['new']});",
            f"  overflows_row[c] = {names['overflows']};", "}",
            f"kernel_pack(bytes(p_new.next.data), new_row, {cols}, {bits});",
            f"kernel_pack(bytes(p_overflows.next.data), overflows_row, {cols}, 1);"]
        return self._box("cubewave_accumulators", ports, {"new", "overflows"}, body,
                         clocked=False, setup=["bool known = false;", *(
                             f"value<{len(ports[name])}> was_{name};" for name in inputs)])

    def _vector(self, component, ports):
        kernel = VectorKernel(component, ports)
        unit = self._machine.core.vector.lanes.index(component)
        return self._box(f"cubewave_vector_{unit}", ports, kernel.outputs(), kernel.body(),
                         setup=kernel.setup())

    def _array(self, component, ports):
        design = self._machine.core.design
        self.kernel = MeshKernel(component, design.rows, design.cols).source()
        return self._box("cubewave_array", ports, {"sums"}, [
            "const KernelInputs in = {",
            "  bytes(p_activations.data), bytes(p_weights.data), p_entering.data[0],",
            "  p_unsigned.data[0], p_marks.data[0], p_mark.data[0], shared->capture};",
            "kernel_step(state, &in, bytes(p_sums.next.data));"], setup=[
            "void *state;",
            "cubewave_array_impl() {",
            "  state = aligned_alloc(64, (kernel_size + 63) / 64 * 64);",
            "  if (!state) abort();",
            "  kernel_reset(state);", "  shared->array = state;", "}"])
