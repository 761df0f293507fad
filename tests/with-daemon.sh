#!/usr/bin/env bash
# Runs a command against a daemon of its own, which serves the demo on a free port, and once more, as `lasting`, with
# runs that go on without their reader:
#
#   tests/with-daemon.sh target/debug/agui-serve node tests/clients/run.mjs
#
# The command finds the agent in AGUI_URL, the token in AGUI_TOKEN and the program, for daemons of its own, in
# AGUI_SERVE. Fails if the command does, or if the daemon does not stop in order afterwards.
set -euo pipefail

program=$1
shift
AGUI_TOKEN=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
export AGUI_TOKEN
AGUI_STATE_DIR=$(mktemp -d)
export AGUI_STATE_DIR
export AGUI_AGENTS__DEMO__CORE=demo
export AGUI_AGENTS__LASTING__CORE=demo AGUI_AGENTS__LASTING__LINGER=2m

# The demo fails and panics when it is asked to, and clients send what it warns of; nobody needs to read that.
exec {screen}< <(RUST_BACKTRACE=0 exec "$program" --port 0 --log error)
daemon=$!
trap 'kill "$daemon" 2>/dev/null || true; rm -rf "$AGUI_STATE_DIR"' EXIT

url=
while [[ -z $url ]] && read -r line <&"$screen"; do
    case $line in
        "listening on "*) url=${line#listening on } ;;
    esac
done
[[ -n $url ]] || { echo "with-daemon: $program did not start" >&2; exit 1; }

status=0
AGUI_URL=$url/demo AGUI_SERVE=$(realpath "$program") "$@" || status=$?

trap 'rm -rf "$AGUI_STATE_DIR"' EXIT
kill -TERM "$daemon"
wait "$daemon" || { echo "with-daemon: the daemon ended with $?" >&2; exit 1; }
exit "$status"
