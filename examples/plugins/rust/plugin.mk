# How an example is built and tested that is a crate of this repository's workspace: cargo does the most. The example's Makefile sets
# NAME and PACKAGE (and CASES), and includes this.

CARGO ?= cargo
WITLET ?= witlet
CASES ?= cases.yaml
CARGO_TARGET_DIR ?= ../../../../target
export CARGO_TARGET_DIR

SOURCES := Cargo.toml ../../../../Cargo.lock $(shell find src ../../../../plugins/sdk/base ../../../../plugins/sdk/guest ../../../../plugins/sdk/guest-0.2 ../../../../wit -type f)
BUILT := $(CARGO_TARGET_DIR)/wasm32-wasip2/guest/$(subst -,_,$(PACKAGE)).wasm

# What the plugin is, for those who use it: `witlet plugin manifest` puts it into the component. Without the file nothing is put in.
MANIFEST := $(wildcard plugin.yaml)
embed_manifest = $(if $(MANIFEST),$(RUN_WITLET) plugin manifest $1 $(MANIFEST) >/dev/null)

.PHONY: build test clean tools
.DEFAULT_GOAL := build

build: $(NAME).wasm

# Renamed into place: a daemon that uses it never sees half of it.
$(NAME).wasm: $(SOURCES) $(MANIFEST)
	$(CARGO) build --quiet --locked --profile guest --target wasm32-wasip2
	@cp $(BUILT) $@.new
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

test: witlet build
	$(CARGO) test --quiet --locked
	$(RUN_WITLET) plugin test $(NAME).wasm --cases $(CASES)

# rust-toolchain.toml of the repository names the target, and rustup installs it at the first use.
tools:
	@test -d "$$(rustc --print target-libdir --target wasm32-wasip2)" || \
		{ echo "the target wasm32-wasip2 isn't installed: rustup target add wasm32-wasip2" >&2; exit 1; }

clean:
	rm -f $(NAME).wasm
