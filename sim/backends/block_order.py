"""The order of combinational statements: each after those that it depends on."""

import heapq

from amaranth.hdl._ast import SignalDict, SignalSet

__all__ = ["Group", "ordered"]


class Group:
    """Statements that share driven signals, in their order in the source; of one module."""

    def __init__(self, module):
        self.module = module
        self.statements = []
        self.driven = SignalSet()
        self.read = SignalSet()


def _grouped(statements):
    """Groups of statements such that each signal is driven in one of them."""
    owner = SignalDict()
    groups = []
    for order, (module, statement) in enumerate(statements):
        driven = statement._lhs_signals()
        found = []
        for signal in driven:
            group = owner.get(signal)
            if group is not None and not any(group is other for other in found):
                found.append(group)
        group = found[0] if found else Group(module)
        for other in found[1:]:
            group.statements.extend(other.statements)
            group.driven.update(other.driven)
            group.read.update(other.read)
            groups.remove(other)
        if not found:
            groups.append(group)
        group.statements.append((order, statement))
        group.driven.update(driven)
        group.read.update(statement._rhs_signals())
        for signal in group.driven:
            owner[signal] = group
    for group in groups:
        group.statements.sort(key=lambda item: item[0])
    return groups, owner


def ordered(statements):
    """The groups, each after those that drive what it reads, in blocks of one module."""
    groups, owner = _grouped(statements)
    places = {id(group): place for place, group in enumerate(groups)}
    waiting, readers = [0] * len(groups), [[] for _ in groups]
    for place, group in enumerate(groups):
        sources = {places[id(owner[signal])] for signal in group.read if signal in owner}
        for source in sources - {place}:
            readers[source].append(place)
            waiting[place] += 1
    ready = {}   # of each module
    for place, count in enumerate(waiting):
        if count == 0:
            ready.setdefault(groups[place].module, []).append(place)
    blocks, ordered = [], 0
    while ready:
        module = min(ready)
        places, block = ready[module], []
        while places:   # as many of a module as are ready, or become so
            place = heapq.heappop(places)
            block.append(groups[place])
            for reader in readers[place]:
                waiting[reader] -= 1
                if waiting[reader] == 0:
                    heapq.heappush(ready.setdefault(groups[reader].module, []), reader)
        del ready[module]
        blocks.append(block)
        ordered += len(block)
    if ordered != len(groups):
        looping = sorted(signal.name for place, group in enumerate(groups) if waiting[place]
                         for signal in group.driven)
        raise ValueError(f"combinational loop through {', '.join(looping)}")
    return blocks
