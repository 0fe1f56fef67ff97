# How a plugin in Python is built and tested. The project's Makefile sets NAME (and CASES) and includes this.
#
#   make            installs the pinned tools if they are missing, builds $(NAME).wasm
#   make test       types (mypy), unit tests, then the conformance kit
#   make watch      `make test`, and again whenever a source has changed; Ctrl-C ends
#   make bindings   makes bindings/ from wit/, for an editor; a build does so by itself whenever wit/ has changed
#   make tools      installs the pinned tools
#   make clean      removes what was built
#
# Variables: VENV (where the tools are kept), WITLET (the program), PYTHON (3.11 or newer, for tools and unit tests; the
# component has an interpreter of its own).

VENV ?= .venv
WITLET ?= witlet
PYTHON ?= python3
CASES ?= cases.yaml

export PYTHONDONTWRITEBYTECODE := 1

# What plugins have in common; its own tests are run where it is written.
SDK := $(wildcard sdk)
MODULES := $(wildcard *.py $(addsuffix /*.py,$(SDK)))
WIT := $(shell find -L wit -name '*.wit' 2>/dev/null)
# The stamp is named by the pins, so that a folder with other versions is renewed and a copied project isn't.
TOOLS := $(VENV)/.tools-$(firstword $(shell cksum <requirements.txt))
COMPONENTIZE := $(VENV)/bin/componentize-py --quiet --wit-path wit --world plugin

# What the plugin is, for those who use it: `witlet plugin manifest` puts it into the component. Without the file nothing is put in.
MANIFEST := $(wildcard plugin.yaml)
embed_manifest = $(if $(MANIFEST),$(RUN_WITLET) plugin manifest $1 $(MANIFEST) >/dev/null)

.PHONY: build test types unit bindings tools clean
.DELETE_ON_ERROR:
.DEFAULT_GOAL := build

build: $(NAME).wasm

# The interpreter is started while the component is made: what `app` imports then is in it, and nothing else.
# Renamed into place: a daemon that uses it never sees half of it.
$(NAME).wasm: $(MODULES) $(WIT) $(MANIFEST) requirements.txt | $(TOOLS) bindings/wit_world/__init__.py
	VIRTUAL_ENV=$(abspath $(VENV)) RUST_BACKTRACE=0 $(COMPONENTIZE) componentize $(addprefix --python-path ,. $(SDK)) app --output $@.new
	$(call embed_manifest,$@.new)
	@mv $@.new $@

bindings: bindings/wit_world/__init__.py

# For mypy, editors and unit tests. The component gets its own. What is removed is for asynchronous worlds.
bindings/wit_world/__init__.py: $(WIT) requirements.txt | $(TOOLS)
	rm -rf bindings
	$(COMPONENTIZE) bindings bindings
	rm -rf $(addprefix bindings/,componentize_py_async_support componentize_py_runtime.pyi poll_loop.py)
	@touch $@

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
WATCHED = Makefile plugin.mk pyproject.toml requirements.txt *.py plugin.yaml sdk tests wit cases $(CASES)

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

test: witlet types unit $(NAME).wasm
	$(RUN_WITLET) plugin test $(NAME).wasm --cases $(CASES)

types: bindings/wit_world/__init__.py | $(TOOLS)
	$(VENV)/bin/mypy

unit: bindings/wit_world/__init__.py | $(TOOLS)
	$(foreach tests,tests $(wildcard sdk/tests),PYTHONPATH=.:sdk:bindings $(VENV)/bin/python -m unittest discover --start-directory $(tests) &&) true

tools: $(TOOLS)

$(TOOLS):
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements.txt
	rm -f $(VENV)/.tools-* && touch $@

clean:
	rm -rf $(NAME).wasm bindings .mypy_cache __pycache__
