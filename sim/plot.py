"""Diagrams as SVG. Needs matplotlib, which the extra `plot` installs."""

import contextlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import OptionError

__all__ = ["Line", "draw_lines", "draw_roofline", "need_matplotlib"]

MARKERS = "os^D+x"  # points of several levels lie upon each other
DECADES = 20.0  # values that spread more than this ratio get a logarithmic axis


@dataclass(frozen=True)
class Line:
    """One line of a diagram: its label and its points, in order; None leaves a gap."""
    label: str
    x: Sequence[Any]
    y: Sequence[float | None]


def need_matplotlib(option: str) -> None:
    """Refuse an option that draws where matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise OptionError(f"{option}: needs matplotlib; install it with "
                          f"`pip install 'cubewave[plot]'`") from None


@contextlib.contextmanager
def _figure(path: str) -> Iterator[Any]:
    """The axes of a figure that is written to a file at the end; the same input, the same file."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure
    with matplotlib.rc_context({"svg.hashsalt": "cubewave", "svg.fonttype": "none",
                                "axes.grid": True, "grid.alpha": 0.4, "font.size": 10}):
        figure = Figure(figsize=(7, 4.5), layout="constrained")
        FigureCanvasSVG(figure)
        yield figure.add_subplot()
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": "cubewave"})


def _spreads(values: Sequence[Any]) -> bool:
    numbers = [value for value in values if isinstance(value, int | float)]
    return (len(numbers) == len(values) and bool(numbers) and min(numbers) > 0
            and max(numbers) / min(numbers) > DECADES)


def draw_lines(path: str, title: str, x_label: str, y_label: str, lines: Sequence[Line]) -> None:
    """Lines over one axis; axes are logarithmic where values spread far."""
    with _figure(path) as axes:
        for line in lines:
            y = [float("nan") if value is None else value for value in line.y]
            axes.plot(line.x, y, marker="o", markersize=4, label=line.label)
        if _spreads([value for line in lines for value in line.x]):
            axes.set_xscale("log")
        if _spreads([value for line in lines for value in line.y if value is not None]):
            axes.set_yscale("log")
        axes.set(title=title, xlabel=x_label, ylabel=y_label)
        if len(lines) > 1:
            axes.legend()


def draw_roofline(path: str, title: str, peak: float, bandwidth: float | None,
                  roofs: Mapping[str, float], points: Mapping[str, tuple[float, float]]) -> None:
    """A roofline in MAC/byte and MAC/cycle.

    Parameters
    ----------
    path, title : str
    peak, bandwidth : float
        MAC/cycle and bytes/cycle; None is unlimited.
    roofs : dict of str to float
        Lower roofs, in MAC/cycle, by label.
    points : dict of str to (float, float)
        Intensity and MAC/cycle of each measured point, by label.
    """
    positions = [x for x, _ in points.values()] or [1.0]
    ridge = peak / bandwidth if bandwidth else min(positions)
    low, high = min([ridge, *positions]) / 8, max([ridge, *positions]) * 8
    with _figure(path) as axes:
        if bandwidth:
            axes.plot([low, ridge, high], [low * bandwidth, peak, peak], color="black",
                      label=f"peak {peak:g} MAC/cycle, memory {bandwidth:g} bytes/cycle")
        else:
            axes.plot([low, high], [peak, peak], color="black",
                      label=f"peak {peak:g} MAC/cycle, memory unlimited")
        for label, value in roofs.items():
            start = value / bandwidth if bandwidth else low
            axes.plot([max(low, start), high], [value, value], linestyle="--", label=label)
        for (label, (x, y)), marker in zip(points.items(), itertools.cycle(MARKERS)):
            axes.plot([x], [y], marker=marker, markersize=9, linestyle="none",
                      fillstyle="none", markeredgewidth=2, label=label)
        axes.set(title=title, xlabel="intensity, MAC/byte", ylabel="MAC/cycle", xscale="log",
                 yscale="log")
        axes.legend(fontsize=8, loc="lower right")
