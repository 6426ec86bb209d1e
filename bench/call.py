#!/usr/bin/env python3
"""The search call: how programs query a file system, with and without it.

`bench/run.py` calls this as its part `call`. It reproduces the tables and figures of the paper *Search Should Be a
System Call* (2013) on this machine. Each program runs natively, in a sandbox, and over FUSE from a server that
delays each answer by 0, 1 and 5 ms, *without* and *with* Trawl. Natively, *without* means the program as it is,
run by the same shell as with Trawl, which was started before (`session.py`), so that the start of `trawl run` is
in a row of its own. Elsewhere it means the same environment of `trawl run`, where each lookup of a name and each
directory is a request of its own whose answer is cached for a second, as in ordinary network file systems
(`--call-by-call --max-age 1s`). The call itself runs beside them. Programs that cannot run here are reported with
the reason.

System calls are counted by strace, including threads and children but not `trawl run` itself; requests are
counted by `bench/relay.py` between client and server.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from call_trees import FILES, LEVELS, Program, compiler, make_trees, programs
from measure import Cost, Pair, compared, median_cost, paired, rounds, run
from report import HEAD as TABLE_HEAD
from report import Table, figures, grid
from session import Session

DELAYS_MS = (0, 1, 5)
#: How old an answer to a program may be where each call is a request of its own.
WITHOUT = ["--call-by-call", "--max-age", "1s"]
#: Wraps a command so that it runs in an environment.
Wrap = Callable[[list[str]], list[str]]
#: Calls that a remote file system would answer one by one.
REMOTE_CALLS = "%file,getdents64,fstat,fchdir"
#: A longer round needs no warm-up run (LONG_S); time for the rounds of one figure (BUDGET_S).
LONG_S = 2.0
BUDGET_S = 10.0
LOOPS = {"getpid": 300_000, "read": 200_000, "fstat": 20_000, "stat": 20_000, "open": 10_000}


@dataclass
class Setting:
    """The settings of all measurements."""

    table: Table
    trawl: str
    tree: Path
    index: str
    work: Path
    runs: int
    #: The CSV file for the table of depths, if any.
    csv: Path | None = None
    #: The section of the report: headings and tables.
    said: list[str] = field(default_factory=list)
    #: Called whenever the section grows.
    save: Callable[[], None] = lambda: None

    @property
    def build(self) -> Path:
        """The directory that programs write to."""
        return self.work / "call-build"

    def search(self, *words: str) -> list[str]:
        """Returns the command of a search of the file system."""
        return [self.trawl, "search", "--served-by", "live", *words]

    def tell(self, heading: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
        """Adds a table to the section and saves it at once, since the whole takes long."""
        self.said.append(f"**{heading}**\n\n{grid(head, rows)}")
        self.save()


# Counting


def count_calls(argv: list[str], work: Path, only: str = "all", inside: Wrap = list) -> int | None:
    """Counts the system calls of a command in an environment; None without strace, or if the command fails."""
    said = work / "calls.txt"
    said.unlink(missing_ok=True)
    words = ["strace", "-f", "-qq", "-c", "-U", "calls,name", "-e", f"trace={only}", "-o", str(said), *argv]
    if shutil.which("strace") is None or run(inside(words)).exit_code != 0 or not said.exists():
        return None
    total = re.search(r"^\s*(\d+)\s+total$", said.read_text(), re.MULTILINE)
    return int(total[1]) if total else None


def count_requests(command: Callable[[str], list[str]], setting: Setting) -> int | None:
    """Counts the requests to a server by a command that gets its address; None if they cannot be counted."""
    counts = setting.work / "requests"
    shutil.rmtree(counts, ignore_errors=True)
    counts.mkdir()
    relay = Path(__file__).with_name("relay.py")
    ended = run(command(f"command:python3 {relay} {counts} {setting.trawl} serve --stdio"))
    # A connection without requests has an empty file.
    asked = [int(count.read_text() or 0) for count in counts.iterdir()]
    return sum(asked) if asked and ended.exit_code == 0 else None


def number(count: int | None) -> str:
    """Formats a count for the table."""
    return "not counted" if count is None else f"{count:,}"


def shown(calls: int | None, cost: Cost | None = None) -> str:
    """Formats calls and times."""
    count = "calls not counted" if calls is None else f"{calls:,} calls"
    return count if cost is None else f"{count}, {figures(cost)}"


def quotient(one: float | None, other: float | None) -> str:
    """Formats a ratio, if both numbers are known."""
    return f"{one / other:.3f}" if one and other else "–"


def walls(pair: Pair) -> tuple[str, str]:
    """Formats both wall times in seconds, and failures."""
    def text(cost: Cost) -> str:
        return f"{cost.wall_s:.3f}" + (f" (exit code {cost.exit_code})" if cost.exit_code else "")
    return text(pair.peer), text(pair.ours)


# Environments


@dataclass(frozen=True)
class Environment:
    """An environment in which unmodified programs run."""

    name: str
    options: list[str]
    #: Where the trees are visible in it.
    top: Path
    #: Where the server's trees are; None if there is no server.
    tree: Path | None = None
    delay_ms: int = 0

    @property
    def full_name(self) -> str:
        """The name with the server's delay."""
        return f"{self.name}, {self.delay_ms} ms" if self.tree else self.name

    def command(self, setting: Setting, argv: list[str], more: list[str] | None = None, address: str = "") -> list[str]:
        """Returns the command in it, with Trawl."""
        words = [setting.trawl, "run", *self.options, *(more or [])]
        if self.tree:
            words += ["--remote", f"{address or server(setting, self.delay_ms)}:{self.tree}={self.top}"]
        return [*words, "--", *argv]

    def without(self, setting: Setting, argv: list[str], address: str = "") -> list[str]:
        """Returns the command in it, without Trawl."""
        return self.command(setting, argv, WITHOUT, address) if self.tree else argv

    def why_not(self, setting: Setting) -> str:
        """Returns why it is not available; empty if it is."""
        words = self.command(setting, ["ls", "-d", str(self.top / "files")])
        try:
            tried = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        except subprocess.TimeoutExpired:
            return "it does not come to an end"
        said = " ".join(tried.stderr.split()) or f"exit code {tried.returncode}"
        return "" if tried.returncode == 0 and "runs without" not in said else said[:100]


