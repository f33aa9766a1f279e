"""`cubewave flip`, and where limits change."""

import json

import pytest

from cubewave.sim.analytic.flip import find_flips
from cubewave.sim.analytic.model import LIMITED_BY, find, registry


def test_flip_of_the_roofline_is_the_ridge(cubewave):
    result = cubewave("flip", "roofline", "m", "device=rtx4090", "--json")
    flips = json.loads(result.stdout)["flips"]
    assert [(flip["before"], flip["after"], flip["resource_before"], flip["resource_after"])
            for flip in flips] == [(178, 179, "memory", "compute")]
    assert flips[0]["results_after"] == find("roofline")(m=179)
    shown = cubewave("flip", "roofline", "m").stdout
    assert "limited by memory up to m = 178, by compute from m = 179 rows" in shown


@pytest.mark.parametrize("name,parameter,given,before,after", [
    # Slots from which more do not help: lifetime 320 / 128 = 2.5, so 3.
    ("input-slot-bounds", "slots", {}, 2, 3),
    # Requests whose keys and values exceed the weights: 12.53.
    ("step-time", "batch", {}, 12, 13),
    ("rom-weights", "batch", {"rom_gb_per_s": 1000, "hbm_gb_per_s": 1000}, 12, 13),
    # 16 GB/s of 64 bytes in 100 ns.
    ("little", "outstanding", {"bandwidth_gb_per_s": 16, "transaction_bytes": 64,
                               "latency_ns": 100}, 24, 25),
    ("moe-padding", "tokens", None, None, None),
    ("host-transfer", "uses", {}, 31, 32),
    ("fill-drain", "m", {"rows": 100}, 99, 100),
])
def test_flips(name, parameter, given, before, after):
    model = find(name)
    if given is None:
        with pytest.raises(ValueError, match="^moe-padding: has no limiting resource; models "):
            find_flips(model, parameter, {})
        return
    flips = find_flips(model, parameter, given)
    assert [(flip.before, flip.after) for flip in flips] == [(before, after)]


def test_flip_along_a_number_that_is_not_whole():
    flip, = find_flips(find("die-locality"), "link_gb_per_s", {"device": "b200"})
    assert flip.before == pytest.approx(4000) == flip.after
    assert flip.resources == ("link", "memory")


def test_two_flips_between_two_steps_of_the_scan_are_both_found():
    # Matrix 100 / r, memory 1, exponentials 2 of the attention block: never memory.
    flips = find_flips(find("attention-block"), "matrix_rate", {})
    assert [flip.resources for flip in flips] == [("matrix", "exponential")]
    # Keys, from matrix over interface to vector, one of them for few keys only.
    flips = find_flips(find("phases"), "compute_1_us", {"memory_1_us": 5, "memory_2_us": 5,
                                                        "compute_2_us": 1})
    assert [flip.resources for flip in flips] == [("memory", "compute")]


@pytest.mark.parametrize("model", [model for model in registry() if model.has_limit],
                         ids=lambda model: model.name)
def test_both_sides_of_every_flip_differ(model):
    parameter = next(parameter for parameter in model.parameters if not parameter.choices
                     and parameter.name not in ("blocks", "messages", "accesses"))
    for flip in find_flips(model, parameter.name, {}):
        assert flip.results_before[LIMITED_BY] != flip.results_after[LIMITED_BY]
        assert flip.before < flip.after


def test_flip_without_a_change(cubewave):
    result = cubewave("flip", "roofline", "m=1:100")
    assert result.exit_code == 0
    assert "m from 1 to 100: always limited by memory" in result.stdout


@pytest.mark.parametrize("args,message", [
    ((), "Missing argument 'MODEL'."),
    (("roofline",), "flip roofline: the parameter to vary is missing; valid are m, k, n, "),
    (("projection", "m"), "projection: has no limiting resource; models that have one are "),
    (("roofline", "rows"), 'unknown parameter of roofline "rows"'),
    (("roofline", "device"), "device: chooses an entry of a table"),
    (("attention-block", "reads"), "reads: must have a range of numbers, not once or per_block"),
    (("roofline", "m", "m=3"), "m: varies, and cannot have the value 3; limit it as m=LOW:HIGH"),
    (("roofline", "m=3"), "m=3: must be m or m=LOW:HIGH"),
    (("roofline", "m=9:3"), "m: the range must be LOW:HIGH with LOW below HIGH, not 9:3"),
    (("roofline", "m=0:3"), "m must be an integer from 1 to 1073741824 rows, not 0"),
    (("roofline", "m=a:3"), 'm must be an integer from 1 to 1073741824 rows, not "a"'),
])
def test_flip_refuses(refused, args, message):
    assert refused("flip", *args).startswith(message)
