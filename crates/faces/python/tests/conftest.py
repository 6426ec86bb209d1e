"""A tree to search, and nobody's index."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Callable

import pytest

Make = Callable[..., Path]


@pytest.fixture(autouse=True)
def nobodys_index(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index of this machine's is not asked."""
    monkeypatch.setenv("TRAWL_INDEX", str(tmp_path_factory.mktemp("none") / "index"))


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Makes files; a name that ends in a slash makes a directory."""

    def make(*names: str | bytes) -> Path:
        for name in names:
            path = os.path.join(os.fsencode(tmp_path), os.fsencode(name))
            os.makedirs(path if path.endswith(b"/") else os.path.dirname(path), exist_ok=True)
            if not path.endswith(b"/"):
                with open(path, "wb") as file:
                    file.write(os.fsencode(name))
        return tmp_path

    return make


@pytest.fixture
def wide(make: Make) -> Path:
    """A tree of 600 directories in 30."""
    return make(*(f"d{n % 30:02}/e{n:03}/f{n}" for n in range(600)))
