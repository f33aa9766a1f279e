"""Moving data: strided views, coalescing, descriptors, img2col, transactions in flight."""

import math

from ..model import Results, model
from ..parameters import integer, real
from .common import BANDWIDTH, DEVICE

__all__ = ["coalescing", "expert_descriptors", "img2col", "little", "strided_view"]


@model("strided-view", "4.4.1", "A block inside a matrix: useful bytes and address span", [
    integer("rows", 128, "rows", "rows of the block", high=1 << 30),
    integer("cols", 128, "columns", "columns of the block", high=1 << 30),
    real("element_bytes", 2, "byte", "bytes of an element", high=64),
    integer("width", 4096, "columns", "columns of the matrix, at least those of the block",
            high=1 << 30),
], {
    "row_bytes": ("byte", "adjoining bytes of a row"),
    "pitch_bytes": ("byte", "distance of two rows"),
    "useful_bytes": ("byte", "bytes of the block"),
    "span_bytes": ("byte", "first to last byte"),
    "span_ratio": ("ratio", "span over useful bytes"),
})
def strided_view(rows: int, cols: int, element_bytes: float, width: int) -> Results:
    """address = base + i pitch + j b; span = (rows - 1) pitch + cols b.

    One descriptor holds base, rows, bytes of a row and pitch. Source: chapter 4.4.1.
    """
    row, pitch = cols * element_bytes, max(width, cols) * element_bytes
    span = (rows - 1) * pitch + row
    return {"row_bytes": row, "pitch_bytes": pitch, "useful_bytes": rows * row,
            "span_bytes": span, "span_ratio": span / (rows * row)}


