#!/usr/bin/env python3
"""Puts a distance between clients and a server: `distance.py SOCKET SERVER DELAY_MS MIB_PER_S`.

Listens at the Unix socket SOCKET and passes everything on to the one at SERVER and back. Each direction is late by
DELAY_MS, and answers arrive at no more than MIB_PER_S over all connections (0: as fast as they come). It stands in
for `tc netem`, a queueing discipline that a kernel may have been built without: then `tc qdisc add dev lo root
netem delay 5ms` fails with "Specified qdisc kind is unknown", in a network namespace, too.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass

PIECE_BYTES = 16 << 10
MIB = 1 << 20


@dataclass
class Line:
    """One direction of the way; its connections share the bandwidth."""

    delay_s: float
    bytes_per_s: float
    free_at: float = 0.0

    def arrival(self, now: float, count: int) -> float:
        """Returns when bytes that are sent now have arrived."""
        self.free_at = max(self.free_at, now) + (count / self.bytes_per_s if self.bytes_per_s else 0.0)
        return self.free_at + self.delay_s


async def receive(reader: asyncio.StreamReader, line: Line, way: asyncio.Queue[tuple[float, bytes]]) -> None:
    """Notes when each piece arrives; an empty piece is the end."""
    loop = asyncio.get_running_loop()
    piece = b"-"
    while piece:
        try:
            piece = await reader.read(PIECE_BYTES)
        except ConnectionError:
            piece = b""
        await way.put((line.arrival(loop.time(), len(piece)), piece))


async def deliver(way: asyncio.Queue[tuple[float, bytes]], writer: asyncio.StreamWriter) -> None:
    """Writes each piece when it arrives."""
    loop = asyncio.get_running_loop()
    while True:
        at, piece = await way.get()
        if (left := at - loop.time()) > 0:
            await asyncio.sleep(left)
        if not piece:
            break
        try:
            writer.write(piece)
            await writer.drain()
        except ConnectionError:
            break
    writer.close()


async def serve(listen: str, server: str, delay_s: float, bytes_per_s: float) -> None:
    """Relays all connections until the program is ended."""
    up, down = Line(delay_s, 0.0), Line(delay_s, bytes_per_s)
    running: set[asyncio.Task[None]] = set()

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_unix_connection(server)
        for line, source, target in ((up, reader, there_writer), (down, there_reader, writer)):
            way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(maxsize=4096)
            for task in (receive(source, line, way), deliver(way, target)):
                running.add(started := asyncio.create_task(task))
                started.add_done_callback(running.discard)

    async with await asyncio.start_unix_server(connection, listen) as listener:
        await listener.serve_forever()


def main() -> int:
    """Reads the arguments."""
    listen, server, delay_ms, mib_per_s = sys.argv[1:]
    try:
        asyncio.run(serve(listen, server, float(delay_ms) / 1e3, float(mib_per_s) * MIB))
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
