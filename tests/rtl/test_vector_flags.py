"""The flags of the vector slots against sets."""

import random

import pytest
from harness import lockstep

from cubewave.rtl import Design
from cubewave.rtl.vector_commands import vector_slots
from cubewave.rtl.vector_flags import VectorFlags, flag_events

FLAGS = {"taken": ("take", "release"), "filled": ("filled", "wait"), "results": ("done", "use")}


def test_events():
    assert flag_events() == {
        "take": ["array_take", "handoff_take", "load_take"],
        "release": ["array_release", "store_release"],
        "filled": ["handoff_filled", "load_filled"], "wait": [], "done": [],
        "use": ["handoff_use", "store_use"]}
    assert flag_events(2)["release"][2:] == [
        "engine_0_a_release", "engine_0_b_release", "engine_1_a_release", "engine_1_b_release"]
    assert flag_events(2)["done"] == ["engine_0_done", "engine_1_done"]
    assert flag_events(1)["wait"] == ["head_a_wait", "head_b_wait"]


@pytest.mark.parametrize("engines", [1, 2])
@pytest.mark.parametrize("handoff_slots", [1, 2])  # 5 slots, 8 slots
def test_any_events(handoff_slots, engines):
    design, rng = Design(handoff_slots=handoff_slots), random.Random(engines)
    slots, events = range(vector_slots(design)), flag_events(engines)
    flags, steps, expected = {name: set() for name in FLAGS}, [], []
    for _cycle in range(300):
        expected.append({name: sum(1 << slot for slot in slots_)
                         for name, slots_ in flags.items()})
        step = {}
        for names in events.values():
            for name in names:
                step |= {name: int(rng.random() < 0.3), f"{name}_slot": rng.choice(slots)}
        for flag, (on, off) in FLAGS.items():
            flags[flag] -= {step[f"{name}_slot"] for name in events[off] if step[name]}
            flags[flag] |= {step[f"{name}_slot"] for name in events[on] if step[name]}
        steps.append(step)
    assert lockstep(VectorFlags(design=design, engines=engines), steps, list(FLAGS)) == expected