def environments(setting: Setting, top: Path) -> Iterator[Environment]:
    """Returns the paper's environments, and ours."""
    mount = setting.work / "call-mount"
    mount.mkdir(parents=True, exist_ok=True)
    yield Environment("native", ["--cover", str(top)], top)
    for name, options in (("sandbox", ["--sandbox"]), ("FUSE", [])):
        for delay in DELAYS_MS:
            yield Environment(name, options, mount, top, delay)


def server(setting: Setting, delay_ms: int) -> str:
    """Returns the address of a server with this delay."""
    return f"command:{setting.trawl} serve --stdio --delay {delay_ms}"


#: Runs a command and returns its cost.
Runs = Callable[[list[str]], Cost]


def rounds_of(
    with_trawl: list[str], without: list[str], setting: Setting, run_ours: Runs = run, run_peer: Runs = run
) -> tuple[Pair, int]:
    """Runs two commands in turn, warm, within the time budget of one figure; also returns the number of rounds."""
    ours, peer = [run_ours(with_trawl)], [run_peer(without)]
    round_s = ours[0].wall_s + peer[0].wall_s
    if round_s < LONG_S:
        # It only served to warm up.
        ours, peer = [], []
    wanted = min(setting.runs, max(1, int(BUDGET_S / max(round_s, 1e-3))))
    while len(ours) < wanted:
        if len(ours) % 2:
            ours.append(run_ours(with_trawl))
            peer.append(run_peer(without))
        else:
            peer.append(run_peer(without))
            ours.append(run_ours(with_trawl))
    return compared(ours, peer), wanted


def in_environment(setting: Setting, environment: Environment, argv: list[str]) -> tuple[Pair, int]:
    """Runs a program with and without Trawl; natively from a shell that is already running."""
    if environment.tree:
        return rounds_of(environment.command(setting, argv), environment.without(setting, argv), setting)
    with Session(environment.command(setting, [])) as ours, Session([]) as peer:
        return rounds_of(argv, argv, setting, ours.run, peer.run)


# Measurements


def itself(setting: Setting) -> None:
    """Measures the call against find on a large tree: by a walk, and from the index."""
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
    """Measures programs against their question put as one call."""
    table = setting.table
    table.fact("start-up of trawl search, in all figures below", "", "", shown(count_calls(setting.search("/.", "/"), setting.work)))
    for program in asked:
        if not program.question or program.missing:
            continue
        ours = setting.search(*program.question)
        pair = paired(ours, program.argv, setting.runs)
        calls = count_calls(ours, setting.work), count_calls(program.argv, setting.work)
        table.add((f"{program.name}: as one call", "natively", shown(calls[1], pair.peer), shown(calls[0], pair.ours),
                   f"calls {quotient(*calls)}, CPU {pair.cpu_ratio:.3f}", ""))


