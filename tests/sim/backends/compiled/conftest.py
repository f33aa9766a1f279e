"""A cache for the tests of one session, and builds that are quick rather than fast."""

import os

import pytest
from register_bench import PARTS, build_parts

from cubewave.sim.backends.compiled import find_compiler
from cubewave.sim.backends.compiled.cache import Cache


@pytest.fixture(scope="session")
def session_cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def quick_builds(monkeypatch, session_cache):
    assert find_compiler(), "needs a C++ compiler: g++, clang++ or the extra `compiler`"
    monkeypatch.setenv("CUBEWAVE_CACHE_DIR", str(session_cache))
    monkeypatch.setenv("CUBEWAVE_CXXFLAGS", "-O0")


@pytest.fixture(scope="session")
def compiled_parts(tmp_path_factory):
    """From the name of a design to the folder of its compiled parts, built once per session."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent      # of all workers
    cache = Cache(folder / "parts")
    return lambda name: cache.get(name, lambda entry: build_parts(PARTS[name], entry))
