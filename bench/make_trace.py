#!/usr/bin/env python3
"""Writes a synthetic file-system trace in GUFI's text format.

usage: make_trace.py OUT DIRECTORIES FILES_PER_DIRECTORY [SEED [closed]]

The tree is a small computing centre: homes (some of them private), projects
shared by groups, scratch space and installed software, 60 users in 12
groups, log-normal sizes, mixed permissions. `195000 10` gives about 2.2
million entries. `closed`: homes, projects and scratch space are their
owners' alone, so that a stranger sees about a twentieth: installed software.
The same arguments give the same bytes.
"""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass, replace
from typing import TextIO

SEPARATOR = "\x1e"
NOW = 1_760_000_000
STEMS = (
    "run data result mesh log job input output src test build notes plot grid step "
    "model wave flux atlas probe trial batch cache draft field index layer merge node"
).split()
SUFFIXES = [".c", ".h", ".py", ".txt", ".dat", ".h5", ".nc", ".log", ".png", ".o", ".json", ".sh", ""]
USERS = [(2000 + n, 3000 + n % 12) for n in range(60)]


@dataclass(frozen=True)
class Area:
    """A directory at the top: whose directories it holds, and their modes."""

    name: str
    owners: list[tuple[int, int]]
    part: float
    modes: list[int]

    def closed(self) -> Area:
        """The same, open to nobody else."""
        return replace(self, modes=[0o700])


SOFTWARE = Area("sw", [(0, 0)] * 20, 0.10, [0o755])
OF_USERS = [
    Area("home", USERS, 0.35, [0o700, 0o750, 0o755]),
    Area("scratch", USERS, 0.30, [0o755, 0o750, 0o700]),
    Area("projects", USERS[:12], 0.25, [0o770, 0o750, 0o755]),
]


@dataclass(frozen=True)
class Place:
    """A directory that more can be put into."""

    path: str
    mode: int
    uid: int
    gid: int
    inode: int
    depth: int


class Trace:
    """Writes lines; hands out inode numbers."""

    def __init__(self, out: TextIO, seed: int, files: float) -> None:
        self.out = out
        self.rng = random.Random(seed)
        self.files = files
        self.inode = 1000

    def line(self, path: str, kind: str, mode: int, owner: tuple[int, int], size: int, parent: int, target: str = "") -> int:
        """One entry; returns its inode number."""
        self.inode += 1
        mtime = NOW - min(int(self.rng.expovariate(1 / 3e7)), 300_000_000)
        fields = [
            f"{len(path.encode()):04x}{path}", kind, self.inode, mode, 2 if kind == "d" else 1,
            owner[0], owner[1], size, 4096, (size + 511) // 512, mtime + self.rng.randrange(9_000_000),
            mtime, mtime, f"{len(target):04x}{target}", "00040000", mtime, 0, 0, 0, 0, "0000", "0000", parent,
        ]
        self.out.write(SEPARATOR.join(map(str, fields)) + SEPARATOR + "\n")
        return self.inode

    def directory(self, path: str, mode: int, owner: tuple[int, int], parent: int, depth: int) -> Place:
        """A directory's stanza: its own line, then its files."""
        rng = self.rng
        inode = self.line(path, "d", 0o040000 | mode, owner, 4096, parent)
        count = 0 if rng.random() < 0.12 else int(rng.expovariate(1 / self.files))
        stem = rng.choice(STEMS)
        for n in range(count):
            name = f"{stem}_{n:04d}{rng.choice(SUFFIXES)}" if rng.random() < 0.6 else (
                f"{rng.choice(STEMS)}-{rng.choice(STEMS)}{n}{rng.choice(SUFFIXES)}"
            )
            full = f"{path}/{name}" if path else name
            if rng.random() < 0.01:
                self.line(full, "l", 0o120777, owner, 9, inode, "../" + rng.choice(STEMS))
            else:
                file_mode = rng.choices([0o644, 0o640, 0o600, 0o664, 0o755], [60, 15, 10, 8, 7])[0]
                size = 0 if rng.random() < 0.03 else int(min(rng.lognormvariate(9.2, 2.6), 5e12))
                self.line(full, "f", 0o100000 | file_mode, owner, size, inode)
        return Place(path, mode, owner[0], owner[1], inode, depth)

    def subtree(self, top: Place, directories: int) -> None:
        """Directories at random places below `top`, some of them private."""
        rng = self.rng
        places = [top]
        for n in range(directories):
            near = places[-40:] if rng.random() < 0.5 else places
            above = rng.choice(near)
            if above.depth > 15:
                above = top
            mode = rng.choices([above.mode, 0o700, 0o750, 0o711], [94, 3, 2, 1])[0]
            path = f"{above.path}/{rng.choice(STEMS)}{n}"
            owner = (above.uid, above.gid)
            places.append(self.directory(path, mode, owner, above.inode, above.depth + 1))


def shares(rng: random.Random, count: int) -> list[float]:
    """Shares of a whole, a few of them large."""
    weights = [rng.paretovariate(1.2) for _ in range(count)]
    return [w / sum(weights) for w in weights]


def write(out: TextIO, directories: int, files: float, seed: int, areas: list[Area]) -> None:
    """The whole trace."""
    trace = Trace(out, seed, files)
    rng = trace.rng
    root = trace.directory("", 0o755, (0, 0), 0, 0)
    for area in areas:
        above = trace.directory(area.name, 0o755, (0, 0), root.inode, 1)
        for n, (owner, share) in enumerate(zip(area.owners, shares(rng, len(area.owners)))):
            path = f"{area.name}/{area.name[:4]}{n:02d}"
            top = trace.directory(path, rng.choice(area.modes), owner, above.inode, 2)
            trace.subtree(top, int(share * area.part * directories))


def main() -> None:
    """Reads the arguments."""
    if len(sys.argv) not in (4, 5, 6) or sys.argv[5:] not in ([], ["closed"]):
        sys.exit(__doc__)
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 42
    areas = [*OF_USERS, SOFTWARE]
    if sys.argv[5:]:
        areas = [*(area.closed() for area in OF_USERS), replace(SOFTWARE, part=0.072)]
    with open(sys.argv[1], "w", buffering=1 << 20) as out:
        write(out, int(sys.argv[2]), float(sys.argv[3]), seed, areas)


if __name__ == "__main__":
    main()
