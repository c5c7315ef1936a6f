# Everything here sets itself up: a fresh machine needs Python 3.11 or newer, make, and a package registry.
PYTHON ?= python3.11
BIN := .venv/bin
READY := .venv/.ready
DOCS_READY := .venv/.docs-ready

.PHONY: install demo test lint types docs clean

install: $(READY)

$(READY): pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "make: '$(PYTHON)' not found; name another with 'make PYTHON=python3.12 ...'"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(READY)

demo: $(READY)
	$(BIN)/odvff demo

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(READY)
	$(BIN)/mypy

test: lint types
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal

$(DOCS_READY): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $(DOCS_READY)

docs: $(DOCS_READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "the documentation is in site/index.html: open it in a browser"

clean:
	rm -rf .venv build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
