#!/usr/bin/env python3
"""`trawl grep` beside ripgrep, GNU grep and xargs, on cached trees and on cold ones.

usage: grep_peers.py TRAWL WORK [TREE…] [--runs N] [--only PART,…] [--rg-alone]

TRAWL is the program; WORK a directory on a disk, where 3,000 small files are made; each TREE is searched with several
patterns. Prints medians of paired runs, in which all commands take turns, and the median of the rounds' ratios, ours by
the peer's. All commands of a row read the same files: ripgrep gets -uuu. Their outputs are compared, sorted, in every
round; lines about binary files are left out, because each program words them in its own way, and of xargs -P only the
number of lines is compared, because its processes tear each other's lines. Ends with 1 if an output differs. Peers that
are not installed are left out and named.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from measure import evict

LINE = b"the quick brown fox jumps over the lazy dog\n"
OURS = "trawl grep"
BINARY = b"inary file "


@dataclass
class Row:
    """One search, done by several commands."""

    title: str
    wall_s: dict[str, list[float]] = field(default_factory=dict)
    cpu_s: dict[str, list[float]] = field(default_factory=dict)
    differing: set[str] = field(default_factory=set)

    def ratio(self, peer: str) -> float:
        """Returns the median of the rounds' ratios of wall time, ours by the peer's."""
        return statistics.median(a / b for a, b in zip(self.wall_s[OURS], self.wall_s[peer], strict=True))

    def show(self) -> None:
        """Prints the medians, and the ratio of ours to each peer's."""
        print(f"\n{self.title}")
        for name, times in self.wall_s.items():
            wall_ms, cpu_ms = (statistics.median(of) * 1000 for of in (times, self.cpu_s[name]))
            ratio = "" if name == OURS else f"trawl {self.ratio(name):.2f} ×"
            print(f"  {name:<26} {wall_ms:9.1f} ms wall {cpu_ms:9.1f} ms CPU   {ratio}")
        for name in sorted(self.differing):
            print(f"  the output of {name} differs")


def lines(output: bytes) -> list[bytes]:
    """Returns the lines in order, without those about binary files."""
    return sorted(line for line in output.split(b"\n") if BINARY not in line)


def children_cpu_s() -> float:
    """Returns the processor time of all ended children."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Bench:
    """The inputs and settings."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.trawl = str(args.trawl.resolve())
        self.work: Path = args.work.resolve()
        self.trees: list[Path] = [tree.resolve() for tree in args.tree]
        self.runs: int = args.runs
        self.rg_alone: bool = args.rg_alone
        self.absent: set[str] = set()
        self.failures = 0

    def freeze(self, files: Path) -> None:
        """Drops files from the kernel's caches; as root, names and attributes, too. Programs are kept."""
        evict(files)
        if os.geteuid() != 0:
            return
        Path("/proc/sys/vm/drop_caches").write_text("2\n")
        for program in [self.trawl, "sh", "find", "xargs", "grep", "rg"]:
            if shutil.which(program):
                subprocess.run([program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, check=False)

    def compare(self, title: str, commands: dict[str, list[str]], cold: Path | None = None) -> None:
        """Runs all commands in turn, keeps the time of each, and compares what they print."""
        row = Row(title)
        present = {name: command for name, command in commands.items() if shutil.which(command[0])}
        self.absent |= {name for name in commands if name not in present}
        for turn in range(self.runs + 1):
            expected: list[bytes] | None = None
            for name, command in present.items():
                if cold:
                    self.freeze(cold)
                cpu_s, begun = children_cpu_s(), time.monotonic()
                ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False, cwd=self.work)
                wall_s = time.monotonic() - begun
                # The first round brings everything into memory.
                if turn > 0:
                    row.wall_s.setdefault(name, []).append(wall_s)
                    row.cpu_s.setdefault(name, []).append(children_cpu_s() - cpu_s)
                found = lines(ran.stdout)
                expected = found if expected is None else expected
                is_same = len(found) == len(expected) if "xargs" in name else found == expected
                if not is_same:
                    row.differing.add(name)
        self.failures += len(row.differing)
        row.show()

    def commands(self, words: list[str], tree: str) -> dict[str, list[str]]:
        """Returns the commands that search a tree; GNU grep prints counts of 0, ripgrep does if it is asked."""
        zero = ["--include-zero"] if "-c" in words else []
        commands = {
            OURS: [self.trawl, "grep", "-s", *words, tree],
            "rg -uuu": ["rg", "-uuu", "--no-messages", *zero, *words, tree],
        }
        if not self.rg_alone:
            commands["grep -rs"] = ["env", "LC_ALL=C", "grep", "-rsE", *words, tree]
            quoted = " ".join(f"'{word}'" for word in ["grep", "-HsE", *words])
            script = f"find '{tree}' -type f -print0 | LC_ALL=C xargs -0 -n 500 -P {os.cpu_count()} {quoted} --"
            commands["find | xargs -P grep"] = ["sh", "-c", script]
        return commands

    def warm(self) -> None:
        """Cached trees, several patterns."""
        searches = [["zyxwvutt"], ["-c", "zyxwvutt"], ["-l", "license"], ["-i", "-l", "warranty"], ["-n", "unsafe"], ["[a-z]+_[a-z]+_t"]]
        for tree in self.trees:
            for words in searches:
                self.compare(f"cached, {tree.name}: grep {' '.join(words)}", self.commands(words, str(tree)))

    def small(self) -> Path:
        """Returns a directory with 3,000 files of 4 KiB, written once."""
        folder = self.work / "small"
        if not folder.is_dir():
            text = (LINE * (4096 // len(LINE) + 1))[:4096]
            for number in range(3000):
                path = folder / f"{number // 100:03}" / f"{number:06}.txt"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(text)
            os.sync()
        return folder

    def cold(self) -> None:
        """3,000 small files that are in no cache."""
        folder = self.small()
        for words in (["-l", "fox"], ["-c", "dog"]):
            commands = self.commands(words, folder.name)
            script = commands.get("find | xargs -P grep", ["", "", ""])[2]
            for processes in () if self.rg_alone else (4, 16):
                more = script.replace(f"-n 500 -P {os.cpu_count()}", f"-n 100 -P {processes}")
                commands[f"find | xargs -P{processes} grep"] = ["sh", "-c", more]
            self.compare(f"3,000 cold files of 4 KiB: grep {' '.join(words)}", commands, folder)


def main() -> None:
    """Reads the command line and measures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("trawl", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("tree", type=Path, nargs="*")
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--only", default="")
    parser.add_argument("--rg-alone", action="store_true", help="leave out GNU grep, which takes most of the time")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    bench = Bench(args)
    parts: dict[str, Callable[[], None]] = {"warm": bench.warm, "cold": bench.cold}
    chosen = [part for part in args.only.split(",") if part] or list(parts)
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores, medians of {bench.runs} paired runs")
    for part in chosen:
        parts[part]()
    print(f"\nload {os.getloadavg()[0]:.1f}")
    if bench.absent:
        print("not installed: " + ", ".join(sorted(bench.absent)))
    sys.exit(1 if bench.failures else 0)


if __name__ == "__main__":
    main()
