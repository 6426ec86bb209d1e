//! Why a server could not be asked, or a client not be served.

use std::io;
use std::path::PathBuf;

use crate::wire::{BadFrame, Code};

/// What went wrong between two machines.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The address is none.
    #[error(
        "cannot read the address {address}: {why}; write unix:PATH, tls:HOST:PORT, ssh:HOST or command:WORDS"
    )]
    Address {
        /// As it was given.
        address: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The server cannot be reached.
    #[error("cannot reach {server}: {source}")]
    Connect {
        /// Its address.
        server: String,
        /// Why not.
        source: io::Error,
    },
    /// The connection broke.
    #[error("cannot go on with {server}: {source}; the answer is not whole")]
    Broken {
        /// Its address.
        server: String,
        /// How.
        source: io::Error,
    },
    /// The connection ended before the answer did.
    #[error("{server} ended before its answer was whole{how}")]
    Cut {
        /// Its address.
        server: String,
        /// How its process ended, if that is known.
        how: String,
    },
    /// The two ends do not trust each other.
    #[error("cannot be let in at {server}: {why}")]
    Tls {
        /// Its address.
        server: String,
        /// Why not.
        why: String,
    },
    /// Nothing came for too long.
    #[error("{server} has said nothing for {seconds} s; the answer is not whole")]
    Silent {
        /// Its address.
        server: String,
        /// For how long.
        seconds: u64,
    },
    /// What came makes no sense.
    #[error("cannot read what {server} says: {source}")]
    Nonsense {
        /// Its address.
        server: String,
        /// What is wrong with it.
        source: BadFrame,
    },
    /// An answer takes more memory than one to such a question may.
    #[error(
        "{server} sends more than the {most} bytes that an answer to this question may take; ask about less at once"
    )]
    TooMuch {
        /// Its address.
        server: String,
        /// What it may take, bytes.
        most: usize,
    },
    /// The server said no.
    #[error("{server} says: {text}")]
    Refused {
        /// Its address.
        server: String,
        /// Why, as a number.
        code: Code,
        /// An errno, or 0.
        errno: i32,
        /// In words.
        text: String,
    },
    /// The server is older than the question.
    #[error("{server} does not know how to answer about {what}: a newer trawl is needed there")]
    Lacks {
        /// Its address.
        server: String,
        /// What was asked for.
        what: &'static str,
    },
    /// The question is too long for one frame.
    #[error("the question has {bytes} bytes: at most {most} can be sent; ask in parts")]
    TooLong {
        /// What it has.
        bytes: usize,
        /// What it may have.
        most: usize,
    },
    /// The other end of a connection that is served does not keep to the protocol, or is gone.
    #[error("cannot serve: {why}")]
    Client {
        /// What it did.
        why: String,
    },
    /// A file, a socket or a directory could not be used.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it did not work.
        source: io::Error,
    },
    /// Exports that cannot be read.
    #[error("cannot read the exports: {why}")]
    Exports {
        /// Which, and what is wrong.
        why: String,
    },
}
