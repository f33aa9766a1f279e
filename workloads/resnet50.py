"""The convolutions of ResNet-50 and its last product, each with ReLU where the network has it."""

from dataclasses import dataclass
from typing import Any

from .checks import check_integer
from .conv2d import RandomConv2d
from .errors import WorkloadError
from .gemm import RandomGemm
from .network import Layer, Network

__all__ = ["IM2COL_LAYERS", "STAGES", "TABLE", "Convolution", "ResNet50", "convolution_layer"]

#: Where a layer's im2col matrix is formed; "matrix": it is in memory from the start, as a product.
IM2COL_LAYERS = ("loader", "memory", "matrix")


@dataclass(frozen=True)
class Convolution:
    """A layer: its square input and kernel, channels, filters, and whether ReLU follows.

    A convolution before a shortcut is added has none of its own: addition and ReLU after it, batch
    normalisation (part of weights and bias at inference) and pooling are not part of the table.
    """
    name: str
    size: int
    channels: int
    filters: int
    kernel: int
    stride: int = 1
    relu: bool = True
    count: int = 1

    @property
    def padding(self) -> int:
        return self.kernel // 2


#: Blocks of a stage, size of its input, its inner channels, stride of its first block.
STAGES = ((3, 56, 64, 1), (4, 56, 128, 2), (6, 28, 256, 2), (3, 14, 512, 2))


def _table() -> list[Convolution]:
    layers = [Convolution("conv1", 224, 3, 64, 7, 2)]
    channels = 64
    for stage, (blocks, size, inner, stride) in enumerate(STAGES, 2):
        outer, after = 4 * inner, size // stride
        name = f"conv{stage}"
        layers += [
            Convolution(f"{name}_1 reduce", size, channels, inner, 1),
            Convolution(f"{name}_1 3x3", size, inner, inner, 3, stride),
            Convolution(f"{name}_1 expand", after, inner, outer, 1, relu=False),
            Convolution(f"{name}_1 shortcut", size, channels, outer, 1, stride, relu=False),
            Convolution(f"{name}_x reduce", after, outer, inner, 1, count=blocks - 1),
            Convolution(f"{name}_x 3x3", after, inner, inner, 3, count=blocks - 1),
            Convolution(f"{name}_x expand", after, inner, outer, 1, relu=False,
                        count=blocks - 1),
        ]
        channels = outer
    return layers


#: The 53 convolutions of the network whose 3x3 convolutions have the strides (version 1.5).
TABLE = tuple(_table())


def convolution_layer(name: str, shape: dict[str, Any], *, im2col: str, seed: int, count: int = 1,
                      relu: bool = False) -> Layer:
    """A layer of a network; with im2col "matrix" as products of one group each."""
    work = RandomConv2d(**shape, relu=relu, seed=seed,
                        im2col="loader" if im2col == "matrix" else im2col)
    if im2col != "matrix":
        return Layer(name, work, count)
    return Layer(name, RandomGemm(*work.shape.product, seed, relu=relu),
                 count * work.shape.products)


class ResNet50(Network):
    """ResNet-50 at 224x224 pixels, layer by layer.

    Parameters
    ----------
    im2col : str
        One of :data:`IM2COL_LAYERS`.
    batch, seed : int
    """

    def __init__(self, im2col: str = "loader", batch: int = 1, seed: int = 0):
        if im2col not in IM2COL_LAYERS:
            raise WorkloadError(f"im2col must be one of {', '.join(IM2COL_LAYERS)}, not "
                                f"{im2col!r}")
        check_integer("batch", batch, 1, 1 << 16)
        layers = [convolution_layer(
            layer.name, {"height": layer.size, "width": layer.size, "channels": layer.channels,
                         "filters": layer.filters, "kernel": layer.kernel, "stride": layer.stride,
                         "padding": layer.padding, "batch": batch},
            im2col=im2col, seed=seed, count=layer.count, relu=layer.relu) for layer in TABLE]
        layers.append(Layer("fc", RandomGemm(batch, 2048, 1000, seed)))
        super().__init__("resnet-50", layers, {"im2col": im2col, "batch": batch, "seed": seed},
                         ["pooling and the additions of shortcuts are not part of the layers; "
                          "batch normalisation is part of weights and bias"])
