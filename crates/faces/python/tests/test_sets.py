"""Dynamic sets beside glob, os.walk and open()."""

from __future__ import annotations

import contextlib
import gc
import glob
import io
import itertools
import os
import random
import sys
import threading
import warnings
from pathlib import Path
from typing import Any, Callable

import pytest
import trawl
from conftest import Make, Site


def contents(members: trawl.Set[str]) -> dict[str, bytes]:
    """Names and contents of what is left to iterate; each name once."""
    found: dict[str, bytes] = {}
    for member in members:
        with member:
            assert member.name not in found
            found[member.name] = member.read()
    return found


def read(paths: list[str]) -> dict[str, bytes]:
    return {path: Path(path).read_bytes() for path in paths}


def open_files() -> set[str]:
    """Returns the paths of the files that this process has open."""
    found = set()
    for link in Path("/proc/self/fd").iterdir():
        # What threads close meanwhile is no longer open.
        with contextlib.suppress(FileNotFoundError):
            found.add(str(link.readlink()))
    return found


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_what_glob_finds(make: Make) -> None:
    prng = random.Random(2)
    top = make(*(f"{prng.choice('ab')}{prng.randint(0, 9)}/{prng.choice('cd')}/f{n}.{prng.choice('ch')}" for n in range(300)))
    for pattern in ("*/c/*.c", "a?/*/f*", "[a]*/[!c]/*.h", "a1/c/nothing*"):
        wanted = read(glob.glob(f"{top}/{pattern}"))
        with trawl.Set(f"{top}/{pattern}") as members:
            assert contents(members) == wanted
        assert wanted or "nothing" in pattern
    with trawl.Set(f"{top}/{{a1,b2}}/c/*", f"{top}/a*/c/*.c") as members:
        names = {name for pattern in ("a1/c/*", "b2/c/*", "a*/c/*.c") for name in glob.glob(f"{top}/{pattern}")}
        assert contents(members) == read(list(names))


def test_what_os_walk_finds(wide: Path) -> None:
    walked = [os.path.join(at, name) for at, _, files in os.walk(wide) for name in files]
    with trawl.Set(f"{wide}/*/*/*") as members:
        assert contents(members) == read(walked)
        assert len(walked) == len(members) == 600
    with trawl.Set(*walked, literal=True) as members:
        assert sorted(contents(members)) == sorted(walked)


def test_any_name_is_a_path(make: Make) -> None:
    names = [b"a*", b"[x]", b"{a,b}", b"~", b"b\\q\\", b"%true%", b"\xff\xfe", b"new\nline"]
    top = os.fsencode(make(*names))
    paths = [top + b"/" + name for name in names]
    with trawl.Set(*paths, literal=True) as members:
        found = {member.name: member.read() for member in members}
    assert found == dict(zip(paths, names))
    with trawl.Set(*map(os.fsdecode, paths), literal=True) as texts:
        assert {member.name for member in texts} == set(map(os.fsdecode, paths))
    with trawl.Set(Path(os.fsdecode(top)) / "b*") as of_path:
        assert [type(member.name) for member in of_path] == [str]


def test_ordered_sets_are_as_in_csh(make: Make) -> None:
    top = make(*(f"{d}/{f}" for d in "zay" for f in ("c", "B", "a", "é")))
    wanted = [path for d in "zay" for path in sorted(glob.glob(f"{top}/{d}/*"), key=os.fsencode)]
    with trawl.Set(f"{top}/{{z,a,y}}/*", ordered=True) as members:
        assert [(member.position, member.name) for member in members] == list(enumerate(wanted))


