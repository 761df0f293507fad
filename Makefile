# What is done with this project. Everything runs on a machine with nothing but a Rust toolchain and make;
# the JavaScript and Python tests install what they need.

CARGO ?= cargo
# Where tests/clients/node.sh puts a Node of its own if the machine has none that is new enough.
NODE_PATHS = $(CURDIR)/tests/clients/.tools/node_modules/.bin
DAEMON = target/debug/agui-serve
PAGE = examples/copilotkit

.PHONY: run page build check lint test test-clients test-browser test-agents soak bench

# Serves the demo on port 8787: no key, no network. A debug build, because its first start is the quickest; it
# takes some minutes the first time. ARGS are more flags.
run:
	$(CARGO) run -- $(ARGS)

# A page in front of it: in another terminal, then http://localhost:3000. The packages take some minutes the first time.
page: $(PAGE)/.env.local
	./tests/clients/node.sh
	PATH="$(NODE_PATHS):$$PATH" ./tests/clients/install.sh $(PAGE)
	cd $(PAGE) && PATH="$(NODE_PATHS):$$PATH" npm run dev

# Once; what is changed in it stays. With the ARGS that the daemon is started with.
$(PAGE)/.env.local:
	$(CARGO) run --quiet -- connect copilotkit --env $(ARGS) >$@.new
	mv $@.new $@

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
test: check test-clients test-browser

# The real clients and real agents, against the real binary: one in all that it does, and one that sends todos.
test-clients:
	$(CARGO) build
	./tests/clients/setup.sh
	./tests/clients/setup.sh opencode
	./tests/clients/python/setup.sh
	PATH="$(NODE_PATHS):$$PATH" tests/with-daemon.sh $(DAEMON) node tests/clients/run.mjs
	PATH="$(NODE_PATHS):$$PATH" AGUI_SERVE=$(CURDIR)/$(DAEMON) AGUI_PAGE_SECONDS=5 node tests/agents/run.mjs copilot opencode:state

# The example's page in a real browser, with the demo and a real agent behind it; pictures are left in tests/browser/shots.
test-browser:
	$(CARGO) build
	./tests/clients/setup.sh
	PATH="$(NODE_PATHS):$$PATH" ./tests/browser/setup.sh
	PATH="$(NODE_PATHS):$$PATH" AGUI_SERVE=$(CURDIR)/$(DAEMON) node tests/browser/run.mjs

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
