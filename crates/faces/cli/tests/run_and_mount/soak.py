"""Writers change files of a tree, readers read them where it is shown.

    soak.py POINT TREE WAY AGE_MS OPERATIONS SEED

Each file is made of records of 64 bytes that say which object they are of and which state of it.
A writer notes when a state was complete. Whoever reads notes the time before: what is read has to
be of a state that was not yet replaced at that time less what the way allows.
"""

import collections
import errno
import mmap
import os
import random
import sys
import threading
import time

POINT, TREE, WAY = sys.argv[1:4]
AGE, OPERATIONS, SEED = float(sys.argv[4]) / 1000, int(sys.argv[5]), int(sys.argv[6])
RECORD = 64
FILES = 6
# The kernel counts ages in ticks.
TICK = 0.02
# News take a moment; on a busy machine, longer.
NEWS = 3.0
# What a mapping shows is looked at by a thread that has to get its turn.
MAPPED = max(AGE, 0.2) + 3.0
# All these times are longer where threads wait for their turn. A thread measures for how long, with
# naps; the longest of the last seconds counts.
NAP, LATELY = 0.005, 10.0

lock = threading.Lock()
counts: dict[str, int] = {}
wrong: list[str] = []
left = OPERATIONS
objects = iter(range(1, 1 << 40))
# When a nap ended, and how late; later ones are shorter. And when the present one should end.
naps: collections.deque[tuple[float, float]] = collections.deque()
due = float("inf")


def record(thing: int, state: int) -> bytes:
    return (b"%010d %010d " % (thing, state)).ljust(RECORD - 1, b".") + b"\n"


def count(what: str, is_operation: bool = True) -> None:
    global left
    with lock:
        counts[what] = counts.get(what, 0) + 1
        left -= is_operation


def blame(what: str) -> None:
    with lock:
        wrong.append(what)


def nap() -> None:
    global due
    while True:
        due = time.monotonic() + NAP
        time.sleep(NAP)
        now = time.monotonic()
        with lock:
            while naps and naps[0][0] < now - LATELY:
                naps.popleft()
            while naps and naps[-1][1] <= now - due:
                naps.pop()
            naps.append((now, now - due))


def wait_for_a_turn() -> float:
    """How long a thread waited for its turn lately, at most."""
    with lock:
        return max(0.0, time.monotonic() - due, naps[0][1] if naps else 0.0)


class File:
    """A file as its writer knows it. Objects follow each other under its name."""

    def __init__(self, name: str, is_log: bool, is_mapped: bool, renewals: float) -> None:
        self.name, self.is_log, self.is_mapped = name, is_log, is_mapped
        # How many of the writes replace the file.
        self.renewals = renewals
        self.path = f"{TREE}/{name}"
        self.shown = f"{POINT}/{name}"
        # Of each object: when each state was complete, and what it has (records, first state).
        self.states: dict[int, list[tuple[float, int]]] = {}
        self.named: list[tuple[float, int]] = []
        self.absent = (0.0, 0.0)
        # The object whose name is taken away now, or was last: it is noted before that is done.
        self.leaving = 0
        self.create(next(objects), self.path)
        self.named.append((time.monotonic(), max(self.states)))

    def create(self, thing: int, path: str) -> None:
        records = 300 if self.is_mapped else random.choice([1, 3, 70, 700])
        with open(path, "wb") as file:
            if self.is_log:
                file.write(record(thing, 0))
            else:
                file.write(record(thing, 0) * records)
        self.thing, self.state, self.records = thing, 0, 1 if self.is_log else records
        self.states[thing] = [(time.monotonic(), 0)]
        for old in sorted(self.states)[:-200]:
            del self.states[old]

    def complete(self) -> None:
        states = self.states[self.thing]
        states.append((time.monotonic(), self.state))
        if len(states) > 20_000:
            del states[:10_000]

    def append(self) -> None:
        with open(self.path, "ab") as file:
            file.write(record(self.thing, self.state + 1))
        self.state += 1
        self.records += 1
        self.complete()

    def rewrite(self, is_time_kept: bool, records: int) -> None:
        before = os.stat(self.path)
        fd = os.open(self.path, os.O_WRONLY)
        try:
            os.pwrite(fd, record(self.thing, self.state + 1) * records, 0)
            os.ftruncate(fd, records * RECORD)
        finally:
            os.close(fd)
        if is_time_kept:
            os.utime(self.path, ns=(before.st_atime_ns, before.st_mtime_ns))
        self.records = records
        self.state += 1
        self.complete()

    def replace(self) -> None:
        new = f"{TREE}/new-{self.name}"
        before = self.thing
        self.create(next(objects), new)
        self.leaving = before
        os.rename(new, self.path)
        self.named.append((time.monotonic(), self.thing))

    def create_again(self) -> None:
        begin = time.monotonic()
        self.absent = (begin, float("inf"))
        self.leaving = self.thing
        os.unlink(self.path)
        self.create(next(objects), self.path)
        end = time.monotonic()
        self.named.append((end, self.thing))
        self.absent = (begin, end)

    def write(self, dice: random.Random) -> str:
        is_renewed = dice.random() < self.renewals or self.records > 3000
        if is_renewed and not self.is_mapped:
            what = dice.choice(["replace", "create_again"])
            getattr(self, what)()
            return what
        if self.is_log:
            self.append()
            return "append"
        what = dice.choice(["same size", "same size and time", "other size"])
        records = self.records
        if what == "other size" and not self.is_mapped:
            records = dice.choice([1, 2, 70, 300, 700])
        self.rewrite(what == "same size and time", records)
        return what

    def is_replaced(self, thing: int | None) -> bool:
        """Whether this object has no name any more, or is about to lose it."""
        return thing is None or self.leaving >= thing

    def oldest_object(self, then: float) -> int:
        """The object that had the name then; objects only grow."""
        found = 0
        for when, thing in reversed(self.named):
            if when <= then:
                found = thing
                break
        return found

    def oldest_state(self, thing: int, then: float) -> int:
        for when, state in reversed(self.states.get(thing, [])):
            if when <= then:
                return state
        return 0


