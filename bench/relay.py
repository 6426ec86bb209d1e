#!/usr/bin/env python3
"""Runs a server of the search call and counts its requests: `relay.py COUNTS COMMAND…`.

A client's requests pass through here; the server's answers do not. A file in the directory COUNTS holds the
number of requests of this connection. It is written before a request is passed on, so that a client with an
answer finds the request counted. Frames are described in `crates/remote/protocol/src/wire/mod.rs`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

#: Frames that are requests: search, stat, list, read, links.
REQUESTS = {2, 8, 9, 10, 14}
LENGTH_BYTES = 4


def main() -> int:
    """Passes requests on until the client ends."""
    counts, *command = sys.argv[1:]
    count = os.open(Path(counts) / str(os.getpid()), os.O_CREAT | os.O_WRONLY, 0o600)
    server = subprocess.Popen(command, stdin=subprocess.PIPE)
    assert server.stdin is not None
    asked, rest = 0, b""
    while piece := os.read(0, 1 << 16):
        rest += piece
        while len(rest) > LENGTH_BYTES:
            end = LENGTH_BYTES + int.from_bytes(rest[:LENGTH_BYTES], "little")
            if len(rest) < end:
                break
            asked += rest[LENGTH_BYTES] in REQUESTS
            rest = rest[end:]
        # Never shorter than before, because this program may be killed at any time.
        os.pwrite(count, f"{asked:20}".encode(), 0)
        try:
            server.stdin.write(piece)
            server.stdin.flush()
        except BrokenPipeError:
            break
    try:
        server.stdin.close()
    except BrokenPipeError:
        pass
    return server.wait()


if __name__ == "__main__":
    sys.exit(main())
