"""The report: a table of figures, and whether targets are met."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

from measure import Cost, Pair

HEAD = ("what", "peer", "peer: CPU / wall", "trawl: CPU / wall", "ratio CPU / wall", "target")


@dataclass
class Table:
    """Rows of the report."""

    rows: list[tuple[str, ...]] = field(default_factory=list)

    def pair(self, what: str, peer: str, pair: Pair, target: str = "", by: str = "cpu") -> None:
        """A row that compares two commands; the target is on `cpu` or `wall`."""
        ratio = {"cpu": pair.cpu_ratio, "wall": pair.wall_ratio}[by]
        self.add((
            what, peer, figures(pair.peer), figures(pair.ours),
            f"{pair.cpu_ratio:.3f} / {pair.wall_ratio:.3f}", verdict(ratio, target),
        ))

    def fact(self, what: str, peer: str, peers_figure: str, ours: str, target: str = "", met: bool | None = None) -> None:
        """A row with figures that are not times."""
        said = target if met is None else f"{target}: {'met' if met else 'NOT met'}"
        self.add((what, peer, peers_figure, ours, "", said))

    def add(self, row: tuple[str, ...]) -> None:
        """A row, which is shown at once."""
        self.rows.append(row)
        print("  " + " | ".join(row), file=sys.stderr, flush=True)

    def markdown(self) -> str:
        """The table."""
        lines = ["| " + " | ".join(row) + " |" for row in [HEAD, ("---",) * len(HEAD), *self.rows]]
        return "\n".join(lines)


def figures(cost: Cost) -> str:
    """CPU and wall time, ms."""
    return f"{cost.cpu_s * 1e3:.1f} / {cost.wall_s * 1e3:.1f} ms"


def verdict(ratio: float, target: str) -> str:
    """Compares a ratio with a target of the form `wall <= 1.5`."""
    if not target:
        return ""
    return f"{target}: {'met' if ratio <= float(target.split()[-1]) else 'NOT met'}"
