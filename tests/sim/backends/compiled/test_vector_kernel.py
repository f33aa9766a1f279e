"""The lanes of a vector unit in C++ against their netlist, and the contents of all slots."""

import itertools

import numpy as np
import pytest
from register_bench import PARTS, compare
from vector_bench import VectorBench, random_command

from cubewave.rtl.vector_commands import (
    VectorOp,
    vector_element_bits,
    vector_layout,
    vector_slot_elements,
    vector_slots,
)
from cubewave.rtl.vector_slot import vector_word
from cubewave.sim.backends.packing import pack_commands

PHASES = 6      # of some commands each, after which all contents are read


class Stimulus:
    """Random commands, and accesses of the neighbours to the slots that no command uses.

    Two accesses to one port of a slot in the same cycle are a program's error.
    """

    def __init__(self, design, seed):
        self.design, self.rng = design, np.random.default_rng(seed)
        self.slots, self.elements = vector_slots(design), vector_slot_elements(design)
        self.bits = vector_element_bits(design)
        #: Operations of all commands so far.
        self.executed = set()

    def inputs(self, _parts):
        yield from self._fill()
        for phase in range(PHASES):
            order = self.rng.permutation(self.slots).tolist()
            yield from self._commands(order[:4], order[4:], (0.0, 0.5, 0.95, 1.0)[phase % 4])
            yield from self._contents()

    def _random(self, count):
        """Numbers of all sizes, the greatest and the masked one among them."""
        values = VectorBench.random_elements(self.design, self.rng).ravel()[:count]
        return np.where(self.rng.random(count) < 0.1, (1 << self.bits - 1) - 1, values)

    def _write(self, who, slot, unit, address, count):
        data = sum((int(value) & (1 << self.bits) - 1) << self.bits * place
                   for place, value in enumerate(self._random(self.design.cols)))
        return {f"vector.{who}_write": 1, f"vector.{who}_slot": slot, f"vector.{who}_unit": unit,
                f"vector.{who}_address": address, f"vector.{who}_count": count,
                f"vector.{who}_data": data}

    def _read(self, who, slot, unit, address):
        return {f"vector.{who}_read": 1, f"vector.{who}_read_slot": slot,
                f"vector.{who}_read_unit": unit, f"vector.{who}_read_address": address}

    def _places(self, step):
        return itertools.product(range(self.slots), range(self.design.vector_units),
                                 range(0, self.elements, step))

    def _fill(self):
        cols = self.design.cols
        for slot, unit, address in self._places(cols):
            yield self._write("load", slot, unit, address, min(cols, self.elements - address))

    def _contents(self):
        for number, place in enumerate(self._places(vector_word(self.design))):
            yield self._read(("handoff", "store")[number % 2], *place)
        yield {}

    def _neighbours(self, free, quiet):
        """Reads and writes of `free` slots, and what happens to the flags of any."""
        rng, inputs = self.rng, {}
        for method, two in ((self._write, ("handoff", "load")), (self._read, ("handoff", "store"))):
            for who, slot in zip(two, rng.permutation(free).tolist()):
                if rng.random() < quiet:
                    continue
                place = [slot, int(rng.integers(self.design.vector_units)),
                         int(rng.integers(self.elements))]
                if method == self._write:
                    place.append(int(rng.integers(
                        min(self.design.cols, self.elements - place[2]) + 1)))
                inputs |= method(who, *place)
        for name in ("array_take", "store_release", "load_filled", "handoff_use"):
            inputs |= {f"vector.{name}": int(rng.random() < 0.3),
                       f"vector.{name}_slot": int(rng.integers(self.slots))}
        return inputs

    def _command(self, slots, before):
        """A command that uses `slots` only; one that is chained writes another than the last."""
        rng = self.rng
        op = list(VectorOp)[int(rng.integers(len(VectorOp)))]
        command = random_command(
            self.design, rng, op, chain=int(rng.integers(3)),
            shift=int(rng.choice((0, 0, 1, 7, 39))),
            **{name: int(rng.random() < 0.2) for name in ("wait_a", "wait_b", "free_a", "done")})
        names = dict(zip(dict.fromkeys((command.a_slot, command.b_slot, command.d_slot)),
                         rng.permutation(slots).tolist()))
        command = command._replace(**{f"{side}_slot": names[getattr(command, f"{side}_slot")]
                                      for side in "abd"})
        if before is not None and command.d_slot == before.d_slot:
            command = command._replace(chain=0)
        self.executed.add(op)
        return command

    def _commands(self, slots, free, quiet):
        rng, left, gap, before, idle = self.rng, 8, 0, None, 0
        command = None
        while left or command is not None or idle < 3:
            if command is None and left and gap == 0:
                command, left = self._command(slots, before), left - 1
                word, = pack_commands(vector_layout(self.design), [command])
            inputs = self._neighbours(free, quiet)
            if command is not None:
                inputs |= {"vector.i_valid": 1, "vector.i_payload": word}
            inputs["vector.clear"] = int(rng.random() < 0.05)
            outputs = yield inputs
            gap = max(gap - 1, 0)
            if outputs["vector.i_ready"]:
                before, command = command, None
                gap = int(rng.choice((0, 0, 1, 5, 40)))
            idle = 0 if outputs["vector.active"] else idle + 1


@pytest.mark.parametrize("name", PARTS)
def test_every_output_and_the_contents_equal_the_netlist(name, compiled_parts):
    stimulus = Stimulus(PARTS[name], len(name))
    assert compare(stimulus.design, compiled_parts(name), "vector", stimulus.inputs) > 1000
    assert len(stimulus.executed) > len(VectorOp) * 2 // 3
