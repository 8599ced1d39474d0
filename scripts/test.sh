#!/usr/bin/env bash
# Every check, quickest first, stopping at the first that fails.
#
# The tests without Spark share the cores between processes; those with Spark come after
# them, in one process, around one session that has the machine to itself.
set -Eeuo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PATH="$PWD/.venv/bin:$PATH"

heading=
check() { # check HEADING COMMAND...
  heading=$1
  shift
  printf '\n==> %s\n' "$heading"
  "$@"
}
trap 'printf "\n==> failed: %s\n" "$heading" >&2' ERR

# Coverage is judged once, over both runs.
measured_pytest() {
  pytest --quiet --cov --cov-append --cov-report= --cov-fail-under=0 "$@"
}

check "style: ruff check" ruff check --quiet .
check "format: ruff format" ruff format --quiet --check .
check "types: mypy" mypy
check "imports: import-linter" lint-imports --no-logo

coverage erase
check "tests without Spark" \
  measured_pytest -m "not spark" -n auto --maxprocesses=8 --dist=worksteal src tests
check "tests with Spark" measured_pytest -m spark tests/spark src/caddis/pipeline
check "coverage" coverage report

printf '\n==> all checks passed\n'
