//! The file's lines: one of JSON that states the format, then one for each session or token.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::MAX_AGE;
use super::{EXTENDED_EVERY, Grant, Kind, MAX_IDENTITY_BYTES, MAX_TEXT_BYTES, New, Scopes};
use crate::error::IdentityError;

/// Random bytes of an id.
pub(super) const ID_BYTES: usize = 6;
/// Hexadecimal digits of an id that is read.
const ID_DIGITS: std::ops::RangeInclusive<usize> = 8..=64;
/// Last second of the year 9999: later times cannot be printed.
const LATEST: u64 = 253_402_300_799;
const VERSION: u64 = 1;

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    /// Version of the format.
    trawl_credentials: u64,
}

/// A session or token. Times are seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// Empty until it is stored.
    pub(super) id: String,
    pub(super) kind: Kind,
    pub(super) sha256: [u8; 32],
    pub(super) user: String,
    pub(super) scopes: Scopes,
    pub(super) created: u64,
    pub(super) expires: u64,
    pub(super) lifetime: u64,
    pub(super) note: String,
    /// Id of the token that began the session.
    pub(super) token: Option<String>,
    /// What another service said of the user when the session began.
    pub(super) identity: Option<String>,
}

/// A record as it is written.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    id: String,
    kind: String,
    sha256: String,
    user: String,
    scopes: String,
    created: u64,
    expires: u64,
    lifetime: u64,
    note: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    identity: Option<String>,
}

impl Record {
    /// Returns the record of a new session or token, without an id.
    pub(super) fn of(new: &New<'_>, sha256: [u8; 32], now: u64) -> Result<Record, IdentityError> {
        let invalid = |part, why| Err(IdentityError::Invalid { part, why });
        let lifetime = new.lifetime.as_secs();
        let expires = now.checked_add(lifetime).filter(|time| *time <= LATEST);
        let Some(expires) = expires else {
            return invalid("lifetime", "it ends after the year 9999");
        };
        if lifetime == 0 {
            return invalid("lifetime", "it must be at least a second");
        }
        if new.scopes.is_empty() {
            return invalid("set of scopes", "it is empty");
        }
        let record = Record {
            id: String::new(),
            kind: new.kind,
            sha256,
            user: new.user.to_owned(),
            scopes: new.scopes,
            created: now,
            expires,
            lifetime,
            note: new.note.to_owned(),
            token: new.token.map(str::to_owned),
            identity: new.identity.map(str::to_owned),
        };
        match record.wrong_text() {
            Some((part, why)) => invalid(part, why),
            None => Ok(record),
        }
    }

    /// Returns the text that must not be stored, if there is one, and why.
    fn wrong_text(&self) -> Option<(&'static str, &'static str)> {
        let why = |text: &str| match text {
            text if text.len() > MAX_TEXT_BYTES => Some("it has more than 256 bytes"),
            text if text.chars().any(char::is_control) => Some("it has control characters"),
            _ => None,
        };
        let is_wrong =
            |text: &String| text.len() > MAX_IDENTITY_BYTES || text.chars().any(char::is_control);
        match (why(&self.user), why(&self.note)) {
            _ if self.identity.as_ref().is_some_and(is_wrong) => {
                Some(("identity", "it is too long, or has control characters"))
            }
            _ if self.user.is_empty() => Some(("user", "it is empty")),
            (Some(why), _) => Some(("user", why)),
            (None, Some(why)) => Some(("note", why)),
            (None, None) => None,
        }
    }

    pub(super) fn is_valid(&self, now: u64) -> bool {
        now < self.expires
    }

    /// Returns whether the record is a session that should be extended now.
    pub(super) fn is_due(&self, now: u64) -> bool {
        let every = EXTENDED_EVERY.as_secs().min(self.lifetime / 10);
        let extended = self.expires.saturating_sub(self.lifetime);
        let since = now.saturating_sub(extended);
        let can_grow = self.expires < self.created.saturating_add(MAX_AGE.as_secs());
        self.kind == Kind::Session && self.is_valid(now) && can_grow && since >= every.max(1)
    }

    /// Extends a session, whose end is at most [`MAX_AGE`] after its begin.
    pub(super) fn extend(&mut self, now: u64) {
        let last = self.created.saturating_add(MAX_AGE.as_secs()).min(LATEST);
        let extended = now.saturating_add(self.lifetime).min(last);
        self.expires = self.expires.max(extended);
    }

    pub(super) fn grant(&self) -> Grant {
        Grant {
            id: self.id.clone(),
            kind: self.kind,
            user: self.user.clone(),
            scopes: self.scopes,
            created: time(self.created),
            expires: time(self.expires),
            note: self.note.clone(),
            identity: self.identity.clone(),
        }
    }

