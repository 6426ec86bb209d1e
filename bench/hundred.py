"""A hundred million entries: generated, indexed, asked each question once, removed.

It measures memory while indexing, and shows that nothing fails at that size.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from columns import SINCE
from generated import ROOT, Made, is_there, make, places, short
from measure import run, tree_bytes
from report import Table

MOST_WRITING_BYTES = 1 << 30
MOST_ASKING_BYTES = 200 << 20
BYTES_EACH = 60


def hundred(table: Table, trawl: str, generator: str, trees: Path, rows: int) -> None:
    """Adds rows for indexing and for each question."""
    label = short(rows)
    free = shutil.disk_usage(trees).free
    if free < rows * BYTES_EACH:
        return table.fact(f"{label} entries", "", "", f"skipped, because {trees} has less than {rows * BYTES_EACH >> 30} GiB free")
    made = make(trawl, generator, trees, rows, seen=True)
    assert made.cost is not None
    cost = made.cost
    met = cost.peak_rss_bytes <= MOST_WRITING_BYTES
    table.fact(f"{label} entries: indexing", "", "", f"{cost.cpu_s:.0f} CPU-s, {cost.cpu_s / rows * 1e6:.2f} µs an entry")
    table.fact(f"{label} entries: peak memory of that", "", "", f"{cost.peak_rss_bytes >> 20} MiB", "<= 1 GiB", met)
    each = tree_bytes(made.path) / rows
    table.fact(f"{label} entries: bytes per entry", "", "", f"{each:.1f}", "<= 45", each <= 45)
    for what, words in questions(trawl, made):
        if is_there(trawl, words[0]):
            table.cost(f"{label} entries: {what}", run(made.ask(trawl, *words)))
        else:
            table.fact(f"{label} entries: {what}", "", "", f"trawl {words[0]} is not there")
    table.memory(f"questions, {label}", MOST_ASKING_BYTES)
    if "KEEP" not in os.environ:
        shutil.rmtree(made.path)
        made.path.with_suffix(".made").unlink()


def questions(trawl: str, made: Made) -> list[tuple[str, list[str]]]:
    """Asks each question once; the first is asked cold."""
    at = places(trawl, made)
    return [
        ("all paths", ["find", ROOT]),
        ("-name '*.c'", ["find", ROOT, "-name", "*.c"]),
        ("locate -b '*.c'", ["locate", "-b", "*.c"]),
        ("locate turbulence_muon", ["locate", "turbulence_muon"]),
        ("locate --regex", ["locate", "--regex", r"run_[0-9]+/.*monte.*\.vtu$"]),
        ("size and age", ["find", ROOT, "-size", "+1073741824c", "-newermt", f"{SINCE} UTC"]),
        ("sum by user", ["top", "--owners", ROOT]),
        ("the 100 largest files", ["top", "--files", "-n", "100", ROOT]),
        ("the 100 largest directories", ["top", "--dirs", "-n", "100", ROOT]),
        ("stats", ["stats", ROOT]),
        ("ls -l of a directory", ["ls", "-l", at.wide]),
        ("du -s of everything", ["du", "-s", ROOT]),
        ("du -s of a user's tree", ["du", "-s", at.subtree]),
        ("du of every directory", ["du", ROOT]),
        ("stat of a directory", ["stat", at.subtree]),
        ("sql: count by type", ["sql", "SELECT type, count(*) FROM entries GROUP BY type"]),
    ]
