#!/usr/bin/env bash
# Records `make demo` as docs/demo.svg, a picture of a terminal: what the demo saw, and its last table of pods. Needs bash and awk.
set -euo pipefail
cd "$(dirname "$0")/.."

picture="docs/demo.svg"
seconds="${DEMO_SECONDS:-60}"
recorded="$(mktemp)"
trap 'rm -f "$recorded" "$recorded.lines" "$picture.new"' EXIT

DEMO_SECONDS="$seconds" make --silent demo | tee "$recorded"

# Tables before the last are left out: a table begins with its header and ends with an empty line or a finding.
awk '
  BEGIN { lines[++count] = "$ DEMO_SECONDS='"$seconds"' make demo" }
  /^NAMESPACE/ { table = ""; reading = 1 }
  reading && /^( |$|Saw)/ { reading = 0 }
  reading { table = table $0 "\n"; next }
  /^  ✓/ { lines[++count] = $0 }
  /^Saw/ { last = $0 }
  END {
    if (table == "" || last == "") { print "record-demo: the demo ended early" > "/dev/stderr"; exit 1 }
    lines[++count] = ""
    rows = split(table, row, "\n")
    for (i = 1; i < rows; i++) lines[++count] = row[i]
    lines[++count] = ""
    lines[++count] = last
    for (i = 1; i <= count; i++) print lines[i]
  }
' "$recorded" >"$recorded.lines"

# As SVG. bash counts characters, not bytes.
LC_ALL=C.UTF-8
shopt -u patsub_replacement 2>/dev/null || true # `&` in a replacement is itself
columns=124 left=16 top=58 step=18 row=0
body=""
while IFS= read -r line; do
  [ "${#line}" -le "$columns" ] || line="${line:0:columns-1}…"
  case "$line" in
    "$ "*) kind=command ;;
    "  ✓"*) kind=seen ;;
    NAMESPACE*) kind=header ;;
    *) kind=text ;;
  esac
  line="${line//&/&amp;}"
  line="${line//</&lt;}"
  line="${line//>/&gt;}"
  body+="  <text class=\"$kind\" x=\"$left\" y=\"$((top + row * step))\">$line</text>"$'\n'
  row=$((row + 1))
done <"$recorded.lines"
width=$((columns * 73 / 10 + 2 * left)) height=$((top + row * step))

cat >"$picture.new" <<SVG
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 $width $height" role="img" xml:space="preserve">
  <title>make demo: pods that run, crash, are rejected and wait</title>
  <style>
    text { font: 12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; white-space: pre; fill: #d4d4d4 }
    .command { fill: #ffffff; font-weight: bold } .header { fill: #9cdcfe } .seen { fill: #89d185 }
  </style>
  <rect width="$width" height="$height" rx="8" fill="#1e1e1e"/>
  <circle cx="22" cy="20" r="6" fill="#ff5f57"/><circle cx="42" cy="20" r="6" fill="#febc2e"/><circle cx="62" cy="20" r="6" fill="#28c840"/>
$body</svg>
SVG
mv "$picture.new" "$picture"
echo "Wrote $picture"
