#!/usr/bin/env bash
# The Python package (crates/faces/python): python.sh test | wheel DIR
#   test      builds a wheel of the development build, installs it into a separate Python environment,
#             and runs its tests and mypy; reports if the tools are missing
#   wheel DIR builds the wheel for release
# Its tools are in an environment made by `scripts/need.sh wheel`.
set -euo pipefail
cd "$(dirname "$0")/../crates/faces/python"

cache="${XDG_CACHE_HOME:-$HOME/.cache}/trawl"
tools="$cache/tools/wheel"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$cache/target}"
export PYTHONDONTWRITEBYTECODE=1

if ! [ -x "$tools/bin/maturin" ]; then
    echo "skipped, because maturin is not installed and could not be (scripts/need.sh wheel): the Python package" >&2
    # A missing wheel is an error; skipped tests are not.
    [ "${1:-}" = test ]
    exit
fi

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

case "${1:-}" in
    test) run_tests ;;
    wheel) wheel "${2:?a directory for the wheel}" --release ;;
    *) echo "usage: python.sh test | wheel DIR" >&2; exit 2 ;;
esac
