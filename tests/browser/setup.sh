#!/bin/sh
# Makes ready what the browser tests need beside tests/clients/setup.sh, which comes first: Chromium, and the example's
# page, built as it stands and once more with the newest @ag-ui/client in the place of CopilotKit's own. Does nothing
# twice unless something has changed.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
tests=$(dirname "$here")
page=$(cd "$tests/../examples/copilotkit" && pwd)
client=1.0.0
newest=$here/.app-$client
built=.next/.built-from
export NEXT_TELEMETRY_DISABLED=1

[ -x "${CHROMIUM:-/usr/bin/chromium}" ] || "$tests/clients/from-debian.sh" "Chromium is" chromium
"$tests/clients/install.sh" "$here" "$page"

cd "$page"
sources=$(find app components ./*.ts ./*.json -type f ! -name next-env.d.ts | LC_ALL=C sort | xargs -d '\n' sha256sum | sha256sum)
if [ "$sources" != "$(cat "$built" 2>/dev/null)" ]; then
    echo "setup: building the page"
    rm -rf .next
    npm run --silent build >build.log 2>&1 || { cat build.log >&2; exit 1; }
    printf '%s\n' "$sources" >"$built"
fi
if [ "$sources" != "$(cat "$newest/$built" 2>/dev/null)" ]; then
    echo "setup: the page with @ag-ui/client $client"
    rm -rf "$newest"
    mkdir "$newest"
    # Files that are the same take no room; npm writes only those anew that differ.
    cp -al node_modules package.json package-lock.json .npmrc .env next.config.ts "$newest"
    (cd "$newest" && rm node_modules/.package-lock.json node_modules/.installed-lock && cp --remove-destination "$page"/package*.json . &&
        npm install --save-exact --ignore-scripts --no-audit --no-fund --loglevel=error "@ag-ui/client@$client")
    # As it was built: the packages that run on the server are looked up when it starts.
    mkdir "$newest/.next"
    (cd .next && find . -mindepth 1 -maxdepth 1 ! -name cache ! -name dev -exec cp -a {} "$newest/.next/" \;)
fi
