#!/usr/bin/env python3
"""The cost of being always fresh: writers, barriers, the daemon. As root.

usage: fresh.py TRAWL TREE WORK [--runs N] [--only PART,…] [--kinds KIND,…]
                [--large ENTRIES,…] [--soak MINUTES]

`bench/run.py` calls this as its part `fresh`. TREE (a part of it) is unpacked
again and again; WORK holds indexes and images of file systems, which are
mounted during the bench. `--large` gives the numbers of entries of the trees
on which the cost of a change is compared (1,000,000 and 10,000,000); the trees
consist of empty files, are made once and kept in WORK. `--soak` writes for this
long and watches the daemon's memory; it is not part of the others.

The daemon is the real one; it applies changes after 5 s, the default, unless
stated otherwise. Writers run in turn with and without it (in --runs pairs,
after one more to warm up); the medians of the ratios are printed. A daemon's
CPU time is that of all its threads, from before the first write until a barrier
after the last one has returned, when everything is applied.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from recall import recall
from report import Table
from rescan import rescan
from watched import Daemon, Spent, mounted, spend, watching

LOOPS = 20_000
NOBODY = 65534
# Nothing is applied unless somebody asks.
LAZY = ("--apply-after", "1d", "--max-dirty", "1000000000")


@dataclass(frozen=True)
class Setting:
    """The settings of all parts."""

    table: Table
    trawl: str
    tree: Path
    work: Path
    runs: int
    kinds: tuple[str, ...] = ("ext4", "xfs")
    large: tuple[int, ...] = (1_000_000, 10_000_000)

    def index(self) -> Path:
        """Returns a new, empty directory for an index."""
        index = self.work / "fresh-index"
        shutil.rmtree(index, ignore_errors=True)
        return index


# Writers


def churn(folder: Path) -> None:
    """Creates, writes and removes files, one after the other."""
    name = bytes(folder / "file")
    for _ in range(LOOPS):
        file = os.open(name, os.O_CREAT | os.O_WRONLY, 0o644)
        os.write(file, b"x" * 4096)
        os.close(file)
        os.unlink(name)


def empty(folder: Path) -> None:
    """Creates empty files."""
    for number in range(LOOPS):
        os.close(os.open(folder / str(number), os.O_CREAT | os.O_WRONLY, 0o644))


def chmod(folder: Path) -> None:
    """Changes the mode of existing files."""
    for number in range(LOOPS):
        os.chmod(folder / str(number), 0o600)


def rename(folder: Path) -> None:
    """Renames existing files."""
    for number in range(LOOPS):
        os.rename(folder / str(number), folder / f"n{number}")


def write_project(folder: Path) -> None:
    """Writes a small C project: 40 sources, one header, a makefile."""
    (folder / "all.h").write_text("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n")
    for number in range(40):
        (folder / f"f{number}.c").write_text(f'#include "all.h"\nint f{number}(int x) {{ return printf("%d", x + {number}); }}\n')
    (folder / "main.c").write_text("int main(void) { return 0; }\n")
    (folder / "Makefile").write_text("all: main\nmain: $(patsubst %.c,%.o,$(wildcard *.c))\n\t$(CC) -o $@ $^\n")


def build(folder: Path) -> None:
    """Builds the project."""
    subprocess.run(["make", "-s", "-C", str(folder)], check=True)


@dataclass(frozen=True)
class Work:
    """A writer's task in a folder of its own, and the number of files that it changes."""

    name: str
    before: Callable[[Path], None]
    task: Callable[[Path], None]
    files: int
    aim: float | None


def nothing(_: Path) -> None:
    """Prepares nothing."""


def works(archive: Path, archived: int) -> list[Work]:
    def unpack(folder: Path) -> None:
        subprocess.run(["tar", "-C", str(folder), "-xf", str(archive)], check=True)

    return [
        Work(f"unpacking {archived:,} entries", nothing, unpack, archived, 1.10),
        Work(f"creating, writing, removing {LOOPS:,} files", nothing, churn, LOOPS, 1.20),
        Work(f"creating {LOOPS:,} empty files", nothing, empty, LOOPS, None),
        Work(f"chmod of {LOOPS:,} files", empty, chmod, LOOPS, None),
        Work(f"renaming {LOOPS:,} files", empty, rename, LOOPS, None),
        Work("building a small C project", write_project, build, 42, None),
    ]