def parse(what: str, file: File, data: bytes) -> list[tuple[int, int]]:
    whole = len(data) // RECORD
    found = set()
    for at in range(whole):
        one = data[at * RECORD : (at + 1) * RECORD]
        try:
            thing, state = int(one[:10]), int(one[11:21])
        except ValueError:
            blame(f"{what} {file.name}: no record at {at}: {one!r}")
            return []
        if one != record(thing, state):
            blame(f"{what} {file.name}: a torn record at {at}: {one!r}")
        if file.is_log and state != at:
            blame(f"{what} {file.name}: record {state} of {thing} at {at}")
        found.add((thing, state))
    return sorted(found)


def judge(what: str, file: File, data: bytes, then: float, thing: int | None) -> None:
    """Of this object, if one is held; else of one that had the name then, or a later one."""
    found = parse(what, file, data)
    things = {of for of, _ in found}
    if thing is not None and things - {thing}:
        blame(f"{what} {file.name}: {things} of {thing}: another file")
        return
    if not found:
        # A file is never empty but for the moment in which it is made.
        return
    if len(things) > 1:
        blame(f"{what} {file.name}: of several files: {things}")
    least = thing if thing is not None else file.oldest_object(then)
    of = max(things)
    if of < least:
        blame(f"{what} {file.name}: object {of}, {least} had the name")
    elif file.is_log:
        wanted = file.oldest_state(of, then) + 1
        if len(data) // RECORD < wanted:
            blame(f"{what} {file.name}: {len(data) // RECORD} records of {wanted}")
    else:
        oldest, wanted = found[0][1], file.oldest_state(of, then)
        if oldest < wanted:
            blame(f"{what} {file.name}: state {oldest} of {of}, {wanted} was there")


class Held:
    """A descriptor, a mapping, and which object they are of."""

    def __init__(self, file: File) -> None:
        self.file = file
        begin = time.monotonic()
        self.fd = os.open(file.shown, os.O_RDONLY)
        self.map: mmap.mmap | None = None
        try:
            data = os.pread(self.fd, 1 << 20, 0)
            judge("opened", file, data, begin - slack("opened"), None)
            things = {thing for thing, _ in parse("opened", file, data)}
            self.thing = things.pop() if len(things) == 1 else None
            self.size = 0
            if file.is_mapped and WAY != "sandbox":
                # One that stays, so that reading it is no error that ends the program.
                self.map = mmap.mmap(self.fd, 4096, prot=mmap.PROT_READ, flags=mmap.MAP_SHARED)
        except BaseException:
            os.close(self.fd)
            raise

    def close(self) -> None:
        if self.map is not None:
            self.map.close()
        try:
            os.close(self.fd)
        except OSError:
            # Of a file that is gone.
            pass

    def read(self) -> None:
        if WAY == "sandbox":
            # A descriptor follows when it is looked at.
            os.fstat(self.fd)
        begin = time.monotonic()
        data = os.pread(self.fd, 1 << 20, 0)
        then = begin - slack("held")
        if WAY == "sandbox" and self.file.is_replaced(self.thing):
            # It stays as it was last.
            then = 0.0
        judge("held", self.file, data, then, self.thing)

    def look(self) -> None:
        begin = time.monotonic()
        size = os.fstat(self.fd).st_size
        then = begin - slack("looked")
        if not self.file.is_log or self.thing is None:
            return
        wanted = (self.file.oldest_state(self.thing, then) + 1) * RECORD
        if size < wanted and not (WAY == "sandbox" and self.file.is_replaced(self.thing)):
            blame(f"size {self.file.name}: {size} of {wanted}")
        if size < self.size:
            blame(f"size {self.file.name}: {size} after {self.size}")
        self.size = size


