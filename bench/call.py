#!/usr/bin/env python3
"""The search call: what programs ask of a file system, with and without it.

Called by `bench/run.py` as its part `call`; the tables and figures of the paper *Search Should Be a System
Call* (2013) on this machine. Programs run natively, with the preloaded library, and over FUSE or in a sandbox
from a server that begins each answer 0, 1 and 5 ms later; the call itself runs beside them. Where an
environment is not there (`trawl run` cannot make it), one row says so and why. System calls are counted by
strace, threads and children included, those of `trawl run` itself not. What a program would take on a remote
file system that answers call by call is computed: its file calls times the delay, and called that.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from measure import Cost, paired, run, rounds, median_cost
from report import Table, figures

LEVELS = 11  # a complete binary tree of 2,047 directories
FLAT = 1024
FILES = 500
PLACES = 20  # directories of PATH and of the loader's path
DELAYS_MS = (0, 1, 5)
#: Puts a command into an environment.
Wrap = Callable[[list[str]], list[str]]
#: Calls that a remote file system would answer one by one.
REMOTE_CALLS = "%file,getdents64,fstat,fchdir"


@dataclass(frozen=True)
class Setting:
    """What everything is measured with."""

    table: Table
    trawl: str
    tree: Path
    index: str
    work: Path
    runs: int

    def search(self, *words: str) -> list[str]:
        """A search of the file system."""
        return [self.trawl, "search", "--served-by", "live", *words]


@dataclass(frozen=True)
class Program:
    """An unmodified program and the question that it asks."""

    name: str
    argv: list[str]
    #: Arguments of `trawl search`; nothing where it is many questions.
    question: list[str]


# Trees


def binary_tree(top: Path, levels: int) -> None:
    """A complete binary tree of directories."""
    top.mkdir(parents=True, exist_ok=True)
    if levels > 1:
        for name in ("a", "b"):
            binary_tree(top / name, levels - 1)


def make_trees(top: Path) -> None:
    """All that is looked at; made once."""
    if (top / "made").exists():
        return
    shutil.rmtree(top, ignore_errors=True)
    for levels in range(1, LEVELS + 1, 2):
        binary_tree(top / f"binary-{levels}", levels)
    for number in range(FLAT):
        (top / "flat" / f"d{number:04}").mkdir(parents=True)
    (top / "files").mkdir()
    for number in range(FILES):
        (top / "files" / f"file-{number:03}").write_bytes(b"x" * number)
    for number in range(PLACES):
        for kind in ("bin", "lib"):
            (top / kind / f"{number:02}").mkdir(parents=True)
    (top / "include").mkdir()
    for number in range(0, 60, 2):
        (top / "include" / f"header{number}.h").touch()
    project(top)
    (top / "made").touch()


def project(top: Path) -> None:
    """A program that the last directory of PATH has, with a library that the last of the loader's has; a
    configure script in the manner of autoconf's tests; a make file of 100 targets."""
    last = f"{PLACES - 1:02}"
    (top / "lib.c").write_text("int answer(void) { return 0; }\n")
    (top / "prog.c").write_text("int answer(void);\nint main(void) { return answer(); }\n")
    compile_with = shutil.which("cc") or shutil.which("gcc")
    if compile_with:
        library = top / "lib" / last / "libanswer.so"
        subprocess.run([compile_with, "-shared", "-fPIC", "-o", str(library), str(top / "lib.c")], check=True)
        program = [compile_with, "-o", str(top / "bin" / last / "prog"), str(top / "prog.c"), f"-L{library.parent}", "-lanswer"]
        subprocess.run(program, check=True)
    (top / "configure").write_text(
        "#!/bin/sh\n"
        "# What configure scripts do most: look for programs, headers and libraries.\n"
        'top=$1 found=0\nPATH=$2:$PATH\n'
        "for tool in prog cc c99 gcc-0 ar ranlib nm ld-0 strip objdump sed awk gawk-0 mawk-0 grep egrep-0 install mkdir; do\n"
        '    if command -v "$tool" >/dev/null; then found=$((found + 1)); fi\ndone\n'
        "number=0\nwhile [ $number -lt 60 ]; do\n"
        '    if [ -f "$top/include/header$number.h" ]; then found=$((found + 1)); fi\n'
        "    number=$((number + 1))\ndone\n"
        'for dir in "$top"/lib/*; do\n'
        '    if [ -r "$dir/libanswer.so" ]; then found=$((found + 1)); fi\ndone\n'
        "[ $found -gt 30 ]\n"
    )
    os.chmod(top / "configure", 0o755)
    source, built = top / "source", top / "built"
    source.mkdir()
    built.mkdir()
    for number in range(100):
        (source / f"part{number}.c").write_text("int x;\n")
    for number in range(100):
        (built / f"part{number}.o").touch()
    (built / "all").touch()
    objects = " ".join(f"part{number}.o" for number in range(100))
    (built / "Makefile").write_text(f"vpath %.c ../source\nall: {objects}\n\ttouch all\n%.o: %.c\n\ttouch $@\n")


