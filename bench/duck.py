"""DuckDB as a peer: a separate process that is asked over a pipe."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

from measure import Cost

SERVER = Path(__file__).with_name("duck_server.py")


class DuckError(Exception):
    """DuckDB did not answer."""


class Duck:
    """A DuckDB process with a given number of threads."""

    def __init__(self, python: str, threads: int) -> None:
        self.child = subprocess.Popen([python, str(SERVER), str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Duck:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.child.stdin:
            self.child.stdin.close()
        self.child.wait()

    def say(self, asked: dict[str, str]) -> dict[str, Any]:
        """Sends a request and returns the server's answer."""
        assert self.child.stdin and self.child.stdout
        self.child.stdin.write(json.dumps(asked) + "\n")
        self.child.stdin.flush()
        line = self.child.stdout.readline()
        said: dict[str, Any] = json.loads(line) if line else {"error": "DuckDB ended"}
        if "error" in said:
            raise DuckError(said["error"])
        return said

    def cost(self, sql: str) -> Cost:
        """Returns the cost of a statement."""
        said = self.say({"sql": sql})
        return Cost(said["wall_s"], said["cpu_s"], said["peak_rss_bytes"], 0, said["count"])

    def rows(self, sql: str) -> list[list[Any]]:
        """Returns the rows of a statement."""
        return list(self.say({"rows": sql})["rows"])


def why_no_duckdb(python: str) -> str:
    """Returns why DuckDB is not available; empty if it is."""
    found = Path(python).exists() and subprocess.run([python, "-c", "import duckdb"], capture_output=True, check=False).returncode == 0
    return "" if found else f"skipped, because {python} has no module duckdb"


def version(python: str) -> str:
    """Returns DuckDB's version; empty if it is not available."""
    if why_no_duckdb(python):
        return ""
    said = subprocess.run([python, "-c", "import duckdb; print(duckdb.__version__)"], capture_output=True, text=True, check=False)
    return said.stdout.strip()
