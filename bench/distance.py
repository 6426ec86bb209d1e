#!/usr/bin/env python3
"""Puts a distance between clients and a server: `distance.py SOCKET SERVER DELAY_MS MIB_PER_S`.

Listens at the Unix socket SOCKET and passes everything on to the one at SERVER and back. Each direction is late by
DELAY_MS, and answers arrive at no more than MIB_PER_S over all connections (0: as fast as they come). It stands in
for `tc netem`, a queueing discipline that a kernel may have been built without: then `tc qdisc add dev lo root
netem delay 5ms` fails with "Specified qdisc kind is unknown", in a network namespace, too.

Threads sleep, because an event loop's timers are only as fine as epoll_wait(2)'s milliseconds.
"""

from __future__ import annotations

import os
import queue
import socket
import sys
import threading
import time
from dataclasses import dataclass, field

PIECE_BYTES = 16 << 10
PIECES_MAX = 4096
MIB = 1 << 20


@dataclass
class Line:
    """One direction of the way; its connections share the bandwidth."""

    delay_s: float
    bytes_per_s: float
    free_at: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def arrival(self, count: int) -> float:
        """Returns when bytes that are sent now have arrived."""
        with self.lock:
            self.free_at = max(self.free_at, time.monotonic()) + (count / self.bytes_per_s if self.bytes_per_s else 0.0)
            return self.free_at + self.delay_s


Way = queue.Queue[tuple[float, bytes]]


def receive(source: socket.socket, line: Line, way: Way) -> None:
    """Notes when each piece arrives; an empty piece is the end."""
    piece = b"-"
    while piece:
        try:
            piece = source.recv(PIECE_BYTES)
        except OSError:
            piece = b""
        way.put((line.arrival(len(piece)), piece))


def deliver(way: Way, target: socket.socket) -> None:
    """Writes each piece when it arrives."""
    while True:
        at, piece = way.get()
        time.sleep(max(0.0, at - time.monotonic()))
        try:
            if not piece:
                target.shutdown(socket.SHUT_WR)
                break
            target.sendall(piece)
        except OSError:
            break


def connect(here: socket.socket, server: str, up: Line, down: Line) -> None:
    """Relays one connection until both directions have ended."""
    with here, socket.socket(socket.AF_UNIX) as there:
        try:
            there.connect(server)
        except OSError:
            return
        threads = []
        for line, source, target in ((up, here, there), (down, there, here)):
            way: Way = queue.Queue(PIECES_MAX)
            for work in ((receive, source, line, way), (deliver, way, target)):
                threads.append(threading.Thread(target=work[0], args=work[1:], daemon=True))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def main() -> int:
    """Relays all connections until the program is ended."""
    listen, server, delay_ms, mib_per_s = sys.argv[1:]
    up, down = Line(float(delay_ms) / 1e3, 0.0), Line(float(delay_ms) / 1e3, float(mib_per_s) * MIB)
    with socket.socket(socket.AF_UNIX) as listener:
        # It appears once it can be connected to.
        listener.bind(f"{listen}.part")
        listener.listen(128)
        os.rename(f"{listen}.part", listen)
        try:
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=connect, args=(connection, server, up, down), daemon=True).start()
        except KeyboardInterrupt:
            return 0


if __name__ == "__main__":
    sys.exit(main())
