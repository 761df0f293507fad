#!/bin/sh
# Installs packages from Debian for the tests: `from-debian.sh "what they are for" PACKAGE…`.
set -eu

purpose=$1
shift
if ! command -v apt-get >/dev/null || [ "$(id -u)" -ne 0 ]; then
    echo "setup: $purpose needed, and only root can install it from Debian" >&2
    exit 1
fi
echo "setup: installing from Debian: $*"
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" >/dev/null
