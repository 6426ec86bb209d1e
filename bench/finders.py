"""The questions of live finders, to `trawl find --live` and to an index.

The target applies to the peer with the smallest wall time; the others are shown.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from measure import Caches, Cost, compared, median_cost, rounds, why_not_cold
from report import Table

OURS = "trawl"


@dataclass(frozen=True)
class Question:
    """One question, in each program's wording; `{}` is the tree."""

    what: str
    find: tuple[str, ...]
    fd: tuple[str, ...]


QUESTIONS = (
    Question("names only", ("{}",), ("-uu", ".", "{}")),
    # fd's `k` is 1000 bytes and its `-S` only sees files; its output is close enough for a
    # comparison.
    Question("-size +100k", ("{}", "-size", "+100k"), ("-uu", "-S", "+100k", ".", "{}")),
)
FINDERS = ("bfs", "fdfind", "find")


def commands(question: Question, tree: str, ours: list[str]) -> dict[str, list[str]]:
    """Returns our command and those of all installed finders."""

    def on(words: tuple[str, ...]) -> list[str]:
        return [tree if word == "{}" else word for word in words]

    asked = {OURS: [*ours, *on(question.find)]}
    for name in FINDERS:
        if shutil.which(name):
            asked[name] = [name, *on(question.fd if name == "fdfind" else question.find)]
    return asked


def fastest(costs: dict[str, list[Cost]]) -> str:
    """Returns the peer with the smallest median of wall times."""
    return min((name for name in costs if name != OURS), key=lambda name: median_cost(costs[name]).wall_s)


def against_finders(table: Table, label: str, tree: Path, ours: list[str], target: str, runs: dict[Caches, int]) -> None:
    """Adds rows of both questions, warm and cold, on one tree."""
    for caches, count in runs.items():
        for question in QUESTIONS:
            what = f"{label}: {question.what}, {caches.value}"
            if caches is Caches.COLD and why_not_cold():
                table.fact(what, "", "", why_not_cold())
                continue
            costs = rounds(commands(question, str(tree), ours), count, caches)
            best = fastest(costs)
            for name in costs:
                if name != OURS:
                    says = (f"{name} (fastest)", target) if name == best else (name, "")
                    table.pair(what, says[0], compared(costs[OURS], costs[name]), says[1], by="wall")
    for name in FINDERS:
        if shutil.which(name) is None:
            table.fact(label, name, "not installed", "")
