#!/usr/bin/env python3
"""Answers SQL questions from standard input with DuckDB, and reports the cost of each.

usage: duck_server.py THREADS

It must run in a Python that has the module `duckdb`. Each line is a JSON
object: `{"sql": …}` runs a statement and discards its rows, `{"rows": …}`
returns them. The answer is a JSON object: CPU and wall time in seconds, peak
memory in bytes, and the number of rows or the rows. So the start of Python and
of DuckDB is not measured.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from typing import Any

import duckdb


def answer(connection: duckdb.DuckDBPyConnection, asked: dict[str, str]) -> dict[str, Any]:
    """Runs one statement."""
    cpu, wall = time.process_time(), time.monotonic()
    rows = connection.execute(asked.get("sql") or asked["rows"]).fetchall()
    return {
        "cpu_s": time.process_time() - cpu,
        "wall_s": time.monotonic() - wall,
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "count": len(rows),
        "rows": rows if "rows" in asked else [],
    }


def main() -> None:
    """Answers questions until standard input ends."""
    connection = duckdb.connect()
    connection.execute(f"SET threads = {int(sys.argv[1])}")
    connection.execute("SET preserve_insertion_order = false")
    for line in sys.stdin:
        try:
            said = answer(connection, json.loads(line))
        except duckdb.Error as error:
            said = {"error": str(error).splitlines()[0]}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
