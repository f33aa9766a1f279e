"""Links: dies, host to device, alpha-beta, coalesced messages, AllReduce, hops."""

import math
from collections.abc import Sequence

from ..model import Results, model
from ..parameters import choice, integer, real
from .common import BANDWIDTH, DEVICE, longest
from .inference import GIB, MIB

__all__ = ["allreduce", "alpha_beta", "die_locality", "die_share", "hops", "host_transfer",
           "link_arrivals", "message_coalescing"]


@model("die-locality", "4.5.1", "Weights on two dies, compute on one or on both", [
    real("gib_per_die", 32, "GiB", "weights that each die holds"),
    real("die_gb_per_s", None, "GB/s", "local memory bandwidth of a die",
         source="device.die_bandwidth_gb_per_s"),
    real("link_gb_per_s", None, "GB/s", "link between the dies, one direction",
         source="device.die_link_gb_per_s"),
    real("activation_mib", 64, "MiB", "activations over the link, if compute is local"),
], {
    "weight_bytes": ("byte", "weights on both dies"),
    "local_seconds": ("s", "read of a die's own weights"),
    "remote_seconds": ("s", "read of the other die's weights: the slower of its memory and link"),
    "one_die_seconds": ("s", "phase with all compute on one die; both reads overlap"),
    "activation_seconds": ("s", "activations over the link"),
    "local_phase_seconds": ("s", "phase with compute beside the weights"),
    "remote_over_local": ("ratio", "remote over local time"),
    "link_ratio": ("ratio", "link over local bandwidth; remote reads are slower below 1"),
    "limited_by": ("text", "memory or link, with all compute on one die"),
}, {"device": "devices:ascend910c"})
def die_locality(gib_per_die: float, die_gb_per_s: float, link_gb_per_s: float,
                 activation_mib: float) -> Results:
    """remote = V / min(R, link); phase = max(V / R, remote). Source: chapter 4.5.1."""
    nbytes = gib_per_die * GIB
    local = nbytes / (die_gb_per_s * 1e9)
    remote = nbytes / (min(die_gb_per_s, link_gb_per_s) * 1e9)
    activations = activation_mib * MIB / (link_gb_per_s * 1e9)
    return {"weight_bytes": 2 * nbytes, "local_seconds": local, "remote_seconds": remote,
            "one_die_seconds": max(local, remote), "activation_seconds": activations,
            "local_phase_seconds": max(local, activations), "remote_over_local": remote / local,
            "link_ratio": link_gb_per_s / die_gb_per_s,
            "limited_by": "link" if link_gb_per_s < die_gb_per_s else "memory"}


@model("die-share", "4.5.1", "What a rate of the whole leaves for each part or direction", [
    real("total_gb_per_s", 8000, "GB/s", "bandwidth of all parts, or of both directions"),
    integer("parts", 2, "parts", "parts or directions", high=1 << 16),
    real("other_gb_per_s", 4000, "GB/s", "a bandwidth to compare with"),
], {
    "part_gb_per_s": ("GB/s", "bandwidth of one"),
    "total_over_other": ("ratio", "all over the other bandwidth"),
    "part_over_other": ("ratio", "one over the other bandwidth"),
})
def die_share(total_gb_per_s: float, parts: int, other_gb_per_s: float) -> Results:
    """R / n. Source: chapter 4.5.1, 4.5.2, 4.5.3 (published rates of both directions)."""
    part = total_gb_per_s / parts
    return {"part_gb_per_s": part, "total_over_other": total_gb_per_s / other_gb_per_s,
            "part_over_other": part / other_gb_per_s}


@model("host-transfer", "4.5.2", "Upload over the host link against reading the device's memory", [
    real("mib", 64, "MiB", "bytes"),
    real("link_gb_per_s", 32, "GB/s", "host link, one direction"),
    BANDWIDTH,
    integer("uses", 1, "uses", "reads after one upload"),
], {
    "upload_seconds": ("s", "upload"),
    "read_seconds": ("s", "one read of the device's memory"),
    "upload_over_read": ("ratio", "upload over read time"),
    "break_even_uses": ("uses", "uses at which the upload's share is no longer above one read"),
    "upload_share_seconds": ("s", "upload for each use"),
    "limited_by": ("text", "for each use: upload or read"),
}, DEVICE)
def host_transfer(mib: float, link_gb_per_s: float, bandwidth_gb_per_s: float, uses: int
                  ) -> Results:
    """V / R_link against V / R_memory; break-even uses = ceil(R_memory / R_link). Chapter 4.5.2."""
    upload = mib * MIB / (link_gb_per_s * 1e9)
    read = mib * MIB / (bandwidth_gb_per_s * 1e9)
    return {"upload_seconds": upload, "read_seconds": read,
            "upload_over_read": bandwidth_gb_per_s / link_gb_per_s,
            "break_even_uses": math.ceil(bandwidth_gb_per_s / link_gb_per_s),
            "upload_share_seconds": upload / uses,
            "limited_by": longest({"read": read, "upload": upload / uses})}


