# make demo    the pipeline on the embedded micro-world, ending in a report to look at
# make test    the tests
# Each target creates what it needs in .venv; nothing else is to be installed by hand.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
READERS := generators.readers generators.storage.untrusted generators.storage.csv_tables generators.storage.parquet \
	generators.sources.unpack generators.llm.answers loaders.benchmarks loaders.user_files loaders.datasets.stats
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: demo test acceptance lint fuzz bench docs clean setup

demo: $(READY)
	dvc repro report
	@compeval report --where

test: $(READY)
	pytest -m "not acceptance" -n 2 --dist loadfile

acceptance: $(READY)
	pytest -m acceptance

lint: $(READY)
	ruff check .
	ruff format --check .
	pyright

# Ten minutes on Linux, then the coverage of the readers; failing inputs are in build/fuzz-failures.
fuzz: $(READY)
	pip install --quiet --constraint constraints.txt atheris
	rm -rf build/fuzz-failures
	python -m tests.fuzz.readers build/fuzz tests/fuzz/corpus -max_total_time=600 -timeout=20 -rss_limit_mb=4096 -print_final_stats=1
	COMPEVAL_FUZZ_CORPUS=build/fuzz pytest -q tests/fuzz $(READERS:%=--cov=%) --cov-report=term
	test ! -e build/fuzz-failures

bench: $(READY)
	for script in bench/*.py; do python -m bench.$$(basename $$script .py) || exit 1; done

docs: $(READY)
	typer compeval.cli utils docs --name compeval --title "The command line" --output docs/cli.md

clean:
	rm -rf $(VENV) data sources annotations regions seen stats crepe aro retrieval classification compprompts compun controlledimcaps
	rm -rf checkpoints results validity.json text_only.json text_only_aro.json text_only_aro.md report report_full
	rm -rf .dvc/cache .dvc/tmp build .pytest_cache .ruff_cache .hypothesis

setup: $(READY)

$(READY): pyproject.toml constraints.txt tools/get-wordnet
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "CompEval needs Python 3.11 or newer; name one with make PYTHON=...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	tools/get-wordnet $(VENV)
	touch $@
