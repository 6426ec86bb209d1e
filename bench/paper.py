#!/usr/bin/env python3
"""The paper's own numbers beside ours: *Search Should Be a System Call* (TR-2013-03), Tables 1 to 3, Figures 3 and 4.

`bench/run.py` calls this as its part `paper`; or by itself: `paper.py TRAWL WORK [--tiny]`. Each cell is *paper /
ours / ratio* (ours divided by the paper's). The paper measured on two cores of 2006 with a kernel of 2012, and
changed the programs; here the programs are unmodified, and `trawl run` answers their calls. So a ratio shows how
far apart two machines and two methods are, not which is better: compare the columns with each other.

| column | the paper's environment | here |
|---|---|---|
| native | Native | the unmodified program, and below `trawl run` |
| sandbox | ptrace Sandbox | `trawl run --sandbox`, a server on this machine |
| FUSE | Remote | `trawl run --remote`, a server on this machine |
| remote | Remote 1ms, 5ms | the same, with each answer of the server delayed by 1 or 5 ms |

Without Trawl means, except natively, the same environment with a request for each lookup of a name. KVM is not
measured here. *Cold* is after the kernel's caches were dropped, which needs root; both are shown.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from call import Environment, Setting, environments, quotient
from call_trees import LEVELS, Program, make_trees, programs
from measure import Caches, chill, run, why_not_cold
from report import Table

#: Table 1, microseconds of stat and open.
TABLE_1 = {
    "Native": (6.8, 9.0), "KVM": (10.8, 14.9), "ptrace": (101.5, 152.0),
    "Remote": (221.0, 335.8), "Remote 1ms": (1365.3, 2671.5), "Remote 5ms": (5367.0, 10684.5),
}
TYPES = ("open", "stat", "execve", "getdents", "other")
SITES = ("bash glob", "bash PATH", "ls", "find", "execvp", "ld.so")
#: The paper's environment that corresponds to ours, by name and delay of the server in ms.
SAME = {("native", 0): "Native", ("sandbox", 0): "ptrace", ("FUSE", 0): "Remote", ("FUSE", 1): "Remote 1ms", ("FUSE", 5): "Remote 5ms"}


@dataclass(frozen=True)
class Row:
    """A program of the paper: Tables 2 and 3."""

    #: The name here; empty if it is not run here.
    ours: str
    #: Calls by type with search and without, in the order of TYPES; the paper lists the total separately.
    with_search: tuple[int, ...]
    without: tuple[int, ...]
    total: tuple[int, int]
    #: Searches by site. The text's columns are shifted against their headings: numbers are placed according to the
    #: paper's description of the program; those of make (3, 110, 152, 1603) are ambiguous and left out.
    sites: dict[str, int]
    #: Milliseconds with and without, by environment.
    wall_ms: dict[str, tuple[int, int]]


def _walls(*pairs: tuple[int, int]) -> dict[str, tuple[int, int]]:
    return dict(zip(TABLE_1, pairs, strict=True))


TABLE_2_AND_3 = {
    "find -name xyz": Row(
        "find -name in 2,047 directories", (18, 11, 2, 0, 98), (6202, 4130, 2, 4094, 12361), (129, 26789), {"find": 1, "ld.so": 4},
        _walls((2951, 4054), (6002, 11024), (1176, 8519), (7479, 20662), (7695, 54712), (8357, 172022))),
    "ls -lR": Row(
        "ls -lR of 2,047 directories", (19, 15, 2, 0, 2195), (2156, 6192, 2, 4094, 12413), (2231, 24857), {"ls": 1, "ld.so": 8},
        _walls((3085, 4407), (9400, 11024), (2291, 7528), (6882, 15293), (7304, 32591), (8327, 91778))),
    "exec": Row(
        "execvp along PATH", (15, 9, 4, 0, 74), (69, 63, 20, 0, 67), (102, 219), {"execvp": 1, "ld.so": 2},
        _walls((20, 27), (106, 140), (491, 635), (5707, 5769), (5892, 6068), (6692, 7294))),
    "ls -l": Row(
        "ls -l of 500 files", (20, 516, 2, 0, 663), (110, 1051, 2, 2, 644), (1201, 1809), {"ls": 1, "ld.so": 8},
        _walls((89, 116), (946, 1091), (1095, 1149), (6880, 7043), (8963, 9804), (16408, 19372))),
    "configure": Row(
        "configure, made by autoconf", (38415, 90345, 5077, 52, 496605), (132011, 177403, 11411, 494, 485840), (630494, 807159),
        {"execvp": 183, "ld.so": 5197, "bash glob": 221, "bash PATH": 318},
        _walls((15043, 15109), (25894, 26457), (118442, 147166), (167109, 205644), (338480, 511484), (804196, 1357043))),
    "bash -c 'ls *'": Row(
        "bash glob */*/*/*", (36, 1040, 4, 2, 300), (172, 1128, 4, 2, 270), (1382, 1576), {"bash glob": 1, "ld.so": 11},
        _walls((269, 329), (599, 619), (1197, 1303), (7433, 7040), (6514, 6589), (6964, 7487))),
    "firefox": Row(
        "", (105, 112, 2, 0, 4545), (646, 145, 2, 0, 4509), (4764, 5302), {"ld.so": 63},
        _walls((759, 1040), (1418, 1932), (65426, 66959), (13915, 13707), (14400, 14240), (88024, 97246))),
    "make": Row(
        "make of 11 C files", (288628, 142257, 1138, 30, 553631), (313852, 164357, 4691, 36, 550141), (985684, 1033077),
        {},
        _walls((72957, 73413), (91124, 91625), (252230, 269812), (389438, 405377), (829179, 976440), (2340774, 2866695))),
}


def cell(paper: float | None, ours: float | None, form: str = ",.0f") -> str:
    """Formats the paper's figure, ours, and the ratio."""
    def text(value: float | None) -> str:
        return "–" if value is None else format(value, form)
    return f"{text(paper)} / {text(ours)} / {quotient(ours, paper)}"


