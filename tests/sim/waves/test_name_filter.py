"""Regular expressions for names, and those that would take forever."""

import signal
import threading

import pytest

from cubewave.sim import OptionError
from cubewave.sim.waves import name_filter
from cubewave.sim.waves.name_filter import NameFilter


def test_names():
    assert NameFilter(None).search("machine.clk")
    assert NameFilter("core[.]store").search("machine.core.store.busy")
    assert not NameFilter("core[.]store$").search("machine.core.store.busy")


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer")
@pytest.mark.parametrize("expression", ["^(([a-z_.])+)+!$", "(a+)+$", "^(a|a)*$"])
def test_expressions_that_take_forever_are_refused(expression, monkeypatch):
    monkeypatch.setattr(name_filter, "SECONDS", 0.05)
    handler = signal.getsignal(signal.SIGALRM)
    with pytest.raises(OptionError, match="^vcd signals .* takes more than 0.05 s to match a name "
                                          "such as .*; choose a regular expression without nested "
                                          "repeats$"):
        NameFilter(expression).search("a" * 40 + "!")
    assert signal.getsignal(signal.SIGALRM) is handler
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_other_threads_have_no_limit():
    found = []
    thread = threading.Thread(target=lambda: found.append(NameFilter("clk").search("machine.clk")))
    thread.start()
    thread.join()
    assert found == [True]
