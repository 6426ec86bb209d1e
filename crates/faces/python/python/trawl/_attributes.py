"""Attributes that a program pushes to a file it holds open for writing."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import TYPE_CHECKING, Union

from trawl import _trawl

if TYPE_CHECKING:
    from typing_extensions import Protocol, TypeAlias

    class _HasFileno(Protocol):
        def fileno(self) -> int: ...

    Single: TypeAlias = Union[str, int, float, datetime.datetime]
    Value: TypeAlias = Union[Single, "list[Single]"]
    File: TypeAlias = Union[int, _HasFileno]

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def _descriptor(file: File) -> int:
    return file if isinstance(file, int) else file.fileno()


def _pair(value: object) -> tuple[str, str]:
    if isinstance(value, bool):
        raise TypeError("a value is a str, int, float or datetime, or a list of these, not bool")
    if isinstance(value, str):
        return ("text", value)
    if isinstance(value, int):
        return ("integer", str(value))
    if isinstance(value, float):
        return ("real", repr(value))
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            raise ValueError("a datetime needs a time zone")
        return ("time", str((value - _EPOCH) // datetime.timedelta(microseconds=1) * 1000))
    raise TypeError(f"a value is a str, int, float or datetime, or a list of these, not {type(value).__name__}")


def _single(kind: str, text: str) -> Single:
    if kind == "integer":
        return int(text)
    if kind == "real":
        return float(text)
    if kind == "time":
        return _EPOCH + datetime.timedelta(microseconds=int(text) // 1000)
    return text


def _value(pairs: list[tuple[str, str]], is_list: bool) -> Value:
    values = [_single(kind, text) for kind, text in pairs]
    if is_list:
        return values
    return values[0]


def attr_set(file: File, name: str, value: Union[Single, Iterable[Single]]) -> None:
    """Sets an attribute of a file that is open for writing, so that `trawl find -attr` finds it.

    `file` is a descriptor or has fileno(). The value is a str, int, float or datetime with a time
    zone, or several of them. Raises OSError (EBADF if the file is not open for writing), and
    ValueError for a name or value that attributes cannot have.
    """
    # Bytes are several numbers to Python, but nobody means these.
    if isinstance(value, (str, int, float, datetime.datetime, bytes, bytearray, memoryview)):
        _trawl.attr_set(_descriptor(file), name, [_pair(value)], False)
    else:
        _trawl.attr_set(_descriptor(file), name, [_pair(one) for one in value], True)


def attr_get(file: File, name: str) -> Value:
    """Returns an attribute of an open file. Times are rounded down to microseconds. Raises OSError
    (ENODATA if there is none)."""
    return _value(*_trawl.attr_get(_descriptor(file), name))


def attr_list(file: File) -> dict[str, Value]:
    """Returns all attributes of an open file."""
    return {name: _value(pairs, is_list) for name, pairs, is_list in _trawl.attr_list(_descriptor(file))}


def attr_remove(file: File, name: str) -> None:
    """Removes an attribute of a file that is open for writing. Raises OSError (ENODATA if there is none)."""
    _trawl.attr_remove(_descriptor(file), name)
