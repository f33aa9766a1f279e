"""What the tests of the analytic models share."""

import pytest

from cubewave.sim.analytic.model import find


@pytest.fixture
def check():
    """Evaluates a model and compares the named results with numbers computed by hand."""

    def run(name, given, **expected):
        results = find(name)(**given)
        for field, value in expected.items():
            if isinstance(value, str) or value is None:
                assert results[field] == value, field
            else:
                assert results[field] == pytest.approx(value, rel=1e-12, abs=0), field

    return run
