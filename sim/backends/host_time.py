"""Roughly how long a run at level rtl takes, for advice before a long one."""

from ...rtl import Design

__all__ = ["LONG_SECONDS", "advice", "is_small", "rtl_seconds", "rtl_speed"]

LONG_SECONDS = 120

# Measured with pysim, busy arrays of 1x1 to 32x32 on one shared core (2,850 cycles/s at 4x4).
SECONDS_PER_CYCLE = 290e-6
SECONDS_PER_CELL_CYCLE = 3.8e-6
BUILD_SECONDS = 0.3
BUILD_SECONDS_PER_CELL = 3.7e-3
RECORDING = 2.0   # a waveform makes a cycle about twice as expensive


def rtl_speed(design: Design, recording: bool = False) -> float:
    """Cycles per second of pysim."""
    cycle = SECONDS_PER_CYCLE + SECONDS_PER_CELL_CYCLE * design.macs_per_cycle
    return 1 / (cycle * (RECORDING if recording else 1))


def rtl_seconds(design: Design, cycles: int, recording: bool = False) -> float:
    """Host time to build the core and simulate so many cycles."""
    return (BUILD_SECONDS + BUILD_SECONDS_PER_CELL * design.macs_per_cycle
            + cycles / rtl_speed(design, recording))


def advice(design: Design, bound: int, recording: bool = False) -> str | None:
    """A line for a run that will take long, or None.

    Parameters
    ----------
    design : Design
    bound : int
        Cycles of the run at least.
    recording : bool
        With a waveform.
    """
    seconds = rtl_seconds(design, bound, recording)
    if seconds < LONG_SECONDS:
        return None
    return (f"note: level rtl will take {_duration(seconds)} or more ({bound:,} cycles at least, "
            f"at about {_rounded(rtl_speed(design, recording))} cycles/s on an array of "
            f"{design.rows}x{design.cols}); --level cycle counts the same cycles in seconds")


def _rounded(speed: float) -> str:
    """Two digits: 1,700."""
    return f"{float(f'{speed:.2g}'):,.4g}" if speed < 10 else f"{float(f'{speed:.2g}'):,.0f}"


def _duration(seconds: float) -> str:
    for limit, size, unit in ((7200, 60, "minutes"), (2 * 86400, 3600, "hours")):
        if seconds < limit:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds / 86400:,.0f} days"


def is_small(design: Design) -> bool:
    """Whether backend pysim is of practical speed: 100 cycles/s or more."""
    return rtl_speed(design) >= 100