def slack(what: str) -> float:
    """How old what was read just now may be."""
    turn = wait_for_a_turn()
    # Some threads follow each other.
    turns = 10 * turn
    if WAY == "watched":
        return {"mapped": MAPPED + NEWS}.get(what, NEWS) + turns
    if what == "opened":
        return 0.0
    if what == "mapped":
        return MAPPED + turns
    # A sandbox counts from when an answer came; the kernel, from when the caller got its turn, after
    # the thread that answered.
    extra = 0.5 + turns if WAY == "sandbox" else TICK + 2 * turn
    return AGE + extra if AGE else 0.0


def fresh(file: File) -> None:
    begin = time.monotonic()
    with open(file.shown, "rb", buffering=0) as opened:
        data = opened.read(1 << 20)
    judge("fresh", file, data, begin - slack("opened"), None)


def look(file: File) -> None:
    begin = time.monotonic()
    size = os.stat(file.shown).st_size
    then = begin - slack("looked")
    if file.is_log and file.oldest_object(then) == file.thing:
        wanted = (file.oldest_state(file.thing, then) + 1) * RECORD
        if size < wanted and file.named[-1][1] == file.thing:
            blame(f"stat {file.name}: {size} of {wanted}")


def mapped(one: Held) -> None:
    if one.map is None or one.thing is None:
        return
    begin = time.monotonic()
    data = bytes(one.map[:RECORD])
    judge("mapped", one.file, data, begin - slack("mapped"), one.thing)


def reader(files: list[File], seed: int) -> None:
    dice = random.Random(seed)
    holding: list[Held] = []
    while left > 0 and not wrong:
        file = dice.choice(files)
        what = dice.choice(["fresh", "fresh", "held", "held", "held", "mapped", "look", "stat", "open"])
        begin = time.monotonic()
        one = dice.choice(holding) if holding else None
        if one is not None:
            file = one.file if what in ("held", "mapped", "look") else file
        try:
            if what == "open" or one is None:
                if len(holding) >= 8:
                    holding.pop(dice.randrange(8)).close()
                holding.append(Held(file))
            elif what == "fresh":
                fresh(file)
            elif what == "stat":
                look(file)
            elif what == "held":
                one.read()
            elif what == "look":
                one.look()
            else:
                mapped(one)
            count(what)
        except OSError as error:
            is_held = what in ("held", "mapped", "look")
            gone = file.absent[1] >= begin - slack("held") - TICK - AGE
            is_renewed = file.is_replaced(file.named[-1][1]) or file.named[-1][0] >= begin - 1 - slack("held")
            if error.errno in (errno.ESTALE, errno.EIO) and is_held:
                # A replaced file: it is given back.
                if one is not None and not file.is_replaced(one.thing) and not is_renewed:
                    blame(f"{what} {file.name}: {error} though it has its name")
                count("gone")
                holding.remove(one)
                one.close()
            elif error.errno in (errno.ESTALE, errno.EIO) and is_renewed:
                count("replaced meanwhile")
            elif error.errno == errno.ENOENT and gone:
                count("absent")
            else:
                blame(f"{what} {file.name}: {error}")
    for one in holding:
        one.close()


def writer(files: list[File], seed: int) -> None:
    dice = random.Random(seed)
    while left > 0 and not wrong:
        count(dice.choice(files).write(dice))
        time.sleep(dice.choice([0, 0, 0.001, 0.02]))


def main() -> None:
    random.seed(SEED)
    threading.Thread(target=nap, daemon=True).start()
    # Of each kind one that is replaced often and one that is held long.
    files = [
        File(f"file{at}", at % 3 == 0, at % 3 == 1, 0.002 if at < 3 else 0.1)
        for at in range(FILES)
    ]
    halves = [files[: FILES // 2], files[FILES // 2 :]]
    threads = [threading.Thread(target=writer, args=(half, SEED * 100 + at)) for at, half in enumerate(halves)]
    threads += [threading.Thread(target=reader, args=(files, SEED * 100 + 10 + at)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        sys.exit("\n".join(wrong[:20]))
    print(sum(counts.values()), "operations,", ", ".join(f"{what} {n}" for what, n in sorted(counts.items())))


main()
