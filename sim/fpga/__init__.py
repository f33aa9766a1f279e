"""Synthesis, place and route with real FPGA tools, from Python packages."""

from .flow import Build, build
from .targets import TARGETS, Target

__all__ = ["TARGETS", "Build", "Target", "build"]
