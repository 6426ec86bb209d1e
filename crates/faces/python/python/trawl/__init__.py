"""Search over file systems: one question instead of a call for each file.

    import trawl

    for record in trawl.search("*.c|*.h", "/usr/src", metadata=True):
        if record.error is not None:
            print(record.source, record.error, file=sys.stderr)
        else:
            print(record.stat.st_size, record.path)

For patterns, flags, the order of records and the executors see docs/search-call.md.

Files whose order does not matter are read fastest as a dynamic set, which fetches them ahead:

    with trawl.Set("/srv/{a,b}/*.c") as members:
        for member in members:
            print(member.name, len(member.read()))

A program can set attributes of a file that it writes, by which searches then find the file:

    with open("song.flac", "r+b") as file:
        trawl.attr_set(file, "artist", "Bach")

For names of sets see docs/set-names.md, and for what is promised docs/sets.md.
"""

from trawl._attributes import attr_get, attr_list, attr_remove, attr_set
from trawl._dataset import SetDataset
from trawl._search import Flags, Search, escape, search
from trawl._sets import Member, Set, SetError
from trawl._trawl import VERSION, Cancelled, Digest, Record, SearchError

__version__ = VERSION
__all__ = [
    "Cancelled",
    "Digest",
    "Flags",
    "Member",
    "Record",
    "Search",
    "SearchError",
    "Set",
    "SetDataset",
    "SetError",
    "attr_get",
    "attr_list",
    "attr_remove",
    "attr_set",
    "escape",
    "search",
]
