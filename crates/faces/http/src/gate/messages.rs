//! What keeper and front tell each other, over a pair of sockets that preserves message boundaries.
//! Messages are JSON; a descriptor may come with one.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use trawl_sys::message::{Waiting, receive, send};

use super::openid::Shown;

/// Most bytes of a message.
pub const MESSAGE_BYTES: usize = 128 << 10;

/// Most bytes of a user name or a secret that is looked at.
pub const NAME_BYTES: usize = 1024;

/// What the front has to know. With it come the files of the server's certificate, if there is TLS
/// ([`trawl_remote::tls::files::ServerFiles`]), and after it one message with each listening socket: a
/// [`Kind`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setup {
    /// Ways to log in, as the page is told.
    pub ways: Vec<String>,
    /// The name of the provider of OpenID Connect, if there is one.
    pub provider: Option<String>,
    /// The header in which a proxy names the user.
    pub proxy_header: String,
    /// Most bytes that a user is sent in an hour.
    pub hourly_bytes: Option<u64>,
    /// Most rows that a user is sent in an hour.
    pub hourly_rows: Option<u64>,
    /// How many listening sockets follow.
    pub sockets: usize,
}

/// Kinds of listening sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// TCP, with TLS.
    Tls,
    /// A Unix socket at which a proxy connects that knows its users.
    Proxy,
}

/// A request of the front.
#[derive(Serialize, Deserialize)]
pub struct Request {
    /// The answer has the same.
    pub number: u64,
    /// Where the client is.
    pub address: Option<IpAddr>,
    /// The request itself.
    pub asked: Asked,
}

/// What the front asks.
#[derive(Serialize, Deserialize)]
pub enum Asked {
    /// Begin a session by a password.
    Login {
        /// The name of the user.
        user: String,
        /// The password.
        password: String,
    },
    /// Begin a session by a token.
    Exchange {
        /// The token.
        token: String,
    },
    /// Begin a login at the provider of OpenID Connect.
    BeginOpenId {
        /// The hash of a secret that the tab keeps.
        hash: String,
    },
    /// Begin a session by what the provider says.
    FinishOpenId(Shown),
    /// Return a connection to the desk of a user.
    Open {
        /// What shows who the client is.
        proof: Proof,
    },
    /// Only check the proof.
    Check {
        /// What shows who the client is.
        proof: Proof,
    },
    /// End a session.
    End {
        /// The session.
        secret: String,
    },
    /// Record how a question ended. There is no answer.
    Record(Box<Ended>),
}

/// What a client has shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Proof {
    /// A session or a token.
    Secret(String),
    /// The identities in a certificate that an authority has signed.
    Certificate(Vec<String>),
    /// The name that a proxy gives.
    Proxy(String),
}

/// How a question ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ended {
    /// Who asked.
    pub who: Option<Who>,
    /// Name of the question.
    pub question: String,
    /// Its arguments, as they came; cut if they are long.
    pub arguments: String,
    /// The status of HTTP.
    pub status: u16,
    /// How it ended: `complete`, `partial`, `failed` or `cancelled`.
    pub outcome: String,
    /// Rows that were sent, if their number is known.
    pub rows: Option<u64>,
    /// Bytes that were sent.
    pub bytes: u64,
    /// Time until the end, in seconds.
    pub seconds: f64,
}

/// Who a client is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Who {
    /// Name of the user.
    pub user: String,
    /// Number of the user.
    pub uid: u32,
    /// How that is known: `session ID`, `token ID`, `certificate` or `proxy`.
    pub by: String,
    /// The classes of questions that are allowed, separated by commas: `names,contents,sql`.
    pub scopes: String,
}

/// An answer of the keeper.
#[derive(Serialize, Deserialize)]
pub struct Answer {
    /// The number of the request.
    pub number: u64,
    /// The answer.
    pub told: Told,
}

/// What the keeper answers.
#[derive(Serialize, Deserialize)]
pub enum Told {
    /// A session has begun.
    Session {
        /// Its secret.
        secret: String,
        /// Name of the user.
        user: String,
    },
    /// The address at which the user logs in.
    Address(String),
    /// The client is known. If a connection was asked for, it comes with the message.
    Known(Who),
    /// Done.
    Done,
    /// Nothing was asked: the files of another certificate come with the message, for new connections.
    Certificate,
    /// No.
    Refused(Refusal),
}

/// Why something is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The status of HTTP.
    pub status: u16,
    /// What is wrong, and what to do.
    pub detail: String,
    /// Seconds after which to ask again.
    pub wait: Option<u64>,
}

impl Refusal {
    /// Returns a refusal.
    pub fn new(status: u16, detail: impl Into<String>) -> Refusal {
        Refusal {
            status,
            detail: detail.into(),
            wait: None,
        }
    }

    /// Returns a refusal that ends after some seconds.
    pub fn until(status: u16, detail: impl Into<String>, wait: u64) -> Refusal {
        Refusal {
            wait: Some(wait),
            ..Refusal::new(status, detail)
        }
    }
}

/// Sends a message.
///
/// # Errors
/// Fails if the other end is closed, or the call would have to wait and may not.
pub fn tell(
    to: impl AsFd,
    message: &impl Serialize,
    descriptor: Option<BorrowedFd<'_>>,
    waiting: Waiting,
) -> io::Result<()> {
    let bytes = serde_json::to_vec(message)?;
    if bytes.len() > MESSAGE_BYTES {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    send(to, &bytes, descriptor, waiting)
}

/// Receives a message; `None` if the other end is closed.
///
/// # Errors
/// Fails if the message is none of these, or there is none and the call may not wait.
pub fn hear<M: DeserializeOwned>(
    from: impl AsFd,
    waiting: Waiting,
) -> io::Result<Option<(M, Option<OwnedFd>)>> {
    let mut buffer = vec![0; MESSAGE_BYTES];
    let (length, descriptor) = receive(from, &mut buffer, waiting)?;
    match length {
        0 => Ok(None),
        _ => Ok(Some((
            serde_json::from_slice(&buffer[..length])?,
            descriptor,
        ))),
    }
}
