# Two commands do everything on a fresh machine with Python 3.11 or newer: `make demo` and `make test`.
PYTHON ?= python3
WORKERS ?= 2
BENCH ?= tests/benchmark
BIN := .venv/bin
UV := $(shell command -v uv 2>/dev/null || echo $(BIN)/uv)

# What is installed is compiled at once, and what is worked on when it is first run: half of a start would go into compiling it anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help env demo test kafka check fmt bench soak docs lock clean

help: ## show this help
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-7s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

env: .venv/.ready ## make the project's own environment in .venv

demo: .venv/.ready ## load a small shop day by day into .demo and show what the ledger knows; WAREHOUSE=s3://… keeps its tables there
	@$(BIN)/lakeledger demo --folder $(if $(WAREHOUSE),.demo-elsewhere --warehouse $(WAREHOUSE),.demo)

test: .venv/.ready ## run every test, on SQLite, PostgreSQL and Spark
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --durations=10

kafka: .venv/.ready ## run the tests that need a Kafka broker, which they fetch and start
	$(UV) pip install --quiet --python $(BIN)/python "confluent-kafka>=2.11"
	$(BIN)/python -m pytest tests/integration/test_kafka.py tests/integration/test_kafka_bus.py -m kafka

check: .venv/.ready ## lint, types, layers, and that the generated reference is current
	$(BIN)/ruff format --check src tests docs examples
	$(BIN)/ruff check src tests docs examples
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/reference.py --check

fmt: .venv/.ready ## format and fix what can be fixed
	$(BIN)/ruff format src tests docs examples
	$(BIN)/ruff check --fix src tests docs examples

bench: .venv/.ready ## measure, each figure beside the raw alternative in the same run; BASE=COMMIT measures that commit first, by its own benchmarks
	@$(if $(BASE),rm -rf .bench && git worktree prune && git worktree add --quiet --detach .bench $(BASE) && echo "$(BASE):")
	-$(if $(BASE),cd .bench && PYTHONPATH=$(CURDIR)/.bench/src $(CURDIR)/$(BIN)/python -m pytest $(BENCH) -m bench -q -s)
	@$(if $(BASE),echo "now:")
	$(BIN)/python -m pytest $(BENCH) -m bench -q -s

soak: .venv/.ready ## a storm of fifteen minutes on each database: kills, stops, restarts, with Spark writers; then every test, longer
	$(BIN)/python -m pytest tests/acceptance/test_chaos.py -m soak -q -s
	LAKELEDGER_TESTS_LONG=true $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --durations=10

docs: .venv/.ready ## generate docs/reference from the code
	$(BIN)/python docs/reference.py

lock: .venv/.ready ## pin every dependency anew in requirements.lock
	$(UV) pip compile pyproject.toml --extra all --extra connect --group dev --universal --python-version 3.11 --upgrade \
		--generate-hashes --no-emit-index-url --no-annotate --custom-compile-command "make lock" --quiet -o requirements.lock

clean: ## remove what these commands made
	rm -rf .venv .demo .demo-elsewhere .bench .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

.venv/.ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	@command -v uv >/dev/null || { $(PYTHON) -m venv .venv && $(BIN)/python -m pip install --quiet --disable-pip-version-check uv; }
	@command -v uv >/dev/null && uv venv --quiet --allow-existing --python "$$(command -v $(PYTHON))" .venv || true
	@echo "installing into .venv …"
	@$(UV) pip install --quiet --python $(BIN)/python --compile-bytecode --require-hashes -r requirements.lock
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	@$(BIN)/python -m compileall -q src
	@touch $@
