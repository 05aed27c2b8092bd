# One command per habit. Everything runs in .venv, which each target makes on demand.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Many tests start processes, which load modules faster once their bytecode is written.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n auto --maxprocesses 4 --dist worksteal
.DEFAULT_GOAL := help
.PHONY: lock help demo test test-nojit test-all fuzz fuzz-release test-lowest test-newest lint audit bench bench-index bench-service bench-spark docs wheel clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(BIN)/.core: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("neardup needs Python 3.11 or newer; try: make PYTHON=python3.12 ..." if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing neardup and what it needs into $(VENV) ..."
	@$(BIN)/pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(BIN)/.test: $(BIN)/.core
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[test]'
	@$(BIN)/python -c 'from neardup.engines.spark.session.session import ensure_java as java; java()' 2>/dev/null \
	|| { echo "No Java 17 or newer: installing one into $(VENV) for the tests of the Spark engine ..."; \
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[java]'; } \
	|| echo "No package with Java for this machine: the tests of the Spark engine will be skipped."
	@for name in chromium chromium-browser google-chrome google-chrome-stable; do command -v $$name; done | grep -q . \
	|| { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	&& echo "No Chromium: installing the Debian package for the tests of pages ..." \
	&& DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium >/dev/null; } \
	|| echo "No Chromium or Chrome, and no right to install one: the tests of pages in a browser will be skipped."
	@touch $@

$(BIN)/.lint: $(BIN)/.test
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[lint]'
	@touch $@

demo: $(BIN)/.core  ## find the near-duplicates among the bundled examples
	@rm -rf demo-output
	@echo '$$ neardup dedup examples/articles.jsonl -o demo-output'
	@$(BIN)/neardup dedup examples/articles.jsonl -o demo-output
	@echo && echo '$$ neardup compare examples/harbour.txt examples/harbour-syndicated.txt'
	@$(BIN)/neardup compare examples/harbour.txt examples/harbour-syndicated.txt
	@echo && echo 'The record of the run is demo-output/report.json; docs/tutorial.md continues from here.'

test: $(BIN)/.test  ## the suite, without what is marked slow
	$(PYTEST) -m 'not slow'

test-nojit: $(BIN)/.test  ## the tests of the kernels as plain Python, without the compiler
	NUMBA_DISABLE_JIT=1 NEARDUP_EXAMPLES=20 $(PYTEST) tests/kernels

test-all: $(BIN)/.test test-nojit  ## the whole suite
	NEARDUP_EXAMPLES=100 $(PYTEST)

fuzz: $(BIN)/.test  ## hostile inputs for every reader: make fuzz ARGS='jsonl --inputs 1000000'
	$(BIN)/python tools/fuzz.py $(ARGS)

fuzz-release: $(BIN)/.test  ## 1,000,000 hostile inputs for every target, before a release: some hours
	$(BIN)/python tools/fuzz.py --inputs 1000000

LOWEST := .venv-lowest
test-lowest:  ## a part of the suite with the lowest versions that pyproject.toml allows
	@test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	$(PYTHON) tools/version_bounds.py > $(LOWEST)/lowest.txt
	$(LOWEST)/bin/pip install --quiet --disable-pip-version-check -e '.[stem]' pytest hypothesis -c $(LOWEST)/lowest.txt
	PYTHONDONTWRITEBYTECODE= $(LOWEST)/bin/python -m pytest -q -m 'not slow' tests/stages tests/kernels tests/documents/test_jsonl.py

NEWEST := .venv-newest
test-newest:  ## the same with the newest versions
	@test -x $(NEWEST)/bin/python || $(PYTHON) -m venv $(NEWEST)
	$(NEWEST)/bin/pip install --quiet --disable-pip-version-check --upgrade -e '.[stem]' pytest hypothesis
	PYTHONDONTWRITEBYTECODE= $(NEWEST)/bin/python -m pytest -q -m 'not slow' tests/stages tests/kernels tests/documents/test_jsonl.py

lint: $(BIN)/.lint  ## ruff, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

LOCK := .venv-lock
lock:  ## rewrite requirements-dev.lock and docs/licences.md from an environment made for it
	$(PYTHON) -m venv --clear $(LOCK)
	$(LOCK)/bin/pip install --quiet --disable-pip-version-check -e '.[test,lint,trafilatura,java]' packaging
	$(LOCK)/bin/python tools/dependencies.py

audit: $(BIN)/.core  ## known vulnerabilities of the installed packages (pip-audit; its data is at pypi.org)
	@test -x $(VENV)/audit/bin/pip-audit || { $(PYTHON) -m venv $(VENV)/audit && $(VENV)/audit/bin/pip install --quiet --disable-pip-version-check pip-audit; }
	$(VENV)/audit/bin/pip-audit --strict --skip-editable --path $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')

bench: $(BIN)/.core  ## ours beside the peers, in one run (benchmarks/README.md)
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/matcher.py
	$(BIN)/python benchmarks/matcher.py --documents 1000000 --repeats 1

bench-index: $(BIN)/.core  ## the index beside the peers' indexes: make bench-index ARGS='--documents 1000000'
	$(BIN)/python benchmarks/index.py $(ARGS)

bench-service: $(BIN)/.test  ## the service under load, beside datasketch and FastAPI: make bench-service ARGS='--documents 1000000'
	$(BIN)/python benchmarks/service.py $(ARGS)

bench-spark: $(BIN)/.test  ## the Spark engine beside MLlib and the local engine (needs Java 17)
	@mkdir -p benchmarks/work/corpus
	@test -f benchmarks/work/corpus/100k.parquet || $(BIN)/python benchmarks/generate.py --documents 100000 -o benchmarks/work/corpus/100k.parquet
	$(BIN)/python benchmarks/spark.py benchmarks/work/corpus/100k.parquet --mllib
	$(BIN)/python benchmarks/spark_model.py

$(BIN)/.docs: $(BIN)/.core
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@

docs: $(BIN)/.docs  ## rewrite the reference pages, and build the documentation with search in site/
	$(BIN)/python docs/generate.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo 'The documentation is in site/index.html; search needs a server: python -m http.server -d site'

wheel: $(BIN)/.core  ## a wheel for this platform with compiled kernels, in dist/: a first run then compiles nothing
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[html]'
	$(BIN)/python tools/compile_kernels.py
	$(BIN)/python tools/compile_kernels.py --check
	$(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps -w dist .
	rm -rf src/neardup/kernels/compiled
	@ls -l dist

clean:  ## remove what the other targets made
	rm -rf $(VENV) $(LOWEST) $(NEWEST) $(LOCK) dist src/neardup/kernels/compiled site demo-output fuzz-findings benchmarks/work .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
