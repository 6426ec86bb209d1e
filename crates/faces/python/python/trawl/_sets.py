"""Dynamic sets: files of any order, fetched ahead and in parallel while the first ones are processed."""

from __future__ import annotations

import asyncio
import collections
import io
import os
import sys
import threading
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, AnyStr, Callable, Generic, Literal, Optional, Union

from trawl import _trawl
from trawl._search import AnyPath
from trawl._trawl import Digest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self

#: Number of members after which other tasks of the event loop get a turn.
_AT_ONCE = 256

if sys.version_info >= (3, 11):

    class SetError(ExceptionGroup[OSError]):
        """Members of a set that cannot be read: a group of OSErrors, each with errno and filename."""

        if TYPE_CHECKING:
            # No groups within groups.
            @property
            def exceptions(self) -> tuple[OSError, ...]: ...

        def derive(self, errors: Sequence[OSError], /) -> SetError:  # type: ignore[override]
            return SetError(self.message, errors)

else:

    class SetError(Exception):
        """Members of a set that cannot be read: `exceptions` are OSErrors with errno and filename."""

        def __init__(self, message: str, errors: Sequence[OSError]) -> None:
            super().__init__(message, errors)
            self.message = message
            self.exceptions = tuple(errors)

        def __str__(self) -> str:
            return f"{self.message}: {self.exceptions[0]}"


class Member(io.BufferedReader, Generic[AnyStr]):
    """A member of a set: a binary file at its beginning, whose first bytes have arrived.

    name        path or URL
    was_cached  whether the first bytes were in memory when the set looked at the member
    is_stream   whether it cannot seek: an object at a server that is too large to hold, a pipe
    position    number of the member in the order in which members were found, from 0

    It belongs to its receiver, also after the set is closed. Close it, or drop it.
    """

    if TYPE_CHECKING:
        name: AnyStr
        was_cached: bool
        is_stream: bool
        position: int


