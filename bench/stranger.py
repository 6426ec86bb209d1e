"""The cost for a user who sees little of a tree, against root: the same index,
the same questions.

All files lie where everybody can reach them: in a directory of their own that
is removed at the end.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from measure import compared, run
from report import Table

NOBODY = 65534
ROOT = 0
QUESTIONS = (("find", ["find", "/t"]), ("stats", ["stats", "/t"]), ("ls -lR", ["ls", "-lR", "/t"]), ("du -s", ["du", "-s", "/t"]))


def stranger(table: Table, trawl: str, trace: Path, runs: int) -> None:
    """Adds a row for each question; the peer is root."""
    if os.geteuid() != 0:
        table.fact("a stranger's questions", "root", "", "skipped, because only root can ask as somebody else")
        return
    with tempfile.TemporaryDirectory(prefix="trawl-bench-", dir="/var/tmp") as work:
        os.chmod(work, 0o755)
        program, index = f"{work}/trawl", f"{work}/index"
        shutil.copy(trawl, program)
        subprocess.run([program, "-i", index, "index", "--quiet", "--from-trace", str(trace), "--root", "/t"], check=False)
        rows(table, [program, "-i", index], runs)


def rows(table: Table, ask: list[str], runs: int) -> None:
    """Asks as both users in turn."""
    seen = {uid: lines([*ask, "find", "/t"], uid) for uid in (NOBODY, ROOT)}
    label = f"who sees {seen[NOBODY] / seen[ROOT]:.1%} of {seen[ROOT]:,} entries"
    for what, words in QUESTIONS:
        for uid in (NOBODY, ROOT):
            run([*ask, *words], uid=uid)
        both = [(run([*ask, *words], uid=NOBODY), run([*ask, *words], uid=ROOT)) for _ in range(max(3, runs // 2))]
        table.pair(f"{label}: {what}", "root", compared([n for n, _ in both], [r for _, r in both]))


def lines(argv: list[str], uid: int) -> int:
    """Counts the lines that a command prints for a user."""
    asked = subprocess.run(argv, capture_output=True, check=False, user=uid, group=uid, extra_groups=[])
    return asked.stdout.count(b"\n")
