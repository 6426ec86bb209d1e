#!/usr/bin/env python3
"""Runs commands one after the other, each in the environment in which this program itself was started.

`trawl run` answers the calls of everything that runs below it. A shell is started in it once, so that commands
from there have no start-up cost of their own. This program stands for the shell: it reads commands as JSON lists,
one per line, and reports the cost of each. `Session` uses it within `trawl run` and, for comparison, without.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from types import TracebackType

from measure import Cost, run


class Session:
    """Runs commands below another command."""

    def __init__(self, above: list[str]) -> None:
        """Starts below a command that runs the one at its end."""
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
    """Runs the commands on standard input."""
    for line in sys.stdin:
        print(json.dumps(asdict(run(json.loads(line)))), flush=True)


if __name__ == "__main__":
    serve()