    fn line(&self) -> Line {
        Line {
            id: self.id.clone(),
            kind: self.kind.name().to_owned(),
            sha256: hex(&self.sha256),
            user: self.user.clone(),
            scopes: self.scopes.to_string(),
            created: self.created,
            expires: self.expires,
            lifetime: self.lifetime,
            note: self.note.clone(),
            token: self.token.clone(),
            identity: self.identity.clone(),
        }
    }
}

impl TryFrom<Line> for Record {
    type Error = String;

    fn try_from(line: Line) -> Result<Record, String> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if !ID_DIGITS.contains(&line.id.len()) || !line.id.bytes().all(is_digit) {
            return Err("the id is not 8 to 64 hexadecimal digits".to_owned());
        }
        let kinds = [Kind::Session, Kind::Token].into_iter();
        let kind = kinds.into_iter().find(|kind| kind.name() == line.kind);
        let times = [line.created, line.expires, line.lifetime];
        if times.iter().any(|time| *time > LATEST) {
            return Err("a time is after the year 9999".to_owned());
        }
        let record = Record {
            id: line.id,
            kind: kind.ok_or("the kind is neither session nor token")?,
            sha256: from_hex(&line.sha256).ok_or("the hash is not 64 hexadecimal digits")?,
            user: line.user,
            scopes: line.scopes.parse()?,
            created: line.created,
            expires: line.expires,
            lifetime: line.lifetime,
            note: line.note,
            token: line.token,
            identity: line.identity,
        };
        match record.wrong_text() {
            Some((part, why)) => Err(format!("the {part} is invalid: {why}")),
            None => Ok(record),
        }
    }
}

/// The records of a file, by hash and by id.
#[derive(Debug, Default)]
pub(super) struct Table {
    records: Vec<Record>,
    by_hash: HashMap<[u8; 32], usize>,
    by_id: HashMap<String, usize>,
}

impl Table {
    /// Reads a file's bytes. `path` is for errors.
    pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Table, IdentityError> {
        let wrong = |line, why: String| IdentityError::Line {
            path: path.to_owned(),
            line,
            why,
        };
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let mut lines = (1..).zip(bytes.split(|byte| *byte == b'\n'));
        let head = lines.next().map_or(&[][..], |(_, head)| head);
        let head: Head = serde_json::from_slice(head).map_err(|error| wrong(1, why(&error)))?;
        if head.trawl_credentials != VERSION {
            return Err(IdentityError::Version {
                path: path.to_owned(),
                version: head.trawl_credentials,
            });
        }
        let mut table = Table::default();
        for (number, line) in lines {
            let line: Line =
                serde_json::from_slice(line).map_err(|error| wrong(number, why(&error)))?;
            let record = Record::try_from(line).map_err(|why| wrong(number, why))?;
            table
                .add(record)
                .map_err(|why| wrong(number, why.to_owned()))?;
        }
        Ok(table)
    }

    fn add(&mut self, record: Record) -> Result<(), &'static str> {
        let at = self.records.len();
        if self.by_hash.insert(record.sha256, at).is_some() {
            return Err("another line has the same hash");
        }
        if self.by_id.insert(record.id.clone(), at).is_some() {
            return Err("another line has the same id");
        }
        self.records.push(record);
        Ok(())
    }

    pub(super) fn records(&self) -> &[Record] {
        &self.records
    }

    /// Returns whether a record has not expired, and neither has the token that began the session.
    pub(super) fn holds(&self, record: &Record, now: u64) -> bool {
        let token = record.token.as_deref().map(|id| self.with_id(id));
        let token_holds = token.is_none_or(|token| token.is_some_and(|token| token.is_valid(now)));
        record.is_valid(now) && token_holds
    }

    pub(super) fn into_records(self) -> Vec<Record> {
        self.records
    }

    pub(super) fn with_hash(&self, sha256: &[u8; 32]) -> Option<&Record> {
        self.records.get(*self.by_hash.get(sha256)?)
    }

    pub(super) fn with_id(&self, id: &str) -> Option<&Record> {
        self.records.get(*self.by_id.get(id)?)
    }
}

/// Returns a file's bytes for these records.
pub(super) fn encode(records: &[Record]) -> Result<Vec<u8>, serde_json::Error> {
    let head = Head {
        trawl_credentials: VERSION,
    };
    let mut bytes = serde_json::to_vec(&head)?;
    bytes.push(b'\n');
    for record in records {
        serde_json::to_writer(&mut bytes, &record.line())?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}

/// The error without its position, which counts from the line's beginning.
fn why(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or_default();
    format!("it is not a line of JSON as this program writes it: {text}")
}

fn time(seconds: u64) -> SystemTime {
    let time = UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
    time.unwrap_or(UNIX_EPOCH)
}

/// Returns bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn from_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 2 * bytes.len() || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests;