# Calls by type and site


def type_of(call: str) -> str:
    """Returns the column of Table 2."""
    if call in ("open", "openat", "openat2"):
        return "open"
    if call in ("stat", "lstat", "fstat", "newfstatat", "statx"):
        return "stat"
    if call in ("execve", "execveat"):
        return "execve"
    return "getdents" if call.startswith("getdents") else "other"


def site_of(program: str, call: str, line: str) -> str:
    """Returns the site in the program that made a call with names; empty if it is not one of the paper's sites."""
    kind = type_of(call)
    if re.search(r'"[^"]*\.so[.0-9]*"', line):
        return "ld.so"
    if kind == "execve":
        return "execvp" if "ENOENT" in line else ""
    if program in ("bash", "sh", "dash"):
        if kind == "getdents" or "O_DIRECTORY" in line:
            return "bash glob"
        return "bash PATH" if kind == "stat" and '"/' in line else ""
    return program if program in ("ls", "find") and kind in ("open", "stat", "getdents") else ""


def tally(lines: Iterable[str]) -> tuple[Counter[str], Counter[str]]:
    """Counts calls by type and by site in the output of `strace -f`."""
    types, sites = Counter[str](), Counter[str]()
    runs: dict[str, str] = {}
    for line in lines:
        said = re.match(r"(\d+)\s+(\w+)\((.*)", line)
        if not said:
            continue
        process, call, rest = said.groups()
        types[type_of(call)] += 1
        if site := site_of(runs.get(process, ""), call, rest):
            sites[site] += 1
        if call == "execve" and rest.rstrip().endswith("= 0") and (name := re.match(r'"(?:[^"]*/)?([^"/]+)"', rest)):
            runs[process] = name[1]
        elif call in ("clone", "clone3", "vfork", "fork") and (child := re.search(r"= (\d+)$", rest.rstrip())):
            runs.setdefault(child[1], runs.get(process, ""))
    return types, sites


def traced(setting: Setting, argv: list[str], environment: Environment | None) -> tuple[Counter[str], Counter[str]] | None:
    """Counts a program's calls, natively or below `trawl run`; None without strace, or if it fails."""
    said = setting.work / "paper-calls.txt"
    said.unlink(missing_ok=True)
    words = ["strace", "-f", "-qq", "-o", str(said), *argv]
    if environment:
        lend = 'library=$LD_PRELOAD; unset LD_PRELOAD; exec strace -E LD_PRELOAD="$library" "$@"'
        words = environment.command(setting, ["sh", "-c", lend, *words])
    if shutil.which("strace") is None or run(words).exit_code != 0 or not said.exists():
        return None
    with said.open(errors="replace") as lines:
        return tally(lines)


# Measurements


