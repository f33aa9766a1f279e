"""Shape efficiency: how much of the work that whole tiles execute is useful (chapter 4.2.1)."""

from fractions import Fraction

from ...rtl import Design

__all__ = ["executed_macs", "shape_efficiency", "tile_shape"]


def shape_efficiency(m: int, k: int, n: int, *, m_tile: int = 1, k_tile: int = 1,
                     n_tile: int = 1) -> Fraction:
    """M K N over the same with every dimension filled up to whole tiles.

    A ratio of work, not of time, and so not a utilization: it has its own name everywhere. With
    timing rtl the array's utilization is shape efficiency * busy cycles / cycles.
    """
    executed = 1
    for size, tile in ((m, m_tile), (k, k_tile), (n, n_tile)):
        executed *= -(-size // tile) * tile
    return Fraction(m * k * n, executed)


def tile_shape(design: Design, tile_rows: int = 1) -> tuple[int, int, int]:
    """Tiles of M, K and N that a design executes whole.

    A weight-stationary array streams M row by row, unless the workload asks for tiles of
    `tile_rows` rows; K and N fill it. An output-stationary one is filled by M and N.
    """
    if design.dataflow == "output_stationary":
        return design.rows, 1, design.cols
    return tile_rows, design.rows, design.cols


def executed_macs(design: Design, activation_rows: int) -> int:
    """MACs of all cells in the cycles in which an activation row (operand pair) enters.

    Useful MACs over these is the shape efficiency by counting.
    """
    return activation_rows * design.macs_per_cycle
