# Everything here sets itself up: a fresh machine needs Python 3.11 or newer, make, and a package registry.
PYTHON ?= python3.11
BIN := .venv/bin
READY := .venv/.ready

.PHONY: install demo test lint types clean

install: $(READY)

$(READY): pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "make: '$(PYTHON)' not found; name another with 'make PYTHON=python3.12 ...'"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(READY)

demo: $(READY)
	$(BIN)/python demo/figure_1d.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

test: lint types
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
