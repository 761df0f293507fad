# What is done with this project. Everything runs on a machine with nothing but a Rust toolchain and make;
# the JavaScript and Python tests install what they need.

CARGO ?= cargo
# Where tests/clients/setup.sh puts a Node of its own if the machine has none that is new enough.
NODE_PATHS = $(CURDIR)/tests/clients/.tools/node_modules/.bin
DAEMON = target/debug/agui-serve

.PHONY: run build check lint test test-clients test-agents soak bench

# Serves the demo on port 8787: no key, no network. A debug build, because its first start is the quickest; it
# takes some minutes the first time.
run:
	$(CARGO) run

build:
	$(CARGO) build --release

# The Rust part, for while you work.
check: lint
	$(CARGO) test

lint:
	$(CARGO) fmt --check
	$(CARGO) clippy --all-targets -- -D warnings
	$(CARGO) clippy --no-default-features --features demo -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --no-deps --quiet
	if $(CARGO) deny --version >/dev/null 2>&1; then $(CARGO) deny check; fi

# Everything.
test: check test-clients

# The real clients and a real agent, against the real binary.
test-clients:
	$(CARGO) build
	./tests/clients/setup.sh
	./tests/clients/python/setup.sh
	PATH="$(NODE_PATHS):$$PATH" tests/with-daemon.sh $(DAEMON) node tests/clients/run.mjs
	PATH="$(NODE_PATHS):$$PATH" AGUI_SERVE=$(CURDIR)/$(DAEMON) AGUI_PAGE_SECONDS=5 node tests/agents/run.mjs copilot

# What takes long: 200 threads with restless clients for a minute, and a run of a minute that is left and come back to.
soak:
	AGUI_SOAK_SECONDS=60 $(CARGO) test --test it soak
	$(CARGO) build
	./tests/clients/setup.sh
	PATH="$(NODE_PATHS):$$PATH" LONG_RUNS=1 tests/with-daemon.sh $(DAEMON) node tests/clients/threads.mjs v1.0.0

# Every real agent that there is a recipe for: 1.7 GB of them, and some take minutes to start and stop so often.
test-agents:
	$(CARGO) build
	./tests/clients/setup.sh '*'
	PATH="$(NODE_PATHS):$$PATH" AGUI_SERVE=$(CURDIR)/$(DAEMON) node tests/agents/run.mjs

bench:
	$(CARGO) bench
