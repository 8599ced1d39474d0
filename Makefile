# Every target sets up what it needs; a second run reuses it. `make` alone prints this list.

PYTHON_IN_VENV := .venv/bin/python

.DEFAULT_GOAL := help
.PHONY: help setup java demo test test-long bench wheel format clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: setup java ## match a city's marketplace, then a stream of photos with a contact sheet
	@.venv/bin/caddis demo both --out build/contact-sheet.html

test: setup java ## run every check: style, types, imports, tests, coverage
	@scripts/test.sh

test-long: setup java ## the same, with every random test repeated until it finds what is rare
	@CADDIS_TEST_LONG=1 scripts/test.sh

bench: setup java ## print the benchmark's table of ratios
	@$(PYTHON_IN_VENV) bench/matching.py

wheel: setup ## build a wheel that holds compiled kernels
	@scripts/wheel.sh

format: setup ## put the code into shape
	@.venv/bin/ruff check --fix --quiet .
	@.venv/bin/ruff format --quiet .

setup: ## make .venv and install the pinned packages
	@scripts/setup.sh

java: ## check that Java 17 or newer is there
	@scripts/java.sh

clean: ## remove everything that the other targets made
	@rm -rf .venv build dist .coverage .coverage.* .hypothesis .import_linter_cache \
		.mypy_cache .pytest_cache .ruff_cache spark-warehouse metastore_db derby.log
	@find src tests bench -type d -name __pycache__ -prune -exec rm -rf {} +