def from_afar(setting: Setting, asked: list[Program]) -> None:
    """Measures the same questions to a remote server, against the computed time call by call."""
    rows = []
    for program in asked:
        if not program.question or program.missing:
            continue
        calls = count_calls(program.argv, setting.work, REMOTE_CALLS)
        for delay in DELAYS_MS:
            ours = [setting.trawl, "search", "--remote", server(setting, delay), *program.question]
            cost = median_cost(rounds({"ours": ours}, setting.runs)["ours"])
            computed = f"{calls:,} × {delay} ms = {calls * delay / 1e3:.2f}" if calls and delay else ""
            target = ""
            if program.name.startswith("find -name") and delay == 5:
                target = f"<= 0.12 s: {'met' if cost.wall_s <= 0.12 else 'NOT met'}"
            rows.append((program.name, f"{delay} ms", computed, f"{cost.wall_s:.3f}", target))
    setting.tell("The question itself, as one call to a server (`trawl search --remote`), wall time in seconds",
                 ("what", "server", "each call of the program a round trip, computed", "as one call", "target"), rows)


def verdicts(program: Program, environment: Environment, calls: int | None, pair: Pair) -> str:
    """Returns the verdicts on a program's targets in an environment."""
    if pair.ours.exit_code or pair.peer.exit_code:
        return "failed"
    said = []
    def judge(what: str, is_met: bool) -> None:
        said.append(f"{what}: {'met' if is_met else 'NOT met'}")
    judge("wall <= 1.03", pair.wall_ratio <= 1.03)
    if environment.name == "native" and calls is not None:
        if program.name.startswith("find -name"):
            judge("<= 300 calls", calls <= 300)
        if program.name.startswith(f"ls -l of {FILES}"):
            judge("<= 350 calls", calls <= 350)
    if environment.name == "FUSE" and program.name.startswith("find -name"):
        judge("<= 0.2 s", pair.ours.wall_s <= 0.2)
    return "; ".join(said)


HEAD = ("program", "environment", "asked, without", "asked, with", "ratio", "wall s, without", "wall s, with", "ratio", "target")


def unmodified(setting: Setting, top: Path, environment: Environment) -> list[tuple[str, ...]]:
    """Measures the unmodified programs in an environment, one row each."""
    why = environment.why_not(setting)
    rows: list[tuple[str, ...]] = []
    for program in programs(environment.top, setting.build):
        name = environment.full_name
        if missing := program.missing or why:
            rows.append((program.name, name, "", "", "", "", "", "", f"not run: {missing}"))
            continue
        pair, times = in_environment(setting, environment, program.argv)
        asked = asked_with_and_without(setting, program, environment)
        few = f" (of {times})" if times < setting.runs else ""
        peer, ours = walls(pair)
        counted = (number(asked[1]), number(asked[0]), quotient(*asked)) if environment.delay_ms == 0 else ("", "", "")
        row = (program.name, name, *counted, peer, ours + few,
               f"{pair.wall_ratio:.3f}", verdicts(program, environment, asked[0], pair))
        print("  " + " | ".join(row), flush=True)
        rows.append(row)
    return rows


def asked_with_and_without(setting: Setting, program: Program, environment: Environment) -> tuple[int | None, int | None]:
    """Counts system calls natively, and requests to the server elsewhere."""
    argv = program.argv
    if environment.tree is None:
        # strace itself must not load the library: it waits for its tracee, and each wait counts as
        # a change.
        lend = 'library=$LD_PRELOAD; unset LD_PRELOAD; exec strace -E LD_PRELOAD="$library" "$@"'
        inside: Wrap = lambda words: environment.command(setting, ["sh", "-c", lend, *words])
        return count_calls(argv, setting.work, inside=inside), count_calls(argv, setting.work)
    if environment.delay_ms:
        # The number does not depend on the delay.
        return None, None
    return (count_requests(lambda address: environment.command(setting, argv, address=address), setting),
            count_requests(lambda address: environment.without(setting, argv, address), setting))


def start_up(setting: Setting, environment: Environment) -> list[tuple[str, ...]]:
    """Measures an environment's cost for a program that asks for nothing."""
    def row(name: str, pair: Pair, what: str) -> tuple[str, ...]:
        peer, ours = (f"{cost.wall_s:.4f}" for cost in (pair.peer, pair.ours))
        return ("true", name, "", "", "", f"{peer} (natively)", ours, "", what)

    pair, _ = rounds_of(environment.command(setting, ["true"]), ["true"], setting)
    if environment.tree:
        return [row(environment.full_name, pair, "start-up: in all figures of the environment")]
    below, _ = in_environment(setting, environment, ["true"])
    return [
        row("native, `trawl run true`", pair, "start-up of `trawl run`: in no other figure"),
        row(environment.full_name, below, "start-up below `trawl run`: in all figures of the environment"),
    ]


