#!/usr/bin/env python3
"""What recording latency profiles costs: `grep -r` and Postmark, plain and recorded.

usage: profiles.py TRAWL WORK TREE [--runs N] [--files N] [--transactions N]

TRAWL is the release binary with its libraries beside it, WORK a directory on the file system to be measured and TREE
the tree to search. Postmark runs with the configuration of the paper on FSprof (Figure 6.1: 20,000 files of 512 to
10,240 bytes, 200,000 transactions in 600 directories). Prints medians of paired runs; a ratio is the recorded command
divided by the plain one, so 1.01 means one percent. Times are those of the command itself (getrusage(2)), without
starting and ending the recording; system time includes what the kernel does for the layer during the command's calls.
strace is the peer.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

# Runs a command without output, and writes its times in seconds: elapsed, user, system.
INNER = """
import json, resource, subprocess, sys, time
started = time.monotonic()
code = subprocess.run(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
wall = time.monotonic() - started
used = resource.getrusage(resource.RUSAGE_CHILDREN)
json.dump([wall, used.ru_utime, used.ru_stime], open(sys.argv[1], "w"))
sys.exit(code)
"""

Times = tuple[float, float, float]


def postmark(work: Path, files: int, transactions: int) -> list[str]:
    """Writes the configuration of Figure 6.1, and returns the command."""
    place = work / "postmark"
    place.mkdir()
    settings = [
        "size 512 10240", f"number {files}", "seed 42", f"transactions {transactions}", f"location {place}",
        "subdirectories 600", "read 4096", "write 4096", "buffering false", "bias read 5", "bias create 5",
    ]
    file = work / "postmark.conf"
    file.write_text("".join(f"set {line}\n" for line in settings) + "run\nquit\n")
    return ["postmark", str(file)]


def timed(recorder: list[str], command: list[str], work: Path) -> Times:
    """Runs a command under a recorder, and returns the command's own times."""
    out = work / "times.json"
    argv = [*recorder, sys.executable, "-c", INNER, str(out), *command]
    ran = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if ran.returncode not in (0, 1):
        raise RuntimeError(ran.stderr.strip() or f"exit code {ran.returncode}")
    wall, user, system = json.loads(out.read_text())
    return wall, user, system


def compare(label: str, recorder: list[str], command: list[str], work: Path, runs: int) -> None:
    """Runs a command plain and recorded in turn, and prints medians and ratios."""
    pairs: list[tuple[Times, Times]] = []
    try:
        for number in range(runs + 1):
            arms: list[Callable[[], Times]] = [lambda: timed([], command, work), lambda: timed(recorder, command, work)]
            first, second = arms if number % 2 == 0 else reversed(arms)
            one, two = first(), second()
            pairs.append((one, two) if number % 2 == 0 else (two, one))
    except (RuntimeError, FileNotFoundError) as error:
        print(f"{label:34} skipped, because {error}", flush=True)
        return
    cells = []
    # The first pair warms the caches.
    for name, at in (("elapsed", 0), ("system", 2), ("user", 1)):
        plain = statistics.median(pair[0][at] for pair in pairs[1:])
        ratio = statistics.median(pair[1][at] / max(pair[0][at], 1e-3) for pair in pairs[1:])
        # Less than the clock of the kernel's accounting can tell.
        cells.append(f"{name} {plain * 1000:7.0f} ms x {ratio:.3f}" if plain >= 0.02 else f"{name} {plain * 1000:7.0f} ms        ")
    print(f"{label:34} {'   '.join(cells)}", flush=True)


def main() -> None:
    """Measures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trawl", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--transactions", type=int, default=200_000)
    args = parser.parse_args()
    trawl = str(args.trawl.resolve())
    args.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=args.work) as name:
        work = Path(name)
        recording = str(work / "recording")
        commands = {"grep -r": ["grep", "-rc", "no such text", str(args.tree)]}
        if shutil.which("postmark"):
            commands["Postmark"] = postmark(work, args.files, args.transactions)
        else:
            print("Postmark                           skipped, because postmark is not installed", flush=True)
        record = [trawl, "profile", "record", "-q", "-o", recording]
        for what, command in commands.items():
            for layer in ("system-calls", "user"):
                compare(f"{what}, layer {layer}", [*record, "--layer", layer, "--"], command, work, args.runs)
            over = [*record, "--mount", str(args.tree if what == "grep -r" else work / "postmark"), "--"]
            compare(f"{what}, layer stackable", over, command, work, max(1, args.runs // 3))
            compare(f"{what}, strace -f -c", ["strace", "-f", "-c", "-o", "/dev/null"], command, work, max(1, args.runs // 3))


if __name__ == "__main__":
    main()
