#!/usr/bin/env python3
"""Builds an index in GUFI's layout: SQLite databases in a tree of directories.

usage: gufi_build.py each|rolled-up DIRECTORY GENERATOR ROWS SEED

`each`: a database for each directory of the generated trace, with the tables
`entries` and `summary` and the view `pentries` in GUFI's columns. `rolled-up`:
one for each largest subtree that may be shown as a whole, in which each
directory has the permissions and owners of its parent, or everybody may read
everything. Directories have the modes and, as root, the owners of the trace.
Data that GUFI keeps below a rolled-up database is left out.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

from traces import Entry, entries

OF_ENTRY = ("name TEXT, type TEXT, inode TEXT, mode INT64, nlink INT64, uid INT64, gid INT64, size INT64, blksize INT64, "
            "blocks INT64, atime INT64, mtime INT64, ctime INT64, linkname TEXT, xattr_names BLOB, crtime INT64, ossint1 INT64, "
            "ossint2 INT64, ossint3 INT64, ossint4 INT64, osstext1 TEXT, osstext2 TEXT")
SUMS = ("totfiles", "totlinks", "minuid", "maxuid", "mingid", "maxgid", "minsize", "maxsize", "totzero", "totltk", "totmtk",
        "totltm", "totmtm", "totmtg", "totmtt", "totsize", "minctime", "maxctime", "minmtime", "maxmtime", "minatime", "maxatime",
        "minblocks", "maxblocks", "totxattr", "depth", "mincrtime", "maxcrtime", "rectype", "isroot", "rollupscore")
OF_SUMMARY = f"{OF_ENTRY}, {', '.join(f'{name} INT64' for name in SUMS)}, pinode TEXT"
KIB, MIB, GIB, TIB = 1 << 10, 1 << 20, 1 << 30, 1 << 40


class Directory(NamedTuple):
    """A stanza of the trace."""

    own: Entry
    files: list[Entry]


def stanzas(generator: str, rows: str, seed: str) -> Iterator[Directory]:
    """Reads the trace, directory by directory."""
    with subprocess.Popen([generator, rows, seed], stdout=subprocess.PIPE) as source:
        assert source.stdout is not None
        now: Directory | None = None
        for entry in entries(source.stdout):
            if entry.kind == "d":
                if now:
                    yield now
                now = Directory(entry, [])
            elif now:
                now.files.append(entry)
        if now:
            yield now


def text(name: bytes) -> str:
    """Converts a name for SQLite."""
    return name.decode("utf-8", "replace")


def entry_row(entry: Entry) -> tuple[object, ...]:
    """Returns the columns of `entries`."""
    name = text(entry.path.rsplit(b"/", 1)[-1])
    return (name, entry.kind, str(entry.inode), *entry[3:13], text(entry.target), b"", entry.crtime, 0, 0, 0, 0, "", "")


def summary_row(directory: Directory, isroot: int) -> tuple[object, ...]:
    """Returns the columns of `summary`."""
    own, files = directory
    sizes = [f.size for f in files if f.kind == "f"] or [0]

    def ends(column: int) -> tuple[int, int]:
        values = [f[column] for f in files] or [0]
        return min(values), max(values)

    sums = (
        sum(f.kind == "f" for f in files), sum(f.kind == "l" for f in files), *ends(5), *ends(6), min(sizes), max(sizes),
        sizes.count(0), sum(s < KIB for s in sizes), sum(s >= KIB for s in sizes), sum(s < MIB for s in sizes),
        sum(s >= MIB for s in sizes), sum(s >= GIB for s in sizes), sum(s >= TIB for s in sizes), sum(sizes),
        *ends(12), *ends(11), *ends(10), *ends(9), 0, own.path.count(b"/"), *ends(14), 0, isroot, 0,
    )
    return (*entry_row(own), *sums, str(own.parent_inode))


class Databases:
    """Makes databases in a tree of directories."""

    def __init__(self, top: str) -> None:
        self.top = top
        self.db: sqlite3.Connection | None = None
        self.made: list[Entry] = []

    def place(self, path: bytes) -> str:
        """Returns the path of a directory's database."""
        return os.path.join(os.fsencode(self.top), path).decode("utf-8", "surrogateescape")

    def enter(self, own: Entry) -> None:
        """Makes the directory itself."""
        os.makedirs(self.place(own.path), exist_ok=True)
        self.made.append(own)

    def begin(self, own: Entry) -> None:
        """Begins a database with its tables."""
        self.finish()
        self.db = sqlite3.connect(os.path.join(self.place(own.path), "db.db"), isolation_level=None)
        self.db.executescript(
            f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN; CREATE TABLE entries({OF_ENTRY});"
            f"CREATE TABLE summary({OF_SUMMARY}); CREATE TABLE pentries_rollup({OF_ENTRY}, pinode TEXT, dname TEXT);"
            "CREATE VIEW pentries AS SELECT entries.*, summary.inode AS pinode, '' AS dname FROM entries, summary "
            "WHERE isroot = 1 UNION ALL SELECT * FROM pentries_rollup;")

    def add(self, directory: Directory, isroot: int) -> None:
        """Adds a directory's rows; those of a rolled-up directory go to a table of their own."""
        assert self.db is not None
        marks = ", ".join("?" * OF_SUMMARY.count(","))
        self.db.execute(f"INSERT INTO summary VALUES ({marks}, ?)", summary_row(directory, isroot))
        rows = map(entry_row, directory.files)
        if isroot:
            self.db.executemany(f"INSERT INTO entries VALUES ({', '.join('?' * 22)})", rows)
        else:
            more = (str(directory.own.inode), text(directory.own.path))
            self.db.executemany(f"INSERT INTO pentries_rollup VALUES ({', '.join('?' * 24)})", (row + more for row in rows))

    def finish(self) -> None:
        """Ends the present database."""
        if self.db:
            self.db.execute("COMMIT")
            self.db.close()
            self.db = None

    def close_doors(self) -> None:
        """Gives directories and databases their modes and owners, the innermost first."""
        for own in reversed(self.made):
            place = self.place(own.path)
            mode = stat.S_IMODE(own.mode) if os.geteuid() == 0 else 0o755
            for path, bits in ((os.path.join(place, "db.db"), mode & 0o444), (place, mode)):
                if os.path.exists(path):
                    if os.geteuid() == 0:
                        os.chown(path, own.uid, own.gid)
                    os.chmod(path, bits)


