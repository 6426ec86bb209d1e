#!/usr/bin/env python3
"""Measures the text index of `trawl grep` on one tree, beside codesearch and ripgrep.

    bench/text_index.py TRAWL WORK TREE RARE COMMON

RARE and COMMON are words in the tree. Prints the size and the time of both indexes, then for each
word the best and the median time of each program with everything in memory, and checks that they
name the same files. A daemon watches the tree meanwhile, so it takes the superuser; with --no-wait,
trawl does not use it and looks at each file. csearch and cindex come from Debian's package
codesearch. WORK is an empty directory. Files must have been unchanged for some seconds before.
"""

import os
import statistics
import subprocess
import sys
import time

ROUNDS = 15


def run(words, env):
    begun = time.perf_counter()
    done = subprocess.run(words, env=env, stdout=subprocess.PIPE, check=False)
    return time.perf_counter() - begun, done.stdout


def size_below(path, ending):
    total = 0
    for top, _, names in os.walk(path):
        total += sum(os.path.getsize(os.path.join(top, n)) for n in names if n.endswith(ending))
    return total


def watch(trawl, tree, env):
    """Starts a daemon, and returns it once the index is as of now."""
    daemon = subprocess.Popen([trawl, "watch", tree], env=env, stderr=subprocess.DEVNULL)
    for _ in range(600):
        fresh = [trawl, "find", "--fresh=60s", tree, "-maxdepth", "0"]
        if subprocess.run(fresh, env=env, stdout=subprocess.DEVNULL, check=False).returncode == 0:
            return daemon
        time.sleep(0.1)
    daemon.kill()
    sys.exit("the daemon does not watch")


def main(trawl, work, tree, rare, common):
    tree = os.path.realpath(tree)
    env = dict(os.environ, TRAWL_INDEX=os.path.join(work, "index"), LC_ALL="C")
    env["CSEARCHINDEX"] = os.path.join(work, "csearch")
    text_bytes = size_below(tree, "")
    cpu_before = os.times()
    took, _ = run([trawl, "index", "--quiet", "--text", tree], env)
    cpu = os.times()
    cpu_s = cpu.children_user + cpu.children_system
    cpu_s -= cpu_before.children_user + cpu_before.children_system
    ours = size_below(env["TRAWL_INDEX"], ".grams")
    print(f"text {text_bytes / 1e6:.0f} MB")
    print(f"trawl: {ours / 1e6:.1f} MB ({ours / text_bytes:.1%}), {took:.1f} s, "
          f"{text_bytes / 1e6 / cpu_s:.0f} MB per second of one core")
    took, _ = run([trawl, "index", "--quiet", tree], env)
    print(f"trawl, nothing changed: {took:.2f} s")
    took, _ = run(["cindex", tree], env)
    theirs = os.path.getsize(env["CSEARCHINDEX"])
    print(f"cindex: {theirs / 1e6:.1f} MB ({theirs / text_bytes:.1%}), {took:.1f} s")
    daemon = watch(trawl, tree, env)
    try:
        search((trawl, tree, env), (rare, common))
    finally:
        daemon.terminate()
        daemon.wait()


def search(where, words_sought):
    trawl, tree, env = where
    for word in words_sought:
        programs = {
            "trawl": [trawl, "grep", "-l", word, tree],
            "trawl --no-wait": [trawl, "grep", "--no-wait", "-l", word, tree],
            "trawl, no index": [trawl, "grep", "--no-text-index", "-l", word, tree],
            "csearch": ["csearch", "-l", "-f", tree, word],
            "rg": ["rg", "-uuu", "-l", word, tree],
        }
        times = {name: [] for name in programs}
        answers = {}
        for _ in range(ROUNDS):
            for name, words in programs.items():
                took, out = run(words, env)
                times[name].append(took)
                answers[name] = sorted(out.split(b"\n"))
        for name in programs:
            own = times[name]
            print(f"{word}: {name}: best {min(own) * 1000:.1f} ms, median "
                  f"{statistics.median(own) * 1000:.1f} ms, {len(answers[name]) - 1} files")
        if not answers["trawl"] == answers["trawl --no-wait"] == answers["trawl, no index"]:
            sys.exit("the answers differ")


if __name__ == "__main__":
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    main(*sys.argv[1:])