def each_call(setting: Setting, top: Path, known: Sequence[Environment], loops: int) -> None:
    """Table 1: stat and open, once per file (cold) and repeatedly (warm)."""
    rows = []
    for environment in known:
        name = SAME.get((environment.name, environment.delay_ms))
        if name is None:
            continue
        cells = []
        for at, call in enumerate(("stat", "open")):
            for state in Caches.COLD, Caches.WARM:
                ours = call_us(setting, top, environment, call, state, loops)
                cells.append(cell(TABLE_1[name][at], ours, ",.1f"))
        rows.append((environment.full_name, name, *cells))
    stat, opened = TABLE_1["KVM"]
    rows.append(("–", "KVM", *[cell(stat, None, ",.1f")] * 2, *[cell(opened, None, ",.1f")] * 2))
    setting.tell("Table 1: a call in µs, each call of the program a request; paper / ours / ratio",
                 ("here", "paper", "stat, cold", "stat, warm", "open, cold", "open, warm"), rows)


def call_us(setting: Setting, top: Path, environment: Environment, call: str, caches: Caches, loops: int) -> float | None:
    """Returns microseconds per call: of the first one, or the median of many."""
    count = 1 if caches is Caches.COLD else loops
    words = environment.without(setting, [str(top / "calls"), call, str(count), str(environment.top / "files" / "file-007")])
    if caches is Caches.COLD:
        if why_not_cold():
            return None
        chill(caches, words, top / "files")
    try:
        said = subprocess.run(words, capture_output=True, text=True, check=True, timeout=600)
    except (OSError, subprocess.SubprocessError):
        return None
    return float(said.stdout) / 1e3


def calls(setting: Setting, asked: dict[str, Program], native: Environment) -> None:
    """Table 2: system calls of the programs, by type and by site."""
    types, sites = [], []
    for name, row in TABLE_2_AND_3.items():
        program = asked.get(row.ours)
        if program is None or program.missing:
            types.append((name, f"not run: {program.missing if program else 'it is not here'}", *[""] * 6))
            continue
        for what, environment, numbers, total in (
            ("with", native, row.with_search, row.total[0]), ("without", None, row.without, row.total[1]),
        ):
            found = traced(setting, program.argv, environment)
            by_type, by_site = found or (None, None)
            whole = sum(by_type.values()) if by_type else None
            cells = [cell(paper, by_type[kind] if by_type else None) for kind, paper in zip(TYPES, numbers, strict=True)]
            types.append((name, what, cell(total, whole), *cells))
            told = [f"{row.sites.get(site, '–') if what == 'with' else '–'} / {by_site[site] if by_site else '–'}" for site in SITES]
            sites.append((name, what, *told))
    setting.tell("Table 2, by type: system calls natively; paper / ours / ratio", ("program", "search", "all", *TYPES), types)
    setting.tell("Table 2, by site: searches in the paper / calls for names there here, which are what searches replace. The text's columns of make cannot be told apart",
                 ("program", "search", *SITES), sites)


def times(setting: Setting, known: Sequence[Environment], most_s: float) -> None:
    """Table 3: wall time of the programs, with and without, warm and cold."""
    rows = []
    for name, row in TABLE_2_AND_3.items():
        for environment in known:
            same = SAME.get((environment.name, environment.delay_ms))
            program = {one.name: one for one in programs(environment.top, setting.build)}.get(row.ours)
            if same is None or program is None or program.missing:
                continue
            cells = []
            for paper, argv in zip(
                row.wall_ms[same], (environment.command(setting, program.argv), environment.without(setting, program.argv)), strict=True,
            ):
                for caches in Caches.COLD, Caches.WARM:
                    cells.append(cell(paper, wall_ms(setting, argv, caches, environment, most_s)))
            rows.append((name, environment.full_name, same, *cells))
    setting.tell("Table 3: wall time in ms; paper / ours / ratio",
                 ("program", "here", "paper", "with, cold", "with, warm", "without, cold", "without, warm"), rows)


def wall_ms(setting: Setting, argv: list[str], caches: Caches, environment: Environment, most_s: float) -> float | None:
    """Returns milliseconds of a command; None if it fails or the caches cannot be dropped."""
    if caches is Caches.COLD and why_not_cold():
        return None
    walls = []
    for _ in range(max(1, setting.runs)):
        if caches is Caches.COLD:
            chill(caches, argv, environment.top)
        cost = run(argv)
        if cost.exit_code:
            return None
        walls.append(cost.wall_s)
        if sum(walls) > most_s:
            break
    return statistics.median(walls) * 1e3


