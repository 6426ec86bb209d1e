#!/usr/bin/env bash
# The web page (web) and the client that it shares with others (clients/typescript):
# web.sh build | check | test | browser | service | oidc
#   build    installs the exact versions of the package-lock.json, and writes the client's types and code
#            from clients/openapi.json, and web/dist
#   check    type checks, and compares what build writes with a fresh build, byte for byte
#   test     runs the unit tests
#   browser  runs the tests in Chromium against a running server, or those whose names contain an argument:
#            TRAWL_WEB_URL=http://127.0.0.1:PORT TRAWL_WEB_LOGIN='/#token=…' TRAWL_WEB_TREE=DIR web.sh browser
#   service  checks a running service for many users: web/browser/service.mjs has the variables
#   oidc     checks logins at a provider of OpenID Connect, which it starts: web/browser/oidc.mjs
# It needs Node.js 20 or newer; without it, steps report that they are skipped. Scripts of packages do
# not run. Everything happens in a copy in the cache, where the packages stay.
set -euo pipefail
cd "$(dirname "$0")/.."

sources=$PWD
cache="${XDG_CACHE_HOME:-$HOME/.cache}/trawl"
work="$cache/page"
export npm_config_cache="$cache/npm"
export npm_config_update_notifier=false

skip() {
    echo "skipped, because $1: the web page" >&2
    # A page that cannot be built is an error; skipped tests are not.
    [ "$2" != build ]
    exit
}

ensure_packages() {
    command -v node >/dev/null 2>&1 && command -v npm >/dev/null 2>&1 || skip "Node.js is not installed" "$1"
    local major
    major=$(node --version | sed 's/^v\([0-9]*\).*/\1/')
    [ "$major" -ge 20 ] || skip "Node.js $(node --version) is too old: 20 or newer is needed" "$1"
    mkdir -p "$work"
    # One run at a time has the copy.
    exec 9>"$work.lock"
    flock 9
    mkdir -p "$work"/{web,clients/typescript}
    rm -rf -- "$work"/web/{src,test,browser,dist} "$work"/clients/typescript/{src,dist}
    (cd web && cp -R src test browser dist ./*.json ./*.mjs "$work/web/")
    (cd clients && cp openapi.json "$work/clients/")
    (cd clients/typescript && cp -R src dist ./*.json schema.d.ts "$work/clients/typescript/")
    install_packages clients/typescript "$1"
    install_packages web "$1"
    cd "$work/web"
}

install_packages() {
    cd "$work/$1"
    cmp -s package-lock.json node_modules/.trawl-lock && return
    npm ci --ignore-scripts --no-audit --no-fund --silent </dev/null >&2 ||
        skip "the packages of $1/package-lock.json could not be installed" "$2"
    cp package-lock.json node_modules/.trawl-lock
}

# Writes the types and the code of the client, in the copy.
build_client() (
    cd "$work/clients/typescript"
    npm run --silent types >&2
    npm run --silent build
)

build() {
    build_client
    cp -R "$work"/clients/typescript/{schema.d.ts,dist} "$sources/clients/typescript/"
    node build.mjs "$sources/web/dist"
}

check() {
    build_client
    # The example of the document, too.
    sed -n '/^```typescript$/,/^```$/{//!p}' "$sources/docs/web.md" |
        sed "s|'trawl-client'|'../../clients/typescript/dist/index.js'|" >test/example.ts
    node_modules/.bin/tsc --noEmit
    node build.mjs dist
    local place
    for place in clients/typescript/{schema.d.ts,dist} web/dist; do
        if ! diff -rq "$work/$place" "$sources/$place" >&2; then
            echo "$place is not what its sources build: run scripts/web.sh build" >&2
            exit 1
        fi
    done
    node test/limits.mjs
}

run_tests() {
    bundles=$(mktemp -d)
    trap 'rm -rf -- "$bundles"' EXIT
    node_modules/.bin/esbuild test/*.test.ts --bundle --platform=node --format=esm --target=node20 \
        --outdir="$bundles" --out-extension:.js=.mjs --log-level=warning
    node --test "$bundles"/*.mjs
}

case "${1:-}" in
    build) ensure_packages build; build ;;
    check) ensure_packages check; check ;;
    test) ensure_packages test; run_tests ;;
    browser) ensure_packages browser; node browser/run.mjs "${@:2}" ;;
    service) ensure_packages service; node browser/service.mjs ;;
    oidc) ensure_packages oidc; node browser/oidc.mjs ;;
    *) echo "usage: web.sh build | check | test | browser | service | oidc" >&2; exit 2 ;;
esac