def programs(top: Path) -> list[Program]:
    """The paper's programs, on trees that lie at this place."""
    binary, bins, libs = f"{top}/binary-{LEVELS}", places(top, "bin"), places(top, "lib")
    path, library_path = ":".join(bins), ":".join(libs)
    found = f"{bins[-1]}/prog"
    return [
        Program("bash glob */*/*/*", ["bash", "-c", f"cd {shlex.quote(binary)} && echo */*/*/*"],
                ["--period", "/*/*/*/*", binary]),
        Program(f"bash, {PLACES} directories of PATH", ["bash", "-c", f"PATH={path}; hash prog"], ["-f", "-x", "/prog", *bins]),
        Program(f"ls -l of {FILES} files", ["ls", "-l", f"{top}/files"], ["-m", "-P", "/*", f"{top}/files"]),
        Program("ls -lR of 2,047 directories", ["ls", "-lR", binary], ["-m", "-P", "*|/", binary]),
        Program("find of 2,047 directories", ["find", binary], ["-r", "*|/", binary]),
        Program(f"find of {FLAT:,} directories, flat", ["find", f"{top}/flat"], ["-r", "*|/", f"{top}/flat"]),
        Program("execvp along PATH", ["env", f"PATH={path}", f"LD_LIBRARY_PATH={libs[-1]}", "prog"], ["-f", "-x", "/prog", *bins]),
        Program(f"ld.so, {PLACES} directories", ["env", f"LD_LIBRARY_PATH={library_path}", found],
                ["-f", "--readable", "/libanswer.so", *libs]),
        Program("a configure script", ["sh", f"{top}/configure", str(top), path], []),
        Program("make of 100 targets, up to date", ["make", "-s", "-C", f"{top}/built"], []),
    ]


def places(top: Path, kind: str) -> list[str]:
    """The directories of a path."""
    return [f"{top}/{kind}/{number:02}" for number in range(PLACES)]


# Counting


def count_calls(argv: list[str], work: Path, only: str = "all", inside: Wrap = list) -> int | None:
    """How many system calls a command itself makes in an environment; nothing without strace, or if it fails."""
    said = work / "calls.txt"
    said.unlink(missing_ok=True)
    words = ["strace", "-f", "-qq", "-c", "-U", "calls,name", "-e", f"trace={only}", "-o", str(said), *argv]
    if shutil.which("strace") is None or run(inside(words)).exit_code != 0 or not said.exists():
        return None
    total = re.search(r"^\s*(\d+)\s+total$", said.read_text(), re.MULTILINE)
    return int(total[1]) if total else None


def shown(calls: int | None, cost: Cost | None = None) -> str:
    """Calls and times."""
    count = "calls not counted" if calls is None else f"{calls:,} calls"
    return count if cost is None else f"{count}, {figures(cost)}"


def quotient(one: float | None, other: float | None) -> str:
    """A ratio, where there are both."""
    return f"{one / other:.3f}" if one and other else "–"


# Environments


@dataclass(frozen=True)
class Environment:
    """Where unmodified programs run."""

    name: str
    options: list[str]
    #: Where it shows the trees.
    top: Path
    delay_ms: int | None = None

    def command(self, setting: Setting, argv: list[str]) -> list[str]:
        """The command in it."""
        return [setting.trawl, "run", *self.options, "--", *argv]

    def why_not(self, setting: Setting) -> str:
        """Why it is not there; nothing if it is."""
        words = self.command(setting, ["ls", "-d", str(self.top / "files")])
        try:
            tried = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        except subprocess.TimeoutExpired:
            return "it does not come to an end"
        said = " ".join(tried.stderr.split()) or f"exit code {tried.returncode}"
        return "" if tried.returncode == 0 else said[:100]


def environments(setting: Setting, top: Path) -> Iterator[Environment]:
    """All of the paper's, and ours."""
    mount = setting.work / "call-mount"
    mount.mkdir(parents=True, exist_ok=True)
    help_text = subprocess.run([setting.trawl, "run", "--help"], capture_output=True, text=True, check=False).stdout
    # Where the preloaded library is on top unless it is said.
    plain = ["--no-preload"] if "--no-preload" in help_text else []
    yield Environment("preloaded", [], top)
    for way, options in (("sandbox", ["--sandbox", *plain]), ("FUSE", plain), ("FUSE and preloaded", [])):
        if way == "FUSE and preloaded" and not plain:
            continue
        for delay in DELAYS_MS:
            remote = ["--remote", f"{server(setting, delay)}:{top}={mount}"]
            yield Environment(f"{way}, server {delay} ms away", [*options, *remote], mount, delay)


def server(setting: Setting, delay_ms: int) -> str:
    """The address of a server that is so far away."""
    return f"command:{setting.trawl} serve --stdio --delay {delay_ms}"


# What is measured


