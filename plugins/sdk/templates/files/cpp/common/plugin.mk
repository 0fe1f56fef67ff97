# How a plugin in C++ is built and tested. The project's Makefile sets NAME (and CASES) and includes this.
#
#   make            installs what is missing of the pinned tools, builds $(NAME).wasm
#   make test       unit tests on this machine, then the conformance kit
#   make watch      `make test`, and again whenever a source has changed; Ctrl-C ends
#   make bindings   makes bindings/ from wit/, for an editor; a build does so by itself whenever wit/ has changed
#   make tools      installs all pinned tools
#   make clean      removes what was built
#
# Variables: TOOLS (where the tools are kept), WITLET (the program), KIT_FLAGS (for the kit), WASI_CC and WASI_CXX (other compilers, see
# README.md), HOST_CXX (the compiler of the unit tests).

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
ZIG := $(TOOLS)/zig/bin/python -m ziglang

# Any clang with a WASI sysroot and libc++: make WASI_CC="/opt/wasi-sdk/bin/clang --target=wasm32-wasip1" \
#   WASI_CXX="/opt/wasi-sdk/bin/clang++ --target=wasm32-wasip1 -Wl,--stack-first"
ifndef WASI_CXX
WASI_CC := $(ZIG) cc --target=wasm32-wasi
WASI_CXX := $(ZIG) c++ --target=wasm32-wasi
COMPILER := $(ZIG_STAMP)
endif

# Without exceptions on either side, so that what is tested is what runs: `throw` and `catch` don't compile.
FLAGS := -std=c++23 -fno-exceptions -Wall -Wextra -Werror
FLAGS_OF_C := -std=c17 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Werror
INCLUDES := -Ibindings -Isdk -Isrc
OPTIMISE := -O2 -fno-rtti -fno-threadsafe-statics

# What is in sdk/wasi calls WASI itself: it is part of the component, and unit tests have sdk/testing for it.
SOURCES := $(wildcard src/*.cpp)
WASM_OBJECTS := $(patsubst %.cpp,obj/wasm/%.o,$(SOURCES) $(wildcard sdk/wasi/*.cpp)) obj/wasm/bindings/plugin.o
# The host's part in unit tests, in C: what every plugin may call, and what the world names: witlet:PACKAGE/INTERFACE.
NAMED := $(patsubst witlet:%,%,$(filter witlet:%,$(subst @, ,$(shell cat wit/world.wit))))
USED := $(patsubst %/,%,$(dir $(NAMED))) $(subst /,-,$(NAMED))
FAKES := $(wildcard sdk/testing/c/*.c sdk/testing/fakes/*.c $(foreach used,$(USED),sdk/testing/fakes/$(used)/*.c))
TESTS := $(patsubst tests/%_test.cpp,obj/host/%_test,$(wildcard tests/*_test.cpp))
TEST_OBJECTS := $(patsubst %.cpp,obj/host/%.o,$(SOURCES) $(wildcard sdk/testing/*.cpp) $(filter-out %_test.cpp,$(wildcard tests/*.cpp))) \
  $(patsubst %.c,obj/host/%.o,$(FAKES))

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
	$(WASI_CXX) -O2 $(WASM_LINK) $^ -o $@

obj/wasm/%.o: %.cpp plugin.mk bindings/plugin.h | $(COMPILER)
	@mkdir -p $(@D)
	$(WASI_CXX) $(FLAGS) $(INCLUDES) $(OPTIMISE) -MMD -MP -c $< -o $@

obj/wasm/bindings/plugin.o: bindings/plugin.c plugin.mk | $(COMPILER)
	@mkdir -p $(@D)
	$(WASI_CC) -O2 -c $< -o $@

# ---- Bindings: made from wit/, and made again when it changes ----

WIT := $(shell find -L wit -name '*.wit')

bindings: bindings/plugin.h

# One call makes all three, and the header stands for them.
bindings/plugin.c bindings/plugin_component_type.o: bindings/plugin.h ;

bindings/plugin.h: $(WIT) $(WIT_BINDGEN_STAMP)
	$(TOOLS)/bin/wit-bindgen c wit --world plugin --autodrop-borrows yes --out-dir bindings
	@touch $@

# ---- Unit tests: the same sources, compiled for this machine, with fakes in place of the host ----

# The first compiler here whose library knows std::expected, else zig's.
HAS_EXPECTED := printf '\#include <version>\n\#ifndef __cpp_lib_expected\n\#error\n\#endif\n'
ifndef HOST_CXX
HOST_CXX := $(shell for cxx in c++ g++ clang++; do \
  $(HAS_EXPECTED) | $$cxx -std=c++23 -x c++ -E - >/dev/null 2>&1 && echo $$cxx && break; done 2>/dev/null)
ifeq ($(HOST_CXX),)
HOST_CXX := $(ZIG) c++
HOST_COMPILER := $(ZIG_STAMP)
endif
endif
SANITIZERS := -fsanitize=address,undefined -fno-sanitize-recover=all
# The sanitizers, where the compiler has them; found out once, when a test is built.
SANITIZE = $(eval SANITIZE := $(shell mkdir -p obj; echo 'int main() {}' >obj/try.cpp; \
  $(HOST_CXX) $(SANITIZERS) obj/try.cpp -o obj/try 2>/dev/null && echo $(SANITIZERS)))$(SANITIZE)

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
WATCHED = Makefile plugin.mk plugin.yaml sdk src tests wit cases $(CASES)

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
	$(HOST_CXX) $(SANITIZE) $^ -o $@

obj/host/%.o: %.cpp plugin.mk bindings/plugin.h | $(HOST_COMPILER)
	@mkdir -p $(@D)
	$(HOST_CXX) $(FLAGS) $(INCLUDES) -Itests -g $(SANITIZE) -MMD -MP -c $< -o $@

obj/host/%.o: %.c plugin.mk bindings/plugin.h | $(HOST_COMPILER)
	@mkdir -p $(@D)
	$(HOST_CXX) -x c $(FLAGS_OF_C) -Ibindings -Isdk/testing/c -g $(SANITIZE) -MMD -MP -c $< -o $@

-include $(wildcard $(WASM_OBJECTS:.o=.d) $(TEST_OBJECTS:.o=.d) obj/host/tests/*.d)

# ---- Tools: each in the version above, named by a stamp ----

tools: $(ZIG_STAMP) $(WASM_TOOLS_STAMP) $(WIT_BINDGEN_STAMP) $(ADAPTER)

$(ZIG_STAMP):
	@mkdir -p $(TOOLS) && rm -f $(TOOLS)/zig-*
	@echo "Fetching zig $(ZIG_VERSION), a C++ compiler, as the Python package ziglang (100 MB)"
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
