"""Importing the VCD reader leaves the process as it was."""

import subprocess
import sys

CODE = """
import signal
before = signal.getsignal(signal.SIGPIPE)
from cubewave.sim.waves.vcd_parser import VCDVCD
assert VCDVCD and signal.getsignal(signal.SIGPIPE) == before == signal.SIG_IGN
"""


def test_a_broken_pipe_stays_an_error():
    """The import of vcdvcd once made workers of pytest and closed commands die of SIGPIPE."""
    assert subprocess.run([sys.executable, "-c", CODE], timeout=60).returncode == 0
