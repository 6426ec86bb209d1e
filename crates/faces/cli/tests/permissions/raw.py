"""Decodes tables of an index with pyarrow.

Reads file names from standard input, each ended by a zero byte. Writes six fields a row, each
ended by a zero byte: the file, `entry`, `listing` or `value`, the directory, the name in it, the
attribute's name, and which directory it was: its inode number and when it was made, in ns.
"""

import os
import sys

import pyarrow.parquet as parquet


def raw(row, column):
    """The bytes of a name that is shown as text, escaped where it is not UTF-8."""
    value = row.get(column + "_raw")
    return row[column].encode() if value is None else value


def rows(file, table):
    name = file.replace(b".entries.parquet", b"." + table + b".parquet")
    return parquet.read_table(os.fsdecode(name)).to_pylist() if os.path.exists(name) else []


def put(*fields):
    sys.stdout.buffer.write(b"".join(field + b"\0" for field in fields))


def which(directory):
    """Tells a directory from others that had its path; nothing where that is not known."""
    seconds, nanoseconds = directory["own_btime"], directory["own_btime_ns"]
    if seconds is None:
        return b""
    if hasattr(seconds, "timestamp"):
        raise TypeError("a time is decoded otherwise than expected")
    return b"%d %d" % (directory["own_ino"], seconds * 1_000_000_000 + (nanoseconds or 0))


for file in sys.stdin.buffer.read().split(b"\0"):
    if file.endswith(b".entries.parquet"):
        entries = rows(file, b"entries")
        for directory in rows(file, b"dirs"):
            path, first = raw(directory, "path"), directory["first_row"]
            for entry in entries[first : first + directory["rows"]]:
                put(file, b"entry", path, raw(entry, "name"), b"", which(directory))
    elif file.endswith(b".dirs.parquet"):
        for directory in rows(file, b"dirs"):
            # Directories above a source's root stand only for the way to it.
            if directory["kind"] == 0:
                put(file, b"listing", raw(directory, "path"), b"", b"", which(directory))
    elif file.endswith(b".xattrs.parquet"):
        for value in rows(file, b"xattrs"):
            attribute = value["attr"] if isinstance(value["attr"], bytes) else value["attr"].encode()
            put(file, b"value", raw(value, "dir"), raw(value, "name"), attribute, b"")
