# How a plugin in Python is built and tested. The project's Makefile sets NAME (and CASES) and includes this.
#
#   make            installs the pinned tools if they are missing, builds $(NAME).wasm
#   make test       types (mypy), unit tests, then the conformance kit
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

bindings: bindings/wit_world/__init__.py

# For mypy, editors and unit tests. The component gets its own. What is removed is for asynchronous worlds.
bindings/wit_world/__init__.py: $(WIT) requirements.txt | $(TOOLS)
	rm -rf bindings
	$(COMPONENTIZE) bindings bindings
	rm -rf $(addprefix bindings/,componentize_py_async_support componentize_py_runtime.pyi poll_loop.py)
	@touch $@

test: types unit $(NAME).wasm
	$(WITLET) plugin test $(NAME).wasm --cases $(CASES)

types: bindings/wit_world/__init__.py | $(TOOLS)
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
	rm -rf $(NAME).wasm bindings .mypy_cache __pycache__