@model("alpha-beta", "4.5.3", "A message: fixed cost and time on the wire", [
    real("message_bytes", 8192, "byte", "bytes of the message"),
    real("alpha_us", 2, "us", "fixed cost of a message", above=False),
    real("link_gb_per_s", None, "GB/s", "link, one direction", source="device.link_gb_per_s"),
    real("row_bytes", 8192, "byte", "bytes of an activation row"),
    integer("exchanges", 100, "messages", "messages that depend on each other", high=1 << 30),
], {
    "wire_seconds": ("s", "time on the wire"),
    "total_seconds": ("s", "fixed cost and wire"),
    "half_alpha_saving": ("ratio", "what halving the fixed cost saves"),
    "crossover_bytes": ("byte", "message whose wire time equals the fixed cost"),
    "crossover_rows": ("rows", "the same in activation rows"),
    "first_wire_rows": ("rows", "first whole row count whose wire time exceeds the fixed cost"),
    "fixed_seconds": ("s", "fixed cost of all exchanges"),
    "chain_seconds": ("s", "all exchanges, one after another"),
    "limited_by": ("text", "alpha or wire"),
}, {"device": "devices:h100"})
def alpha_beta(message_bytes: float, alpha_us: float, link_gb_per_s: float, row_bytes: float,
               exchanges: int) -> Results:
    """t = alpha + V / R; crossover V = alpha R. Source: chapter 4.5.3."""
    wire, alpha = message_bytes / (link_gb_per_s * 1e9), alpha_us * 1e-6
    crossover = alpha_us * link_gb_per_s * 1e3
    return {"wire_seconds": wire, "total_seconds": alpha + wire,
            "half_alpha_saving": alpha / 2 / (alpha + wire), "crossover_bytes": crossover,
            "crossover_rows": crossover / row_bytes,
            "first_wire_rows": math.floor(crossover / row_bytes) + 1,
            "fixed_seconds": exchanges * alpha, "chain_seconds": exchanges * (alpha + wire),
            "limited_by": longest({"wire": wire, "alpha": alpha})}


@model("link-upgrade", "4.5.3", "The same message on a slower and a faster link", [
    real("message_bytes", 2097152, "byte", "bytes of the message"),
    real("alpha_us", 2, "us", "fixed cost of a message", above=False),
    real("link_a_gb_per_s", None, "GB/s", "faster link", source="device_a.link_gb_per_s"),
    real("link_b_gb_per_s", None, "GB/s", "slower link", source="device_b.link_gb_per_s"),
], {
    "link_ratio": ("ratio", "a over b"),
    "seconds_a": ("s", "message on a"),
    "seconds_b": ("s", "message on b"),
    "reduction": ("ratio", "1 minus a's over b's time"),
}, {"device_a": "devices:h100", "device_b": "devices:a100"})
def link_upgrade(message_bytes: float, alpha_us: float, link_a_gb_per_s: float,
                 link_b_gb_per_s: float) -> Results:
    """alpha + V / R on either; the fixed cost stays. Source: chapter 4.5.3."""
    a = alpha_us * 1e-6 + message_bytes / (link_a_gb_per_s * 1e9)
    b = alpha_us * 1e-6 + message_bytes / (link_b_gb_per_s * 1e9)
    return {"link_ratio": link_a_gb_per_s / link_b_gb_per_s, "seconds_a": a, "seconds_b": b,
            "reduction": 1 - a / b}


@model("activation-rows", "4.5.3", "Bytes of activation rows", [
    integer("rows", 1, "rows", "activation rows", high=1 << 30),
    integer("hidden", 4096, "elements", "elements of a row", high=1 << 30),
    real("element_bytes", 2, "byte", "bytes of an element", high=64),
], {
    "row_bytes": ("byte", "one row"),
    "message_bytes": ("byte", "all rows"),
})
def activation_rows(rows: int, hidden: int, element_bytes: float) -> Results:
    """M h b. Source: chapter 4.5.3."""
    return {"row_bytes": hidden * element_bytes, "message_bytes": rows * hidden * element_bytes}


