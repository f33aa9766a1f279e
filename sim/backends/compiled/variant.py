"""Which of the libraries of a design."""

from dataclasses import dataclass

from ...waves.hierarchy import Depth

__all__ = ["Variant"]


@dataclass(frozen=True)
class Variant:
    """What a library has in it.

    Attributes
    ----------
    mesh : str
        "kernel" or "netlist".
    vector, windows : bool
        With the vector unit and the hand-off; with loads of convolution windows. Programs that
        have no command for them run without.
    depth : Depth or None
        The deepest waveform that can be recorded.
    lanes : bool
        And what is inside the vector lanes and the conversions of the hand-off, which are
        netlists then, not loops.
    """
    mesh: str = "kernel"
    vector: bool = True
    windows: bool = True
    depth: Depth | None = None
    lanes: bool = False

    @property
    def shows_memories(self) -> bool:
        """A waveform may show the contents of memories."""
        return self.depth is not None and self.depth >= Depth.MEMORY
