//! Secrets that stand for a user: sessions of browsers, and tokens of programs.
//!
//! They lie in the file `credentials` of a directory that only the superuser (or, for a server that
//! does not run as the superuser, the user that runs it) can enter. Several processes use it: the
//! server and the command line. A process that changes it holds a lock and replaces it as a whole; a
//! process that reads it notices that, so what the command line revokes is refused by the server
//! from its next question on. Sessions and tokens survive a restart of the server.
//!
//! Invariants: the file holds hashes of secrets, never secrets; a secret has 256 random bits and is
//! looked up by its hash, so the time that this takes tells nothing about other secrets; owners and
//! permissions are checked at every reading; a file with an invalid line stands for nobody; the
//! numbers of sessions and tokens of a user, and the file's length, are bounded.

mod lines;
mod place;
mod scopes;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ring::digest::{SHA256, digest};

use crate::error::IdentityError;
use lines::{ID_BYTES, Record, Table, hex};
use place::{Place, Seen};

pub use place::{FILE, FILE_MAX_BYTES};
pub use scopes::{Scope, Scopes};

/// Maximum number of sessions that a user has begun without a token; a further one ends the oldest.
pub const MAX_SESSIONS: usize = 16;
/// Maximum number of sessions that a token has begun; a further one ends the oldest of them. So whoever
/// has a token ends no session but its own.
pub const MAX_SESSIONS_OF_TOKEN: usize = 8;
/// Maximum number of tokens of a user; a further one is refused.
pub const MAX_TOKENS: usize = 64;
/// Maximum length in bytes of a user's name, and of a note.
pub const MAX_TEXT_BYTES: usize = 256;
/// Maximum length in bytes of an identity.
pub const MAX_IDENTITY_BYTES: usize = 1024;
/// Longest time between two extensions of a session that is used.
pub const EXTENDED_EVERY: Duration = Duration::from_secs(10 * 60);

/// Longest life of a session, however much it is used.
pub const MAX_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Random bytes of a secret.
const SECRET_BYTES: usize = 32;
/// Begins tokens, so that programs that look for published secrets know them.
const TOKEN_PREFIX: &str = "trawl_";
/// Length of the longest secret; longer texts are not even hashed.
const SECRET_MAX_BYTES: usize = TOKEN_PREFIX.len() + 2 * SECRET_BYTES;

/// What holds a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A browser, after its user has logged in; it is extended while it is used.
    Session,
    /// A program; it ends when it was made to end.
    Token,
}

impl Kind {
    /// Returns the name, such as `session`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Session => "session",
            Kind::Token => "token",
        }
    }

    const fn prefix(self) -> &'static str {
        match self {
            Kind::Session => "",
            Kind::Token => TOKEN_PREFIX,
        }
    }
}

/// What a secret stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Names it, in lists and to revoke it; hexadecimal digits. It reveals nothing of the secret.
    pub id: String,
    /// What holds the secret.
    pub kind: Kind,
    /// Name of the user.
    pub user: String,
    /// Which questions it may ask.
    pub scopes: Scopes,
    /// When it was made.
    pub created: SystemTime,
    /// When it ends.
    pub expires: SystemTime,
    /// A text for people, such as what a token is for.
    pub note: String,
    /// What another service says of the user, by which a session began.
    pub identity: Option<String>,
}

/// A session or token to make.
#[derive(Clone, Copy, Debug)]
pub struct New<'a> {
    /// What will hold the secret.
    pub kind: Kind,
    /// Name of the user. Whether the user exists is up to the caller.
    pub user: &'a str,
    /// Which questions it may ask; not empty.
    pub scopes: Scopes,
    /// How long it holds, in whole seconds; for a session, after its last use.
    pub lifetime: Duration,
    /// A text for people; not shown to others.
    pub note: &'a str,
    /// Id of the token that began the session. The session ends with it.
    pub token: Option<&'a str>,
    /// What another service says of the user, by which the session begins.
    pub identity: Option<&'a str>,
}

/// The sessions and tokens of a server.
#[derive(Debug)]
pub struct Credentials {
    place: Place,
    /// The file as it was last read.
    read: Mutex<Option<(Option<Seen>, Arc<Table>)>>,
}

impl Credentials {
    /// Opens the credentials in a directory, which is made if it is missing.
    ///
    /// # Errors
    /// Fails if the directory cannot be made, another user owns it or may enter it, or the file in it
    /// cannot be used.
    pub fn open(directory: &Path) -> Result<Credentials, IdentityError> {
        Credentials::at(Place::make(directory)?)
    }

    /// Opens the credentials in an existing directory.
    ///
    /// # Errors
    /// Fails if it is missing, and as [`Credentials::open`].
    pub fn open_existing(directory: &Path) -> Result<Credentials, IdentityError> {
        Credentials::at(Place::existing(directory)?)
    }

    fn at(place: Place) -> Result<Credentials, IdentityError> {
        let read = Mutex::default();
        let credentials = Credentials { place, read };
        credentials.current().map(|_| credentials)
    }

    /// Returns what a secret stands for; `None` if it is unknown, revoked or has expired.
    ///
    /// # Errors
    /// Fails if the file has become unusable; then nobody is let in.
    pub fn find(&self, secret: &str, now: SystemTime) -> Result<Option<Grant>, IdentityError> {
        if secret.len() > SECRET_MAX_BYTES {
            return Ok(None);
        }
        let table = self.current()?;
        let record = table.with_hash(&hash(secret));
        let record = record.filter(|record| table.holds(record, seconds(now)));
        Ok(record.map(Record::grant))
    }

