# How a plugin in C is built and tested. The project's Makefile sets NAME (and CASES) and includes this.
#
#   make            installs what is missing of the pinned tools, builds $(NAME).wasm
#   make test       unit tests on this machine, then the conformance kit
#   make watch      `make test`, and again whenever a source has changed; Ctrl-C ends
#   make bindings   makes bindings/ from wit/, for an editor; a build does so by itself whenever wit/ has changed
#   make tools      installs all pinned tools
#   make clean      removes what was built
#
# Variables: TOOLS (where the tools are kept), WITLET (the program), KIT_FLAGS (for the kit), WASI_CC (another compiler, see
# README.md), HOST_CC (the compiler of the unit tests).

ZIG_VERSION := 0.17.0
WIT_BINDGEN_VERSION := 0.61.1
WASM_TOOLS_VERSION := 1.258.0
# The crate wasi-preview1-component-adapter-provider, which has the adapter of the Wasmtime release of this version.
ADAPTER_VERSION := 48.0.8

TOOLS ?= .tools
WITLET ?= witlet
CASES ?= cases.yaml
PYTHON ?= python3

ZIG_STAMP := $(TOOLS)/zig-$(ZIG_VERSION)
WIT_BINDGEN_STAMP := $(TOOLS)/wit-bindgen-$(WIT_BINDGEN_VERSION)
WASM_TOOLS_STAMP := $(TOOLS)/wasm-tools-$(WASM_TOOLS_VERSION)
ADAPTER := $(TOOLS)/wasi_snapshot_preview1.reactor-$(ADAPTER_VERSION).wasm
ZIG_CC := $(TOOLS)/zig/bin/python -m ziglang cc

# Any clang with a WASI sysroot: make WASI_CC="/opt/wasi-sdk/bin/clang --target=wasm32-wasip1 -Wl,--stack-first"
ifndef WASI_CC
WASI_CC := $(ZIG_CC) --target=wasm32-wasi
COMPILER := $(ZIG_STAMP)
endif

WARNINGS := -std=c17 -Wall -Wextra -Werror
DEFINES := -D_POSIX_C_SOURCE=200809L
INCLUDES := -Ibindings -Ilib -Isrc -Iwasi -Isdk

