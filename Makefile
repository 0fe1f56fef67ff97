# The commands of the project. `make help` lists them.

CARGO ?= cargo
# Where `make install` puts the program, in `bin`; DESTDIR goes before it, for packages.
PREFIX ?= /usr/local
# What it copies with: with INSTALL='sudo install' it builds as you, and only the copy is root's.
INSTALL ?= install
WASM_TARGET := wasm32-wasip2
# How long the demo runs unattended; 0 means until Ctrl-C.
DEMO_SECONDS ?= 0
# How long the soak goes on in each of its suites.
SOAK_SECONDS ?= 600
# The `witlet` of an earlier release: every second agent of the soak's fleet begins with it, and half of these are upgraded in the middle.
OLDER ?=
# How many random cases the soak tries of each property.
SOAK_CASES ?= 2000
# How many random stories of a pod, of 80 events on average, the soak tells to each property.
SOAK_STORIES ?= 12500
# How many changed inputs the soak gives each fuzz target.
FUZZ_RUNS ?= 200000
# How many changed expressions in CEL, with the objects that they ask: their language is the largest of what plugins read.
CEL_FUZZ_RUNS ?= 1000000
# How many whole configurations of rules natively, each with a pod, and how many in the shipped component in a host, each with four.
RULES_FUZZ_RUNS ?= 50000
RULE_FILES ?= 10000
# The version of cargo-deny that `make lint` installs.
DENY_VERSION := 0.20.2
INSTALL_DENY = $(CARGO) deny --version 2>/dev/null | grep -qx "cargo-deny $(DENY_VERSION)" || $(CARGO) install --locked --version $(DENY_VERSION) cargo-deny
# How often `make flakes` runs the cases of `make test`.
ROUNDS ?= 20

# Three rings of tests. The outer two have real processes and real time; they are left out of the inner one, package by package.
OUTER := witlet-containerd-suite witlet-daemon-suite witlet-soak
NODE_SUITES := --test cli --test containerd-contract --test containerd-harness --test streams --test daemon --test languages
SOAK_SUITES := --test cli --test bounded --test soak --test hostile --test plugin-host

.DEFAULT_GOAL := help
.PHONY: demo install uninstall test test-node soak flakes bench bench-density bench-scrapes languages lint audit fmt setup help

demo: setup ## Build, and watch pods run on the embedded runtime (DEMO_SECONDS=60 ends by itself and checks what it saw)
	$(CARGO) build --locked -p witlet
	$(CARGO) build --locked --target $(WASM_TARGET) --profile guest -p witlet-example-workloads -p no-latest-tag -p not-before
	DEMO_SECONDS=$(DEMO_SECONDS) examples/demo.sh

