# How an example is built and tested that is a crate of this repository's workspace: cargo does the most. The example's Makefile sets
# NAME and PACKAGE (and CASES), and includes this.

CARGO ?= cargo
WITLET ?= witlet
CASES ?= cases.yaml
CARGO_TARGET_DIR ?= ../../../../target
export CARGO_TARGET_DIR

SOURCES := Cargo.toml ../../../../Cargo.lock $(shell find src ../../../../plugins/sdk/guest ../../../../wit -type f)
BUILT := $(CARGO_TARGET_DIR)/wasm32-wasip2/guest/$(subst -,_,$(PACKAGE)).wasm

.PHONY: build test clean tools
.DEFAULT_GOAL := build

build: $(NAME).wasm

# Renamed into place: a daemon that uses it never sees half of it.
$(NAME).wasm: $(SOURCES)
	$(CARGO) build --quiet --locked --profile guest --target wasm32-wasip2
	@cp $(BUILT) $@.new && mv $@.new $@

test: build
	$(CARGO) test --quiet --locked
	$(WITLET) plugin test $(NAME).wasm --cases $(CASES)

# rust-toolchain.toml of the repository names the target, and rustup installs it at the first use.
tools:
	@test -d "$$(rustc --print target-libdir --target wasm32-wasip2)" || \
		{ echo "the target wasm32-wasip2 isn't installed: rustup target add wasm32-wasip2" >&2; exit 1; }

clean:
	rm -f $(NAME).wasm
