"""Attributes pushed to open files. The oracle is the kernel: os.getxattr, and what it lets users do."""

from __future__ import annotations

import datetime
import errno
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trawl

UTC = datetime.timezone.utc


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file in a file system with extended attributes of users."""
    path = tmp_path / "file"
    path.write_bytes(b"content")
    try:
        os.setxattr(path, "user.probe", b"")
    except OSError as error:
        pytest.skip(f"skipped, because {tmp_path} has no extended attributes: {error}")
    return path


@pytest.mark.parametrize("value, stored", [
    ("Bach", b"tBach"), ("", b"t"), ("Ä\n", "tÄ\n".encode()), (-5, b"i-5"), (2**63 - 1, b"i9223372036854775807"),
    (0.01, b"r0.01"), (datetime.datetime(2026, 1, 2, 3, 4, 5, 500000, UTC), b"d2026-01-02T03:04:05.5Z"),
    (["red", 5], b"l4:tred2:i5"), (["red"], b"l4:tred"),
])
def test_values_are_stored_as_documented_and_read_back(file: Path, value: Any, stored: bytes) -> None:
    with open(file, "r+b") as opened:
        trawl.attr_set(opened, "name", value)
        assert os.getxattr(file, "user.trawl.name") == stored
        assert trawl.attr_get(opened, "name") == value
        assert trawl.attr_list(opened.fileno()) == {"name": value}
        trawl.attr_remove(opened, "name")
        assert trawl.attr_list(opened) == {}
        with pytest.raises(OSError) as caught:
            trawl.attr_get(opened, "name")
        assert caught.value.errno == errno.ENODATA


def test_only_files_open_for_writing(file: Path) -> None:
    with open(file, "rb") as opened:
        with pytest.raises(OSError) as kernels:
            os.write(opened.fileno(), b"")
        attempts: list[Callable[[], None]] = [
            lambda: trawl.attr_set(opened, "a", 1),
            lambda: trawl.attr_remove(opened, "a"),
        ]
        for attempt in attempts:
            with pytest.raises(OSError) as caught:
                attempt()
            assert caught.value.errno == kernels.value.errno == errno.EBADF
    with pytest.raises(OSError) as caught:
        trawl.attr_set(opened_number_of_nothing(), "a", 1)
    assert caught.value.errno == errno.EBADF


def opened_number_of_nothing() -> int:
    number = os.open("/dev/null", os.O_WRONLY)
    os.close(number)
    return number


@pytest.mark.parametrize("name, value", [
    ("", 1), ("A", 1), ("a=b", 1), ("a" * 65, 1), ("a\0", 1), ("a", "\0"), ("a", 2**63), ("a", math.nan),
    ("a", []), ("a", "x" * 1025), ("a", datetime.datetime(2026, 1, 2)),
])
def test_what_attributes_cannot_be_is_a_value_error(file: Path, name: str, value: Any) -> None:
    with open(file, "r+b") as opened, pytest.raises(ValueError, match="."):
        trawl.attr_set(opened, name, value)
    assert os.listxattr(file) == ["user.probe"]


def test_what_is_of_the_wrong_type(file: Path) -> None:
    with open(file, "r+b") as opened:
        for value in (True, None, b"x", bytearray(b"x"), memoryview(b"x"), [b"x"], [["x"]]):
            with pytest.raises(TypeError):
                trawl.attr_set(opened, "a", value)  # type: ignore[arg-type]


def test_what_other_programs_stored_is_left_out(file: Path) -> None:
    for name, value in (("a", b"x5"), ("b", b"t\xff"), ("C", b"t"), ("d", b"i7")):
        os.setxattr(file, f"user.trawl.{name}", value)
    with open(file, "rb") as opened:
        assert trawl.attr_list(opened) == {"d": 7}
        with pytest.raises(OSError, match="no known form"):
            trawl.attr_get(opened, "a")
