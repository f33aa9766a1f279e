"""Loads of convolution windows: what they say, and what they read from memory."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..rtl import Design
from ..rtl.commands import ADDRESS_BITS, Destination, Load, WindowRegister
from .conv2d_shape import ConvolutionShape
from .tiling import Slice, Tile, Tiling

__all__ = ["ImageLayout", "LineBuffer", "WindowRows", "reads_of"]


@dataclass(frozen=True)
class ImageLayout:
    """Where the elements of a batch of images lie in memory.

    Attributes
    ----------
    shape : ConvolutionShape
    element_bytes : int
    """
    shape: ConvolutionShape
    element_bytes: int

    @property
    def nbytes(self) -> int:
        return self.shape.input_elements * self.element_bytes

    @property
    def _channels_last(self) -> bool:
        return self.shape.layout == "NHWC"

    @property
    def channel_pitch(self) -> int:
        pixels = self.shape.height * self.shape.width
        return self.element_bytes * (1 if self._channels_last else pixels)

    @property
    def pixel_pitch(self) -> int:
        return self.element_bytes * (self.shape.channels if self._channels_last else 1)

    @property
    def row_pitch(self) -> int:
        return self.shape.width * self.pixel_pitch

    def base(self, image: int, group: int) -> int:
        """Address of the first element of a group's channels, from that of the batch."""
        shape = self.shape
        return (image * shape.height * shape.width * shape.channels * self.element_bytes
                + group * shape.group_channels * self.channel_pitch)


