"""Reads traces in GUFI's text format. Names may contain any byte, so fields with a length are read by it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

END = b"\x1e"
NUMBERS = 11
CHUNK_BYTES = 1 << 20
# Longer than any line of a generated trace.
LINE_BYTES = 1 << 16


class Entry(NamedTuple):
    """One line."""

    path: bytes
    kind: str
    inode: int
    mode: int
    nlink: int
    uid: int
    gid: int
    size: int
    blksize: int
    blocks: int
    atime: int
    mtime: int
    ctime: int
    target: bytes
    crtime: int
    parent_inode: int


def counted(data: bytes, at: int) -> tuple[bytes, int]:
    """Reads a field preceded by four digits of length; also returns where the next one begins."""
    start = at + 4
    end = start + int(data[at:start], 16)
    return data[start:end], end + 1


def entry(data: bytes, at: int) -> tuple[Entry, int]:
    """Reads the line that begins here; also returns where the next one begins."""
    path, at = counted(data, at)
    kind = chr(data[at])
    at += 2
    numbers = data[at:at + 320].split(END, NUMBERS)[:NUMBERS]
    at += sum(map(len, numbers)) + NUMBERS
    target, at = counted(data, at)
    _, at = counted(data, at)
    end = data.index(END, at)
    crtime = int(data[at:end])
    at = end + 1
    for _ in range(4):
        at = data.index(END, at) + 1
    _, at = counted(data, at)
    _, at = counted(data, at)
    end = data.index(END, at)
    return Entry(path, kind, *map(int, numbers), target, crtime, int(data[at:end])), end + 2


def entries(stream: BinaryIO) -> Iterator[Entry]:
    """Reads all lines: a directory comes before its content."""
    data, at = b"", 0
    at_end = False
    while True:
        if not at_end and len(data) - at < LINE_BYTES:
            more = stream.read(CHUNK_BYTES)
            at_end = not more
            data, at = data[at:] + more, 0
            continue
        if at >= len(data):
            return
        one, at = entry(data, at)
        yield one
