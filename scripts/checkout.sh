#!/usr/bin/env bash
# Several checkouts share one directory of build output. cargo knows the project's packages by their
# paths within the checkout and by the times of their files, so it takes what another checkout has built
# for its own, though that may be other code, and names files of the other checkout. So the project's own
# packages are built again when the checkout changes; all others, which take longest, are kept.
set -euo pipefail
checkout="$(cd "$(dirname "$0")/.." && pwd -P)"
target="${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/trawl/target}"
[ "$(cat "$target/checkout" 2>/dev/null)" != "$checkout" ] || exit 0
mkdir -p -- "$target"
rm -rf -- "$target"/*/.fingerprint/{trawl,xtask}-*
printf '%s\n' "$checkout" >"$target/checkout"
