#!/usr/bin/env bash
# Counts flaky tests: runs the cases of `make test` ROUNDS times next to LOAD busy loops, LANES rounds at once, and lists what failed
# how often. SUITES is a regular expression that chooses packages. Cases with containerd and with languages' toolchains run in every
# fourth round. MACHINE is a command that runs each test program on a poorer machine, such as `taskset -c 0`. Exits with 1 if
# anything failed.
set -euo pipefail

# As cargo's runner: writes down how cargo starts a test program, instead of starting it.
if [ "${1:-}" = --record ]; then
  shift
  {
    export -p | grep -E '^declare -x (CARGO|CARGO_MANIFEST_DIR|CARGO_MANIFEST_PATH|CARGO_PKG_NAME|CARGO_PKG_VERSION|PROPTEST_[A-Z_]*)='
    printf 'cd %q\nexec %q "$@"\n' "$PWD" "$1"
  } >"$WITLET_FLAKES_PROGRAMS/$CARGO_PKG_NAME.$(basename "$1")"
  exit 0
fi

cd "$(dirname "$0")/.."
rounds="${1:-20}"
lanes="${LANES:-4}"
load="${LOAD:-$(nproc)}"
suites="${SUITES:-.}"
read -ra machine <<<"${MACHINE:-}"
slow='^witlet-(pod-life|languages)'
logs="$(mktemp -d "${TMPDIR:-/tmp}/witlet-flakes.XXXXXX")"
started=()
trap 'kill "${started[@]}" 2>/dev/null || true' EXIT

# Rounds FIRST, FIRST + LANES and so on, one after the other.
lane() { # FIRST
  local round began program name log passed failed
  for round in $(seq "$1" "$lanes" "$rounds"); do
    began=$SECONDS
    mkdir "$logs/$round"
    for program in "$logs"/programs/*; do
      name="$(basename "$program")"
      if ! [[ "$name" =~ $suites ]]; then continue; fi
      if [[ "$name" =~ $slow ]] && [ $((round % 4)) != 1 ]; then continue; fi
      log="$logs/$round/$name"
      # A program that dies lists no case: it counts as one.
      ${machine[@]+"${machine[@]}"} bash "$program" >"$log" 2>&1 || grep -qE '^test .* \.\.\. +FAILED$' "$log" || echo "test $name ... FAILED" >>"$log"
      sed -E -i "s/^(test .* \.\.\. +FAILED)$/\1 (${name%%.*})/" "$log"
    done
    passed=$(cat "$logs/$round"/* | grep -cE '^test .* \.\.\. +ok$' || true)
    failed=$(cat "$logs/$round"/* | grep -cE '^test .* \.\.\. +FAILED ' || true)
    echo "round $round of $rounds: $passed passed, $failed failed, $((SECONDS - began)) s" >&2
  done
}

mkdir "$logs/programs"
export WITLET_FLAKES_PROGRAMS="$logs/programs"
"${CARGO:-cargo}" test --locked --workspace --exclude witlet-containerd-suite --exclude witlet-daemon-suite --exclude witlet-soak \
  --lib --bins --tests --config "target.'cfg(all())'.runner = ['$PWD/tests/flakes.sh', '--record']"
for _ in $(seq "$load"); do
  sh -c 'while :; do :; done' &
  started+=("$!")
done
running=()
for first in $(seq "$lanes"); do
  lane "$first" &
  started+=("$!")
  running+=("$!")
done
wait "${running[@]}"
found="$(cat "$logs"/[0-9]*/* | grep -E '^test .* \.\.\. +FAILED ' | sort | uniq -c | sort -rn || true)"
if [ -z "$found" ]; then
  echo "flakes: nothing failed in $rounds rounds"
  rm -r "$logs"
  exit 0
fi
printf 'flakes: failed so often in %s rounds (logs in %s):\n%s\n' "$rounds" "$logs" "$found"
exit 1
