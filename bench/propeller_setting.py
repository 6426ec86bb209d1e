"""The settings of the bench of the paper on Propeller, and what its parts share."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from measure import Cost
from report import Table
from watched import BOTH, cpu_of

#: The columns of the peer's table, and what find prints for them. The paper's index is that of full paths.
COLUMNS = ("path VARBINARY(512) PRIMARY KEY, inode BIGINT, mode INT, links INT, uid INT, gid INT, size BIGINT, "
           "atime BIGINT, mtime BIGINT, ctime BIGINT")
ATTRIBUTES = "%p\\t%i\\t%m\\t%n\\t%U\\t%G\\t%s\\t%A@\\t%T@\\t%C@\\n"
SHOWN = 5


@dataclass
class Setting:
    """The settings of all parts."""

    table: Table
    trawl: str
    work: Path
    tree: Path | None
    runs: int
    files: int
    updates: int
    writers: tuple[int, ...]
    copies: int
    created: int
    words: tuple[str, ...]
    parts: tuple[str, ...]
    #: Questions with wrong answers.
    failures: list[str] = field(default_factory=list)

    def index(self, name: str = "propeller-index") -> Path:
        """Returns a new, empty directory for an index."""
        index = self.work / name
        shutil.rmtree(index, ignore_errors=True)
        return index

    def needs_root(self) -> str:
        """Returns why no file system can be mounted; empty if one can."""
        return "" if os.geteuid() == 0 else "skipped, because only root can mount file systems"

    def needs_tree(self) -> str:
        """Returns why there is nothing to index; empty if there is."""
        return "" if self.tree else "skipped, because no --tree is given"

    def tops(self) -> list[Path]:
        """Returns the parts of the tree that are used: all of it, if it has none of them."""
        assert self.tree
        return [self.tree / part for part in self.parts if (self.tree / part).is_dir()] or [self.tree]

    def same(self, what: str, found: set[bytes], expected: set[bytes]) -> bool:
        """Records a failure if an answer differs, with some of the differing lines."""
        if found == expected:
            return True
        if what in self.failures:
            return False
        missing, more = sorted(expected - found), sorted(found - expected)
        self.failures.append(what)
        self.table.fact(f"WRONG: {what}", "", "", f"{len(missing)} of {len(expected)} are missing, {len(more)} are too many")
        for sign, lines in (("-", missing), ("+", more)):
            for line in lines[:SHOWN]:
                print(f"    {sign} {os.fsdecode(line)}", file=sys.stderr, flush=True)
        return False

    def grepped(self, word: str, *tops: Path) -> set[bytes]:
        """Returns the files that have a word between characters that are neither letters nor digits, by GNU grep."""
        pattern = rf"(?<![\p{{L}}\p{{N}}]){word}(?![\p{{L}}\p{{N}}])"
        return set(output(["grep", "-raliP", pattern, *map(str, tops)]))


def output(words: list[str], env: dict[str, str] | None = None) -> list[bytes]:
    """Returns the lines that a command prints; codes above 1 are failures."""
    ran = subprocess.run(words, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False, env={**os.environ, "LC_ALL": "C.UTF-8", **(env or {})})
    if ran.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(words[:6])} … ended with {ran.returncode}")
    return ran.stdout.splitlines()


def used_s(pids: Iterable[int]) -> float:
    """Returns CPU seconds of this process, its ended children and other processes."""
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, BOTH)) + sum(map(cpu_of, pids))


def timed(task: Callable[[], object], pids: Iterable[int] = ()) -> Cost:
    """Returns the cost of a task, with the CPU time of servers that work for it."""
    servers = list(pids)
    cpu, begun = used_s(servers), time.monotonic()
    task()
    wall = time.monotonic() - begun
    return Cost(wall_s=wall, cpu_s=used_s(servers) - cpu, peak_rss_bytes=0, exit_code=0, output_bytes=0)


def added(costs: list[Cost]) -> Cost:
    """Returns the sum of costs."""
    return Cost(sum(cost.wall_s for cost in costs), sum(cost.cpu_s for cost in costs), 0, 0, 0)


def attributes(path: bytes) -> tuple[object, ...]:
    """Returns a file's row in the peer's table."""
    seen = os.stat(path)
    return (path, seen.st_ino, seen.st_mode & 0o7777, seen.st_nlink, seen.st_uid, seen.st_gid, seen.st_size,
            int(seen.st_atime), int(seen.st_mtime), int(seen.st_ctime))


def phrased(number: int, noun: str) -> str:
    """Formats `1 writer`, `2 writers`."""
    return f"{number} {noun}" + ("" if number == 1 else "s")
