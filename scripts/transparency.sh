#!/usr/bin/env bash
# Runs test suites and programs without and with libtrawl-preload.so: transparency.sh [OPTION…] [SUITE…]
#
# Suites: coreutils, findutils and busybox, from Debian's sources of the installed versions, whose scripts test
# the installed programs; and `programs`: git, make, configure, tar, rsync and others, whose output and
# resulting files are compared. Each script runs once without the library and once per mode with it, in
# `trawl run --cover … -- …`, in a directory of its own; all results must be the same. A script with a
# difference runs three more times, each time both ways: if the results are the same at least once, it is
# listed as unsteady, otherwise as different.
#
#   --trawl PROGRAM   use this program instead of building one; libtrawl_preload.so must be beside it
#   --mode MODE       patient (the default in use: asks where calls are expensive), ready (as if they were
#                     expensive) or restless (asks the service at every call that no table answers, and
#                     believes a table for a minute, so that expiry does not hide missed changes); without
#                     this option the last two
#   --only PATTERN    only scripts whose names match the pattern (as in grep -E)
#   --jobs N          run N scripts at a time (2)
#   --keep DIRECTORY  keep sources, logs and results in the directory, and reuse sources found there
#
# As root it runs scripts that skip themselves for root as `nobody`, so that they are tested, too.
# Exit code: 0 no difference, 1 some results differ, 2 the test could not run.
set -euo pipefail
self=$(realpath "$0")
repository=$(dirname "$(dirname "$self")")

die() {
    echo "transparency.sh: $1" >&2
    exit 2
}

# ---------------------------------------------------------------- one script, in a call of this program

# Prints the words in front of a command that load the library into it.
in_mode() {
    case $1 in
        without) ;;
        patient) printf '%s\n' "$T_TRAWL" run --cover / -- ;;
        ready) printf '%s\n' "$T_TRAWL" run --cover / -- env TRAWL_BULK_HASTE=ready ;;
        restless) printf '%s\n' "$T_TRAWL" run --cover "$T_HOME" -- env TRAWL_BULK_HASTE=restless \
            TRAWL_BULK_AGE_MS=60000 TRAWL_BULK_ENTRIES=512 ;;
    esac
}

# Runs a command in this directory, in the mode, as the user, and within the time limit.
run_in() {
    local mode=$1 user=$2
    shift 2
    local -a words=()
    if [ "$user" = nobody ]; then
        chown -R nobody .
        words+=(setpriv --reuid nobody --regid nogroup --clear-groups env HOME="$PWD")
    fi
    words+=(timeout --kill-after=10 "$T_SECONDS")
    mapfile -t -O "${#words[@]}" words < <(in_mode "$mode")
    local code=0
    "${words[@]}" "$@" </dev/null >"$log" 2>&1 || code=$?
    echo "$code"
}

# Sets the variables that a script of GNU's harness expects (tests/local.mk of both packages).
gnu_environment() {
    local source=$1 build=$2
    unset CDPATH POSIXLY_CORRECT LS_COLORS TIME_STYLE BLOCK_SIZE DU_BLOCK_SIZE DF_BLOCK_SIZE LS_BLOCK_SIZE \
        BLOCKSIZE QUOTING_STYLE COLUMNS TABSIZE GREP_OPTIONS SIMPLE_BACKUP_SUFFIX VERSION_CONTROL
    export LC_ALL=C srcdir="$source" top_srcdir="$source" abs_srcdir="$source" abs_top_srcdir="$source" \
        abs_top_builddir="$build" CONFIG_HEADER="$build/lib/config.h" fail=0 EXEEXT='' SHELL=/bin/sh \
        AWK=awk CC="gcc" EGREP='grep -E' MAKE=make PERL=perl LOCALE_FR=none LOCALE_FR_UTF8=none \
        host_os=linux-gnu host_triplet=x86_64-pc-linux-gnu TMPDIR=/tmp VERBOSE=yes \
        built_programs="$T_PROGRAMS" VERSION="$T_VERSION" PACKAGE_VERSION="$T_VERSION"
}

