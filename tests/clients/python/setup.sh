#!/bin/sh
# Makes ready what the Python tests need: a virtual environment in .venv with the packages of
# requirements.txt. Installs only what is missing or has changed, so a second run needs no network.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
venv=$here/.venv
lock=$here/requirements.txt
stamp=$venv/.installed-lock

# What ag-ui-validate asks for, and what Debian 12 has. Debian keeps ensurepip in a package of its own.
is_good() { "$1" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
    for python in python3 /usr/bin/python3; do
        if is_good "$python"; then return; fi
    done
    return 1
}

if cmp -s "$lock" "$stamp" && "$venv/bin/python" -c '' 2>/dev/null; then
    echo "setup: clients/python is installed"
    exit
fi
if ! find_python; then
    "$here/../from-debian.sh" "Python 3.11 or newer with venv is" python3 python3-venv
    find_python || { echo "setup: no Python that is new enough after the installation" >&2; exit 1; }
fi
echo "setup: installing clients/python for $("$python" --version)"
"$python" -m venv --clear "$venv"
# Wheels only: nothing of a package is run to install it.
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input \
    --require-hashes --only-binary :all: --requirement "$lock"
cp "$lock" "$stamp"
