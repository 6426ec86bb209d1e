//! Errors of asking a server and of serving a client.

use std::io;
use std::path::PathBuf;

use crate::wire::{BadFrame, Code};

/// A failure of communication between two machines.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The address is invalid.
    #[error(
        "cannot read the address {address}: {why}; write unix:PATH, tls:HOST:PORT, ssh:HOST or command:WORDS"
    )]
    Address {
        /// The address as it was given.
        address: String,
        /// Why it is invalid.
        why: &'static str,
    },
    /// The server cannot be reached.
    #[error("cannot reach {server}: {source}")]
    Connect {
        /// Address of the server.
        server: String,
        /// The reason.
        source: io::Error,
    },
    /// The connection broke.
    #[error("the connection to {server} broke: {source}; the answer is incomplete")]
    Broken {
        /// Address of the server.
        server: String,
        /// The cause.
        source: io::Error,
    },
    /// The connection ended before the answer did.
    #[error("{server} ended before its answer was complete{how}")]
    Cut {
        /// Address of the server.
        server: String,
        /// How the server's process ended, if that is known.
        how: String,
    },
    /// One end does not accept the other's certificate.
    #[error("cannot authenticate with {server}: {why}")]
    Tls {
        /// Address of the server.
        server: String,
        /// The reason.
        why: String,
    },
    /// The server sent nothing for too long.
    #[error("{server} has sent nothing for {seconds} s; the answer is incomplete")]
    Silent {
        /// Address of the server.
        server: String,
        /// Length of the silence in seconds.
        seconds: u64,
    },
    /// The server sent invalid bytes.
    #[error("cannot read the answer of {server}: {source}")]
    Nonsense {
        /// Address of the server.
        server: String,
        /// Why they are invalid.
        source: BadFrame,
    },
    /// The answer exceeds the memory that an answer to this request may take.
    #[error(
        "{server} sends more than the {most} bytes that an answer to this request may have; ask about less at once"
    )]
    TooMuch {
        /// Address of the server.
        server: String,
        /// Maximum size of the answer in bytes.
        most: usize,
    },
    /// The server refused the request.
    #[error("{server} says: {text}")]
    Refused {
        /// Address of the server.
        server: String,
        /// The reason as a code.
        code: Code,
        /// The errno of the failed system call, or 0.
        errno: i32,
        /// The reason as text.
        text: String,
    },
    /// The server does not know this kind of request.
    #[error("{server} does not know how to answer about {what}: a newer trawl is needed there")]
    Lacks {
        /// Address of the server.
        server: String,
        /// The subject of the request.
        what: &'static str,
    },
    /// The caller has no use for the answer any more.
    #[error("the request to {server} was cancelled")]
    Cancelled {
        /// Address of the server.
        server: String,
    },
    /// The request is too long for one frame.
    #[error("the question has {bytes} bytes: at most {most} can be sent; ask in parts")]
    TooLong {
        /// Length of the request in bytes.
        bytes: usize,
        /// Maximum length in bytes.
        most: usize,
    },
    /// A client violated the protocol, or is gone.
    #[error("cannot serve: {why}")]
    Client {
        /// The violation, or how the client left.
        why: String,
    },
    /// A file, a socket or a directory could not be used.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// The attempted action.
        action: &'static str,
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The exports are invalid.
    #[error("cannot read the exports: {why}")]
    Exports {
        /// The invalid export, and what is wrong with it.
        why: String,
    },
}
