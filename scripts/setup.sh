#!/usr/bin/env bash
# Makes .venv with the pinned packages and Caddis itself in editable mode.
#
# Needs Python 3.11 or newer with pip; $PYTHON chooses one. The stamp holds the text of what
# was installed from, so a second run returns at once unless that text has changed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

root=$(pwd -P)
venv=$root/.venv
stamp=$venv/installed-from
log=$venv/setup.log

recipe() { cat pyproject.toml constraints.txt; }

new_enough() {
  "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

# A .venv that was moved, or whose Python has gone, cannot be mended.
venv_is_sound() {
  new_enough "$venv/bin/python" && grep -qF "$venv" "$venv/pyvenv.cfg"
}

find_python() {
  local name
  for name in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
    if new_enough "$name"; then
      echo "$name"
      return
    fi
  done
  echo "Caddis needs Python 3.11 or newer: install it, or name it: make PYTHON=/path/to/python" >&2
  return 1
}

# Debian's Python may lack ensurepip; then the pip outside installs into the venv.
make_venv() {
  local python=$1
  if "$python" -c 'import ensurepip' 2>/dev/null; then
    "$python" -m venv --clear "$venv"
  else
    "$python" -m venv --clear --without-pip "$venv"
  fi
}

install() {
  local pip=("$venv/bin/python" -m pip)
  if ! "${pip[@]}" --version >/dev/null 2>&1; then
    pip=("$(find_python)" -m pip --python "$venv/bin/python")
  fi
  "${pip[@]}" install --disable-pip-version-check -c constraints.txt -e '.[connect,dev,images,lab]'
}

# On a terminal: how long it has taken, and what pip is doing now.
show_progress() {
  while sleep 1; do
    printf '\r\033[K  %d s  %s' "$SECONDS" "$(grep -v WARNING "$log" 2>/dev/null | tail -n 1 | cut -c 1-60)"
  done
}

if venv_is_sound && recipe | cmp -s - "$stamp"; then
  exit 0
fi

echo "Setting up .venv (the first time takes a few minutes) ..."
if ! venv_is_sound; then
  python=$(find_python)
  make_venv "$python"
fi
rm -f "$stamp"
if [ -t 1 ]; then
  show_progress &
  progress=$!
  trap 'kill "$progress" 2>/dev/null; printf "\r\033[K"' EXIT
fi
if ! install >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  echo "The packages could not be installed; the whole log is .venv/setup.log" >&2
  exit 1
fi
recipe >"$stamp"
