"""Verilog of a design's components, and test benches of recorded runs."""

from .export import Export
from .netlist import CLOCKING, has_port
from .recording import Column, Recording, record
from .testbench import bench_text, stimulus_text
from .tops import export_top

__all__ = ["CLOCKING", "Column", "Export", "Recording", "bench_text", "export_top", "has_port",
           "record", "stimulus_text"]
