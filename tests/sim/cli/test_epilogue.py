"""Bias, ReLU and requantisation on the command line."""

import json

import numpy as np
import pytest

ALL = ("-p", "bias=random", "-p", "relu=true", "-p", "requantize=77,13,8")


@pytest.mark.parametrize("workload", [
    ("gemm",), ("q-projection", "-p", "m=3", "-p", "k=5", "-p", "n=6")])
def test_random_products(cubewave, workload):
    result = cubewave("run", *workload, *ALL, "--level", "all", "--json", "-")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    described = report["workload"]
    assert (described["bias"], described["relu"], described["requantize"]) == (
        "random", True, [77, 13, 8])
    assert all(check["ok"] for check in report["checks"])
    rtl, cycle = (next(entry for entry in report["results"] if entry["level"] == level)
                  for level in ("rtl", "cycle"))
    assert rtl["cycles"] == cycle["cycles"]
    assert rtl["output_sha256"] == cycle["output_sha256"]


def test_products_of_files(cubewave, tmp_path):
    for name, values in (("a", [[1, 2]]), ("b", [[3, 4], [5, 6]]), ("bias", [10, -20])):
        np.save(tmp_path / f"{name}.npy", values)
    files = [word for name in ("a", "b", "bias") for word in ("-p", f"{name}={name}.npy")]
    result = cubewave("run", "gemm", *files, "-p", "requantize=1,1,4")
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("options,message", [
    (["requantize=1,2"], "-p requantize=1,2: requantize must be three integers "
                         "MULTIPLIER,SHIFT,BITS, not (1, 2)"),
    (["requantize=1,2,x"], "-p requantize=1,2,x: requantize must be three integers "
                           "MULTIPLIER,SHIFT,BITS, not '1,2,x'"),
    (["requantize=0,2,8"], "-p requantize=0,2,8: requantize multiplier must be an integer from 1 "
                           "to 2147483647, not 0"),
    (["requantize=1,64,8"], "-p requantize=1,64,8: requantize shift must be an integer from 0 to "
                            "63, not 64"),
    (["requantize=1,2,33"], "requantize bits must be from 2 to 32, the accumulator_bits of this "
                            "design, not 33"),
    (["relu=1"], '-p relu=1: relu must be true or false, not "1"'),
    (["relu=true", "store_output=false"],
     "-p relu=true -p store_output=false: relu needs store_output: the vector unit changes "
     "results on their way to memory"),
    (["bias=short.npy"], "-p bias=short.npy: bias must have shape (10,), one element for each "
                         "column of b, not (2,)"),
    (["n=2", "bias=large.npy"], "-p bias=large.npy: bias must be from -2147483648 to 2147483647 "
                                "for this design, but holds 4294967296"),
    (["bias=none.npy"], "-p bias=none.npy: cannot be read: No such file or directory; expected a "
                        ".npy file"),
    (["a=a.npy", "b=a.npy", "bias=random"],
     "-p bias=random -p a=a.npy -p b=a.npy: a random bias needs random operands; give a .npy "
     "file"),
])
def test_refusals(refused, tmp_path, options, message):
    for name, values in (("a", [[1]]), ("short", [1, 2]), ("large", [1, 1 << 32])):
        np.save(tmp_path / f"{name}.npy", values)
    words = [word for option in options for word in ("-p", option)]
    assert refused("run", "gemm", *words) == message
