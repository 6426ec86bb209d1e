//! The table of messages, and a module for each of them with everything about it: what it says, its
//! encoding and decoding, and, if it is a request, how a server answers it and how a client asks.
//!
//! A row has the number of the kind, the variant and the type of the message, its name, its role,
//! and its feature bit, if not every end of this version knows it. Its documentation states the
//! body. All numbers are little-endian; *bytes* stands for a length (4) and that many bytes.
//!
//! | role | sent by | parts that it must have besides [`Body`] |
//! |---|---|---|
//! | `connection` | both | none; the connection's two ends deal with it |
//! | `request` | client | [`Serve`], [`Ask`] |
//! | `stream` | client | [`Serve`], [`Open`]: the answer is taken piece by piece |
//! | `about` | client | [`Steer`]: it is about a running request |
//! | `answer` | server | none; it is part of the answer to a request |
//!
//! Invariants: bytes are untrusted. No length is believed before that many bytes are there; exactly
//! the bytes that [`Message::encode`] writes are accepted; numbers and feature bits, once published,
//! keep their meaning.

mod alive;
pub(crate) mod attributes;
mod block;
mod byte_range;
pub(crate) mod command;
pub(crate) mod contents;
mod credit;
mod data;
mod end;
mod error;
mod exited;
pub(crate) mod fetch;
mod hello;
mod interrupt;
mod links;
mod list;
mod news;
mod printed;
mod read;
mod roles;
pub(crate) mod search;
mod served_by;
mod stat;
mod table;
#[cfg(test)]
mod tests;
pub(crate) mod watch;

use crate::wire::{BadFrame, Frame};

#[cfg(test)]
use roles::Sample;
use table::{messages, role};

pub use alive::Alive;
pub use attributes::AttributesRequest;
pub use block::Block;
pub use byte_range::ByteRange;
pub use command::{CommandRequest, MappedCommand, RankedCommand, VARIABLES};
pub use contents::{Content, Contents, ContentsWish, SearchContents};
pub use credit::Credit;
pub use data::Data;
pub use end::{End, Ending};
pub use error::{Code, Refusal};
pub use exited::Exited;
pub use fetch::FetchRequest;
pub use hello::Hello;
pub use interrupt::Interrupt;
pub use links::{LinksRequest, Target};
pub use list::ListRequest;
pub use news::{Happened, News, NewsItems, NewsName};
pub use printed::{OutputStream, Printed};
pub use read::ReadRequest;
pub(crate) use roles::{Arrived, Ask, Body, Kind, Open, Serve, Steer, encode};
pub use search::{Question, QuestionRoot};
pub use served_by::Answerer;
pub use stat::StatRequest;
pub use watch::WatchRequest;

messages! {
    /// From both ends: `trawl\0rp`, lowest and highest version (2 each; from a server both are the
    /// version that it speaks), maximum number of concurrent requests (4; from a client 0),
    /// features (8).
    1 Hello(Hello), "hello", connection;

    /// Flags (4), depth (4), credit (4), cookie (bytes; empty if none), number of patterns (4), the
    /// patterns (bytes), number of roots (4), for each root: index of its pattern (4), number (4),
    /// path, path as shown, prefix (bytes), number of skipped paths (4), the skipped paths (bytes).
    2 Search(Question), "search", stream;

    /// Whole records, encoded as in `trawl_call::packed`.
    3 Block(Block), "block", answer;

    /// 0 complete or 1 paused (1), zeros (7), number of records sent (8), for 1 a cookie to resume
    /// with (bytes, else empty).
    4 End(End), "end", answer;

    /// From a server: code (2), zeros (2), errno (4), text (bytes).
    5 Error(Refusal), "error", connection;

    /// Nothing.
    6 Interrupt(Interrupt), "interrupt", about;

    /// Number of additional bytes of blocks that may be sent (4).
    7 Credit(Credit), "credit", about;

    /// 0 for a link's target, 1 for a link itself (1), zeros (3), path (bytes).
    8 Stat(StatRequest), "stat", request, STAT = 0;

    /// Credit (4), path (bytes).
    9 List(ListRequest), "list", request, LIST = 1;

    /// Offset (8), length (4), path (bytes).
    10 Read(ReadRequest), "read", request, READ = 2;

    /// Bytes of a file, to the end of the frame.
    11 Data(Data), "data", answer;

    /// From a server: nothing. Work continues.
    12 Alive(Alive), "alive", connection;

    /// To clients with this feature: who gives the blocks that follow: 1 a walk, 2 an index (1),
    /// zeros (3).
    13 ServedBy(Answerer), "served by", answer, SERVED_BY = 3;

    /// Number of paths (4), the paths (bytes). The answer is data: for each path an errno (4) and
    /// the link's target (bytes).
    14 Links(LinksRequest), "links", request, LINKS = 4;

    /// Maximum number of entries (4), path of a directory, path of an object below it (bytes). The
    /// answer is data: the [`attributes`](crate::wire::attributes) of that object (with an empty path those of the directory
    /// itself, links followed), then those of the objects after it in a search of the directory.
    15 Attributes(AttributesRequest), "attributes", request, ATTRIBUTES = 5;

    /// The top (bytes), number of directories (4), the directories, relative to the top (bytes).
    /// The answer is news, until the request is interrupted. With the number of a running watch:
    /// watches these directories, too; only after all earlier ones were answered.
    16 Watch(WatchRequest), "watch", stream, WATCH = 6;

    /// Number of items (4), for each item: 0 watched, 1 not watched, 2 changed, 3 lost (1), zeros
    /// (3), path relative to the top (bytes), for 2 a number of names (4), for each name: 0
    /// attributes or contents changed, 1 names another file (1), zeros (3), the name (bytes; `.` is
    /// the directory itself). No items: nothing changed.
    17 News(NewsItems), "news", answer;

    /// Offset (8), length (4), path (bytes). The answer is data: the [`version`](crate::wire::version)
    /// of the file, then its bytes in that version.
    18 Fetch(FetchRequest), "fetch", request, FETCH = 7;

    /// Maximum number of bytes of a file (4), of all files (8), then as `search`. The answer is that
    /// of `search`, with contents before the blocks of their records.
    19 SearchContents(SearchContents), "search with contents", stream, CONTENTS = 8;

    /// Number of files (4), for each file: number of its record's root (4), path as in the record
    /// (bytes), its [`version`](crate::wire::version) and then all of its bytes (bytes).
    20 Contents(Contents), "contents", answer;

    /// Credit (4), flags (4): 1 standard output is a terminal, 2 standard error is one; columns (2)
    /// and rows (2) of the terminal, or zeros; working directory (bytes), number of variables (4),
    /// the variables as `NAME=VALUE` (bytes), number of words (4), the words of a command line
    /// without the program's name (bytes). The answer is what the command prints, and how it exits.
    21 Command(CommandRequest), "command", stream, COMMAND = 9;

    /// 1 standard output, 2 standard error (1), zeros (3), bytes to the end of the frame.
    22 Printed(Printed), "printed", answer;

    /// The exit code of the command (4).
    23 Exited(Exited), "exited", answer;

    /// Number of trees (4), for each tree: its path on the client (bytes), its path on the server
    /// (bytes), `/` is empty; then as `command`, with a working directory of the client. In words and
    /// in the answer, paths are those of the client.
    24 MappedCommand(MappedCommand), "mapped command", stream, MAPPED = 10;

    /// As `mapped command`; the number of trees may be 0. What the command prints on its standard
    /// output is [`rows`](crate::rows).
    25 RankedCommand(RankedCommand), "ranked command", stream, RANKED = 11;
}
