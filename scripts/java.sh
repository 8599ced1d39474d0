#!/usr/bin/env bash
# Checks that Spark will find Java 17 or newer: $JAVA_HOME's, else the PATH's, as Spark looks.
#
# If there is none, installs Debian's where apt-get and root (or sudo without a password)
# allow it; elsewhere says in one line what to install.
set -euo pipefail

wanted=17
needed="Caddis needs Java $wanted or newer"

java_version() { # prints the major version, or nothing
  local java=${JAVA_HOME:+$JAVA_HOME/bin/}java
  "$java" -version 2>&1 | sed -nE 's/^.* version "(1\.)?([0-9]+).*$/\2/p' | head -n 1
}

java_is_new_enough() {
  local version
  version=$(java_version || true)
  [[ -n $version && $version -ge $wanted ]]
}

as_root() {
  if [[ $(id -u) -eq 0 ]]; then
    "$@"
  else
    sudo -n "$@"
  fi
}

can_install() {
  command -v apt-get >/dev/null || return 1
  as_root true 2>/dev/null
}

# Newer Debians carry only a newer Java, under the name of default-jre-headless.
install_java() {
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq)
  as_root "${apt[@]}" update &&
    { as_root "${apt[@]}" install -y --no-install-recommends openjdk-17-jre-headless ||
      as_root "${apt[@]}" install -y --no-install-recommends default-jre-headless; }
}

if java_is_new_enough; then
  exit 0
fi
if [[ -n ${JAVA_HOME:-} ]]; then
  echo "$needed: JAVA_HOME ($JAVA_HOME) has none; point it at one, or unset it." >&2
  exit 1
fi
if can_install; then
  echo "Installing Java $wanted (openjdk-17-jre-headless) ..."
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  install_java >"$log" 2>&1 || tail -n 5 "$log" >&2
fi
if ! java_is_new_enough; then
  echo "$needed: install it (Debian, Ubuntu: apt-get install openjdk-17-jre-headless)." >&2
  exit 1
fi