# What is in wasi/ calls WASI itself: it is part of the component, and unit tests have fakes for it.
SOURCES := $(wildcard src/*.c) lib/json.c
WASM_OBJECTS := $(patsubst %.c,obj/wasm/%.o,$(SOURCES) $(wildcard wasi/*.c) bindings/plugin.c)
# The host's part in unit tests: what every plugin may call, and what the world names: witlet:PACKAGE/INTERFACE.
NAMED := $(patsubst witlet:%,%,$(filter witlet:%,$(subst @, ,$(shell cat wit/world.wit))))
USED := $(patsubst %/,%,$(dir $(NAMED))) $(subst /,-,$(NAMED))
FAKES := lib/fake.c $(wildcard sdk/fakes/*.c $(foreach used,$(USED),sdk/fakes/$(used)/*.c))
TESTS := $(patsubst tests/%_test.c,obj/host/%_test,$(wildcard tests/*_test.c))
TEST_OBJECTS := $(patsubst %.c,obj/host/%.o,$(SOURCES) $(FAKES) $(filter-out %_test.c,$(wildcard tests/*.c)))

# What the plugin is, for those who use it: `witlet plugin manifest` puts it into the component. Without the file nothing is put in.
MANIFEST := $(wildcard plugin.yaml)
embed_manifest = $(if $(MANIFEST),$(RUN_WITLET) plugin manifest $1 $(MANIFEST) >/dev/null)

.PHONY: build test unit bindings tools clean
.DELETE_ON_ERROR:
.SECONDARY:
.DEFAULT_GOAL := build

build: $(NAME).wasm

# ---- The component ----

# 64 KiB of stack: zig's own default is 16 MiB, which is all the memory that a plugin is given. It lies below the data (zig
# does that by itself), so that a stack which is full traps and overwrites nothing. Debug information, most of it the C library's, is
# twenty times as large as the code.
WASM_LINK := -mexec-model=reactor -Wl,-z,stack-size=65536 -Wl,--strip-debug

# Renamed into place: a daemon that uses it never sees half of it.
$(NAME).wasm: obj/wasm/core.wasm $(MANIFEST) | $(ADAPTER) $(WASM_TOOLS_STAMP)
	$(TOOLS)/bin/wasm-tools component new obj/wasm/core.wasm --adapt wasi_snapshot_preview1=$(ADAPTER) -o $@.new
	$(call embed_manifest,$@.new)
	@mv $@.new $@

obj/wasm/core.wasm: $(WASM_OBJECTS) bindings/plugin_component_type.o
	$(WASI_CC) -O2 $(WASM_LINK) $^ -o $@

obj/wasm/%.o: %.c lib/plugin.mk bindings/plugin.h | $(COMPILER)
	@mkdir -p $(@D)
	$(WASI_CC) $(WARNINGS) $(DEFINES) $(INCLUDES) -O2 -MMD -MP -c $< -o $@

# ---- Bindings: made from wit/, and made again when it changes ----

WIT := $(shell find -L wit -name '*.wit')

bindings: bindings/plugin.h

# One call makes all three, and the header stands for them.
bindings/plugin.c bindings/plugin_component_type.o: bindings/plugin.h ;

bindings/plugin.h: $(WIT) $(WIT_BINDGEN_STAMP)
	$(TOOLS)/bin/wit-bindgen c wit --world plugin --autodrop-borrows yes --out-dir bindings
	@touch $@

# ---- Unit tests: the same sources, compiled for this machine, with fakes in place of the host ----

ifndef HOST_CC
HOST_CC := $(shell command -v cc || command -v gcc || command -v clang)
ifeq ($(HOST_CC),)
HOST_CC := $(ZIG_CC)
HOST_COMPILER := $(ZIG_STAMP)
endif
endif
SANITIZERS := -fsanitize=address,undefined -fno-sanitize-recover=all
# The sanitizers, where the compiler has them; found out once, when a test is built.
SANITIZE = $(eval SANITIZE := $(shell mkdir -p obj; echo 'int main(void) { return 0; }' >obj/try.c; \
  $(HOST_CC) $(SANITIZERS) obj/try.c -o obj/try 2>/dev/null && echo $(SANITIZERS)))$(SANITIZE)

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
WATCHED = Makefile plugin.yaml lib sdk src tests wasi wit cases $(CASES)

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

unit: $(TESTS)
	@for test in $(TESTS); do $$test || exit 1; done

obj/host/%_test: obj/host/tests/%_test.o $(TEST_OBJECTS)
	$(HOST_CC) $(SANITIZE) $^ -o $@

obj/host/%.o: %.c lib/plugin.mk bindings/plugin.h | $(HOST_COMPILER)
	@mkdir -p $(@D)
	$(HOST_CC) $(WARNINGS) $(DEFINES) $(INCLUDES) -Itests -g $(SANITIZE) -MMD -MP -c $< -o $@

-include $(wildcard $(WASM_OBJECTS:.o=.d) $(TEST_OBJECTS:.o=.d) obj/host/tests/*.d)

# ---- Tools: each in the version above, named by a stamp ----

tools: $(ZIG_STAMP) $(WASM_TOOLS_STAMP) $(WIT_BINDGEN_STAMP) $(ADAPTER)

$(ZIG_STAMP):
	@mkdir -p $(TOOLS) && rm -f $(TOOLS)/zig-*
	@echo "Fetching zig $(ZIG_VERSION), a C compiler, as the Python package ziglang (100 MB)"
	$(PYTHON) -m venv $(TOOLS)/zig
	$(TOOLS)/zig/bin/pip install --quiet --disable-pip-version-check ziglang==$(ZIG_VERSION)
	@touch $@

$(WASM_TOOLS_STAMP):
	@mkdir -p $(TOOLS) && rm -f $(TOOLS)/wasm-tools-*
	@case "$$($(TOOLS)/bin/wasm-tools --version 2>/dev/null)" in "wasm-tools $(WASM_TOOLS_VERSION)"*) ;; \
	  *) echo "Compiling wasm-tools $(WASM_TOOLS_VERSION) with cargo: takes minutes, once" && \
	    cargo install --locked --root $(TOOLS) --version $(WASM_TOOLS_VERSION) --no-default-features --features component wasm-tools;; esac
	@touch $@

$(WIT_BINDGEN_STAMP):
	@mkdir -p $(TOOLS) && rm -f $(TOOLS)/wit-bindgen-*
	@case "$$($(TOOLS)/bin/wit-bindgen --version 2>/dev/null)" in *" $(WIT_BINDGEN_VERSION)"*) ;; \
	  *) echo "Compiling wit-bindgen $(WIT_BINDGEN_VERSION) with cargo: takes minutes, once" && \
	    cargo install --locked --root $(TOOLS) --version $(WIT_BINDGEN_VERSION) --no-default-features --features c wit-bindgen-cli;; esac
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
	rm -rf obj bindings $(NAME).wasm
