#!/usr/bin/env python3
"""Makes the tree that a trace of the generator describes.

usage: make_tree.py TRACE DIRECTORY

Files have their sizes but no blocks, so that a million of them need little
more than inodes. As root they get their owners. DIRECTORY must not exist; it
appears when it is complete.
"""

from __future__ import annotations

import os
import stat
import sys

from traces import Entry, entries


def make(entry: Entry, path: bytes, owned: bool) -> None:
    """Makes one entry that has no other name yet; a directory stays open to us."""
    if entry.kind == "d":
        os.makedirs(path, exist_ok=True)
    elif entry.kind == "l":
        os.symlink(entry.target, path)
    elif entry.kind in "ps":
        os.mknod(path, entry.mode)
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
    trace, final = sys.argv[1], os.fsencode(sys.argv[2])
    if os.path.lexists(final):
        sys.exit(f"{sys.argv[2]} exists: remove it first")
    top = final + b".part"
    owned = os.geteuid() == 0
    directories: list[Entry] = []
    linked: dict[int, bytes] = {}
    with open(trace, "rb") as lines:
        for entry in entries(lines):
            path = top + b"/" + entry.path if entry.path else top
            if entry.kind == "d":
                directories.append(entry)
            elif entry.nlink > 1:
                first = linked.setdefault(entry.inode, path)
                if first != path:
                    os.link(first, path, follow_symlinks=False)
                    continue
            make(entry, path, owned)
    for entry in reversed(directories):
        mode = stat.S_IMODE(entry.mode) if owned else 0o755
        os.chmod(top + b"/" + entry.path if entry.path else top, mode)
    os.rename(top, final)


if __name__ == "__main__":
    main()
