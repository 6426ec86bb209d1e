"""What goes wrong, and how it is told."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
import trawl
from conftest import Make


@pytest.mark.parametrize("pattern, options", [
    ("a|", {}), ("", {}), ("a/", {}), ("a\0b", {}), ("x", {"flags": 1 << 1}), ("x", {"max_depth": 1 << 20}),
    ("x", {"served_by": "nobody"}), ("x", {"cookie": b"nonsense"}), ("x", {"remote": "nowhere"}),
    ("x", {"wait": -1.0}), ("x", {"wait": float("nan")}), ("x", {"paths": ["a\0b"]}),
])
def test_what_makes_no_sense_is_a_value_error_at_once(pattern: str, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="."):
        trawl.search(pattern, **options)


def test_what_is_of_the_wrong_type() -> None:
    for pattern, paths in [(1, "."), ("x", 1), ("x", [1]), (None, ".")]:
        with pytest.raises(TypeError):
            trawl.search(pattern, paths)  # type: ignore[type-var, arg-type]


def test_an_index_that_is_not_there(tmp_path: Path) -> None:
    search = trawl.search("x*", tmp_path, served_by="index", index=tmp_path / "none")
    for _ in range(2):
        with pytest.raises(trawl.SearchError) as caught:
            next(search)
        assert caught.value.errno == errno.ENOENT and isinstance(caught.value, OSError)


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    search = trawl.search("x*", tmp_path, remote=f"unix:{tmp_path}/none")
    with pytest.raises(trawl.SearchError, match="cannot reach"):
        next(search)


def test_what_may_not_be_read_is_a_record() -> None:
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        for below in ("a/x", "closed/x", "z/x"):
            (top / below).parent.mkdir()
            (top / below).touch()
        os.chmod(top, 0o755)
        os.chmod(top / "closed", 0)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                if os.geteuid() == 0:
                    # Root may read everything.
                    os.setgroups([])
                    os.setresgid(65534, 65534, 65534)
                    os.setresuid(65534, 65534, 65534)
                records = list(trawl.search("x", top))
                assert [record.path for record in records] == ["a/x", "closed", "z/x"]
                assert isinstance(records[1].error, PermissionError) and records[1].source == "open"
                code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        os.chmod(top / "closed", 0o700)


def test_links_to_nothing_and_in_circles(make: Make) -> None:
    top = make("d/x")
    os.symlink("nowhere", top / "lost")
    os.symlink("..", top / "d/up")
    lost = list(trawl.search("/lost", top, metadata=True))
    assert [(record.source, type(record.error), record.stat) for record in lost] == [("stat", FileNotFoundError, None)]
    loops = [record for record in trawl.search("x", top, follow=True) if record.error]
    assert [(record.source, record.path) for record in loops] == [("loop", "d/up")]
    bounded = trawl.search("x", top, max_depth=0, depth16=True)
    with pytest.raises(trawl.SearchError) as raised:
        list(bounded)
    assert raised.value.errno == errno.EOVERFLOW
    deep = [record for record in trawl.search("x", top, max_depth=0) if record.error]
    assert [(record.source, record.path) for record in deep] == [("depth", "d")]
