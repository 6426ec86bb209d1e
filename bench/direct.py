#!/usr/bin/env python3
"""Compares direct access with path look-up on recorded traces: Figure 9 of the paper on Propeller.

    bench/direct.py EXAMPLE WORK [COMMAND...]

EXAMPLE is the built example of trawl-direct: cargo build --release -p trawl-direct --example
direct_access. Records the files that each command looks up (strace), then looks up the same files in
the same order, as fast as possible, once by path and once by direct access, in turn: cold (the
kernel's caches dropped: takes the superuser) and warm. Without commands it records a build of a small
C program, an import of many Python modules, and git status. "We issue Lookup operations to the
recorded files as fast as possible on Ext4 and Propeller" (paper, section 4.1). WORK is an empty
directory on the file system to be measured. Prints medians, and the median of the rounds' ratios.
"""

import os
import re
import statistics
import subprocess
import sys

COLD_ROUNDS = 7
WARM_ROUNDS = 15
SOURCES = 40
CALLS = "open,openat,execve,stat,lstat,newfstatat,statx,access,faccessat2"
IMPORTS = "asyncio, email, http.server, json, logging, multiprocessing, sqlite3, unittest, xml.dom.minidom"

# A successful call with an absolute path, or with a path relative to a directory that strace shows.
CALL = re.compile(r'(\w+)\((?:AT_FDCWD<([^>]*)>, |\d+<([^>]*)>, )?"((?:[^"\\]|\\.)*)".*\) = (-?\d+)')


def prepare(work):
    """Makes what the default commands read; returns the commands, each with a directory."""
    tree = os.path.join(work, "tree")
    headers = ["stdio", "stdlib", "string", "math", "pthread", "sys/socket", "netinet/in", "regex"]
    for number in range(SOURCES):
        place = os.path.join(tree, f"part{number % 8}", f"deep{number % 3}")
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, f"f{number}.c"), "w", encoding="ascii") as source:
            source.writelines(f"#include <{name}.h>\n" for name in headers)
            source.write(f'#include "f{number}.h"\nint f{number}(void) {{ return F; }}\n')
        with open(os.path.join(place, f"f{number}.h"), "w", encoding="ascii") as header:
            header.write(f"#define F {number}\n")
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "all"]):
        subprocess.run([*git, *words], cwd=tree, check=True)
    build = f"for f in $(find . -name '*.c'); do gcc -c -o {work}/out.o $f; done"
    return {
        "gcc": (["sh", "-c", build], tree),
        "python": ([sys.executable, "-c", f"import {IMPORTS}"], tree),
        "git status": (["git", "status"], tree),
    }


def record(words, directory):
    """Returns the paths of regular files that a command looked up, in their order."""
    log = subprocess.run(
        ["strace", "-f", "-y", "-qq", "-s", "4096", "-e", f"trace={CALLS}", *words],
        cwd=directory, env=dict(os.environ, LC_ALL="C"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        text=True, errors="surrogateescape", check=False,
    ).stderr
    paths = []
    for line in log.splitlines():
        call = CALL.search(line)
        if call is None or int(call[5]) < 0:
            continue
        path = os.path.realpath(os.path.join(call[2] or call[3] or directory, call[4]))
        if os.path.isfile(path) and not path.startswith(("/proc/", "/sys/", "/dev/")):
            paths.append(path)
    return paths


def lookups(example, way, rows, caches):
    words = [example, way, *(["--cold"] if caches == "cold" else [])]
    with open(rows, encoding="utf-8", errors="surrogateescape") as given:
        said = subprocess.run(words, stdin=given, stdout=subprocess.PIPE, check=True).stdout
    elapsed_ns, opened, by_path = map(int, said.split())
    return elapsed_ns, opened, by_path


def compare(example, name, rows):
    for caches, rounds in (("cold", COLD_ROUNDS), ("warm", WARM_ROUNDS)):
        if caches == "cold" and not os.access("/proc/sys/vm/drop_caches", os.W_OK):
            print(f"{name}, cold: skipped, because the kernel's caches cannot be dropped")
            continue
        times = {"path": [], "direct": []}
        for number in range(rounds):
            order = ("path", "direct") if number % 2 else ("direct", "path")
            for way in order:
                elapsed_ns, opened, by_path = lookups(example, way, rows, caches)
                times[way].append(elapsed_ns)
                if way == "direct" and by_path:
                    print(f"  {by_path} of {opened} without a handle")
        ratio = statistics.median(a / b for a, b in zip(times["path"], times["direct"]))
        path, direct = (statistics.median(times[way]) / opened / 1000 for way in ("path", "direct"))
        print(f"{name}, {caches}: {opened} look-ups, by path {path:.2f} us, direct {direct:.2f} us each: {ratio:.2f} x")


def main(example, work, commands):
    work = os.path.realpath(work)
    wanted = {" ".join(words): (words, os.getcwd()) for words in commands} or prepare(work)
    # In memory, so that reading it brings nothing of the measured file system into the caches.
    rows = f"/dev/shm/trawl-direct-{os.getpid()}"
    try:
        for name, (words, directory) in wanted.items():
            paths = record(words, directory)
            given = "\n".join(paths).encode("utf-8", "surrogateescape")
            with open(rows, "wb") as output:
                subprocess.run([example, "rows"], input=given, stdout=output, check=True)
            print(f"{name}: {len(paths)} look-ups of {len(set(paths))} files")
            compare(example, name, rows)
    finally:
        if os.path.exists(rows):
            os.remove(rows)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(os.path.abspath(sys.argv[1]), sys.argv[2], [words.split() for words in sys.argv[3:]])
