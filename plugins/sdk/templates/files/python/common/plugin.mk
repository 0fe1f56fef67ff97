# How a plugin in Python is built and tested. The project's Makefile sets NAME (and CASES) and includes this.
#
#   make            installs the pinned tools if they are missing, builds $(NAME).wasm
#   make test       types (mypy), unit tests, then the conformance kit
#   make bindings   makes bindings/ anew from wit/: after a change of wit/world.wit
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

MODULES := $(wildcard *.py)
WIT := $(shell find -L wit -name '*.wit' 2>/dev/null)
# The stamp is named by the pins, so that a folder with other versions is renewed and a copied project isn't.
TOOLS := $(VENV)/.tools-$(firstword $(shell cksum <requirements.txt))
COMPONENTIZE := $(VENV)/bin/componentize-py --quiet --wit-path wit --world plugin

.PHONY: build test types unit bindings tools clean
.DELETE_ON_ERROR:
.DEFAULT_GOAL := build

build: $(NAME).wasm

# The interpreter is started while the component is made: what `app` imports then is in it, and nothing else.
$(NAME).wasm: $(MODULES) $(WIT) requirements.txt | $(TOOLS) bindings/wit_world/__init__.py
	VIRTUAL_ENV=$(abspath $(VENV)) RUST_BACKTRACE=0 $(COMPONENTIZE) componentize --python-path . app --output $@

# For mypy, editors and unit tests. The component gets its own.
bindings/wit_world/__init__.py: | $(TOOLS)
	$(MAKE) bindings

bindings: $(TOOLS)
	$(call make_bindings,bindings)

# The rest of what is generated is for asynchronous worlds.
define make_bindings
rm -rf $(1)
$(COMPONENTIZE) bindings $(1)
rm -rf $(addprefix $(1)/,componentize_py_async_support componentize_py_runtime.pyi poll_loop.py)
endef

test: types unit $(NAME).wasm
	$(WITLET) plugin test $(NAME).wasm --cases $(CASES)

types: bindings/wit_world/__init__.py | $(TOOLS)
	$(call make_bindings,.bindings)
	@diff --recursive --exclude=__pycache__ bindings .bindings || { echo "bindings isn't what wit says: make bindings" >&2; exit 1; }
	@rm -rf .bindings
	$(VENV)/bin/mypy

unit: bindings/wit_world/__init__.py | $(TOOLS)
	PYTHONPATH=.:bindings $(VENV)/bin/python -m unittest discover --start-directory tests

tools: $(TOOLS)

$(TOOLS):
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements.txt
	rm -f $(VENV)/.tools-* && touch $@

clean:
	rm -rf $(NAME).wasm .bindings .mypy_cache __pycache__
