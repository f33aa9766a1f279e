"""What a platform puts in the place of a component, as a simulator does."""

from amaranth.hdl import Const, Module, Signal, Value
from amaranth.lib import data
from harness import lockstep

from cubewave.rtl.accumulator_update import AccumulatorUpdate
from cubewave.rtl.formats import IntegerFormat
from cubewave.rtl.stand_in import stand_in

FORMAT = IntegerFormat(8, 8, 32, 4)


class Platform:
    """Replaces what asks by what `make` makes of its ports."""

    def __init__(self, make):
        self._make, self.asked = make, []

    def get_stand_in(self, component, ports):
        self.asked.append((component, ports))
        return self._make(ports)


def always_5(ports):
    m = Module()
    m.d.comb += ports["new"].eq(5)
    return m


def test_without_a_platform_there_is_none():
    assert stand_in(None, None, i=Signal()) is None
    assert stand_in(object(), None, i=Signal()) is None


def test_the_platform_gets_values():
    platform, view = Platform(len), Signal(data.StructLayout({"a": 3, "b": 2}))
    assert stand_in(platform, "asks", new=view, i=1) == 2
    [(component, ports)] = platform.asked
    assert component == "asks" and list(ports) == ["new", "i"]
    assert all(isinstance(value, Value) for value in ports.values())
    assert len(ports["new"]) == 5 and isinstance(ports["i"], Const)


def test_a_component_is_replaced():
    unit, platform = AccumulatorUpdate(format=FORMAT, cols=1, overflow="wrap"), Platform(always_5)
    step = {"sums": [7], "old": [1], "accumulate": 1}
    assert lockstep(unit, [step], ["new"]) == [{"new": [8]}]

    class Replaced(AccumulatorUpdate):
        def elaborate(self, _platform):
            return super().elaborate(platform)
    unit = Replaced(format=FORMAT, cols=1, overflow="wrap")
    assert lockstep(unit, [step], ["new"]) == [{"new": [5]}]
    assert [component for component, _ports in platform.asked] == [unit]
