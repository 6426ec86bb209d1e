"""A MariaDB server of the bench's own, and clients of it that execute one statement after the other.

The server has a data directory and a socket of its own and no network. It runs as the user of the bench, who alone may be
able to reach the directory. Everything ends and is removed when a `with` block ends, in whatever way.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = ("mariadbd", "mariadb", "mariadb-install-db")
START_S = 60.0
END = "-- end of the answer --"


def missing(*more: str) -> str:
    """Returns why the server cannot be started; empty if it can."""
    absent = [name for name in (*PROGRAMS, *more) if not shutil.which(name)]
    return f"skipped, because these are not installed: {', '.join(absent)}" if absent else ""


class Client:
    """A connection. Statements of a batch are executed one after the other, each with a round trip to the server."""

    def __init__(self, words: list[str]) -> None:
        self.process = subprocess.Popen([*words, "--unbuffered"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.run("SELECT 1;")

    def run(self, statements: str | bytes) -> list[bytes]:
        """Executes statements, each ended by a semicolon, and returns the lines of their results."""
        assert self.process.stdin and self.process.stdout
        given = statements.encode() if isinstance(statements, str) else statements
        self.process.stdin.write(given + f"\nSELECT '{END}';\n".encode())
        self.process.stdin.flush()
        lines: list[bytes] = []
        while line := self.process.stdout.readline():
            if line == f"{END}\n".encode():
                return lines
            lines.append(line.rstrip(b"\n"))
        raise RuntimeError("MariaDB's client ended early; its message is above")

    def close(self) -> None:
        """Ends the connection."""
        assert self.process.stdin
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()


@dataclass(frozen=True)
class Server:
    """A running server."""

    pid: int
    #: The client's command.
    words: list[str]

    @contextlib.contextmanager
    def client(self) -> Iterator[Client]:
        """Provides a connection."""
        client = Client(self.words)
        try:
            yield client
        finally:
            client.close()

    def load(self, client: Client, table: str, rows: Iterable[tuple[object, ...]], folder: Path) -> None:
        """Adds rows in one go, with LOAD DATA; bytes are taken as they are and must have no tabs and line ends."""
        with tempfile.NamedTemporaryFile(dir=folder, prefix="rows-") as file:
            for row in rows:
                cells = (cell if isinstance(cell, bytes) else str(cell).encode() for cell in row)
                file.write(b"\t".join(cells) + b"\n")
            file.flush()
            client.run(f"LOAD DATA LOCAL INFILE '{file.name}' INTO TABLE {table} CHARACTER SET binary FIELDS ESCAPED BY '';")


@contextlib.contextmanager
def serving(work: Path, *options: str) -> Iterator[Server]:
    """Runs a server with an empty database called bench."""
    with tempfile.TemporaryDirectory(prefix="mariadb-", dir=work) as data:
        # It runs as root only if it is told to.
        account = ["--user=root"] if os.geteuid() == 0 else []
        made = subprocess.run(
            ["mariadb-install-db", "--no-defaults", f"--datadir={data}/db", *account, "--auth-root-authentication-method=normal"],
            check=False, capture_output=True, text=True)
        if made.returncode:
            raise RuntimeError(f"mariadb-install-db failed: {made.stderr.strip() or made.stdout.strip()}")
        with Path(data, "log").open("wb") as log:
            process = subprocess.Popen(
                ["mariadbd", "--no-defaults", f"--datadir={data}/db", f"--socket={data}/socket", "--skip-networking", *account,
                 f"--pid-file={data}/pid", "--local-infile=1", *options], stderr=log, stdin=subprocess.DEVNULL)
        words = ["mariadb", "--no-defaults", f"--socket={data}/socket", "-u", "root", "--batch", "--skip-column-names", "--raw",
                 "--local-infile=1"]
        try:
            create(process, words, Path(data, "log"))
            yield Server(process.pid, [*words, "bench"])
        finally:
            process.terminate()
            process.wait()


def create(process: subprocess.Popen[bytes], words: list[str], log: Path) -> None:
    """Waits for the server, and makes the database."""
    until = time.monotonic() + START_S
    while subprocess.run([*words, "-e", "CREATE DATABASE bench"], capture_output=True, check=False).returncode != 0:
        if process.poll() is not None or time.monotonic() > until:
            raise RuntimeError(f"MariaDB did not start: {log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.1)