def archive_of(tree: Path) -> tuple[Path, int]:
    """Makes an in-memory archive of a part of the tree; also returns its number of entries."""
    archive = Path("/dev/shm") / f"trawl-fresh-{os.getpid()}.tar"
    part = next((part for part in ("drivers/net/ethernet", "drivers/gpu", "fs") if (tree / part).is_dir()), ".")
    subprocess.run(["tar", "-C", str(tree), "-cf", str(archive), part], check=True)
    listed = subprocess.run(["tar", "-tf", str(archive)], check=True, capture_output=True)
    return archive, listed.stdout.count(b"\n")


def writers(setting: Setting) -> None:
    """Measures writers with and without the daemon, and the daemon itself."""
    archive, archived = archive_of(setting.tree)
    try:
        for kind in setting.kinds:
            for work in works(archive, archived):
                image = setting.work / f"fresh.{kind}"
                with mounted(kind, image) as root:
                    writer(setting, kind, work, root)
                image.unlink()
    finally:
        archive.unlink()


def writer(setting: Setting, kind: str, work: Work, root: Path) -> None:
    index = setting.index()
    pairs: list[tuple[Spent, Spent]] = []
    each_us: list[float] = []
    for number in range(setting.runs + 1):
        folders = [root / f"{number}-{which}" for which in ("off", "on")]
        for folder in folders:
            folder.mkdir()
            work.before(folder)
        os.sync()
        off = on = Spent(0, 0)
        # The order alternates, because the second writer finds a fuller file system.
        for which in (0, 1) if number % 2 else (1, 0):
            if which == 0:
                off = spend(lambda: work.task(folders[0]))
            else:
                with watching(setting.trawl, index, root) as daemon:
                    begun = daemon.cpu_s()
                    on = spend(lambda: work.task(folders[1]))
                    daemon.now_s()
                    used = daemon.cpu_s() - begun
        subprocess.run(["rm", "-rf", *map(str, folders)], check=True)
        if number:
            pairs.append((off, on))
            each_us.append(used * 1e6 / work.files)
    cpu = statistics.median(on.cpu_s / off.cpu_s for off, on in pairs)
    wall = statistics.median(on.wall_s / off.wall_s for off, on in pairs)
    without, beside = ([pair[which] for pair in pairs] for which in (0, 1))
    daemons = statistics.median(each_us)
    aim = f"CPU <= {work.aim:.2f}: {'met' if cpu <= work.aim else 'NOT met'}; " if work.aim else ""
    few = work.files < 1000
    told = "" if few else f"daemon <= 20 us a file: {'met' if daemons <= 20 else 'NOT met'}"
    setting.table.add((
        f"{kind}: {work.name}", "no daemon", medians(without),
        f"{medians(beside)}; the daemon {daemons:.1f} us a file",
        f"{cpu:.3f} / {wall:.3f}", aim + told,
    ))


def medians(spent: list[Spent]) -> str:
    cpu, wall = (statistics.median(column) for column in zip(*((one.cpu_s, one.wall_s) for one in spent), strict=True))
    return f"{cpu * 1e3:.0f} / {wall * 1e3:.0f} ms"


# Barriers


def touch(paths: list[Path]) -> None:
    """Changes the content of these files."""
    for path in paths:
        file = os.open(path, os.O_WRONLY)
        os.write(file, b"y")
        os.close(file)


def fill(folder: Path, count: int) -> list[Path]:
    """Makes files in a new folder."""
    folder.mkdir(parents=True)
    paths = [folder / f"file{number:06}" for number in range(count)]
    for path in paths:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o644))
    return paths


