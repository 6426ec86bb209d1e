#!/usr/bin/env python3
"""The experiment of the paper on dynamic sets: one client, several servers, members that are processed.

usage: sets_servers.py TRAWL EXPERIMENT [--how set|direct] [--out CSV] [--runs N] [--small]

TRAWL is the program, which serves; EXPERIMENT the example of that name in `crates/remote/fetch`. From a base point,
processing per byte, number and size of objects, distance, bandwidth and the number of servers are varied one at a time.
Each cell compares a plain loop with a set with one and with four requests in flight per server, and both with the
linear model, whose parameters are measured at single points: the time of a fetch by its distance, and what
processing one object costs. The distance is made by `distance.py`. Prints the table as CSV and a plot in characters.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
MIB = 1 << 20
WINDOWS = (1, 4)


@dataclass(frozen=True)
class Cell:
    """One point of the experiment."""

    servers: int = 4
    objects: int = 200
    size_bytes: int = 16 << 10
    ns_per_byte: int = 0
    delay_ms: float = 10.0
    mib_per_s: float = 100.0


VARIED: dict[str, tuple[float, ...]] = {
    "ns_per_byte": (0, 50, 200, 1000),
    "objects": (50, 200, 800),
    "size_bytes": (1 << 10, 16 << 10, 128 << 10, 512 << 10),
    "delay_ms": (1, 10, 40),
    "mib_per_s": (4, 100),
    "servers": (1, 2, 4, 8),
}


@dataclass(frozen=True)
class Model:
    """The linear model: a fetch takes `fixed_s` and a time for each byte, an object `each_s` of the client beside, and
    the connections to the servers, which are made at the same time, `start_s`.
    """

    start_s: float
    fixed_s: float
    byte_s: float
    each_s: float

    def fetch_s(self, cell: Cell, window: int) -> float:
        """Returns how long one fetch takes with this many at a server: its fixed part overlaps, its bytes do not."""
        line = cell.size_bytes * self.byte_s
        return max(self.fixed_s + line, window * line)

    def process_s(self, cell: Cell) -> float:
        """Returns the time of the client for an object."""
        return self.each_s + cell.size_bytes * cell.ns_per_byte * 1e-9

    def loop_s(self, cell: Cell) -> float:
        """Returns the time of the plain loop."""
        return cell.servers * self.start_s + cell.objects * (self.fetch_s(cell, 1) + self.process_s(cell))

    def set_s(self, cell: Cell, window: int) -> float:
        """Returns the time of a set: whichever takes longer, the fetches at the servers, or processing at the client."""
        fetch, process = self.fetch_s(cell, window), self.process_s(cell)
        rounds = math.ceil(cell.objects / (cell.servers * window))
        return self.start_s + max(rounds * fetch + process, self.fetch_s(cell, 1) + cell.objects * process)


class Site:
    """Servers at a distance, and the files that they serve."""

    def __init__(self, trawl: str, work: Path) -> None:
        self.trawl, self.work = trawl, work

    def files(self, size_bytes: int, count: int) -> list[Path]:
        """Returns files of this size, written once."""
        folder = self.work / str(size_bytes)
        folder.mkdir(exist_ok=True)
        paths = [folder / f"{number:06}" for number in range(count)]
        for path in paths:
            if not path.exists():
                path.write_bytes(b"the quick brown fox\n" * (size_bytes // 20 + 1))
                with path.open("r+b") as file:
                    file.truncate(size_bytes)
        return paths

    @contextmanager
    def names(self, cell: Cell) -> Iterator[list[str]]:
        """Starts the cell's servers, and yields the names of its objects, each at one of the servers."""
        children: list[subprocess.Popen[bytes]] = []
        with tempfile.TemporaryDirectory(dir=self.work) as folder:
            try:
                fronts = []
                for number in range(cell.servers):
                    server, front = Path(folder) / f"server{number}", Path(folder) / f"front{number}"
                    children.append(subprocess.Popen([self.trawl, "serve", "--listen", f"unix:{server}"]))
                    wait_for(server)
                    children.append(subprocess.Popen([
                        sys.executable, str(HERE / "distance.py"), str(front), str(server),
                        str(cell.delay_ms), str(cell.mib_per_s),
                    ]))
                    wait_for(front)
                    fronts.append(front)
                files = self.files(cell.size_bytes, cell.objects)
                yield [f"unix://{fronts[at % cell.servers]}:{file}" for at, file in enumerate(files)]
            finally:
                for child in reversed(children):
                    child.terminate()
                    child.wait()


def wait_for(socket: Path) -> None:
    """Waits until a socket is there."""
    until = time.monotonic() + 30
    while not socket.is_socket():
        if time.monotonic() > until:
            raise TimeoutError(f"{socket} does not appear")
        time.sleep(0.01)


