"""Closed formulas: work, traffic, resource times and bounds."""

from .gemm import GemmEstimate, estimate
from .shape import executed_macs, shape_efficiency, tile_shape

__all__ = ["GemmEstimate", "estimate", "executed_macs", "shape_efficiency", "tile_shape"]
