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
sources=$(find . "$here/setup.sh" \( -name node_modules -o -name .next -o -name '.env.local*' -o -name next-env.d.ts -o -name '*.tsbuildinfo' \) -prune \
    -o -type f -print | LC_ALL=C sort | xargs -d '\n' sha256sum)
if [ "$sources" != "$(cat "$built" 2>/dev/null)" ]; then
    echo "setup: building the page"
    rm -f "$built"
    npm run --silent build >"$here/build.log" 2>&1 || { cat "$here/build.log" >&2; exit 1; }
    printf '%s\n' "$sources" >"$built"
fi
if [ "$sources" != "$(cat "$newest/$built" 2>/dev/null)" ]; then
    echo "setup: the page with @ag-ui/client $client"
    rm -rf "$newest"
    mkdir "$newest"
    cp package.json package-lock.json .npmrc .env next.config.ts "$newest"
    # Links, which take no room: npm puts new files in the place of those that differ, but for its own list.
    cp -al node_modules "$newest"
    rm "$newest/node_modules/.package-lock.json" "$newest/node_modules/.installed-lock"
    (cd "$newest" && npm install --save-exact --ignore-scripts --no-audit --no-fund --loglevel=error "@ag-ui/client@$client")
    # As it was built: the packages that run on the server are looked up when it starts.
    cp -a .next "$newest"
    rm -rf "$newest/.next/cache" "$newest/.next/dev" "$newest/$built"
    printf '%s\n' "$sources" >"$newest/$built"
fi
