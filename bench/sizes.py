"""Bytes per entry, by table and column, of an index of generated rows."""

from __future__ import annotations

import os
from pathlib import Path

from duck import Duck, why_no_duckdb
from generated import Made, short
from report import Table

MOST_BYTES_EACH = 45
# Smaller columns get no row.
LEAST_BYTES_EACH = 0.05


def sizes(table: Table, python: str, made: Made) -> None:
    """Adds a row for the whole, for each kind of file, and for each column of the entries."""
    kinds: dict[str, int] = {}
    for directory, _, files in os.walk(made.path):
        for name in files:
            kind = ".".join(name.split(".")[1:]) if name.endswith((".parquet", ".names")) else "manifests and the like"
            kinds[kind] = kinds.get(kind, 0) + Path(directory, name).stat().st_size
    whole = sum(kinds.values()) / made.rows
    label = f"{short(made.rows)}: bytes per entry"
    table.fact(label, "GUFI; plocate (names only)", "3,277–6,739; 12–20", f"{whole:.2f}", f"<= {MOST_BYTES_EACH}", whole <= MOST_BYTES_EACH)
    for kind, size in sorted(kinds.items(), key=lambda item: -item[1]):
        if size / made.rows >= LEAST_BYTES_EACH:
            table.fact(f"{label}: {kind}", "", "", f"{size / made.rows:.2f}")
    why_not = why_no_duckdb(python)
    if why_not:
        return table.fact(f"{label}, by column", "", "", why_not)
    with Duck(python, 1) as duck:
        by_column = duck.rows("SELECT path_in_schema, sum(total_compressed_size)::BIGINT FROM "
                              f"parquet_metadata('{made.path}/**/*.entries.parquet') GROUP BY 1 ORDER BY 2 DESC")
    for column, size in by_column:
        if size / made.rows >= LEAST_BYTES_EACH:
            table.fact(f"{label}: entries, column {column}", "", "", f"{size / made.rows:.2f}")
