#!/usr/bin/env bash
# Ensures that this machine has the packages that a step needs: need.sh build|test|bench|wheel …
# Missing Debian packages are named, and installed where apt can run without asking (as root, or
# through sudo without a password). Elsewhere it says how to install them by hand, and fails only if
# the build needs them. `test` also makes Python environments: one with the engines that read exports,
# one with a client for assistants' tools, one (`client`) that generates and checks the client of the HTTP API,
# one (`httpfs`) with DuckDB as a client of it, and one (`wheel`) with the tools that build and test the
# Python package. It unpacks a directory service (`ldap`), too. `build` makes sure that the build output is
# this checkout's (scripts/checkout.sh).
set -euo pipefail
cd "$(dirname "$0")/.."

# group|program or file to look for|Debian package. Without the group `test`, tests are skipped and say so.
needs='
build|cc|gcc
build|/usr/include/stdlib.h|libc6-dev
test|find|findutils
test|setfacl|acl
test|setfattr|attr
test|bfs|bfs
test|tcsh|tcsh
test|rg|ripgrep
test|mkfs.ext4|e2fsprogs
test|mkfs.xfs|xfsprogs
test|mkfs.btrfs|btrfs-progs
test|setpriv|util-linux
test|strace|strace
test|chirp|coop-computing-tools
test|mount|mount
test|ncgen|netcdf-bin
test|h5copy|hdf5-tools
test|qemu-system-x86_64|qemu-system-x86
test|repquota|quota
test|python3|python3-venv
test|curl|curl
test|node|nodejs
test|npm|npm
test|chromium|chromium
bench|python3|python3
bench|/usr/src/linux-source-*.tar.xz|linux-source
bench|xz|xz-utils
bench|fdfind|fd-find
bench|bfs|bfs
bench|plocate|plocate
bench|sqlite3|sqlite3
bench|taskset|util-linux
bench|strace|strace
bench|postmark|postmark
bench|autoconf|autoconf
bench|ctags|universal-ctags
bench|mariadbd|mariadb-server-core
bench|mariadb|mariadb-client-core
bench|inotifywait|inotify-tools
bench|recollindex|recollcmd
bench|tracker3|tracker
bench|/usr/libexec/tracker-miner-fs-3|tracker-miner-fs
bench|/usr/libexec/tracker-extract-3|tracker-extract
bench|dbus-daemon|dbus-daemon
bench|/usr/lib/python3*/ensurepip/__init__.py|python3-venv
wheel|python3|python3-venv
'

# The superuser's programs are not on every user's PATH.
export PATH="$PATH:/usr/sbin:/sbin"

