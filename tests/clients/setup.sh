#!/bin/sh
# Makes ready what the JavaScript tests need: Node 20 or newer, and the packages of the clients and of one agent
# (`setup.sh copilot`, which is the default) or of every agent (`setup.sh '*'`). Installs only what is missing or
# has changed, so a second run needs no network.
#
# A Node that had to be installed here is in tests/clients/.tools/node_modules/.bin, which belongs in front
# of PATH for the tests themselves.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
tools=$here/.tools
PATH=$tools/node_modules/.bin:$PATH
oldest=20
agents=${1:-copilot}

has_npm() { command -v node >/dev/null && command -v npm >/dev/null; }
is_new_enough() { [ "$(node --print 'process.versions.node.split(".")[0]')" -ge "$oldest" ]; }

if ! has_npm; then
    "$here/from-debian.sh" "Node $oldest or newer with npm is" nodejs npm
fi
if ! is_new_enough; then
    echo "setup: $(node --version) is too old, installing Node $oldest in $tools"
    mkdir -p "$tools"
    npm install --prefix "$tools" --no-save --no-audit --no-fund --loglevel=error "node@$oldest"
    hash -r
    is_new_enough || { echo "setup: still $(node --version) after the installation" >&2; exit 1; }
fi
echo "setup: node $(node --version), npm $(npm --version)"

for lock in "$here"/*/package-lock.json "$here"/../agents/$agents/package-lock.json; do
    folder=$(cd "$(dirname "$lock")" && pwd)
    name=${folder#"$(dirname "$here")"/}
    stamp=$folder/node_modules/.installed-lock
    if cmp -s "$lock" "$stamp"; then
        echo "setup: $name is installed"
        continue
    fi
    echo "setup: installing $name"
    # No package here needs its install scripts; Gemini CLI works without the terminal that one would build.
    (cd "$folder" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
    cp "$lock" "$stamp"
done
