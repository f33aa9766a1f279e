"""Shapes of two-dimensional convolutions."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .checks import check_integer
from .errors import WorkloadError

__all__ = ["LAYOUTS", "ConvolutionShape", "pair", "paddings"]

LAYOUTS = ("NHWC", "NCHW")
LARGEST_SIDE = (1 << 16) - 1   # of an image, of what is padded to it, of channels
SIDES = ("height", "width")


def pair(name: str, value: Any) -> tuple[int, int]:
    """Two numbers of 1 or more, for height and width; one number stands for both."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        if len(value) != 2:
            raise WorkloadError(f"{name} must be one integer or two, for height and width, not "
                                f"{len(value)}")
        return (check_integer(f"{name} {SIDES[0]}", value[0], 1, LARGEST_SIDE),
                check_integer(f"{name} {SIDES[1]}", value[1], 1, LARGEST_SIDE))
    number = check_integer(name, value, 1, LARGEST_SIDE)
    return number, number


def paddings(value: Any) -> tuple[tuple[int, int], tuple[int, int]]:
    """Padding ((top, bottom), (left, right)); one number stands for all four."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        number = check_integer("padding", value, 0, LARGEST_SIDE)
        return (number, number), (number, number)
    if len(value) != 2 or any(not isinstance(side, Sequence) or isinstance(side, str)
                              or len(side) != 2 for side in value):
        raise WorkloadError(f"padding must be ((top, bottom), (left, right)), not {value!r}")
    (top, bottom), (left, right) = value
    names = iter(("top", "bottom", "left", "right"))
    top, bottom, left, right = (check_integer(f"padding {next(names)}", side, 0, LARGEST_SIDE)
                                for side in (top, bottom, left, right))
    return (top, bottom), (left, right)


@dataclass(frozen=True)
class ConvolutionShape:
    """A convolution of images with filters: sizes, and the product that it is.

    The windows of an output pixel, K elements each in the order (kernel row, kernel column,
    channel), times the weights [K, N] are its N channels. Each image and each group is a product
    of its own.

    Parameters
    ----------
    batch, height, width, channels : int
        Images, pixels and channels of the input.
    filters : int
        Channels of the output.
    kernel, stride, dilation : (int, int)
        Height and width of the kernel in taps; input pixels from an output pixel to the next, and
        from a tap to the next.
    padding : ((int, int), (int, int))
        Pixels around an image: top and bottom, left and right.
    groups : int
        Parts of the input's and of the output's channels that belong together.
    layout : str
        Of the input: "NHWC" or "NCHW".

    Raises
    ------
    WorkloadError
        A shape that gives no output; the message names the field.
    """
    batch: int
    height: int
    width: int
    channels: int
    filters: int
    kernel: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    padding: tuple[tuple[int, int], tuple[int, int]] = ((0, 0), (0, 0))
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1
    layout: str = "NHWC"

    def __post_init__(self) -> None:
        for name in ("batch", "height", "width", "channels", "filters", "groups"):
            check_integer(name, getattr(self, name), 1, LARGEST_SIDE)
        for name in ("kernel", "stride", "dilation"):
            object.__setattr__(self, name, pair(name, getattr(self, name)))
        object.__setattr__(self, "padding", paddings(self.padding))
        if self.layout not in LAYOUTS:
            raise WorkloadError(f"layout must be NHWC or NCHW, not {self.layout!r}")
        for name in ("channels", "filters"):
            if getattr(self, name) % self.groups:
                raise WorkloadError(f"groups must divide {name} = {getattr(self, name)}, not "
                                    f"{self.groups}")
        for side, size, reach, padding in zip(SIDES, (self.height, self.width), self.reach,
                                              self.padding):
            if reach > size + sum(padding):
                raise WorkloadError(
                    f"kernel {side} must be at most the padded input's {size + sum(padding)}, "
                    f"not {reach} (with dilation): there is no output")

    @property
    def reach(self) -> tuple[int, int]:
        """Pixels from the first tap to the last, both included, down and right."""
        down, right = ((taps - 1) * step + 1 for taps, step in zip(self.kernel, self.dilation))
        return down, right

    @cached_property
    def output(self) -> tuple[int, int]:
        """Height and width of the output."""
        height, width = (
            (size + sum(padding) - reach) // step + 1
            for size, padding, reach, step in zip((self.height, self.width), self.padding,
                                                  self.reach, self.stride))
        return height, width

    @property
    def group_channels(self) -> int:
        """Input channels of a group."""
        return self.channels // self.groups

    @property
    def products(self) -> int:
        return self.batch * self.groups

    @cached_property
    def product(self) -> tuple[int, int, int]:
        """M, K, N of the product of one image and group."""
        return (self.output[0] * self.output[1],
                self.kernel[0] * self.kernel[1] * self.group_channels,
                self.filters // self.groups)

    @property
    def useful_macs(self) -> int:
        m, k, n = self.product
        return self.products * m * k * n

    @property
    def input_elements(self) -> int:
        return self.batch * self.height * self.width * self.channels

    @property
    def expanded_elements(self) -> int:
        """Elements of the im2col matrices."""
        m, k, _n = self.product
        return self.products * m * k

    def describe(self) -> dict[str, Any]:
        """The shape for reports: JSON-able."""
        return {"batch": self.batch, "height": self.height, "width": self.width,
                "channels": self.channels, "filters": self.filters, "kernel": list(self.kernel),
                "stride": list(self.stride), "padding": [list(side) for side in self.padding],
                "dilation": list(self.dilation), "groups": self.groups, "layout": self.layout}
