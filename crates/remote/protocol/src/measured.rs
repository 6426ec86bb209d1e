//! The calls between clients and servers as operations of Trawl's own profile
//! ([`trawl_model::operation`]): how long a client waits for an answer, and how long a server works
//! on it. What is between the two is the network.
//!
//! A request is one operation, whatever the number of its frames. `watch` is none: it lasts until
//! nobody is interested any more.

use trawl_model::operation::Operation;

/// Requests by the names of their messages: what they are at a client, and at a server.
const REQUESTS: &[(&str, Operation, Operation)] = &[
    ("search", Operation::AskSearch, Operation::ServeSearch),
    (
        "search with contents",
        Operation::AskSearchContents,
        Operation::ServeSearchContents,
    ),
    ("stat", Operation::AskStat, Operation::ServeStat),
    ("list", Operation::AskList, Operation::ServeList),
    ("read", Operation::AskRead, Operation::ServeRead),
    ("fetch", Operation::AskFetch, Operation::ServeFetch),
    ("links", Operation::AskLinks, Operation::ServeLinks),
    (
        "attributes",
        Operation::AskAttributes,
        Operation::ServeAttributes,
    ),
    ("command", Operation::AskCommand, Operation::ServeCommand),
    (
        "mapped command",
        Operation::AskCommand,
        Operation::ServeCommand,
    ),
    (
        "ranked command",
        Operation::AskCommand,
        Operation::ServeCommand,
    ),
];

/// The operation of a client that sends this message; `None` if it is not measured.
pub(crate) fn asking(name: &str) -> Option<Operation> {
    let found = REQUESTS.iter().find(|(known, ..)| *known == name);
    found.map(|(_, asking, _)| *asking)
}

/// The operation of a server that answers this message; `None` if it is not measured.
pub(crate) fn serving(name: &str) -> Option<Operation> {
    let found = REQUESTS.iter().find(|(known, ..)| *known == name);
    found.map(|(.., serving)| *serving)
}
