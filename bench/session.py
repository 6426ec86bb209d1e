#!/usr/bin/env python3
"""Runs commands one after the other, each with what this was itself started with.

`trawl run` answers all that is run below it, so a shell is started in it once and commands from there on cost
no start of their own. This stands for the shell: it reads commands as JSON lists, one a line, and says what
each took. Used by `Session`, from within `trawl run` and, to compare with, without.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from types import TracebackType

from measure import Cost, run


class Session:
    """Commands that are run below another one."""

    def __init__(self, above: list[str]) -> None:
        """Begins, below a command that runs the one at its end."""
        argv = [*above, sys.executable, __file__]
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, argv: list[str]) -> Cost:
        """Runs a command in it."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(argv) + "\n")
        self._process.stdin.flush()
        said = self._process.stdout.readline()
        if not said:
            raise RuntimeError(f"{argv[0]} could not be run: what runs commands has ended")
        return Cost(**json.loads(said))

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()


def serve() -> None:
    """Runs what comes on standard input."""
    for line in sys.stdin:
        print(json.dumps(asdict(run(json.loads(line)))), flush=True)


if __name__ == "__main__":
    serve()
