#!/usr/bin/env python3
"""Makes the tree that a trace of make_trace.py describes.

usage: make_tree.py TRACE DIRECTORY

Files have their sizes and no blocks, so that a million of them need inodes
and little else. As root they have their owners. DIRECTORY must not exist; it
appears when it is whole.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SEPARATOR = "\x1e"


class Entry(NamedTuple):
    """What is taken from a line."""

    path: str
    kind: str
    mode: int
    uid: int
    gid: int
    size: int
    target: str


def entries(trace: Path) -> Iterator[Entry]:
    """The lines of a trace: a directory comes before what it holds."""
    with trace.open(encoding="utf-8") as lines:
        for line in lines:
            path, kind, _, mode, _, uid, gid, size, *_, target = line.split(SEPARATOR)[:14]
            yield Entry(path[4:], kind, int(mode), int(uid), int(gid), int(size), target[4:])


def make(entry: Entry, path: str, owned: bool) -> None:
    """One entry; a directory stays open to us."""
    if entry.kind == "d":
        os.makedirs(path, exist_ok=True)
    elif entry.kind == "l":
        os.symlink(entry.target, path)
    else:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.ftruncate(fd, entry.size)
            os.fchmod(fd, stat.S_IMODE(entry.mode))
        finally:
            os.close(fd)
    if owned:
        os.chown(path, entry.uid, entry.gid, follow_symlinks=False)


def main() -> None:
    """Reads the arguments."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    trace, final = Path(sys.argv[1]), sys.argv[2]
    if os.path.lexists(final):
        sys.exit(f"{final} exists: remove it first")
    top = final + ".part"
    owned = os.geteuid() == 0
    directories: list[Entry] = []
    for entry in entries(trace):
        make(entry, f"{top}/{entry.path}" if entry.path else top, owned)
        if entry.kind == "d":
            directories.append(entry)
    for entry in reversed(directories):
        mode = stat.S_IMODE(entry.mode) if owned else 0o755
        os.chmod(f"{top}/{entry.path}" if entry.path else top, mode)
    os.rename(top, final)


if __name__ == "__main__":
    main()
