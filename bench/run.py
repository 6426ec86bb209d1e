#!/usr/bin/env python3
"""Measures Trawl beside the tools it replaces and prints a table.

usage: run.py TRAWL TREE WORK [TRACE] [--runs N] [--out FILE]

TRAWL is the release binary, TREE a directory tree that is read warm, WORK a
directory for indexes, TRACE a GUFI text trace (optional). Peers that are not
installed are left out and named. Figures are medians of paired runs; a ratio
is ours divided by the peer's, so less than 1 means that we are cheaper.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from measure import Cost, Pair, paired, run, tree_bytes

EVERY_FIELD = "%p %y %i %m %n %U %G %s %b %A@ %T@ %C@ %l\\n"
MIB = 1 << 20


@dataclass
class Table:
    """Rows of the report."""

    rows: list[tuple[str, ...]] = field(default_factory=list)

    def pair(self, what: str, peer: str, pair: Pair, target: str = "", by_cpu: bool = True) -> None:
        """A row that compares two commands; the target is on CPU or wall."""
        ratio = pair.cpu_ratio if by_cpu else pair.wall_ratio
        self.rows.append((
            what, peer, figures(pair.peer), figures(pair.ours),
            f"{pair.cpu_ratio:.3f} / {pair.wall_ratio:.3f}", verdict(ratio, target),
        ))
        print("  " + " | ".join(self.rows[-1]), file=sys.stderr, flush=True)

    def fact(self, what: str, peer: str, peers_figure: str, ours: str, target: str = "", met: bool | None = None) -> None:
        """A row with figures that are not times."""
        said = target if met is None else f"{target}: {'met' if met else 'NOT met'}"
        self.rows.append((what, peer, peers_figure, ours, "", said))
        print("  " + " | ".join(self.rows[-1]), file=sys.stderr, flush=True)

    def markdown(self) -> str:
        """The table."""
        head = ("what", "peer", "peer: CPU / wall", "trawl: CPU / wall", "ratio CPU / wall", "target")
        lines = ["| " + " | ".join(row) + " |" for row in [head, ("---",) * 6, *self.rows]]
        return "\n".join(lines)


def figures(cost: Cost) -> str:
    """CPU and wall time, ms."""
    return f"{cost.cpu_s * 1e3:.1f} / {cost.wall_s * 1e3:.1f} ms"


def verdict(ratio: float, target: str) -> str:
    """Compares a ratio with a target of the form `<= 1.5`."""
    if not target:
        return ""
    return f"{target}: {'met' if ratio <= float(target.split()[-1]) else 'NOT met'}"


class Bench:
    """What is measured, on what."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.trawl = str(args.trawl.resolve())
        self.tree = str(args.tree.resolve())
        self.work: Path = args.work.resolve()
        self.trace: Path | None = args.trace
        self.runs: int = args.runs
        self.table = Table()
        self.index = str(self.work / "tree")
        self.work.mkdir(parents=True, exist_ok=True)

    def index_command(self, *more: str, index: str | None = None) -> list[str]:
        """A command that makes an index."""
        return [self.trawl, "-i", index or self.index, "index", "--quiet", *more]

    def ask(self, *words: str) -> list[str]:
        """A command that asks the tree's index."""
        return [self.trawl, "-i", self.index, *words]

    def scan(self) -> None:
        """Scan and index against the least that any scan costs."""
        floor = ["find", self.tree, "-printf", EVERY_FIELD]
        for label, flags, target in [("without", ["--no-xattr"], "<= 1.5"), ("with", [], "<= 2")]:
            shutil.rmtree(self.index, ignore_errors=True)
            pair = paired(self.index_command(*flags, "--keep", "1", self.tree), floor, self.runs)
            self.table.pair(f"scan + index the tree, {label} xattrs", "find -printf all", pair, target)
            self.table.fact(f"peak memory of that, {label} xattrs", "", "", f"{pair.ours.peak_rss_bytes / MIB:.0f} MiB",
                            "<= 200 MiB", pair.ours.peak_rss_bytes <= 200 * MIB)

    def fresh_index(self) -> int:
        """Leaves one snapshot of the tree; returns its number of entries."""
        shutil.rmtree(self.index, ignore_errors=True)
        subprocess.run(self.index_command(self.tree), check=False)
        return len(subprocess.run(["find", self.tree, "-printf", "."], capture_output=True, check=False).stdout)

    def size(self, entries: int) -> None:
        """Bytes per entry, beside plocate's."""
        ours = tree_bytes(Path(self.index)) / entries
        peers = ""
        if shutil.which("updatedb.plocate"):
            database = self.work / "plocate.db"
            subprocess.run(["updatedb.plocate", "-l", "no", "-U", self.tree, "-o", str(database),
                            "--prunepaths", "", "--prunenames", "", "--prunefs", ""], check=False)
            peers = f"{database.stat().st_size / entries:.1f} (names only)" if database.exists() else ""
        self.table.fact("bytes per entry", "plocate", peers, f"{ours:.1f}", "<= 45", ours <= 45)

    def start_up(self) -> None:
        """The least a question costs, and what the program weighs."""
        top = self.tree
        pair = paired(self.ask("find", top, "-maxdepth", "0"), ["find", top, "-maxdepth", "0"], self.runs * 4)
        self.table.pair("start-up + trivial question", "find", pair)
        self.table.fact("the same, wall", "", "", f"{pair.ours.wall_s * 1e3:.1f} ms", "<= 5 ms", pair.ours.wall_s <= 0.005)
        weight = os.stat(self.trawl).st_size / 1e6
        self.table.fact("binary", "", "", f"{weight:.1f} MB", "<= 15 MB", weight <= 15)

    def questions(self) -> None:
        """The same questions to the live tools and to the index."""
        t = self.tree
        widest = max((d for d, _, _ in os.walk(t)), key=lambda d: len(os.listdir(d)))
        plain = ["find", t]
        asked: list[tuple[str, list[str], list[tuple[str, list[str]]]]] = [
            ("all paths", ["find", t], [("find", plain), ("bfs", ["bfs", t]), ("fdfind", ["fdfind", "-uu", ".", t])]),
            ("-name '*.c'", ["find", t, "-name", "*.c"],
             [("find", [*plain, "-name", "*.c"]), ("bfs", ["bfs", t, "-name", "*.c"]),
              ("fdfind", ["fdfind", "-uu", "-g", "*.c", t])]),
            ("-size +100k", ["find", t, "-type", "f", "-size", "+100k"],
             [("find", [*plain, "-type", "f", "-size", "+100k"]), ("bfs", ["bfs", t, "-type", "f", "-size", "+100k"]),
              ("fdfind", ["fdfind", "-uu", "-t", "f", "-S", "+100ki", ".", t])]),
            ("du -s", ["du", "-s", t], [("du", ["du", "-s", t])]),
            ("du (all directories)", ["du", t], [("du", ["du", t])]),
            ("ls -l of the widest directory", ["ls", "-l", widest], [("ls", ["ls", "-l", widest])]),
            ("ls -lR", ["ls", "-lR", t], [("ls", ["ls", "-lR", t])]),
            ("-printf every field", ["find", t, "-printf", EVERY_FIELD], [("find", [*plain, "-printf", EVERY_FIELD])]),
        ]
        for what, ours, peers in asked:
            for name, peer in peers:
                if shutil.which(peer[0]) is None:
                    self.table.fact(what, name, "not installed", "")
                    continue
                self.table.pair(what, name, paired(self.ask(*ours), peer, self.runs))

    def recording(self) -> None:
        """A trace of some million entries."""
        if self.trace is None:
            return
        # ext4 looks at every inode freed in the last seconds when it makes new ones: what is there
        # is removed in good time, and each run has a directory of its own.
        indexes = [self.work / f"trace-{n}" for n in range(3)]
        for old in indexes:
            shutil.rmtree(old, ignore_errors=True)
        time.sleep(10)
        costs = [
            run(self.index_command("--from-trace", str(self.trace), "--root", "/t", index=str(new))) for new in indexes
        ]
        index = str(indexes[0])
        cost = sorted(costs, key=lambda c: c.cpu_s)[1]
        ask = [self.trawl, "-i", index]
        with open(self.trace, "rb") as lines:
            entries = sum(1 for _ in lines)
        self.table.fact(f"index a trace of {entries:,} entries", "gufi_trace2index (see DESIGN)", "70–81 CPU-s",
                        f"{cost.cpu_s:.2f} CPU-s, {cost.wall_s:.2f} s", "<= 6 CPU-s", cost.cpu_s <= 6)
        self.table.fact("peak memory of that", "", "", f"{cost.peak_rss_bytes / MIB:.0f} MiB", "<= 200 MiB",
                        cost.peak_rss_bytes <= 200 * MIB)
        each = tree_bytes(Path(index)) / entries
        self.table.fact("bytes per entry, trace", "GUFI", "3,277–6,739", f"{each:.1f}", "<= 45", each <= 45)
        for what, words in [("all paths", ["find", "/t"]), ("-name '*.c'", ["find", "/t", "-name", "*.c"]),
                            ("-size +1M", ["find", "/t", "-size", "+1M"]), ("du -s", ["du", "-s", "/t"]),
                            ("du of every directory", ["du", "/t"])]:
            runs = sorted((run([*ask, *words]) for _ in range(max(3, self.runs // 2))), key=lambda c: c.cpu_s)
            cost = runs[len(runs) // 2]
            self.table.fact(f"trace: {what}", "", "", f"{figures(cost)}, {cost.peak_rss_bytes / MIB:.0f} MiB",
                            "<= 200 MiB", cost.peak_rss_bytes <= 200 * MIB)

    def machine(self) -> str:
        """Where this was measured."""
        version = subprocess.run([self.trawl, "--version"], capture_output=True, text=True, check=False).stdout.strip()
        return (f"{version}; Linux {platform.release().split('-')[0]}, {os.cpu_count()} cores; medians of {self.runs} paired runs, "
                f"warm; figures are CPU / wall; a ratio below 1 means that trawl is cheaper.")


def main() -> None:
    """Runs everything and prints the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trawl", type=Path)
    parser.add_argument("tree", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("trace", type=Path, nargs="?")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    bench = Bench(args)
    bench.scan()
    entries = bench.fresh_index()
    bench.size(entries)
    bench.start_up()
    bench.questions()
    bench.recording()
    report = f"{bench.machine()}\nThe tree has {entries:,} entries.\n\n{bench.table.markdown()}\n"
    print(report)
    if args.out:
        args.out.write_text("# Results\n\nMade by `make bench`; see `bench/run.py`.\n\n" + report)


if __name__ == "__main__":
    main()
