#!/bin/sh
# Makes ready what the JavaScript tests need: Node (see node.sh), and the packages of the clients and of one agent
# (`setup.sh copilot`, which is the default) or of every agent (`setup.sh '*'`). Installs only what is missing or
# has changed, so a second run needs no network.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
PATH=$here/.tools/node_modules/.bin:$PATH
agents=${1:-copilot}

"$here/node.sh"
for lock in "$here"/*/package-lock.json "$here"/../agents/$agents/package-lock.json; do
    "$here/install.sh" "$(dirname "$lock")"
done
