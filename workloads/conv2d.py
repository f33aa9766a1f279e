"""Two-dimensional convolution as a matrix product whose operand is formed from images."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..rtl import Design
from ..rtl.commands import Destination
from ..rtl.formats import IntegerFormat
from .checks import check_integer
from .conv2d_expansion import Expansion
from .conv2d_reference import convolution
from .conv2d_shape import ConvolutionShape, paddings, pair
from .conv2d_windows import ImageLayout, WindowRows
from .epilogue import Epilogue, Requantize, bias_vector, random_bias
from .errors import WorkloadError
from .gemm_builder import GemmBuilder, OperandRows, StoredRows
from .operands import as_array, check_range, integer_matrix, random_matrix, safe_amplitude
from .program import Output, Program
from .tiling import Tiling

__all__ = ["Conv2d", "IM2COL", "RandomConv2d"]

#: Where the im2col matrix is formed: in the loader, or written to memory first.
IM2COL = ("loader", "memory")


@dataclass(frozen=True)
class _Image(Output):
    """A result in memory that is no matrix."""
    shape: tuple[int, ...] = ()

    def decode(self, data: np.ndarray) -> np.ndarray:
        return super().decode(data).reshape(self.shape)


class Conv2d:
    """The convolution of images x with filters w (a cross-correlation, as is usual).

    Parameters
    ----------
    x : array of integers, [height, width, channels] or [batch, height, width, channels]
        With layout "NCHW" [channels, height, width] or [batch, channels, height, width], and so
        in memory. Values must fit the design's activation format.
    w : array of integers, [kernel height, kernel width, channels / groups, filters]
        Values must fit the design's weight format.
    stride, dilation : (int, int) or int
        Of height and width.
    padding : ((top, bottom), (left, right)) or int
    groups : int
        Channels and filters in so many parts, each convolved by itself; channels is depthwise.
    layout : str
        "NHWC" or "NCHW", of x. The result always is [height, width, filters], with the batch
        before if x has one.
    padding_value : int
        What is around an image, an activation: 0, or a zero point.
    im2col : str
        "loader": windows are formed on their way into the operand slots. "memory": the im2col
        matrix is written to memory and read again.
    unsigned : bool
        Activations are unsigned.
    bias, relu, requantize
        As of a product; a bias has an element for each filter. See :class:`Epilogue`.
    m_tile, order, slices_per_slot
        Choices of the :class:`Tiling` of every image's and group's product.

    Raises
    ------
    WorkloadError
        Shapes or values that do not fit, here or when the program for a design is built.
    OperandTypeError
        Elements that are not integers.
    """

    name = "conv2d"

    def __init__(self, x: Any, w: Any, *, stride: Any = (1, 1), padding: Any = ((0, 0), (0, 0)),
                 dilation: Any = (1, 1), groups: int = 1, layout: str = "NHWC",
                 **choices: Any):
        self.x, self._batched = _images(x)
        self.w = _integers("w", w, 4)
        if layout == "NCHW":
            self.x = np.ascontiguousarray(self.x.transpose(0, 2, 3, 1))
        batch, height, width, channels = self.x.shape
        kernel_height, kernel_width, inner, filters = self.w.shape
        groups = check_integer("groups", groups, 1)
        if inner * groups != channels:
            raise WorkloadError(
                f"w must have channels / groups = {channels} / {groups} channels in its third "
                f"dimension, not {inner}: x is {layout}, w [kernel height, kernel width, channels "
                f"/ groups, filters]")
        self._set(ConvolutionShape(batch, height, width, channels, filters,
                                   (kernel_height, kernel_width), stride, padding, dilation,
                                   groups, layout), **choices)

    def _set(self, shape: ConvolutionShape, *, padding_value: int = 0, im2col: str = "loader",
             unsigned: bool = False, bias: Any = None, relu: bool = False, requantize: Any = None,
             m_tile: int | None = None, order: str = "mn",
             slices_per_slot: int | None = None) -> None:
        """The shape and everything else."""
        self.shape = shape
        if im2col not in IM2COL:
            raise WorkloadError(f"im2col must be one of {', '.join(IM2COL)}, not {im2col!r}")
        for name, value in (("unsigned", unsigned), ("relu", relu)):
            if not isinstance(value, bool):
                raise WorkloadError(f"{name} must be true or false, not {value!r}")
        self.padding_value = check_integer("padding_value", padding_value, -(1 << 16), 1 << 16)
        self.im2col, self.unsigned = im2col, unsigned
        self.bias = None if bias is None else self._bias(bias)
        self.relu = relu
        self.requantize = None if requantize is None else Requantize.of(requantize)
        self._choices: dict[str, Any] = {"m_tile": m_tile, "order": order,
                                         "slices_per_slot": slices_per_slot}

    def _bias(self, value: Any) -> Any:
        """The argument, checked."""
        return bias_vector(value, self.shape.filters, "filter")

    @property
    def epilogue(self) -> Epilogue | None:
        """What the vector unit does with the sums, if anything."""
        epilogue = Epilogue(self.bias is not None, self.relu, self.requantize)
        return epilogue if epilogue.names else None

    @property
    def useful_macs(self) -> int:
        """Of all windows, those with padding in full."""
        return self.shape.useful_macs

    def parts(self) -> list["Conv2d"]:
        """The jobs that run one after another: this one."""
        return [self]

    def seeded(self, seed: int) -> "Conv2d":
        """This workload with its random operands, if it has any, drawn with `seed`."""
        check_integer("seed", seed, 0)
        return self

    def describe(self) -> dict[str, Any]:
        """What was run, for reports: JSON-able."""
        described = {"name": self.name, **self.shape.describe(), "im2col": self.im2col,
                     "unsigned": self.unsigned, "padding_value": self.padding_value,
                     **{key: value for key, value in self._choices.items() if value is not None}}
        if self.bias is not None:
            described["bias"] = self.bias if isinstance(self.bias, str) else "given"
        if self.relu:
            described["relu"] = True
        if self.requantize is not None:
            described["requantize"] = list(self.requantize)
        return described

    # -- on a design ---------------------------------------------------------------------------

    def tiling(self, design: Design) -> Tiling:
        """Of every image's and group's product."""
        return Tiling.choose(design, *self.shape.product, **self._choices)

    def tiles(self, design: Design) -> int:
        """Weight tiles of the program."""
        tiling = self.tiling(design)
        return self.shape.products * (len(tiling.m_blocks) * len(tiling.k_tiles)
                                      * len(tiling.n_tiles))

    def image_layout(self, design: Design) -> ImageLayout:
        return ImageLayout(self.shape, design.activation_bytes)

    def line_buffer_bytes(self, design: Design) -> int:
        """Size of a line buffer that holds the image rows of any block of output pixels."""
        shape, tiling = self.shape, self.tiling(design)
        rows = 0
        for block in tiling.m_blocks:
            first, last = (pixel // shape.output[1] * shape.stride[0] - shape.padding[0][0]
                           for pixel in (block.start, block.start + block.size - 1))
            rows = max(rows, min(shape.height, last + shape.reach[0]) - max(0, first))
        return max(0, rows) * shape.width * shape.group_channels * design.activation_bytes

    def check(self, design: Design) -> None:
        """Raise :class:`WorkloadError` unless the convolution fits the design."""
        self.check_operands(design)
        check_range("padding_value", np.array([self.padding_value]),
                    *IntegerFormat.of(design).activation_range(self.unsigned))
        if self.im2col == "memory" and design.activation_bits not in (8, 16):
            raise WorkloadError(f"im2col memory needs activation_bits 8 or 16, whole bytes, not "
                                f"{design.activation_bits}: windows are written element by element")
        if self.epilogue is not None:
            self.epilogue.check(design)
            self.bias_values(design)
        self.tiling(design)

    def check_operands(self, design: Design) -> None:
        """Raise :class:`WorkloadError` unless the operands fit the design's formats."""
        format = IntegerFormat.of(design)
        check_range("x", self.x, *format.activation_range(self.unsigned))
        check_range("w", self.w, *format.weight_range())

    def operands(self, design: Design) -> tuple[np.ndarray, np.ndarray]:
        """x as [batch, height, width, channels], and w."""
        self.check_operands(design)
        return self.x, self.w

    def bias_values(self, design: Design) -> np.ndarray | None:
        """The bias, checked against the design's accumulators; None without one."""
        if self.bias is not None:
            Epilogue.check_bias(design, self.bias)
        return self.bias

    def program(self, design: Design, contents: bool = True) -> Program:
        """The commands for a design and, with `contents`, the operands in memory."""
        self.check(design)
        return _build(self, design, contents)

    def reference(self, design: Design) -> tuple[np.ndarray | None, bool]:
        """The result by numpy and whether an accumulator overflows; see :func:`convolution`."""
        x, w = self.operands(design)
        sums, overflow = convolution(design, self.shape, x, w, self.padding_value,
                                     self.tiling(design).update_tiles)
        if self.epilogue is not None:
            matrix, outside = self.epilogue.apply(
                design, sums.reshape(-1, self.shape.filters), self.bias_values(design))
            sums, overflow = matrix.reshape(sums.shape), overflow or outside
        return (sums if self._batched else sums[0]), overflow

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Of the result."""
        shape = (self.shape.batch, *self.shape.output, self.shape.filters)
        return shape if self._batched else shape[1:]


class RandomConv2d(Conv2d):
    """The convolution of random operands of a given shape.

    Elements are uniform over the operand range of the design, narrowed to what the sums of
    cannot overflow an accumulator; equal seeds give equal operands on equal formats.

    Parameters
    ----------
    height, width, channels, filters : int
    kernel : (int, int) or int
    batch : int
    seed : int
        0 or more.
    bias : "random" also
        Drawn with the same seed, about as large as the sums.
    Others : see :class:`Conv2d`.
    """

    def __init__(self, height: int, width: int, channels: int, filters: int, kernel: Any = 3, *,
                 batch: int = 1, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
                 groups: int = 1, layout: str = "NHWC", seed: int = 0, **choices: Any):
        self._batched = batch != 1
        self.seed = check_integer("seed", seed, 0)
        self._set(ConvolutionShape(batch, height, width, channels, filters, pair("kernel", kernel),
                                   pair("stride", stride), paddings(padding),
                                   pair("dilation", dilation), groups, layout), **choices)

    def _bias(self, value: Any) -> Any:
        return value if isinstance(value, str) and value == "random" else super()._bias(value)

    def bias_values(self, design: Design) -> np.ndarray | None:
        if not isinstance(self.bias, str):
            return super().bias_values(design)
        format, k = IntegerFormat.of(design), self.shape.product[1]
        return random_bias(format, k, self.shape.filters, safe_amplitude(format, k), self.seed)

    def seeded(self, seed: int) -> "RandomConv2d":
        other = copy.copy(self)
        other.seed = check_integer("seed", seed, 0)
        return other

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "seed": self.seed}

    def check_operands(self, design: Design) -> None:
        """Random operands are made to fit."""

    def operands(self, design: Design) -> tuple[np.ndarray, np.ndarray]:
        format, shape = IntegerFormat.of(design), self.shape
        rng = np.random.default_rng(self.seed)
        k = shape.product[1]
        amplitude = safe_amplitude(format, k)
        x = random_matrix(rng, shape.batch * shape.height * shape.width, shape.channels,
                          format.activation_range(self.unsigned), amplitude)
        w = random_matrix(rng, k, shape.filters, format.weight_range(), amplitude)
        return (x.reshape(shape.batch, shape.height, shape.width, shape.channels),
                w.reshape(*shape.kernel, shape.group_channels, shape.filters))


def _integers(name: str, value: Any, dimensions: int) -> np.ndarray:
    """`value` as an int64 array of so many dimensions."""
    array = as_array(name, value)
    if array.ndim != dimensions:
        raise WorkloadError(f"{name} must have {dimensions} dimensions, not {array.ndim}")
    if not array.size:
        raise WorkloadError(f"{name} must have at least 1 element, not shape {array.shape}")
    return integer_matrix(name, array.reshape(1, -1)).reshape(array.shape)


def _images(value: Any) -> tuple[np.ndarray, bool]:
    """Images as an array of four dimensions, and whether there was a batch."""
    dimensions = as_array("x", value).ndim
    if dimensions not in (3, 4):
        raise WorkloadError(f"x must have 3 dimensions, or 4 with a batch, not {dimensions}")
    array = _integers("x", value, dimensions)
    return (array, True) if dimensions == 4 else (array[np.newaxis], False)


# -- programs ----------------------------------------------------------------------------------

def _build(work: Conv2d, design: Design, contents: bool) -> Program:
    """One product for each image and group, into one result."""
    shape, tiling = work.shape, work.tiling(design)
    builder = GemmBuilder(design)
    program, epilogue = builder.program, work.epilogue
    x, w = work.operands(design) if contents else (None, None)
    bias = work.bias_values(design) if contents else None
    size = design.result_element_bytes if epilogue is None else epilogue.element_bytes(design)
    sources = list(_sources(work, design, builder, x))
    m, _k, n = shape.product
    result = program.place(shape.products * m * n * size)
    program.outputs.append(_Image(result, shape.batch * m, shape.filters, size,
                                  work.output_shape))
    for number, rows in enumerate(sources):
        image, group = divmod(number, shape.groups)
        columns = slice(group * n, (group + 1) * n)
        weights = None if w is None else w[..., columns].reshape(-1, n)
        builder.add(
            tiling, None if weights is None else (None, weights), unsigned=work.unsigned,
            resident=False, store=True, accumulate=False, epilogue=epilogue,
            bias=None if bias is None else bias[columns], rows=rows,
            result=(result + (image * m * shape.filters + group * n) * size,
                    shape.filters * size))
    return builder.finish()


def _sources(work: Conv2d, design: Design, builder: GemmBuilder,
             x: np.ndarray | None) -> Iterator[OperandRows]:
    """The im2col matrices, in the order of their products."""
    shape, layout, program = work.shape, work.image_layout(design), builder.program
    base = program.place(layout.nbytes)
    if x is not None:
        program.put(base, _bytes(x, shape.layout, layout.element_bytes))
    windows = [WindowRows(design, layout, base + layout.base(image, group))
               for image in range(shape.batch) for group in range(shape.groups)]
    if work.im2col == "loader":
        builder.load_first(windows[0].registers(Destination.OPERAND, work.padding_value))
        yield from windows
        return
    expansion = Expansion(design)
    m, k, _n = shape.product
    for rows in windows:
        matrix = program.place(m * k * layout.element_bytes)
        yield StoredRows(matrix, expansion.add(rows, matrix, m, k), design.activation_bits)
    expansion.finish()
    builder.load_first(windows[0].registers(Destination.VECTOR, work.padding_value))
    builder.load_first(expansion.loads)
    program.vectors.extend(expansion.vectors)
    program.stores.extend(expansion.stores)


def _bytes(x: np.ndarray, layout: str, element_bytes: int) -> np.ndarray:
    """Images as bytes in memory."""
    if layout == "NCHW":
        x = x.transpose(0, 3, 1, 2)
    return np.ascontiguousarray(x).astype(f"<i{element_bytes}").view(np.uint8).reshape(-1)
