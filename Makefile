# Everything runs from a machine that has only Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

.PHONY: install demo test lint wheel test-lowest format docs bench bench-quick bench-micro clean help

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

$(VENV)/.installed-bench: $(VENV)/.installed-dev
	$(PIP) install --editable '.[plot,tables,dask,verify,dev,bench]'
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

test: lint ## style, types, the whole test suite, and the package in an environment of its own
	$(MAKE) --no-print-directory wheel
	$(BIN)/python -m pytest

wheel: $(VENV)/.installed-dev ## build sdist and wheel into dist/, and try the wheel away from the sources
	rm -rf dist
	$(BIN)/python -m build --outdir dist . > dist.log || { cat dist.log; exit 1; }
	@rm dist.log
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python tools/try_wheel.py dist

# Not part of 'make test': it takes an environment of its own. CI runs it.
test-lowest: ## the test suite with the lowest declared version of every dependency
	$(PYTHON) -m venv --clear $(VENV)-lowest
	$(PYTHON) tools/lowest.py > $(VENV)-lowest/constraints.txt
	$(VENV)-lowest/bin/python -m pip --quiet install --constraint $(VENV)-lowest/constraints.txt --editable '.[plot,tables,dask,verify,dev]'
	$(VENV)-lowest/bin/python -m pytest

format: $(VENV)/.installed-dev ## apply the style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Not with --quiet: warnings would then pass, also with --strict.
docs: $(VENV)/.installed-docs ## build the documentation into site/; broken links are errors
	$(BIN)/python docs/commands.py
	$(BIN)/python docs/settings.py
	$(BIN)/python docs/imports.py
	$(BIN)/mkdocs build --strict

# DATA is the folder of data; PACKAGES and OTHER may be left out, and MORE has further options ('MORE=--list').
BENCH = $(BIN)/python -m benchmarks.all $(if $(DATA),--data '$(DATA)') $(if $(PACKAGES),--packages '$(PACKAGES)') \
	$(if $(OTHER),--other '$(OTHER)') $(MORE)

bench: $(VENV)/.installed-bench ## all tables of benchmarks/results/ (DATA=folder; hours, goes on where it stopped)
	$(BENCH)

bench-quick: $(VENV)/.installed-bench ## the same scripts on small selections, into build/bench-quick/ (minutes)
	$(BENCH) --quick

bench-micro: $(VENV)/.installed-dev ## micro-benchmarks that need no data files
	$(BIN)/python -m benchmarks.micro.presolve
	$(BIN)/python -m benchmarks.micro.planted

clean: ## remove the environment and caches
	rm -rf $(VENV) $(VENV)-lowest dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis
