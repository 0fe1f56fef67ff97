#!/usr/bin/env bash
# Counts flaky tests: runs the cases of `make test` ROUNDS times beside a busy loop on each processor, and lists what failed how
# often. Cases with containerd and with languages' toolchains run in every fourth round. Exits with 1 if anything failed.
set -euo pipefail
cd "$(dirname "$0")/.."

rounds="${1:-20}"
cargo="${CARGO:-cargo}"
slow=(witlet-pod-life witlet-languages)
outer=(witlet-containerd-suite witlet-daemon-suite witlet-soak)
logs="$(mktemp -d "${TMPDIR:-/tmp}/witlet-flakes.XXXXXX")"
loops=()
trap 'kill "${loops[@]}" 2>/dev/null || true' EXIT

run() { # LOG EXCLUDED…
  local log="$1"
  shift
  "$cargo" test --locked --workspace --lib --bins --tests --no-fail-fast "${@/#/--exclude=}" >"$log" 2>&1 || true
}

"$cargo" test --locked --workspace --lib --bins --tests --no-run "${outer[@]/#/--exclude=}"
for _ in $(seq "$(nproc)"); do
  sh -c 'while :; do :; done' &
  loops+=("$!")
done
for round in $(seq "$rounds"); do
  began=$SECONDS
  if [ $((round % 4)) = 1 ]; then
    run "$logs/$round" "${outer[@]}"
  else
    run "$logs/$round" "${outer[@]}" "${slow[@]}"
  fi
  passed=$(grep -cE '^test .* \.\.\. +ok$' "$logs/$round" || true)
  failed=$(grep -cE '^test .* \.\.\. +FAILED$' "$logs/$round" || true)
  echo "round $round of $rounds: $passed passed, $failed failed, $((SECONDS - began)) s" >&2
  # A program that dies lists no case.
  if [ "$failed" = 0 ] && grep -q '^error' "$logs/$round"; then
    grep -m 3 '^error' "$logs/$round" | sed "s/^/round $round: /" >>"$logs/died"
  fi
done
found="$(cat "$logs"/[0-9]* | grep -E '^test .* \.\.\. +FAILED$' | sort | uniq -c | sort -rn || true)"
if [ -z "$found" ] && [ ! -e "$logs/died" ]; then
  echo "flakes: nothing failed in $rounds rounds"
  rm -r "$logs"
  exit 0
fi
printf 'flakes: failed so often in %s rounds (logs in %s):\n%s\n' "$rounds" "$logs" "$found"
cat "$logs/died" 2>/dev/null || true
exit 1
