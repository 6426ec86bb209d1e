"""Propeller's mixed workload: updates of one group of files with occasional searches, and the share of recent
changes that each search finds.

The peer is that of the paper: a database with a row for each file (MariaDB), fed by a program that inotify
informs about changes. It is started only for the bench, on a socket of its own, without syncing to disk.
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import mariadb
from report import Table
from watched import cpu_of

UPDATES = 10_000
EVERY = 1_024
BASE_BYTES = 1 << 20

# Argument: a directory. Prints a statement for each change of a file in it, until its input ends.
FEEDER = """
import os, subprocess, sys
folder = sys.argv[1]
watch = subprocess.Popen(["inotifywait", "-q", "-m", "-e", "close_write", "--format", "%f", folder],
                         stdout=subprocess.PIPE, text=True)
client = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, text=True)
for line in watch.stdout:
    name = line.rstrip("\\n")
    try:
        size = os.stat(os.path.join(folder, name)).st_size
    except FileNotFoundError:
        continue
    client.stdin.write(f"UPDATE files SET size = {size} WHERE name = '{name}';\\n")
    client.stdin.flush()
"""


class Mix:
    """The updates, in the same order for each system: each makes a file longer than every file before it."""

    def __init__(self, group: Path) -> None:
        self.group = group
        self.names = sorted(os.listdir(group))
        self.dice = random.Random(7)
        self.size = BASE_BYTES

    def run(self, search: Callable[[int], set[str]]) -> tuple[list[float], list[float], float]:
        """Returns the recall of each search, its duration, and the seconds spent on updates; `search` returns the names of
        files with at least the given number of bytes.
        """
        recalls, took, wrote = [], [], 0.0
        for first in range(0, UPDATES, EVERY):
            least, changed = self.size + 1, set()
            begun = time.monotonic()
            for _ in range(min(EVERY, UPDATES - first)):
                name = self.dice.choice(self.names)
                changed.add(name)
                self.size += 1
                with (self.group / name).open("r+b") as file:
                    file.truncate(self.size)
                    file.write(b"z")
            asked = time.monotonic()
            found = search(least)
            took.append(time.monotonic() - asked)
            wrote += asked - begun
            recalls.append(len(found & changed) / len(changed))
        return recalls, took, wrote


def told(result: tuple[list[float], list[float], float], cpu_s: float) -> str:
    recalls, took, wrote = result
    return (f"recall {statistics.mean(recalls):.1%} (least {min(recalls):.1%}), a search {statistics.median(took) * 1e3:.1f} ms, "
            f"{cpu_s * 1e6 / UPDATES:.0f} us of CPU an update, updates {wrote * 1e6 / UPDATES:.0f} us each")


def recall(table: Table, ask: list[str], daemon_cpu_s: Callable[[], float], group: Path, work: Path) -> None:
    """Adds a row against MariaDB, or one with the reason why it is missing."""

    def search(least: int) -> set[str]:
        words = [*ask, "find", str(group), "-type", "f", "-size", f"+{least - 1}c", "-printf", "%f\\n"]
        return set(subprocess.run(words, check=True, capture_output=True, text=True).stdout.split())

    begun = daemon_cpu_s()
    result = Mix(group).run(search)
    ours = told(result, daemon_cpu_s() - begun)
    what = f"{UPDATES:,} updates of a group of 1,000 files, a search after each {EVERY:,}"
    peers = mariadb.missing("inotifywait") or database(group, work)
    table.fact(what, "MariaDB fed by inotify", peers, ours, "recall 100 %", min(result[0]) == 1)


def database(group: Path, work: Path) -> str:
    """Runs the workload with MariaDB."""
    with mariadb.serving(work, "--innodb-flush-log-at-trx-commit=0") as server, server.client() as client:
        client.run("CREATE TABLE files (name VARCHAR(255) PRIMARY KEY, size BIGINT, INDEX (size));")
        server.load(client, "files", [(name, (group / name).stat().st_size) for name in os.listdir(group)], work)
        return fed(group, server.words, server.pid)


def fed(group: Path, client: list[str], server: int) -> str:
    def search(least: int) -> set[str]:
        asked = [*client, "-e", f"SELECT name FROM files WHERE size >= {least}"]
        return set(subprocess.run(asked, check=True, capture_output=True, text=True).stdout.split())

    feeder = subprocess.Popen([sys.executable, "-c", FEEDER, str(group), *client], start_new_session=True)
    try:
        time.sleep(2)
        pids = [server, *descendants(feeder.pid)]
        begun = {pid: cpu_of(pid) for pid in pids}
        mix = Mix(group)
        result = mix.run(search)
        last, clock = mix.size, time.monotonic()
        while not search(last) and time.monotonic() - clock < 60:
            time.sleep(0.01)
        behind = time.monotonic() - clock
        cpu = sum(cpu_of(pid) - before for pid, before in begun.items())
    finally:
        os.killpg(feeder.pid, 15)
        feeder.wait()
    return f"{told(result, cpu)}, the last update is there after {behind:.1f} s"


def descendants(pid: int) -> list[int]:
    """Returns the process and all its descendants."""
    found = [pid]
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        found += descendants(int(child))
    return found
