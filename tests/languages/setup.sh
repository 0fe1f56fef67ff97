#!/usr/bin/env bash
# Installs the toolchains that plugins are built with, outside the clone: in WITLET_TOOLS, or witlet/tools in the user's cache.
# Names of languages as arguments choose among them. Does nothing where everything is there. Each version is pinned by the
# template that uses it; what the book is made with is pinned here.
set -euo pipefail
cd "$(dirname "$0")/../.."

tools="${WITLET_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/witlet/tools}"
mdbook=0.5.4

say() { echo "languages: $*" >&2; }

# The hash over the files of a language's template that pin tools; `tests/languages/src/toolchain.rs` makes the same.
pinned() {
  (cd "plugins/sdk/templates/files/$1/common" &&
    find . \( -name node_modules -o -name .venv -o -name .tools \) -prune -o -type f \( -name Makefile -o -name '*.mk' \
      -o -name package.json -o -name package-lock.json -o -name requirements.txt \) -print |
    LC_ALL=C sort | xargs -r cat | sha256sum | cut -d' ' -f1)
}

# A language's tools, by the target `tools` of its template's Makefile.
language() {
  local name="$1" variable="$2" folder="$tools/$1" want
  want="$(pinned "$name")"
  if [ "$(cat "$folder/installed-from" 2>/dev/null)" = "$want" ]; then
    say "$name: already there"
    return
  fi
  mkdir -p "$folder"
  rm -f "$folder/installed-from"
  local began=$SECONDS
  say "$name: renewing $folder; the first time takes some minutes"
  # Cargo's output of one tool serves the next, and nothing of it is needed later.
  CARGO_TARGET_DIR="$tools/build" make -C "plugins/sdk/templates/files/$name/common" tools "$variable" >&2
  echo "$want" > "$folder/installed-from"
  say "$name: done after $((SECONDS - began)) s"
}

book() {
  if "$tools/bin/mdbook" --version 2>/dev/null | grep -qF "v$mdbook"; then
    say "the book's mdbook: already there"
    return
  fi
  say "the book: installing mdbook $mdbook"
  CARGO_TARGET_DIR="$tools/build" "${CARGO:-cargo}" install --locked --quiet --root "$tools" \
    --no-default-features --features search "mdbook@$mdbook" >&2
}

desired=("$@")
if [ $# = 0 ]; then desired=(rust c cpp python javascript go book); fi
for name in "${desired[@]}"; do
  case "$name" in
    rust) make --no-print-directory setup >&2 && say "rust: already there" ;;
    c) language c "TOOLS=$tools/c" ;;
    # The tools are those of C, in the same versions.
    cpp) language cpp "TOOLS=$tools/c" ;;
    python) language python "VENV=$tools/python/venv" ;;
    javascript) language javascript "NODE_MODULES=$tools/javascript/node_modules" ;;
    go) language go "TOOLS=$tools/go" ;;
    book) book ;;
    *) say "there is no language $name: rust, c, cpp, python, javascript, go, or book" && exit 2 ;;
  esac
done
rm -rf "$tools/build"
