"""Verilog of a design's components, and test benches of recorded runs."""

from .export import Export
from .netlist import has_port
from .recording import Column, Recording, record
from .testbench import stimulus_text, testbench_text
from .tops import export_top

__all__ = ["Column", "Export", "Recording", "export_top", "has_port", "record", "stimulus_text",
           "testbench_text"]