def test_a_member_is_a_file(make: Make) -> None:
    top = make("d/file")
    (top / "d/file").write_bytes(b"one\ntwo\n" * 10_000)
    members = trawl.Set(f"{top}/d/*")
    member = next(members)
    members.close()
    assert isinstance(member, io.BufferedReader) and isinstance(member, trawl.Member)
    assert member.tell() == 0 and member.readable() and not member.writable() and member.mode == "rb"
    assert os.fstat(member.fileno()).st_size == 80_000 and os.get_blocking(member.fileno())
    assert os.pread(member.fileno(), 3, 4) == b"two"
    assert member.readline() == b"one\n" and member.seek(4) == 4 and member.read(4) == b"two\n"
    assert not member.is_stream and isinstance(member.was_cached, bool)
    member.seek(0)
    assert io.TextIOWrapper(member).read() == "one\ntwo\n" * 10_000
    member.close()
    assert member.closed
    with trawl.Set(f"{top}/d/*") as members, next(members) as member, open(os.dup(member.fileno()), "rb") as other:
        assert len(other.read()) == 80_000


def test_a_member_that_is_dropped_is_closed(wide: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with trawl.Set(f"{wide}/*/*/*") as members:
            dropped = next(members).name
            for member in members:
                assert dropped not in open_files()
                dropped = member.name
                assert dropped in open_files()
                del member
        gone = trawl.Set(f"{wide}/d00/*/*")
        first = next(gone)
        gone.close()
        raw = first.detach()
        del first
        gc.collect()
        raw.close()


def test_closing_early_frees_descriptors(wide: Path, site: Site) -> None:
    before = open_descriptors()
    for end in ("close", "with", "drop"):
        members = trawl.Set(f"{wide}/*/*/*", *site.urls(20))
        for _, member in zip(range(10), members):
            member.close()
        if end == "close":
            members.close()
            assert members.closed and next(members, None) is None
        elif end == "with":
            with members:
                pass
        del members, member
        gc.collect()
        # Connections of requests in flight are closed by their threads.
        for _ in range(2000):
            if open_descriptors() <= before:
                break
            threading.Event().wait(0.01)
        assert open_descriptors() <= before, end


def test_threads_share_an_iteration(wide: Path) -> None:
    members = trawl.Set(f"{wide}/*/*/*")
    found: list[list[str]] = [[] for _ in range(6)]

    def take(into: list[str]) -> None:
        for member in members:
            into.append(member.name)

    threads = [threading.Thread(target=take, args=(into,)) for into in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    names = list(itertools.chain(*found))
    assert sorted(names) == sorted(glob.glob(f"{wide}/*/*/*")) and len(names) == 600


def vanished(make: Make, **options: Any) -> tuple[trawl.Set[str], list[str], list[str]]:
    """A set of which some members vanish; those that are left, and those that are not."""
    top = make(*(f"d/{n}" for n in range(10)))
    members = trawl.Set(f"{top}/d/*", **options)
    assert len(members) == 10
    names = sorted(glob.glob(f"{top}/d/*"))
    for gone in names[3:6]:
        os.unlink(gone)
    return members, names[:3] + names[6:], names[3:6]


def test_members_that_vanished_are_raised_at_the_end(make: Make) -> None:
    members, left, gone = vanished(make)
    found = []
    with members:
        with pytest.raises(trawl.SetError, match="3 members") as caught:
            for member in members:
                found.append(member.name)
        assert sorted(found) == left
        errors = caught.value.exceptions
        assert sorted(error.filename for error in errors) == gone
        assert all(isinstance(error, FileNotFoundError) for error in errors)
        assert members.errors == list(errors)
        # They are raised once.
        assert list(members) == []
    if sys.version_info >= (3, 11):
        assert isinstance(caught.value, ExceptionGroup)
        same, rest = caught.value.split(FileNotFoundError)
        assert isinstance(same, trawl.SetError) and rest is None


def test_members_that_vanished_are_raised_by_the_context(make: Make) -> None:
    members, left, gone = vanished(make, ordered=True)
    with pytest.raises(trawl.SetError) as caught:
        with members:
            for member in members:
                if member.name == left[-1]:
                    break
    assert [error.filename for error in caught.value.exceptions] == gone
    members, left, gone = vanished(make, ordered=True)
    for member in members:
        if member.name == left[-1]:
            break
    with pytest.raises(trawl.SetError):
        members.close()
    members.close()


def test_an_exception_on_its_way_is_not_replaced(make: Make) -> None:
    members, left, _ = vanished(make, ordered=True)
    with pytest.warns(RuntimeWarning, match="3 members of a set cannot be read, the first of which"):
        with pytest.raises(KeyError):
            with members:
                for member in members:
                    if member.name == left[-1]:
                        raise KeyError
    members, left, _ = vanished(make, ordered=True)
    for member in members:
        if member.name == left[-1]:
            break
    with pytest.warns(RuntimeWarning, match="3 members"):
        del members
        gc.collect()


def test_errors_can_be_collected_or_handled(make: Make) -> None:
    members, left, gone = vanished(make, errors="collect")
    with members:
        assert sorted(contents(members)) == left
    assert sorted(error.filename for error in members.errors) == gone
    handled: list[OSError] = []
    members, left, gone = vanished(make, on_error=handled.append)
    with members:
        assert sorted(contents(members)) == left
    assert sorted(error.filename for error in handled) == gone and members.errors == []
    members, left, gone = vanished(make, on_error=lambda error: 1 / 0)
    with members, pytest.raises(ZeroDivisionError):
        list(members)


def test_a_directory_and_a_command_that_fails(make: Make) -> None:
    top = make("d/", "f")
    with trawl.Set(f"{top}/*", errors="collect") as members:
        assert [member.name for member in members] == [f"{top}/f"]
        assert [(type(error), error.filename) for error in members.errors] == [(IsADirectoryError, f"{top}/d")]
    with trawl.Set(f"{top}/%ls f; exit 3%", commands=True) as members:
        with pytest.raises(trawl.SetError, match="1 member "):
            assert [member.name for member in members] == [f"{top}/f"]
            next(members)
    with trawl.Set(f"{top}/%ls f%") as members:
        with pytest.raises(trawl.SetError):
            next(members)


@pytest.mark.parametrize("names, options, kind", [
    (("/{a",), {}, ValueError), (("/srv/\\q",), {}, ValueError), (("/srv/x\0y",), {}, ValueError), ((b"/a", "/b"), {}, TypeError),
    ((1,), {}, TypeError), (("/a",), {"errors": "ignore"}, ValueError), (("/a",), {"share": (2, 2)}, ValueError),
    (("/a",), {"served_by": "nobody"}, ValueError), (("/a",), {"wait": -1.0}, ValueError),
    (("/a",), {"max_threads": -1}, OverflowError),
])
def test_what_makes_no_sense_is_an_error_at_once(names: Any, options: Any, kind: Any) -> None:
    with pytest.raises(kind, match="."):
        trawl.Set(*names, **options)


def test_a_digest_has_names_and_attributes(wide: Path, site: Site) -> None:
    with trawl.Set(f"{wide}/*/*/*", *site.urls(3), metadata=True) as members:
        found = {entry.name: entry.stat for entry in members.digest()}
        assert sorted(found) == sorted(glob.glob(f"{wide}/*/*/*") + site.urls(3))
        for name, stat in found.items():
            if name.startswith("http:"):
                assert stat is None
            else:
                assert stat is not None and stat.st_size == os.stat(name).st_size and stat.st_ino == os.stat(name).st_ino
        assert list(members.digest()) == [] and site.asked == []
        members.rewind_digest()
        assert len(list(members.digest())) == 603
        # Digests do not iterate.
        assert len(contents(members)) == 603
    with trawl.Set(f"{wide}/d00/*/*") as members:
        assert {entry.stat for entry in members.digest()} == {None}


def test_unions_and_intersections(wide: Path) -> None:
    one, two = glob.glob(f"{wide}/d0[0-5]/*/*"), glob.glob(f"{wide}/d0[3-9]/*/*")
    left, right = trawl.Set(f"{wide}/d0[0-5]/*/*"), trawl.Set(f"{wide}/d0[3-9]/*/*")
    both, common = left | right, left & right
    ordered = left.union(right, ordered=True)
    assert sorted(member.name for member in left) == sorted(one)
    left.close()
    right.close()
    assert sorted(contents(both)) == sorted({*one, *two}) and sorted(contents(common)) == sorted({*one} & {*two})
    assert len(both) == len({*one, *two}) and one[0] in both and one[0] + "x" not in both
    assert os.fsencode(one[0]) in both
    names = [member.name for member in ordered]
    ordered.rewind()
    assert names == [member.name for member in ordered] and len(names) == len(both)
    with pytest.raises(TypeError):
        both | 1  # type: ignore[operator]
    with pytest.raises(TypeError):
        both.union(trawl.Set(b"/a"))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="closed"):
        left | both
    with pytest.raises(ValueError, match="closed"):
        len(left)
    with pytest.raises(ValueError, match="closed"):
        assert "x" in left


def test_a_rewind_begins_again(make: Make) -> None:
    top = make(*(f"d/{n}" for n in range(50)))
    with trawl.Set(f"{top}/d/*", errors="collect") as members:
        first = [next(members).name for _ in range(5)]
        os.unlink(top / "d/7")
        (top / "d/8").write_bytes(b"new")
        members.rewind()
        found = contents(members)
        assert len(found) == 49 and found[f"{top}/d/8"] == b"new" and set(first) - {f"{top}/d/7"} <= set(found)
        assert [error.filename for error in members.errors] == [f"{top}/d/7"]


@pytest.mark.parametrize("threads", [1, 4])
def test_apply(wide: Path, threads: int) -> None:
    lock = threading.Lock()
    found: dict[str, bytes] = {}
    seen: list[trawl.Member[str]] = []

    def keep(member: trawl.Member[str]) -> None:
        with lock:
            found[member.name] = member.read()
            seen.append(member)

    with trawl.Set(f"{wide}/*/*/*") as members:
        assert members.apply(keep, threads=threads) == 600
    assert found == read(glob.glob(f"{wide}/*/*/*")) and all(member.closed for member in seen)

    def fail(member: trawl.Member[str]) -> None:
        raise KeyError(member.name)

    with trawl.Set(f"{wide}/*/*/*") as members:
        with pytest.raises(KeyError):
            members.apply(fail, threads=threads)
        left = len(contents(members))
        assert 600 - threads <= left <= 599
        with pytest.raises(ValueError, match="thread"):
            members.apply(fail, threads=0)
    vanishing = make_vanishing(wide)
    with pytest.raises(trawl.SetError, match="1 member "):
        vanishing.apply(keep, threads=threads)


def make_vanishing(wide: Path) -> trawl.Set[str]:
    members = trawl.Set(f"{wide}/d01/*/*")
    assert len(members) > 1
    os.unlink(glob.glob(f"{wide}/d01/*/*")[0])
    return members


def test_limits_hold(wide: Path, site: Site) -> None:
    site.delay = 0.01
    before = open_descriptors()
    with trawl.Set(*site.urls(30), max_open_ahead=2, max_requests=2, max_bytes_ahead=100) as members:
        found = contents(members)
        assert found == {url: url[url.rindex("/"):].encode() for url in site.urls(30)}
        stats = members.stats()
        assert stats["delivered"] == stats["members"] == 30 and stats["problems"] == 0 and stats["fetch_seconds"] > 0
    with trawl.Set(f"{wide}/*/*/*", max_open_ahead=1, max_threads=0) as members:
        assert len(contents(members)) == 600
    assert open_descriptors() <= before + 40


@pytest.mark.parametrize("use", [
    lambda members: next(members), len, lambda members: "x" in members, lambda members: next(members.digest()),
    lambda members: members.apply(print, threads=2),
])
def test_close_ends_waits_of_other_threads(site: Site, use: Callable[[trawl.Set[str]], object]) -> None:
    site.go.clear()
    members = trawl.Set(f"/%sleep 60 # {id(use)}%", *site.urls(1), commands=True)
    ended: list[object] = []

    def wait() -> None:
        try:
            ended.append(use(members))
        except (StopIteration, ValueError) as error:
            ended.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    # The interpreter goes on meanwhile.
    assert sum(range(100_000)) == 4_999_950_000
    thread.join(0.05)
    assert thread.is_alive()
    members.close()
    thread.join(10)
    assert not thread.is_alive() and len(ended) == 1
