#!/usr/bin/env bash
# The Python package (crates/faces/python), and the client of the HTTP API (clients/python):
# python.sh test | wheel DIR | check-client | client
#   test         builds a wheel of the development build, installs it into a separate Python
#                environment, and runs its tests and mypy; reports if the tools are missing
#   wheel DIR    builds the wheel for release
#   client       generates the client's types and questions from clients/openapi.json
#   check-client compares them with a fresh copy, and runs mypy; reports if the tools are missing
# The tools are in environments made by `scripts/need.sh test`. The tests of the client are those of
# crates/faces/http.
set -euo pipefail
cd "$(dirname "$0")/.."

cache="${XDG_CACHE_HOME:-$HOME/.cache}/trawl"
tools="$cache/tools/wheel"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$cache/target}"
export PYTHONDONTWRITEBYTECODE=1

client_tools="$cache/tools/client"

# need PROGRAM WHAT: ends if a tool is missing.
need() {
    [ ! -x "$1" ] || return 0
    echo "skipped, because ${1##*/} is not installed and could not be (scripts/need.sh test): $2" >&2
    # What cannot be built is an error; skipped tests are not.
    case $command in test | check-client) exit 0 ;; *) exit 1 ;; esac
}

# maturin builds this package alone, so that no other crate's features change.
wheel() {
    "$tools/bin/maturin" build --quiet --locked --interpreter "$tools/bin/python" --out "$@" >&2
}

run_tests() {
    place=$(mktemp -d)
    trap 'rm -rf -- "$place"' EXIT
    wheel "$place"
    "$tools/bin/pip" install --quiet --disable-pip-version-check --no-index --no-deps --force-reinstall "$place"/*.whl
    "$tools/bin/python" -m pytest -p no:cacheprovider
    "$tools/bin/python" -m mypy --no-incremental --config-file pyproject.toml python tests
    "$tools/bin/python" -m mypy.stubtest trawl._trawl
}

generate_client() {
    "$client_tools/bin/python" clients/python/generate.py "$1"
}

check_client() {
    fresh=$(mktemp -d)
    trap 'rm -rf -- "$fresh"' EXIT
    generate_client "$fresh"
    local file
    for file in models.py questions.py; do
        if ! cmp -s "$fresh/$file" "clients/python/src/trawl_client/$file"; then
            echo "clients/python/src/trawl_client/$file is stale: run scripts/python.sh client" >&2
            exit 1
        fi
    done
    # The example of the document, too.
    sed -n '/^```python$/,/^```$/{//!p}' docs/web.md >"$fresh/example.py"
    cd clients/python
    "$client_tools/bin/python" -m mypy --config-file pyproject.toml src generate.py "$fresh/example.py" \
        ../../crates/faces/http/tests/clients/ask.py ../../crates/faces/http/tests/clients/service.py
}

command=${1:-}
case $command in
    test) need "$tools/bin/maturin" "the Python package"; cd crates/faces/python; run_tests ;;
    wheel) need "$tools/bin/maturin" "the Python package"; cd crates/faces/python; wheel "${2:?a directory for the wheel}" --release ;;
    client) need "$client_tools/bin/datamodel-codegen" "the client"; generate_client clients/python/src/trawl_client ;;
    check-client) need "$client_tools/bin/datamodel-codegen" "the client"; check_client ;;
    *) echo "usage: python.sh test | wheel DIR | check-client | client" >&2; exit 2 ;;
esac