def by_depth(setting: Setting, top: Path, there: list[Environment]) -> None:
    """Measures time by the depth of a complete binary tree: unmodified find, and the question as one call."""
    lines = ["levels,directories,environment,delay_ms,without_ms,with_ms"]
    names = [*(environment.full_name for environment in there), *(f"one call, {delay} ms" for delay in DELAYS_MS)]
    rows = []
    for levels in range(1, LEVELS + 1):
        cells = []
        for environment in there:
            argv = ["find", f"{environment.top}/binary-{levels}", "-name", "b"]
            without = wall_ms(environment.without(setting, argv))
            with_trawl = wall_ms(environment.command(setting, argv))
            cells.append(f"{without:.0f} / {with_trawl:.0f}")
            lines.append(f"{levels},{2**levels - 1},{environment.name},{environment.delay_ms},{without:.1f},{with_trawl:.1f}")
        for delay in DELAYS_MS:
            tree = f"{top}/binary-{levels}"
            ours = wall_ms([setting.trawl, "search", "--remote", server(setting, delay), "-r", "b", tree])
            cells.append(f"{ours:.0f}")
            lines.append(f"{levels},{2**levels - 1},one call,{delay},,{ours:.1f}")
        row = (str(levels), f"{2**levels - 1:,}", *cells)
        print("  " + " | ".join(row), flush=True)
        rows.append(row)
    setting.tell("`find -name` by depth, ms of wall time without / with; medians of 3, one run where it takes more than 2 s",
                 ("levels", "directories", *names), rows)
    if setting.csv:
        setting.csv.write_text("\n".join(lines) + "\n")


def wall_ms(argv: list[str]) -> float:
    """Returns the median of three runs, or the only run if it takes long."""
    costs = [run(argv)]
    if costs[0].wall_s < LONG_S:
        costs = [run(argv) for _ in range(3)]
    return statistics.median(cost.wall_s for cost in costs) * 1e3


def each_call(setting: Setting, top: Path, sandbox: Environment) -> None:
    """Measures one system call in and outside the sandbox."""
    why = sandbox.why_not(setting) or ("" if compiler() else "there is no C compiler")
    head = ("call", "of", "natively, ns", "in the sandbox, ns", "more, ns")
    if why:
        setting.tell("One system call in the sandbox", head, [("", "", "", f"not run: {why}", "")])
        return
    rows = []
    for call, of, here, there in [
        ("getpid", "", top, top), ("read", "a file of the tree", top, sandbox.top), ("fstat", "a file of the tree", top, sandbox.top),
        ("stat", "a file of the tree", top, sandbox.top), ("stat", "a file elsewhere", top, top),
        ("open", "a file of the tree", top, sandbox.top), ("open", "a file elsewhere", top, top),
    ]:
        def words(place: Path, call: str = call) -> list[str]:
            return [str(top / "calls"), call, str(LOOPS[call]), str(place / "files" / "file-007")]
        pairs = [(loop(words(here)), loop(sandbox.command(setting, words(there)))) for _ in range(max(5, setting.runs))]
        outside, inside = (statistics.median(side) for side in zip(*pairs, strict=True))
        rows.append((call, of, f"{outside:,.0f}", f"{inside:,.0f}", f"{inside - outside:,.0f}"))
    setting.tell("One system call in the sandbox, in a loop of one thread", head, rows)


def loop(argv: list[str]) -> float:
    """Returns the nanoseconds per call that the loop prints."""
    return float(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)


def load() -> str:
    """Returns the average number of runnable processes in the last minute."""
    return f"{os.getloadavg()[0]:.1f}"


def call(setting: Setting) -> None:
    """Runs all measurements."""
    top = setting.work / "call-trees"
    make_trees(top)
    before = load()
    known = list(environments(setting, top))
    rows = []
    for environment in known:
        if not environment.why_not(setting) and environment.delay_ms == 0:
            rows += start_up(setting, environment)
        rows += unmodified(setting, top, environment)
    order = [program.name for program in programs(top, setting.build)]
    rows.sort(key=lambda row: order.index(row[0]) if row[0] in order else -1)
    setting.tell("Programs as they are. *Asked*: natively system calls, elsewhere requests to the server (the same from afar)",
                 HEAD, rows)
    there = [environment for environment in known if not environment.why_not(setting)]
    by_depth(setting, top, there)
    asked = programs(top, setting.build)
    from_afar(setting, asked)
    each_call(setting, top, next(environment for environment in known if environment.name == "sandbox"))
    first = len(setting.table.rows)
    natively(setting, asked)
    itself(setting)
    setting.tell("The call on this machine, beside programs and over a large tree", TABLE_HEAD, setting.table.rows[first:])
    setting.said.append(f"Load of the machine in the minute before: {before}; in the last minute: {load()}.")
    setting.save()
