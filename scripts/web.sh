#!/usr/bin/env bash
# The web page (web): web.sh build | check | test | browser | service | oidc
#   build    installs the exact versions of web/package-lock.json, and writes web/dist
#   check    type checks, and compares web/dist with a fresh build, byte for byte
#   test     runs the unit tests
#   browser  runs the tests in Chromium against a running server, or those whose names contain an argument:
#            TRAWL_WEB_URL=http://127.0.0.1:PORT TRAWL_WEB_LOGIN='/#token=…' TRAWL_WEB_TREE=DIR web.sh browser
#   service  checks a running service for many users: web/browser/service.mjs has the variables
#   oidc     checks logins at a provider of OpenID Connect, which it starts: web/browser/oidc.mjs
# It needs Node.js 20 or newer; without it, steps report that they are skipped. Scripts of packages do
# not run. Everything happens in a copy of web/ in the cache, where the packages stay.
set -euo pipefail
cd "$(dirname "$0")/../web"

sources=$PWD
cache="${XDG_CACHE_HOME:-$HOME/.cache}/trawl"
work="$cache/web"
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
    rm -rf -- "$work"/{src,test,browser,dist}
    cp -R src test browser dist ./*.json ./*.mjs "$work/"
    cd "$work"
    if ! cmp -s package-lock.json node_modules/.trawl-lock; then
        npm ci --ignore-scripts --no-audit --no-fund --silent </dev/null >&2 ||
            skip "the packages of web/package-lock.json could not be installed" "$1"
        cp package-lock.json node_modules/.trawl-lock
    fi
}

check() {
    node_modules/.bin/tsc --noEmit
    fresh=$(mktemp -d)
    trap 'rm -rf -- "$fresh"' EXIT
    node build.mjs "$fresh"
    if ! diff -rq "$fresh" dist >&2; then
        echo "web/dist is not what web/src builds: run scripts/web.sh build" >&2
        exit 1
    fi
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
    build) ensure_packages build; node build.mjs "$sources/dist" ;;
    check) ensure_packages check; check ;;
    test) ensure_packages test; run_tests ;;
    browser) ensure_packages browser; node browser/run.mjs "${@:2}" ;;
    service) ensure_packages service; node browser/service.mjs ;;
    oidc) ensure_packages oidc; node browser/oidc.mjs ;;
    *) echo "usage: web.sh build | check | test | browser | service | oidc" >&2; exit 2 ;;
esac