case_coreutils() {
    local source=$T_HOME/coreutils/source build=$T_HOME/coreutils/build test=$1
    T_PROGRAMS=$(cat "$build/programs") T_VERSION=$(cat "$build/version")
    gnu_environment "$source" "$build"
    export CU_TEST_NAME="trawl,${test//\//-}" PATH="$build/src:$PATH"
    ln -s "$build/src" "$build/lib" "$source/tests" .
    local user=self
    if [ "$(id -u)" = 0 ] && grep -Eq '^ *(skip_if_root_|require_non_root)|CuSkip::skip.*root|uid_is_privileged' "$source/$test"; then
        user=nobody
    fi
    case $test in
        *.sh) run_in "$mode" $user sh "$source/$test" 9>&2 ;;
        *.xpl) run_in "$mode" $user perl -T -w -I"$source/tests" -MCuSkip -MCoreutils -M"CuTmpdir qw($test)" "$source/$test" 9>&2 ;;
        *) run_in "$mode" $user perl -w -I"$source/tests" -MCuSkip -MCoreutils -M"CuTmpdir qw($test)" "$source/$test" 9>&2 ;;
    esac
}

case_findutils() {
    local source=$T_HOME/findutils/source test=$1 tool
    case $test in
        *.sh)
            T_PROGRAMS='find xargs' T_VERSION=4.9.0
            gnu_environment "$source" "$PWD"
            mkdir lib && touch lib/config.h
            run_in "$mode" self sh "$source/$test" 9>&2
            ;;
        *)
            tool=${test%%/*}
            # The harness looks for the program in the parent directory, where it would be built.
            mkdir testsuite && touch "$tool.o" && ln -s "$(command -v "$tool")" "$tool" && cd testsuite
            cat >site.exp <<SITE
set tool $tool
set srcdir $source/$tool/testsuite
set objdir $PWD
set base_dir $PWD
SITE
            local name=${test##*/} user=self
            if [ "$(id -u)" = 0 ] && grep -q 'fs_superuser' "$source/$test"; then user=nobody; fi
            run_in "$mode" $user runtest --tool "$tool" --srcdir "$source/$tool/testsuite" --objdir "$PWD" \
                FTSFIND="$(command -v find)" XARGS="$(command -v xargs)" "$name"
            grep -E '^(PASS|FAIL|XPASS|XFAIL|UNTESTED|UNRESOLVED|ERROR|WARNING)' "$tool.sum" | sort
            ;;
    esac
}

case_busybox() {
    local source=$T_HOME/busybox/source
    ln -s "$(command -v busybox)" busybox
    ln -s "$source/scripts" scripts
    cp "$source/debian/config/pkg/deb" .config
    cp -a "$source/testsuite" testsuite
    cd testsuite
    run_in "$mode" self ./runtest "$1"
    grep -E '^(PASS|FAIL|SKIPPED|UNTESTED)' "$log" | sort
}

# Prints a program's output and the resulting files; `tree` is shared by all scripts, and none changes it.
case_programs() {
    local tree=$T_HOME/tree
    mkdir here
    cd here
    export TREE="$tree" LC_ALL=C
    cp "$T_HOME/programs/$1" ../script
    local shot='find . -printf "%P %y %m %n %U %G %s %l\n" | sort'
    run_in "$mode" self bash ../script
    cat "$log"
    bash -c "$shot"
    cat .compared 2>/dev/null || true
}

