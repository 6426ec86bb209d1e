#!/usr/bin/env python3
"""Measures Trawl against the tools that it replaces and writes a report with a section for each part.

usage: run.py TRAWL TREE WORK [--trace FILE] [--forest DIR] [--closed FILE]
              [--also DIR] [--generator FILE] [--trees DIR] [--python FILE]
              [--experiment FILE] [--measure FILE] [--direct FILE]
              [--rows N] [--gufi-rows N] [--gufi-sample N] [--huge-rows N]
              [--runs N] [--only PART,…] [--out FILE]

TRAWL is the release binary, TREE a directory tree, WORK a directory for
indexes. `--trace` is a GUFI text trace, `--forest` a tree of a million
entries or more, `--also` another tree for live finders, `--closed` a trace
of which a stranger sees little; parts without their input are left out.
`--experiment` is
the example of that name in `crates/remote/fetch`, `--measure` the example
`measure_sets` in `crates/ask/sets`, `--direct` the example `direct_access` in
the crate `trawl-direct`. `--generator` writes traces; from it indexes of the given numbers of rows are
made and kept in `--trees`. `--python` has the module duckdb. Peers that are
not installed are left out and named. Each section of `--out` is written when
its part ends; with `--only`, the other sections stay as they are. Figures are medians of paired runs; a
ratio is ours divided by the peer's, so less than 1 means that we are cheaper.
Unless stated otherwise, trees are read warm.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import call
import duck
import paper
from columns import columns
from finders import against_finders
from fresh import Setting, fresh
from generated import Made, make
from gufi import gufi
from hundred import hundred
from measure import Caches, paired, run, tree_bytes
from names import names
from report import Table, figures, replace_section
from sizes import sizes
from stranger import stranger

EVERY_FIELD = "%p %y %i %m %n %U %G %s %b %A@ %T@ %C@ %l\\n"
MIB = 1 << 20
#: Words of the Linux tree: in few files, and in thousands.
WORDS = ("EXT4_IOC_MIGRATE", "spin_lock_irqsave")
MOST_INDICES_ROWS = 3_000_000


@dataclass(frozen=True)
class Part:
    """A part of the bench with a section of its own in the report."""

    title: str
    measure: Callable[[], None]


class Bench:
    """The inputs and settings of all measurements."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.trawl = str(args.trawl.resolve())
        self.tree = str(args.tree.resolve())
        self.work: Path = args.work.resolve()
        self.trace: Path | None = args.trace
        self.experiment: Path | None = args.experiment
        self.measure: Path | None = args.measure
        self.direct_access: Path | None = args.direct
        self.forest: Path | None = args.forest
        self.closed: Path | None = args.closed
        self.also: Path | None = args.also
        self.generator = str(args.generator.resolve()) if args.generator else None
        self.trees: Path = args.trees or self.work
        self.python = str(args.python)
        self.rows: int = args.rows
        self.gufi_rows: int = args.gufi_rows
        self.gufi_sample: int = args.gufi_sample
        self.huge_rows: int = args.huge_rows
        self.runs: int = args.runs
        self.cold_runs = max(3, args.runs // 2)
        self.entries = 0
        self.table = Table()
        #: What the part says beside its table.
        self.said: list[str] = []
        self.save: Callable[[], None] = lambda: None
        self.out: Path | None = args.out
        self.index = str(self.work / "tree")
        self.work.mkdir(parents=True, exist_ok=True)

    def index_command(self, *more: str, index: str | None = None) -> list[str]:
        """Returns a command that makes an index."""
        return [self.trawl, "-i", index or self.index, "index", "--quiet", *more]

    def ask(self, *words: str) -> list[str]:
        """Returns a command that asks the tree's index."""
        return [self.trawl, "-i", self.index, *words]

    def scan(self) -> None:
        """Measures scan and index against the minimum cost of any scan."""
        floor = ["find", self.tree, "-printf", EVERY_FIELD]
        for label, flags, target in [("without", ["--no-xattr"], "<= 1.5"), ("with", [], "<= 2")]:
            shutil.rmtree(self.index, ignore_errors=True)
            pair = paired(self.index_command(*flags, "--keep", "1", self.tree), floor, self.runs)
            self.table.pair(f"scan + index the tree, {label} xattrs", "find -printf all", pair, target)
            self.table.fact(f"peak memory of that, {label} xattrs", "", "", f"{pair.ours.peak_rss_bytes / MIB:.0f} MiB",
                            "<= 200 MiB", pair.ours.peak_rss_bytes <= 200 * MIB)

    def fresh_index(self) -> None:
        """Leaves one snapshot of the tree; counts its entries."""
        shutil.rmtree(self.index, ignore_errors=True)
        subprocess.run(self.index_command(self.tree), check=False)
        self.entries = count(Path(self.tree))

    def size(self) -> None:
        """Measures bytes per entry, against plocate's."""
        entries = self.entries or count(Path(self.tree))
        ours = tree_bytes(Path(self.index)) / entries
        peers = ""
        if shutil.which("updatedb.plocate"):
            database = self.work / "plocate.db"
            subprocess.run(["updatedb.plocate", "-l", "no", "-U", self.tree, "-o", str(database),
                            "--prunepaths", "", "--prunenames", "", "--prunefs", ""], check=False)
            peers = f"{database.stat().st_size / entries:.1f} (names only)" if database.exists() else ""
        self.table.fact("bytes per entry", "plocate", peers, f"{ours:.1f}", "<= 45", ours <= 45)

    def start_up(self) -> None:
        """Measures the minimum cost of a question, and the program's size."""
        top = self.tree
        pair = paired(self.ask("find", top, "-maxdepth", "0"), ["find", top, "-maxdepth", "0"], self.runs * 4)
        self.table.pair("start-up + trivial question", "find", pair)
        self.table.fact("the same, wall", "", "", f"{pair.ours.wall_s * 1e3:.1f} ms", "<= 5 ms", pair.ours.wall_s <= 0.005)
        weight = os.stat(self.trawl).st_size / 1e6
        self.table.fact("binary", "", "", f"{weight:.1f} MB", "<= 15 MB", weight <= 15)

    def questions(self) -> None:
        """Puts the same questions to the live tools and to the index."""
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
            ("-xtype l", ["find", t, "-xtype", "l"],
             [("find", [*plain, "-xtype", "l"]), ("bfs", ["bfs", t, "-xtype", "l"])]),
            ("-L, all paths", ["find", "-L", t], [("find", ["find", "-L", t]), ("bfs", ["bfs", "-L", t])]),
            ("getfattr -R -d", ["getfattr", "-R", "-d", t], [("getfattr", ["getfattr", "-R", "-d", t])]),
            ("ls -lRL", ["ls", "-lRL", t], [("ls", ["ls", "-lRL", t])]),
        ]
        for what, ours, peers in asked:
            for name, peer in peers:
                if shutil.which(peer[0]) is None:
                    self.table.fact(what, name, "not installed", "")
                    continue
                self.table.pair(what, name, paired(self.ask(*ours), peer, self.runs))

    def live(self) -> None:
        """Measures the live walk against live finders."""
        runs = {Caches.WARM: self.runs, Caches.COLD: self.cold_runs}
        trees = [("live, the tree", Path(self.tree))]
        if self.also:
            trees.append((f"live, {self.also}", self.also))
        for label, tree in trees:
            against_finders(self.table, label, tree, [self.trawl, "find", "--live"], "wall <= 1", runs)

    def million(self) -> None:
        """Measures live finders on a tree of a million entries, and its index."""
        if self.forest is None:
            return
        index, forest = str(self.work / "forest"), self.forest.resolve()
        shutil.rmtree(index, ignore_errors=True)
        subprocess.run(self.index_command(str(forest), index=index), check=False)
        label = f"index, {count(forest):,} entries"
        runs = {Caches.WARM: max(3, self.runs // 2), Caches.COLD: 3}
        against_finders(self.table, label, forest, [self.trawl, "-i", index, "find"], "wall <= 0.2", runs)

    def seen(self) -> None:
        """Measures the cost for a user who sees little."""
        if self.closed is not None:
            stranger(self.table, self.trawl, self.closed, self.runs)

    def recording(self) -> None:
        """Measures a trace of some million entries."""
        if self.trace is None:
            return
        # When ext4 makes inodes, it looks at every inode freed in the last seconds: old files are
        # removed in good time, and each run has a directory of its own.
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

    def generated(self) -> Made | None:
        """Returns the index of generated rows for the questions about names and columns."""
        return make(self.trawl, self.generator, self.trees, self.rows) if self.generator else None

    def bytes(self) -> None:
        """Measures the bytes per entry by column."""
        if made := self.generated():
            sizes(self.table, self.python, made)

    def names(self) -> None:
        """Measures questions about names, against plocate."""
        if made := self.generated():
            names(self.table, self.trawl, made, self.work, self.runs)

    def columns(self) -> None:
        """Measures questions about columns, against DuckDB."""
        if made := self.generated():
            columns(self.table, self.trawl, self.python, made, self.work, self.runs)

    def gufi(self) -> None:
        """Measures GUFI's questions, against SQLite."""
        if self.generator:
            gufi(self.table, self.trawl, self.generator, self.gufi_rows, self.gufi_sample, self.runs)

    def hundred(self) -> None:
        """Measures as many entries as a large centre has."""
        if self.generator:
            hundred(self.table, self.trawl, self.generator, self.trees, self.huge_rows)

    def fresh(self) -> None:
        """Measures the cost of being always fresh."""
        setting = Setting(self.table, self.trawl, Path(self.tree), self.work, max(3, self.runs // 2))
        fresh(setting)

    def call(self) -> None:
        """Measures the search call, and programs with and without it."""
        csv = self.out.with_name("call-depth.csv") if self.out else None
        setting = call.Setting(Table(), self.trawl, Path(self.tree), self.index, self.work, self.runs, csv)
        setting.said, setting.save = self.said, self.save
        call.call(setting)

    def paper(self) -> None:
        """Compares the numbers of the search call's paper with ours."""
        setting = call.Setting(Table(), self.trawl, Path(self.tree), self.index, self.work, min(3, self.runs))
        setting.said, setting.save = self.said, self.save
        paper.paper(setting)

    def script(self, name: str, *words: str, is_table: bool = False) -> None:
        """Runs another program of the bench; what it prints is part of the section."""
        script = Path(__file__).with_name(f"{name}.py")
        ran = subprocess.run([sys.executable, str(script), *words], stdout=subprocess.PIPE, text=True, check=False)
        printed = ran.stdout.strip()
        self.said.append(printed if is_table else f"`bench/{name}.py`:\n\n```\n{printed}\n```")
        if ran.returncode:
            self.said.append(f"`bench/{name}.py` failed with exit code {ran.returncode}.")
        self.save()

    def sets(self) -> None:
        """Repeats the experiment of the paper on dynamic sets; the cells are written beside the report."""
        if self.experiment is None:
            return
        cells = (self.out.parent if self.out else self.work) / "sets-servers.csv"
        self.said.append(f"The gain of a set with four requests in flight at each server over a plain loop; all figures, "
                         f"and the model's, are in `{cells.name}`.")
        self.script("sets_servers", self.trawl, str(self.experiment), "--out", str(cells), "--runs", str(min(3, self.runs)))

    def readers(self) -> None:
        """Compares what reads many files ahead with programs that read them one by one or by processes."""
        work = str(self.work / "readers")
        self.script("grep_peers", self.trawl, work, self.tree)
        self.script("ahead", self.trawl, work, "--runs", str(self.runs))
        if self.measure:
            self.script("sets_peers", self.trawl, str(self.measure), work)

    def grep(self) -> None:
        """Compares the text index with codesearch's."""
        work = self.work / "grep"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        self.script("text_index", self.trawl, str(work), self.tree, *WORDS)

    def profiles(self) -> None:
        """Measures what recording latency profiles costs."""
        self.script("profiles", self.trawl, str(self.work / "profiles"), self.tree, "--runs", str(self.runs))

    def propeller(self) -> None:
        """Repeats the evaluation of the paper on Propeller."""
        self.script("propeller", self.trawl, str(self.work / "propeller"), "--tree", self.tree, "--runs", str(min(5, self.runs)),
                    is_table=True)

    def direct(self) -> None:
        """Compares direct access with path look-up, which is Figure 9 of the paper on Propeller."""
        if self.direct_access is None:
            return
        work = self.work / "direct"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        self.script("direct", str(self.direct_access), str(work))

    def indices(self) -> None:
        """Compares named indices with SQLite's."""
        if self.generator:
            rows = str(min(self.rows, MOST_INDICES_ROWS))
            self.script("indices", self.trawl, self.generator, str(self.work / "indices"), "--rows", rows, "--runs", str(self.runs),
                        is_table=True)

    def service(self) -> None:
        """Measures the service for many users."""
        if self.generator:
            self.script("service", self.trawl, str(self.work / "service"), "--generator", self.generator,
                        "--trees", str(self.trees), "--rows", str(self.rows), "--minutes", "5", is_table=True)

    def machine(self) -> str:
        """Describes the machine."""
        version = subprocess.run([self.trawl, "--version"], capture_output=True, text=True, check=False).stdout.strip()
        return f"{version}; Linux {platform.release().split('-')[0]}, {os.cpu_count()} cores"

    def measured(self, name: str) -> None:
        """Measures a part and writes its section, also if it fails half-way."""
        part = self.parts()[name]
        self.table, self.said = Table(), []
        load = os.getloadavg()[0]
        intro = f"{self.machine()}; load before it: {load:.1f}; `ONLY={name} RUNS={self.runs} make bench`"

        def save() -> None:
            table = [self.table.markdown()] if self.table.rows else []
            text = "\n\n".join([f"{intro}.", *table, *self.said])
            if self.out:
                replace_section(self.out, part.title, text)

        self.save = save
        begun = time.monotonic()
        try:
            part.measure()
        except Exception as error:  # the other parts are measured nevertheless
            traceback.print_exc()
            self.said.append(f"This part broke off: {type(error).__name__}: {error}")
        intro += f", {(time.monotonic() - begun) / 60:.1f} minutes"
        if self.table.rows or self.said:
            save()
            print("\n\n".join([f"## {part.title}", self.table.markdown(), *self.said]), flush=True)

    def parts(self) -> dict[str, Part]:
        """Returns all measurements, in the order of the report."""
        return {
            "scan": Part("Scanning a tree", self.scan),
            "index": Part("The tree's index", self.fresh_index),
            "size": Part("Bytes per entry", self.size),
            "start": Part("Start-up", self.start_up),
            "questions": Part("Questions about a tree", self.questions),
            "live": Part("Live finders", self.live),
            "million": Part("A million entries", self.million),
            "recording": Part("A recorded tree", self.recording),
            "seen": Part("Who may see little", self.seen),
            "bytes": Part("Bytes per entry by column", self.bytes),
            "names": Part("Names", self.names),
            "columns": Part("Columns", self.columns),
            "gufi": Part("GUFI's questions", self.gufi),
            "indices": Part("Named indices", self.indices),
            "grep": Part("The text index", self.grep),
            "profiles": Part("Recording latency profiles", self.profiles),
            "service": Part("The service for many users", self.service),
            "propeller": Part("The evaluation of Propeller", self.propeller),
            "direct": Part("Direct access", self.direct),
            "fresh": Part("Freshness", self.fresh),
            "readers": Part("Reading many files", self.readers),
            "sets": Part("Dynamic sets at servers", self.sets),
            "call": Part("The search call", self.call),
            "hundred": Part("A hundred million entries", self.hundred),
            "paper": Part("The search call beside its paper", self.paper),
        }


def count(tree: Path) -> int:
    """Counts the entries of a tree."""
    return len(subprocess.run(["find", str(tree), "-printf", "."], capture_output=True, check=False).stdout)


def main() -> None:
    """Runs everything and prints the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trawl", type=Path)
    parser.add_argument("tree", type=Path)
    parser.add_argument("work", type=Path)
    for tree in ("--trace", "--forest", "--closed", "--also", "--generator", "--trees", "--experiment", "--measure", "--direct"):
        parser.add_argument(tree, type=Path)
    parser.add_argument("--python", type=Path, default=Path(sys.executable))
    for option, rows in (("--rows", 10_000_000), ("--gufi-rows", 2_200_000), ("--gufi-sample", 100_000), ("--huge-rows", 100_000_000)):
        parser.add_argument(option, type=int, default=rows)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--only", type=lambda words: words.split(","), default=None)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    bench = Bench(args)
    parts = bench.parts()
    unknown = sorted(set(args.only or []) - set(parts))
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}; there are {', '.join(parts)}")
    if args.out and args.only is None:
        args.out.write_text(head(bench))
    for name in args.only or parts:
        bench.measured(name)


def head(bench: Bench) -> str:
    """Returns the report's beginning."""
    return (f"# Results\n\nA run of `make bench`, whose parts are described in [docs/bench.md](../docs/bench.md). Figures are CPU / wall, "
            f"medians of {bench.runs} paired runs (cold: {bench.cold_runs}; a million entries: {max(3, bench.runs // 2)}, cold 3), warm where "
            f"nothing else is said. A ratio is ours divided by the peer's: less than 1 means that trawl is cheaper.\n\n"
            f"The tree has {count(Path(bench.tree)):,} entries. {versions(bench)}\n")


def versions(bench: Bench) -> str:
    """Returns the machine and the versions of all programs."""
    asked = {"find": "--version", "fdfind": "--version", "bfs": "--version", "plocate": "--version", "sqlite3": "--version"}
    said = []
    for program, option in asked.items():
        if shutil.which(program):
            first = subprocess.run([program, option], capture_output=True, text=True, check=False).stdout.splitlines()[:1]
            said.append(f"{program}: {' '.join(first)}")
    said.append(f"DuckDB: {duck.version(bench.python) or 'not installed'}")
    processor = next((line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                      if line.startswith("model name")), platform.machine())
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 30
    return f"Machine: {processor}, {memory} GiB. Versions: {'; '.join(said)}."


if __name__ == "__main__":
    main()
