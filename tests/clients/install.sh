#!/bin/sh
# Installs the npm packages of the folders that are named, as their lock files say: `install.sh FOLDER...`. What is
# installed and has not changed stays as it is, and needs no network.
set -eu

[ $# -gt 0 ] || { echo "install: no folder" >&2; exit 2; }
root=$(cd "$(dirname "$0")/../.." && pwd)
for folder; do
    folder=$(cd "$folder" && pwd)
    name=${folder#"$root"/}
    lock=$folder/package-lock.json
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
