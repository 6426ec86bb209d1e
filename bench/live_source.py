#!/usr/bin/env python3
"""The cost of noticing changes, for the writers and for the listener.

    live_source.py LISTEN TREE [RUNS] [KIND…]

LISTEN is trawl-changes's example of that name; TREE is a directory to unpack again and again. As root:
makes a file system of each KIND (ext4, xfs, tmpfs) in a file. Each task runs in turn with the
listener off and on. Prints the median of the ratios of the writers' CPU time (user and system) and of
their wall time, and the listener's own CPU time per event.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

LOOPS = 20_000


def churn(folder: Path) -> None:
    """Creates, writes and removes files, one after the other."""
    name = bytes(folder / "file")
    for _ in range(LOOPS):
        file = os.open(name, os.O_CREAT | os.O_WRONLY, 0o644)
        os.write(file, b"x" * 4096)
        os.close(file)
        os.unlink(name)


def empty(folder: Path) -> None:
    """Creates empty files and leaves them."""
    for number in range(LOOPS):
        os.close(os.open(folder / str(number), os.O_CREAT | os.O_WRONLY, 0o644))


def unpack(archive: Path) -> Callable[[Path], None]:
    def task(folder: Path) -> None:
        subprocess.run(["tar", "-C", folder, "-xf", archive], check=True)

    return task


def spent(task: Callable[[Path], None], folder: Path) -> tuple[float, float]:
    """Returns CPU and wall seconds of a task in a process of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        try:
            task(folder)
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    if status != 0:
        sys.exit("a task failed")
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, wall


def listened(listen: str, task: Callable[[Path], None], folder: Path) -> tuple[float, float, str]:
    """Like spent, with a listener beside it; also returns the listener's own report."""
    with subprocess.Popen(
        [listen, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin and process.stdout
        process.stdout.readline()
        cpu, wall = spent(task, folder)
        process.stdin.close()
        said = process.stdout.readline().strip()
    return cpu, wall, said


def measure(listen: str, name: str, task: Callable[[Path], None], root: Path, runs: int) -> str:
    ratios: list[tuple[float, float]] = []
    per_event: list[float] = []
    said = ""
    for number in range(runs + 1):
        folders = [root / f"{name}-{number}-{which}" for which in ("off", "on")]
        for folder in folders:
            folder.mkdir()
        off = spent(task, folders[0])
        *on, said = listened(listen, task, folders[1])
        subprocess.run(["rm", "-rf", *folders], check=True)
        if number == 0:
            continue  # warms up
        ratios.append((on[0] / off[0], on[1] / off[1]))
        words = said.split()
        per_event.append(int(words[5]) / max(int(words[1]), 1))
    cpu, wall = (statistics.median(column) for column in zip(*ratios, strict=True))
    each = statistics.median(per_event)
    return f"{name}: writers' CPU x{cpu:.2f}, wall x{wall:.2f}; listener {each:.2f} us an event ({said})"


def main() -> None:
    listen, tree, *rest = sys.argv[1:]
    runs = int(rest[0]) if rest else 5
    kinds = rest[1:] or ["ext4", "xfs", "tmpfs"]
    with tempfile.TemporaryDirectory() as scratch:
        archive = Path(scratch) / "tree.tar"
        subprocess.run(["tar", "-C", tree, "-cf", archive, "."], check=True)
        for kind in kinds:
            root = Path(scratch) / kind
            root.mkdir()
            if kind == "tmpfs":
                mount = ["mount", "-t", "tmpfs", "-o", "size=6g", "bench", root]
            else:
                image = Path(scratch) / f"{kind}.image"
                with image.open("wb") as file:
                    file.truncate(8 << 30)
                subprocess.run([f"mkfs.{kind}", "-q", image], check=True)
                mount = ["mount", "-o", "loop", image, root]
            subprocess.run(mount, check=True)
            try:
                tasks = {"untar": unpack(archive), "create+write+unlink": churn, "create": empty}
                for name, task in tasks.items():
                    print(f"{kind}, {measure(listen, name, task, root, runs)}", flush=True)
            finally:
                subprocess.run(["umount", root], check=True)


if __name__ == "__main__":
    main()
