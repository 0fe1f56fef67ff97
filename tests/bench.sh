#!/usr/bin/env bash
# Runs all benchmarks. Standard output has one JSON object a line (name, unit, value, floor, ratio, budget); everything
# else goes to standard error. Quote ratios within one run: shared machines are noisy.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo="${CARGO:-cargo}"

# Sizes of the components that ship.
"$cargo" test --locked -q --release -p witlet-plugins >&2

# The program as a package has it. A budget of this project; what isn't needed at each start is deflated.
size_max=60000000
program="$("$cargo" build --locked --quiet --release -p witlet --message-format json-render-diagnostics |
  sed -n 's|.*"executable":"\([^"]*/witlet\)".*|\1|p')"
if command -v strip >/dev/null; then
  stripped="$(mktemp)"
  strip -o "$stripped" "$program"
  size="$(stat -c %s "$stripped")"
  rm "$stripped"
  echo "{\"name\":\"stripped-program\",\"unit\":\"bytes\",\"value\":$size,\"budget\":$size_max}"
  if [ "$size" -gt "$size_max" ]; then
    echo "bench: the stripped program has $size bytes, at most $size_max are allowed" >&2
    exit 1
  fi
else
  echo "bench: strip (binutils) isn't installed, so the program's size was NOT measured" >&2
fi

# Functions: time and, where valgrind is there, instructions.
"$cargo" bench --locked -q -p witlet-core --bench decisions
if ! command -v valgrind >/dev/null; then
  echo "bench: valgrind isn't installed, so instructions were NOT counted" >&2
fi

# Plugin calls compared with their floor.
"$cargo" bench --locked -q -p witlet-wasm --bench plugins

# The example plugins of every language, which also rewrites a page of the book: needs `make languages`.
"$cargo" bench --locked -q -p witlet --bench languages

# The whole daemon on a runtime that answers at once.
"$cargo" bench --locked -q -p witlet --bench daemon_cost

# Many pods at once: the last line is one object of its own form.
"$cargo" bench --locked -q -p witlet --bench density

# What reading a node's figures costs, on containerd: the last line is one object of its own form.
"$cargo" bench --locked -q -p witlet --bench scrapes

# What each path of figures costs the processor, over real cgroups: needs root.
"$cargo" bench --locked -q -p witlet-server --bench scrape_cost
