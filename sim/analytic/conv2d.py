"""Work, traffic and bounds of convolutions."""

from collections import Counter

from ...rtl import Design
from ...rtl.commands import Destination, Store
from ...rtl.memory_timing import MemoryTiming
from ...rtl.vector_unit import beats
from ...workloads.conv2d import Conv2d
from ...workloads.conv2d_expansion import Expansion
from ...workloads.conv2d_windows import WindowRows, reads_of
from ...workloads.ideal import vector_job_cycles
from .gemm import Traffic, add_operand_rows, add_product, add_result

__all__ = ["add_conv2d", "image_bytes", "window_bytes"]


def add_conv2d(counts: Counter, resources: Counter, design: Design, job: Conv2d,
               timing: str = "rtl") -> None:
    """Add a convolution to expected counters and resource times; see :class:`Estimate`.

    The products of all images and groups are alike; only addresses differ.
    """
    tiling, products = job.tiling(design), job.shape.products
    one = Traffic(Counter(), Counter(), MemoryTiming.of(design))
    add_product(one, design, tiling, timing)
    add_result(one, design, tiling, job.epilogue, timing, job.shape.filters)
    rows = WindowRows(design, job.image_layout(design), 0)
    if job.im2col == "loader":
        for part in reads_of(tiling):
            one.add_load("operand_port", rows.load(tiling, part))
    else:
        _add_expansion(one, design, job, rows, timing)
        add_operand_rows(one, design, tiling)
    passes = tiling.a_reads if job.im2col == "loader" else 1
    one.counts["window_bytes"] = passes * window_bytes(design, job)
    whole = Traffic(counts, resources, one.timing)
    for name, value in one.counts.items():
        counts[name] += products * value
    for name, value in one.resources.items():
        resources[name] += products * value
    port = Destination.OPERAND if job.im2col == "loader" else Destination.VECTOR
    for load in rows.registers(port, job.padding_value):
        whole.add_load("operand_port" if job.im2col == "loader" else "vector_port", load)
    if job.im2col == "memory":
        counts["loads"] += 1  # the one that waits for the last store
        resources["memory"] += 1
        resources["vector_port"] += 1


def _add_expansion(one: Traffic, design: Design, job: Conv2d, rows: WindowRows,
                   timing: str) -> None:
    """The im2col matrix of one product through the vector slots into memory."""
    m, k, _n = job.shape.product
    expansion = Expansion(design)
    expansion.add(rows, 0, m, k)
    for load in expansion.loads:
        one.add_load("vector_port", load)
    stores: Counter[Store] = Counter(store._replace(bank=0, base=0)
                                     for store in expansion.stores)
    for store, count in stores.items():
        one.add("store", count, store.rows, store.bytes_per_row, store.row_stride)
    mark = expansion.mark(0)
    cycles = vector_job_cycles(design, [mark]) if timing == "ideal" else beats(design, mark)
    one.counts["vector_commands"] += len(expansion.vectors)
    one.resources["vector"] += len(expansion.vectors) * cycles


def _seen(size: int, before: int, taps: int, output: int, stride: int, dilation: int) -> list[int]:
    """Of one direction: places in the image under every tap of every output, repeated."""
    return [place for tap in range(taps) for at in range(output)
            if 0 <= (place := at * stride - before + tap * dilation) < size]


def _sides(job: Conv2d) -> list[list[int]]:
    shape = job.shape
    return [_seen(size, padding[0], taps, output, stride, dilation)
            for size, padding, taps, output, stride, dilation in zip(
                (shape.height, shape.width), shape.padding, shape.kernel, shape.output,
                shape.stride, shape.dilation)]


def window_bytes(design: Design, job: Conv2d) -> int:
    """Bytes of the windows of one image and group: overlap counts each time, padding never."""
    down, right = _sides(job)
    return len(down) * len(right) * job.shape.group_channels * design.activation_bytes


def image_bytes(design: Design, job: Conv2d) -> int:
    """Bytes of one image and group that lie under a window: what is read, if each byte is once."""
    down, right = _sides(job)
    return (len(set(down)) * len(set(right)) * job.shape.group_channels
            * design.activation_bytes)
