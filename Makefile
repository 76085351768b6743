# Every target sets up what it needs in .venv. A fresh machine has Python >= 3.11 with venv and pip, and make.
.PHONY: help setup demo test check docs mutants faults bench lock
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
# the machine's own certificates: a company's package index is often signed by the company
UV := $(BIN)/uv --system-certs

help: ## show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

.venv/.ready: pyproject.toml requirements.lock
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@$(UV) pip install --quiet --python $(BIN)/python --require-hashes --requirement requirements.lock
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

setup: .venv/.ready ## install everything in .venv

demo: .venv/.ready ## an agent whose slow tool runs in the background; needs no key
	@$(BIN)/errands demo

test: .venv/.ready ## the whole test suite
	@$(BIN)/python -m pytest -q -n 4 --dist loadfile

check: .venv/.ready ## format, lint and types
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/pyright

docs: .venv/.ready ## write the reference pages anew from the code
	@$(BIN)/python -m docs.generate

mutants: .venv/.ready ## break the code in named ways; each must turn a test red
	@$(BIN)/python -m tests.mutants

SEED ?= 1
MINUTES ?= 3
ARGS ?=
faults: .venv/.ready ## kill, freeze and cut off every part by a seed: SEED=1 MINUTES=3
	@$(BIN)/python -m tests.faults --seed $(SEED) --minutes $(MINUTES) $(ARGS)

bench: .venv/.ready ## measure against Celery, alternately in one run
	@$(BIN)/python -m bench

lock: ## write requirements.lock anew
	@$(UV) pip compile --quiet --python $(BIN)/python --universal --all-extras --group dev --generate-hashes --no-annotate --no-header --no-emit-index-url --no-emit-find-links pyproject.toml -o requirements.lock