@model("coalescing", "4.4.1", "Adjacent accesses merge into fewer memory transactions", [
    integer("accesses", 32, "accesses", "accesses of a group", high=1 << 16),
    integer("access_bytes", 4, "byte", "bytes of an access", high=1 << 20),
    integer("stride_bytes", 4, "byte", "distance of two accesses", low=0, high=1 << 30),
    integer("transaction_bytes", 128, "byte", "bytes of a transaction", high=1 << 20),
], {
    "useful_bytes": ("byte", "distinct bytes that are wanted"),
    "transactions": ("transactions", "aligned transactions that they touch"),
    "moved_bytes": ("byte", "bytes of these transactions"),
    "efficiency": ("ratio", "useful over moved"),
})
def coalescing(accesses: int, access_bytes: int, stride_bytes: int, transaction_bytes: int
               ) -> Results:
    """Transactions that the accesses touch, the first access aligned.

    Ranges: any stride, 0 for the same address. Source: chapter 4.4.1 (transactions of 128
    bytes); the counting is ours.
    """
    touched, last = 0, -1
    for access in range(accesses):
        start = access * stride_bytes
        first = max(start // transaction_bytes, last + 1)
        last = max(last, (start + access_bytes - 1) // transaction_bytes)
        touched += max(0, last - first + 1)
    useful = access_bytes + (accesses - 1) * min(stride_bytes, access_bytes)
    moved = touched * transaction_bytes
    return {"useful_bytes": useful, "transactions": touched, "moved_bytes": moved,
            "efficiency": useful / moved}


@model("expert-descriptors", "4.6.1", "Descriptors of equally shaped experts: only bases change", [
    integer("experts", 128, "experts", "experts used", high=1 << 20),
    integer("descriptor_bytes", 128, "byte", "bytes of a descriptor", high=1 << 20),
    integer("update_bytes", 8, "byte", "bytes of the base address", high=1 << 20),
], {
    "rewritten_bytes": ("byte", "if every expert gets a whole descriptor"),
    "updated_bytes": ("byte", "one descriptor, then a new base for each other expert"),
    "rewrite_ratio": ("ratio", "rewritten over updated"),
})
def expert_descriptors(experts: int, descriptor_bytes: int, update_bytes: int) -> Results:
    """E d against d + (E - 1) u. Source: chapter 4.6.1; the sizes are examples."""
    rewritten = experts * descriptor_bytes
    updated = descriptor_bytes + (experts - 1) * update_bytes
    return {"rewritten_bytes": rewritten, "updated_bytes": updated,
            "rewrite_ratio": rewritten / updated}


@model("img2col", "4.6.2", "Convolution as a product: size of the unfolded matrix", [
    integer("height", 56, "rows", "input height", high=1 << 16),
    integer("width", 56, "columns", "input width", high=1 << 16),
    integer("channels", 64, "channels", "input channels", high=1 << 16),
    integer("kernel", 3, "elements", "side of the kernel", high=1 << 10),
    integer("stride", 1, "elements", "stride", high=1 << 10),
    integer("padding", 1, "elements", "padding on each side", low=0, high=1 << 10),
    real("element_bytes", 2, "byte", "bytes of an element", high=64),
    BANDWIDTH,
], {
    "input_bytes": ("byte", "the input"),
    "unfold_rows": ("rows", "output positions"),
    "unfold_cols": ("columns", "kernel elements"),
    "unfold_bytes": ("byte", "the unfolded matrix"),
    "unfold_ratio": ("ratio", "unfolded over input"),
    "avoided_bytes": ("byte", "unfolded matrix written and read, if it were in memory"),
    "avoided_seconds": ("s", "time of that traffic"),
}, {"device": "devices:ascend910"})
def img2col(height: int, width: int, channels: int, kernel: int, stride: int, padding: int,
            element_bytes: float, bandwidth_gb_per_s: float) -> Results:
    """H_out W_out rows of k k C elements; written and read it moves twice its bytes.

    H_out = (H + 2 p - k) / s + 1, rounded down, at least 0. Source: chapter 4.6.2.
    """
    rows = (max(0, (height + 2 * padding - kernel) // stride + 1)
            * max(0, (width + 2 * padding - kernel) // stride + 1))
    columns = kernel * kernel * channels
    inputs, unfolded = height * width * channels * element_bytes, rows * columns * element_bytes
    return {"input_bytes": inputs, "unfold_rows": rows, "unfold_cols": columns,
            "unfold_bytes": unfolded, "unfold_ratio": unfolded / inputs,
            "avoided_bytes": 2 * unfolded,
            "avoided_seconds": 2 * unfolded / (bandwidth_gb_per_s * 1e9)}


@model("little", "4.3.3", "Bandwidth that transactions in flight allow (Little's law)", [
    integer("outstanding", 128, "transactions", "transactions in flight", high=1 << 30),
    real("latency_ns", 500, "ns", "from the start of a transaction to its completion"),
    integer("transaction_bytes", 128, "byte", "bytes of a transaction", high=1 << 20),
    real("volume_bytes", 1207959552, "byte", "bytes to read"),
    BANDWIDTH,
], {
    "attainable_gb_per_s": ("GB/s", "the lower of interface and transactions in flight"),
    "concurrency_gb_per_s": ("GB/s", "what the transactions in flight allow"),
    "read_seconds": ("s", "time to read the volume"),
    "transactions_needed": ("transactions", "in flight, for the whole interface bandwidth"),
    "concurrency_gain": ("ratio", "transactions' over interface bandwidth, minus 1"),
    "limited_by": ("text", "interface or transactions"),
}, DEVICE)
def little(outstanding: int, latency_ns: float, transaction_bytes: int, volume_bytes: float,
           bandwidth_gb_per_s: float) -> Results:
    """min(R, N s / L); needed N = ceil(R L / s). Source: chapter 4.3.3."""
    in_flight = outstanding * transaction_bytes / latency_ns
    attainable = min(bandwidth_gb_per_s, in_flight)
    needed = math.ceil(bandwidth_gb_per_s * latency_ns / transaction_bytes)
    return {"attainable_gb_per_s": attainable, "concurrency_gb_per_s": in_flight,
            "read_seconds": volume_bytes / (attainable * 1e9), "transactions_needed": needed,
            "concurrency_gain": in_flight / bandwidth_gb_per_s - 1,
            "limited_by": "transactions" if in_flight < bandwidth_gb_per_s else "interface"}
