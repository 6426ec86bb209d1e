#!/usr/bin/env python3
"""Servers: questions to another machine; the service for many users: connections, search as you type, a soak. As root.

usage: service.py TRAWL WORK [--generator FILE] [--trees DIR] [--rows N] [--runs N] [--only PART,…]
                  [--idle N] [--busy N] [--users N] [--minutes N]

TRAWL is the release binary with trawl-http beside it, WORK a directory, `--generator` the program that writes traces.
`bench/run.py` calls this as its part `service`. The parts:

    remote       `trawl --remote unix:SOCKET` beside the same question asked without a server, over a million rows
    connections  memory of all processes of the service with `--idle` connections of HTTP/2 that have asked something, and
                 with `--busy` more that ask all the time
    typing       names typed letter by letter over `--rows` rows (10 M), each letter asked as the page asks it, until the
                 first 100 hits are there; beside `plocate -i -l 100` over the same paths, started for each letter
    soak         `--users` users for `--minutes` minutes, who type, look at sizes, and search a watched tree while
                 writers create and remove files in it. Every answer is checked

The users exist in a mount namespace of the service alone, with passwd and group files of its own. What the soak checks:
an answer about the generated tree equals the command line's, run as that user. An answer about the watched tree has
every file that was complete before the question and is not being removed, and none that was gone before it or was not
begun after it. A directory that only its owner may enter shows nothing to others. The bench ends with 1 if an answer is
wrong. All traffic is on the loopback device.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import resource
import signal
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from generated import ROOT, Made, make
from measure import paired, run
from names import build_database
from report import Table
from watched import mounted, watching

MIB = 1 << 20
FIRST_UID = 60_000
#: A user of the service has at most 32 questions at a time, and an address 256 connections (docs/web.md).
OF_ONE_USER = 8
OF_ONE_ADDRESS = 200
READY_S = 60.0
ANSWER_S = 120.0
HITS = 100
LETTERS = 6
NAMES = 40
SOAK_ROWS = 1_000_000
Answer = dict[str, Any]


@dataclass(frozen=True)
class Setting:
    """The settings of all parts."""

    table: Table
    trawl: Path
    work: Path
    trees: Path
    generator: str
    rows: int
    runs: int
    idle: int
    busy: int
    users: int
    minutes: float
    random: random.Random

    def made(self, rows: int) -> Made:
        """Returns an index of generated rows."""
        return make(str(self.trawl), self.generator, self.trees, rows)


# The service


@dataclass
class Service:
    """A running service."""

    pid: int
    port: int
    authority: str
    tls: ssl.SSLContext
    tokens: list[str]

    def memory_bytes(self) -> tuple[int, int]:
        """Returns the memory of all its processes, shared pages counted once (PSS), and the number of processes."""
        pids = [self.pid]
        for pid in pids:
            with contextlib.suppress(OSError):
                for thread in Path(f"/proc/{pid}/task").iterdir():
                    pids.extend(int(child) for child in (thread / "children").read_text().split())
        total = 0
        for pid in pids:
            with contextlib.suppress(OSError):
                lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
                total += sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))
        return total, len(pids)


@contextlib.contextmanager
def serving(setting: Setting, index: Path, users: Sequence[int]) -> Iterator[Service]:
    """Runs the service for users with these ids, over an index."""
    with tempfile.TemporaryDirectory(prefix="trawl-service-", dir="/var/tmp") as name:
        place = Path(name)
        place.chmod(0o755)
        lines = "".join(f"u{uid}:x:{uid}:{uid}::/:/bin/sh\n" for uid in users)
        (place / "passwd").write_text(f"root:x:0:0::/:/bin/sh\nfront:x:59999:59999::/:/bin/sh\n{lines}")
        (place / "group").write_text("root:x:0:\n")
        (place / "bin").mkdir()
        (place / "index").mkdir()
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                        "-keyout", place / "key.pem", "-out", place / "cert.pem"], check=True, capture_output=True)
        # Users may not be able to reach the places where the program and the index are.
        script = ('cd "$1" && mount --bind passwd /etc/passwd && mount --bind group /etc/group && mount --bind "$2" bin && '
                  'mount --bind "$3" index && shift 3 && exec "$@"')
        inside = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh",
                  str(place), str(setting.trawl.parent), str(index)]
        trawl = [f"{place}/bin/{setting.trawl.name}", "-i", f"{place}/index"]
        words = ["serve", "--http", "127.0.0.1:0", "--cert", f"{place}/cert.pem", "--key", f"{place}/key.pem",
                 "--tls-user", "front", "--sessions", f"{place}/state", "--record", f"{place}/record"]
        process = subprocess.Popen([*inside, *trawl, *words], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        try:
            tokens = []
            for uid in users:
                create = ["token", "create", "--user", f"u{uid}", "--directory", f"{place}/state"]
                made = subprocess.run([*inside, *trawl, *create], check=True, capture_output=True, text=True)
                tokens.append(made.stdout.strip())
            port = 0
            for line in process.stderr:
                if "https://127.0.0.1:" in line:
                    port = int(line.rsplit(":", 1)[1])
                    break
                print(f"  {line.rstrip()}", file=sys.stderr)
            else:
                sys.exit("the service did not start")
            echo = threading.Thread(target=lambda: [print(f"  {line.rstrip()}", file=sys.stderr) for line in process.stderr or []])
            echo.start()
            tls = ssl.create_default_context(cafile=str(place / "cert.pem"))
            yield Service(process.pid, port, (place / "cert.pem").read_text(), tls, tokens)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


class Refused(Exception):
    """An answer that is no answer, with its status."""


class Client:
    """A connection that stays open: HTTP/1.1 over TLS."""

    def __init__(self, service: Service, number: int = 0) -> None:
        self.service = service
        self.tls = service.tls
        self.address = f"127.0.{1 + number // OF_ONE_ADDRESS}.1"
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self.cursor = ""

    async def open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connects, if it is not connected."""
        if self.streams is None:
            self.streams = await asyncio.open_connection(
                "127.0.0.1", self.service.port, ssl=self.tls, server_hostname="localhost", local_addr=(self.address, 0))
        return self.streams

    async def ask(self, token: str, name: str, arguments: Answer) -> Answer:
        """Returns an answer, and drops the rest of the one before, as the page does; a refusal is an error."""
        if self.cursor:
            cursor, self.cursor = self.cursor, ""
            await self.send(token, "DELETE", f"more?cursor={cursor}", b"")
        answer = dict(json.loads(await self.send(token, "POST", name, json.dumps(arguments).encode())))
        self.cursor = answer.get("cursor") or ""
        return answer

    async def send(self, token: str, method: str, name: str, body: bytes) -> bytes:
        """Returns the body of an answer."""
        head = (f"{method} /api/v1/{name} HTTP/1.1\r\nHost: localhost:{self.service.port}\r\nAuthorization: Bearer {token}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n")
        was_open = self.streams is not None
        reader, writer = await self.open()
        writer.write(head.encode() + body)
        try:
            async with asyncio.timeout(ANSWER_S):
                status, answer = await answered(reader)
        except (OSError, EOFError, ValueError, TimeoutError) as error:
            self.close()
            # The server closes connections that nobody has asked on for a while.
            if was_open and isinstance(error, asyncio.IncompleteReadError) and not error.partial:
                return await self.send(token, method, name, body)
            raise Refused(type(error).__name__) from error
        if status not in (200, 204):
            raise Refused(str(status))
        return answer

    def close(self) -> None:
        """Ends the connection."""
        if self.streams is not None:
            self.streams[1].transport.abort()
            self.streams = None


