"""DuckDB as a peer: a process of its own that is asked over a pipe."""

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
    """One DuckDB with so many threads."""

    def __init__(self, python: str, threads: int) -> None:
        self.child = subprocess.Popen([python, str(SERVER), str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Duck:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.child.stdin:
            self.child.stdin.close()
        self.child.wait()

    def say(self, asked: dict[str, str]) -> dict[str, Any]:
        """The server's answer."""
        assert self.child.stdin and self.child.stdout
        self.child.stdin.write(json.dumps(asked) + "\n")
        self.child.stdin.flush()
        line = self.child.stdout.readline()
        said: dict[str, Any] = json.loads(line) if line else {"error": "DuckDB ended"}
        if "error" in said:
            raise DuckError(said["error"])
        return said

    def cost(self, sql: str) -> Cost:
        """What a statement took."""
        said = self.say({"sql": sql})
        return Cost(said["wall_s"], said["cpu_s"], said["peak_rss_bytes"], 0, said["count"])

    def rows(self, sql: str) -> list[list[Any]]:
        """What a statement yields."""
        return list(self.say({"rows": sql})["rows"])


def why_no_duckdb(python: str) -> str:
    """Why DuckDB cannot be asked; nothing if it can."""
    found = Path(python).exists() and subprocess.run([python, "-c", "import duckdb"], capture_output=True, check=False).returncode == 0
    return "" if found else f"skipped, because {python} has no module duckdb"


def version(python: str) -> str:
    """DuckDB's version; nothing if it is not there."""
    if why_no_duckdb(python):
        return ""
    said = subprocess.run([python, "-c", "import duckdb; print(duckdb.__version__)"], capture_output=True, text=True, check=False)
    return said.stdout.strip()
