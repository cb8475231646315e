# make demo    the pipeline on the embedded micro-world, ending in a report to look at
# make test    the tests
# Each target installs what it needs into .venv (tools/set-up); nothing else is to be installed by hand.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready-pipeline
TOOLS := $(VENV)/.ready-test
READERS := compeval.base.readers compeval.base.files.untrusted compeval.base.files.csv_tables compeval.base.storage.parquet \
	compeval.base.sources.unpack compeval.generators.llm.answers compeval.loaders.benchmarks compeval.loaders.importing compeval.loaders.published \
	compeval.loaders.own_data.entries compeval.loaders.datasets.stats compeval.loaders.datasets.verified compeval.evaluators.results.external \
	compeval.evaluators.results.documents compeval.evaluators.results.hub
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: demo test test-floors acceptance lint fuzz bench docs site clean setup

demo: $(READY)
	@$(BIN)/python tools/demo

test: $(TOOLS)
	pytest -m "not acceptance" -n 2 --dist worksteal

acceptance: $(TOOLS)
	pytest -m acceptance

# The oldest releases that pyproject.toml allows, in an environment of their own.
test-floors: $(TOOLS)
	tools/test-floors

lint: $(TOOLS)
	ruff check .
	ruff format --check .
	pyright

# Ten minutes on Linux, then the coverage of the readers; failing inputs are in build/fuzz-failures.
fuzz: $(TOOLS)
	$(PYTHON) tools/set-up test fuzz
	rm -rf build/fuzz-failures
	python -m tests.fuzz.readers build/fuzz tests/fuzz/corpus -max_total_time=600 -timeout=20 -rss_limit_mb=4096 -print_final_stats=1
	COMPEVAL_FUZZ_CORPUS=build/fuzz pytest -q tests/fuzz $(READERS:%=--cov=%) --cov-report=term
	test ! -e build/fuzz-failures

# All that need no argument.
bench: $(TOOLS)
	for script in $(filter-out bench/other_world.py bench/balanced_leaks.py bench/stand_in_models.py bench/masked_lm.py bench/recount_flaws.py bench/row_loop.py,$(wildcard bench/*.py)); do python -m bench.$$(basename $$script .py) || exit 1; done

docs: $(TOOLS)
	typer compeval.cli utils docs --name compeval --title "The command line" --output docs/cli.md
	PYTHONPATH=. python tools/list-benchmarks docs/benchmarks.md

# The documentation as a site, in build/site; warnings are errors.
site: docs
	NO_MKDOCS_2_WARNING=1 mkdocs build --quiet

clean:
	rm -rf $(VENV) code_digests data sources corpora walks annotations regions seen stats parts crepe demo aro retrieval classification compprompts compun
	rm -rf controlledimcaps minimal_pairs checkpoints results report report_full
	rm -rf validity.json text_only.json text_only.md text_only_aro.json text_only_aro.md
	rm -rf .dvc/cache .dvc/tmp build .pytest_cache .ruff_cache .hypothesis

setup: $(TOOLS)

$(READY): pyproject.toml uv.lock tools/set-up tools/get-wordnet
	$(PYTHON) tools/set-up

$(TOOLS): pyproject.toml uv.lock tools/set-up tools/get-wordnet
	$(PYTHON) tools/set-up test docs
