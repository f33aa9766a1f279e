"""Attention on the command line: all levels, files, bad input."""

import json

import numpy as np
import pytest

SMALL = ("-p", "rows=4", "-p", "keys=6", "-p", "head_dim=4")


def saved(folder, **arrays):
    """Options that name the arrays' files."""
    words = []
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
        words += ["-p", f"{name}={name}.npy"]
    return words


def report_of(result):
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["checks"] and all(check["ok"] for check in report["checks"])
    return report


@pytest.mark.parametrize("options", [
    (), ("-p", "causal=true", "-p", "block_keys=2"), ("-p", "heads=2", "-p", "kv_heads=1"),
    ("-p", "resident=true", "-p", "rows_per_group=2"), ("-p", "store_output=false",)])
def test_all_levels(cubewave, options):
    report = report_of(cubewave("run", "attention", *SMALL, *options, "--level", "all", "--json",
                                "-"))
    assert report["workload"]["name"] == "attention"
    by_level = {entry["level"]: entry for entry in report["results"]}
    rtl, cycle, analytic = (by_level[level] for level in ("rtl", "cycle", "analytic"))
    for name in ("cycles", "counters", "units", "output_sha256", "accuracy", "output_scale"):
        assert rtl[name] == cycle[name]
    assert rtl["useful_macs"] == analytic["useful_macs"]
    assert analytic["cycles"] + sum(rtl["items"].values()) == rtl["cycles"]
    assert rtl["units"].keys() >= {"vector", "handoff"}
    assert bool(rtl["accuracy"]) == ("store_output=false" not in options)


def test_a_report_for_people(cubewave):
    result = cubewave("run", "attention", *SMALL, "--level", "cycle")
    assert result.exit_code == 0, result.output
    assert "vector" in result.stdout and "handoff" in result.stdout


def test_timing_ideal(cubewave):
    report = report_of(cubewave("run", "attention", *SMALL, "--level", "cycle", "--timing",
                                "ideal", "--json", "-"))
    assert report["results"][0]["timing"] == "ideal"


@pytest.mark.parametrize("kind", [np.int8, np.float32])
def test_operands_of_files(cubewave, tmp_path, kind):
    rng = np.random.default_rng(1)
    q, k, v = ((rng.standard_normal((rows, 4)) * 20).astype(kind) for rows in (3, 5, 5))
    mask = rng.random((3, 5)) < 0.7
    words = saved(tmp_path, q=q, k=k, v=v, mask=mask)
    report = report_of(cubewave("run", "attention", *words, "--level", "all", "--json", "-"))
    described = report["workload"]
    assert (described["rows"], described["keys"], described["head_dim"]) == (3, 5, 4)
    assert described["masked"] and "seed" not in described
    assert report["results"][0]["accuracy"]["max_error"] < 0.05


@pytest.mark.parametrize("options,message", [
    (["rows=0"], "-p rows=0: rows must be an integer from 1 to 1048576 rows, not 0"),
    (["causal=yes"], '-p causal=yes: causal must be true or false, not "yes"'),
    (["scale=0"], "-p scale=0: scale must be a number above 0, not 0.0"),
    (["scale=x"], '-p scale=x: scale must be a number above 0, not "x"'),
    (["heads=3", "kv_heads=2"],
     "-p heads=3 -p kv_heads=2: heads must be a multiple of kv_heads = 2, not 3"),
    (["rows_per_group=17"], "rows_per_group must be from 1 to 16 rows on this design, not 17"),
    (["q=q.npy", "rows=2"], "-p q=q.npy -p rows=2: rows comes from the files of q, k and v; leave "
                            "it out"),
    (["q=q.npy", "v=q.npy"], "-p q=q.npy -p v=q.npy: needs k too, -p k=FILE.npy"),
    (["q=q.npy", "k=q.npy", "v=short.npy"],
     "-p q=q.npy -p k=q.npy -p v=short.npy: v must have as many rows as k (2), not 1"),
    (["q=q.npy", "k=q.npy", "v=none.npy"],
     "-p v=none.npy: cannot be read: No such file or directory; expected a .npy file"),
    (["q=nan.npy", "k=q.npy", "v=q.npy"],
     "-p q=nan.npy -p k=q.npy -p v=q.npy: q must hold finite numbers"),
    (["q=large.npy", "k=q.npy", "v=q.npy"],
     "-p q=large.npy -p k=q.npy -p v=q.npy: q must be from -128 to 127 for this design, but "
     "holds 128"),
    (["mask=q.npy"], "-p mask=q.npy: mask must be an array of bool of 16 rows and 32 keys, not "
                     "int64 of shape (2, 2)"),
])
def test_refusals(refused, tmp_path, options, message):
    saved(tmp_path, q=np.ones((2, 2), np.int64), short=np.ones((1, 2), np.int64),
          nan=np.full((2, 2), np.nan), large=np.full((2, 2), 128))
    words = [word for option in options for word in ("-p", option)]
    assert refused("run", "attention", *words) == message


def test_refusals_of_other_options(refused, tmp_path):
    words = saved(tmp_path, **{name: np.ones((2, 2), np.int64) for name in "qkv"})
    assert refused("run", "attention", *words, "--seed", "3").endswith(
        ": files leave nothing random; leave --seed out")
    assert refused("run", "attention", "-s", "dataflow=output_stationary").startswith(
        'attention needs dataflow "weight_stationary": ')
    assert refused("run", "attention", "-s", "input_slots=1").startswith(
        "attention needs input_slots of at least 2")