# Prints a script's result: its exit code, and everything else that must be the same.
one_case() {
    local mode=$1 suite=$2 test=$3
    local place=$T_HOME/work/${suite}-${test//\//,}
    log=$T_HOME/logs/$mode/${suite}-${test//\//,}
    mkdir -p "$(dirname "$log")"
    chmod -R u+rwx "$place" 2>/dev/null || true
    rm -rf "$place"
    mkdir -p "$place"
    cd "$place"
    local end
    end=$("case_$suite" "$test")
    cd /
    chmod -R u+rwx "$place" 2>/dev/null || true
    rm -rf "$place" 2>/dev/null || true
    printf '%s\n' "$end"
}

# Runs a script in all modes; prints one line per mode.
compare() {
    local suite=$1 test=$2 mode round without with
    local name=$suite/$test
    local ends=$T_HOME/ends/${suite}-${test//\//,}
    one_case without "$suite" "$test" >"$ends.without"
    without=$(head -n 1 "$ends.without")
    for mode in $T_MODES; do
        one_case "$mode" "$suite" "$test" >"$ends.$mode"
        with=$(head -n 1 "$ends.$mode")
        if cmp -s "$ends.without" "$ends.$mode"; then
            echo "same $mode $without $name"
            continue
        fi
        local kind=different
        for round in 1 2 3; do
            one_case without "$suite" "$test" >"$ends.without.$round"
            one_case "$mode" "$suite" "$test" >"$ends.$mode.$round"
            if cmp -s "$ends.without.$round" "$ends.$mode.$round"; then
                kind=unsteady
                break
            fi
        done
        echo "$kind $mode $without/$with $name"
    done
}

if [ "${1-}" = --compare ]; then
    set +e
    compare "$2" "$3"
    exit 0
fi

# ---------------------------------------------------------------- the suites

home='' trawl='' only='' jobs=2 modes=''
suites=()
while [ $# -gt 0 ]; do
    case $1 in
        --trawl) trawl=$(realpath "$2") && shift ;;
        --mode) modes="$modes $2" && shift ;;
        --only) only=$2 && shift ;;
        --jobs) jobs=$2 && shift ;;
        --keep) mkdir -p "$2" && home=$(realpath "$2") && shift ;;
        -h | --help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$self" && exit 0 ;;
        coreutils | findutils | busybox | programs) suites+=("$1") ;;
        *) die "no such option or suite: $1; see --help" ;;
    esac
    shift
done
[ ${#suites[@]} -gt 0 ] || suites=(coreutils findutils busybox programs)
for mode in $modes; do
    case $mode in patient | ready | restless) ;; *) die "no such mode: $mode; patient, ready or restless" ;; esac
done

if [ -z "$trawl" ]; then
    (cd "$repository" && cargo build --quiet -p trawl-cli -p trawl-preload) || die "trawl could not be built"
    trawl=${CARGO_TARGET_DIR:-$repository/target}/debug/trawl
fi
"$trawl" run -- true 2>&1 | grep -q . && die "$trawl run does not find libtrawl_preload.so"
if [ -z "$home" ]; then
    home=$(mktemp -d /var/tmp/trawl-transparency.XXXXXX)
    trap 'chmod -R u+rwx "$home"; rm -rf "$home"' EXIT
fi
chmod 755 "$home"
mkdir -p "$home"/{logs,work,ends}
chmod 1777 "$home/work"
export T_HOME=$home T_TRAWL=$trawl T_MODES=${modes:-ready restless} T_SECONDS=${T_SECONDS:-300}

install() {
    local package
    for package in "$@"; do
        dpkg -s "$package" >/dev/null 2>&1 && continue
        [ "$(id -u)" = 0 ] || die "install by hand, as root: apt-get install $*"
        DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$package" >/dev/null ||
            die "apt-get could not install $package"
    done
}

# Fetches Debian's source of an installed package into SUITE/source; apt's own lists do not change.
fetch() {
    local package=$1 place=$home/$1
    [ ! -d "$place/source" ] || return 0
    install dpkg-dev ca-certificates
    local lists=$home/apt
    mkdir -p "$lists/lists/partial" "$place"
    local codename
    codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
    local options=(-qq -o Dir::Etc::SourceList="$lists/sources.list" -o Dir::Etc::SourceParts=-
        -o Dir::State::Lists="$lists/lists" -o APT::Sandbox::User=root)
    if [ ! -s "$lists/sources.list" ]; then
        local signed=/usr/share/keyrings/debian-archive-keyring.gpg
        echo "deb-src [signed-by=$signed] ${T_MIRROR:-http://deb.debian.org/debian} $codename main" >"$lists/sources.list"
        apt-get "${options[@]}" update || die "Debian's lists of sources could not be fetched"
    fi
    (cd "$place" && apt-get "${options[@]}" --only-source source "$package" >/dev/null) ||
        die "the source of $package could not be fetched"
    mv "$place/$package"-*/ "$place/source"
}

