"""Runs statements in DuckDB with its extension httpfs, and prints a line of JSON for each: rows, or the error."""

import json
import sys
from pathlib import Path

import duckdb
import duckdb_extension_httpfs

# Nothing is fetched: the extension is in the package.
connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
(extension,) = Path(duckdb_extension_httpfs.__path__[0]).rglob("httpfs.duckdb_extension")
connection.load_extension(str(extension))
for statement in json.loads(sys.argv[1]):
    try:
        rows = connection.execute(statement).fetchall()
        print(json.dumps({"rows": rows}, default=int))
    except duckdb.Error as error:
        print(json.dumps({"error": str(error)}))
