"""GUFI's questions: SQLite over databases in GUFI's layout, and trawl over the same rows.

SQLite's own shell processes a prepared list of databases, so that the peer
pays for neither a tree walk nor threads. GUFI's own figures, measured on the
machine for which the targets were set, over another trace of 2,179,440
entries, are shown beside.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from generated import ROOT, SEED, Made, make, places, short
from measure import Cost, compared, median_cost, run, tree_bytes
from report import Table, within

BUILDER = Path(__file__).with_name("gufi_build.py")
LEAST_TIMES_CHEAPER = 20
MOST_BYTES = 200 << 20


@dataclass(frozen=True)
class Question:
    """One question; the last two figures are GUFI's wall and CPU time in seconds."""

    what: str
    ours: tuple[str, ...]
    sql: str
    wall_s: float
    cpu_s: float
    as_user: bool = False


QUESTIONS = (
    Question("all names", ("find", ROOT), "SELECT name FROM pentries", 1.52, 2.86),
    Question("directory sizes", ("du", ROOT), "SELECT name, totsize FROM summary", 0.28, 0.51),
    Question("total", ("du", "-s", "--apparent-size", ROOT), "SELECT sum(size) FROM pentries", 1.43, 2.71),
    Question("names over 1 MiB", ("find", ROOT, "-size", "+1048576c"), "SELECT name FROM pentries WHERE size > 1048576", 0.41, 0.81),
    Question("names *.c", ("find", ROOT, "-name", "*.c"), "SELECT name FROM pentries WHERE name LIKE '%.c'", 0.46, 0.90),
    Question("names *.c with paths", ("find", ROOT, "-name", "*.c"),
             "SELECT dname || '/' || name FROM pentries WHERE name LIKE '%.c'", 0.80, 1.53),
    Question("all names as one user", ("find", ROOT), "SELECT name FROM pentries", 0.45, 0.86, as_user=True),
)


def gufi(table: Table, trawl: str, generator: str, rows: int, sample: int, runs: int) -> None:
    """Adds rows for a database per directory over a sample, and for rolled-up ones over all rows."""
    for kind, count in (("each", sample), ("rolled-up", rows)):
        with tempfile.TemporaryDirectory(prefix="trawl-bench-", dir="/var/tmp") as work:
            os.chmod(work, 0o755)
            program = f"{work}/trawl"
            shutil.copy(trawl, program)
            made = make(trawl, generator, Path(work), count, seen=True)
            if shutil.which("sqlite3") is None:
                table.fact("GUFI's questions", "SQLite", "not installed", "")
                top = None
            else:
                top = Path(work, "gufi")
                subprocess.run([sys.executable, str(BUILDER), kind, str(top), generator, str(count), str(SEED)], check=True)
            questions(table, program, made, kind, top, runs)
    table.memory("GUFI's questions", MOST_BYTES)


def databases(top: Path, uid: int | None) -> list[str]:
    """Returns the databases that a user can read."""
    identity = {} if uid is None else {"user": uid, "group": uid, "extra_groups": []}
    found = subprocess.run(["find", str(top), "-name", "db.db", "-readable", "-print0"], capture_output=True, check=False, **identity)  # type: ignore[call-overload]
    return [path.decode("utf-8", "surrogateescape") for path in found.stdout.split(b"\0") if path]


def questions(table: Table, trawl: str, made: Made, kind: str, top: Path | None, runs: int) -> None:
    """Adds a row for each question."""
    user = places(trawl, made).user
    label = f"GUFI's, {short(made.rows)}, {'a database per directory' if kind == 'each' else 'rolled up'}"
    if made.cost:
        table.cost(f"{label}: indexing", made.cost, "", "gufi_trace2index, 2.2 M entries", "70–81 CPU-s; rolling up 379 more")
    table.fact(f"{label}: bytes per entry", "SQLite", f"{tree_bytes(top) / made.rows:.0f} in {len(databases(top, None)):,} files" if top else "",
               f"{tree_bytes(made.path) / made.rows:.1f}")
    for question in QUESTIONS:
        uid = user if question.as_user else None
        if uid is not None and os.geteuid() != 0:
            table.fact(f"{label}: {question.what}", "", "", "skipped, because only root can ask as somebody else")
            continue
        ask = made.ask(trawl, *question.ours)
        peer = script(top, question.sql, uid) if top else None
        ours: list[Cost] = []
        peers: list[Cost] = []
        for number in range(max(3, runs // 2) + 1):
            costs = run(ask, uid=uid), peer and run(["sqlite3", "-readonly", "-init", str(peer), ":memory:", ""], uid=uid)
            if number:
                ours.append(costs[0])
                peers += [costs[1]] if costs[1] else []
        said = f"GUFI: {question.wall_s * 1e3:.0f} ms wall; " + within(median_cost(ours), question.cpu_s * 1e3 / LEAST_TIMES_CHEAPER)
        said = said if kind == "rolled-up" else ""
        if peers:
            table.pair(f"{label}: {question.what}", "SQLite", compared(ours, peers), said=said)
        else:
            table.cost(f"{label}: {question.what}", median_cost(ours), said)


def script(top: Path, sql: str, uid: int | None) -> Path:
    """Returns SQLite's script, which opens each database and queries it."""
    path = top.with_name("questions.sql")
    with path.open("w", encoding="utf-8", errors="surrogateescape") as out:
        for database in databases(top, uid):
            out.write(f'.open --readonly "{database}"\n{sql};\n')
    path.chmod(0o644)
    return path
