"""Questions about names, to the index and to plocate, over the same paths.

plocate's database is built from the index's own list of paths, without those
that contain a newline, which its input cannot represent.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from generated import ROOT, Made, is_there, short
from measure import Caches, Cost, chill, compared, median_cost, pinned, run, why_not_cold
from report import Table, within

PEER = "plocate"
MOST_BYTES = 200 << 20
BUILDER = ("plocate-build", "/usr/sbin/plocate-build", "/sbin/plocate-build")


@dataclass(frozen=True)
class Question:
    """One question, in each program's wording."""

    what: str
    locate: tuple[str, ...]
    find: tuple[str, ...]
    plocate: tuple[str, ...]
    most_cpu_ms: float | None = None


QUESTIONS = (
    Question("name glob *.c", ("-b", "*.c"), ("-name", "*.c"), ("-b", "*.c"), 75),
    Question("rare name glob *_01023*.h5", ("-b", "*_01023*.h5"), ("-name", "*_01023*.h5"), ("-b", "*_01023*.h5"), 75),
    Question("path substring turbulence_muon", ("turbulence_muon",), ("-path", "*turbulence_muon*"), ("turbulence_muon",), 10),
    Question("path substring, a directory's", ("/Maildir/.Report/",), ("-path", "*/Maildir/.Report/*"), ("/Maildir/.Report/",), 10),
    Question("ignoring case: CHECKPOINT_0042", ("-i", "CHECKPOINT_0042"), ("-ipath", "*CHECKPOINT_0042*"), ("-i", "CHECKPOINT_0042")),
    Question("regex run_[0-9]+/.*monte.*\\.vtu$", ("--regex", r"run_[0-9]+/.*monte.*\.vtu$"),
             ("-regextype", "posix-extended", "-regex", r".*run_[0-9]+/.*monte.*\.vtu"), ("--regex", r"run_[0-9]+/.*monte.*\.vtu$"), 270),
)


def build_database(trawl: str, made: Made, work: Path) -> Path | None:
    """Builds plocate's database over the index's paths."""
    builder = next((path for path in map(shutil.which, BUILDER) if path), None)
    if builder is None:
        return None
    database = work / "generated.plocate"
    with tempfile.NamedTemporaryFile(dir=work) as paths:
        subprocess.run(made.ask(trawl, "find", ROOT, "-not", "-name", "*\n*", "-not", "-path", "*\n*"), stdout=paths, check=False)
        subprocess.run([builder, "-p", "-l", "no", paths.name, str(database)], check=True)
    return database


def names(table: Table, trawl: str, made: Made, work: Path, runs: int) -> None:
    """Adds rows of all questions: warm on one and two cores, cold, and with only the index's pages evicted."""
    database = build_database(trawl, made, work)
    if database is None:
        table.fact("names", "plocate", "not installed", "")
    else:
        table.fact(f"{short(made.rows)}: bytes per entry of names", "plocate", f"{database.stat().st_size / made.rows:.2f}",
                   sidecar_bytes(made))
    has_locate = is_there(trawl, "locate")
    if not has_locate:
        table.fact("names", "", "", "trawl locate is not there")
    for question in QUESTIONS:
        ours = {"trawl find": made.ask(trawl, "find", ROOT, *question.find)}
        if has_locate:
            ours = {"trawl locate": made.ask(trawl, "locate", *question.locate), **ours}
        peer = ["plocate", "-d", str(database), *question.plocate] if database else None
        for caches, threads in ((Caches.WARM, 1), (Caches.WARM, 2), (Caches.EVICTED, 2), (Caches.COLD, 2)):
            one(table, question, ours, peer, caches, threads, made, runs)
    table.memory(f"names, {short(made.rows)}", MOST_BYTES)
    if database:
        database.unlink()


def one(table: Table, question: Question, ours: dict[str, list[str]], peer: list[str] | None,
        caches: Caches, threads: int, made: Made, runs: int) -> None:
    """Adds rows of one question under one condition."""
    what = f"{short(made.rows)}: {question.what}, {caches.value}, {threads} core{'s' * (threads > 1)}"
    if caches is Caches.COLD and why_not_cold():
        return table.fact(what, "", "", why_not_cold())
    commands = {**ours, PEER: peer} if peer else ours
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    is_warm = caches is Caches.WARM
    for number in range(runs + 1 if is_warm else max(3, runs // 2)):
        for name, argv in commands.items():
            chill(caches, argv, made.path if name != PEER else Path(argv[2]))
            cost = run(pinned(argv, threads))
            if number or not is_warm:
                costs[name].append(cost)
    for name in ours:
        mine = median_cost(costs[name])
        said = within(mine, question.most_cpu_ms if is_warm and name == next(iter(ours)) else None)
        if peer:
            said = "; ".join(filter(None, [said, unlike(mine, median_cost(costs[PEER]))]))
            table.pair(f"{what} ({name})", PEER, compared(costs[name], costs[PEER]), said=said)
        else:
            table.cost(f"{what} ({name})", mine, said)


def unlike(ours: Cost, peer: Cost) -> str:
    """Reports that the answers differ; a few names with newlines may be missing from plocate's."""
    if abs(ours.output_bytes - peer.output_bytes) <= max(ours.output_bytes, peer.output_bytes) / 1000:
        return ""
    return f"NOT the same answer: {ours.output_bytes:,} and {peer.output_bytes:,} bytes"


def sidecar_bytes(made: Made) -> str:
    """Returns the size on disk of the index's name sidecars."""
    total = sum(Path(d, f).stat().st_size for d, _, files in os.walk(made.path) for f in files if f.endswith(".names"))
    return f"{total / made.rows:.2f}" if total else "no sidecar"
