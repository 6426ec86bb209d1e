#!/usr/bin/env python3
"""Measures the keyword index on one tree, beside GNU grep for the answers.

    bench/keywords.py TRAWL WORK TREE WORD...

Prints the size of the index and the time of making it, then for each word the best and the median
time of `trawl find -keyword WORD` with everything in memory, beside that of `trawl find -newermt`,
which reads the same rows and no content. Checks that the files are those that `grep -rlwi` names;
words must not stand beside an underscore. WORK is an empty directory. Files must have been unchanged
for some seconds before.
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
        for name in names:
            file = os.path.join(top, name)
            if name.endswith(ending) and not os.path.islink(file):
                total += os.path.getsize(file)
    return total


def children_cpu_s():
    cpu = os.times()
    return cpu.children_user + cpu.children_system


def main(trawl, work, tree, words):
    tree = os.path.realpath(tree)
    env = dict(os.environ, TRAWL_INDEX=os.path.join(work, "index"), LC_ALL="C.UTF-8")
    run([trawl, "index", "--quiet", tree], env)
    text_bytes = size_below(tree, "")
    before = children_cpu_s()
    took, said = run([trawl, "index", "--keywords", tree], env)
    cpu_s = children_cpu_s() - before
    ours = size_below(env["TRAWL_INDEX"], ".keywords")
    print(said.decode())
    print(f"text {text_bytes / 1e6:.0f} MB, packs {ours / 1e6:.1f} MB ({ours / text_bytes:.1%}), "
          f"{took:.1f} s, {text_bytes / 1e6 / cpu_s:.0f} MB per second of one core")
    took, _ = run([trawl, "index", "--quiet", tree], env)
    print(f"nothing changed: {took:.2f} s")
    empty = [trawl, "find", tree, "-type", "f", "-newermt", "2100-01-01"]
    for word in [None, *words]:
        question = empty if word is None else [trawl, "find", tree, "-keyword", word]
        times = []
        for _ in range(ROUNDS):
            took, answer = run(question, env)
            times.append(took * 1e3)
        lines = len(answer.splitlines())
        print(f"{word or '(no content)'}: best {min(times):.1f} ms, median "
              f"{statistics.median(times):.1f} ms, {lines} files")
        if word is not None and word.isalnum():
            _, expected = run(["grep", "-rlwi", word, tree], env)
            if sorted(expected.splitlines()) != sorted(answer.splitlines()):
                print(f"  grep names others: {len(expected.splitlines())}")


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
