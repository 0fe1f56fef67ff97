# How a plugin in JavaScript is built and tested. The project's Makefile sets NAME (and CASES) and includes this.
#
#   make            installs the pinned tools if they are missing, builds $(NAME).wasm
#   make test       types (tsc), unit tests, then the conformance kit
#   make types      makes types/ from wit/, for an editor; `make test` does so by itself whenever wit/ has changed
#   make tools      installs the pinned tools
#   make clean      removes what was built
#
# Variables: NODE_MODULES (where the tools are kept), WITLET (the program), KIT_FLAGS (more for the kit). Node.js must be 20 or
# newer: tools and unit tests run on it, the component has an engine of its own.

NODE_MODULES ?= node_modules
WITLET ?= witlet
CASES ?= cases.yaml

# The stamp is named by the pins, so that a folder with other versions is renewed and a copied project isn't.
TOOLS := $(NODE_MODULES)/.tools-$(firstword $(shell cksum <package-lock.json))
BIN := $(NODE_MODULES)/.bin
SOURCES := $(wildcard src/*.js)
WIT := $(shell find -L wit -name '*.wit' 2>/dev/null)
# What the engine would import without need. Clocks and standard output are left to it: `Date` and `console` use them.
DISABLE := http fetch-event random
NODE_IS_NEW := node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' || \
	{ echo "Node.js 20 or newer is needed" >&2; exit 1; }

.PHONY: build test check unit types tools clean
.DELETE_ON_ERROR:
.DEFAULT_GOAL := build

build: $(NAME).wasm

$(NAME).wasm: dist/copied package-lock.json | $(TOOLS)
	$(BIN)/componentize-js dist/src/plugin.js --wit dist/wit --world-name plugin --disable $(DISABLE) --out $@

# The tools don't follow links that lead out of the project.
dist/copied: $(SOURCES) $(WIT)
	rm -rf dist/src dist/wit && mkdir -p dist && cp -RL src wit dist
	touch $@

test: check unit $(NAME).wasm
	$(WITLET) plugin test $(NAME).wasm --cases $(CASES) $(KIT_FLAGS)

check: types/plugin.d.ts dist/copied | $(TOOLS) node_modules
	$(BIN)/tsc

unit: | $(TOOLS)
	node --test --test-reporter=spec test/*.test.js

types: types/plugin.d.ts

types/plugin.d.ts: $(WIT) package-lock.json | dist/copied $(TOOLS)
	rm -rf types
	$(BIN)/jco guest-types dist/wit --world-name plugin --out-dir types --quiet
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
