#!/usr/bin/env bash
# Every check, stopping at the first that fails: the quickest first, the others side by side.
#
# While mypy reads, the kernels are compiled, once for all processes.
# Then the tests with Spark run in one process around one session, and beside it those that mostly
# wait for processes of their own (brokers, clusters, a Connect server); the tests without Spark
# use the cores meanwhile, in several processes. What runs in the background is shown when it has
# ended.
set -Eeuo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PATH="$PWD/.venv/bin:$PATH"
# Dozens of processes would each compile every module that it imports, and every test.
unset PYTHONDONTWRITEBYTECODE
# Several processes share the cores already: threads of BLAS would only wait for each other.
export OPENBLAS_NUM_THREADS=1

heading=
words=$(mktemp -d)

check() { # check HEADING COMMAND...
  heading=$1
  shift
  printf '\n==> %s\n' "$heading"
  "$@"
}

# In a process group of its own, so that it can be ended whole, and does not ignore Ctrl-C, which
# tests send to themselves.
start() { # start NAME COMMAND...
  local name=$1
  shift
  set -m
  { trap - ERR; "$@"; } >"$words/$name" 2>&1 </dev/null & # `ended` names what failed
  set +m
  printf '%s\n' "$!" >"$words/$name.pid"
}

ended() { # ended NAME: waits for it, says what it said, and fails if it failed
  local status=0
  wait "$(<"$words/$1.pid")" || status=$?
  cat "$words/$1"
  return "$status"
}

leave() {
  local group
  for group in $(jobs -pr); do
    kill -- "-$group" 2>/dev/null || true
  done
  rm -rf "$words"
}
trap leave EXIT
trap 'printf "\n==> failed: %s\n" "$heading" >&2' ERR

# Two runs at once keep their measurements apart; coverage is judged over both.
measured_pytest() { # measured_pytest NAME ARGUMENTS...
  local file=build/coverage/$1
  shift
  COVERAGE_FILE=$file pytest --quiet --cov --cov-report= --cov-fail-under=0 "$@"
}

covered() {
  coverage combine --quiet build/coverage/spark build/coverage/apart build/coverage/plain
  coverage report
}

check "style: ruff check" ruff check --quiet .
check "format: ruff format" ruff format --quiet --check .
check "imports: import-linter" lint-imports --no-logo

start matching python -m tests.compiled matching
start ordering python -m tests.compiled ordering
check "types: mypy" mypy
check "kernels: matching" ended matching
start topics python -m tests.compiled topics
check "kernels: ordering" ended ordering
check "kernels: overlay" python -m tests.compiled overlay
check "kernels: sealed" python -m tests.compiled sealed
check "kernels: topics" ended topics

rm -rf build/coverage
mkdir -p build/coverage
apart=(tests/spark/overlay tests/spark/test_clusters.py tests/spark/test_connect.py)
commands=(
  tests/spark/test_cli.py::test_a_mistake_that_only_a_worker_sees_makes_no_noise
  tests/spark/test_cli.py::test_ctrl_c_ends_a_stream_cleanly_with_what_it_did
)
start apart measured_pytest apart -m spark "${apart[@]}" "${commands[@]}"
start spark measured_pytest spark -m spark "${apart[@]/#/--ignore=}" "${commands[@]/#/--deselect=}" \
  tests/spark src/caddis/spark
check "tests without Spark" \
  measured_pytest plain -m "not spark" -n auto --maxprocesses=8 --dist=worksteal src tests
check "tests with Spark" ended spark
check "tests with Spark and other processes" ended apart
check "coverage" covered

printf '\n==> all checks passed\n'
