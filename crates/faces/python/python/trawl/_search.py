"""The Python interface of the search call: keywords, iteration, contexts, asyncio."""

from __future__ import annotations

import asyncio
import enum
import os
from collections.abc import AsyncIterator, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, AnyStr, Generic, Literal, Optional, Union

from trawl import _trawl
from trawl._trawl import Record

if TYPE_CHECKING:
    from typing_extensions import Self

AnyPath = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]

#: Number of records after which other tasks of the event loop get a turn.
_AT_ONCE = 256


class Flags(enum.IntFlag):
    """Flags of the search call. search() has a keyword for each."""

    STOPATFIRST = 1 << 0
    METADATA = 1 << 2
    INCLUDEROOT = 1 << 3
    PERIOD = 1 << 4
    R_OK = 1 << 5
    W_OK = 1 << 6
    X_OK = 1 << 7
    NOFOLLOW = 1 << 8
    FOLLOW = 1 << 9
    XDEV = 1 << 10
    FNMATCH = 1 << 11


class Search(_trawl.Stream, Generic[AnyStr]):
    """A search in progress: an iterator of records, and an asynchronous one.

    It begins when its first record is requested. Records come as they are found, in an order that
    does not depend on the executor. As a context manager it is closed at the end; a dropped search
    is closed, too. Any thread may use it, one at a time, and may call cancel() at any time. It
    belongs to the process that made it.
    """

    if TYPE_CHECKING:

        def __iter__(self) -> Self: ...

        def __next__(self) -> Record[AnyStr]: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    async def __aiter__(self) -> AsyncIterator[Record[AnyStr]]:
        """Iterates over the records without blocking a thread of the caller.

        The event loop watches the search's descriptor. Only one task may iterate at a time.
        """
        given = 0
        while True:
            is_there, record = self._poll()
            if not is_there:
                await self._readable()
            elif record is None:
                return
            else:
                yield record
                given += 1
                if given % _AT_ONCE == 0:
                    await asyncio.sleep(0)

    async def _readable(self) -> None:
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        descriptor = self.fileno()
        loop.add_reader(descriptor, _settle, ready)
        try:
            await ready
        finally:
            loop.remove_reader(descriptor)


def _settle(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)


def search(
    pattern: AnyStr,
    paths: Union[AnyPath, Iterable[AnyPath]] = ".",
    *,
    flags: Flags = Flags(0),
    stop_at_first: bool = False,
    metadata: bool = False,
    no_follow: bool = False,
    include_root: bool = False,
    readable: bool = False,
    writable: bool = False,
    executable: bool = False,
    period: bool = False,
    follow: bool = False,
    xdev: bool = False,
    fnmatch: bool = False,
    max_depth: Optional[int] = None,
    depth16: bool = False,
    served_by: Literal["auto", "live", "index"] = "auto",
    index: Optional[AnyPath] = None,
    remote: Union[str, bytes, None] = None,
    cookie: Optional[bytes] = None,
    wait: Optional[float] = 10.0,
) -> Search[AnyStr]:
    """Searches directories for entries that match a pattern.

    pattern         as in docs/search-call.md: "*.c|*.h", "/", "b/x"; paths of records are str if it is
                    str (os.fsdecode() makes them), bytes if it is bytes
    paths           one directory or several; no character in them is special
    flags           Flags, in addition to the keywords:
    stop_at_first   return one match, from the first directory that has one
    metadata        records have the result of os.stat(), or with no_follow that of os.lstat()
    include_root    paths begin with the directory as given
    readable, writable, executable   only entries that this user may read, write, execute
    period          a period at the beginning of a name is only matched by a period in the pattern
    follow          enter directories that symbolic links lead to
    xdev            do not enter other file systems
    fnmatch         ? is one byte and [...] a set, as in fnmatch(3)
    max_depth       levels below a directory; a deeper directory is an error record
    depth16         the paper's limit: a directory more than 16 levels down ends the search with an error
    served_by       "auto": the index where it is known to be up to date, servers for their mounts, and
                    the file system elsewhere;
                    "live": the file system; "index": the index as it is
    index           the index's directory; the default is that of the trawl command
    remote          a server that answers instead: unix:PATH, ssh:HOST or command:WORDS
    cookie          where to continue: Search.cookie of a search with the same pattern and options
    wait            seconds to wait for daemons; None means that they are not asked

    An invalid argument raises ValueError at once. The search begins when the first record is requested;
    if there is no answer, or it ends early, that raises SearchError, an OSError. A path that could not
    be read is a record in the answer, whose error is not None.
    """
    said = {
        Flags.STOPATFIRST: stop_at_first,
        Flags.METADATA: metadata,
        Flags.NOFOLLOW: no_follow,
        Flags.INCLUDEROOT: include_root,
        Flags.R_OK: readable,
        Flags.W_OK: writable,
        Flags.X_OK: executable,
        Flags.PERIOD: period,
        Flags.FOLLOW: follow,
        Flags.XDEV: xdev,
        Flags.FNMATCH: fnmatch,
    }
    for flag, is_said in said.items():
        if is_said:
            flags |= flag
    roots: Iterable[AnyPath] = [paths] if isinstance(paths, (str, bytes, os.PathLike)) else paths
    return Search(
        os.fsencode(pattern),
        [os.fsencode(path) for path in roots],
        int(flags),
        isinstance(pattern, bytes),
        max_depth,
        depth16,
        served_by,
        None if index is None else os.fsencode(index),
        None if remote is None else os.fsencode(remote),
        cookie,
        wait,
    )


def escape(name: AnyStr) -> AnyStr:
    """Returns the pattern that matches exactly this name, with special characters quoted."""
    if isinstance(name, bytes):
        return b"".join(b"\\" + bytes([c]) if c in b"*?[]|\\" else bytes([c]) for c in name)
    return "".join("\\" + c if c in "*?[]|\\" else c for c in name)