    /// Makes a session or token. Returns its secret, which is stored nowhere. Expired ones are
    /// removed; if the user or the token has too many sessions, the oldest of them is.
    ///
    /// # Errors
    /// Fails if a part of the request is invalid, the user has too many tokens, or the file cannot be
    /// changed.
    pub fn create(&self, new: New<'_>, now: SystemTime) -> Result<(String, Grant), IdentityError> {
        let now = seconds(now);
        let secret = format!("{}{}", new.kind.prefix(), hex(&random::<SECRET_BYTES>()?));
        let mut record = Record::of(&new, hash(&secret), now)?;
        self.place
            .change(|records| {
                records.retain(|record| record.is_valid(now));
                while record.id.is_empty() || records.iter().any(|other| other.id == record.id) {
                    record.id = hex(&random::<ID_BYTES>()?);
                }
                make_room(records, &new)?;
                let grant = record.grant();
                records.push(record);
                Ok(Some((secret, grant)))
            })
            // The change above always returns a value.
            .and_then(|made| made.ok_or(IdentityError::Random))
    }

    /// Ends a session, or a token with the sessions that it began. Returns false if there is none with
    /// this id.
    ///
    /// # Errors
    /// Fails if the file cannot be changed.
    pub fn revoke(&self, id: &str) -> Result<bool, IdentityError> {
        let is_meant = |record: &Record| record.id == id || record.token.as_deref() == Some(id);
        self.remove(is_meant).map(|count| count > 0)
    }

    /// Ends all sessions and tokens of a user, and returns how many there were.
    ///
    /// # Errors
    /// Fails if the file cannot be changed.
    pub fn revoke_all_of(&self, user: &str) -> Result<usize, IdentityError> {
        self.remove(|record| record.user == user)
    }

    fn remove(&self, is_meant: impl Fn(&Record) -> bool) -> Result<usize, IdentityError> {
        let removed = self.place.change(|records| {
            let before = records.len();
            records.retain(|record| !is_meant(record));
            let removed = before - records.len();
            Ok((removed > 0).then_some(removed))
        });
        Ok(removed?.unwrap_or(0))
    }

    /// Returns the sessions and tokens that have not expired, in the order in which they were made.
    ///
    /// # Errors
    /// Fails if the file has become unusable.
    pub fn list(&self, now: SystemTime) -> Result<Vec<Grant>, IdentityError> {
        let table = self.current()?;
        let records = table.records().iter();
        let valid = records.filter(|record| table.holds(record, seconds(now)));
        Ok(valid.map(Record::grant).collect())
    }

    /// Extends a session that is used, so that it ends its lifetime after now, and at most [`MAX_AGE`]
    /// after its begin. The file is changed at
    /// most every ten minutes for a session (or every tenth of its lifetime, if that is shorter).
    /// Tokens are not extended.
    ///
    /// # Errors
    /// Fails if the file cannot be changed.
    pub fn used(&self, id: &str, now: SystemTime) -> Result<(), IdentityError> {
        let now = seconds(now);
        let table = self.current()?;
        if !table.with_id(id).is_some_and(|record| record.is_due(now)) {
            return Ok(());
        }
        let extended = self.place.change(|records| {
            let mut records = records.iter_mut();
            let record = records.find(|record| record.id == id && record.is_due(now));
            Ok(record.map(|record| record.extend(now)))
        });
        extended.map(drop)
    }

    /// Returns what the file says now, without reading it again if it is the same file.
    fn current(&self) -> Result<Arc<Table>, IdentityError> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((seen, table)) = &*read
            && self.place.is_unchanged(seen.as_ref())?
        {
            return Ok(Arc::clone(table));
        }
        let (seen, table) = self.place.read()?;
        let table = Arc::new(table);
        *read = Some((seen, Arc::clone(&table)));
        Ok(table)
    }
}

/// Makes room for a further session, or refuses a further token.
fn make_room(records: &mut Vec<Record>, new: &New<'_>) -> Result<(), IdentityError> {
    let is_alike = |record: &Record| {
        record.kind == new.kind && record.user == new.user && record.token.as_deref() == new.token
    };
    let most = match new.token {
        Some(_) => MAX_SESSIONS_OF_TOKEN,
        None => MAX_SESSIONS,
    };
    let mut count = records.iter().filter(|record| is_alike(record)).count();
    match new.kind {
        Kind::Token if count >= MAX_TOKENS => {
            return Err(IdentityError::TooManyTokens {
                user: new.user.to_owned(),
                max: MAX_TOKENS,
            });
        }
        Kind::Token => {}
        // Records are in the order in which they were made.
        Kind::Session => records.retain(|record| {
            let is_ended = is_alike(record) && count >= most;
            count -= usize::from(is_ended);
            !is_ended
        }),
    }
    Ok(())
}

fn hash(secret: &str) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, secret.as_bytes()).as_ref());
    hash
}

fn random<const BYTES: usize>() -> Result<[u8; BYTES], IdentityError> {
    let mut bytes = [0; BYTES];
    let source = ring::rand::SystemRandom::new();
    ring::rand::SecureRandom::fill(&source, &mut bytes).map_err(|_| IdentityError::Random)?;
    Ok(bytes)
}

/// Seconds since 1970.
fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
