#!/usr/bin/env python3
"""Named indices: the same questions with them, without them, and to SQLite with an index on each column.

usage: indices.py TRAWL GENERATOR WORK [--rows N] [--runs N]

TRAWL is the release binary, GENERATOR that of `bench/generator`, WORK a directory on a disk. Makes an index of
generated rows (10 million), a copy of it with named indices over size, mtime, uid and inode number, and an SQLite
database with the same rows. Questions are about what is rare, wherever it lies: an index gains nothing where many rows
match. Figures are medians of runs in turn; a ratio is ours, with named indices, divided by the other's. Answers are
compared; the bench ends with 1 if one differs.
"""

from __future__ import annotations

import argparse
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from generated import ROOT, Made, make, short
from measure import compared, rounds, run, tree_bytes
from report import Table

#: Attributes: column, find's directive, kind of index.
COLUMNS = {"size": ("%s", "ordered"), "mtime": ("%Ts", "ordered"), "uid": ("%U", "ordered"), "ino": ("%i", "hashed")}
FEW = 20


def rows(trawl: str, made: Made) -> Iterator[tuple[str, ...]]:
    """Yields the path and the attributes of each file."""
    form = "\\0".join(["%p", *(directive for directive, _ in COLUMNS.values())]) + "\\0"
    with subprocess.Popen(made.ask(trawl, "find", ROOT, "-type", "f", "-printf", form), stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        fields: list[bytes] = []
        rest = b""
        while piece := child.stdout.read(1 << 22):
            *found, rest = (rest + piece).split(b"\0")
            fields += found
            whole = len(fields) // (len(COLUMNS) + 1) * (len(COLUMNS) + 1)
            columns = [iter(fields[:whole])] * (len(COLUMNS) + 1)
            for path, *values in zip(*columns, strict=True):
                yield path.decode(errors="surrogateescape"), *map(int, values)
            fields = fields[whole:]


def database(trawl: str, made: Made, path: Path) -> sqlite3.Connection:
    """Makes the peer's database."""
    path.unlink(missing_ok=True)
    peer = sqlite3.connect(path)
    peer.executescript(f"PRAGMA journal_mode = off; PRAGMA synchronous = off; CREATE TABLE files (path BLOB, {', '.join(COLUMNS)});")
    marks = ", ".join("?" * (len(COLUMNS) + 1))
    peer.executemany(f"INSERT INTO files VALUES ({marks})",
                     ((path.encode(errors="surrogateescape"), *values) for path, *values in rows(trawl, made)))
    for column in COLUMNS:
        peer.execute(f"CREATE INDEX by_{column} ON files ({column})")
    peer.commit()
    return peer


def questions(peer: sqlite3.Connection) -> dict[str, tuple[list[str], str]]:
    """Returns questions, as tests of find and as conditions of SQL, that few rows pass."""
    def nth(column: str) -> int:
        return int(peer.execute(f"SELECT {column} FROM files ORDER BY {column} DESC LIMIT 1 OFFSET {FEW}").fetchone()[0])

    size, mtime = nth("size"), nth("mtime")
    uid = peer.execute("SELECT uid FROM files GROUP BY uid ORDER BY count(*) LIMIT 1").fetchone()[0]
    ino = peer.execute("SELECT ino FROM files LIMIT 1 OFFSET 12345").fetchone()[0]
    largest = peer.execute("SELECT max(size) FROM files").fetchone()[0]
    return {
        f"size > {size}": (["-size", f"+{size}c"], f"size > {size}"),
        "a size that no file has": (["-size", f"{largest + 1}c"], f"size = {largest + 1}"),
        f"mtime > {mtime}": (["-newermt", f"@{mtime}"], f"mtime > {mtime}"),
        f"the user with the fewest files, {uid}": (["-uid", str(uid)], f"uid = {uid}"),
        f"inode {ino}": (["-inum", str(ino)], f"ino = {ino}"),
    }


def define(table: Table, trawl: str, made: Made) -> None:
    """Makes the named indices, one at a time."""
    before = tree_bytes(made.path)
    for column, (_, kind) in COLUMNS.items():
        cost = run([trawl, "-i", str(made.path), "index", "define", f"by-{column}", "--kind", kind, "--on", column, ROOT])
        size = tree_bytes(made.path)
        table.cost(f"{short(made.rows)}: defining an {kind} index over {column}: {(size - before) / made.rows:.1f} bytes a row", cost)
        before = size


def main() -> int:
    """Reads the arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trawl", type=Path)
    parser.add_argument("generator", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=21)
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    trawl, table, is_same = str(args.trawl.resolve()), Table(), True
    plain = make(trawl, str(args.generator.resolve()), args.work, args.rows)
    named = replace(plain, path=args.work / "named.index")
    shutil.rmtree(named.path, ignore_errors=True)
    subprocess.run(["cp", "-a", plain.path, named.path], check=True)
    define(table, trawl, named)
    stored = args.work / "files.sqlite"
    peer = database(trawl, plain, stored)
    for what, (tests, condition) in questions(peer).items():
        words = ["find", ROOT, "-type", "f", *tests]
        sql = f"SELECT path FROM files WHERE {condition}"
        expected = sorted(path for (path,) in peer.execute(sql))
        for made in (plain, named):
            found = subprocess.run(made.ask(trawl, *words, "-print0"), capture_output=True, check=False).stdout
            if sorted(found.split(b"\0")[:-1]) != expected:
                print(f"{what}: the answers of trawl and SQLite differ", file=sys.stderr)
                is_same = False
        costs = rounds({"named": named.ask(trawl, *words), "plain": plain.ask(trawl, *words),
                        "sqlite3": ["sqlite3", "-readonly", str(stored), f"{sql};"]}, args.runs)
        title = f"{short(args.rows)}: {what}: {len(expected):,} rows"
        table.pair(title, "trawl without named indices", compared(costs["named"], costs["plain"]))
        table.pair(title, "sqlite3", compared(costs["named"], costs["sqlite3"]))
    print(table.markdown())
    return 0 if is_same else 1


if __name__ == "__main__":
    sys.exit(main())
