PYTHON ?= python3
BIN := .venv/bin
UV := .uv/bin/uv

help:                     ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

$(UV):
	$(PYTHON) -m venv .uv
	.uv/bin/python -m pip install --quiet uv

.venv/.installed: $(UV) requirements.lock pyproject.toml
	test -x $(BIN)/python || $(UV) venv --quiet --python $(PYTHON) .venv
	$(UV) pip sync --quiet --python $(BIN)/python requirements.lock
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --editable .
	touch $@

install: .venv/.installed ## create the locked environment in .venv

lock: $(UV)               ## renew requirements.lock from pyproject.toml
	$(UV) pip compile pyproject.toml --group dev --extra pecos --universal --python-version 3.11 \
	  --generate-hashes --no-header --no-annotate --upgrade --quiet --output-file requirements.lock

format: install           ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.PHONY: help install lock format demo test check
