"""Two desktop indexers for the bench, with data and configurations of their own: recoll, and Tracker 3 (now localsearch).

Everything ends and is removed when a `with` block ends, in whatever way. Both are asked by their own command-line
programs. recoll compares words as Trawl does: without stems, and with everything but letters and digits between them.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from propeller_setting import output

MINER = "/usr/libexec/tracker-miner-fs-3"
SERVICE = "org.freedesktop.Tracker3.Miner.Files"
READY_S = 300.0


def missing(*programs: str) -> str:
    """Returns why an indexer cannot run; empty if it can."""
    absent = [Path(name).name for name in programs if not shutil.which(name)]
    return f"skipped, because these are not installed: {', '.join(absent)}" if absent else ""


def paths(lines: list[bytes]) -> set[bytes]:
    """Returns the paths of the URLs in lines."""
    return {line.strip()[len(b"file://"):] for line in lines if line.strip().startswith(b"file://")}


@dataclass(frozen=True)
class Recoll:
    """recoll with a configuration of its own."""

    folder: Path

    @staticmethod
    def missing() -> str:
        """Returns why it cannot run."""
        return missing("recollindex", "recollq")

    @classmethod
    @contextlib.contextmanager
    def configured(cls, work: Path, tops: list[Path]) -> Iterator[Recoll]:
        """Makes a configuration that indexes these directories."""
        with tempfile.TemporaryDirectory(prefix="recoll-", dir=work) as name:
            settings = ["topdirs = " + " ".join(f'"{top}"' for top in tops), "indexstemminglanguages =", "noaspell = 1", "loglevel = 1",
                        "skippedNames =", "monixinterval = 1", "monauxinterval = 0",
                        # By default it starts a slow script for each file of a kind that it does not know by name.
                        "usesystemfilecommand = 0"]
            Path(name, "recoll.conf").write_text("\n".join(settings) + "\n")
            yield cls(Path(name))

    def words(self, program: str, *more: str) -> list[str]:
        """Returns a command, which writes into the configuration's directory only."""
        return ["env", f"HOME={self.folder}", program, "-c", str(self.folder), *more]

    def index(self) -> None:
        """Makes the index anew."""
        subprocess.run(self.words("recollindex", "-z"), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def question(self, word: str) -> list[str]:
        """Returns the command that names the files with a word."""
        return self.words("recollq", "-b", "-n", "0", "-s", "", word)

    def keyword(self, word: str) -> set[bytes]:
        """Returns the files with a word."""
        return paths(output(self.question(word)))

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Runs its daemon, which first brings the index up to date."""
        daemon = subprocess.Popen(self.words("recollindex", "-m", "-x", "-D", "-C", "-w", "0"), stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield
        finally:
            daemon.terminate()
            daemon.wait()


@dataclass(frozen=True)
class Tracker:
    """Tracker on a bus of its own."""

    env: dict[str, str]

    @staticmethod
    def missing() -> str:
        """Returns why it cannot run."""
        return missing(MINER, "tracker3", "dbus-daemon")

    @classmethod
    @contextlib.contextmanager
    def watching(cls, work: Path, top: Path) -> Iterator[Tracker]:
        """Runs it on a directory."""
        with tempfile.TemporaryDirectory(prefix="tracker-", dir=work, ignore_cleanup_errors=True) as name, contextlib.ExitStack() as stack:
            home = Path(name)
            env = {**os.environ, "HOME": name, "GSETTINGS_BACKEND": "keyfile"}
            for variable in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"):
                env[variable] = str(home / variable.lower())
                (home / variable.lower()).mkdir(mode=0o700)
            settings = home / "xdg_config_home/glib-2.0/settings/keyfile"
            settings.parent.mkdir(parents=True)
            settings.write_text(f"[org/freedesktop/tracker/miner/files]\nindex-recursive-directories=['{top}']\n"
                                "index-single-directories=@as []\nindex-applications=false\ninitial-sleep=0\nthrottle=0\n")
            bus = stack.enter_context(ended(["dbus-daemon", "--session", "--nofork", "--print-address=1"], env))
            assert bus.stdout
            env["DBUS_SESSION_BUS_ADDRESS"] = bus.stdout.readline().decode().strip()
            stack.enter_context(ended([MINER, "--initial-sleep=0"], env))
            yield cls(env)

    def ask(self, pattern: str) -> set[bytes]:
        """Returns the paths of the files that a pattern of SPARQL binds to `?f`."""
        query = f"SELECT ?f {{ {pattern} }}"
        ran = subprocess.run(["tracker3", "sparql", f"--dbus-service={SERVICE}", "-q", query], env=self.env, capture_output=True, check=False)
        return {urllib.parse.unquote_to_bytes(path) for path in paths(ran.stdout.splitlines())}

    def keyword(self, word: str) -> set[bytes]:
        """Returns the files with a word."""
        return self.ask(f'GRAPH tracker:Documents {{ ?u fts:match "{word}" ; nie:isStoredAs ?f }}')

    def newer(self, since_s: int) -> set[bytes]:
        """Returns the files that were changed since then."""
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(since_s))
        return self.ask(f'GRAPH tracker:FileSystem {{ ?f nfo:fileLastModified ?t . FILTER (?t >= "{when}"^^xsd:dateTime) }}')


@contextlib.contextmanager
def ended(words: list[str], env: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a program until the end of the block."""
    process = subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()
