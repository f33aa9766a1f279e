"""Exports that several tests look at, made once."""

import functools
import re

import pytest

from cubewave.rtl import Design
from cubewave.sim.export import export_top


@functools.cache
def _export(top, settings):
    return export_top(Design(**dict(settings)), top)


@pytest.fixture
def export():
    """Exports the named component of `tiny` with fields set."""
    return lambda top="core", **settings: _export(top, tuple(sorted(settings.items())))


@pytest.fixture
def code():
    """A file without its comments."""
    return lambda text: re.sub(r"//.*", "", text)
