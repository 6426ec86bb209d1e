//! Messages for the user.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use trawl_text::words::quoted;

/// Receives the messages, from any thread.
pub type Tell = Arc<dyn Fn(&Notice) + Send + Sync>;

/// A message for the user. [`fmt::Display`] gives its text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// The command could not be started.
    NotStarted {
        /// Name of the program.
        program: Vec<u8>,
        /// The system's reason.
        why: String,
    },
    /// The command's programs are not answered from tables.
    WithoutTables {
        /// The reason.
        why: String,
    },
    /// Names in tables do not come from the index.
    WithoutIndex {
        /// The reason.
        why: String,
    },
    /// The dynamic loader is not answered, because the library for it is not installed.
    WithoutAudit,
    /// The command ended well although a part of a tree could not be shown to it.
    Incomplete {
        /// Name of the tree.
        tree: String,
    },
    /// Something in a tree of a server could not be shown.
    Tree {
        /// Its text.
        text: String,
    },
    /// Clients can connect to an address.
    Listening {
        /// The address.
        address: SocketAddr,
    },
    /// A report about a client or a process that serves it.
    Server {
        /// Its text.
        text: String,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::NotStarted { program, why } => {
                write!(out, "cannot run {}: {why}", quoted(program))
            }
            Notice::WithoutTables { why } => {
                write!(out, "{why}: the command runs without tables")
            }
            Notice::WithoutIndex { why } => write!(out, "{why}: the file system is asked"),
            Notice::WithoutAudit => out.write_str(
                "libtrawl-audit.so is not installed next to trawl: the loader searches for \
                 libraries itself",
            ),
            Notice::Incomplete { tree } => write!(
                out,
                "the command could not see all of {tree}, and did not report that"
            ),
            Notice::Tree { text } | Notice::Server { text } => out.write_str(text),
            Notice::Listening { address } => write!(out, "listens at {address}"),
        }
    }
}