def by_depth(setting: Setting, top: Path, known: Sequence[Environment], levels: Sequence[int], most_s: float) -> None:
    """Figure 3: time and calls of find by the depth of a binary tree. The text has no numbers of the figure except
    for the depth of Tables 2 and 3, which has 1,024 child directories.
    """
    native = next(environment for environment in known if environment.tree is None)
    find = TABLE_2_AND_3["find -name xyz"]
    rows = []
    for level in levels:
        there = level == LEVELS
        cells: list[str] = []
        for environment in known:
            if (same := SAME.get((environment.name, environment.delay_ms))) is None:
                continue
            argv = ["find", f"{environment.top}/binary-{level}", "-name", "xyz"]
            for paper, words in zip(find.wall_ms[same], (environment.command(setting, argv), environment.without(setting, argv)), strict=True):
                cells.append(cell(paper if there else None, wall_ms(setting, words, Caches.WARM, environment, most_s)))
        for paper, environment in zip(find.total, (native, None), strict=True):
            found = traced(setting, ["find", f"{top}/binary-{level}", "-name", "xyz"], environment)
            cells.append(cell(paper if there else None, sum(found[0].values()) if found else None))
        rows.append((str(level), f"{2**level - 1:,}", *cells))
    names = [environment.full_name for environment in known if (environment.name, environment.delay_ms) in SAME]
    head = [f"{name}, {what}" for name in names for what in ("with", "without")]
    setting.tell("Figure 3: find by depth, ms warm, and its system calls natively; paper / ours / ratio",
                 ("levels", "directories", *head, "calls, with", "calls, without"), rows)


def by_layer(setting: Setting, top: Path, known: Sequence[Environment], most_s: float) -> None:
    """Figure 4: find with the search moved to lower and lower layers. The text has no numbers of the figure; those
    of Table 3 for the same layers are shown beside ours.
    """
    find, tree = TABLE_2_AND_3["find -name xyz"], f"binary-{LEVELS}"
    far = next((environment for environment in known if (environment.name, environment.delay_ms) == ("FUSE", 0)), None)
    native = next(environment for environment in known if environment.tree is None)
    argv = ["find", f"{(far or native).top}/{tree}", "-name", "xyz"]
    question = ["-r", "xyz", f"{top}/{tree}"]
    layers: list[tuple[str, list[str] | None, int | None]] = [
        ("in the application, each call to the server", far.without(setting, argv) if far else None, find.wall_ms["Remote"][1]),
        ("in the kernel of the client", None, None),
        ("in `trawl run`, which asks the server", far.command(setting, argv) if far else None, None),
        ("in the server (`trawl search --remote`)", [setting.trawl, "search", "--remote", f"command:{setting.trawl} serve --stdio", *question],
         find.wall_ms["Remote"][0]),
        ("on this machine, as one call (`trawl search`)", setting.search(*question), find.wall_ms["Native"][0]),
    ]
    rows = []
    for name, words, paper in layers:
        cold, warm = (wall_ms(setting, words, caches, native, most_s) if words else None for caches in (Caches.COLD, Caches.WARM))
        rows.append((name, cell(paper, cold), cell(paper, warm)))
    setting.tell("Figure 4: find by the layer that searches, ms; paper / ours / ratio", ("the search is", "cold", "warm"), rows)


def paper(setting: Setting, *, tiny: bool = False) -> None:
    """Measures everything; the tiny form only checks that it works."""
    top = setting.work / "call-trees"
    make_trees(top)
    known, missing = [], []
    for environment in environments(setting, top):
        if why := environment.why_not(setting):
            missing.append((environment.full_name, why))
        elif not tiny or environment.delay_ms == 0:
            known.append(environment)
    if why := why_not_cold():
        missing.append(("cold", why))
    if missing:
        setting.tell("Not measured", ("what", "why"), missing)
    native = next((environment for environment in known if environment.tree is None), None)
    if native is None:
        return
    most_s = 0.0 if tiny else 30.0
    asked = {program.name: program for program in programs(top, setting.build)}
    if tiny:
        asked = {name: program for name, program in asked.items() if "make" not in name and "configure" not in name}
    each_call(setting, top, known, 100 if tiny else 5000)
    calls(setting, asked, native)
    if not tiny:
        times(setting, known, most_s)
    by_depth(setting, top, known, (1, 3) if tiny else range(1, LEVELS + 1), most_s)
    by_layer(setting, top, known, most_s)


def main() -> None:
    """Prints the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trawl", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--tiny", action="store_true", help="only check that it works")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    setting = Setting(Table(), str(args.trawl.resolve()), args.work, "", args.work.resolve(), 1 if args.tiny else args.runs)
    paper(setting, tiny=args.tiny)
    print("\n\n".join(setting.said))


if __name__ == "__main__":
    main()