class Client:
    """Runs the example."""

    def __init__(self, program: str, how: str, runs: int) -> None:
        self.program, self.how, self.runs = program, how, runs

    def wall_s(self, names: list[str], ns_per_byte: int, window: int | None) -> float:
        """Returns the median time of a plain loop, or of a set with this many requests in flight at each server."""
        how = "loop" if window is None else self.how
        command = [self.program, how, str(window or 1), str(ns_per_byte), *names]
        walls = []
        for _ in range(self.runs):
            said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            if said["members"] != len(names):
                raise RuntimeError(f"{said['problems']} of {len(names)} members could not be read")
            walls.append(said["wall_s"])
        return statistics.median(walls)


def fitted(site: Site, client: Client, cell: Cell) -> Model:
    """Measures the model's parameters for the cell's distance and bandwidth, at single points far from most cells."""
    small, large = replace(cell, servers=1, objects=48, size_bytes=1, ns_per_byte=0), 256 << 10
    with site.names(small) as names:
        whole = client.wall_s(names, 0, None)
        half = client.wall_s(names[: len(names) // 2], 0, None)
        # One object shows the start, which the difference of two long loops would bury in their noise.
        one = client.wall_s(names[:1], 0, None)
    fixed = (whole - half) / (len(names) - len(names) // 2)
    start = max(one - fixed, 0.0)
    with site.names(replace(small, size_bytes=large)) as names:
        slope = (client.wall_s(names, 0, None) - start) / len(names) - fixed
    near = replace(small, delay_ms=0.0, mib_per_s=0.0)
    with site.names(near) as names:
        # What a sleep takes beyond its time, and reading a member.
        busy = client.wall_s(names, 100_000, None) - client.wall_s(names, 0, None)
    return Model(start_s=start, fixed_s=fixed, byte_s=max(slope, 0.0) / large, each_s=max(busy / len(names) - 1e-4, 0.0))


def cells(is_small: bool) -> Iterator[tuple[str, Cell]]:
    """Yields what is varied, and each cell."""
    base = Cell(objects=40, delay_ms=5.0) if is_small else Cell()
    for what, values in VARIED.items():
        for value in values[:2] if is_small else values:
            kind = float if what in ("delay_ms", "mib_per_s") else int
            yield what, replace(base, **{what: kind(value)})


def plot(rows: list[dict[str, str]]) -> str:
    """Draws the gain over the plain loop in each cell."""
    lines = []
    for row in rows:
        gain = float(row["set4_gain"])
        lines.append(f"{row['varied']:>12} {row[row['varied']]:>8} {'#' * round(gain * 2)} {gain:.1f} x")
    return "\n".join(lines)


def row_of(client: Client, model: Model, what: str, cell: Cell, names: list[str]) -> dict[str, str]:
    """Measures a cell."""
    row = {"varied": what, **{field.name: str(getattr(cell, field.name)) for field in fields(cell)}}
    loop_s = client.wall_s(names, cell.ns_per_byte, None)
    row |= {"loop_s": f"{loop_s:.4f}", "loop_model_s": f"{model.loop_s(cell):.4f}"}
    row["loop_error"] = f"{model.loop_s(cell) / loop_s - 1:+.1%}"
    for window in WINDOWS:
        set_s, model_s = client.wall_s(names, cell.ns_per_byte, window), model.set_s(cell, window)
        row |= {f"set{window}_s": f"{set_s:.4f}", f"set{window}_model_s": f"{model_s:.4f}"}
        row |= {f"set{window}_error": f"{model_s / set_s - 1:+.1%}", f"set{window}_gain": f"{loop_s / set_s:.2f}"}
    return row


def main() -> int:
    """Measures all cells."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trawl")
    parser.add_argument("experiment")
    parser.add_argument("--how", choices=("set", "direct"), default="set")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--small", action="store_true", help="few and small cells, to see that everything works")
    args = parser.parse_args()
    client = Client(args.experiment, args.how, args.runs)
    models: dict[tuple[float, float], Model] = {}
    rows: list[dict[str, str]] = []
    with tempfile.TemporaryDirectory(prefix="trawl-sets-") as work:
        site = Site(args.trawl, Path(work))
        for what, cell in cells(args.small):
            way = (cell.delay_ms, cell.mib_per_s)
            if way not in models:
                models[way] = fitted(site, client, cell)
            with site.names(cell) as names:
                rows.append(row_of(client, models[way], what, cell, names))
            print("  " + " ".join(rows[-1].values()), file=sys.stderr, flush=True)
    target = args.out.open("w", newline="") if args.out else sys.stdout
    writer = csv.DictWriter(target, rows[0].keys())
    writer.writeheader()
    writer.writerows(rows)
    print(plot(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
