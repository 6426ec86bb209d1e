"""Indexes of generated rows, and directories to ask about in them.

The generator's output goes to `trawl index` through a pipe, so that a hundred
million rows need no file. An index is kept until the program is rebuilt.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from measure import Cost, run

ROOT = "/t"
SEED = 42


@dataclass(frozen=True)
class Made:
    """An index of generated rows."""

    path: Path
    rows: int
    cost: Cost | None

    def ask(self, trawl: str, *words: str) -> list[str]:
        """Returns a command that asks it."""
        return [trawl, "-i", str(self.path), *words]


def short(rows: int) -> str:
    """Formats `10000000` as `10 M`."""
    for size, letter in ((10**6, "M"), (10**3, "K")):
        if rows >= size:
            return f"{rows / size:g} {letter}"
    return str(rows)


def make(trawl: str, generator: str, trees: Path, rows: int, seen: bool = False) -> Made:
    """Returns the index, rebuilt if the program is newer or if its cost is requested."""
    path = trees / f"gen{short(rows).replace(' M', '').replace(' ', '')}.index"
    stamp = path.with_suffix(".made")
    if not seen and stamp.exists() and stamp.stat().st_mtime > Path(trawl).stat().st_mtime:
        return Made(path, rows, None)
    shutil.rmtree(path, ignore_errors=True)
    print(f"  indexing {rows:,} generated rows", file=sys.stderr, flush=True)
    with subprocess.Popen([generator, str(rows), str(SEED)], stdout=subprocess.PIPE) as source:
        assert source.stdout is not None
        cost = run([trawl, "-i", str(path), "index", "--quiet", "--from-trace", "-", "--root", ROOT], stdin=source.stdout.fileno())
        source.stdout.close()
    if cost.exit_code > 1 or source.returncode != 0:
        sys.exit(f"cannot index {rows:,} generated rows: trawl ended with {cost.exit_code}, the generator with {source.returncode}")
    stamp.touch()
    return Made(path, rows, cost)


@dataclass(frozen=True)
class Places:
    """Directories to ask about."""

    wide: str
    subtree: str
    user: int


def places(trawl: str, made: Made) -> Places:
    """Returns a directory of some hundred entries, a user's tree of some size, and that user."""
    listed = subprocess.run(made.ask(trawl, "find", f"{ROOT}/scratch", "-mindepth", "1", "-maxdepth", "1", "-printf", "%p\\0%U\\0"),
                            capture_output=True, check=True).stdout.split(b"\0")
    tops = sorted(zip(listed[0::2], listed[1::2]))
    top, uid = tops[len(tops) // 2]
    subtree = top.decode()
    below = subprocess.run(made.ask(trawl, "find", subtree, "-printf", "%h\\n"), capture_output=True, check=True).stdout
    counts: dict[bytes, int] = {}
    for line in below.splitlines():
        counts[line] = counts.get(line, 0) + 1
    wide = min(counts, key=lambda path: (abs(counts[path] - 150), path))
    return Places(wide.decode(), subtree, int(uid))


def is_there(trawl: str, command: str) -> bool:
    """Returns whether the program has a command."""
    return subprocess.run([trawl, command, "--help"], capture_output=True, check=False).returncode == 0
