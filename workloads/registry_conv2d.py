"""The entry of the registry for convolutions."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..rtl.design_fields import ChoiceField, FieldSpec, FlagField, IntegerField
from .conv2d import IM2COL, Conv2d, RandomConv2d
from .conv2d_shape import LARGEST_SIDE, LAYOUTS
from .errors import WorkloadError
from .files import read_npy
from .parameters import (
    LARGEST,
    BiasFile,
    Parameter,
    RequantizeField,
    WorkloadSpec,
    integer,
    option_text,
)
from .tiling import ORDERS

__all__ = ["CONV2D"]

NUMBERS = re.compile(r"[0-9]{1,9}(,[0-9]{1,9})*", re.ASCII)


@dataclass(frozen=True)
class NumbersField(FieldSpec):
    """One integer, or as many with commas between them as there are names."""
    names: tuple[str, ...]
    low: int = 1

    @property
    def range(self) -> str:
        return f"N or {','.join(self.names)} from {self.low}"

    def parse(self, text: str) -> Any:
        if not NUMBERS.fullmatch(text):
            return text
        values = tuple(map(int, text.split(",")))
        return values * len(self.names) if len(values) == 1 else values

    def check(self, value: Any) -> tuple[int, ...]:
        if (isinstance(value, tuple) and len(value) == len(self.names)
                and all(self.low <= number <= LARGEST_SIDE for number in value)):
            return value
        raise self.refuse(f"{self.range} to {LARGEST_SIDE}", value if isinstance(value, str)
                          else ",".join(map(str, value)))


@dataclass(frozen=True)
class ArrayFile(FieldSpec):
    """Any array in a .npy file; the workload checks it."""

    @property
    def range(self) -> str:
        return "a .npy file"

    def check(self, value: Any) -> np.ndarray:
        return read_npy(value)


SIZES = ("batch", "height", "width", "channels", "filters", "kernel")


def _conv2d(options: Mapping[str, str], values: dict[str, Any], seed: int | None) -> Conv2d:
    top, bottom, left, right = values["padding"]
    values["padding"] = ((top, bottom), (left, right))
    files = [name for name in ("x", "w") if name in options]
    try:
        if not files:
            return RandomConv2d(**values, seed=seed or 0)
        for name in SIZES:
            if name in options:
                raise WorkloadError(f"{name} comes from the files of x and w; leave it out")
            del values[name]
        if len(files) == 1:
            missing = "w" if files == ["x"] else "x"
            raise WorkloadError(f"needs {missing} too, -p {missing}=FILE.npy")
        if seed is not None:
            raise WorkloadError("files leave nothing random; leave --seed out")
        if options.get("bias") == "random":
            raise WorkloadError("a random bias needs random operands; give a .npy file")
        return Conv2d(**values)
    except WorkloadError as error:
        raise type(error)(f"{option_text(options, options) or 'conv2d'}: {error}") from None


CONV2D = WorkloadSpec(
    "conv2d", "two-dimensional convolution of random images that cannot overflow, or of two files",
    (integer("height", "pixels", "of an image", 10, high=LARGEST_SIDE),
     integer("width", "pixels", "of an image", 12, high=LARGEST_SIDE),
     integer("channels", "channels", "of the input", 4, high=LARGEST_SIDE),
     integer("filters", "channels", "of the output", 8, high=LARGEST_SIDE),
     Parameter(NumbersField("kernel", "taps", "height and width of the kernel",
                            ("HEIGHT", "WIDTH")), (3, 3)),
     integer("batch", "images", "images at a time", 1, high=LARGEST_SIDE),
     *(Parameter(ArrayFile(name, "", text), None, "random") for name, text in (
         ("x", "images [height, width, channels], or with a batch before, with w"),
         ("w", "weights [kernel height, kernel width, channels / groups, filters]"))),
     Parameter(NumbersField("stride", "pixels", "from an output pixel to the next",
                            ("DOWN", "RIGHT")), (1, 1)),
     Parameter(NumbersField("padding", "pixels", "around an image",
                            ("TOP", "BOTTOM", "LEFT", "RIGHT"), 0), (0, 0, 0, 0)),
     Parameter(NumbersField("dilation", "pixels", "from a tap to the next",
                            ("DOWN", "RIGHT")), (1, 1)),
     integer("groups", "groups", "parts of channels and filters; channels is depthwise", 1,
             high=LARGEST_SIDE),
     Parameter(ChoiceField("layout", "", "of the images, in files and in memory", LAYOUTS),
               LAYOUTS[0]),
     Parameter(IntegerField("padding_value", "", "what is around an image, such as a zero point",
                            -(1 << 15), (1 << 16) - 1), 0),
     Parameter(ChoiceField("im2col", "", "where windows are formed: on their way into the array's "
                           "slots, or as a matrix in memory", IM2COL), IM2COL[0]),
     Parameter(FlagField("unsigned", "", "elements of the images are unsigned"), False),
     Parameter(BiasFile("bias", "", "vector of filters elements; random with random operands"),
               None, "none"),
     Parameter(FlagField("relu", "", "negative results become 0, after the bias"), False),
     Parameter(RequantizeField("requantize", "", "results times multiplier / 2**shift, rounded "
                               "half up, saturated to so many bits"), None, "none"),
     Parameter(IntegerField("m_tile", "pixels", "output pixels whose sums share a bank; at most "
                            "accumulator_rows", 1, LARGEST), None, "most"),
     Parameter(ChoiceField("order", "", "loops over output tiles, outer first", ORDERS),
               ORDERS[0]),
     Parameter(IntegerField("slices_per_slot", "slices", "parts of the windows that share a slot; "
                            "at most as many as fit", 1, LARGEST), None, "even")),
    _conv2d)
