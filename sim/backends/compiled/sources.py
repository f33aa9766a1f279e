"""Where the hand-written C++ of the package is."""

from pathlib import Path

__all__ = ["source_folder"]


def source_folder() -> Path:
    """The folder of kernel.h and driver.cc."""
    return Path(__file__).parent
