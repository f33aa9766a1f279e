"""A cache for the tests of one session, and builds that are quick rather than fast."""

import os

import pytest
from register_bench import PARTS, build_parts

from cubewave.sim.backends.compiled import find_compiler
from cubewave.sim.backends.compiled.cache import Cache


@pytest.fixture(scope="session")
def session_folder(tmp_path_factory):
    """A folder of this session, the same one in all its processes."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(scope="session")
def session_cache(session_folder):
    return session_folder / "cache"


@pytest.fixture(autouse=True)
def quick_builds(monkeypatch, session_cache):
    assert find_compiler(), "needs a C++ compiler: g++, clang++ or the extra `compiler`"
    monkeypatch.setenv("CUBEWAVE_CACHE_DIR", str(session_cache))
    monkeypatch.setenv("CUBEWAVE_CXXFLAGS", "-O0")


@pytest.fixture(scope="session")
def compiled_parts(session_folder):
    """From the name of a design to the folder of its compiled parts, built once per session."""
    cache = Cache(session_folder / "parts")
    return lambda name: cache.get(name, lambda entry: build_parts(PARTS[name], entry))
