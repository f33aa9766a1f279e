"""Runs networks, layer by layer."""

import gc
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from ..rtl import Design
from ..rtl.memory_timing import MemoryTiming
from ..workloads import WorkloadError
from ..workloads.network import Layer, Network
from ..workloads.reduction import Reduction
from .analytic import estimate
from .backends.run import Progress
from .checks import check
from .errors import OptionError
from .network_result import LayerResult, NetworkResult
from .result import Result
from .simulation import VcdOptions, Workload, check_kinds, simulate
from .size import check_size

__all__ = ["run", "simulate_network"]

def simulate_network(design: Design, network: Network, *, level: str = "cycle",
                     timing: str = "rtl", backend: str = "auto", mesh: str | None = None,
                     rebuild: bool = False, output: bool = False, seed: int | None = None,
                     progress: Progress | None = None) -> NetworkResult:
    """Run every layer of a network from an idle machine; layers of one shape are run once.

    Parameters
    ----------
    design : Design
    network : Network
    level, timing, backend, mesh, rebuild
        See :func:`simulate`.
    output : bool
        Compute the results of the layers at level cycle, too. Level rtl always does.
    seed : int
        Draw random operands with this seed instead of the network's own.
    progress : callable
        Called with cycles, activation rows so far, activation rows of all runs. Its method `say`:
        see :func:`simulate`; the same line is said once.

    Raises
    ------
    TypeError, OptionError
        No design or no network; an unknown level, timing or backend, or a layer too large for it.
    WorkloadError
        A layer does not fit the design; the message names it.
    DeadlockError
        See :func:`simulate`.
    """
    _check_kinds(design, network)
    network = network if seed is None else network.seeded(seed)
    distinct = network.distinct()
    _check(design, distinct.values(), level)
    rows = {key: estimate(design, layer.product.parts()).counts["activation_rows"]
            for key, layer in distinct.items()}
    steps = None if progress is None else _Steps(progress, sum(rows.values()))
    runs: dict[str, Result] = {}
    with _uncollected() if level == "cycle" else nullcontext():
        for key, layer in distinct.items():
            if isinstance(layer.product, Reduction):
                runs[key] = _reduction(design, layer.product, level)
            else:
                runs[key] = simulate(
                    design, layer.product, level=level, timing=timing, backend=backend, mesh=mesh,
                    rebuild=rebuild and not runs, output=output or level == "rtl",
                    progress=steps)
            if steps is not None:
                steps.finish(runs[key].cycles, rows[key])
    layers = [LayerResult(layer, runs[network.key(layer)]) for layer in network.layers()]
    used = {run.backend for run in runs.values()} - {""}
    result = NetworkResult(
        design=design, workload=network.describe(), level=level,
        backend="+".join(sorted(used)), timing=timing, layers=layers, notes=network.notes,
        runs=list(runs.values()), omitted=network.omitted)
    for key, layer in distinct.items():
        result.checks.extend({**entry, "name": f"{layer.name}: {entry['name']}"}
                             for entry in runs[key].checks)
    result.checks.append(check(f"{level}_network_useful_macs", network.useful_macs,
                               result.useful_macs))
    return result


def run(design: Design, workload: Network | Workload, *, output: bool = True,
        vcd: str | os.PathLike[str] | VcdOptions | None = None,
        trace: str | os.PathLike[str] | None = None, **options: Any) -> Result | NetworkResult:
    """What the command line runs: `simulate` for one run, `simulate_network` for a network.

    A network takes no waveform and no trace, of which each of its runs has one, and computes no
    output but what its level cannot do without.
    """
    if not isinstance(workload, Network):
        return simulate(design, workload, output=output, vcd=vcd, trace=trace, **options)
    for name, value in (("vcd", vcd), ("trace", trace)):
        if value is not None:
            path = value.path if isinstance(value, VcdOptions) else os.fspath(value)
            raise OptionError(f"--{name} {path}: needs a workload of one run, but {workload.name} "
                              f"is a network of {len(workload.layers())} layers")
    return simulate_network(design, workload, **options)


def _check_kinds(design: Any, network: Any) -> None:
    check_kinds(design, network)
    if not isinstance(network, Network):
        raise TypeError(f"network must be a Network, not {network!r}; simulate runs one workload")


def _check(design: Design, layers: Iterable[Layer], level: str) -> None:
    """Refuse layers that do not fit the design or the host, before anything runs."""
    for layer in layers:
        try:
            for job in layer.product.parts():
                job.check(design)
        except WorkloadError as error:
            raise type(error)(f"layer {layer.name}: {error}") from None
        check_size(f"layer {layer.name}", design, layer.product.parts(), level)


def _reduction(design: Design, reduction: Reduction, level: str) -> Result:
    """The time of the traffic: every partial result is read once, the sum is written once.

    One descriptor each. At levels other than analytic, the latency of the first read and of the
    write is added; additions take no time.
    """
    memory = MemoryTiming.of(design)
    row = reduction.n * design.result_element_bytes
    nbytes, matrices = reduction.m * row, reduction.terms + 1
    bound = matrices * memory.occupancy(nbytes)
    latency = 0 if level == "analytic" else 2 * memory.latency
    return Result(
        design=design, workload=reduction.describe(), level="analytic", backend="", timing="rtl",
        cycles=bound + latency, span=bound + latency, useful_macs=0,
        bytes_read=reduction.terms * nbytes, bytes_written=nbytes,
        counters={"loads": reduction.terms, "stores": 1,
                  "transactions": matrices * memory.transactions(reduction.m, row, row)},
        items={"latency": latency} if latency else {}, limited_by="memory")


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without the garbage collector, which would look at millions of commands again and again.

    They hold no cycles, so they go when the run ends all the same. It saves a quarter of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _Steps:
    """Adds up the progress of the runs of a network."""

    def __init__(self, progress: Progress, rows: int):
        self._progress, self._rows = progress, rows
        self._cycles = self._done = 0
        self._said: set[str] = set()

    def __call__(self, cycles: int, done: int, rows: int) -> None:
        self._progress(self._cycles + cycles, self._done + done, self._rows)

    def say(self, line: str) -> None:
        """A line about the backend; the runs of a network most often say the same."""
        say = getattr(self._progress, "say", None)
        if say is not None and line not in self._said:
            self._said.add(line)
            say(line)

    def finish(self, cycles: int, rows: int) -> None:
        self._cycles += cycles
        self._done += rows
        self(0, 0, 0)
