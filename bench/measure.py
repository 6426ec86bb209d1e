"""Runs commands side by side and says what they cost.

A measurement is a list of paired runs: ours and the peer's, one after the
other, so that a noisy machine disturbs both. What is reported is the median
of each and the median of the pairs' ratios.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Cost:
    """What one run of a command took."""

    wall_s: float
    cpu_s: float
    peak_rss_bytes: int
    exit_code: int
    output_bytes: int


def run(argv: list[str], env: dict[str, str] | None = None) -> Cost:
    """Runs a command with its output counted and thrown away."""
    read_end, write_end = os.pipe()
    started = time.monotonic()
    child = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=write_end,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "LC_ALL": "C.UTF-8", **(env or {})},
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
    """The median of each figure on its own."""
    return Cost(
        wall_s=statistics.median(c.wall_s for c in costs),
        cpu_s=statistics.median(c.cpu_s for c in costs),
        peak_rss_bytes=max(c.peak_rss_bytes for c in costs),
        exit_code=max(c.exit_code for c in costs),
        output_bytes=costs[-1].output_bytes,
    )


def paired(ours: list[str], peer: list[str], runs: int) -> Pair:
    """Runs both commands in turn, after one unmeasured run of each."""
    run(peer)
    run(ours)
    both = [(run(ours), run(peer)) for _ in range(runs)]
    return Pair(
        ours=median_cost([o for o, _ in both]),
        peer=median_cost([p for _, p in both]),
        cpu_ratio=statistics.median(o.cpu_s / max(p.cpu_s, 1e-4) for o, p in both),
        wall_ratio=statistics.median(o.wall_s / max(p.wall_s, 1e-4) for o, p in both),
    )


def tree_bytes(top: Path) -> int:
    """Sum of the sizes of the regular files below a directory."""
    return sum(f.stat().st_size for f in top.rglob("*") if f.is_file())
