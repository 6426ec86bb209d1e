"""The report: a table of figures, and verdicts on targets."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from measure import Cost, Pair

MIB = 1 << 20
HEAD = ("what", "peer", "peer: CPU / wall", "trawl: CPU / wall", "ratio CPU / wall", "target")


@dataclass
class Table:
    """Rows of the report."""

    rows: list[tuple[str, ...]] = field(default_factory=list)
    peak_rss_bytes: int = 0

    def pair(self, what: str, peer: str, pair: Pair, target: str = "", by: str = "cpu", said: str = "") -> None:
        """Adds a row that compares two commands; the target applies to the ratio of `cpu` or `wall`, or is a verdict."""
        ratio = {"cpu": pair.cpu_ratio, "wall": pair.wall_ratio}[by]
        self.peak_rss_bytes = max(self.peak_rss_bytes, pair.ours.peak_rss_bytes)
        self.add((
            what, peer, figures(pair.peer) + ended(pair.peer), figures(pair.ours) + ended(pair.ours),
            f"{pair.cpu_ratio:.3f} / {pair.wall_ratio:.3f}", said or verdict(ratio, target),
        ))

    def cost(self, what: str, cost: Cost, said: str = "", peer: str = "", peers_figure: str = "") -> None:
        """Adds a row with the cost of one of our commands, including its memory."""
        self.peak_rss_bytes = max(self.peak_rss_bytes, cost.peak_rss_bytes)
        self.add((what, peer, peers_figure, f"{figures(cost)}, {cost.peak_rss_bytes / MIB:.0f} MiB{ended(cost)}", "", said))

    def memory(self, what: str, most_bytes: int) -> None:
        """Adds a row with the peak memory of our commands since the last such row."""
        met = self.peak_rss_bytes <= most_bytes
        self.fact(f"the most memory of any of these: {what}", "", "", f"{self.peak_rss_bytes / MIB:.0f} MiB", f"<= {most_bytes // MIB} MiB", met)
        self.peak_rss_bytes = 0

    def fact(self, what: str, peer: str, peers_figure: str, ours: str, target: str = "", met: bool | None = None) -> None:
        """Adds a row with figures that are not times."""
        said = target if met is None else f"{target}: {'met' if met else 'NOT met'}"
        self.add((what, peer, peers_figure, ours, "", said))

    def add(self, row: tuple[str, ...]) -> None:
        """Adds a row, which is shown at once."""
        self.rows.append(row)
        print("  " + " | ".join(row), file=sys.stderr, flush=True)

    def markdown(self) -> str:
        """Returns the table."""
        return grid(HEAD, self.rows)


def grid(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Formats a table in Markdown."""
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ("---",) * len(head), *rows])


def replace_section(path: Path, title: str, text: str) -> None:
    """Replaces the report's section with this title, or appends it."""
    whole = path.read_text() if path.exists() else "# Results\n"
    section = f"## {title}\n\n{text.strip()}\n"
    there = re.search(rf"^## {re.escape(title)}\n.*?(?=^## |\Z)", whole, re.MULTILINE | re.DOTALL)
    if there is None:
        path.write_text(f"{whole.rstrip()}\n\n{section}")
        return
    behind = whole[there.end():]
    path.write_text(whole[:there.start()] + section + (f"\n{behind}" if behind else ""))


def figures(cost: Cost) -> str:
    """Formats CPU and wall time in ms."""
    return f"{cost.cpu_s * 1e3:.1f} / {cost.wall_s * 1e3:.1f} ms"


def ended(cost: Cost) -> str:
    """Describes how a command failed, which makes its figures unreliable. Code 1 means unreadable or missing paths."""
    return f" (failed with exit code {cost.exit_code})" if cost.exit_code not in (0, 1) else ""


def within(cost: Cost, most_ms: float | None) -> str:
    """Compares CPU time with its limit, in ms."""
    if most_ms is None:
        return ""
    return f"<= {most_ms:g} ms CPU: {'met' if cost.cpu_s * 1e3 <= most_ms else 'NOT met'}"


def verdict(ratio: float, target: str) -> str:
    """Compares a ratio with a target of the form `wall <= 1.5`."""
    if not target:
        return ""
    return f"{target}: {'met' if ratio <= float(target.split()[-1]) else 'NOT met'}"
