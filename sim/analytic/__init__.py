"""Closed formulas: work, traffic, resource times and bounds."""

from .gemm import GemmEstimate, estimate

__all__ = ["GemmEstimate", "estimate"]
