"""Backends, models, results, waveforms and the command line."""
