"""The life of a search: who waits, who ends it, where it belongs."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import select
import signal
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import pytest
import trawl
from conftest import Make



def silent(tmp_path: Path) -> str:
    """The address of a server that says nothing."""
    script = tmp_path / "silent"
    script.write_text("#!/bin/sh\nexec cat >/dev/null\n")
    script.chmod(0o755)
    return f"command:{script}"


def test_a_context_closes_it(wide: Path) -> None:
    with trawl.search("*", wide) as search:
        first = next(search)
    assert first.path == "d00"
    assert list(search) == []
    search.close()
    # The place remains, to continue from.
    rest = [record.path for record in trawl.search("*", wide, cookie=search.cookie)]
    assert len(rest) == 1230 - 1 and first.path not in rest


def test_no_descriptor_and_no_thread_is_left(wide: Path) -> None:
    def there_are() -> tuple[int, int]:
        return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))

    list(trawl.search("*", wide))
    before = there_are()
    for taken in (0, 1, 700, 5000):
        with trawl.search("*", wide) as search:
            for _ in zip(range(taken), search):
                pass
        search = trawl.search("*", wide)
        for _ in zip(range(taken), search):
            pass
        gone = weakref.ref(search)
        del search
        gc.collect()
        assert gone() is None
    # Abandoned threads end soon; those of earlier tests may have ended, too.
    for _ in range(6000):
        if all(now <= then for now, then in zip(there_are(), before)):
            return
        threading.Event().wait(0.01)
    raise AssertionError(f"{there_are()}, but {before} before")


def test_a_search_can_be_cancelled(wide: Path) -> None:
    search = trawl.search("*", wide)
    next(search)
    search.cancel()
    for _ in range(2):
        with pytest.raises(trawl.Cancelled):
            next(search)


def test_a_thread_that_waits_is_woken(tmp_path: Path) -> None:
    for end in (trawl.Search.cancel, trawl.Search.close):
        search = trawl.search("*", tmp_path, remote=silent(tmp_path))
        caught: list[object] = []

        def wait(search: trawl.Search[str] = search, caught: list[object] = caught) -> None:
            try:
                caught.append(next(search, None))
            except trawl.Cancelled as error:
                caught.append(error)

        thread = threading.Thread(target=wait)
        thread.start()
        # Whether it has begun to wait or not, it ends. Other threads are told that it is in use.
        while thread.is_alive():
            try:
                search.cookie
            except RuntimeError:
                break
        end(search)
        thread.join()
        assert len(caught) == 1 and (caught[0] is None or isinstance(caught[0], trawl.Cancelled))


def test_threads_with_a_search_each(wide: Path) -> None:
    answers: list[list[str]] = []
    threads = [threading.Thread(target=lambda: answers.append([r.path for r in trawl.search("*", wide)])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 8 and all(answer == answers[0] for answer in answers) and len(answers[0]) == 1230


def test_the_interpreter_goes_on_while_a_search_waits(tmp_path: Path) -> None:
    search = trawl.search("*", tmp_path, remote=silent(tmp_path))

    def wait() -> None:
        with contextlib.suppress(trawl.Cancelled):
            next(search, None)

    thread = threading.Thread(target=wait)
    thread.start()
    # This would not end if the interpreter's lock were held.
    assert sum(range(100_000)) == 4_999_950_000
    search.close()
    thread.join()


def test_control_c_ends_the_wait(tmp_path: Path) -> None:
    program = (
        "import signal, sys, trawl\n"
        # Shells ignore it for background jobs.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "search = trawl.search('*', '/', remote=sys.argv[1])\n"
        "print(flush=True)\n"
        "try:\n"
        "    next(search)\n"
        "except KeyboardInterrupt:\n"
        "    search.close()\n"
        "    print('interrupted')\n"
    )
    words = [sys.executable, "-c", program, silent(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        child.stdout.readline()
        # Whether it waits already or is about to.
        child.send_signal(signal.SIGINT)
        said, errors = child.communicate()
    assert said == "interrupted\n" or "KeyboardInterrupt" in errors, (said, errors)


def test_a_signal_handler_may_close_it(tmp_path: Path) -> None:
    search = trawl.search("*", tmp_path, remote=silent(tmp_path))
    before = signal.signal(signal.SIGALRM, lambda *_: search.close())
    # Repeatedly: the first may come before the wait.
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    try:
        assert list(search) == []
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_signal_that_a_program_handles_does_not_end_it(wide: Path) -> None:
    heard = []
    before = signal.signal(signal.SIGALRM, lambda *_: heard.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        for _ in range(20):
            assert len(list(trawl.search("*", wide))) == 1230
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert heard


def test_a_search_is_of_one_process(wide: Path) -> None:
    search = trawl.search("*", wide)
    other = trawl.search("*", wide)
    next(search)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            for use in (search.__next__, search.close, search.fileno, other.__next__):
                try:
                    use()
                    os._exit(2)
                except RuntimeError:
                    pass
            del search, other, use
            gc.collect()
            # A search of its own works.
            code = 0 if len(list(trawl.search("*", wide))) == 1230 else 3
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(list(search)) == 1229 and len(list(other)) == 1230


def test_the_descriptor_says_when(wide: Path, tmp_path: Path) -> None:
    search = trawl.search("*", wide)
    found = 0
    while True:
        select.select([search], [], [])
        is_there, record = search._poll()
        assert is_there
        if record is None:
            break
        found += 1
    assert found == 1230
    assert select.select([search], [], [], 0)[0] == [search]
    waits = trawl.search("*", "/", remote=silent(tmp_path))
    assert select.select([waits], [], [], 0)[0] == []
    assert waits._poll() == (False, None)
    waits.close()


def test_async_for(wide: Path) -> None:
    async def all_of(pattern: str) -> list[str]:
        return [record.path async for record in trawl.search(pattern, wide)]

    async def both() -> list[list[str]]:
        return await asyncio.gather(*(all_of(pattern) for pattern in ("*", "f*", "/d00", "nothing")))

    answers = asyncio.run(both())
    assert [len(answer) for answer in answers] == [1230, 600, 1, 0]
    assert answers[0] == [record.path for record in trawl.search("*", wide)]


def test_the_event_loop_goes_on_while_a_search_waits(tmp_path: Path) -> None:
    async def main() -> str:
        search = trawl.search("*", tmp_path, remote=silent(tmp_path))

        async def first() -> str:
            async for record in search:
                return record.path
            return "nothing"

        task = asyncio.create_task(first())
        for _ in range(10):
            await asyncio.sleep(0)
        assert not task.done()
        search.close()
        return await task

    assert asyncio.run(main()) == "nothing"


def test_a_task_that_waits_can_be_cancelled(tmp_path: Path) -> None:
    async def main() -> None:
        async with trawl.search("*", tmp_path, remote=silent(tmp_path)) as search:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(search.__aiter__().__anext__(), 0.01)
            # The search itself also continues until it is cancelled.
            search.cancel()
            with pytest.raises(trawl.Cancelled):
                async for _ in search:
                    pass

    asyncio.run(main())


def test_a_loop_has_its_turn_in_a_long_answer(make: Make) -> None:
    top = make(*(f"f{n}" for n in range(2000)))

    async def main() -> int:
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        task = asyncio.create_task(count())
        assert len([record async for record in trawl.search("*", top)]) == 2000
        task.cancel()
        return turns

    assert asyncio.run(main()) >= 2000 // 256
