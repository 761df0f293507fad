#!/usr/bin/env bash
# Runs a command against a daemon of its own, which serves the demo on a free port and keeps its threads in a
# folder of its own:
#
#   tests/with-daemon.sh target/debug/agui-serve node tests/clients/run.mjs
#
# The command finds the agent in AGUI_URL and the token in AGUI_TOKEN. Fails if the command does, or if the
# daemon does not stop in order afterwards.
set -euo pipefail

program=$1
shift
AGUI_TOKEN=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
state=$(mktemp -d)
export AGUI_TOKEN

# The demo fails and panics when it is asked to, and clients send what it warns of; nobody needs to read that.
exec {screen}< <(RUST_BACKTRACE=0 AGUI_STATE_DIR=$state exec "$program" --port 0 --log error)
daemon=$!
trap 'kill "$daemon" 2>/dev/null || true; rm -rf "$state"' EXIT

url=
while [[ -z $url ]] && read -r line <&"$screen"; do
    case $line in
        "listening on "*) url=${line#listening on } ;;
    esac
done
[[ -n $url ]] || { echo "with-daemon: $program did not start" >&2; exit 1; }

status=0
AGUI_URL=$url/demo "$@" || status=$?

trap 'rm -rf "$state"' EXIT
kill -TERM "$daemon"
wait "$daemon" || { echo "with-daemon: the daemon ended with $?" >&2; exit 1; }
exit "$status"
