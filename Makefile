PYTHON ?= python3
BIN := .venv/bin
UV := .uv/bin/uv
# Trust what the machine trusts, so that a company's own certificates work.
export UV_SYSTEM_CERTS ?= true

help:                     ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

demo: install             ## simulate a world, learn from its clicks, complete
	$(BIN)/wayword demo --out demo

reproduce: install .venv/.bert ## the paper's experiments and their report
	$(BIN)/wayword reproduce --out reproduction

test: install .venv/.bert ## the tests, on two cores; without the slow ones and those that need a browser or Lucene
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow and not browser and not lucene"

test-all: test .venv/.spark ## those too: browser, Lucene, Spark, killed runs, statistics, large inputs
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "slow or browser or lucene"

check: test               ## format, lint, strict types, imports and tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: install           ## format the code and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

install: .venv/.installed ## create the locked environment in .venv

LOCK := --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --quiet

lock: $(UV)               ## renew the locks: versions and hashes of all that is installed
	$(UV) pip compile --no-config requirements-uv.txt $(LOCK) --output-file requirements-uv.lock
	$(UV) pip compile pyproject.toml --group dev --group build --extra pecos --extra report --extra words --extra sail $(LOCK) --upgrade \
	  --output-file requirements.lock
	$(UV) pip compile --no-config requirements-spark.txt $(LOCK) --no-deps --output-file requirements-spark.lock
	$(PYTHON) scripts/lock_bert.py $(UV)

$(UV): requirements-uv.lock
	$(PYTHON) -m venv --clear .uv
	.uv/bin/python -m pip install --quiet --require-hashes --requirement requirements-uv.lock
	touch $@

.venv/.installed: $(UV) requirements.lock pyproject.toml
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info[:2] not in ((3, 11), (3, 12)))" || \
	  { echo "Wayword needs Python 3.11 or 3.12; $(PYTHON) is another. Try: make PYTHON=python3.12 ..."; exit 1; }
	test -x $(BIN)/python || $(UV) venv --quiet --python $(PYTHON) .venv
	$(UV) pip sync --quiet --compile-bytecode --require-hashes --python $(BIN)/python requirements.lock
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	touch $@

# The extra `bert` comes by pip, whose find-links can offer a CPU build of torch; uv does not look there. Where there is
# none, torch comes from PyPI, and on Linux needs the CUDA libraries.
BERT := .uv/bin/python -m pip --python $(BIN)/python install --quiet --require-hashes --no-deps --requirement
.venv/.bert: .venv/.installed requirements-torch-cpu.lock requirements-bert.lock requirements-cuda.lock
	$(BERT) requirements-torch-cpu.lock --no-index 2>/dev/null || echo "Found no CPU build of torch; taking PyPI's."
	$(BERT) requirements-bert.lock
	$(BIN)/python -c "from importlib.metadata import version as v; exit('+cpu' not in v('torch'))" || \
	  $(BERT) requirements-cuda.lock
	touch $@

# Apache Spark itself, which the tests start: its package has the same name as its client, so it gets a folder of its own.
.venv/.spark: .venv/.installed requirements-spark.lock
	$(UV) pip install --quiet --python $(BIN)/python --target .venv/spark --require-hashes --no-deps --no-build-isolation \
	  --requirement requirements-spark.lock
	touch $@

.PHONY: help demo reproduce test test-all check format install lock
