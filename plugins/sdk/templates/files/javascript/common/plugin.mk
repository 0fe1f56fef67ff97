# How a plugin in TypeScript is built and tested. The project's Makefile sets NAME (and CASES) and includes this.
#
#   make            installs the pinned tools if they are missing, checks the types (tsc), builds $(NAME).wasm
#   make test       the same, unit tests, then the conformance kit
#   make watch      `make test`, and again whenever a source has changed; Ctrl-C ends
#   make check      the types alone
#   make unit       the unit tests alone
#   make types      makes types/ from wit/, for an editor; what needs them does so by itself whenever wit/ has changed
#   make tools      installs the pinned tools
#   make clean      removes what was built
#
# Variables: NODE_MODULES (where the tools are kept), WITLET (the program), KIT_FLAGS (more for the kit). Node.js must be 20 or
# newer: tools and unit tests run on it, the component has an engine of its own. A source may also be plain JavaScript: tsc
# takes .js files, too.

NODE_MODULES ?= node_modules
WITLET ?= witlet
CASES ?= cases.yaml

# The stamp is named by the pins, so that a folder with other versions is renewed and a copied project isn't.
TOOLS := $(NODE_MODULES)/.tools-$(firstword $(shell cksum <package-lock.json))
BIN := $(NODE_MODULES)/.bin
# Folders, too, which change when a source is removed; `test/.`, for `test` is a target.
SOURCES := $(shell find -L src/. test/. \( -type d -o -name '*.ts' -o -name '*.js' \) 2>/dev/null)
# Of what plugins have in common, where it is written.
SDK_TESTS := $(wildcard src/sdk/test/*.test.ts)
WIT := $(shell find -L wit -name '*.wit' 2>/dev/null)
# What the engine would import without need. Clocks and standard output are left to it: `Date` and `console` use them. Without `http`
# every interface of wasi:http is one that traps, also where the world imports it.
DISABLE := $(if $(foreach file,$(WIT),$(findstring import wasi:http/,$(file <$(file)))),,http) fetch-event random
NODE_IS_NEW := node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' || \
	{ echo "Node.js 20 or newer is needed" >&2; exit 1; }

# What the plugin is, for those who use it: `witlet plugin manifest` puts it into the component. Without the file nothing is put in.
MANIFEST := $(wildcard plugin.yaml)
embed_manifest = $(if $(MANIFEST),$(RUN_WITLET) plugin manifest $1 $(MANIFEST) >/dev/null)

.PHONY: build test check unit types tools clean
.DELETE_ON_ERROR:
.DEFAULT_GOAL := build

build: $(NAME).wasm

# Renamed into place: a daemon that uses it never sees half of it.
$(NAME).wasm: dist/checked dist/copied package-lock.json $(MANIFEST) | $(TOOLS)
	$(BIN)/componentize-js dist/src/plugin.js --wit dist/wit --world-name plugin --disable $(DISABLE) --out $@.new
	$(call embed_manifest,$@.new)
	@mv $@.new $@

# ---- The program witlet: what WITLET names or is on PATH, else what made this project, whose path `witlet plugin new` leaves here ----

MAKER := $(if $(filter-out witlet,$(WITLET)),,$(shell cat .witlet-path 2>/dev/null))
is_there = $(shell set -- $1; program=$$(command -v "$$1") && test -f "$$program" && test -x "$$program" && echo yes)
found_witlet = $(if $(call is_there,$(WITLET)),$(WITLET))
found_maker = $(if $(call is_there,$(MAKER)),$(warning witlet is not on PATH: using $(MAKER) that made this project)$(MAKER))
missing = $(if $(filter-out witlet,$(WITLET)),WITLET=$(WITLET) is no program,witlet is not on PATH$(if \
  $(MAKER), and $(MAKER) that made this project is gone))
find_witlet = $(or $(found_witlet),$(found_maker),$(error \
  $(missing): install it (`make install` in witlet's checkout) or set WITLET=/path/to/witlet))
# Looked for once.
RUN_WITLET = $(eval RUN_WITLET := $$(find_witlet))$(RUN_WITLET)

# The first thing of a test: without the program nothing is done.
.PHONY: witlet
witlet:
	@: $(RUN_WITLET)

# What `make watch` checks.
WATCHED = Makefile plugin.mk package.json package-lock.json tsconfig.json plugin.yaml src test wit cases $(CASES)

# ---- Again and again: `make watch` builds and tests, and does so again whenever what is watched has changed, until Ctrl-C ----

# Seconds between two checks of the files. Their contents count; what isn't there is passed over.
WATCH_SECONDS ?= 1

.PHONY: watch
watch: witlet
	@trap 'exit 0' HUP INT TERM; \
	fingerprint() { find -L $(WATCHED) -type f ! -name '.*' ! -name '*~' ! -name '*.pyc' -exec cksum {} + 2>/dev/null | sort | cksum; }; \
	while :; do \
	  seen=$$(fingerprint); \
	  if $(MAKE) --no-print-directory test; then echo "watch: passed"; else echo "watch: FAILED"; fi; \
	  echo "watch: waiting for a change, Ctrl-C ends"; \
	  while [ "$$(fingerprint)" = "$$seen" ]; do sleep $(WATCH_SECONDS); done; \
	done

test: witlet unit $(NAME).wasm
	$(RUN_WITLET) plugin test $(NAME).wasm --cases $(CASES) $(KIT_FLAGS)

check: dist/checked

# What passes is in dist, without its types.
dist/checked: $(SOURCES) tsconfig.json types/plugin.d.ts | $(TOOLS) node_modules
	rm -rf dist/src dist/test $@
	$(BIN)/tsc
	@touch $@

unit: dist/checked
	node --enable-source-maps --test --test-reporter=spec dist/test/*.test.js $(patsubst src/%.ts,dist/src/%.js,$(SDK_TESTS))

types: types/plugin.d.ts

types/plugin.d.ts: dist/copied package-lock.json | $(TOOLS)
	rm -rf types
	$(BIN)/jco guest-types dist/wit --world-name plugin --out-dir types --quiet
	@touch $@

# The tools don't follow links that lead out of the project.
dist/copied: $(WIT)
	rm -rf dist/wit && mkdir -p dist && cp -RL wit dist
	@touch $@

tools: $(TOOLS)

ifeq ($(NODE_MODULES),node_modules)
$(TOOLS):
	@$(NODE_IS_NEW)
	if [ -L node_modules ]; then rm node_modules; fi
	npm ci --no-audit --no-fund
	touch $@

node_modules: $(TOOLS)
else
$(TOOLS):
	@$(NODE_IS_NEW)
	mkdir -p $(NODE_MODULES)
	cp package.json package-lock.json $(dir $(NODE_MODULES))
	cd $(dir $(NODE_MODULES)) && npm ci --no-audit --no-fund
	touch $@

# The type checker looks for the types of Node.js in the project.
node_modules: | $(TOOLS)
	ln -s $(abspath $(NODE_MODULES)) $@
endif

clean:
	rm -rf $(NAME).wasm dist types