class Set(_trawl.Members, Generic[AnyStr]):
    """A dynamic set: an iterator of the files that its names match, and an asynchronous one.

        with trawl.Set("/srv/{a,b}/*.c") as members:
            for member in members:
                print(member.name, len(member.read()))

    Members come in the order in which they can be had: cached files first, the others as soon as their
    first bytes have arrived from their disk or server. Any number of threads and tasks may iterate it;
    each member comes once, until rewind(). A set belongs to the process that opened it.

    names             csh wildcards (*, ?, [a-c], {a,b}, ~), queries (dir/\\query\\) and commands
                      (dir/%command%) as in docs/set-names.md; names of members are str if the names are
                      str (os.fsdecode() makes them), bytes if they are bytes
    literal           no character of the names is special
    ordered           members come in the order of the names, and each name's as in csh
    max_bytes_ahead   bytes fetched and not yet returned
    max_open_ahead    descriptors of members not yet returned
    max_requests      requests at the same time, at each disk or server
    max_threads       threads that fetch
    commands          run commands in names, as this user, with sh
    metadata          the digest has the result of os.stat() for names that wildcards match
    served_by, index, wait   what answers wildcards, as for trawl.search()
    errors            "raise": members that cannot be read are raised together, as SetError, when
                      iteration ends or the set is closed; "collect": they are only recorded, in the
                      list `errors`
    on_error          called with the OSError of each such member instead
    share             (index, count): only this one of disjoint shares of the members

    A name that cannot be read raises ValueError at once.
    """

    _limits: tuple[bool, int, int, int, int]
    _is_bytes: bool
    _errors: Literal["raise", "collect"]
    _on_error: Optional[Callable[[OSError], object]]
    _waiting: _Waiting
    _given: int

    def __new__(
        cls,
        *names: Union[AnyStr, os.PathLike[AnyStr]],
        literal: bool = False,
        ordered: bool = False,
        max_bytes_ahead: int = 64 << 20,
        max_open_ahead: int = 256,
        max_requests: int = 32,
        max_threads: int = 128,
        commands: bool = False,
        metadata: bool = False,
        served_by: Literal["auto", "live", "index"] = "auto",
        index: Optional[AnyPath] = None,
        wait: Optional[float] = 10.0,
        errors: Literal["raise", "collect"] = "raise",
        on_error: Optional[Callable[[OSError], object]] = None,
        share: Optional[tuple[int, int]] = None,
    ) -> Self:
        if errors not in ("raise", "collect"):
            raise ValueError(f'errors is "raise" or "collect", not {errors!r}')
        if share is not None and not 0 <= share[0] < share[1]:
            raise ValueError(f"share is (index, count) with 0 <= index < count, not {share!r}")
        spellings = {isinstance(os.fspath(name), bytes) for name in names}
        if len(spellings) > 1:
            raise TypeError("names are all str, or all bytes")
        is_bytes = True in spellings
        limits = (ordered, max_bytes_ahead, max_open_ahead, max_requests, max_threads)
        self = super().__new__(
            cls,
            [os.fsencode(name) for name in names],
            None,
            is_bytes,
            literal,
            limits,
            commands,
            metadata,
            served_by,
            None if index is None else os.fsencode(index),
            wait,
            share,
            errors == "raise",
            on_error,
        )
        self._begin(limits, is_bytes, errors, on_error)
        return self

    def _begin(
        self,
        limits: tuple[bool, int, int, int, int],
        is_bytes: bool,
        errors: Literal["raise", "collect"],
        on_error: Optional[Callable[[OSError], object]],
    ) -> None:
        self._limits = limits
        self._is_bytes = is_bytes
        self._errors = errors
        self._on_error = on_error
        self._waiting = _Waiting()
        self._given = 0

    if TYPE_CHECKING:

        def __iter__(self) -> Self: ...

        def __next__(self) -> Member[AnyStr]: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self._close()
        if kind is None:
            self._raise()
        else:
            # The exception on its way is the more important one.
            self._warn()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.__exit__(kind, error, trace)

    def close(self) -> None:
        """Ends expansion and fetching, and frees what was fetched. No request is waited for. Raises
        SetError with the errors that were not raised yet. Members already returned stay open."""
        self._close()
        self._raise()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Member[AnyStr]:
        """Returns the next member without blocking the event loop. If the task is cancelled, whoever
        asks next gets the member."""
        self._given += 1
        if self._given % _AT_ONCE == 0:
            await asyncio.sleep(0)
        while True:
            is_there, member = self._look()
            if member is not None:
                return member
            if is_there:
                raise StopAsyncIteration
            await self._waiting.wait(self)

    def _look(self, is_patient: bool = False) -> tuple[bool, Optional[Member[AnyStr]]]:
        return self._poll(is_patient)

    def digest(self) -> Iterator[Digest[AnyStr]]:
        """Returns the names and attributes of the members, as they are found; nothing is fetched. All
        digests of a set continue where the last one ended, until rewind_digest()."""
        return iter(self._describe, None)

    def __contains__(self, name: object) -> bool:
        """Returns whether there is a member with this name: as soon as it is found, or once all
        names are."""
        return self._has(os.fsencode(name))  # type: ignore[arg-type]

    def __or__(self, other: Set[AnyStr]) -> Set[AnyStr]:
        return self.union(other) if isinstance(other, Set) else NotImplemented

    def __and__(self, other: Set[AnyStr]) -> Set[AnyStr]:
        return self.intersection(other) if isinstance(other, Set) else NotImplemented

    def union(self, other: Set[AnyStr], *, ordered: bool = False) -> Set[AnyStr]:
        """Returns a set of the members of both, each once, with this set's limits and treatment of
        errors. It has its own iterator, and stays valid when the operands are closed."""
        return self._with(other, True, ordered)

    def intersection(self, other: Set[AnyStr], *, ordered: bool = False) -> Set[AnyStr]:
        """Returns a set of the members that both have, by name; otherwise as union()."""
        return self._with(other, False, ordered)

    def _with(self, other: Set[AnyStr], is_union: bool, ordered: bool) -> Set[AnyStr]:
        if self._is_bytes != other._is_bytes:
            raise TypeError("the names of both sets are str, or those of both are bytes")
        limits = (ordered, *self._limits[1:])
        made: Set[AnyStr] = _trawl.Members.__new__(
            Set,
            [],
            (self, other, is_union),
            self._is_bytes,
            False,
            limits,
            False,
            False,
            "auto",
            None,
            None,
            None,
            self._errors == "raise",
            self._on_error,
        )
        made._begin(limits, self._is_bytes, self._errors, self._on_error)
        return made

    def apply(self, function: Callable[[Member[AnyStr]], object], threads: int = 1) -> int:
        """Calls a function with each member that is left to iterate, from this many threads, and closes
        the member afterwards. Returns the number of calls. The first exception ends it, once the
        other threads' calls have returned; what is left can be iterated."""
        if threads < 1:
            raise ValueError(f"at least one thread is needed, not {threads}")
        calls = _Calls(self, function)
        if threads == 1:
            calls.run()
        else:
            calls.run_with(threads)
        return calls.count


