"""Provides file systems in a file, and `trawl watch` on them, for the bench of freshness.

Everything is cleaned up when a `with` block ends, in whatever way.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

READY_S = 1800.0
BOTH = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


@dataclass(frozen=True)
class Spent:
    """The cost of a task."""

    cpu_s: float
    wall_s: float


def cpu_of(pid: int) -> float:
    """Returns CPU seconds of a process with all threads that it had (clock_getcpuclockid(3))."""
    return time.clock_gettime((~pid << 3) | 2)


def spend(task: Callable[[], None]) -> Spent:
    """Runs a task in a process of its own; its children count, too."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            clock = time.monotonic()
            task()
            wall = time.monotonic() - clock
            cpu = sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, BOTH))
            os.write(write_end, f"{cpu} {wall}".encode())
            code = 0
        finally:
            os._exit(code)
    os.close(write_end)
    with os.fdopen(read_end) as said:
        words = said.read().split()
    _, status = os.waitpid(child, 0)
    if status != 0 or len(words) != 2:
        sys.exit("a task of the bench failed")
    return Spent(float(words[0]), float(words[1]))


@contextlib.contextmanager
def mounted(kind: str, image: Path, size_bytes: int = 8 << 30) -> Iterator[Path]:
    """Mounts the file system in a file, which is made if needed, until the end."""
    if not image.exists():
        with image.open("wb") as file:
            file.truncate(size_bytes)
        options = {"ext4": ["-F", "-E", "lazy_itable_init=1,lazy_journal_init=1"]}.get(kind, [])
        subprocess.run([f"mkfs.{kind}", "-q", *options, str(image)], check=True)
    place = Path(tempfile.mkdtemp(prefix="trawl-fresh-", dir="/var/tmp"))
    os.chmod(place, 0o755)
    subprocess.run(["mount", "-o", "loop", str(image), str(place)], check=True)
    try:
        yield place
    finally:
        # Another process may be using it at this moment.
        for _ in range(50):
            if subprocess.run(["umount", str(place)], check=False, stderr=subprocess.DEVNULL).returncode == 0:
                break
            time.sleep(0.1)
        else:
            subprocess.run(["umount", "-l", str(place)], check=False)
        place.rmdir()


class Daemon:
    """A daemon that watches a tree."""

    def __init__(self, process: subprocess.Popen[bytes], index: Path) -> None:
        self.process = process
        self.pid = process.pid
        self.index = index
        [self.socket] = [str(found) for found in sockets(index)]

    def cpu_s(self) -> float:
        """Returns its CPU seconds so far."""
        return cpu_of(self.pid)

    def ask(self, request: str) -> list[str]:
        """Returns the lines of a reply."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
            caller.connect(self.socket)
            caller.sendall(request.encode() + b"\n")
            reply = b""
            while piece := caller.recv(1 << 16):
                reply += piece
        return reply.decode().splitlines()

    def now_s(self) -> float:
        """Waits until everything is in the index and returns the duration."""
        begun = time.monotonic()
        while (reply := self.ask("trawl 1 now 3600000 0"))[:1] != ["trawl 1 fresh"]:
            # While it catches up, nobody is kept waiting.
            if self.status().get("state") != "catching-up":
                sys.exit(f"the daemon did not keep up: {reply}")
        return time.monotonic() - begun

    def status(self) -> dict[str, str]:
        """Returns its status."""
        return dict(line.split(" ", 1) for line in self.ask("trawl 1 status")[1:])

    def rss_bytes(self) -> int:
        """Returns its anonymous memory, without that of files, which the kernel can reclaim."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) << 10
        return 0


def sockets(index: Path) -> list[Path]:
    """Returns where daemons of an index listen."""
    return sorted((index / "sources").glob("**/live/socket"))


@contextlib.contextmanager
def watching(trawl: str, index: Path, tree: Path, *options: str) -> Iterator[Daemon]:
    """Runs `trawl watch` on a tree, from when the index is complete; stops it at the end."""
    process = subprocess.Popen(
        [trawl, "-i", str(index), "watch", "--quiet", *options, str(tree)], stdin=subprocess.DEVNULL
    )
    try:
        until = time.monotonic() + READY_S
        while not answers(index):
            if process.poll() is not None or time.monotonic() > until:
                sys.exit(f"trawl watch {tree} did not begin")
            time.sleep(0.01)
        daemon = Daemon(process, index)
        daemon.now_s()
        yield daemon
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def answers(index: Path) -> bool:
    """Returns whether a daemon of the index answers."""
    for path in sockets(index):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
            try:
                caller.connect(str(path))
            except OSError:
                continue
            return True
    return False
