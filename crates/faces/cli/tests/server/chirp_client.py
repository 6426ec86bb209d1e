"""A client of Chirp's line `search`, written from what its clients send and expect.

usage: chirp_client.py PORT PATTERN PATHS FLAGS [LINE ...]

Says who it is (the ways that a client tries, one after the other), asks, and prints each
record: its fields, separated by tabs. Each LINE is sent afterwards; what it is answered is printed.
"""

import socket
import sys


class Connection:
    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=100)
        self.rest = b""

    def say(self, line: str) -> None:
        self.socket.sendall(line.encode() + b"\n")

    def hear_bytes(self, length: int) -> str:
        while len(self.rest) < length:
            piece = self.socket.recv(65536)
            if not piece:
                raise EOFError("the server has left")
            self.rest += piece
        told, self.rest = self.rest[:length], self.rest[length:]
        return told.decode()

    def hear(self) -> str:
        while b"\n" not in self.rest:
            piece = self.socket.recv(65536)
            if not piece:
                raise EOFError("the server has left")
            self.rest += piece
        line, self.rest = self.rest.split(b"\n", 1)
        # A client has room for 1,024 bytes of a path, and some more of a line.
        assert len(line) < 1400, len(line)
        return line.decode(errors="surrogateescape")


def log_in(connection: Connection) -> None:
    for way in ["kerberos", "unix", "hostname"]:
        connection.say(way)
        if connection.hear() != "yes":
            continue
        # The way itself, then the server's word that it lets us in, as this.
        assert connection.hear() == "yes"
        assert connection.hear() == "yes"
        kind, subject = connection.hear(), connection.hear()
        print("logged in", kind, subject)
        return
    raise SystemExit("no way in")


def records(connection: Connection) -> list[list[str]]:
    """All lines together are a list of fields: the number of each says how many follow."""
    text = ""
    while line := connection.hear():
        text += line
    fields = text.split(":")
    assert fields.pop() == ""
    found = []
    while fields:
        found.append(fields[:3])
        del fields[:3]
    return found


def main() -> None:
    port, pattern, paths, flags, *lines = sys.argv[1:]
    connection = Connection(int(port))
    log_in(connection)
    # Clients of Chirp ask who they are before anything else: a length, then so many bytes.
    for most in [1024, 4]:
        connection.say(f"whoami {most}")
        told = connection.hear_bytes(int(connection.hear()))
        assert told == "hostname:127.0.0.1"[:most], told
    connection.say(f"search {pattern} {paths} {flags}")
    result = int(connection.hear())
    print("result", result)
    if result == 0:
        for record in records(connection):
            print("\t".join(record))
    for line in lines:
        connection.say(line)
        print(connection.hear())


main()
