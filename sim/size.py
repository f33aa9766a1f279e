"""How large a workload the levels that execute programs take."""

from collections.abc import Iterable

from ..rtl import Design
from ..workloads import Attention, Gemm
from .errors import OptionError

__all__ = ["LARGEST_TILES", "check_size"]

#: Weight tiles of one run at levels rtl and cycle: about 2 KiB of host memory each.
LARGEST_TILES = 3_000_000


def check_size(subject: str, design: Design, jobs: Iterable[Gemm | Attention], level: str) -> None:
    """Refuse products of more weight tiles than the host holds; formulas take any size.

    Raises
    ------
    OptionError
        Names the subject, its tiles and the limit.
    """
    if level == "analytic":
        return
    tiles = 0
    for job in jobs:
        if isinstance(job, Attention):
            tiles += job.tiles(design)
            continue
        tiling = job.tiling(design)
        tiles += (-(-tiling.m // tiling.m_tile) * -(-tiling.k // tiling.k_tile)
                  * -(-tiling.n // tiling.cols))
    if tiles > LARGEST_TILES:
        raise OptionError(
            f"{subject} has {tiles:,} weight tiles on an array of {design.rows}x{design.cols}, "
            f"more than the {LARGEST_TILES:,} that level {level} takes; choose a larger array or "
            f"level analytic")
