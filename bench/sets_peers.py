#!/usr/bin/env python3
"""Dynamic sets beside what people use today: a loop, xargs, GNU parallel, ripgrep, GNU grep and fsspec.

usage: sets_peers.py TRAWL MEASURE WORK [--runs N] [--only PART,…]

TRAWL is the program; MEASURE the example `measure_sets` of `crates/ask/sets`; WORK a directory on a disk, where files
are made. Prints a table: medians of paired runs, in which all commands take turns, and ratios of the rounds, ours by
the peer's. The commands of a row must print the same amount, or the row says that they do not. Peers that are not
installed are left out and named.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from measure import evict

HERE = Path(__file__).resolve().parent
LINE = b"the quick brown fox jumps over the lazy dog\n"
FSSPEC = """
import sys, fsspec
pages = fsspec.filesystem("http").cat(sys.argv[1:])
print(sum(page.count(b"fox") for page in pages.values()))
"""


@dataclass
class Row:
    """One kind of work, done by several commands."""

    title: str
    rounds: dict[str, list[float]] = field(default_factory=dict)
    outputs: dict[str, bytes] = field(default_factory=dict)

    def ratio(self, ours: str, peer: str) -> float:
        """Returns the median of the rounds' ratios."""
        return statistics.median(a / b for a, b in zip(self.rounds[ours], self.rounds[peer], strict=True))

    def show(self, ours: list[str]) -> None:
        """Prints the medians, and the ratios of our commands to each peer's."""
        print(f"\n{self.title}")
        for name, times in self.rounds.items():
            ratios = [f"{own} {self.ratio(own, name):.2f} ×" for own in ours if own in self.rounds and own != name]
            print(f"  {name:<34} {statistics.median(times) * 1000:9.1f} ms   {'  '.join(ratios)}")
        if len({sorted_lines(output) for output in self.outputs.values()}) > 1:
            print("  the outputs differ: " + ", ".join(f"{name}: {len(out)} bytes" for name, out in self.outputs.items()))


def sorted_lines(text: bytes) -> bytes:
    """Returns the text with its lines in order."""
    return b"\n".join(sorted(text.split(b"\n")))