class Browser(Client):
    """A connection of HTTP/2, which stays open while nobody asks; one of HTTP/1.1 is closed soon."""

    async def greet(self, token: str) -> None:
        """Asks as whom the server answers."""
        self.tls = ssl.create_default_context(cadata=self.service.authority)
        self.tls.set_alpn_protocols(["h2"])
        reader, writer = await self.open()
        # RFC 7541: indexed fields, and literal ones with indexed names (path, authority, authorization).
        texts = [(b"\x04", b"/api/v1/me"), (b"\x01", b"localhost:%d" % self.service.port), (b"\x0f\x08", f"Bearer {token}".encode())]
        fields = b"\x82\x87" + b"".join(name + bytes([len(text)]) + text for name, text in texts)
        writer.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS) + frame(HEADERS, END_STREAM | END_HEADERS, 1, fields))
        async with asyncio.timeout(ANSWER_S):
            kind = flags = 0
            while kind not in (DATA, HEADERS) or not flags & END_STREAM:
                head = await reader.readexactly(9)
                kind, flags = head[3], head[4]
                payload = await reader.readexactly(int.from_bytes(head[:3]))
                # The status is a field of the static table: 200.
                if kind == HEADERS and payload[0] != 0x88:
                    raise Refused("not 200")
                if kind == SETTINGS and not flags & ACK:
                    writer.write(frame(SETTINGS, ACK))
        self.kept = asyncio.create_task(self.keep(reader, writer))

    async def keep(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers the server's pings, until it closes the connection."""
        with contextlib.suppress(OSError, EOFError):
            while True:
                head = await reader.readexactly(9)
                payload = await reader.readexactly(int.from_bytes(head[:3]))
                if head[3] == PING and not head[4] & ACK:
                    writer.write(frame(PING, ACK, 0, payload))


DATA, HEADERS, SETTINGS, PING = 0, 1, 4, 6
END_STREAM, END_HEADERS, ACK = 1, 4, 1


def frame(kind: int, flags: int = 0, stream: int = 0, payload: bytes = b"") -> bytes:
    """Returns a frame (RFC 9113)."""
    return len(payload).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + payload


async def answered(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Reads the status and the body of an answer."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
    headers = dict(line.split(": ", 1) for line in head[1:] if ": " in line)
    status = int(head[0].split()[1])
    if headers.get("transfer-encoding") != "chunked":
        return status, await reader.readexactly(int(headers.get("content-length", 0)))
    body = b""
    while length := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        body += (await reader.readexactly(length + 2))[:-2]
    await reader.readuntil(b"\r\n")
    return status, body


def typed(text: str) -> Answer:
    """Returns what the page asks when somebody has typed a text (web/src/lib/name-words.ts)."""
    return {"paths": [ROOT], "expression": ["-iname", f"*{text}*"], "limit": HITS}


# Questions to another machine


def remote(setting: Setting) -> None:
    """Compares questions to a server of this machine with the same questions asked directly."""
    made = setting.made(SOAK_ROWS)
    with tempfile.TemporaryDirectory(prefix="trawl-service-", dir="/var/tmp") as name:
        socket = f"{name}/socket"
        with subprocess.Popen([setting.trawl, "-i", made.path, "serve", "--listen", f"unix:{socket}"], stderr=subprocess.DEVNULL) as server:
            try:
                until = time.monotonic() + READY_S
                while not Path(socket).exists():
                    if time.monotonic() > until:
                        sys.exit("the server did not start")
                    time.sleep(0.01)
                for what, words in [("a directory", ["find", ROOT, "-maxdepth", "1"]), ("-name '*.tar'", ["find", ROOT, "-name", "*.tar"]),
                                    ("all paths", ["find", ROOT]), ("du -s", ["du", "-s", ROOT])]:
                    ours = [str(setting.trawl), "--remote", f"unix:{socket}", *words]
                    pair = paired(ours, made.ask(str(setting.trawl), *words), setting.runs)
                    setting.table.pair(f"{what}, asked at a server (CPU of the client alone)", "asked directly", pair, by="wall")
            finally:
                server.terminate()


def per_mille(times: list[float], share: float) -> float:
    """Returns the time in ms that this share of the times does not exceed."""
    ordered = sorted(times)
    return 1e3 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def spread(times: list[float]) -> str:
    """Formats the median, the 99th percentile and the longest of times."""
    return f"{per_mille(times, 0.5):.0f} / {per_mille(times, 0.99):.0f} / {1e3 * max(times):.0f} ms"


# Connections


def connections(setting: Setting) -> None:
    """Measures the memory of connections."""
    users = [FIRST_UID + number for number in range(-(-setting.busy // OF_ONE_USER))]
    with serving(setting, setting.made(SOAK_ROWS).path, users) as service:
        asyncio.run(crowd(setting, service))


async def crowd(setting: Setting, service: Service) -> None:
    """Opens the connections, and reads the memory."""
    gate = asyncio.Semaphore(100)

    async def begin(number: int) -> Browser:
        async with gate:
            client = Browser(service, number)
            await client.greet(service.tokens[number % len(service.tokens)])
            return client

    begun = time.monotonic()
    idle = await asyncio.gather(*(begin(number) for number in range(setting.idle)))
    opened_s = time.monotonic() - begun
    quiet, processes = service.memory_bytes()
    setting.table.fact(f"memory of the service with {setting.idle:,} idle connections over TLS ({processes} processes; opened in {opened_s:.0f} s)",
                       "", "", f"{quiet / MIB:.0f} MiB")
    asked = refused = 0
    is_over = asyncio.Event()

    async def work(number: int) -> None:
        nonlocal asked, refused
        client, chosen = Client(service, setting.idle + number), random.Random(number)
        while not is_over.is_set():
            try:
                await client.ask(service.tokens[number % len(service.tokens)], "find", typed(chosen.choice("abcdefgh")))
                asked += 1
            except Refused as why:
                refused += 1
                # The rate of one user is bounded.
                await asyncio.sleep(1 if str(why) == "429" else 0)
        client.close()

    workers = [asyncio.create_task(work(number)) for number in range(setting.busy)]
    most, count = 0, 0
    until = time.monotonic() + 20
    while time.monotonic() < until:
        await asyncio.sleep(1)
        most, count = max((most, count), await asyncio.to_thread(service.memory_bytes))
    is_over.set()
    await asyncio.gather(*workers)
    lost = sum(client.kept.done() for client in idle)
    setting.table.fact(f"the most with {setting.busy} more that ask all the time ({count} processes of {len(service.tokens)} users; "
                       f"{asked} answers and {refused} refusals in 20 s; {lost} idle connections lost)",
                       "", "", f"{most / MIB:.0f} MiB", "<= 400 MiB", most <= 400 * MIB)
    for client in idle:
        client.close()


# Search as you type


def typing(setting: Setting) -> None:
    """Measures the time from a letter to its first hits."""
    made = setting.made(setting.rows)
    every = max(1, setting.rows // 20_000)
    listed = subprocess.run(made.ask(str(setting.trawl), "find", ROOT, "-type", "f", "-printf", "%f\\n"), check=False, capture_output=True)
    names = [name for name in listed.stdout.decode(errors="ignore").split("\n")[::every] if len(name) >= LETTERS]
    chosen = [name[:LETTERS].lower() for name in setting.random.sample(names, min(NAMES, len(names)))]
    with serving(setting, made.path, [FIRST_UID]) as service:
        ours = asyncio.run(letters(service, chosen))
    peer: dict[int, list[float]] = {}
    database = build_database(str(setting.trawl), made, setting.work)
    for name in chosen if database else []:
        for length in range(1, LETTERS + 1):
            cost = run(["plocate", "-d", str(database), "-i", "-l", str(HITS), name[:length]])
            peer.setdefault(length, []).append(cost.wall_s)
    for length, times in ours.items():
        beside = peer.get(length, [])
        said = f"{per_mille(times, 0.5) / per_mille(beside, 0.5):.2f}" if beside else ""
        setting.table.add((f"letter {length} of {len(times)} names over {setting.rows:,} rows: median / 99 % / longest",
                           "plocate" if beside else "", spread(beside) if beside else "", spread(times), said, ""))
    every_time = [one for times in ours.values() for one in times]
    met = per_mille(every_time, 0.99) <= 100
    setting.table.fact("all letters: median / 99 % / longest", "", "", spread(every_time), "99 % <= 100 ms", met)


async def letters(service: Service, names: list[str]) -> dict[int, list[float]]:
    """Types names; returns the times by number of letters."""
    client, times = Client(service), dict[int, list[float]]()
    await client.ask(service.tokens[0], "find", typed("x"))
    for name in names:
        for length in range(1, LETTERS + 1):
            begun = time.monotonic()
            await client.ask(service.tokens[0], "find", typed(name[:length]))
            times.setdefault(length, []).append(time.monotonic() - begun)
            # A user may ask 25 questions a second.
            await asyncio.sleep(0.05)
    client.close()
    return times


# The soak


@dataclass
class Writer:
    """Creates and removes files `0`, `1`, … of a directory; knows between which two all must be."""

    folder: Path
    owner: int | None
    begun: int = 0
    created: int = 0
    removing: int = 0
    removed: int = 0

    def work(self, is_over: threading.Event, rhythm: random.Random) -> None:
        """Writes until the end; some 60 files are there at a time."""
        while not is_over.wait(rhythm.uniform(0.01, 0.1)):
            self.begun += 1
            (self.folder / str(self.begun - 1)).write_bytes(b"x")
            self.created = self.begun
            if self.created - self.removed > 60:
                self.removing = self.removed + 1
                (self.folder / str(self.removed)).unlink()
                self.removed = self.removing


@dataclass
class Seen:
    """What the soak has seen."""

    times: dict[str, list[float]] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    incomplete: int = 0
    wrong: list[str] = field(default_factory=list)


def soak(setting: Setting) -> None:
    """Lets many users ask while files change."""
    users = [FIRST_UID + number for number in range(setting.users)]
    with tempfile.TemporaryDirectory(prefix="service-", dir=setting.work) as name, mounted("ext4", Path(name, "image")) as tree:
        index = Path(name, "index")
        with subprocess.Popen([setting.generator, str(SOAK_ROWS), "42"], stdout=subprocess.PIPE) as source:
            subprocess.run([setting.trawl, "-i", index, "index", "--quiet", "--from-trace", "-", "--root", ROOT], stdin=source.stdout, check=False)
        writers = []
        for number, uid in enumerate(users[: max(2, setting.users // 5)]):
            folder = tree / f"{number:03}"
            folder.mkdir()
            is_private = number % 2 == 0
            folder.chmod(0o700 if is_private else 0o755)
            if is_private:
                os.chown(folder, uid, uid)
            writers.append(Writer(folder, uid if is_private else None))
        fixed = {uid: expected(setting, index, uid) for uid in users[:2]}
        is_over = threading.Event()
        seeds = [random.Random(setting.random.random()) for _ in writers]
        threads = [threading.Thread(target=writer.work, args=(is_over, seed)) for writer, seed in zip(writers, seeds)]
        with watching(str(setting.trawl), index, tree), serving(setting, index, users) as service:
            for thread in threads:
                thread.start()
            seen, begun = Seen(), time.monotonic()
            until = begun + 60 * setting.minutes

            async def all_users() -> None:
                await asyncio.gather(*(person(setting, service, number, writers, fixed, seen, until) for number in range(len(users))))

            try:
                asyncio.run(all_users())
                memory, processes = service.memory_bytes()
            finally:
                is_over.set()
                for thread in threads:
                    thread.join()
        report(setting, seen, memory, processes, time.monotonic() - begun)


def expected(setting: Setting, index: Path, uid: int) -> list[tuple[str, Answer, list[Answer]]]:
    """Returns questions about the generated tree, and what the command line answers as this user."""
    # The user may not be able to reach the program and the index by their paths.
    asked: list[tuple[str, Answer, list[str]]] = [
        ("find", {"paths": [ROOT], "expression": ["-size", "+500M"]}, ["find", ROOT, "-size", "+500M", "--json"]),
        ("find", {"paths": [ROOT], "expression": ["-name", "*.tar", "-size", "+1M"]}, ["find", ROOT, "-name", "*.tar", "-size", "+1M", "--json"]),
        ("du", {"paths": [ROOT], "max_depth": 1}, ["du", "--json", "--max-depth=1", ROOT]),
        ("stats", {"paths": [ROOT], "by": "type"}, ["stats", "--json", "--by", "type", ROOT]),
        ("ls", {"paths": [ROOT]}, ["ls", "--json", "-A", ROOT]),
    ]
    answers = []
    with tempfile.TemporaryDirectory(prefix="trawl-service-", dir="/var/tmp") as name:
        os.chmod(name, 0o755)
        script = ('cd "$1" && mkdir -p bin index && mount --bind "$2" bin && mount --bind "$3" index && shift 3 && '
                  'exec setpriv --reuid "$0" --regid "$0" --clear-groups "$@"')
        for question, arguments, words in asked:
            inside = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, str(uid),
                      name, str(setting.trawl.parent), str(index)]
            ran = subprocess.run([*inside, f"{name}/bin/{setting.trawl.name}", "-i", f"{name}/index", *words], check=False, capture_output=True)
            if ran.returncode > 1:
                sys.exit(f"{words}: {ran.stderr.decode()}")
            rows = [dict(json.loads(line)) for line in ran.stdout.splitlines()]
            answers.append((question, {**arguments, "limit": 10_000}, rows))
    return answers


async def person(setting: Setting, service: Service, number: int, writers: list[Writer],
                 fixed: dict[int, list[tuple[str, Answer, list[Answer]]]], seen: Seen, until: float) -> None:
    """Asks as somebody would, and checks the answers."""
    uid, token, mood = FIRST_UID + number, service.tokens[number], random.Random(number)
    client = Client(service, number)

    async def ask(kind: str, name: str, arguments: Answer) -> Answer | None:
        begun = time.monotonic()
        try:
            answer = await client.ask(token, name, arguments)
        except Refused as why:
            seen.refused[str(why)] = seen.refused.get(str(why), 0) + 1
            return None
        seen.times.setdefault(kind, []).append(time.monotonic() - begun)
        return answer

    while time.monotonic() < until:
        await asyncio.sleep(mood.expovariate(1 / 4))
        does = mood.random()
        if does < 0.4:
            word = mood.choice(["report", "data", "image", "result", "config", "main"])
            for length in range(1, len(word) + 1):
                await ask("typing", "find", typed(word[:length]))
                await asyncio.sleep(mood.uniform(0.1, 0.3))
        elif does < 0.9:
            await look(uid, mood.choice(writers), ask, seen)
        else:
            # Users without rights of their own see the same.
            question, arguments, rows = mood.choice(fixed[FIRST_UID + number % 2])
            answer = await ask(question, question, arguments)
            if answer is not None and not answer["complete"]:
                seen.incomplete += 1
            elif answer is not None and answer["rows"] != rows:
                seen.wrong.append(f"u{uid} {question} {arguments}: {len(answer['rows'])} rows instead of {len(rows)}, or others")
    client.close()


async def look(uid: int, writer: Writer, ask: Callable[..., Any], seen: Seen) -> None:
    """Searches a directory of the watched tree."""
    least = range(writer.removing, writer.created)
    gone = writer.removed
    answer = await ask("watched", "find", {"paths": [str(writer.folder)], "expression": ["-type", "f"], "limit": 1000})
    # Numbers are read in an order in which a change in between makes the check weaker, never wrong.
    last, removing = writer.begun, writer.removing
    if answer is None:
        return
    found = {int(row["path"].rsplit("/", 1)[1]) for row in answer["rows"]}
    if writer.owner not in (None, uid):
        if found:
            seen.wrong.append(f"u{uid} sees {len(found)} files of {writer.folder}, which only u{writer.owner} may enter")
        return
    if not answer["complete"]:
        seen.incomplete += 1
        return
    missing = {one for one in least if one >= removing} - found
    odd = {one for one in found if one < gone or one >= last}
    if missing or odd:
        seen.wrong.append(f"u{uid} {writer.folder}: without {sorted(missing)[:5]}, with {sorted(odd)[:5]}; asked at {least}, answered at {removing}..{last}")


def report(setting: Setting, seen: Seen, memory: int, processes: int, duration_s: float) -> None:
    """Adds the rows of the soak."""
    count = sum(len(times) for times in seen.times.values())
    what = f"{setting.users} users for {duration_s / 60:.0f} minutes"
    for kind, times in sorted(seen.times.items()):
        target, met = ("99 % <= 250 ms", per_mille(times, 0.99) <= 250) if kind == "typing" else ("", None)
        setting.table.fact(f"{what}: {kind}, {len(times)} answers: median / 99 % / longest", "", "", spread(times), target, met)
    setting.table.fact(f"{what}: wrong among {count} answers", "", "", str(len(seen.wrong)), "0", not seen.wrong)
    refused = ", ".join(f"{number} × {why}" for why, number in sorted(seen.refused.items())) or "none"
    setting.table.fact(f"{what}: refused; incomplete", "", "", f"{refused}; {seen.incomplete}")
    setting.table.fact(f"{what}: memory of the service at the end ({processes} processes)", "", "", f"{memory / MIB:.0f} MiB")
    for line in seen.wrong[:20]:
        print(f"  WRONG: {line}", file=sys.stderr)


PARTS: dict[str, Callable[[Setting], None]] = {"remote": remote, "connections": connections, "typing": typing, "soak": soak}


def main() -> None:
    """Runs the parts, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trawl", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--generator", type=Path, required=True)
    parser.add_argument("--trees", type=Path)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(PARTS))
    parser.add_argument("--idle", type=int, default=10_000)
    parser.add_argument("--busy", type=int, default=500)
    parser.add_argument("--users", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=60)
    args = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("the service for many users is measured as root")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    args.work.mkdir(parents=True, exist_ok=True)
    setting = Setting(Table(), args.trawl.resolve(), args.work.resolve(), (args.trees or args.work).resolve(), str(args.generator.resolve()),
                      args.rows, args.runs, args.idle, args.busy, args.users, args.minutes, random.Random(7))
    for part in args.only:
        print(f"{part}:", file=sys.stderr)
        PARTS[part](setting)
    print(setting.table.markdown())
    if any("NOT met" in row[-1] and "wrong" in row[0] for row in setting.table.rows):
        sys.exit(1)


if __name__ == "__main__":
    main()
