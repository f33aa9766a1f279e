"""Closed formulas: work, traffic, resource times and bounds; the analytic models."""

from .estimate import Estimate, estimate
from .model import find, registry
from .shape import executed_macs, shape_efficiency, tile_shape

__all__ = ["Estimate", "estimate", "executed_macs", "find", "registry", "shape_efficiency",
           "tile_shape"]
