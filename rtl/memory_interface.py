"""The interface between a core and its memory channel."""

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .commands import beat_layout, operand_tag, request_layout, row_layout
from .memory_cost import COST_BITS

__all__ = ["MemorySignature", "vector_beat_layout"]


def vector_beat_layout(design):
    """A row on its way to a vector slot: `bytes` of it are real, otherwise as a `beat_layout`."""
    return data.StructLayout({
        "row": 8 * design.vector_row_bytes, "bytes": range(design.vector_row_bytes + 1),
        "first": 1, "last": 1, "tag": operand_tag(design)})


class MemorySignature(wiring.Signature):
    """What a core sees of the memory, from the core's side.

    Requests start in the cycle of their transfer, in request order; a load that waits with a
    store since the same cycle goes first. Load data comes back in order for each destination,
    with the tag of its request, and is never stalled: room was taken before the request.

    Members
    -------
    load, store : Out(stream.Signature(request_layout))
        Descriptors.
    weights, operands : In(stream, always_ready)
        Load data for the weight FIFO and for the operand slots.
    vectors : In(stream, always_ready)
        Load data for the vector slots, one row a beat.
    rows : Out(stream, always_ready)
        Result rows of the store that has started, in order.
    loading, storing : In(1)
        A load (store) occupies the channel, from the cycle of its start.
    store_next : In(1)
        The request that starts next is a store.
    store_stays : In(1)
        The store that occupies the channel still does so in the next cycle.
    loads_under_way, stores_under_way : In(1)
        Data of some load (store) has not arrived yet; the last row of a store comes
        rows - 1 + :attr:`StoreUnit.ROW_LATENCY` cycles after its start.
    request_bytes, request_transactions : In
        Real bytes and bus transactions of the request that starts in this cycle.
    window_bytes : In
        Bytes of convolution windows, padding left out, that are put together in this cycle.
    """

    def __init__(self, design):
        super().__init__({
            "load": Out(stream.Signature(request_layout(design, "load"))),
            "store": Out(stream.Signature(request_layout(design, "store"))),
            "weights": In(stream.Signature(
                beat_layout(design, design.cols * design.weight_bits), always_ready=True)),
            "operands": In(stream.Signature(
                beat_layout(design, design.rows * design.activation_bits), always_ready=True)),
            "vectors": In(stream.Signature(vector_beat_layout(design), always_ready=True)),
            "rows": Out(stream.Signature(row_layout(design), always_ready=True)),
            "loading": In(1),
            "storing": In(1),
            "store_next": In(1),
            "store_stays": In(1),
            "loads_under_way": In(1),
            "stores_under_way": In(1),
            "request_bytes": In(COST_BITS),
            "request_transactions": In(COST_BITS),
            "window_bytes": In(COST_BITS),
        })
