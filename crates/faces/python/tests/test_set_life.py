"""Signals, event loops and processes, and the sets that they wait for."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import glob
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import trawl
from conftest import Site

INTERRUPTED = """
import signal, sys, time, trawl
signal.signal(signal.SIGINT, signal.default_int_handler)
members = trawl.Set(*sys.argv[2:], commands=True)
uses = {
    "iterate": lambda: next(members), "len": lambda: len(members), "in": lambda: "x" in members,
    "digest": lambda: next(members.digest()), "apply": lambda: members.apply(print, threads=2),
}
try:
    uses[sys.argv[1]]()
except KeyboardInterrupt:
    print(time.monotonic(), flush=True)
    members.close()
    print("closed", flush=True)
"""


@pytest.mark.parametrize("use, stalls", [
    ("iterate", "fetch"), ("iterate", "names"), ("len", "names"), ("in", "names"), ("digest", "names"), ("apply", "fetch"),
])
def test_control_c_ends_the_wait(site: Site, tmp_path: Path, use: str, stalls: str) -> None:
    site.go.clear()
    names = site.urls(3) if stalls == "fetch" else [f"{tmp_path}/%touch begun; exec sleep 60%"]
    words = [sys.executable, "-c", INTERRUPTED, use, *names]
    pipe = subprocess.PIPE
    begun = tmp_path / "begun"
    took = []
    # The machine may be busy: the best of some.
    for _ in range(10):
        site.asked.clear()
        begun.unlink(missing_ok=True)
        with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True) as child:
            # The server is asked, or the command runs, once the set is used.
            until = time.monotonic() + 60
            while not site.asked and not begun.exists():
                assert child.poll() is None and time.monotonic() < until
                time.sleep(0.001)
            sent = time.monotonic()
            child.send_signal(signal.SIGINT)
            said, errors = child.communicate(timeout=30)
        lines = said.split()
        assert lines[1:] == ["closed"], (said, errors)
        took.append(float(lines[0]) - sent)
        if took[-1] < 0.2:
            return
    raise AssertionError(took)


def test_a_signal_between_members_loses_none(wide: Path) -> None:
    class Alarm(Exception):
        pass

    def ring(*_: object) -> None:
        raise Alarm

    found: list[str] = []
    rung = 0
    before = signal.signal(signal.SIGALRM, ring)
    try:
        for _ in range(20):
            members = trawl.Set(f"{wide}/*/*/*")
            found.clear()
            while True:
                try:
                    # Within, because on a busy machine it may ring before the next line.
                    signal.setitimer(signal.ITIMER_REAL, 0.002)
                    with contextlib.suppress(StopIteration):
                        while True:
                            found.append(next(members).name)
                    signal.setitimer(signal.ITIMER_REAL, 0)
                    break
                except Alarm:
                    rung += 1
            # In Python, a handler may run between next() and append(): one for each signal.
            assert len(found) >= 600 - rung and len(set(found)) == len(found)
            rung = 0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_async_for(wide: Path, site: Site) -> None:
    site.delay = 0.01
    wanted = sorted(glob.glob(f"{wide}/*/*/*") + site.urls(20))

    async def main() -> list[str]:
        found: list[str] = []

        async def take() -> None:
            async for member in members:
                found.append(member.name)

        async with trawl.Set(f"{wide}/*/*/*", *site.urls(20)) as members:
            await asyncio.gather(*(take() for _ in range(5)))
        return found

    assert sorted(asyncio.run(main())) == wanted


def test_the_loop_goes_on_while_a_task_waits(site: Site) -> None:
    site.go.clear()

    async def main() -> int:
        async with trawl.Set(*site.urls(1)) as members:
            async def first() -> str:
                async for member in members:
                    return member.name
                return "nothing"

            task = asyncio.create_task(first())
            turns = 0
            until = time.monotonic() + 30
            # Turns count while the server holds its answer back.
            while turns <= 20 and time.monotonic() < until:
                await asyncio.sleep(0.001)
                turns += bool(site.asked)
            assert not task.done()
            site.go.set()
            assert await task == site.urls(1)[0]
        return turns

    assert asyncio.run(main()) > 20


@pytest.mark.parametrize("ordered", [False, True])
def test_cancelled_tasks_lose_no_member(site: Site, ordered: bool) -> None:
    site.delay = 0.004
    urls = site.urls(60)

    async def main() -> tuple[list[str], int]:
        found: list[str] = []
        cancelled = 0
        with trawl.Set(*urls, ordered=ordered, max_requests=2) as members:
            while True:
                task = asyncio.ensure_future(members.__anext__())
                await asyncio.sleep(0.001)
                task.cancel()
                try:
                    found.append((await task).name)
                except asyncio.CancelledError:
                    cancelled += 1
                except StopAsyncIteration:
                    return found, cancelled

    found, cancelled = asyncio.run(main())
    assert cancelled > 0
    assert (found if ordered else sorted(found)) == (urls if ordered else sorted(urls))


def test_a_thread_gets_what_a_cancelled_task_waited_for(site: Site) -> None:
    site.go.clear()

    async def main(members: trawl.Set[str]) -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(members.__anext__(), 0.05)

    with trawl.Set(*site.urls(3)) as members:
        asyncio.run(main(members))
        site.go.set()
        assert sorted(member.name for member in members) == site.urls(3)
    for _ in range(1000):
        if all(thread.name != "trawl-await" for thread in threading.enumerate()):
            return
        time.sleep(0.01)
    raise AssertionError("the waiting thread does not end")


def test_async_errors_are_raised_at_the_end(wide: Path) -> None:
    members = trawl.Set(f"{wide}/d00/*/*")
    count = len(members)
    os.unlink(glob.glob(f"{wide}/d00/*/*")[0])

    async def main() -> int:
        found = 0
        with pytest.raises(trawl.SetError):
            async for _ in members:
                found += 1
        return found

    assert asyncio.run(main()) == count - 1


def test_a_set_is_of_one_process(wide: Path) -> None:
    members = trawl.Set(f"{wide}/*/*/*")
    next(members)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            for use in (members.__next__, members._await, members.rewind, members.__len__, members.stats):
                try:
                    use()
                    os._exit(2)
                except RuntimeError:
                    pass
            members.close()
            del members, use
            gc.collect()
            # A set of its own works.
            code = 0 if sum(1 for _ in trawl.Set(f"{wide}/*/*/*")) == 600 else 3
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert sum(1 for _ in members) == 599


def take_all(names: list[str]) -> list[str]:
    with trawl.Set(*names) as members:
        return sorted(member.name for member in members)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_have_sets_of_their_own(wide: Path, site: Site, method: str) -> None:
    # The parent has a set with threads.
    site.delay = 0.01
    with trawl.Set(*site.urls(50)) as members:
        next(members)
        with multiprocessing.get_context(method).Pool(2) as pool:
            answers = pool.map(take_all, [[f"{wide}/*/*/*"], [f"{wide}/d0*/*/*"]])
        assert sum(1 for _ in members) == 49
    assert answers == [sorted(glob.glob(f"{wide}/*/*/*")), sorted(glob.glob(f"{wide}/d0*/*/*"))]