prepare_coreutils() {
    local build=$home/coreutils/build
    install gcc make perl gdb
    fetch coreutils
    [ ! -e "$build/ready" ] || return 0
    echo "configuring coreutils …" >&2
    mkdir -p "$build"
    (cd "$build" && FORCE_UNSAFE_CONFIGURE=1 ../source/configure -q --disable-nls >configure.log 2>&1 &&
        printf 'built: $(BUILT_SOURCES)\n' >built.mk && make -s -f Makefile -f built.mk built >make.log 2>&1 &&
        make -s -j2 src/getlimits >>make.log 2>&1) || die "coreutils cannot be configured; see $build/*.log"
    # The harness puts ./src on PATH: fill it with links to the installed programs.
    local program
    rm -rf "$build/src.built" && mv "$build/src" "$build/src.built" && mkdir "$build/src"
    cp "$build/src.built/getlimits" "$build/src/"
    : >"$build/programs"
    for program in $(dpkg -L coreutils | sed -n 's|^\(/usr\)\{0,1\}/s\{0,1\}bin/||p' | sort -u); do
        ln -s "$(type -P "$program")" "$build/src/$program" && printf '%s ' "$program" >>"$build/programs"
    done
    sed -n 's/^#define VERSION "\(.*\)"/\1/p' "$build/lib/config.h" >"$build/version"
    chmod -R go+rX "$home/coreutils"
    touch "$build/ready"
}

list_coreutils() {
    (cd "$home/coreutils/source" && find tests -name '*.sh' -o -name '*.pl' -o -name '*.xpl') |
        grep -v -e tests/init.sh -e tests/factor/ -e 'tests/sample' | sort
}

prepare_findutils() {
    install dejagnu
    fetch findutils
    chmod -R go+rX "$home/findutils"
}

list_findutils() {
    (cd "$home/findutils/source" && find find/testsuite xargs/testsuite -name '*.exp' -path '*.*/*' &&
        find tests/find tests/xargs -name '*.sh') | grep -v /config/ | sort
}

prepare_busybox() {
    install busybox
    fetch busybox
    chmod -R go+rX "$home/busybox"
}

list_busybox() {
    local name
    for name in $(busybox --list); do
        if [ -d "$home/busybox/source/testsuite/$name" ] || [ -f "$home/busybox/source/testsuite/$name.tests" ]; then
            echo "$name"
        fi
    done
}

