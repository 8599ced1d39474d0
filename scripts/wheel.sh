#!/usr/bin/env bash
# Builds a wheel that holds compiled kernels, for x86-64 with AVX2 and the Python of .venv: dist/.
#
# They are compiled from a copy of the sources, with a home of its own, so that nothing that was
# compiled before is taken for theirs. $OUT names another folder than dist.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

out=${OUT:-dist}
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir "$copy/sources" "$copy/home"
tar --create --exclude=__pycache__ --directory=src caddis | tar --extract --directory="$copy/sources"

env -u XDG_CACHE_HOME HOME="$copy/home" TMPDIR="$copy/home" PYTHONPATH="$copy/sources" \
  PYTHONDONTWRITEBYTECODE=1 CADDIS_CACHE_DIR="$copy/cache" \
  .venv/bin/python -c 'from caddis.cli import main; main()' warm --portable
CADDIS_KERNELS=$copy/cache/kernels .venv/bin/python -m pip wheel \
  --quiet --disable-pip-version-check --no-deps --wheel-dir "$out" .
ls "$out"/caddis-*.whl