def itself(setting: Setting) -> None:
    """The call beside find over a large tree: walked, and from the index."""
    tree, table = str(setting.tree), setting.table
    live = ["search", "--served-by", "live"]
    index = ["-i", setting.index, "search", "--served-by", "index", "--no-wait"]
    if not Path(setting.index).exists():
        subprocess.run([setting.trawl, "-i", setting.index, "index", "--quiet", tree], check=True)
    every = "%i %s %m %T@ %p\\n"
    for what, words, find in [
        ("all", ["*"], ["find", tree]),
        ("*.c", ["*.c"], ["find", tree, "-name", "*.c"]),
        ("all, with metadata", ["-m", "-P", "*"], ["find", tree, "-printf", every]),
    ]:
        for who, options in (("walk", live), ("index", index)):
            table.pair(f"search {what}, {who}", "find", paired([setting.trawl, *options, *words, tree], find, setting.runs))
    ours = [setting.trawl, *index, "*", tree]
    table.pair("search all, index", "trawl find", paired(ours, [setting.trawl, "-i", setting.index, "find", tree], setting.runs))


def natively(setting: Setting, asked: list[Program]) -> None:
    """Programs beside the question that they ask, put as one call."""
    table = setting.table
    table.fact("start-up of trawl search, in all figures below", "", "", shown(count_calls(setting.search("/", "/"), setting.work)))
    for program in asked:
        if not program.question:
            continue
        ours = setting.search(*program.question)
        pair = paired(ours, program.argv, setting.runs)
        calls = count_calls(ours, setting.work), count_calls(program.argv, setting.work)
        table.add((f"{program.name}: as one call", "natively", shown(calls[1], pair.peer), shown(calls[0], pair.ours),
                   f"calls {quotient(*calls)}, CPU {pair.cpu_ratio:.3f}", ""))


def from_afar(setting: Setting, asked: list[Program]) -> None:
    """The same questions to a server that is far away, beside what it would take call by call."""
    for program in asked:
        if not program.question:
            continue
        calls = count_calls(program.argv, setting.work, REMOTE_CALLS)
        for delay in DELAYS_MS:
            ours = [setting.trawl, "search", "--remote", server(setting, delay), *program.question]
            cost = median_cost(rounds({"ours": ours}, setting.runs)["ours"])
            alone_s = calls * delay / 1e3 if calls else None
            peer = f"{calls or 0:,} × {delay} ms = {alone_s:.2f} s" if alone_s else ""
            target = "find of 2,047" in program.name and delay == 5
            setting.table.fact(f"{program.name}: as one call to a server {delay} ms away", "call by call, computed" if peer else "",
                               peer, figures(cost), "<= 120 ms wall" if target else "", cost.wall_s <= 0.12 if target else None)


def unmodified(setting: Setting, top: Path, environment: Environment) -> None:
    """The programs as they are, in an environment."""
    table = setting.table
    why = environment.why_not(setting)
    if why:
        table.fact(f"environment: {environment.name}", "", "", f"missing: {why}")
        return
    for here, there in zip(programs(top), programs(environment.top), strict=True):
        if environment.delay_ms and "configure" in here.name:
            continue
        ours = environment.command(setting, there.argv)
        pair = paired(ours, here.argv, max(3, setting.runs // 2))
        inside = partial(environment.command, setting)
        calls = count_calls(there.argv, setting.work, inside=inside), count_calls(here.argv, setting.work)
        failed = f" (failed with exit code {pair.ours.exit_code})" if pair.ours.exit_code else ""
        table.add((f"{here.name}: {environment.name}", "natively", shown(calls[1], pair.peer), shown(calls[0], pair.ours) + failed,
                   f"calls {quotient(*calls)}, wall {pair.wall_ratio:.3f}", ""))


def by_depth(setting: Setting, top: Path, there: list[Environment]) -> None:
    """How time goes with the depth of a complete binary tree: the call, call by call, and find as it is."""
    for levels in range(1, LEVELS + 1, 2):
        tree = f"{top}/binary-{levels}"
        calls = count_calls(["find", tree], setting.work, REMOTE_CALLS) or 0
        walls = []
        for delay in DELAYS_MS:
            ours = [setting.trawl, "search", "--remote", server(setting, delay), "*|/", tree]
            walls.append(f"{median_cost(rounds({'ours': ours}, setting.runs)['ours']).wall_s * 1e3:.1f}")
        for environment in there:
            argv = environment.command(setting, ["find", f"{environment.top}/binary-{levels}"])
            walls.append(f"{environment.name} {median_cost(rounds({'ours': argv}, 3)['ours']).wall_s * 1e3:.1f}")
        peer = ", ".join(f"{calls * delay}" for delay in DELAYS_MS)
        setting.table.fact(f"find by depth: {levels} levels, {2**levels - 1:,} directories, servers {', '.join(map(str, DELAYS_MS))} ms away",
                           "call by call, computed", f"{peer} ms", f"{', '.join(walls)} ms wall")


def call(setting: Setting) -> None:
    """All of it."""
    top = setting.work / "call-trees"
    make_trees(top)
    itself(setting)
    asked = programs(top)
    natively(setting, asked)
    from_afar(setting, asked)
    known = list(environments(setting, top))
    for environment in known:
        unmodified(setting, top, environment)
    there = [environment for environment in known if environment.delay_ms and not environment.why_not(setting)]
    by_depth(setting, top, there)
