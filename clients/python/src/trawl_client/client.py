"""A server: sessions, pages and errors. The questions are in `questions.py`, which is generated."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, Generic, Literal, Self, TypeVar, cast
from urllib.parse import parse_qs, urlsplit

import httpx

from .models import Me, Page, Session, Ways

Row = TypeVar("Row")


class Problem(Exception):
    """A question that was refused or failed: see `status`, `title` and `detail`."""

    def __init__(self, status: int, title: str, detail: str, wait_seconds: int | None = None) -> None:
        super().__init__(f"{title}: {detail}" if detail else title)
        self.status = status
        self.title = title
        self.detail = detail
        #: Seconds to wait before the next attempt, if the server says so.
        self.wait_seconds = wait_seconds


class Incomplete(Exception):
    """The rows were all that could be found, and something is missing."""

    def __init__(self, page: Page) -> None:
        reason = page.get("reason") or "the answer is not complete"
        super().__init__("\n".join([reason, *page["issues"]]))
        #: The last page, whose `reason` and `issues` say what is missing.
        self.page = page


class PageOf(Page, Generic[Row]):
    """A page with rows of a type."""

    rows: list[Row]


class Rows(Generic[Row]):
    """The answer to a question. Iterating over it asks, and gives the rows of all pages; `Incomplete` is
    raised behind the last row if something is missing."""

    def __init__(self, server: Server, name: str, arguments: Mapping[str, object]) -> None:
        self._server = server
        self._name = name
        self._arguments = arguments

    def __iter__(self) -> Iterator[Row]:
        page: PageOf[Row] | None = None
        for page in self.pages():
            yield from page["rows"]
        if page is not None and not page["complete"]:
            raise Incomplete(page)

    def pages(self) -> Generator[PageOf[Row], None, None]:
        """Asks, and gives the pages. What is not read is dropped at the server."""
        page = cast(PageOf[Row], self._server.ask(self._name, self._arguments))
        cursor = page.get("cursor")
        try:
            yield page
            while cursor is not None:
                used, cursor = cursor, None
                page = cast(PageOf[Row], self._server.ask("more", {"cursor": used}))
                cursor = page.get("cursor")
                yield page
        finally:
            if cursor is not None:
                with suppress(Problem, httpx.HTTPError):
                    self._server.request("DELETE", "more", params={"cursor": cursor})


class Server:
    """A server that answers questions.

    `base` is its address, such as `http://127.0.0.1:8300`; `secret` is a token or a session. `http`
    has other settings of connections, such as certificates.
    """

    def __init__(self, base: str, secret: str | None = None, http: httpx.Client | None = None) -> None:
        self.base = base.rstrip("/")
        self.secret = secret
        self._http = http or httpx.Client(timeout=httpx.Timeout(10, read=None))

    @classmethod
    def from_link(cls, link: str, http: httpx.Client | None = None) -> Self:
        """Returns a server with the session that a one-time link gives."""
        parts = urlsplit(link)
        server = cls(f"{parts.scheme}://{parts.netloc}", http=http)
        server.login(token=parse_qs(parts.fragment).get("token", [""])[0])
        return server

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections. The session stays."""
        self._http.close()

    def login(self, user: str | None = None, password: str | None = None, *, token: str | None = None) -> Session:
        """Begins a session: with a user's password, with a token, or with the secret of a link."""
        given = {"user": user, "password": password, "token": token}
        body = {name: value for name, value in given.items() if value is not None}
        session = cast(Session, self.request("POST", "session", json=body).json())
        self.secret = session["session"]
        return session

    def logout(self) -> None:
        """Ends the session."""
        self.request("DELETE", "session")
        self.secret = None

    def ways(self) -> Ways:
        """Returns the ways to log in."""
        return cast(Ways, self.request("GET", "login").json())

    def me(self) -> Me:
        """Says as whom the server answers."""
        return cast(Me, self.request("GET", "me").json())

    def ask(self, name: str, arguments: Mapping[str, object]) -> Any:
        """Asks a question, and returns its answer or the first page of it.

        Raises `Problem` if it is refused or fails.
        """
        return self.request("POST", name, json=arguments).json()

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Sends a request to a path below `/api/v1`. Raises `Problem` if it is refused or fails."""
        response = self._http.request(method, self._url(path), headers=self._headers(), **options)
        _check(response)
        return response

    @contextmanager
    def download(
        self,
        name: str,
        arguments: Mapping[str, object],
        format: Literal["jsonl", "csv", "arrow", "parquet"],
        *,
        partial: bool = False,
        spreadsheet: bool = False,
    ) -> Iterator[Iterator[bytes]]:
        """Asks for a whole answer, and gives its bytes. Unless `partial` is true, reading them raises
        `httpx.RemoteProtocolError` if something is missing. Only `sql` and `schema` are answered as Parquet."""
        body: dict[str, object] = {**arguments, "format": format}
        if partial:
            body["partial"] = True
        if spreadsheet:
            body["spreadsheet"] = True
        with self._http.stream("POST", self._url(name), headers=self._headers(), json=body) as response:
            if response.is_error:
                response.read()
            _check(response)
            yield response.iter_bytes()

    def _url(self, path: str) -> str:
        return f"{self.base}/api/v1/{path}"

    def _headers(self) -> dict[str, str]:
        return {} if self.secret is None else {"Authorization": f"Bearer {self.secret}"}


def _check(response: httpx.Response) -> None:
    if not response.is_error:
        return
    try:
        body = response.json()
    except ValueError:
        body = None
    fields = body if isinstance(body, dict) else {}
    wait = response.headers.get("Retry-After", "")
    raise Problem(
        response.status_code,
        str(fields.get("title", f"Error {response.status_code}")),
        str(fields.get("detail", "")),
        int(wait) if wait.isdecimal() else None,
    )
