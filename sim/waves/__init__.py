"""Waveforms: recorded from a run, counted anew, shown in GTKWave."""

from .reader import read_counters
from .recorder import Recorder, Source
from .save_file import write_gtkw
from .viewer import open_waves

__all__ = ["Recorder", "Source", "open_waves", "read_counters", "write_gtkw"]
