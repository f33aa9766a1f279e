"""The table of ResNet-50, and convolutions of topology files."""

import pytest

from cubewave.rtl import Design
from cubewave.sim.network import simulate_network
from cubewave.workloads import Conv2d, WorkloadError
from cubewave.workloads.gemm import RandomGemm
from cubewave.workloads.registry import build
from cubewave.workloads.resnet50 import TABLE, ResNet50
from cubewave.workloads.topology import EXAMPLE, parse_topology

CONV = ("Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, "
        "Num Filter, Strides,\n")


def test_table_is_the_network():
    """53 convolutions, 4.09 G multiply-accumulates, 25.5 M weights with the last product's."""
    assert sum(layer.count for layer in TABLE) == 53
    assert ResNet50().useful_macs == 4_089_184_256
    weights = sum(layer.count * layer.kernel ** 2 * layer.channels * layer.filters
                  for layer in TABLE)
    assert weights + 2048 * 1000 == 25_502_912


@pytest.mark.parametrize("im2col", ["loader", "memory", "matrix"])
def test_same_work_every_way(im2col):
    network = ResNet50(im2col, batch=2)
    assert network.useful_macs == 2 * 4_089_184_256
    result = simulate_network(Design.preset("tpu-v1"), network, level="analytic")
    assert result.useful_macs == network.useful_macs


def test_whole_network_at_level_cycle():
    """As much work, and much less memory traffic, as from matrices in memory."""
    design = Design.preset("ascend-910")
    loader, matrix = (simulate_network(design, ResNet50(way)) for way in ("loader", "matrix"))
    for result in (loader, matrix):
        assert all(check["ok"] for check in result.checks)
    assert loader.bytes_read < 0.5 * matrix.bytes_read
    assert loader.bytes_written == matrix.bytes_written


def test_unknown_way():
    with pytest.raises(WorkloadError, match="^im2col must be one of loader, memory, matrix, not"):
        ResNet50("dma")
    with pytest.raises(WorkloadError, match="^im2col must be one of loader, memory, matrix, not"):
        parse_topology(EXAMPLE, im2col="dma")


@pytest.mark.parametrize("row,output", [
    ("x,224,224,7,7,3,64,2,", (110, 110)),   # a last, partial window counts
    ("x,58,57,3,3,64,64,1,", (56, 55)),
    ("x,10,12,3,5,2,4,3,", (4, 4)),
    ("x,5,5,1,1,1,1,3,", (3, 3)),
    ("x,5,7,5,7,3,2,9,", (1, 1)),
    ("xDP,9,9,3,3,4,2,2,", (4, 4)),
])
@pytest.mark.parametrize("im2col", ["loader", "memory"])
def test_convolution_layers_of_a_file(row, output, im2col):
    (layer,) = parse_topology(CONV + row, 3, im2col).layers()
    (matrix,) = parse_topology(CONV + row, 3).layers()
    assert isinstance(layer.product, Conv2d) and isinstance(matrix.product, RandomGemm)
    assert layer.product.shape.output == output
    assert layer.product.shape.product == matrix.product.shape
    assert layer.useful_macs == matrix.useful_macs
    assert layer.product.describe()["im2col"] == im2col


def test_the_command_line_names_them():
    assert build("topology", {"im2col": "loader"}).describe()["im2col"] == "loader"
    assert build("resnet-50", {"batch": "2"}).describe()["batch"] == 2
    with pytest.raises(WorkloadError, match='^-p im2col=dma: im2col must be "loader" or "memory"'):
        build("resnet-50", {"im2col": "dma"})


@pytest.mark.parametrize("im2col", ["loader", "memory"])
def test_example_on_rtl(im2col):
    result = simulate_network(Design.preset("tiny"), parse_topology(EXAMPLE, 0, im2col),
                              level="rtl")
    assert all(check["ok"] for check in result.checks)