# Cargo says where the program is: CARGO_TARGET_DIR, its configuration and a target for another machine have a say in it.
install: setup ## Build the release and install bin/witlet below PREFIX=/usr/local; DESTDIR goes before it, INSTALL='sudo install' copies as root
	$(CARGO) build --locked --release -p witlet
	@program="$$($(CARGO) build --locked --quiet --release -p witlet --message-format json-render-diagnostics | \
	  sed -n 's|.*"executable":"\([^"]*/witlet\)".*|\1|p')"; \
	if [ ! -f "$$program" ]; then echo "make install: there is no program witlet among what cargo has built" >&2; exit 1; fi; \
	set -x; $(INSTALL) -D -m 755 "$$program" "$(DESTDIR)$(PREFIX)/bin/witlet"

uninstall: ## Remove what `make install` has installed, with the same PREFIX and DESTDIR
	rm -f "$(DESTDIR)$(PREFIX)/bin/witlet"

test: setup ## The inner ring: what proves a change, in minutes; a case that needs root or Debian packages says so when it can't run
	$(CARGO) test --locked --workspace $(addprefix --exclude ,$(OUTER))

test-node: setup languages ## The node ring: the daemon with real runtimes and real time, kubectl, plugins in every language
	WITLET_LANGUAGES=all $(CARGO) test --locked --workspace $(NODE_SUITES)

soak: setup ## The soak ring: chaos, the whole hostile corpus, a thousand swaps, 200 agents that share a plugin file, many random cases and fuzz inputs (SOAK_SECONDS=600 for each suite of the daemon; OLDER=path/to/witlet has half of the agents begin with an earlier release)
	$(CARGO) test --locked --workspace --no-run $(SOAK_SUITES)
	PROPTEST_CASES=$(SOAK_CASES) PROPTEST_RNG_SEED=$${SOAK_SEED:-$$(date +%s)} $(CARGO) test --locked -p witlet-core -p witlet-agent -p witlet-scenarios
	PROPTEST_CASES=$(SOAK_STORIES) PROPTEST_RNG_SEED=$${SOAK_SEED:-$$(date +%s)} $(CARGO) test --locked -p witlet-core lifecycle::tests::stories
	FUZZ_RUNS=$(FUZZ_RUNS) $(CARGO) test --locked --workspace --test bounded -- --nocapture --exact --skip cel --skip cel_rules
	FUZZ_RUNS=$(CEL_FUZZ_RUNS) $(CARGO) test --locked --workspace --test bounded -- --nocapture --exact cel
	FUZZ_RUNS=$(RULES_FUZZ_RUNS) $(CARGO) test --locked --workspace --test bounded -- --nocapture --exact cel_rules
	$(if $(OLDER),WITLET_OLDER_PROGRAM='$(abspath $(OLDER))') SOAK_SECONDS=$(SOAK_SECONDS) $(CARGO) test --locked --workspace --test soak -- --nocapture
	HOSTILE_CORPUS=all $(CARGO) test --locked --workspace --test hostile -- --nocapture
	BROKEN_FILES=all $(CARGO) test --locked --workspace --test plugin-host -- forty_broken --nocapture
	RULE_TIMEOUT=100ms RULE_FILES=$(RULE_FILES) RULE_SEED=$${SOAK_SEED:-$$(date +%s)} $(CARGO) test --locked --workspace --test plugin-host -- random_rules --nocapture
	MALLOC_ARENA_MAX=1 SOAK_SWAPS=1000 $(CARGO) test --locked --workspace --test plugin-host -- swaps_under_a_hundred --nocapture

flakes: setup ## Run the cases of `make test` ROUNDS=20 times, LANES=4 rounds at once, next to LOAD busy loops (one on each processor), and list what failed
	tests/flakes.sh $(ROUNDS)

bench: setup languages ## Run the benchmarks; one JSON object a line. Rewrites the table of docs/src/authors/measured.md
	tests/bench.sh

bench-density: setup ## Write DENSITY_PODS (450) static pods at once to the release daemon and remove them (DENSITY_API=1: the same in an API server); the last line is JSON
	$(CARGO) bench --locked -q -p witlet --bench density

bench-scrapes: setup ## Read the metrics and the summary of SCRAPES_PODS (450) pods on containerd, then by 200 scrapers at once (SCRAPES_MONITORS=1: idle without and with monitors of resources instead); the last line is JSON
	$(CARGO) bench --locked -q -p witlet --bench scrapes

languages: ## Install the toolchains of plugins in C, C++, Python, JavaScript and Go, outside the clone, as the templates pin them
	@tests/languages/setup.sh

lint: setup ## Formatting, clippy without warnings, and the dependency rules (installs cargo-deny)
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	@$(INSTALL_DENY)
	$(CARGO) deny --locked check bans licenses sources

audit: ## Advisories about dependencies, and yanked ones (fetches RustSec's database; installs cargo-deny)
	@$(INSTALL_DENY)
	$(CARGO) deny --locked check advisories

fmt: ## Format the code
	$(CARGO) fmt --all

setup: ## Install the wasm target that the plugins are built for
	@test -d "$$(rustc --print target-libdir --target $(WASM_TARGET) 2>/dev/null)" || rustup target add $(WASM_TARGET)

help: ## Say what each command does
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
