"""A cache for the tests of one session, and builds that are quick rather than fast."""

import pytest

from cubewave.sim.backends.compiled import find_compiler


@pytest.fixture(scope="session")
def session_cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def quick_builds(monkeypatch, session_cache):
    assert find_compiler(), "needs a C++ compiler: g++, clang++ or the extra `compiler`"
    monkeypatch.setenv("CUBEWAVE_CACHE_DIR", str(session_cache))
    monkeypatch.setenv("CUBEWAVE_CXXFLAGS", "-O0")
