"""The cost of finding the changes made while nobody watched, against a scan. As root.

A daemon is killed, some files change, and the next daemon starts. The time and CPU from its start until
everything is in the index again are compared with `trawl index` of the same tree, which shares unchanged
segments with the previous snapshot. Work that the kernel does in threads of its own (committing a
transaction) is in neither.
"""

from __future__ import annotations

import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

from report import Table
from watched import Spent, mounted, spend, watching

CHANGED = 100


def change(files: list[Path], number: int) -> None:
    """Makes typical changes to files, spread over the tree."""
    step = max(1, len(files) // CHANGED)
    for nth, path in enumerate(files[number::step][:CHANGED]):
        if nth % 4 == 0:
            path.chmod(0o600 if number % 2 else 0o644)
        elif nth % 4 == 1:
            os.utime(path, (nth, nth + number))
        elif nth % 4 == 2:
            path.rename(path.with_name(f"renamed-{number}"))
            path.with_name(f"renamed-{number}").rename(path)
        else:
            with path.open("ab") as file:
                file.write(b"more")


def caught_up(trawl: str, index: Path, root: Path) -> tuple[Spent, dict[str, str]]:
    """Measures from a daemon's start until it trusts the index; kills it then."""
    begun = time.monotonic()
    with watching(trawl, index, root) as daemon:
        while daemon.status().get("state") != "watching":
            time.sleep(0.005)
        spent = Spent(daemon.cpu_s(), time.monotonic() - begun)
        status = daemon.status()
        daemon.process.send_signal(signal.SIGKILL)
        daemon.process.wait()
    return spent, status


def rescan(table: Table, trawl: str, tree: Path, work: Path, runs: int, kinds: tuple[str, ...]) -> None:
    """Adds a row for each kind of file system."""
    for kind in kinds:
        image = work / f"rescan.{kind}"
        image.unlink(missing_ok=True)
        with mounted(kind, image) as root:
            subprocess.run(["cp", "-a", str(tree), str(root / "tree")], check=True)
            subprocess.run(["sync", "-f", str(root)], check=True)
            row(table, trawl, root, work, runs)
        image.unlink()


def row(table: Table, trawl: str, root: Path, work: Path, runs: int) -> None:
    files = sorted(path for path in root.rglob("*.c") if path.is_file() and not path.is_symlink())
    indexes = [work / "rescan-watched", work / "rescan-scanned"]
    for index in indexes:
        shutil.rmtree(index, ignore_errors=True)
    scan = [trawl, "-i", str(indexes[1]), "index", "--quiet", str(root)]
    subprocess.run(scan, check=True)
    # The first daemon scans, and is killed.
    caught_up(trawl, indexes[0], root)
    pairs: list[tuple[Spent, Spent]] = []
    status: dict[str, str] = {}
    for number in range(runs + 1):
        # Recent changes count as changed, too; the pauses separate them.
        time.sleep(3)
        change(files, number)
        time.sleep(3)
        scanned = spend(lambda: subprocess.run(scan, check=True).check_returncode())
        found, status = caught_up(trawl, indexes[0], root)
        if status.get("recovery") in (None, "scan"):
            sys.exit(f"it was scanned: {status}")
        live, seen = (lines(words) for words in (
            ["find", str(root), "-printf", "%p %s %m %T@ %C@\\n"],
            [trawl, "-i", str(indexes[0]), "find", "--no-wait", str(root), "-printf", "%p %s %m %T@ %C@\\n"]))
        if live != seen:
            sys.exit("the index is not what find says")
        # The next round continues from a snapshot, which a daemon makes when it is stopped
        # properly.
        with watching(trawl, indexes[0], root):
            pass
        if number:
            pairs.append((scanned, found))
    scans, finds = zip(*pairs, strict=True)
    ratio = statistics.median(found.cpu_s / scanned.cpu_s for scanned, found in pairs)
    table.add((
        f"{status['file_system']}: {CHANGED} of {len(live):,} entries changed unseen", "trawl index", medians(scans),
        f"{medians(finds)}; by {status['recovery']}, {status['recovery_looked_at']} looked at, "
        f"{status['recovery_dirty']} dirty", f"{ratio:.3f}", "",
    ))
    for index in indexes:
        shutil.rmtree(index, ignore_errors=True)


def medians(spent: tuple[Spent, ...]) -> str:
    cpu, wall = (statistics.median(values) for values in zip(*((one.cpu_s, one.wall_s) for one in spent), strict=True))
    return f"{cpu * 1e3:.0f} / {wall * 1e3:.0f} ms"


def lines(argv: list[str]) -> list[bytes]:
    """Returns a command's output, sorted."""
    return sorted(subprocess.run(argv, capture_output=True, check=True).stdout.splitlines())
