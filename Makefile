# The commands of the project. `make help` lists them.

CARGO ?= cargo
WASM_TARGET := wasm32-wasip2
# How long the demo runs unattended; 0 means until Ctrl-C.
DEMO_SECONDS ?= 0
# How long the soak goes on in each of its suites.
SOAK_SECONDS ?= 600
# How many random cases the soak tries of each property.
SOAK_CASES ?= 2000

.DEFAULT_GOAL := help
.PHONY: demo test bench bench-density soak languages lint fmt setup help

demo: setup ## Build, and watch pods run on the embedded runtime (DEMO_SECONDS=30 ends by itself and checks what it saw)
	$(CARGO) build --locked -p witlet
	$(CARGO) build --locked --target $(WASM_TARGET) --profile guest -p witlet-example-workloads -p no-latest-tag -p not-before
	DEMO_SECONDS=$(DEMO_SECONDS) examples/demo.sh

test: setup ## Build and run every test; suites that need root or Debian packages say so when they can't run
	$(CARGO) test --locked --workspace

bench: setup languages ## Run the benchmarks; one JSON object a line. Rewrites the table of docs/src/authors/measured.md
	benches/run.sh

bench-density: setup ## Write DENSITY_PODS (450) static pods at once to the release daemon and remove them (DENSITY_API=1: the same in an API server); the last line is JSON
	$(CARGO) bench --locked -q -p witlet --bench density

soak: setup ## Chaos, the whole hostile corpus, a thousand swaps, many random cases: what is lost is counted (SOAK_SECONDS=600 for each suite of the daemon)
	PROPTEST_CASES=$(SOAK_CASES) PROPTEST_RNG_SEED=$${SOAK_SEED:-$$(date +%s)} $(CARGO) test --locked -p witlet-core -p witlet-agent -p witlet-testkit
	SOAK_SECONDS=$(SOAK_SECONDS) $(CARGO) test --locked -p witlet --test soak -- --nocapture
	HOSTILE_CORPUS=all $(CARGO) test --locked -p witlet-wasm --test hostile -- --nocapture
	MALLOC_ARENA_MAX=1 SOAK_SWAPS=1000 $(CARGO) test --locked -p witlet-wasm --test conformance -- swaps_under_a_hundred --nocapture

languages: ## Install the toolchains of plugins in C, Python and JavaScript, outside the clone, as the templates pin them
	@tests/languages/setup.sh

lint: setup ## Formatting, clippy without warnings, and the dependency rules
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	@if $(CARGO) deny --version >/dev/null 2>&1; then $(CARGO) deny check bans licenses sources; \
	else echo "lint: cargo-deny isn't installed, so deny.toml was NOT checked (cargo install --locked cargo-deny)"; fi

fmt: ## Format the code
	$(CARGO) fmt --all

setup: ## Install the wasm target that the plugins are built for
	@rustup target list --installed 2>/dev/null | grep -qx $(WASM_TARGET) || rustup target add $(WASM_TARGET)

help: ## Say what each command does
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