class Bench:
    """The inputs and settings."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.trawl, self.measure = str(args.trawl.resolve()), str(args.measure.resolve())
        self.work: Path = args.work.resolve()
        self.runs: int = args.runs
        self.absent: set[str] = set()

    def has(self, program: str) -> bool:
        """Returns whether a peer is installed, and notes it if not."""
        if shutil.which(program) is None:
            self.absent.add(program)
            return False
        return True

    def freeze(self, files: Path) -> None:
        """Drops files from the kernel's caches; as root, names and attributes, too. Programs are kept."""
        evict(files)
        if os.geteuid() != 0:
            return
        Path("/proc/sys/vm/drop_caches").write_text("2\n")
        for program in [self.trawl, self.measure, "sh", "cat", "xargs", "grep", "rg", "parallel", "wc"]:
            if shutil.which(program):
                subprocess.run([program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, check=False)

    def compare(
        self, title: str, commands: dict[str, list[str]], *, cold: Path | None = None, stdin: bytes = b"", is_same: bool = True
    ) -> Row:
        """Runs all commands in turn, and keeps the time of each."""
        row = Row(title)
        for _ in range(self.runs):
            for name, command in commands.items():
                if cold:
                    self.freeze(cold)
                begun = time.monotonic()
                ran = subprocess.run(command, input=stdin, capture_output=True, check=False, cwd=self.work)
                row.rounds.setdefault(name, []).append(time.monotonic() - begun)
                if ran.returncode not in (0, 1):
                    print(f"  {name} ended with {ran.returncode}: {ran.stderr[-300:].decode(errors='replace')}", file=sys.stderr)
                if is_same:
                    row.outputs[name] = ran.stdout
        return row

    def figures(self, mode: str, names: bytes, cold: Path | None = None, repeats: int = 1) -> dict[str, float]:
        """Returns what reading these files cost in this mode, so many times."""
        command = [self.measure, mode, str(repeats)]
        if cold:
            self.freeze(cold)
        return json.loads(subprocess.run(command, input=names, capture_output=True, check=True).stdout)

    def files(self, name: str, count: int, size_bytes: int) -> Path:
        """Returns a directory with so many files of this size, written once."""
        folder = self.work / name
        if not folder.is_dir():
            text = (LINE * (size_bytes // len(LINE) + 1))[:size_bytes]
            for number in range(count):
                path = folder / f"{number // 100:03}" / f"{number:06}.txt"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(text)
            os.sync()
        return folder

    def cold_files(self) -> None:
        """3,000 small cold files on a local disk."""
        folder = self.files("small", 3000, 4096)
        names = b"".join(sorted(os.fsencode(path) + b"\n" for path in folder.rglob("*.txt")))
        listing = self.work / "small.list"
        listing.write_bytes(names)
        quoted = f"'{listing}'"
        commands = {
            "cat in a loop": ["sh", "-c", f"while read -r f; do cat \"$f\"; done < {quoted} | wc -c"],
            "xargs cat": ["sh", "-c", f"xargs cat < {quoted} | wc -c"],
            "xargs -P4 cat": ["sh", "-c", f"xargs -n 100 -P4 cat < {quoted} | wc -c"],
            "xargs -P16 cat": ["sh", "-c", f"xargs -n 100 -P16 cat < {quoted} | wc -c"],
            "trawl set -- cat {} +": ["sh", "-c", f"'{self.trawl}' set 'small/*/*.txt' -- cat '{{}}' + | wc -c"],
        }
        if self.has("parallel"):
            commands["parallel -j16 -X cat"] = ["sh", "-c", f"parallel -j16 -n 100 cat < {quoted} | wc -c"]
        self.compare("3,000 cold files of 4 KiB: all their bytes", commands, cold=folder).show(["trawl set -- cat {} +"])
        self.modes("3,000 cold files of 4 KiB, in process", names, folder)

    def each(self) -> None:
        """A command for each of 3,000 small files, from the index: one that reads, cold, and one that does not."""
        folder = self.files("small", 3000, 4096)
        index = ["--index", str(self.work / "small.index")]
        subprocess.run([self.trawl, "index", str(folder), *index], check=True, capture_output=True)
        for title, command, cold in (("cold: cat", "cat", folder), ("cached: true", "true", None)):
            words = [str(folder), "-type", "f", "-exec", command, "{}", ";"]
            commands = {"find": ["find", *words], "trawl find": [self.trawl, "find", *index, *words]}
            # Both take their own order.
            self.compare(f"find -exec … ; on 3,000 files of 4 KiB, {title}", commands, cold=cold, is_same=False).show(["trawl find"])

    def modes(self, title: str, names: bytes, cold: Path | None, repeats: int = 1) -> None:
        """Compares a loop with a set, in process."""
        row, first, cpu = Row(title), Row(""), Row("")
        for _ in range(self.runs):
            for mode in ("loop", "set", "ordered"):
                figures = self.figures(mode, names, cold, repeats)
                row.rounds.setdefault(mode, []).append(figures["wall_s"])
                first.rounds.setdefault(mode, []).append(figures["first_s"])
                cpu.rounds.setdefault(mode, []).append(figures["cpu_s"])
        row.show(["set", "ordered"])
        count = max(1, names.count(b"\n")) * repeats
        more = statistics.median(a - b for a, b in zip(cpu.rounds["set"], cpu.rounds["loop"], strict=True)) / count
        print(f"  first member: set {first.ratio('set', 'loop'):.2f} × loop; "
              f"processor time of a member: {more * 1e6:.1f} µs more than of the loop")

    def cached(self) -> None:
        """Cached files: many, and one."""
        folder = self.files("small", 3000, 4096)
        names = sorted(os.fsencode(path) + b"\n" for path in folder.rglob("*.txt"))
        for path in folder.rglob("*.txt"):
            path.read_bytes()
        self.modes("3,000 cached files of 4 KiB, in process", b"".join(names), None)
        self.modes("one cached file of 4 KiB, in process, 1,000 times", names[0], None, 1000)

    def saturated(self) -> None:
        """Large files: the disk is the limit."""
        folder = self.files("large", 16, 64 << 20)
        names = b"".join(sorted(os.fsencode(path) + b"\n" for path in folder.rglob("*.txt")))
        self.modes("16 cold files of 64 MiB, in process", names, folder)

    def http(self) -> None:
        """Pages of a server that takes 20 ms for each."""
        folder = self.files("small", 3000, 4096)
        paths = sorted(folder.rglob("*.txt"))[:400]
        with pages(folder, 0.020) as port:
            urls = [f"http://127.0.0.1:{port}/{path.relative_to(folder)}" for path in paths]
            text = "".join(url + "\n" for url in urls).encode()
            commands = {
                "curl in a loop": ["sh", "-c", "while read -r u; do curl -s \"$u\"; done | grep -o fox | wc -l"],
                "xargs -P16 curl": ["sh", "-c", "xargs -n 1 -P16 curl -s | grep -o fox | wc -l"],
                "trawl grep": ["sh", "-c", f"xargs '{self.trawl}' grep --no-filename -o fox | wc -l"],
            }
            if self.has("parallel"):
                commands["parallel -j16 curl"] = ["sh", "-c", "parallel -j16 curl -s | grep -o fox | wc -l"]
            if subprocess.run([sys.executable, "-c", "import fsspec, aiohttp"], capture_output=True, check=False).returncode == 0:
                commands["fsspec"] = [sys.executable, "-c", FSSPEC, *urls]
            else:
                self.absent.add("fsspec with aiohttp")
            self.compare("400 pages, 20 ms each", commands, stdin=text).show(["trawl grep"])

    def distant(self) -> None:
        """A mounted tree whose server is 5 ms away, there and back."""
        folder = self.files("tree", 1000, 4096)
        with mounted(self.trawl, folder, 2.5) as mount:
            commands = {
                "grep -rl": ["grep", "-rl", "fox", str(mount)],
                "trawl grep -l": [self.trawl, "grep", "-l", "fox", str(mount)],
            }
            if self.has("rg"):
                commands["rg -l"] = ["rg", "-uuu", "-l", "fox", str(mount)]
            rows = Row("a mounted tree of 1,000 files, 5 ms away")
            for _ in range(min(3, self.runs)):
                for name, command in commands.items():
                    with mounted(self.trawl, folder, 2.5) as mount:
                        here = [word.replace(str(command[-1]), str(mount)) for word in command]
                        begun = time.monotonic()
                        ran = subprocess.run(here, capture_output=True, check=False)
                        rows.rounds.setdefault(name, []).append(time.monotonic() - begun)
                        rows.outputs[name] = ran.stdout.replace(os.fsencode(mount), b"")
            rows.show(["trawl grep -l"])


@contextmanager
def pages(folder: Path, delay_s: float) -> Iterator[int]:
    """Serves files over HTTP; each answer takes this long."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 64 << 10
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            time.sleep(delay_s)
            body = (folder / self.path.lstrip("/")).read_bytes()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Type", "text/plain")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 128
        daemon_threads = True

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()


@contextmanager
def mounted(trawl: str, folder: Path, delay_ms: float) -> Iterator[Path]:
    """Mounts a directory through a server at a distance."""
    with tempfile.TemporaryDirectory() as place:
        server, front, point = (Path(place) / name for name in ("server", "front", "point"))
        point.mkdir()
        children = [
            subprocess.Popen([trawl, "serve", "--listen", f"unix:{server}"]),
            subprocess.Popen([sys.executable, str(HERE / "distance.py"), str(front), str(server), str(delay_ms), "0"]),
        ]
        try:
            for socket in (server, front):
                while not socket.exists():
                    time.sleep(0.01)
            subprocess.run([trawl, "mount", f"unix:{front}:{folder}", str(point)], check=True)
            yield point
        finally:
            subprocess.run([trawl, "unmount", str(point)], check=False)
            for child in reversed(children):
                child.terminate()
                child.wait()


def main() -> None:
    """Reads the command line and measures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("trawl", "measure", "work"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    bench = Bench(args)
    parts: dict[str, Callable[[], None]] = {
        "cold": bench.cold_files, "each": bench.each, "cached": bench.cached, "saturated": bench.saturated, "http": bench.http, "distant": bench.distant,
    }
    chosen = [part for part in args.only.split(",") if part] or list(parts)
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores, medians of {bench.runs} paired runs, wall time")
    for part in chosen:
        parts[part]()
    if bench.absent:
        print("\nnot installed: " + ", ".join(sorted(bench.absent)))


if __name__ == "__main__":
    main()
