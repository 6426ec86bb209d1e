"""Runs commands side by side and measures their cost.

A measurement is a list of rounds: in each, all commands run one after the
other, so that a noisy machine disturbs them alike. It reports the median of
each command and the median of the rounds' ratios.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any


class Caches(Enum):
    """The state of the kernel's caches when a run starts."""

    WARM = "warm"
    COLD = "cold"
    EVICTED = "its files cold"


@dataclass(frozen=True)
class Cost:
    """The cost of one run of a command."""

    wall_s: float
    cpu_s: float
    peak_rss_bytes: int
    exit_code: int
    output_bytes: int


def run(
    argv: list[str], env: dict[str, str] | None = None, uid: int | None = None, stdin: int = subprocess.DEVNULL
) -> Cost:
    """Runs a command, as another user if one is given; counts its output and discards it."""
    read_end, write_end = os.pipe()
    identity: dict[str, Any] = {} if uid is None else {"user": uid, "group": uid, "extra_groups": []}
    started = time.monotonic()
    child = subprocess.Popen(
        argv,
        stdin=stdin,
        stdout=write_end,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "LC_ALL": "C.UTF-8", **(env or {})},
        **identity,
    )
    os.close(write_end)
    output_bytes = 0
    while chunk := os.read(read_end, 1 << 20):
        output_bytes += len(chunk)
    os.close(read_end)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return Cost(
        wall_s=time.monotonic() - started,
        cpu_s=usage.ru_utime + usage.ru_stime,
        peak_rss_bytes=usage.ru_maxrss * 1024,
        exit_code=child.returncode,
        output_bytes=output_bytes,
    )


@dataclass(frozen=True)
class Pair:
    """Medians of paired runs."""

    ours: Cost
    peer: Cost
    cpu_ratio: float
    wall_ratio: float


def median_cost(costs: list[Cost]) -> Cost:
    """Returns the median of each figure separately."""
    return Cost(
        wall_s=statistics.median(c.wall_s for c in costs),
        cpu_s=statistics.median(c.cpu_s for c in costs),
        peak_rss_bytes=max(c.peak_rss_bytes for c in costs),
        exit_code=max(c.exit_code for c in costs),
        output_bytes=costs[-1].output_bytes,
    )


def why_not_cold() -> str:
    """Returns why the kernel's caches cannot be dropped; empty if they can."""
    return "" if os.geteuid() == 0 else "skipped, because only root can empty the kernel's caches"


def drop_caches(argv: list[str]) -> None:
    """Drops the kernel's caches, and reads the program itself back, since a user has run it before."""
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("3\n")
    program = shutil.which(argv[0])
    if program and Path(program).is_file():
        Path(program).read_bytes()
        run([program, "--version"])


def evict(top: Path) -> None:
    """Evicts the pages of the files below a directory, or of one file, from the page cache; needs no privileges."""
    for path in [top] if top.is_file() else [Path(d, f) for d, _, files in os.walk(top) for f in files]:
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(fd)


def chill(caches: Caches, argv: list[str], files: Path) -> None:
    """Empties the caches that must be cold before a command that reads these files."""
    if caches is Caches.COLD:
        drop_caches(argv)
    elif caches is Caches.EVICTED:
        evict(files)


def pinned(argv: list[str], threads: int) -> list[str]:
    """Returns the command pinned to this many of our cores; unchanged if that is all of them."""
    cores = sorted(os.sched_getaffinity(0))
    if threads >= len(cores):
        return argv
    return ["taskset", "-c", ",".join(str(core) for core in cores[:threads]), *argv]


def rounds(commands: Mapping[str, list[str]], runs: int, caches: Caches = Caches.WARM) -> dict[str, list[Cost]]:
    """Runs all commands in turn, this many times; warm, after one unmeasured run of each."""
    if caches is Caches.WARM:
        for argv in commands.values():
            run(argv)
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    names = list(commands)
    for number in range(runs):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            if caches is Caches.COLD:
                drop_caches(commands[name])
            costs[name].append(run(commands[name]))
    return costs


def compared(ours: list[Cost], peer: list[Cost]) -> Pair:
    """Compares two commands that ran in the same rounds."""
    both = list(zip(ours, peer, strict=True))
    return Pair(
        ours=median_cost(ours),
        peer=median_cost(peer),
        cpu_ratio=statistics.median(o.cpu_s / max(p.cpu_s, 1e-4) for o, p in both),
        wall_ratio=statistics.median(o.wall_s / max(p.wall_s, 1e-4) for o, p in both),
    )


def paired(ours: list[str], peer: list[str], runs: int) -> Pair:
    """Runs two commands in turn, warm."""
    costs = rounds({"ours": ours, "peer": peer}, runs)
    return compared(costs["ours"], costs["peer"])


def tree_bytes(top: Path) -> int:
    """Returns the sum of the sizes of the regular files below a directory."""
    return sum(f.stat().st_size for f in top.rglob("*") if f.is_file())
