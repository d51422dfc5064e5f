# Every target sets up what it needs in .venv; a machine with Python >= 3.11, make and a package registry suffices.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
INSTALL := $(UV) pip install --quiet --python
# The versions that this Python is tested with, where they are stored (make locks); else the newest that are admitted.
LOCK := $(wildcard .ci/locks/python$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])').txt)
LOCKED := $(addprefix --constraint ,$(LOCK))
LOWEST := .venv-lowest
RESOLUTION := lowest-direct
LOWEST_TESTS := tests/simulator/test_scenarios.py tests/simulator/test_simulation.py tests/policies/planning tests/workloads \
	tests/experiments/test_cli.py tests/experiments/test_tables.py

INTERPRETED_TESTS := tests/policies/planning/test_planner.py tests/policies/test_array_queue_pass.py \
	tests/simulator/resources/test_laws.py tests/simulator/test_plain_replay.py tests/simulator/test_fast_starts.py \
	tests/workloads/logs/test_swf_columns.py

PLAIN := .venv-plain

.PHONY: demo test system slurm coverage lint lint-js lowest plain interpreted docs slow mutation bench pages locks clean

demo: $(VENV)/.installed
	$(BIN)/holdfast demo -o out/demo

# The tests start many processes: compiled modules are kept, whatever the environment says.
test: export PYTHONDONTWRITEBYTECODE =
test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n auto --dist worksteal

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m tests.language

# The types and the style of the Gantt page's script; optional, it needs Node.js and its package registry.
SCRIPT := tests/experiments/gantt/script
lint-js:
	@if command -v npm > /dev/null; then \
		cd $(SCRIPT) && npm install --no-package-lock --no-audit --no-fund --silent && npm run --silent check; \
	else echo "lint-js checks nothing: there is no npm here; Node.js has it"; fi

# The oldest packages that pyproject.toml admits: the model and the commands must work with them, too.
lowest: $(LOWEST)/.installed
	$(LOWEST)/bin/python -m pytest -q -n auto -W default $(LOWEST_TESTS)

# Without any optional package: what needs one says so, everything else works.
plain: $(PLAIN)/.installed
	$(PLAIN)/bin/python -m tests.plain

# Without numba: the loops that it compiles run in Python.
interpreted: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -q -n auto -p tests.support.no_compiler $(INTERPRETED_TESTS)

# The documentation site, in out/docs; a warning is an error. It needs no network.
docs: $(VENV)/.installed-docs
	rm -rf docs/reference/api
	$(BIN)/python -m sphinx -b html -j auto -n -q -W --keep-going docs out/docs
	@echo "the documentation is in out/docs/index.html"

# What can only be tested whole: clusters, kills, installed packages, real logs, experiments, pages of documentation.
system: export PYTHONDONTWRITEBYTECODE =
system: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n auto --dist worksteal -m "system and not slow"

# A whole Slurm on this machine (Debian's slurm-wlm munge slurmdbd mariadb-server faketime): replays and plans on it, in
# about ten minutes. The tests skip without the packages.
slurm: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -m slurm

# What is statistical or long, and of all tests that draw examples as many as each asks for.
slow: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -m "slow or hypothesis" --hypothesis-profile thorough

# Altered operators, numbers and conditions of the modules that decide, and the share that a test finds: hours for all;
# MUTATE='--sample 40 policies/knapsack.py' takes some of one.
MUTATE :=
mutation: $(VENV)/.installed-dev
	$(INSTALL) $(BIN)/python 'cosmic-ray>=8.4'
	$(BIN)/python -m tests.mutation $(MUTATE)

# Which lines of the packages the tests of `make test` and `make system` reach, in all processes.
coverage: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n auto -m "not slow and not slurm" --cov --cov-report term:skip-covered

# Figures and ratios of all benchmarks, in about a quarter of an hour, which docs/reference/speed.csv keeps; with
# BENCH=--large also the sizes that take minutes each.
bench: $(VENV)/.installed-dev
	$(BIN)/python -m tests.benchmarks --record $(BENCH)

# uv installs: of two times in turn, the packages of the tests took 20 s with it and 102 s with pip.
$(UV):
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv

$(VENV)/.installed: $(UV) pyproject.toml $(LOCK)
	$(INSTALL) $(BIN)/python $(LOCKED) -e .
	touch $@

$(VENV)/.installed-dev: $(UV) pyproject.toml $(LOCK)
	$(INSTALL) $(BIN)/python $(LOCKED) -e '.[dev]'
	touch $@ $(VENV)/.installed

$(LOWEST)/.installed: $(UV) pyproject.toml
	$(PYTHON) -m venv --without-pip $(LOWEST)
	$(INSTALL) $(LOWEST)/bin/python --resolution $(RESOLUTION) $(if $(filter highest,$(RESOLUTION)),$(LOCKED)) \
		-e '.[parquet]' 'pytest>=8' 'pytest-timeout>=2.3' 'pytest-xdist>=3.5' 'hypothesis>=6.100'
	touch $@

$(PLAIN)/.installed: $(UV) pyproject.toml $(LOCK)
	$(PYTHON) -m venv --without-pip $(PLAIN)
	$(INSTALL) $(PLAIN)/bin/python $(LOCKED) -e .
	touch $@

$(VENV)/.installed-study: $(UV) pyproject.toml $(LOCK)
	$(INSTALL) $(BIN)/python $(LOCKED) -e '.[study]'
	touch $@ $(VENV)/.installed

$(VENV)/.installed-docs: $(UV) pyproject.toml $(LOCK)
	$(INSTALL) $(BIN)/python $(LOCKED) -e '.[docs]'
	touch $@ $(VENV)/.installed

# The versions of all dependencies for each Python of the support policy, for the targets above and .ci/Containerfile.
locks: $(UV)
	for minor in 11 12 13 14; do $(UV) pip compile --quiet --upgrade --python-version 3.$$minor --no-annotate \
		--custom-compile-command 'make locks' --all-extras pyproject.toml -o .ci/locks/python3.$$minor.txt || exit 1; done

# The pages of docs/experiments, with the answers of all experiments at the sizes of the papers: this takes hours.
pages: $(VENV)/.installed-study
	$(BIN)/holdfast reproduce -o out/reproduction
	$(BIN)/python -m holdfast.experiments.study.report.pages out/reproduction

clean:
	rm -rf $(VENV) $(PLAIN) $(LOWEST) $(SCRIPT)/node_modules out docs/reference/api build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
