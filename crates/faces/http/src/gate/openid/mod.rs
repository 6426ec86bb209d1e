//! OpenID Connect: users log in at a provider, which tells this server who they are.
//!
//! The page begins a login with a secret of its own, of which it shows a hash, and is given the
//! provider's address. The provider sends the browser back with a code. The page exchanges the code,
//! with its secret, for a session. The secret stays in the storage of the tab, which no other site,
//! port or tab reads: so nobody can begin a login in one browser and end it in another, and no session
//! is ever in an address. There are no cookies, which other ports of the machine would receive and
//! could set.
//!
//! | module | contents |
//! |---|---|
//! | [`settings`] | the file that names the provider |
//! | [`process`] | the process that speaks with the provider; it runs as the user of the front |
//! | [`pending`] | logins that have begun |
//! | [`provider`] | the provider's addresses and keys, codes, and what is checked of its answers |
//! | [`fetch`] | requests to the provider |
//! | [`line`] | the keeper's way to the process |
//! | [`login`] | from a claim to a user, and to a session that ends with the rule |
//!
//! Invariants: the keeper parses no byte of the provider; it is told a few short texts, checks each,
//! and never believes them about the superuser; a login holds once, for [`pending::PATIENCE`], and only
//! for the tab that began it; everything is bounded, the provider's answers in size and time.

pub mod fetch;
pub mod line;
pub mod login;
pub mod pending;
pub mod process;
pub mod provider;
pub mod settings;

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// Most bytes of a code, which some providers put much into.
pub const CODE_BYTES: usize = 8 << 10;

/// What the page shows when the provider has sent the browser back.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shown {
    /// The code of the provider.
    pub code: String,
    /// Names the login that has begun.
    pub state: String,
    /// The secret of the tab.
    pub secret: String,
    /// The issuer, if the provider names itself in the address (RFC 9207).
    pub issuer: Option<String>,
}

/// What the keeper asks the process.
#[derive(Debug, Serialize, Deserialize)]
pub enum Asked {
    /// Begin a login.
    Begin {
        /// The hash of the tab's secret: SHA-256, in base64url.
        hash: String,
        /// Where the client is.
        address: Option<IpAddr>,
    },
    /// End a login, and return these claims, as far as the provider makes them, and `sub`.
    Finish {
        /// What the page shows.
        shown: Shown,
        /// The names of the claims.
        claims: Vec<String>,
    },
}

/// A request of the keeper.
#[derive(Debug, Serialize, Deserialize)]
pub struct Request {
    /// The answer has the same.
    pub number: u64,
    /// The request itself.
    pub asked: Asked,
}

/// An answer of the process.
#[derive(Debug, Serialize, Deserialize)]
pub struct Answer {
    /// The number of the request.
    pub number: u64,
    /// The answer.
    pub told: Result<Told, Refused>,
}

/// What the process answers.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Told {
    /// The address at which the user logs in.
    Address(String),
    /// The login is right: what the provider says of the user.
    Claims(BTreeMap<String, String>),
}

/// Why a login does not go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// The kind of reason.
    pub why: Why,
    /// The details, for the administrator.
    pub cause: String,
}

/// Kinds of reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Why {
    /// There is no such login, or no longer, or another tab has begun it.
    NotBegun,
    /// What the provider says cannot be believed, or it refuses the code.
    NotBelieved,
    /// The provider cannot be asked.
    NoProvider,
    /// Too many logins are being ended.
    Busy,
}

impl Refused {
    /// Returns a refusal.
    pub fn new(why: Why, cause: impl Into<String>) -> Refused {
        let mut cause = cause.into();
        let most = cause.char_indices().nth(500).map(|(at, _)| at);
        if let Some(most) = most {
            cause.truncate(most);
        }
        Refused { why, cause }
    }
}
