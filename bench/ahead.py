#!/usr/bin/env python3
"""Reading cold files: programs plain and under `trawl run`, and `duplicates --verify` by two programs.

usage: ahead.py TRAWL WORK [--files N] [--bytes N] [--runs N] [--cold] [--before TRAWL]

TRAWL is the release binary with its libraries beside it, WORK a directory on a disk, in which files are made and
removed. Each run begins with the files' content out of the kernel's cache; with `--cold` (root) also their inodes and
everything else. `--before` is a program that `duplicates --verify` is compared with. Prints medians of paired runs; a
ratio is the second column divided by the first, so less than 1 means that fetching ahead pays.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from measure import Caches, chill, run


def compare(label: str, plain: list[str], ours: list[str], files: Path, caches: Caches | None, runs: int) -> None:
    """Runs two commands in turn and prints their times."""
    walls: tuple[list[float], list[float]] = ([], [])
    for _ in range(runs):
        outputs = set()
        for times, command in zip(walls, (plain, ours), strict=True):
            if caches is not None:
                chill(caches, command, files)
            cost = run(command)
            if cost.exit_code != 0:
                raise SystemExit(f"{label}: exit code {cost.exit_code} of {command[:4]}")
            outputs.add(cost.output_bytes)
            times.append(cost.wall_s * 1000)
        if len(outputs) != 1:
            raise SystemExit(f"{label}: outputs differ")
    ratio = statistics.median(b / a for a, b in zip(*walls, strict=True))
    first, second = (statistics.median(times) for times in walls)
    state = "warm" if caches is None else caches.value
    print(f"{label:28} {state:16} {first:9.1f} ms {second:9.1f} ms   ratio {ratio:.2f}", flush=True)


def make(top: Path, count: int, size_bytes: int) -> list[str]:
    """Makes files of which every other one has the content of the one before."""
    top.mkdir()
    for at in range(count):
        line = f"{at // 2:08d} line of text\n".encode()
        Path(top, f"f{at:06d}").write_bytes((line * (size_bytes // len(line) + 1))[: size_bytes + at // 2])
    return [str(path) for path in sorted(top.iterdir())]


def main() -> None:
    """Measures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trawl", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--files", type=int, default=3000)
    parser.add_argument("--bytes", type=int, default=8 << 10)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--before", type=Path)
    args = parser.parse_args()
    trawl = str(args.trawl.resolve())
    caches = Caches.COLD if args.cold else Caches.EVICTED
    args.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=args.work) as work:
        top, index = Path(work, "files"), str(Path(work, "index"))
        names = make(top, args.files, args.bytes)
        for words in (["cat"], ["md5sum"], ["grep", "-c", "999"]):
            for state in (caches, None):
                under = [trawl, "run", "--cover", str(top), "--", *words, *names]
                without = [trawl, "run", "--fetch-ahead=0", "--cover", str(top), "--", *words, *names]
                compare(f"{words[0]}, plain", [*words, *names], under, top, state, args.runs)
                compare(f"{words[0]}, --fetch-ahead=0", without, under, top, state, args.runs)
        if args.before:
            question = ["--index", index, "duplicates", "--verify", str(top)]
            run([trawl, "--index", index, "index", str(top)])
            for state in (caches, None):
                compare("duplicates --verify", [str(args.before.resolve()), *question], [trawl, *question], top, state, args.runs)


if __name__ == "__main__":
    main()
