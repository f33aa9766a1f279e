"""Proofs need tools from the extra `proofs`, which `make test` installs."""

import pytest
from proofs.prover import tools_missing


@pytest.fixture(autouse=True)
def _tools():
    if missing := tools_missing():
        pytest.skip(f"not installed: {missing} (pip install '.[proofs]')")
