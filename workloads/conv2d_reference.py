"""Convolution by numpy: sums over taps of shifted images, without any im2col matrix."""

from collections.abc import Iterable

import numpy as np

from ..rtl import Design
from ..rtl.formats import IntegerFormat
from .conv2d_shape import ConvolutionShape
from .tiling import Tile

__all__ = ["convolution"]

EXACT = 1 << 53  # sums below are exact in float64


def convolution(design: Design, shape: ConvolutionShape, x: np.ndarray, w: np.ndarray,
                padding_value: int, updates: Iterable[Tile]) -> tuple[np.ndarray, bool]:
    """The sums [batch, height, width, filters], and whether an accumulator overflows.

    Parameters
    ----------
    x : ndarray of int64, [batch, height, width, channels]
    w : ndarray of int64, [kernel height, kernel width, channels / groups, filters]
    padding_value : int
        What is around an image.
    updates : iterable of Tile
        Parts of a window, in elements, after each of which the accumulators are updated: what can
        overflow, and how often, follows from it.
    """
    padded = np.pad(x, ((0, 0), *shape.padding, (0, 0)), constant_values=padding_value)
    format = IntegerFormat.of(design)
    bound = shape.product[1] * int(np.abs(padded).max()) * int(np.abs(w).max())
    if bound < EXACT:
        padded, w = padded.astype(np.float64), w.astype(np.float64)
    if bound <= format.accumulator_range()[1]:
        return _sums(shape, padded, w, Tile(0, shape.product[1])), False
    total = np.zeros((shape.batch, *shape.output, shape.filters), np.int64)
    overflow = False
    for update in updates:
        total, outside = format.accumulate(total, _sums(shape, padded, w, update),
                                           design.accumulator_overflow)
        overflow |= outside
    return total, overflow


def _sums(shape: ConvolutionShape, padded: np.ndarray, w: np.ndarray, part: Tile) -> np.ndarray:
    """Sums over part of the windows, of all groups."""
    channels, filters = shape.group_channels, shape.product[2]
    total = np.zeros((shape.batch, *shape.output, shape.filters), padded.dtype)
    for row in range(shape.kernel[0]):
        for column in range(shape.kernel[1]):
            before = (row * shape.kernel[1] + column) * channels
            first = max(part.start - before, 0)
            last = min(part.start + part.size - before, channels)
            if first >= last:
                continue
            image = padded[:, _every(row, shape, 0), _every(column, shape, 1)]
            for group in range(shape.groups):
                inputs = image[..., group * channels + first:group * channels + last]
                outputs = slice(group * filters, (group + 1) * filters)
                total[..., outputs] += inputs @ w[row, column, first:last, outputs]
    return total.astype(np.int64)


def _every(tap: int, shape: ConvolutionShape, side: int) -> slice:
    """The rows or columns of an image that a tap sees."""
    start, step = tap * shape.dilation[side], shape.stride[side]
    return slice(start, start + (shape.output[side] - 1) * step + 1, step)
