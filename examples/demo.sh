#!/usr/bin/env bash
# The demo: a node agent on the embedded runtime, with pods that run, crash, are rejected and wait. `make demo` builds
# what it needs and calls it. Unattended (DEMO_SECONDS > 0) it exits 0 only if it saw everything that it announces.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds_max="${DEMO_SECONDS:-0}"
target="${CARGO_TARGET_DIR:-target}"
witlet="$target/debug/witlet"
components="$target/wasm32-wasip2/guest"

for built in "$witlet" "$components/no_latest_tag.wasm"; do
  if [ ! -e "$built" ]; then
    echo "$built isn't built yet: \`make demo\` builds everything and calls this." >&2
    exit 1
  fi
done

home="$(mktemp -d "${TMPDIR:-/tmp}/witlet-demo.XXXXXX")"
log="$home/witlet.log"
socket="$home/api.sock"
daemon=""

finish() {
  # Whatever happens now (a closed terminal, a reader that is gone), everything is stopped.
  trap - EXIT
  trap '' INT TERM HUP PIPE
  set +e
  if [ -n "$daemon" ] && kill -0 "$daemon" 2>/dev/null; then
    echo
    echo "Stopping: every pod gets its grace, then the runtime ends too."
    kill -TERM "$daemon" 2>/dev/null || true
    wait "$daemon" 2>/dev/null || true
  fi
  if [ "${1:-1}" = 0 ]; then
    rm -rf "$home"
  else
    echo "The daemon's log is $log"
  fi
  exit "${1:-1}"
}
trap 'finish 1' EXIT
trap 'finish 0' INT TERM HUP PIPE

# Manifests and plugin file, with the components next to them.
mkdir -p "$home/pods" "$home/images" "$home/logs"
cp "$components"/*.wasm "$home/images/"
cp "$components/no_latest_tag.wasm" "$components/not_before.wasm" "$home/"
cat >"$home/plugins.yaml" <<'YAML'
apiVersion: witlet.dev/v1alpha1
kind: PluginConfiguration
plugins:
  - name: no-latest-tag
    component: ./no_latest_tag.wasm
    admission: {order: 100, failurePolicy: Defer}
  - name: not-before
    component: ./not_before.wasm
    admission: {order: 110, failurePolicy: Defer}
YAML
cp examples/pods/*.yaml "$home/pods/"

echo "Starting witlet with examples/pods on the embedded runtime (log: $log)"
"$witlet" run --container-runtime-endpoint embedded --image-root "$home/images" \
  --pod-manifest-path "$home/pods" --plugins "$home/plugins.yaml" --node-name demo \
  --root-dir "$home/root" --pod-logs-dir "$home/logs" --api-socket "$socket" --stop-pods-on-exit \
  >"$log" 2>&1 &
daemon=$!
echo "Check it from another terminal: $witlet get pods --api-socket $socket"

pods() { "$witlet" get pods -o wide --api-socket "$socket" 2>/dev/null || true; }

# Sends a request to an address and prints the answer's body; needs nothing but bash.
fetch() {
  (
    exec 3<>"/dev/tcp/$1/$2" || exit 1
    printf 'GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$1" >&3
    timeout 3 cat <&3 | tail -n 1
  ) 2>/dev/null
}

declare -A seen=()
announce=(running address http crash growing rejected deferred admitted)
saw() {
  if [ -z "${seen[$1]:-}" ]; then
    seen[$1]=1
    echo "  ✓ $2"
  fi
}

last=""
check() {
  local table; table="$(pods)"
  [ -n "$table" ] || return 0
  # Ages change each second: a table is new if anything else did.
  local shape; shape="$(sed -E 's/[0-9]+(s|m|h)([0-9]+s)?//g; s/ +/ /g' <<<"$table")"
  if [ "$shape" != "$last" ]; then
    last="$shape"
    printf '\n%s\n' "$table"
  fi
  local line
  if line="$(grep -E '^default +http-demo .* Running ' <<<"$table")"; then
    saw running "http-demo is Running"
    local address; address="$(grep -oE '127\.88\.[0-9]+\.[0-9]+' <<<"$line" | head -n 1 || true)"
    if [ -n "$address" ]; then
      saw address "its address is $address"
      local answer; answer="$(fetch "$address" 8080 || true)"
      [ -z "$answer" ] || saw http "http://$address:8080/ answers: $answer"
    fi
  fi
  if line="$(grep -E '^default +crasher-demo .* CrashLoopBackOff ' <<<"$table")"; then
    saw crash "crasher-demo is in CrashLoopBackOff"
    grep -q 'back-off 10s' <<<"$line" && seen[delay10]=1
    if grep -q 'back-off 20s' <<<"$line" && [ -n "${seen[delay10]:-}" ]; then
      saw growing "its back-off grew from 10 s to 20 s"
    fi
  fi
  if line="$(grep -E '^default +latest-demo .* LatestTag ' <<<"$table")"; then
    saw rejected "latest-demo was rejected: $(sed -E 's/.*Pod was rejected: //' <<<"$line")"
  fi
  if line="$(grep -E '^default +later-demo .* Blocked ' <<<"$table")"; then
    saw deferred "later-demo is Blocked: $(sed -E 's/.*<none> +demo +//' <<<"$line")"
  fi
  if [ -n "${seen[deferred]:-}" ] && grep -qE '^default +later-demo .* (Running|Completed) ' <<<"$table"; then
    saw admitted "later-demo was admitted later and runs"
  fi
}

[ "$seconds_max" != 0 ] || echo "Ctrl-C ends it."
SECONDS=0
while [ "$seconds_max" = 0 ] || [ "$SECONDS" -lt "$seconds_max" ]; do
  if ! kill -0 "$daemon" 2>/dev/null; then
    echo "The daemon ended by itself:" >&2
    tail -n 20 "$log" >&2
    daemon=""
    finish 1
  fi
  check
  sleep 0.5
done

missing=()
for what in "${announce[@]}"; do [ -n "${seen[$what]:-}" ] || missing+=("$what"); done
if [ ${#missing[@]} -gt 0 ]; then
  echo "Not seen within ${seconds_max}s: ${missing[*]}" >&2
  finish 1
fi
echo
echo "Saw everything in ${SECONDS}s."
finish 0