def barriers(setting: Setting) -> None:
    """Measures a barrier, and a whole question, after a number of changes."""
    for kind in setting.kinds:
        image = setting.work / f"fresh.{kind}"
        with mounted(kind, image) as root:
            together = fill(root / "together", 1_000)
            wide = fill(root / "wide", 100_000)
            spread = [path for number in range(1_000) for path in fill(root / f"spread/{number % 10}/{number}", 100)]
            with watching(setting.trawl, setting.index(), root, *LAZY) as daemon:
                for label, changed in [
                    ("nothing", []),
                    ("1 file of a directory of 100,000", wide[:1]),
                    ("1,000 files of one directory", together),
                    ("1,000 files, 10 in each of 100 directories", [p for n in range(0, 100_000, 1000) for p in spread[n:n + 10]]),
                    ("1,000 files, one in each of 1,000 directories", spread[::100]),
                    ("100,000 files of one directory", wide),
                    ("100,000 files, 100 in each of 1,000 directories", spread),
                ]:
                    barrier(setting, f"{kind}, changed: {label}", daemon, root, changed)
        image.unlink()


def barrier(setting: Setting, label: str, daemon: Daemon, root: Path, changed: list[Path]) -> None:
    waited: list[float] = []
    asked: list[float] = []
    used: list[float] = []
    question = [setting.trawl, "-i", str(daemon.index), "find", str(root), "-maxdepth", "0"]
    for number in range(2 * (setting.runs + 1)):
        # The reader's work as changes arrive is not part of the wait, but it counts as the daemon's
        # CPU.
        begun = daemon.cpu_s()
        spend(lambda: touch(changed))
        if number % 2:
            clock = time.monotonic()
            subprocess.run(question, check=True, stdout=subprocess.DEVNULL)
            took = time.monotonic() - clock
        else:
            took = daemon.now_s()
        if number > 1:
            (asked if number % 2 else waited).append(took * 1e3)
            used.append((daemon.cpu_s() - begun) * 1e6)
    now, question_ms = statistics.median(waited), statistics.median(asked)
    few = len(changed) <= 1_000
    said = f"<= 10 ms: {'met' if now <= 10 else 'NOT met'}" if few else ""
    each = f"; {statistics.median(used) / len(changed):.1f} us of the daemon a file" if changed else ""
    setting.table.fact(label, "", "", f"now {now:.1f} ms (most {max(waited):.1f}), a question {question_ms:.1f} ms{each}", said)


# Large indexes

SPREAD = 1_000


def large_tree(root: Path, entries: int) -> None:
    """Makes this many empty files, 1,000 per directory and 100 directories per parent, with two processes."""
    folders = (entries + SPREAD - 1) // SPREAD

    def some(first: int) -> None:
        for number in range(first, folders, 2):
            top = root / "large" / f"{number // 100:03}" / f"{number:05}"
            os.makedirs(top)
            fd = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
            for name in range(SPREAD - 1):
                os.close(os.open(f"file{name:04}", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=fd))
            os.close(fd)

    children = []
    for first in (0, 1):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                some(first)
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    for child in children:
        if os.waitpid(child, 0)[1] != 0:
            sys.exit("a tree could not be made")


