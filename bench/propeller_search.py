"""The searches of the bench of the paper on Propeller: Figure 12, words in contents, and Table 9."""

from __future__ import annotations

import contextlib
import functools
import json
import mmap
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import mariadb
from desktop import READY_S, Recoll, Tracker
from measure import Cost, compared, tree_bytes
from propeller_setting import COLUMNS, Setting, attributes, output, phrased, timed
from watched import mounted, watching

#: "Sample File Groups" (Table 8): names and numbers of files.
SAMPLES = {
    "safari": 3908, "firefox": 264, "word": 1251, "vmware-image": 1244, "boost": 29664, "libkdtree": 234, "django": 7119,
    "photos": 30398, "musics": 3083, "papers": 589,
}
TEXTS = {"libkdtree", "django", "papers"}
KEYWORD = "firefox"
PRUNED = "trawl, by groups"
GIB = 1 << 30
DAY_S = 86_400
UNCHANGED_S = 4


# Figure 12


def make_groups(root: Path, copies: int) -> None:
    """Makes the sample groups, this many times: "each "duplicated" semantic file group is given a different group ID"."""
    dice, now = random.Random(12), time.time()
    vocabulary = [f"{a}{b}{c}" for a in ("ka", "lo", "mi", "nu", "re") for b in ("bar", "den", "fil", "gos") for c in ("", "a", "en", "is", "um")]
    for number in range(copies):
        for name, count in SAMPLES.items():
            for file in range(count):
                folder = root / f"{name}-{number:03}" / f"part{file // 100:03}"
                if file % 100 == 0:
                    folder.mkdir(parents=True)
                path = folder / f"file{file:05}.{'txt' if name in TEXTS else 'dat'}"
                age_s = dice.expovariate(1 / (60 * DAY_S))
                if name in TEXTS:
                    chosen = dice.choices(vocabulary, k=60) + ([KEYWORD] if dice.random() < 0.05 else [])
                    path.write_text(" ".join(chosen) + "\n")
                else:
                    is_large = name == "vmware-image" and dice.random() < 0.2
                    with path.open("wb") as sparse:
                        sparse.truncate(int(GIB * dice.uniform(0.5, 4)) if is_large else int(min(dice.lognormvariate(9, 2.5), GIB // 2)))
                os.utime(path, (now - age_s, now - age_s))


def queries(setting: Setting) -> None:
    """Figure 12: "Query #1: size > 1 GB & mtime < 1day ; Query #2: keyword "firefox" & mtime < 1 week".

    The namespace consists of the sample groups of Table 8, with files that are real and, but for texts, sparse. "The
    keywords of each group are extracted from the directory names", so the keyword is one of a path; `trawl find` is
    asked about all paths. A third question is about the keyword in the contents of texts. The peer has a table of the
    groups' keywords and one of the texts' words, a column with the group's id (indexed), and the paper's index of
    paths; a second peer has indices of size and mtime, too. *By groups* prunes by the summaries of groups first (`trawl
    groups list`), as the paper does, and asks for files below those that are left. Nothing changes meanwhile. Each question starts a program
    (trawl, find, mariadb), whose time counts, as does the server's CPU time. The peer has no cache of answers.
    """
    root, index = setting.work / "queries", setting.index("queries-index")
    shutil.rmtree(root, ignore_errors=True)
    try:
        make_groups(root, setting.copies)
        # The contents of a file that has just been changed are not indexed yet.
        time.sleep(UNCHANGED_S)
        subprocess.run([setting.trawl, "-i", str(index), "index", "--quiet", "--keywords", "--issues", "none", str(root)], check=False)
        day, week = (int(time.time()) - age_s for age_s in (DAY_S, 7 * DAY_S))
        with contextlib.ExitStack() as stack:
            server = None
            if reason := mariadb.missing():
                setting.table.fact("queries", "MariaDB", reason, "")
            else:
                server = stack.enter_context(described(setting, root))
            questions(setting, root, index, server, day, week)
    finally:
        shutil.rmtree(root, ignore_errors=True)
        shutil.rmtree(index, ignore_errors=True)


def lasting(since_s: int) -> str:
    """Returns an age that reaches back to that time, and a minute more."""
    return f"{int(time.time()) - since_s + 60}s"


def pruned(ours: list[str], root: Path, group_tests: list[str], tests: list[str]) -> list[bytes]:
    """Asks for the groups that may have such files by their summaries, and only for files below these."""
    groups = output([*ours, "groups", "list", "--json", *group_tests, str(root)])
    places = {json.loads(group)["place"] for group in groups}
    return output([*ours, "find", *sorted(places), *tests]) if places else []


@contextlib.contextmanager
def described(setting: Setting, root: Path) -> Iterator[mariadb.Server]:
    """Runs a server with the same attributes, the groups' keywords and the texts' words."""
    with mariadb.serving(setting.work, "--innodb-buffer-pool-size=512M", "--innodb-flush-log-at-trx-commit=0") as server, server.client() as client:
        client.run(f"CREATE TABLE files ({COLUMNS}, grp INT, INDEX (grp));"
                   "CREATE TABLE keywords (word VARBINARY(64), grp INT, PRIMARY KEY (word, grp));"
                   "CREATE TABLE words (word VARBINARY(64), path VARBINARY(512), PRIMARY KEY (word, path));")
        numbers = {name: number for number, name in enumerate(sorted(os.listdir(root)))}
        files = [Path(top, name) for top, _, names in os.walk(root) for name in names]
        group = {path: numbers[path.relative_to(root).parts[0]] for path in files}
        server.load(client, "files", ((*attributes(bytes(path)), group[path]) for path in files), setting.work)
        keywords_of = {(word, group[path]) for path in files for part in path.relative_to(root).parts[:-1] for word in re.findall(r"[^\W_]+", part)}
        server.load(client, "keywords", sorted(keywords_of), setting.work)
        texts = ((path, set(re.findall(r"[^\W_]+", path.read_text().lower()))) for path in files if path.suffix == ".txt")
        server.load(client, "words", ((word, bytes(path)) for path, found in texts for word in sorted(found)), setting.work)
        client.run("CREATE TABLE indexed LIKE files; ALTER TABLE indexed ADD INDEX (size), ADD INDEX (mtime); INSERT INTO indexed SELECT * FROM files;"
                   "ANALYZE TABLE files, keywords, words, indexed;")
        yield server


def questions(setting: Setting, root: Path, index: Path, server: mariadb.Server | None, day: int, week: int) -> None:
    """Asks the questions of all systems in turn."""
    asked = [
        ("query 1: size > 1 GiB, mtime < 1 day", ["-type", "f", "-size", f"+{GIB}c", "-newermt", f"@{day}"],
         f"SELECT path FROM {{}} WHERE size > {GIB} AND mtime >= {day}", [], ["--min-size", "1G", "--newer", lasting(day)]),
        (f"query 2: keyword {KEYWORD} in the path, mtime < 1 week", ["-type", "f", "-path", f"*/{KEYWORD}-*/*", "-newermt", f"@{week}"],
         f"SELECT path FROM {{}} JOIN keywords USING (grp) WHERE word = '{KEYWORD}' AND mtime >= {week}", [],
         ["--word", KEYWORD, "--newer", lasting(week)]),
        (f"keyword {KEYWORD} in the text, mtime < 1 week", ["-name", "*.txt", "-newermt", f"@{week}", "-keyword", KEYWORD],
         f"SELECT path FROM {{}} JOIN words USING (path) WHERE word = '{KEYWORD}' AND mtime >= {week}",
         ["-exec", "grep", "-liw", KEYWORD, "{}", "+"], []),
    ]
    for what, tests, sql, instead, group_tests in asked:
        plain = [word for word in tests if word not in ("-keyword", KEYWORD)] + instead
        ours = [setting.trawl, "-i", str(index)]
        commands = {"trawl": [*ours, "find", str(root), *tests], "find": ["find", str(root), *plain]}
        asks: dict[str, Callable[[], list[bytes]]] = {name: functools.partial(output, words) for name, words in commands.items()}
        if group_tests:
            asks[PRUNED] = functools.partial(pruned, ours, root, group_tests, tests)
        if server:
            for name, table in (("MariaDB", "files"), ("MariaDB, size and mtime indexed", "indexed")):
                asks[name] = functools.partial(output, [*server.words, "-e", sql.format(table)])
        costs: dict[str, list[Cost]] = {}
        answers: dict[str, set[bytes]] = {}
        for turn in range(setting.runs + 1):
            for name, ask in asks.items():
                lines: list[bytes] = []
                cost = timed(lambda: lines.extend(ask()), [server.pid] if server and name.startswith("Maria") else [])
                answers[name] = set(lines)
                if turn:
                    costs.setdefault(name, []).append(cost)
        count = phrased(len(answers["find"]), "file")
        for name in asks:
            setting.same(f"{what}, {name}", answers[name], answers["find"])
            if name != "trawl":
                setting.table.pair(f"{what}: {count} of {setting.copies * sum(SAMPLES.values()):,}", name, compared(costs["trawl"], costs[name]), by="wall")
        if not answers["find"]:
            setting.failures.append(f"{what}: no file is found, so nothing is compared")


# Words in contents


def keywords(setting: Setting) -> None:
    """The time of making an index of words, once, and of asking it, beside recoll.

    Both indexes are made from nothing, of the same directory, which is in memory; ours includes all attributes, and
    what hooks find besides words. Ours is compared with GNU grep, file by file. Of recoll's answer a row says how it
    differs: recoll leaves out files of kinds that it does not know by their names, such as Makefiles.
    """
    if reason := setting.needs_tree() or Recoll.missing():
        setting.table.fact("keywords", "recoll", reason, "")
        return
    for top in setting.tops():
        files = [path for path in top.rglob("*") if path.is_file() and not path.is_symlink()]
        text_bytes = sum(len(path.read_bytes()) for path in files)
        index = setting.index("keywords-index")
        words = [setting.trawl, "-i", str(index), "index", "--quiet", "--keywords", "--issues", "none", str(top)]
        with Recoll.configured(setting.work, [top]) as peer:
            ours = timed(lambda: subprocess.run(words, check=False))
            theirs = timed(peer.index)
            rate = text_bytes / 1e6 / ours.cpu_s
            setting.table.pair(f"the words of {len(files):,} files of {top.name}, {text_bytes / 1e6:.0f} MB: {rate:.1f} MB per second of one core",
                               "recoll", compared([ours], [theirs]), said=f">= 30 MB: {'met' if rate >= 30 else 'NOT met'}")
            setting.table.fact("bytes of that index", "recoll", f"{tree_bytes(peer.folder):,}", f"{tree_bytes(index):,}")
            for word in setting.words:
                asked(setting, index, top, peer, word)
        shutil.rmtree(index)


def asked(setting: Setting, index: Path, top: Path, peer: Recoll, word: str) -> None:
    """Asks for one word."""
    ours = [setting.trawl, "-i", str(index), "find", str(top), "-keyword", word]
    costs: dict[str, list[Cost]] = {"trawl": [], "recoll": []}
    for turn in range(setting.runs + 1):
        mine, theirs = timed(lambda: output(ours)), timed(lambda: output(peer.question(word)))
        if turn:
            costs["trawl"].append(mine)
            costs["recoll"].append(theirs)
    expected, named = setting.grepped(word, top), {path for path in peer.keyword(word) if os.path.isfile(path)}
    setting.same(f"the keyword {word} in {top.name}", set(output(ours)), expected)
    pair = compared(costs["trawl"], costs["recoll"])
    other = "" if named == expected else f" (misses {len(expected - named)} files, names {len(named - expected)} others)"
    setting.table.pair(f"the keyword {word} in {top.name}: {phrased(len(expected), 'file')}", f"recoll{other}", pair,
                       said=f"wall <= 20 ms: {'met' if pair.ours.wall_s <= 0.02 else 'NOT met'}")


# Table 9

GROUPS = 20
BEFORE = 2_000
SEARCHES = 12
OLD, NEW = "basis", "novelty"

# Arguments: a directory, and the client's command. Writes a row for each file that is closed after writing.
FEEDER = """
import os, subprocess, sys
watch = subprocess.Popen(["inotifywait", "-q", "-m", "-r", "-e", "close_write", "--format", "%w%f", sys.argv[1]], stdout=subprocess.PIPE, text=True)
client = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, text=True)
for line in watch.stdout:
    path = line.rstrip("\\n")
    try:
        seen = os.stat(path)
    except FileNotFoundError:
        continue
    client.stdin.write(f"REPLACE INTO files (path, size, mtime) VALUES ('{path}', {seen.st_size}, {int(seen.st_mtime)});\\n")
    client.stdin.flush()
"""

Ask = Callable[[], set[bytes]]
System = Callable[[Setting, Path, int], "contextlib.AbstractContextManager[dict[str, Ask]]"]


@contextlib.contextmanager
def our_answers(setting: Setting, root: Path, since_s: int) -> Iterator[dict[str, Ask]]:
    """Runs `trawl watch` with an index of attributes and words."""
    index = setting.index("recall-index")
    ask = [setting.trawl, "-i", str(index), "find", str(root), "-type", "f"]
    subprocess.run([setting.trawl, "-i", str(index), "index", "--quiet", "--keywords", str(root)], check=True)
    with watching(setting.trawl, index, root):
        yield {"attributes": lambda: set(output([*ask, "-newermt", f"@{since_s - 1}"])), "keywords": lambda: set(output([*ask, "-keyword", NEW]))}
    shutil.rmtree(index)


@contextlib.contextmanager
def mariadbs_answers(setting: Setting, root: Path, since_s: int) -> Iterator[dict[str, Ask]]:
    """Runs MariaDB: "we use inotify to capture the file changes and then insert these changes into MySQL as fast as possible"."""
    with mariadb.serving(setting.work, "--innodb-flush-log-at-trx-commit=0") as server, server.client() as client:
        client.run("CREATE TABLE files (path VARBINARY(512) PRIMARY KEY, size BIGINT, mtime BIGINT);")
        feeder = subprocess.Popen([sys.executable, "-c", FEEDER, str(root), *server.words], start_new_session=True)
        try:
            time.sleep(2)
            yield {"attributes": lambda: set(output([*server.words, "-e", f"SELECT path FROM files WHERE mtime >= {since_s}"]))}
        finally:
            os.killpg(feeder.pid, 15)
            feeder.wait()


@contextlib.contextmanager
def recolls_answers(setting: Setting, root: Path, _: int) -> Iterator[dict[str, Ask]]:
    """Runs recoll's daemon. It knows the day of a file, not the time."""
    with Recoll.configured(setting.work, [root]) as peer:
        peer.index()
        with peer.watching():
            settled(lambda: peer.keyword(OLD))
            yield {"keywords": lambda: peer.keyword(NEW)}


@contextlib.contextmanager
def trackers_answers(setting: Setting, root: Path, since_s: int) -> Iterator[dict[str, Ask]]:
    """Runs Tracker."""
    with Tracker.watching(setting.work, root) as peer:
        settled(lambda: peer.keyword(OLD))
        yield {"attributes": lambda: {path for path in peer.newer(since_s) if path.endswith(b".txt")}, "keywords": lambda: peer.keyword(NEW)}


def settled(ask: Ask) -> None:
    """Waits until all files that exist before are found."""
    until = time.monotonic() + READY_S
    while len(ask()) < BEFORE:
        if time.monotonic() > until:
            raise RuntimeError(f"an indexer does not know the first {BEFORE:,} files after {READY_S:.0f} s")
        time.sleep(0.5)


SYSTEMS: dict[str, tuple[System, Callable[[], str]]] = {
    "trawl": (our_answers, lambda: ""),
    "MariaDB fed by inotify": (mariadbs_answers, lambda: mariadb.missing("inotifywait")),
    "Tracker (localsearch)": (trackers_answers, Tracker.missing),
    "recoll": (recolls_answers, Recoll.missing),
}
#: The recall of a search and the time when it was answered, from the beginning of the creations.
Recall = tuple[float, float]


def recall(setting: Setting) -> None:
    """Table 9: recall while files are being created in 20 directories.

    "recall = |{changed files} ∩ {search results}| / |{changed files}|" (section 4.5). A process creates small texts as fast
    as it can. The first search is asked when half of them exist, the next ones a second after the last answer, until
    they are stable. {changed files} are those that were complete before the search was asked. The questions are
    "mtime > now - 1 minute" (with a time instead of the minute) and a word that all new texts have. Systems run one
    after the other on a file system of their own, as they would disturb each other. Ours must be complete, and must
    name nothing else.
    """
    if reason := setting.needs_root():
        setting.table.fact("recall", "", "", reason)
        return
    told: dict[str, dict[str, list[Recall]]] = {}
    for name, (system, missing) in SYSTEMS.items():
        if reason := missing():
            setting.table.fact("recall", name, reason, "")
            continue
        image = setting.work / "recall.ext4"
        with mounted("ext4", image) as root:
            told[name] = recall_of(setting, name, system, root)
        image.unlink()
    mine = told.pop("trawl")
    for kind, ours in mine.items():
        least = min(share for share, _ in ours)
        for name, results in told.items():
            if theirs := results.get(kind):
                share = f"{ours[0][0] / theirs[0][0]:.2f}" if theirs[0][0] else "nothing found"
                setting.table.add((f"recall of {kind}, {setting.created:,} files created", name, series(theirs), series(ours),
                                   f"first search: recall {share}, wall {ours[0][1] / theirs[0][1]:.3f}",
                                   f"recall 100 %: {'met' if least == 1 else 'NOT met'}"))


def series(results: list[Recall]) -> str:
    """Formats recalls as Table 9 does."""
    return ", ".join(f"{share:.1%} ({at_s:.2f} s)" for share, at_s in results)


def recall_of(setting: Setting, name: str, system: System, root: Path) -> dict[str, list[Recall]]:
    """Returns the recalls of one system."""
    folders = [root / f"g{number:02}" for number in range(GROUPS)]
    old_s = int(time.time()) - 7200
    for folder in folders:
        folder.mkdir()
        for number in range(BEFORE // GROUPS):
            path = folder / f"old{number:04}.txt"
            path.write_text(f"{OLD} text number {number}\n")
            os.utime(path, (old_s, old_s))
    dice = random.Random(9)
    created = [bytes(dice.choice(folders) / f"new{number:06}.txt") for number in range(setting.created)]
    results: dict[str, list[Recall]] = {}
    since_s = int(time.time())
    with system(setting, root, since_s) as answers:
        done = mmap.mmap(-1, 8)
        begun, child = time.monotonic(), os.fork()
        if child == 0:
            create(created, done)
        searches = 0
        while searches < SEARCHES:
            while searches == 0 and count(done) < setting.created // 2:
                time.sleep(0.001)
            for kind, ask in answers.items():
                complete = set(created[:count(done)])
                found = ask()
                results.setdefault(kind, []).append((len(found & complete) / len(complete), time.monotonic() - begun))
                if name == "trawl":
                    setting.same(f"recall of {kind}, search {searches + 1}", found - (set(created) - complete), complete)
            searches += 1
            if count(done) == setting.created and all(is_stable(shares) for shares in results.values()):
                break
            time.sleep(1)
        if os.waitpid(child, 0)[1]:
            sys.exit("the process that creates files failed")
    return results


def create(paths: list[bytes], done: mmap.mmap) -> None:
    """Creates the files, and counts those that are complete; ends the process."""
    code = 1
    try:
        for number, path in enumerate(paths):
            file = os.open(path, os.O_CREAT | os.O_WRONLY, 0o644)
            os.write(file, b"A %s of the number %d, which is a small text about nothing in particular.\n" % (NEW.encode(), number))
            os.close(file)
            struct.pack_into("<q", done, 0, number + 1)
        code = 0
    finally:
        os._exit(code)


def count(done: mmap.mmap) -> int:
    """Returns how many files are complete."""
    return int(struct.unpack_from("<q", done, 0)[0])


def is_stable(results: list[Recall]) -> bool:
    """Returns whether the last recalls are all complete, or have not changed."""
    shares = [share for share, _ in results]
    return len(shares) >= 3 and shares[-1] > 0 and len(set(shares[-2:])) == 1 and (shares[-1] == 1 or len(set(shares[-5:])) == 1 and len(shares) >= 5)
