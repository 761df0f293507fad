#!/bin/sh
# Makes ready Node 20 or newer with npm, and installs only what is missing.
#
# A Node that had to be installed here is in tests/clients/.tools/node_modules/.bin, which belongs in front
# of PATH for what is run with it.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
tools=$here/.tools
PATH=$tools/node_modules/.bin:$PATH
oldest=20

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
