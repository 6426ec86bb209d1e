"""A tree to search, and nobody's index."""

from __future__ import annotations

import http.server
import os
import threading
import time
from collections.abc import Iterator
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


class Site:
    """A server of HTTP at this machine, whose answers are delayed or held back."""

    def __init__(self) -> None:
        self.delay = 0.0
        self.go = threading.Event()
        self.go.set()
        self.asked: list[str] = []
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append(self.path)
                site.go.wait(60)
                time.sleep(site.delay)
                body = self.path.encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # type: ignore[method-assign]
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def urls(self, count: int) -> list[str]:
        port = self.server.server_address[1]
        return [f"http://127.0.0.1:{port}/{number}" for number in range(count)]


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A server; programs that this environment names are not used to reach it."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    site = Site()
    yield site
    site.go.set()
    site.server.shutdown()
    site.server.server_close()