# Writes the scripts for the tree: they print no access times, and no times of files that they make.
write_programs() {
    mkdir -p "$home/programs"
    cd "$home/programs"
    echo 'cd "$TREE" && find . -printf "%p %i %y %m %n %u %g %s %b %T@ %C@ %l\n" && find . -xtype l -ls' >find
    echo 'cd "$TREE" && ls -lRi --time-style=full-iso && ls -R && ls -laU lib' >ls
    echo 'cd "$TREE" && du -a . && du --apparent-size -h --inodes' >du
    echo 'cd "$TREE" && tar cf - . | sha256sum; tar cf - --xattrs --acls --sort=name lib | sha256sum' >tar
    echo 'cp -a "$TREE" copy && cp -al copy links && cp -ru "$TREE/lib" copy/ && diff -r "$TREE" copy && echo same' >cp
    echo 'rsync -aHAXni "$TREE/" empty/; rsync -a "$TREE/" copy/ && rsync -aicn --delete "$TREE/" copy/; rm copy/README; touch copy/new; rsync -ain --delete "$TREE/" copy/' >rsync
    echo 'cp -a "$TREE" copy; cd copy; for i in 1 2 3; do mv lib lib$i; mkdir lib; mv lib$i/*.c lib/; find . | sort | sha256sum; rm -r lib; mv lib$i lib; done; rm -rf lib; find . | wc -l' >moves
    cat >git <<'GIT'
export GIT_CONFIG_GLOBAL=/dev/null HOME=$PWD
cp -a "$TREE" copy; cd copy; git init -q .; git config user.name n; git config user.email e
git add -A && git commit -qm one; git status --porcelain; git ls-files | sha256sum
echo new >new; echo more >>README; rm lib/*.h; mv find source; git status --porcelain | sort | sha256sum
git ls-files -o -m -d | sort | sha256sum; git add -A; git status --short | wc -l; git stash -q; git status --porcelain
git checkout -q -b other; git stash pop -q; git commit -qam two; git diff --stat HEAD~ | tail -n 1; git clean -ndx
git checkout -q -f HEAD~; git status --porcelain; git grep -c main -- '*.c' | sha256sum; cd ..; rm -rf copy
GIT
    cat >python <<'PYTHON'
cat >../walk.py <<'END'
import glob, hashlib, os, pathlib, shutil, sys
top = os.environ["TREE"]
for where, dirs, files in os.walk(top):
    print(where, dirs, files)
    for name in files:
        of = os.lstat(os.path.join(where, name))
        print(name, of.st_ino, of.st_size, of.st_mode, of.st_mtime_ns, os.path.islink(os.path.join(where, name)))
for where, dirs, files, fd in os.fwalk(top):
    print(where, [os.stat(name, dir_fd=fd, follow_symlinks=False).st_size for name in files])
print(glob.glob(top + "/**/*.c", recursive=True), list(pathlib.Path(top).rglob("*.h")))
print([(entry.name, entry.is_dir(), entry.stat(follow_symlinks=False).st_ino) for entry in os.scandir(top)])
shutil.copytree(top, "copy", symlinks=True)
print(len(os.listdir("copy")), os.path.exists("copy/none"))
shutil.rmtree("copy/lib")
print(os.path.exists("copy/lib"), os.listdir("."))
END
python3 ../walk.py
PYTHON
    cat >bash <<'BASH'
cd "$TREE"; shopt -s globstar nullglob; echo **/*.c; echo */ lib/a* none*; for f in **; do test -f "$f" && test -s "$f" && test ! -L "$f" && echo "$f"; done
for f in lib/*; do [ "$f" -nt README ] && echo "$f newer"; [ "$f" -ef "./$f" ] || echo odd; done; cd lib && cd - && cd ./lib/../find && pwd
BASH
    cat >configure <<'CONFIGURE'
cp -a "$TREE" source; cd source; touch aclocal.m4; touch configure config.h.in; find . -name Makefile.in -exec touch {} +; cd ..
mkdir build; cd build; FORCE_UNSAFE_CONFIGURE=1 ../source/configure --disable-nls >../out 2>&1; echo $?; sha256sum <../out
sha256sum <config.h; for part in gl lib find; do make -s -j2 -C $part >../made 2>&1; echo $?; make -q -C $part >../made 2>&1; echo $?; done
find . -name '*.[oa]' | sort; ./find/find . -name '*.o' | wc -l; touch gl/lib/stdio.h; make -n -C find | grep -c gcc
cd ..; rm -r build source; ls
CONFIGURE
}

prepare_programs() {
    install gcc make git rsync python3
    fetch findutils
    # Copied once, with its attributes, so that all scripts see the same inodes.
    [ -d "$home/tree" ] || cp -a "$home/findutils/source" "$home/tree"
    write_programs
}

list_programs() {
    ls "$home/programs"
}

results=$home/results
: >"$results"
for suite in "${suites[@]}"; do
    ("prepare_$suite") || exit 2
    "list_$suite" | { grep -E -e "$only" || true; } >"$home/list"
    echo "$suite: $(wc -l <"$home/list") scripts, each without and with the library ($T_MODES)" >&2
    xargs -a "$home/list" -d '\n' -r -n 1 -P "$jobs" setsid --wait "$self" --compare "$suite" >>"$results" 2>>"$home/errors"
done

for mode in $T_MODES; do
    for suite in "${suites[@]}"; do
        awk -v mode="$mode" -v suite="$suite" '$2 == mode && index($4, suite "/") == 1 {
            kinds[$1]++; if ($1 == "same") ends[$3 == 0 ? "passed" : $3 == 77 || $3 == 80 ? "skipped" : "failed"]++ }
            END { printf "%-10s %-8s %d the same (%d passed, %d skipped, %d failed), %d different, %d unsteady\n", suite, mode,
                kinds["same"], ends["passed"], ends["skipped"], ends["failed"], kinds["different"], kinds["unsteady"] }' "$results"
    done
done
grep -E '^(different|unsteady) ' "$results" | sort || true
[ -s "$results" ] || die "nothing was run"
! grep -q '^different ' "$results"
