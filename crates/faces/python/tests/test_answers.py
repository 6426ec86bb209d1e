"""Answers beside os.walk, fnmatch and os.stat."""

from __future__ import annotations

import fnmatch
import os
import random
from pathlib import Path
from typing import Callable

import pytest
import trawl
from conftest import Make
from trawl import Flags


def walked(top: Path) -> list[str]:
    """All paths below a directory."""
    found = []
    for at, dirs, files in os.walk(top):
        found += [os.path.relpath(os.path.join(at, name), top) for name in dirs + files]
    return found


def paths(search: trawl.Search[str]) -> list[str]:
    """The paths of an answer that has no errors."""
    found = []
    for record in search:
        assert record.error is None, record
        found.append(record.path)
    return found


def test_what_os_walk_finds(make: Make) -> None:
    prng = random.Random(1)
    names = ["/".join(prng.choice(["a", "b", "ab", ".c", "d.c", "[x]", "é", "new\nline"]) for _ in range(prng.randint(1, 5))) + f"/{n}.h"
             for n in range(200)]
    top = make(*names)
    everything = walked(top)
    cases: list[tuple[str, Callable[[str], bool]]] = [
        ("*", lambda _: True),
        ("*.[ch]", lambda path: fnmatch.fnmatchcase(os.path.basename(path), "*.[ch]")),
        ("a/*", lambda path: os.path.dirname(path).split("/")[-1] == "a"),
        ("/*", lambda path: "/" not in path),
        ("/*/*b", lambda path: path.count("/") == 1 and path.endswith("b")),
        ("[!a]?.h", lambda path: fnmatch.fnmatchcase(os.path.basename(path), "[!a]?.h")),
    ]
    for pattern, matches in cases:
        found = paths(trawl.search(pattern, top, fnmatch=True))
        expected = [path for path in everything if matches(path)]
        assert sorted(found) == sorted(expected), pattern
        assert expected, pattern


def test_the_order_is_that_of_the_call(make: Make) -> None:
    top = make("a-b/x", "a/x", "a/b/x", "a/z", "x", "b/x", "ab/x")
    assert paths(trawl.search("x", top)) == ["x", "a/x", "a/b/x", "a-b/x", "ab/x", "b/x"]


def test_metadata_is_what_os_stat_says(make: Make) -> None:
    top = make("d/file", "d/e/", "big")
    os.truncate(top / "big", (5 << 30) + 1)
    os.utime(top / "d/file", ns=(-1_500_000_000, 1_234_567_890_123_456_789))
    os.symlink("d/file", top / "link")
    for options, stat in [({}, os.stat), ({"no_follow": True}, os.lstat)]:
        records = list(trawl.search("*", top, metadata=True, **options))  # type: ignore[arg-type]
        assert len(records) == 5
        for record in records:
            assert record.stat is not None
            theirs = stat(top / record.path)
            for member in [name for name in dir(theirs) if name.startswith("st_") and "atime" not in name]:
                assert getattr(record.stat, member) == getattr(theirs, member), (record, member)
            assert record.stat[:7] == theirs[:7] and type(record.stat) is type(theirs)
    assert trawl.search("big", top).__next__().stat is None


def test_paths_are_of_the_patterns_type(make: Make) -> None:
    top = make(b"\xff\xfe.c", "plain.c", "sur\u00e9.c")
    texts = paths(trawl.search("*.c", top))
    raw = [record.path for record in trawl.search(b"*.c", top)]
    assert raw == sorted(os.listdir(os.fsencode(top)))
    assert [os.fsencode(path) for path in texts] == raw
    assert {type(path) for path in raw} == {bytes} and {type(path) for path in texts} == {str}
    # Paths from one search are accepted by another.
    for path in texts:
        assert paths(trawl.search("/" + trawl.escape(path), top)) == [path]
        assert paths(trawl.search("/.", top / path)) == ["."]
    for given in (os.fsencode(top), str(top), top, [top], (os.fsencode(top),), iter([str(top)])):
        assert len(paths(trawl.search("*.c", given))) == 3


def test_several_directories(make: Make) -> None:
    top = make("a:b/cc", "two/cc", "three/ld")
    given = [top / name for name in ("a:b", "gone", "two", "three")]
    records = list(trawl.search("/cc|/ld", given))
    assert [record.root for record in records] == [0, 1, 2, 3]
    gone = records[1]
    assert gone.source == "open" and isinstance(gone.error, FileNotFoundError)
    assert gone.error.errno == 2 and gone.error.filename == gone.path == "."
    assert [record.error for record in records if record is not gone] == [None] * 3
    first = list(trawl.search("/ld", given[2:], stop_at_first=True, include_root=True))
    assert [record.path for record in first] == [str(top / "three/ld")]
    assert "open failed" in repr(gone) and repr(records[0]) == "<trawl.Record 'cc'>"


def test_keywords_are_flags(make: Make) -> None:
    top = make("prog", "text", ".hidden", "d/text")
    os.chmod(top / "prog", 0o755)
    os.chmod(top / "text", 0o644)
    os.symlink("d", top / "to")
    assert paths(trawl.search("/*", top, executable=True)) == ["d", "prog", "to"]
    for keywords, flags in [
        ({"period": True}, Flags.PERIOD),
        ({"follow": True}, Flags.FOLLOW),
        ({"stop_at_first": True}, Flags.STOPATFIRST),
        ({"executable": True, "readable": True, "writable": True}, Flags.X_OK | Flags.R_OK | Flags.W_OK),
        ({"include_root": True, "xdev": True}, Flags.INCLUDEROOT | Flags.XDEV),
    ]:
        for pattern in ("*", "?ext"):
            said = paths(trawl.search(pattern, top, **keywords))  # type: ignore[arg-type]
            assert said == paths(trawl.search(pattern, top, flags=flags))
            assert said != paths(trawl.search(pattern, top)) or pattern == "?ext"


@pytest.mark.parametrize("name", ["*", "a?", "[a]", "p|q", "b\\s", "plain", "a b"])
def test_an_escaped_name_matches_itself_alone(make: Make, name: str) -> None:
    top = make("*", "a?", "ab", "[a]", "a", "p|q", "p", "b\\s", "bs", "plain", "a b")
    for mode in (False, True):
        assert paths(trawl.search("/" + trawl.escape(name), top, fnmatch=mode)) == [name]
        raw = trawl.search(b"/" + trawl.escape(name.encode()), top, fnmatch=mode)
        assert [record.path for record in raw] == [name.encode()]


def test_from_every_place_the_rest_is_given(make: Make) -> None:
    top = make("a/x", "a-b/x", "b/c/x", "b/x", "x")
    search = trawl.search("*", top)
    cookies = [search.cookie]
    found = []
    for record in search:
        found.append(record.path)
        cookies.append(search.cookie)
    for at, cookie in enumerate(cookies):
        assert paths(trawl.search("*", top, cookie=cookie)) == found[at:]
    assert paths(trawl.search("*", top, cookie=search.cookie)) == []
    with pytest.raises(ValueError, match="cookie"):
        trawl.search("a", top, cookie=cookies[1])
