"""How large a workload the levels that execute programs take."""

from collections.abc import Iterable

from ..rtl import Design
from ..workloads import Attention, Conv2d, Gemm
from ..workloads.vector_workload import VectorWorkload
from .errors import OptionError

__all__ = ["LARGEST_TILES", "check_size"]

#: Weight tiles of one run at levels rtl and cycle: about 2 KiB of host memory each.
LARGEST_TILES = 3_000_000


def check_size(subject: str, design: Design,
               jobs: Iterable[Gemm | Attention | Conv2d | VectorWorkload], level: str) -> None:
    """Refuse workloads of more commands than the host holds; formulas take any size.

    Products count by their weight tiles, workloads of the vector unit by their descriptors.

    Raises
    ------
    OptionError
        Names the subject, its tiles or descriptors and the limit.
    """
    if level == "analytic":
        return
    tiles = descriptors = 0
    for job in jobs:
        if isinstance(job, VectorWorkload):
            descriptors += job.descriptors(design)
            continue
        if isinstance(job, Attention | Conv2d):
            tiles += job.tiles(design)
            continue
        tiling = job.tiling(design)
        tiles += (-(-tiling.m // tiling.m_tile) * -(-tiling.k // tiling.k_tile)
                  * -(-tiling.n // tiling.cols))
    for number, what in ((tiles, "weight tiles"), (descriptors, "descriptors")):
        if number > LARGEST_TILES:
            raise OptionError(
                f"{subject} has {number:,} {what} on an array of {design.rows}x{design.cols}, "
                f"more than the {LARGEST_TILES:,} that level {level} takes; choose a larger array "
                f"or level analytic")