def link_arrivals(ready: Sequence[float], wire: float, alpha: float, occupies: bool
                  ) -> list[float]:
    """When messages that are ready at these times arrive, one on the wire at a time.

    Start-ups of `alpha` either occupy the link, or overlap with each other and the wire.
    """
    arrivals, free = [], 0.0
    for time in ready:
        if occupies:
            free = max(time, free) + alpha + wire
        else:
            free = max(time + alpha, free) + wire
        arrivals.append(free)
    return arrivals


@model("message-coalescing", "4.5.3", "Several messages sent as they get ready, or as one", [
    integer("messages", 4, "messages", "messages", high=100_000),
    real("message_bytes", 8192, "byte", "bytes of each"),
    real("interval_us", 1, "us", "between one and the next getting ready", above=False),
    real("alpha_us", 2, "us", "fixed cost of a message", above=False),
    real("link_gb_per_s", None, "GB/s", "link, one direction", source="device.link_gb_per_s"),
    choice("startup", ("occupies", "overlaps"), "whether a start-up occupies the link"),
], {
    "first_seconds": ("s", "arrival of the first message, sent separately"),
    "last_seconds": ("s", "arrival of the last message, sent separately"),
    "merged_seconds": ("s", "arrival of all as one message, sent when the last is ready"),
    "merged_bytes": ("byte", "bytes of the one message"),
    "earlier": ("text", "way by which the last arrives earlier"),
}, {"device": "devices:h100"})
def message_coalescing(messages: int, message_bytes: float, interval_us: float, alpha_us: float,
                       link_gb_per_s: float, startup: str) -> Results:
    """merged = (n - 1) dt + alpha + n V / R; separate by the events of the link.

    Source: chapter 4.5.3.
    """
    wire = message_bytes / (link_gb_per_s * 1e3)
    ready = [index * interval_us for index in range(messages)]
    arrivals = link_arrivals(ready, wire, alpha_us, startup == "occupies")
    merged = ready[-1] + alpha_us + messages * wire
    return {"first_seconds": arrivals[0] * 1e-6, "last_seconds": arrivals[-1] * 1e-6,
            "merged_seconds": merged * 1e-6, "merged_bytes": messages * message_bytes,
            "earlier": "separate" if arrivals[-1] < merged else "merged"}


@model("allreduce", "4.5.3", "Small AllReduces one after another", [
    real("latency_us", 25, "us", "time of one"),
    integer("count", 100, "exchanges", "AllReduces that depend on each other", high=1 << 30),
    real("compute_us", 0, "us", "computing between two", above=False),
], {
    "one_seconds": ("s", "one AllReduce"),
    "total_seconds": ("s", "all AllReduces"),
    "task_seconds": ("s", "with the computing between them"),
    "limited_by": ("text", "latency or compute"),
})
def allreduce(latency_us: float, count: int, compute_us: float) -> Results:
    """n t. Source: chapter 4.5.3 (24.96 us measured for 16 bytes on 16 GPUs)."""
    return {"one_seconds": latency_us * 1e-6, "total_seconds": count * latency_us * 1e-6,
            "task_seconds": count * (latency_us + compute_us) * 1e-6,
            "limited_by": longest({"latency": latency_us, "compute": compute_us})}


@model("hops", "4.7.2", "A message over a mesh of cores: distance and wire", [
    integer("columns", 10, "hops", "distance in x", low=0, high=1 << 20),
    integer("rows", 10, "hops", "distance in y", low=0, high=1 << 20),
    real("hop_ns", 1, "ns", "latency of a hop"),
    real("message_bytes", 1024, "byte", "bytes of the message"),
    real("link_gb_per_s", 32, "GB/s", "bandwidth of a link"),
], {
    "hops": ("hops", "links on the way"),
    "distance_seconds": ("s", "latency of all hops"),
    "wire_seconds": ("s", "bytes over bandwidth, once: hops forward as they receive"),
    "total_seconds": ("s", "both"),
    "limited_by": ("text", "distance or wire"),
})
def hops(columns: int, rows: int, hop_ns: float, message_bytes: float, link_gb_per_s: float
         ) -> Results:
    """(x + y) t_hop + V / R. Source: chapter 4.7.2, 4.7.3, without numbers; these are examples."""
    distance = (columns + rows) * hop_ns * 1e-9
    wire = message_bytes / (link_gb_per_s * 1e9)
    return {"hops": columns + rows, "distance_seconds": distance, "wire_seconds": wire,
            "total_seconds": distance + wire,
            "limited_by": longest({"wire": wire, "distance": distance})}
