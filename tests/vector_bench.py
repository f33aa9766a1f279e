"""The vector unit's rules as a plain model, and a bench that runs commands on the hardware."""

import numpy as np
from harness import simulate

from cubewave.rtl.checks import ceil_div, ceil_log2
from cubewave.rtl.status import VectorStatus
from cubewave.rtl.vector_commands import (
    Operand,
    VectorCommand,
    VectorOp,
    vector_element_bits,
    vector_slot_elements,
    vector_slots,
)
from cubewave.rtl.vector_format import VectorFormat
from cubewave.rtl.vector_slot import vector_word
from cubewave.rtl.vector_unit import VectorUnit

__all__ = ["Contents", "Timing", "VectorBench", "latency", "random_command"]

MASKING = (VectorOp.ROW_MAXIMUM, VectorOp.SUBTRACT, VectorOp.MASK)
FLAGS = ("taken", "filled", "results")


def latency(design, op):
    """Cycles from a beat to the earliest one that needs its result."""
    if op is VectorOp.DIVIDE:
        return 18
    if op.special:
        return 7
    return 6 + ceil_log2(design.lanes) if op.reduces else 6


class Contents:
    """Elements of all slots, [unit, slot, address], and what commands make of them."""

    def __init__(self, design, elements):
        self.design, self.elements = design, elements
        self.format = VectorFormat(vector_element_bits(design))
        self.overflow = 0

    def execute(self, command):
        units = self.design.vector_units
        if command.flat:
            places = [(number % units, number // units) for number in range(command.length)]
            self._row(command, 0, places, 0)
            return
        for row in range(command.rows):
            unit, number = row % units, row // units
            self._row(command, row, [(unit, place) for place in range(command.length)], number)

    def _at(self, slot, address, places):
        return np.array([self.elements[unit, slot, address + place] for unit, place in places])

    def _row(self, command, row, places, number):
        op, at = command.op, command
        x = self._at(at.a_slot, at.a_address + number * at.a_pitch, places)
        if op in MASKING:
            valid = max(command.valid + row * command.valid_step, 0)
            x = np.where(np.arange(len(x)) < valid, x, self.format.masked)
        if command.b is Operand.IMMEDIATE:
            y = command.immediate
        elif command.b is Operand.ROW:
            y = self.elements[places[0][0], at.b_slot, at.b_address + number]
        else:
            y = self._at(at.b_slot, at.b_address + number * at.b_pitch, places)
        values, overflow = self.format.apply(op, x, y, immediate=command.immediate,
                                             shift=command.shift, bits=command.bits)
        self.overflow |= int(overflow)
        if op.reduces:
            self.elements[places[0][0], at.d_slot, at.d_address + number] = values
            return
        for (unit, place), value in zip(places, values):
            self.elements[unit, at.d_slot, at.d_address + number * at.d_pitch + place] = value


class Timing:
    """When commands are accepted and complete, what the flags are, and the status.

    The beats of a command are known when it is accepted, so they are written down then.
    """

    def __init__(self, design):
        self.design = design
        self.pipelined = design.vector_schedule == "pipelined"
        self.flags = {name: set() for name in FLAGS}
        self.beats = set()          # cycles with a beat
        self.complete = [0, 0]      # of each engine's last command
        self.last_beat = -1         # of all commands
        self.rows = []              # when the rows of the last command are complete
        self.events = {}            # cycle -> flag, what happens to it, slot
        self.accepted = []          # (acceptance, complete)

    def _filled(self, command):
        return all(slot in self.flags["filled"] for waits, slot in (
            (command.wait_a, command.a_slot), (command.wait_b, command.b_slot)) if waits)

    def _ready(self, now, command):
        if not self._filled(command):
            return False
        own = self.complete[self.pipelined and command.op.special]
        everything = own if self.pipelined and command.chain else max(self.complete)
        return now + 1 >= everything

    def _accept(self, now, command):
        design, op = self.design, command.op
        rate = design.sfu_lanes if op.special else design.lanes
        units = design.vector_units
        rows = 1 if command.flat else ceil_div(command.rows, units)
        length = ceil_div(command.length, units) if command.flat else command.length
        done, cycle = [], now + 1
        for row in range(rows):
            if self.pipelined and command.chain == 1 and self.rows:
                cycle = max(cycle, self.rows[min(row, len(self.rows) - 1)])
            self.beats.update(range(cycle, cycle + ceil_div(length, rate)))
            cycle += ceil_div(length, rate)
            done.append(cycle - 1 + latency(design, op))
        self.rows, self.last_beat = done, max(self.last_beat, cycle - 1)
        self.complete[self.pipelined and op.special] = done[-1]
        self.accepted.append((now, done[-1]))
        at_end = self.events.setdefault(done[-1] - 1, [])
        at_end += [("taken", False, command.a_slot)] * command.free_a
        at_end += [("taken", False, command.b_slot)] * command.free_b
        at_end += [("results", True, command.a_slot)] * command.done
        self.events.setdefault(now, []).extend(
            ("filled", False, slot) for waits, slot in (
                (command.wait_a, command.a_slot), (command.wait_b, command.b_slot)) if waits)

    def _status(self, now, command):
        if now in self.beats:
            return VectorStatus.BUSY
        if command is None and now > self.last_beat:
            return VectorStatus.DRAIN if now < max(self.complete) else VectorStatus.IDLE
        if command is not None and not self._filled(command):
            return VectorStatus.INPUT
        return VectorStatus.PIPELINE

    def step(self, now, command, events=()):
        """The outputs of a cycle with this command, or None, at the head of the queue."""
        ready = command is not None and self._ready(now, command)
        out = {"ready": int(ready), "status": None,
               "active": int(command is not None or now < max(self.complete)),
               **{name: sum(1 << slot for slot in slots) for name, slots in self.flags.items()}}
        if ready:
            self._accept(now, command)
        out["status"] = self._status(now, command)
        changes = [*events, *self.events.pop(now, [])]
        for name, on, slot in sorted(changes, key=lambda change: change[1]):
            (self.flags[name].add if on else self.flags[name].discard)(slot)
        return out


class VectorBench:
    """Runs commands on a :class:`VectorUnit` and checks every cycle against :class:`Timing`.

    Parameters
    ----------
    design : Design
    elements : ndarray
        Contents of the slots before, [unit, slot, address].

    Attributes
    ----------
    elements : ndarray
        Contents afterwards.
    statuses : list of VectorStatus
    accepted : list of (int, int)
        In which cycle each command was accepted and complete.
    """

    def __init__(self, design, elements):
        self.design, self.elements = design, elements
        self.unit = VectorUnit(design=design)
        self.statuses, self.accepted, self.overflow = [], [], None

    @staticmethod
    def random_elements(design, rng, most=30):
        """Numbers of all sizes, some masked."""
        bits = vector_element_bits(design)
        shape = (design.vector_units, vector_slots(design), vector_slot_elements(design))
        values = rng.integers(-1 << bits - 1, 1 << bits - 1, shape)
        values >>= rng.integers(bits - most, bits - 1, shape)
        return np.where(rng.random(shape) < 0.1, -1 << bits - 1, values)

    def run(self, commands, *, gaps=(), fill=1.0, neighbours=0.1, seed=0, cycles_after=3,
            vcd=None):
        """Send the commands, in gaps of cycles.

        In a cycle a slot that is waited for is filled with chance `fill`; some slot is taken and
        some result used with chance `neighbours`.
        """
        rng, unit, timing = np.random.default_rng(seed), self.unit, Timing(self.design)
        outputs = [unit.i.ready, unit.status, unit.active, unit.taken, unit.filled, unit.results]

        async def bench(ctx):
            self._set_contents(ctx)
            waiting, gaps_left = list(commands), list(gaps)
            quiet, now, gap, last = 0, 0, gaps_left.pop(0) if gaps_left else 0, None
            while quiet < cycles_after:
                command = waiting[0] if waiting and gap == 0 else None
                gap = max(gap - 1, 0)
                if command is not last:
                    ctx.set(unit.i.valid, command is not None)
                    if command is not None:
                        ctx.set(unit.i.payload, command._asdict())
                last = command
                events = self._neighbours(ctx, rng, neighbours)
                slot = self._fill(ctx, timing, command, rng.random() < fill)
                events += [("filled", True, slot)] * (slot is not None)
                values = dict(zip(("ready", "status", "active", *FLAGS),
                                  (await ctx.tick().sample(*outputs))[2:]))
                expected = timing.step(now, command, events)
                values["status"] = VectorStatus(values["status"])
                assert values == expected, f"cycle {now}: {values}, {expected}, {command}"
                self.statuses.append(expected["status"])
                if values["ready"]:
                    waiting.pop(0)
                    gap = gaps_left.pop(0) if gaps_left else 0
                quiet = 0 if waiting or values["active"] else quiet + 1
                now += 1
            self.overflow = ctx.get(unit.overflow)
            self._get_contents(ctx)

        simulate(unit, bench, max_cycles=20_000, vcd=vcd)
        self.accepted = timing.accepted
        return self

    def _neighbours(self, ctx, rng, chance):
        """Now and then take a slot or use a result; what that does to the flags."""
        events = []
        for name, flag, on in (("array_take", "taken", True), ("handoff_use", "results", False)):
            slot, happens = int(rng.integers(vector_slots(self.design))), rng.random() < chance
            ctx.set(getattr(self.unit, name), happens)
            ctx.set(getattr(self.unit, f"{name}_slot"), slot * happens)
            events += [(flag, on, slot)] * happens
        return events

    def _fill(self, ctx, timing, command, happens):
        """Fill a slot that the command waits for, if it `happens`; which one."""
        slot = None
        if command is not None and happens:
            for waits, each in ((command.wait_a, command.a_slot),
                                (command.wait_b, command.b_slot)):
                if waits and each not in timing.flags["filled"]:
                    slot = each
        ctx.set(self.unit.load_filled, slot is not None)
        ctx.set(self.unit.load_filled_slot, slot or 0)
        return slot

    def _places(self):
        """Every element: its place in a bank, and where it is in `elements`."""
        word = vector_word(self.design)
        for unit, lanes in enumerate(self.unit.lanes):
            for number, slot in enumerate(lanes.storage.slots):
                for address in range(self.elements.shape[2]):
                    yield slot.banks[address % word][address // word], (unit, number, address)

    def _set_contents(self, ctx):
        for place, where in self._places():
            ctx.set(place, int(self.elements[where]))

    def _get_contents(self, ctx):
        self.elements = self.elements.copy()
        for place, where in self._places():
            self.elements[where] = ctx.get(place)


def random_command(design, rng, op, **fields):
    """A command of `op` that stays within the slots and does not overtake itself."""
    elements, units = vector_slot_elements(design), design.vector_units
    a, b, d = rng.permutation(vector_slots(design))[:3].tolist()
    flat = int(not op.reduces and op is not VectorOp.DIVIDE and rng.random() < 0.2)
    in_place = not op.reduces and rng.random() < 0.3
    rows = 1 if flat else int(rng.integers(1, 6))
    length = int(rng.integers(1, 3 * max(design.lanes, design.sfu_lanes) + 2))
    length = min(length, elements // 2)
    rounds, width = ceil_div(rows, units), ceil_div(length, units) if flat else length
    room = max((elements - width) // max(rounds - 1, 1), 0)
    pitches = {side: int(rng.integers(0, room + 1)) for side in "abd"}
    if in_place or pitches["d"] < width:
        pitches["d"] = min(max(width, pitches["d"]), room)
        rounds = rounds if pitches["d"] >= width else 1
        rows = min(rows, rounds * units)
    spans = {side: (rounds - 1) * pitch + width for side, pitch in pitches.items()}
    places = {side: int(rng.integers(0, elements - span + 1)) for side, span in spans.items()}
    if in_place:
        d, pitches["a"], places["a"] = a, pitches["d"], places["d"]
    operand = Operand(int(rng.integers(3)))
    if op is VectorOp.DIVIDE:
        operand = Operand.ROW
    elif flat and operand is Operand.ROW:
        operand = Operand.IMMEDIATE
    immediate = int(rng.integers(-1 << 31, 1 << 31)) >> int(rng.integers(0, 32))
    return VectorCommand(**{
        "op": op, "a_slot": a, "d_slot": d, "rows": rows, "length": length, "b": operand,
        "b_slot": b, "flat": flat,
        **{f"{side}_pitch": pitches[side] for side in "abd"},
        **{f"{side}_address": places[side] for side in "abd"},
        "immediate": int(rng.integers(0, (1 << 16) + 1)) if op is VectorOp.DIVIDE else immediate,
        "shift": int(rng.integers(0, 40)),
        "bits": int(rng.integers(0, vector_element_bits(design) + 1)),
        "valid": int(rng.integers(-2, length + 2)), "valid_step": int(rng.integers(2)), **fields})