def alike(below: Entry, above: Entry) -> bool:
    """Returns whether the same users may see both directories."""
    both_open = below.mode & above.mode & 0o005 == 0o005
    return both_open or (below.mode & 0o777, below.uid, below.gid) == (above.mode & 0o777, above.uid, above.gid)


def whole_subtrees(directories: list[Entry]) -> set[bytes]:
    """Returns the paths of all directories that can be rolled up with everything below them."""
    by_path = {own.path: own for own in directories}
    broken: set[bytes] = set()
    for own in reversed(directories):
        above = by_path.get(own.path.rpartition(b"/")[0]) if own.path else None
        if above and (own.path in broken or not alike(own, above)):
            broken.add(above.path)
    return set(by_path) - broken


def main() -> None:
    """Reads the arguments."""
    if len(sys.argv) != 6 or sys.argv[1] not in ("each", "rolled-up"):
        sys.exit(__doc__)
    kind, top, *trace = sys.argv[1:]
    whole: set[bytes] = set()
    if kind == "rolled-up":
        whole = whole_subtrees([directory.own for directory in stanzas(*trace)])
    databases = Databases(top)
    rolled: bytes | None = None
    for directory in stanzas(*trace):
        path = directory.own.path
        if rolled is not None and path.startswith(rolled + b"/"):
            databases.add(directory, 0)
            continue
        rolled = path if path in whole else None
        databases.enter(directory.own)
        databases.begin(directory.own)
        databases.add(directory, 1)
    databases.finish()
    databases.close_doors()


if __name__ == "__main__":
    main()