missing_packages() {
    local group program package wanted
    while IFS='|' read -r group program package; do
        for wanted in "$@"; do
            [ "$group" = "$wanted" ] || continue
            case $program in
                /*) compgen -G "$program" >/dev/null || echo "$package" ;;
                *) command -v "$program" >/dev/null 2>&1 || echo "$package" ;;
            esac
        done
    done <<<"$needs" | sort -u | tr '\n' ' '
}

# Engines with which the tests read exports, tools to build and test the Python package, and a client. They are
# installed into separate Python environments in the cache, so that the system does not change. Without
# them these tests report that they are skipped.
python_engines='duckdb==2.0.0 pyarrow==26.0.1 pandas==3.1.1'
wheel_tools='maturin==1.16.0 pytest==9.2.0 mypy==2.4.1'
# The official client of the Model Context Protocol, which asks `trawl mcp` and `/mcp` of `trawl web`.
mcp_client='mcp==2.3.0'
# Another client, which also checks the schemas of tools (111 MB with what it needs).
mcp_inspector='@modelcontextprotocol/inspector@2.12.0'
# What the client of the HTTP API needs (clients/python), and what generates and checks it.
http_client='httpx==0.28.1 datamodel-code-generator==0.89.0 mypy==2.4.1'

# DuckDB with the extension that reads tables over HTTP. The extension exists for this version of DuckDB.
httpfs_client='duckdb==1.5.5 duckdb-extension-httpfs==1.5.5'
# A directory service (LDAP), and how the C library and PAM ask one. Installing these would change how this
# machine looks up its users, so they are only unpacked.
directory_packages='slapd ldap-utils nslcd libnss-ldapd libpam-ldapd'

# install_python NAME PACKAGES
install_python() {
    local home="${XDG_CACHE_HOME:-$HOME/.cache}/trawl/tools/$1"
    [ "$(cat "$home/engines" 2>/dev/null)" != "$2" ] || return 0
    echo "installing for tests, in $home: $2" >&2
    # shellcheck disable=SC2086 # a list of words
    if python3 -m venv "$home" >/dev/null 2>&1 &&
        timeout 300 "$home/bin/pip" install --quiet --disable-pip-version-check $2 </dev/null >&2; then
        echo "$2" >"$home/engines"
    else
        echo "continuing without them: tests that need them are skipped" >&2
    fi
}

# install_node NAME PACKAGE
install_node() {
    local home="${XDG_CACHE_HOME:-$HOME/.cache}/trawl/tools/$1"
    [ "$(cat "$home/package" 2>/dev/null)" != "$2" ] || return 0
    command -v npm >/dev/null 2>&1 || return 0
    echo "installing for tests, in $home: $2" >&2
    mkdir -p "$home"
    # Nothing of the package runs while it is installed.
    if timeout 300 npm install --prefix "$home" --ignore-scripts --no-audit --no-fund --silent "$2" </dev/null >&2; then
        echo "$2" >"$home/package"
    else
        echo "continuing without it: tests that need it are skipped" >&2
    fi
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

may_install() {
    command -v apt-get >/dev/null 2>&1 || return 1
    [ "$(id -u)" = 0 ] || { command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; }
}

install_packages() {
    echo "installing with apt-get: $*" >&2
    local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120)
    local log
    log=$(mktemp)
    # Package lists may be missing or old, and an unavailable package must not prevent the others.
    as_root "${apt[@]}" update </dev/null >"$log" 2>&1 || true
    local package
    for package in "$@"; do
        as_root "${apt[@]}" install -y --no-install-recommends "$package" </dev/null >>"$log" 2>&1 ||
            echo "apt-get could not install $package: $(grep -m1 '^E:' "$log" || tail -n 1 "$log")" >&2
    done
    rm -f "$log"
}

# Unpacks the packages of a directory service into the cache, with the libraries that this machine lacks.
unpack_directory() {
    local home="${XDG_CACHE_HOME:-$HOME/.cache}/trawl/tools/ldap" package log
    command -v apt-get >/dev/null 2>&1 || return 0
    [ "$(cat "$home/packages" 2>/dev/null)" != "$directory_packages" ] || return 0
    echo "unpacking for tests, in $home: $directory_packages" >&2
    rm -rf "$home"
    mkdir -p "$home/archives/partial"
    log=$home/log
    if download_directory "$home/archives" >"$log" 2>&1 ||
        { may_install && as_root apt-get -qq update </dev/null >>"$log" 2>&1 &&
            download_directory "$home/archives" >>"$log" 2>&1; }; then
        for package in "$home"/archives/*.deb; do
            dpkg-deb -x "$package" "$home" 2>>"$log" && continue
            echo "continuing without them, because $package cannot be unpacked: $(tail -n 1 "$log")" >&2
            rm -rf "$home"
            return 0
        done
        rm -rf "$home/archives"
        echo "$directory_packages" >"$home/packages"
    else
        echo "continuing without them, because $(grep -m1 '^E:' "$log" || tail -n 1 "$log"): tests that need them are skipped" >&2
    fi
}

# download_directory DIRECTORY
download_directory() {
    # shellcheck disable=SC2086 # a list of words
    timeout 300 apt-get -qq -y install --download-only --reinstall --no-install-recommends \
        -o Debug::NoLocking=true -o APT::Sandbox::User= -o Dir::Cache::Archives="$1" \
        $directory_packages </dev/null
}

check_toolchain() {
    local wanted have
    wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    if ! command -v cargo >/dev/null 2>&1; then
        echo "cargo is missing: install a Rust toolchain, $wanted or newer, from https://rustup.rs (Debian: apt install rustup && rustup default stable)" >&2
        exit 2
    fi
    have=$(rustc --version | cut -d' ' -f2)
    if [ "$(printf '%s\n%s\n' "$wanted" "${have%%-*}" | sort -V | head -n 1)" != "$wanted" ]; then
        echo "rustc $have is too old: $wanted or newer is needed; with rustup: rustup toolchain install stable && rustup default stable" >&2
        exit 2
    fi
}

for group in "$@"; do
    if [ "$group" = build ]; then check_toolchain; fi
done
packages=$(missing_packages "$@")
# shellcheck disable=SC2086 # a list of words
if [ -n "$packages" ] && may_install; then
    install_packages $packages
    packages=$(missing_packages "$@")
fi
if [ -n "$packages" ]; then
    echo "still missing; install by hand, as root: apt-get install $packages" >&2
    indispensable=$(missing_packages build)
    if [ -n "$indispensable" ]; then
        echo "the build needs: $indispensable" >&2
        exit 2
    fi
    echo "continuing without them: steps that need them are skipped" >&2
fi
case " $* " in
    *' test '*)
        install_python python "$python_engines"
        install_python mcp "$mcp_client"
        install_node inspector "$mcp_inspector"
        install_python client "$http_client"
        install_python httpfs "$httpfs_client"
        unpack_directory
        ;;
esac
case " $* " in
    *' test '* | *' wheel '*) install_python wheel "$wheel_tools" ;;
esac
case " $* " in
    *' build '*) scripts/checkout.sh ;;
esac
