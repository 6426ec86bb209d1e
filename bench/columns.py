"""Questions about columns, to the index and to DuckDB over the same rows as one Parquet file.

`trawl export` writes the file; without that command, DuckDB makes it from the
index's own segments, sorted in the same order.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from duck import Duck, DuckError, why_no_duckdb
from generated import ROOT, Made, Places, is_there, places, short
from measure import Caches, Cost, chill, compared, median_cost, pinned, run, why_not_cold
from report import Table, within

MOST_BYTES = 200 << 20
PEER = "DuckDB"
# The generator's clock is fixed: 60 days before its end.
SINCE, SINCE_S = "2025-08-10", 1_754_784_000
LARGE_BYTES = 1 << 30


@dataclass(frozen=True)
class Question:
    """One question; the first of our commands that exists is used."""

    what: str
    ours: tuple[tuple[str, ...], ...]
    sql: str
    most_cpu_ms: float


def questions(at: Places) -> tuple[Question, ...]:
    """Returns all questions; `{table}` is the Parquet file, `{since}` the condition on its mtime."""
    printed = "COPY (SELECT dir || '/' || name FROM {table}%s) TO '/dev/null' (FORMAT csv, HEADER false)"
    subtree = f" WHERE dir = '{at.subtree}' OR starts_with(dir, '{at.subtree}/')"
    return (
        Question("size and age", (("find", ROOT, "-size", f"+{LARGE_BYTES}c", "-newermt", f"{SINCE} UTC"),),
                 printed % f" WHERE size > {LARGE_BYTES} AND {{since}}", 100),
        Question("sum by user", (("top", "--owners", "-n", "100000", ROOT), ("stats", "--by", "owner", ROOT)),
                 "SELECT uid, count(*), sum(size), sum(blocks) FROM {table} GROUP BY uid ORDER BY 3 DESC", 75),
        Question("the 100 largest files", (("top", "--files", "--apparent-size", "-n", "100", ROOT),),
                 "SELECT size, dir || '/' || name FROM {table} WHERE type = 'f' ORDER BY size DESC LIMIT 100", 60),
        Question("all paths", (("find", ROOT),), printed % "", 300),
        Question("ls -l of a directory", (("ls", "-l", at.wide),),
                 f"SELECT name, mode, nlink, uid, gid, size, mtime FROM {{table}} WHERE dir = '{at.wide}' ORDER BY name", 8),
        Question("du -s of a user's tree", (("du", "-s", at.subtree),), f"SELECT sum(blocks) FROM {{table}}{subtree}", 5),
    )


def columns(table: Table, trawl: str, python: str, made: Made, work: Path, runs: int) -> None:
    """Adds rows of all questions, warm on one and two cores, cold, and with only the index's pages evicted."""
    why_not = why_no_duckdb(python)
    if why_not:
        table.fact("columns", PEER, why_not, "")
    parquet = None if why_not else export(trawl, python, made, work)
    if parquet:
        table.fact(f"{short(made.rows)}: bytes per entry, Parquet for DuckDB", "", f"{parquet_bytes(parquet) / made.rows:.1f}", "")
    at = places(trawl, made)
    for caches, threads in ((Caches.WARM, 1), (Caches.WARM, 2), (Caches.EVICTED, 2), (Caches.COLD, 2)):
        for question in questions(at):
            what = f"{short(made.rows)}: {question.what}, {caches.value}, {threads} core{'s' * (threads > 1)}"
            words = next((words for words in question.ours if is_there(trawl, words[0])), None)
            if words is None:
                table.fact(what, "", "", f"trawl {question.ours[0][0]} is not there")
            elif caches is Caches.COLD and why_not_cold():
                table.fact(what, "", "", why_not_cold())
            else:
                one(table, f"{what} (trawl {words[0]})", made, pinned(made.ask(trawl, *words), threads), question,
                    parquet, python, caches, threads, runs)
    table.memory(f"columns, {short(made.rows)}", MOST_BYTES)
    if parquet:
        shutil.rmtree(parquet)


def one(table: Table, what: str, made: Made, argv: list[str], question: Question, parquet: Path | None, python: str,
        caches: Caches, threads: int, runs: int) -> None:
    """Adds a row; both programs are asked in turn."""
    is_warm = caches is Caches.WARM
    count = runs + 1 if is_warm else max(3, runs // 2)
    ours: list[Cost] = []
    peers: list[Cost] = []
    failed = ""
    for _ in range(count):
        chill(caches, argv, made.path)
        ours.append(run(argv))
    if parquet:
        with Duck(python, threads) as duck:
            sql = worded(question.sql, parquet, duck)
            for _ in range(count):
                chill(caches, argv, parquet)
                try:
                    peers.append(duck.cost(sql))
                except DuckError as error:
                    failed = str(error)
                    break
    skip = int(is_warm)
    most = question.most_cpu_ms if is_warm else None
    said = within(median_cost(ours[skip:]), most)
    if peers and not failed:
        table.pair(what, PEER, compared(ours[skip:], peers[skip:]), said=said)
    else:
        table.cost(what, median_cost(ours[skip:]), said, PEER if failed else "", failed)


def worded(sql: str, parquet: Path, duck: Duck) -> str:
    """Adapts the question to this file: exported times are timestamps, stored ones seconds."""
    table = f"read_parquet('{parquet}/*.parquet')"
    types = {name: kind for name, kind, *_ in duck.rows(f"DESCRIBE SELECT mtime FROM {table}")}
    kind = types["mtime"]
    since = f"mtime >= '{SINCE} 00:00:00+00'::{kind}" if kind.startswith("TIMESTAMP") else f"mtime >= {SINCE_S}"
    return sql.replace("{table}", table).replace("{since}", since)


def export(trawl: str, python: str, made: Made, work: Path) -> Path | None:
    """Returns a directory of Parquet files with all rows."""
    to = work / "generated.parquet"
    shutil.rmtree(to, ignore_errors=True)
    if is_there(trawl, "export"):
        whole = work / "exported"
        shutil.rmtree(whole, ignore_errors=True)
        words = ("export", "--parquet", str(whole), "--tables", "entries", ROOT)
        done = subprocess.run(made.ask(trawl, *words), capture_output=True, check=False)
        if done.returncode == 0 and (whole / "entries").is_dir():
            (whole / "entries").rename(to)
            shutil.rmtree(whole)
            return to
    to.mkdir(parents=True)
    with Duck(python, 2) as duck:
        duck.cost(f"COPY (SELECT * FROM read_parquet('{made.path}/**/*.entries.parquet', union_by_name = true) ORDER BY dir, name) "
                  f"TO '{to}/entries.parquet' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 131072)")
    return to


def parquet_bytes(top: Path) -> int:
    """Returns the size of the files."""
    return sum(path.stat().st_size for path in top.glob("*.parquet"))
