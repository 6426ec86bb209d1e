#!/usr/bin/env python3
"""The evaluation of the paper on Propeller, on this machine: updates, searches, copies and recall beside its peers.

usage: propeller.py TRAWL WORK [--tree DIR [--parts DIR,…]] [--only PART,…] [--runs N] [--files N] [--updates N]
                    [--writers N,…] [--copies N] [--created N] [--words WORD,…]

TRAWL is the release binary with trawl-hook beside it, WORK a directory on a disk that others
may enter, `--tree` a tree of sources (Linux), of
which `copy` and `keywords` use the `--parts`; without it, they are skipped. The parts of the bench:

    mixed      Figure 11: 10,000 updates of a group of 1,000 files, a search after each 1,024
    updates    Figure 10: the time of 10,000 updates by 1 to 16 writers
    queries    Figure 12: both queries, and one about words in contents
    recall     Table 9: recall of attributes and keywords while files are being created
    copy       Table 7: `cp -r` while the daemon indexes attributes, or attributes and contents
    keywords   making an index of words, and asking it

Peers are MariaDB (the paper has MySQL), GNU find, recoll and Tracker (now localsearch), all with data of their own
below WORK. Each part says below how Trawl is measured and how the peer is. Figures are medians of paired runs; a
ratio is ours divided by the peer's. Every answer is compared with the peer's, or with one computed from the files
themselves; the bench ends with 1 if one differs. Parts that mount a file system need root. `--files` is the number of
files of the data sets of `mixed` and `updates`, `--copies` how often the paper's sample groups (77,754 files) are
repeated in `queries`, `--created` the number of files created in `recall`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import mariadb
from measure import Cost, compared
from propeller_search import keywords, queries, recall
from propeller_setting import ATTRIBUTES, COLUMNS, Setting, added, attributes, output, phrased, timed
from report import Table
from watched import Daemon, mounted, watching

Change = tuple[bytes, int]
GROUP = 1_000
EVERY = 1_024
#: "The background re-indexing is triggered by every 500 updates" (section 4.3).
BACKGROUND = ("--apply-after", "1d", "--max-dirty", "500")
FIRST_S = 1_000_000_000
PAPERS_US = 15.6
NO_SYNC = "SET GLOBAL innodb_flush_log_at_trx_commit = 0;"
SYNC = "SET GLOBAL innodb_flush_log_at_trx_commit = 1;"
#: The peer's settings: whether it forces each commit to the disk. Trawl's index can be made again from the files.
SYNCING = "MariaDB"
PEERS = {SYNCING: SYNC, "MariaDB without syncing": NO_SYNC}
#: Runs of the peer that waits for the disk with each update.
SYNCING_RUNS = 2


# Updates


@contextlib.contextmanager
def groups(setting: Setting, image: str) -> Iterator[list[list[bytes]]]:
    """Mounts a file system with groups of 1,000 empty files; yields the paths of the files of each."""
    with mounted("ext4", setting.work / image) as root:
        found = []
        for number in range(max(setting.files // GROUP, max(setting.writers), 1)):
            folder = bytes(root / f"g{number:06}")
            os.mkdir(folder)
            paths = [b"%s/f%03d" % (folder, file) for file in range(GROUP)]
            for path in paths:
                os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))
                os.utime(path, (FIRST_S, FIRST_S))
            found.append(paths)
        yield found
    (setting.work / image).unlink()


class Plan:
    """Updates: each gives a file an mtime that is later than that of every file before it."""

    def __init__(self) -> None:
        self.dice = random.Random(7)
        self.last_s = FIRST_S

    def take(self, paths: list[bytes], count: int) -> list[Change]:
        """Returns the next updates."""
        return self.timed(self.dice.choice(paths) for _ in range(count))

    def again(self, changes: list[Change]) -> list[Change]:
        """Returns updates of the same files in the same order, with later times."""
        return self.timed(path for path, _ in changes)

    def timed(self, paths: Iterable[bytes]) -> list[Change]:
        found = [(path, time_s) for time_s, path in enumerate(paths, self.last_s + 1)]
        self.last_s += len(found)
        return found


def write(changes: list[Change]) -> None:
    """Makes the updates: one system call each, which changes mtime and ctime."""
    for path, time_s in changes:
        os.utime(path, (time_s, time_s))


def statements(changes: list[Change]) -> bytes:
    """Returns the updates in SQL."""
    return b"\n".join(b"UPDATE files SET mtime = %d, atime = %d WHERE path = '%s';" % (time_s, time_s, path) for path, time_s in changes)


@contextlib.contextmanager
def filled(setting: Setting, tree: list[list[bytes]]) -> Iterator[mariadb.Server]:
    """Runs a server with a row for each file, with "an index based on the file full-paths" (section 4)."""
    with mariadb.serving(setting.work, "--innodb-buffer-pool-size=512M") as server, server.client() as client:
        client.run(f"CREATE TABLE files ({COLUMNS});")
        server.load(client, "files", (attributes(path) for paths in tree for path in paths), setting.work)
        yield server


def mixed(setting: Setting) -> None:
    """Figure 11: updates of one group, with searches in between.

    "10,000 updates combined with file-attribute-search requests, to one semantic file group (1,000 files) […] one
    file-search request for every 1,024 updates" (section 4.3). The paper gives "the average latency of normal metadata
    update and file re-indexing operations". Ours is the time of the writer's calls (utimensat(2) below a directory that
    `trawl watch` watches) and of the barrier before each search, which applies what the daemon has not applied in the
    background, divided by the number of updates. The peer's is that of UPDATE statements from a connected client; it
    changes no file. Searches (`-newermt` in the group; SELECT by a range of paths) have rows of their own: ours starts a
    program, the peer's client is connected.
    """
    if reason := setting.needs_root():
        setting.table.fact("mixed workload", "MariaDB", "", reason)
        return
    with groups(setting, "mixed.ext4") as tree:
        plan = Plan()
        bare = [timed(lambda: write(changes)) for changes in (plan.take(tree[0], setting.updates) for _ in range(setting.runs))]
        with watching(setting.trawl, setting.index(), Path(os.fsdecode(tree[0][0])).parent.parent, *BACKGROUND) as daemon:
            mixed_beside(setting, tree, plan, daemon)
    each = statistics.median(cost.wall_s for cost in bare) * 1e6 / setting.updates
    setting.table.fact("mixed workload: the same system calls without a daemon", "", "", f"{each:.1f} us an update")


def mixed_beside(setting: Setting, tree: list[list[bytes]], plan: Plan, daemon: Daemon) -> None:
    """Runs the mixed workload on all systems in turn."""
    group = os.path.dirname(tree[0][0])
    costs: dict[str, list[tuple[Cost, Cost]]] = {}
    ask = [setting.trawl, "-i", str(daemon.index), "find", os.fsdecode(group), "-type", "f"]

    def ours(changes: list[Change]) -> None:
        write(changes)
        daemon.now_s()

    def found(least: int) -> set[bytes]:
        return set(output([*ask, "-newermt", f"@{least - 1}"]))

    with contextlib.ExitStack() as stack:
        peer: tuple[mariadb.Client, int] | None = None
        if reason := mariadb.missing():
            setting.table.fact("mixed workload", "MariaDB", reason, "")
        else:
            server = stack.enter_context(filled(setting, tree))
            peer = stack.enter_context(server.client()), server.pid
        for turn in range(setting.runs + 1):
            changes = plan.take(tree[0], setting.updates)
            arms: dict[str, Callable[[], tuple[Cost, Cost]]] = {
                "trawl": lambda: workload(setting, plan.again(changes), "trawl", ours, found, [daemon.pid])}
            if peer:
                for name in peers_of(turn):
                    arms[name] = peer_arm(setting, plan.again(changes), name, *peer, group)
            # Times must grow from one run on the same rows to the next.
            for name in arms:
                result = arms[name]()
                if turn:
                    costs.setdefault(name, []).append(result)
    shown(setting, costs)


def peers_of(turn: int) -> list[str]:
    """Returns the peers that take part in a turn; the first turn only warms up."""
    return [name for name in PEERS if name != SYNCING or 1 <= turn <= SYNCING_RUNS]


def peer_arm(setting: Setting, changes: list[Change], name: str, client: mariadb.Client, server: int,
             group: bytes) -> Callable[[], tuple[Cost, Cost]]:
    """Returns the task that runs the workload on the server."""
    def search(least: int) -> set[bytes]:
        return set(client.run(b"SELECT path FROM files WHERE path > '%s/' AND path < '%s0' AND mtime >= %d;" % (group, group, least)))

    def run() -> tuple[Cost, Cost]:
        client.run(PEERS[name])
        return workload(setting, changes, name, lambda chunk: client.run(statements(chunk)), search, [server, client.process.pid])

    return run


def workload(setting: Setting, changes: list[Change], name: str, update: Callable[[list[Change]], object],
             search: Callable[[int], set[bytes]], pids: list[int]) -> tuple[Cost, Cost]:
    """Returns the cost of the updates and that of the searches."""
    updating, searching = [], []
    for first in range(0, len(changes), EVERY):
        chunk, found = changes[first:first + EVERY], set()
        updating.append(timed(lambda: update(chunk), pids))
        searching.append(timed(lambda: found.update(search(chunk[0][1])), pids))
        setting.same(f"mixed workload, {name}", found, {path for path, _ in chunk})
    return added(updating), added(searching)


def shown(setting: Setting, costs: dict[str, list[tuple[Cost, Cost]]]) -> None:
    """Adds the rows of the mixed workload."""
    mine = costs.pop("trawl")
    searches = -(-setting.updates // EVERY)
    for name, theirs in costs.items():
        for at, what in enumerate((f"mixed workload: {setting.updates:,} updates", f"mixed workload: {searches} searches")):
            setting.table.pair(what, name, compared([pair[at] for pair in mine[:len(theirs)]], [pair[at] for pair in theirs]))
    wall, cpu = (statistics.median(spent) * 1e6 / setting.updates for spent in (
        [pair[0].wall_s for pair in mine], [pair[0].cpu_s for pair in mine]))
    setting.table.fact("mixed workload: an update with its indexing", "Propeller (paper)", f"{PAPERS_US} us",
                       f"{wall:.1f} us, {cpu:.1f} us of CPU", f"<= {PAPERS_US} us", wall <= PAPERS_US)


def updates(setting: Setting) -> None:
    """Figure 10: updates by several writers, each in a group of its own.

    "We create from 1 to 16 threads to issue 10,000 update requests […] and measure the execution times for all threads
    accomplishing their IOs" (section 4.2). The requests are divided among the writers. Ours are processes that change
    files below a directory that is watched; the time ends with a barrier, when all is in the index. The peer's are
    connected clients, each with its statements.
    """
    if reason := setting.needs_root():
        setting.table.fact("parallel updates", "MariaDB", "", reason)
        return
    with groups(setting, "updates.ext4") as tree, contextlib.ExitStack() as stack:
        server = None
        if reason := mariadb.missing():
            setting.table.fact("parallel updates", "MariaDB", reason, "")
        else:
            server = stack.enter_context(filled(setting, tree))
        top = Path(os.fsdecode(tree[0][0])).parent.parent
        daemon = stack.enter_context(watching(setting.trawl, setting.index(), top, *BACKGROUND))
        plan = Plan()
        for writers in setting.writers:
            updates_by(setting, tree[:writers], plan, daemon, server)


def updates_by(setting: Setting, tree: list[list[bytes]], plan: Plan, daemon: Daemon, server: mariadb.Server | None) -> None:
    """Measures this many writers."""
    costs: dict[str, list[Cost]] = {}
    for turn in range(setting.runs + 1):
        shares = [plan.take(paths, setting.updates // len(tree)) for paths in tree]
        costs.setdefault("trawl", []).append(in_files(shares, daemon))
        if server:
            for name in peers_of(turn):
                costs.setdefault(name, []).append(in_rows(shares, server, PEERS[name]))
        if turn == 0:
            costs.clear()
    mine = costs.pop("trawl")
    what = f"{setting.updates:,} updates by {phrased(len(tree), 'writer')}"
    for name, theirs in costs.items():
        setting.table.pair(what, name, compared(mine[:len(theirs)], theirs))
    expected = {b"%s\t%d" % (path, int(os.stat(path).st_mtime)) for paths in tree for path in paths}
    tops = [os.fsdecode(os.path.dirname(paths[0])) for paths in tree]
    words = [setting.trawl, "-i", str(daemon.index), "find", *tops, "-type", "f", "-printf", "%p\\t%Ts\\n"]
    setting.same(f"{what}, trawl", set(output(words)), expected)
    if server:
        with server.client() as client:
            rows = [row for top in tops for row in client.run(f"SELECT path, mtime FROM files WHERE path > '{top}/' AND path < '{top}0';")]
        setting.same(f"{what}, MariaDB", set(rows), expected)


def in_files(shares: list[list[Change]], daemon: Daemon) -> Cost:
    """Returns the cost of writers that begin together."""
    gate, release = os.pipe()
    children = []
    for share in shares:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.close(release)
                os.read(gate, 1)
                write(share)
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    os.close(gate)

    def run() -> None:
        os.close(release)
        if any([os.waitpid(child, 0)[1] for child in children]):
            sys.exit("a writer of the bench failed")
        daemon.now_s()

    return timed(run, [daemon.pid])


def in_rows(shares: list[list[Change]], server: mariadb.Server, setup: str) -> Cost:
    """Returns the cost of clients that begin together."""
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(server.client()) for _ in shares]
        clients[0].run(setup)
        given = [statements(share) for share in shares]

        def run() -> None:
            threads = [threading.Thread(target=client.run, args=(text,)) for client, text in zip(clients, given, strict=True)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        return timed(run, [server.pid, *(client.process.pid for client in clients)])


# Copies


def copy(setting: Setting) -> None:
    """Table 7: copying source trees with `cp -r`.

    "We compare the group creation times to two scenarios […]: 1) copying data by using the command "cp -r" on the Ext4
    file system; and 2) Using MySQL to perform offline file-indexing, which includes the three steps of (a) copying data
    on Ext4, (b) extracting metadata (e.g., inode attributes, C function names etc.), and (c) importing these metadata"
    (section 4.1). Ours is the time of `cp -r` below a directory that `trawl watch` watches, with an index of attributes,
    or of attributes and contents; its CPU time includes the daemon's until then. The daemon reads contents later; a
    question right afterwards, which finds all of them, has a row of its own, with the time of find's or grep's answer. The peer reads attributes with find, function names with ctags, and imports both with LOAD DATA.
    """
    if reason := setting.needs_root() or setting.needs_tree():
        setting.table.fact("cp -r", "cp -r", "", reason)
        return
    for top in setting.tops():
        image = setting.work / "copy.ext4"
        with mounted("ext4", image) as root, contextlib.ExitStack() as stack:
            server = None
            if reason := mariadb.missing("ctags"):
                setting.table.fact(f"cp -r of {top.name}", "MariaDB", reason, "")
            else:
                server = stack.enter_context(mariadb.serving(setting.work, "--innodb-buffer-pool-size=512M", "--innodb-flush-log-at-trx-commit=0"))
            copies(setting, top, root, server)
        image.unlink()


def copies(setting: Setting, top: Path, root: Path, server: mariadb.Server | None) -> None:
    """Measures copies of one tree."""
    costs: dict[str, list[Cost]] = {}
    behind: dict[str, Cost] = {}
    subprocess.run(["cp", "-r", str(top), str(root / "warm")], check=True)
    indexes = {"attributes": setting.work / "copy-attributes", "attributes and contents": setting.work / "copy-contents"}
    for name, index in indexes.items():
        shutil.rmtree(index, ignore_errors=True)
        subprocess.run([setting.trawl, "-i", str(index), "index", "--quiet", *(["--keywords"] if "contents" in name else []), str(root)], check=True)
    names = ["cp -r", *indexes, *(["MariaDB"] if server else [])]
    for turn in range(setting.runs):
        for name in names[turn % len(names):] + names[:turn % len(names)]:
            target = root / f"copy-{turn}"
            target.mkdir()
            os.sync()
            if name in indexes:
                with watching(setting.trawl, indexes[name], root) as daemon:
                    costs.setdefault(name, []).append(timed(lambda: copied(top, target), [daemon.pid]))
                    # The daemon has not read contents yet, so this takes long.
                    if turn == 0:
                        behind[name] = timed(lambda: compare(setting, name, indexes[name], target))
            else:
                task = (lambda: imported(top, target, server, setting)) if name == "MariaDB" else (lambda: copied(top, target))
                costs.setdefault(name, []).append(timed(task))
            shutil.rmtree(target)
    what = f"cp -r of {top.name}"
    for name, most in (("attributes", "wall <= 1.10"), ("attributes and contents", "wall <= 1.16")):
        setting.table.pair(f"{what}, {name}", "cp -r", compared(costs[name], costs["cp -r"]), most, by="wall")
        setting.table.fact(f"{what}, {name}: a question right after it, compared", "", "", f"{behind[name].wall_s * 1e3:.0f} ms")
        if server:
            setting.table.pair(f"{what}, {name}", "cp -r, find, ctags, MariaDB", compared(costs[name], costs["MariaDB"]))


def copied(top: Path, target: Path) -> None:
    """Copies a tree."""
    subprocess.run(["cp", "-r", str(top), str(target)], check=True)


def imported(top: Path, target: Path, server: mariadb.Server | None, setting: Setting) -> None:
    """Copies a tree, and imports what is found in the files."""
    assert server
    copied(top, target)
    with server.client() as client:
        client.run(f"DROP TABLE IF EXISTS files; DROP TABLE IF EXISTS functions; CREATE TABLE files ({COLUMNS});"
                   "CREATE TABLE functions (name VARBINARY(255), path VARBINARY(512), INDEX (name));")
        rows = output(["find", str(target), "-type", "f", "-printf", ATTRIBUTES])
        server.load(client, "files", (tuple(row.split(b"\t")) for row in rows), setting.work)
        tags = output(["ctags", "-R", "--languages=C", "--kinds-C=f", "--fields=", "--excmd=number", "-f", "-", str(target)])
        found = (row.split(b"\t")[:2] for row in tags)
        server.load(client, "functions", ((name, path) for name, path in found), setting.work)


def compare(setting: Setting, name: str, index: Path, target: Path) -> None:
    """Compares what the index says about a copy with what the files say: attributes, or the files with a word."""
    ask = [setting.trawl, "-i", str(index)]
    if "contents" in name:
        for word in setting.words[:1]:
            setting.same(f"a copy, the keyword {word}", set(output([*ask, "find", str(target), "-keyword", word])), setting.grepped(word, target))
    else:
        words = ["find", str(target), "-printf", "%P\\t%y\\t%s\\t%m\\t%T@\\n"]
        setting.same("a copy, attributes", set(output([*ask, *words])), set(output(words)))


PARTS: dict[str, Callable[[Setting], None]] = {
    "mixed": mixed, "updates": updates, "queries": queries, "recall": recall, "copy": copy, "keywords": keywords,
}


def main() -> int:
    """Reads the arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trawl", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--tree", type=Path)
    parser.add_argument("--only", type=lambda words: words.split(","), default=list(PARTS))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--updates", type=int, default=10_000)
    parser.add_argument("--writers", type=lambda words: tuple(map(int, words.split(","))), default=(1, 2, 4, 8, 16))
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--created", type=int, default=5_000)
    parser.add_argument("--words", type=lambda words: tuple(words.split(",")), default=("ethernet", "deadlock", "quota"))
    parser.add_argument("--parts", type=lambda words: tuple(words.split(",")), default=("Documentation", "drivers/net", "fs"))
    args = parser.parse_args()
    if unknown := set(args.only) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    args.work.mkdir(parents=True, exist_ok=True)
    # When this is terminated, mounts, daemons and servers must be cleaned up, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory(prefix="propeller-", dir=args.work) as work:
        # MariaDB runs as another user.
        os.chmod(work, 0o755)
        setting = Setting(Table(), str(args.trawl.resolve()), Path(work).resolve(), args.tree.resolve() if args.tree else None,
                          args.runs, args.files, args.updates, args.writers, args.copies, args.created, args.words, args.parts)
        for name in args.only:
            PARTS[name](setting)
    print(setting.table.markdown())
    return 1 if setting.failures else 0


if __name__ == "__main__":
    sys.exit(main())
