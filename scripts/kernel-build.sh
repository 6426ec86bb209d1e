#!/usr/bin/env bash
# Builds a kernel in a tree that `trawl watch` keeps up to date, and asks questions meanwhile.
#
#   kernel-build.sh TRAWL [SECONDS [KIND…]]
#
# On a file system of each kind (ext4 xfs btrfs tmpfs) Debian's linux-source is unpacked and configured
# (tinyconfig). While `make -j2` runs for SECONDS (60), a file is made in a random directory, asked for,
# removed, and asked for again, about four times a second: an answer that claims to be fresh must contain it
# the first time and not the second. In the end all entries with all attributes must be those that find(1)
# prints.
#
# Run as root; needs linux-source, make, gcc, flex, bison and bc, and 6 GB of disk (sparse) per kind.
# Exit code: 0 all answers were right, 1 some were wrong, 2 the test could not run.
set -euo pipefail

die() {
    echo "kernel-build.sh: $1" >&2
    exit 2
}

[ $# -ge 1 ] || die 'the first argument must be the trawl program'
trawl=$(realpath "$1")
seconds=${2:-60}
shift $(($# < 2 ? $# : 2))
[ $# -gt 0 ] || set -- ext4 xfs btrfs tmpfs
[ "$(id -u)" = 0 ] || die 'only root can mount file systems and watch them'
sources=(/usr/src/linux-source-*.tar.xz)
[ -e "${sources[0]}" ] || die 'there is no /usr/src/linux-source-*.tar.xz; install linux-source'
for program in make gcc flex bison bc shuf; do
    command -v "$program" >/dev/null || die "$program is not installed"
done

work=$(mktemp -d)
daemon=
# shellcheck disable=SC2317 # the trap calls it
clean_up() {
    [ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
    wait || true
    mountpoint -q "$work/on" && umount "$work/on"
    rm -rf "$work"
}
trap clean_up EXIT
export TRAWL_INDEX=$work/index

mount_new() {
    mkdir -p "$work/on"
    if [ "$1" = tmpfs ]; then
        mount -t tmpfs -o size=4g trawl-test "$work/on"
        return
    fi
    truncate -s 6G "$work/image"
    "mkfs.$1" "$work/image" >/dev/null 2>&1 || die "mkfs.$1 failed"
    mount -o loop "$work/image" "$work/on"
}

# Asks one question; prints its answer, or `late` if the answer is reported as not fresh.
ask() {
    "$trawl" find "$work/on" -name "$1" 2>>"$work/said" || echo late
}

all_attributes='%p %y %i %s %m %U %G %T@ %C@ %n %l\n'
wrong=0
for kind in "$@"; do
    mount_new "$kind"
    tar -C "$work/on" -xf "${sources[0]}"
    source=$(echo "$work/on"/linux-source-*)
    make -s -C "$source" tinyconfig >/dev/null 2>&1 || die 'tinyconfig failed'
    "$trawl" watch "$work/on" >"$work/log" 2>&1 &
    daemon=$!
    timeout "$seconds" make -C "$source" -j2 >/dev/null 2>&1 &
    build=$!
    until grep -q watching "$work/log"; do
        kill -0 "$daemon" 2>/dev/null || die "the daemon ended: $(tail -n 1 "$work/log")"
        sleep 0.02
    done
    asked=0 missed=0 ghosts=0
    while kill -0 "$build" 2>/dev/null; do
        name=probe-$asked
        directory=$(find "$source" -maxdepth 2 -type d 2>/dev/null | shuf -n 1)
        : >"$directory/$name" 2>/dev/null || continue
        answer=$(ask "$name")
        [ "$answer" = late ] || [ "$answer" = "$directory/$name" ] || missed=$((missed + 1))
        rm "$directory/$name"
        answer=$(ask "$name")
        [ "$answer" = late ] || [ -z "$answer" ] || ghosts=$((ghosts + 1))
        asked=$((asked + 1))
        sleep 0.2
    done
    wait "$build" || true
    find "$work/on" -xdev -printf "$all_attributes" | sort >"$work/live"
    "$trawl" find "$work/on" -printf "$all_attributes" | sort >"$work/indexed"
    differences=$({ diff "$work/live" "$work/indexed" || true; } | grep -c '^[<>]' || true)
    echo "$kind: $asked x 2 questions, $missed missed, $ghosts ghosts, $(grep -c . "$work/said" || true) remarks;" \
        "$(wc -l <"$work/live") entries, $differences differences"
    [ "$asked" -gt 0 ] && [ "$((missed + ghosts + differences))" = 0 ] || wrong=1
    kill "$daemon"
    wait "$daemon" || true
    daemon=
    umount "$work/on"
    rm -rf "$work/image" "$work/index" "$work/said"
    : >"$work/said"
done
exit "$wrong"
