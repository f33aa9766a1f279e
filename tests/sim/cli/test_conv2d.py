"""`cubewave run conv2d`."""

import json

import numpy as np
import pytest


def results(cubewave, *arguments):
    result = cubewave("run", "conv2d", *arguments, "--json", "-")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_every_level(cubewave):
    document = results(cubewave, "--level", "all", "-p", "padding=1", "-p", "stride=2,1")
    assert [entry["level"] for entry in document["results"]] == ["rtl", "cycle", "analytic"]
    assert document["workload"]["padding"] == [[1, 1], [1, 1]]
    assert document["workload"]["stride"] == [2, 1]
    rtl, cycle, analytic = document["results"]
    assert rtl["output_sha256"] == cycle["output_sha256"]
    assert rtl["counters"] == cycle["counters"]
    assert analytic["counters"]["window_bytes"] == rtl["counters"]["window_bytes"] > 0


def test_defaults_are_what_the_listing_says(cubewave):
    workload = results(cubewave, "--level", "analytic")["workload"]
    assert [workload[name] for name in ("kernel", "stride", "dilation")] == [[3, 3], [1, 1], [1, 1]]


def test_files(cubewave, tmp_path):
    rng = np.random.default_rng(0)
    for name, shape in (("x", (2, 3, 5, 6)), ("w", (3, 2, 3, 4)), ("bias", (4,))):
        np.save(tmp_path / f"{name}.npy", rng.integers(-9, 9, shape))
    files = [f"-p{name}={tmp_path / name}.npy" for name in ("x", "w", "bias")]
    workload = results(cubewave, *files, "-playout=NCHW", "-pim2col=memory")["workload"]
    assert (workload["batch"], workload["channels"], workload["height"], workload["width"],
            workload["filters"], workload["kernel"]) == (2, 3, 5, 6, 4, [3, 2])


@pytest.mark.parametrize("options,message", [
    (["kernel=3,3,3"], "-p kernel=3,3,3: kernel must be N or HEIGHT,WIDTH from 1 to 65535, "
     "not"),
    (["padding=1,2"], "-p padding=1,2: padding must be N or TOP,BOTTOM,LEFT,RIGHT from 0 to "
     "65535, not"),
    (["stride=65536"], "-p stride=65536: stride must be N or DOWN,RIGHT from 1 to 65535, not"),
    (["requantize=-3,0,8"], "-p requantize=-3,0,8: requantize multiplier must be an integer from 1 "
     "to 2147483647, not -3"),
    (["requantize=99999999999,0,8"], "requantize multiplier must be an integer from 1 to "
     "2147483647, not 99999999999"),
    (["stride=x"], '-p stride=x: stride must be N or DOWN,RIGHT from 1 to 65535, not "x"'),
    (["kernel=11"], "-p kernel=11: kernel height must be at most the padded input's 10, not 11"),
    (["groups=3"], "-p groups=3: groups must divide channels = 4, not 3"),
    (["height=0"], "-p height=0: height must be an integer from 1 to 65535 pixels, not 0"),
    (["layout=CHW"], '-p layout=CHW: layout must be "NHWC" or "NCHW"'),
    (["im2col=dma"], '-p im2col=dma: im2col must be "loader" or "memory"'),
    (["x=missing.npy"], "-p x=missing.npy: cannot be read"),
])
def test_refusals(cubewave, options, message):
    result = cubewave("run", "conv2d", *(f"-p{option}" for option in options))
    assert result.exit_code == 2
    assert message in result.stderr and result.stderr.count("\n") == 1
    assert not result.stdout


def test_one_file_needs_the_other(cubewave, tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.ones((4, 4, 1), np.int64))
    result = cubewave("run", "conv2d", f"-px={path}")
    assert "needs w too, -p w=FILE.npy" in result.stderr
    result = cubewave("run", "conv2d", f"-px={path}", f"-pw={path}", "-pheight=3")
    assert "height comes from the files of x and w; leave it out" in result.stderr
