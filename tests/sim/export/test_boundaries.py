"""Components that do not meet at their ports cannot be modules."""

import pytest
from amaranth.hdl import Fragment, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from cubewave.sim.export.modules import distinct_modules


class Inner(wiring.Component):
    def __init__(self):
        self.inside = Signal()
        super().__init__({"o": Out(1)})

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.inside.eq(~self.inside)
        m.d.comb += self.o.eq(self.inside)
        return m


class Outer(wiring.Component):
    def __init__(self, peeks):
        self.inner, self.peeks = Inner(), peeks
        super().__init__({"o": Out(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.inner = self.inner
        m.d.comb += self.o.eq(self.inner.inside if self.peeks else self.inner.o)
        return m


def test_ports_are_allowed():
    names = [module.name for module in distinct_modules(Fragment.get(Outer(False), None), "outer")]
    assert names == ["cubewave_inner", "cubewave_outer"]


def test_a_look_past_the_ports_is_refused():
    with pytest.raises(ValueError, match="^Outer reads signal inside of Inner, which is not a "
                                         "port between them$"):
        distinct_modules(Fragment.get(Outer(True), None), "outer")
