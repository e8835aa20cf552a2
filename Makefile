# Everything runs from a machine that has only Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

.PHONY: install demo test lint format docs bench-micro clean help

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

# Stamps: set-up is repeated only when pyproject.toml changed.
$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(PIP) install --editable '.[plot,tables,dask,verify]'
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(PIP) install --editable '.[plot,tables,dask,verify,dev]'
	@touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	$(PIP) install --editable '.[plot,tables,dask,verify,docs]'
	@touch $@

install: $(VENV)/.installed ## create .venv with the package and the extras a user wants

demo: install ## solve a bundled example
	$(BIN)/certimeans demo

lint: $(VENV)/.installed-dev ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint ## style, types and the whole test suite
	$(BIN)/python -m pytest

format: $(VENV)/.installed-dev ## apply the style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Not with --quiet: warnings would then pass, also with --strict.
docs: $(VENV)/.installed-docs ## build the documentation into site/; broken links are errors
	$(BIN)/python docs/commands.py
	$(BIN)/python docs/settings.py
	$(BIN)/python docs/imports.py
	$(BIN)/mkdocs build --strict

bench-micro: $(VENV)/.installed-dev ## micro-benchmarks that need no data files
	$(BIN)/python -m benchmarks.micro.presolve
	$(BIN)/python -m benchmarks.micro.planted

clean: ## remove the environment and caches
	rm -rf $(VENV) site .mypy_cache .ruff_cache .pytest_cache .hypothesis