def large_image(setting: Setting, entries: int) -> Path:
    """Makes a file system with this many entries, once. It has no journal and one inode per 2 KiB, so that the
    entries need 256 bytes of disk each and little else.
    """
    image = setting.work / f"fresh-{entries}.ext4"
    if not image.exists():
        part = image.with_suffix(".part")
        with part.open("wb") as file:
            file.truncate(entries * 1024 + (1 << 30))
        options = ["-F", "-O", "^has_journal", "-I", "256", "-N", str(entries + entries // 20 + 10_000)]
        subprocess.run(["mkfs.ext4", "-q", *options, str(part)], check=True)
        with mounted("ext4", part) as root:
            large_tree(root, entries)
        part.rename(image)
    return image


def large(setting: Setting) -> None:
    """Measures a change in an index of this many entries."""
    for entries in setting.large:
        with mounted("ext4", large_image(setting, entries)) as root:
            # Four different kinds of changes.
            some = sorted((root / "large").glob("*/*0"))[:100]
            one = [some[0] / f"file{number:04}" for number in range(SPREAD - 1)]
            spread = [folder / f"file{number:04}" for folder in some for number in range(10)]
            linked = root / "large-linked"
            linked.unlink(missing_ok=True)
            (root / "large-second").unlink(missing_ok=True)
            linked.touch()
            os.link(linked, root / "large-second")
            with watching(setting.trawl, setting.index(), root, *LAZY) as daemon:
                for label, changed in [
                    ("1 file", one[:1]), ("1,000 files of one directory", one),
                    ("1,000 files of 100 directories", spread), ("1 file with two names", [linked]),
                ]:
                    barrier(setting, f"{entries:,} entries, changed: {label}", daemon, root, changed)


def revoke(setting: Setting) -> None:
    """Measures the removal of a permission on the first of these trees."""
    with mounted("ext4", large_image(setting, setting.large[0])) as root:
        revocation(setting, root)


def revocation(setting: Setting, root: Path) -> None:
    """Measures how long it takes until the next answer hides a large subtree that was closed."""
    # An ordinary user must be able to reach the program and the index.
    index = Path(f"/var/tmp/trawl-fresh-index-{os.getpid()}")
    program = index.with_suffix(".trawl")
    shutil.copy(setting.trawl, program)
    top = root / "large"
    try:
        with watching(str(program), index, root, *LAZY) as daemon:
            question = [str(program), "-i", str(index), "find", str(root), "-mindepth", "2"]
            seen = count(question)
            os.chmod(top, 0o700)
            clock, begun = time.monotonic(), daemon.cpu_s()
            daemon.now_s()
            took, used = time.monotonic() - clock, daemon.cpu_s() - begun
            left = count(question)
            os.chmod(top, 0o755)
            again = daemon.now_s()
        said = "nothing of it is seen: met" if left == 0 else f"{left:,} are still seen: NOT met"
        setting.table.fact(f"0700 on the top of a subtree of {seen:,} entries", "", "",
                           f"{took:.2f} s until the next answer, {used:.2f} CPU-s; opened again {again:.2f} s", said)
    finally:
        os.chmod(top, 0o755)
        shutil.rmtree(index, ignore_errors=True)
        program.unlink(missing_ok=True)


def count(question: list[str]) -> int:
    """Counts the lines that the user nobody sees."""
    asked = subprocess.run(question, capture_output=True, check=False, user=NOBODY, group=NOBODY, extra_groups=[])
    return asked.stdout.count(b"\n")


# Recall, and a long run


def mixed(setting: Setting) -> None:
    """Measures updates of a group of files with searches in between, against MariaDB."""
    with mounted("ext4", setting.work / "fresh.ext4") as root:
        group = root / "group"
        fill(group, 1_000)
        with watching(setting.trawl, setting.index(), root, "--apply-after", "5s") as daemon:
            recall(setting.table, [setting.trawl, "-i", str(daemon.index)], daemon.cpu_s, group, setting.work)
    (setting.work / "fresh.ext4").unlink()


def soak(setting: Setting, minutes: float) -> None:
    """Writes for this long, with an occasional question, and checks that the daemon's memory stays flat."""
    image = setting.work / "fresh-soak.ext4"
    index = setting.work / "fresh-soak-index"
    shutil.rmtree(index, ignore_errors=True)
    dice = random.Random(1)
    samples: list[int] = []
    changes = 0
    with mounted("ext4", image) as root:
        folders = [root / f"{number % 10}" / f"{number}" for number in range(200)]
        for folder in folders:
            fill(folder, 100)
        with watching(setting.trawl, index, root, "--apply-after", "1s") as daemon:
            begun, cpu = time.monotonic(), daemon.cpu_s()
            while (passed := time.monotonic() - begun) < minutes * 60:
                for _ in range(400):
                    changes += step(dice, folders)
                if dice.randrange(20) == 0:
                    daemon.now_s()
                if passed >= 10 * len(samples):
                    samples.append(daemon.rss_bytes())
                    said = f"  {passed:.0f} s: {changes:,} changes, {samples[-1] >> 10:,} KiB, {daemon.cpu_s() - cpu:.1f} CPU-s"
                    print(said, file=sys.stderr, flush=True)
                time.sleep(0.2)
            daemon.now_s()
            used = daemon.cpu_s() - cpu
            live, seen = (lines(words) for words in (
                ["find", str(root)], [setting.trawl, "-i", str(index), "find", str(root)]))
            status = daemon.status()
    image.unlink()
    shutil.rmtree(index, ignore_errors=True)
    # The first tenth fills caches.
    tenth = max(1, len(samples) // 10)
    early, late = (int(statistics.median(some)) >> 20 for some in (ints(samples[tenth:2 * tenth]), ints(samples[-tenth:])))
    same = "the same" if live == seen else "OTHERS THAN"
    setting.table.fact(
        f"{minutes:g} minutes of writers, {changes:,} changes", "", "",
        f"memory {early} MiB after a tenth, {late} MiB in the last, at most {max(samples) >> 20} MiB; "
        f"{used * 1e6 / changes:.1f} us a change; {status.get('rescans_total')} scans, "
        f"{status.get('failures_total')} failures; {same} paths as find's",
        "flat", late <= early * 1.2 + 4 and live == seen)


def ints(samples: list[int]) -> list[int]:
    return samples or [0]


def lines(argv: list[str]) -> list[bytes]:
    """Returns a command's output, sorted."""
    return sorted(subprocess.run(argv, capture_output=True, check=True).stdout.splitlines())


def step(dice: random.Random, folders: list[Path]) -> int:
    """Makes one random change."""
    folder, name = dice.choice(folders), f"file{dice.randrange(150):06}"
    path, kind = folder / name, dice.randrange(10)
    try:
        if kind < 6:
            path.write_bytes(b"x" * dice.randrange(5000))
        elif kind < 7:
            path.unlink()
        elif kind < 8:
            path.rename(dice.choice(folders) / name)
        elif kind < 9:
            path.chmod(dice.choice((0o600, 0o644)))
        else:
            (folder / "new").mkdir(exist_ok=True)
            (folder / "new" / name).touch()
            if dice.randrange(20) == 0:
                shutil.rmtree(folder / "new")
    except FileNotFoundError:
        return 0
    return 1


def unseen(setting: Setting) -> None:
    """Measures finding the changes made while nobody watched."""
    kinds = (*setting.kinds, "btrfs") if setting.kinds == Setting.kinds else setting.kinds
    rescan(setting.table, setting.trawl, setting.tree, setting.work, setting.runs, kinds)


PARTS: dict[str, Callable[[Setting], None]] = {
    "writers": writers, "barriers": barriers, "large": large, "revoke": revoke, "mixed": mixed,
    "rescan": unseen,
}


def fresh(setting: Setting, only: list[str] | None = None) -> None:
    """Adds all rows."""
    if os.geteuid() != 0:
        setting.table.fact("freshness", "", "", "skipped, because only root can mount file systems")
        return
    for name in only or PARTS:
        PARTS[name](setting)


def main() -> None:
    """Reads the arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trawl", type=Path)
    parser.add_argument("tree", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", type=lambda words: words.split(","))
    parser.add_argument("--kinds", type=lambda words: tuple(words.split(",")), default=Setting.kinds)
    parser.add_argument("--large", type=lambda words: tuple(map(int, words.split(","))), default=Setting.large)
    parser.add_argument("--soak", type=float, metavar="MINUTES")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    # When this is terminated, mounts and daemons must be cleaned up, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    setting = Setting(Table(), str(args.trawl.resolve()), args.tree.resolve(), args.work.resolve(), args.runs, args.kinds, args.large)
    if args.soak:
        soak(setting, args.soak)
    else:
        fresh(setting, args.only)
    print(setting.table.markdown())


if __name__ == "__main__":
    main()