class _Calls(Generic[AnyStr]):
    """The calls of a function for the members of a set, by one or several threads."""

    def __init__(self, members: Set[AnyStr], function: Callable[[Member[AnyStr]], object]) -> None:
        self.count = 0
        self._members: Set[AnyStr] = members
        self._function: Callable[[Member[AnyStr]], object] = function
        self._lock = threading.Lock()
        self._is_ended = False
        self._failures: list[BaseException] = []

    def run(self) -> None:
        for member in self._members:
            self._call(member)

    def _call(self, member: Member[AnyStr]) -> None:
        with member:
            self._function(member)
        with self._lock:
            self.count += 1

    def _work(self) -> None:
        try:
            while not self._is_ended:
                # In slices, so that the failure of another thread ends this one.
                is_there, member = self._members._look(True)
                if member is not None:
                    self._call(member)
                elif is_there:
                    return
        except BaseException as error:
            self._is_ended = True
            self._failures.append(error)

    def run_with(self, count: int) -> None:
        threads = [threading.Thread(target=self._work, name="trawl-apply") for _ in range(count)]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            self._is_ended = True
            for thread in threads:
                if thread.ident is not None:
                    thread.join()
        if self._failures:
            raise self._failures[0]


class _Waiting:
    """The tasks that wait for a set's next member. While there are any, a thread waits for them; it
    leaves the member with the set, so that a cancelled task loses none."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tasks: collections.deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = collections.deque()
        self._has_thread = False

    async def wait(self, members: Set[Any]) -> None:
        """Returns when it is worth while to look for a member."""
        loop = asyncio.get_running_loop()
        task = (loop, loop.create_future())
        with self._lock:
            self._tasks.append(task)
            is_first = not self._has_thread
            self._has_thread = True
        try:
            if is_first:
                self._start(members)
            await task[1]
        finally:
            with self._lock:
                if task in self._tasks:
                    self._tasks.remove(task)

    def _start(self, members: Set[Any]) -> None:
        thread = threading.Thread(target=self._work, args=(members,), name="trawl-await", daemon=True)
        try:
            thread.start()
        except BaseException:
            with self._lock:
                self._has_thread = False
            raise

    def _work(self, members: Set[Any]) -> None:
        while True:
            with self._lock:
                if not self._tasks:
                    self._has_thread = False
                    return
            if members._await():
                self._wake()

    def _wake(self) -> None:
        """Wakes all: the first to run takes the member, and the others wait again."""
        with self._lock:
            tasks = list(self._tasks)
            self._tasks.clear()
        for loop, future in tasks:
            try:
                loop.call_soon_threadsafe(_settle, future)
            except RuntimeError:
                # The loop is closed, and its tasks are gone.
                pass


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