class LineBuffer:
    """Which bytes of an image windows read from memory, load by load.

    The buffer holds the image rows that the windows of the present rows of the im2col matrix
    need, so that where windows overlap, in one load or in several, memory is read once. Rows
    above are dropped; going back to earlier windows starts anew.

    Parameters
    ----------
    shape : ConvolutionShape
    element_bytes : int
    on : bool
        False: there is no buffer, and every window reads all of its pixels.
    """

    def __init__(self, shape: ConvolutionShape, element_bytes: int, on: bool):
        self._shape, self._element_bytes, self._on = shape, element_bytes, on
        self._held = np.zeros((shape.height, shape.width, shape.group_channels) if on else 0, bool)
        self._first_row = 0

    def read(self, block: Tile, pixels: Tile, elements: Tile) -> int:
        """Bytes that are read for some elements of the windows of some output pixels.

        `block` are the output pixels whose windows are being read at present.
        """
        shape, total = self._shape, 0
        if self._on:
            self._drop(block.start)
        rows, columns = np.divmod(np.arange(pixels.start, pixels.start + pixels.size),
                                  shape.output[1])
        channels = shape.group_channels
        for tap in range(elements.start // channels,
                         (elements.start + elements.size - 1) // channels + 1):
            down, right = divmod(tap, shape.kernel[1])
            y = rows * shape.stride[0] - shape.padding[0][0] + down * shape.dilation[0]
            x = columns * shape.stride[1] - shape.padding[1][0] + right * shape.dilation[1]
            real = (y >= 0) & (y < shape.height) & (x >= 0) & (x < shape.width)
            first = max(elements.start - tap * channels, 0)
            last = min(elements.start + elements.size - tap * channels, channels)
            total += self._touch(y[real], x[real], first, last)
        return total * self._element_bytes

    def _drop(self, first_pixel: int) -> None:
        """Keep the rows from those of a window on."""
        shape = self._shape
        row = max(0, first_pixel // shape.output[1] * shape.stride[0] - shape.padding[0][0])
        if row < self._first_row:
            self._held[:] = False
        self._held[self._first_row:row] = False
        self._first_row = row

    def _touch(self, y: np.ndarray, x: np.ndarray, first: int, last: int) -> int:
        """Elements of pixels that come from memory; one tap reads no pixel twice."""
        if not self._on:
            return len(y) * (last - first)
        count = len(y) * (last - first) - int(self._held[y, x, first:last].sum())
        self._held[y, x, first:last] = True
        return count


class WindowRows:
    """The im2col matrix of one image and group, formed while it is loaded.

    Parameters
    ----------
    design : Design
    layout : ImageLayout
    base : int
        Address of the first element of the group's channels of the image.
    """

    def __init__(self, design: Design, layout: ImageLayout, base: int):
        self._layout, self._base, self._shape = layout, base, layout.shape
        self._transposed = design.dataflow == "output_stationary"
        self._buffer = LineBuffer(layout.shape, layout.element_bytes, design.im2col_line_buffer)
        self._whole_taps = layout.channel_pitch == layout.element_bytes and not self._transposed

    def load(self, tiling: Tiling, part: Slice) -> Load:
        """The load of a slice of the matrix, or of its transpose, into an operand slot."""
        other = tiling.operand_columns[part.column]
        pixels, elements = (other, part.rows) if self._transposed else (part.rows, other)
        block = tiling.m_blocks[pixels.start // tiling.m_tile]
        return self.part(Destination.OPERAND, block, pixels, elements)

    def part(self, destination: Destination, block: Tile, pixels: Tile,
             elements: Tile) -> Load:
        """The load of some elements of the windows of some output pixels."""
        shape, layout = self._shape, self._layout
        row, column = divmod(pixels.start, shape.output[1])
        tap, channel = divmod(elements.start, shape.group_channels)
        down, right = divmod(tap, shape.kernel[1])
        y = row * shape.stride[0] - shape.padding[0][0] + down * shape.dilation[0]
        x = column * shape.stride[1] - shape.padding[1][0] + right * shape.dilation[1]
        base = self._base + y * layout.row_pitch + x * layout.pixel_pitch
        run = skip = 0
        if self._whole_taps:
            skip = channel * layout.element_bytes
            last = (elements.start + elements.size - 1) // shape.group_channels
            segments = last - tap + 1
        else:
            run, segments = channel, elements.size
            base += channel * layout.channel_pitch
        rows, length = pixels.size, elements.size
        if self._transposed:
            rows, length = length, rows
            segments = pixels.size
        return Load(destination, base % (1 << ADDRESS_BITS), rows, length * layout.element_bytes,
                    0, window=1, bytes=self._buffer.read(block, pixels, elements),
                    segments=segments, y=y, x=x, column=column, tap=right, run=run, skip=skip)

    def registers(self, destination: Destination, padding: int) -> Iterator[Load]:
        """Loads that set the geometry, the same for every image and group."""
        shape, layout = self._shape, self._layout
        whole = self._whole_taps
        columns, taps = shape.output[1] - 1, shape.kernel[1] - 1
        runs = 0 if whole else shape.group_channels - 1
        right, down = shape.dilation[1] * layout.pixel_pitch, shape.dilation[0] * layout.row_pitch
        back = runs * layout.channel_pitch
        column = shape.stride[1] * layout.pixel_pitch
        register = WindowRegister
        values = {
            register.HEIGHT: shape.height, register.WIDTH: shape.width,
            register.PADDING: padding % (1 << 8 * layout.element_bytes),
            register.COLUMNS: columns, register.COLUMN_X: shape.stride[1],
            register.COLUMN_ADDRESS: column,
            register.ROW_Y: shape.stride[0], register.ROW_X: -columns * shape.stride[1],
            register.ROW_ADDRESS: shape.stride[0] * layout.row_pitch - columns * column,
            register.TAPS: taps, register.TAP_X: shape.dilation[1],
            register.TAP_ADDRESS: right - back,
            register.KERNEL_ROW_Y: shape.dilation[0],
            register.KERNEL_ROW_X: -taps * shape.dilation[1],
            register.KERNEL_ROW_ADDRESS: down - taps * right - back,
            register.RUNS: runs, register.RUN_ADDRESS: layout.channel_pitch,
            register.RUN_BYTES: (shape.group_channels if whole else 1) * layout.element_bytes}
        for name, value in values.items():
            yield Load(destination, value % (1 << ADDRESS_BITS), 0, 0, 0, configure=name)


def reads_of(tiling: Tiling) -> Iterator[Slice]:
    """Slices of A in the order in which a product loads them."""
    def whole(block_index: int) -> Iterator[Slice]:
        for k_index in range(len(tiling.k_tiles)):
            yield from tiling.slices(block_index, k_index)

    if tiling.a_stays == "none":
        for block_index, _n_index in tiling.output_tiles():
            yield from whole(block_index)
    else:
        for block_index in range(len(tiling.m_blocks)):
            yield from whole(block_index)
