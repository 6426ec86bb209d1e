"""Search over file systems: one question instead of a call for each file.

    import trawl

    for record in trawl.search("*.c|*.h", "/usr/src", metadata=True):
        if record.error is not None:
            print(record.source, record.error, file=sys.stderr)
        else:
            print(record.stat.st_size, record.path)

For patterns, flags, the order of records and the executors see docs/search-call.md.
"""

from trawl._search import Flags, Search, escape, search
from trawl._trawl import VERSION, Cancelled, Record, SearchError

__version__ = VERSION
__all__ = ["Cancelled", "Flags", "Record", "Search", "SearchError", "escape", "search"]
