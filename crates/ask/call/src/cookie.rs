//! Positions in an answer, from which the search can resume later or in another process.
//!
//! The order of an answer is fixed, so a position is a name, not a number: a resumed search gives
//! exactly the records after that position, whatever was added or removed before it. Cookies are
//! untrusted: a cookie of another question is an error.

use xxhash_rust::xxh3::Xxh3;

use crate::error::CallError;
use crate::pattern::components;
use crate::record::{Outcome, RecordRef, Source};
use crate::request::Request;

/// The last record given of a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// No record: the search begins.
    Begin,
    /// The match of a root itself.
    Itself,
    /// The error about the directory itself.
    Own,
    /// The entry with this name.
    Name(Vec<u8>),
    /// The last record of the answer.
    End,
}

/// A position in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cookie {
    question: u64,
    pub(crate) root: u32,
    /// Path of the directory below the root; empty for the root itself.
    pub(crate) dir: Vec<u8>,
    pub(crate) stage: Stage,
}

const VERSION: u8 = 1;
const HEAD_BYTES: usize = 18;

impl Cookie {
    /// Returns the beginning of the answer to a request.
    pub fn begin(request: &Request) -> Cookie {
        Cookie {
            question: fingerprint(request),
            root: 0,
            dir: Vec::new(),
            stage: Stage::Begin,
        }
    }

    /// Moves to a record of the answer. A record of no root of the request changes nothing.
    pub fn advance(&mut self, request: &Request, record: &RecordRef<'_>) {
        let Some(root) = request.root(record.root) else {
            return;
        };
        let below = request.unspell(root, record.path);
        let about_dir = match record.outcome {
            Outcome::Match(_) => false,
            Outcome::Error(trouble) => trouble.source != Source::Stat,
        };
        self.root = record.root;
        if about_dir {
            self.dir = below.to_vec();
            self.stage = Stage::Own;
        } else if below.is_empty() {
            self.dir.clear();
            self.stage = Stage::Itself;
        } else {
            let cut = below.iter().rposition(|byte| *byte == b'/');
            let (dir, name) = match cut {
                Some(cut) => (&below[..cut], &below[cut + 1..]),
                None => (&b""[..], below),
            };
            self.dir.clear();
            self.dir.extend_from_slice(dir);
            self.stage = Stage::Name(name.to_vec());
        }
    }

    /// Returns whether this position comes after another one in the same answer.
    pub fn is_behind(&self, other: &Cookie) -> bool {
        let order = self.root.cmp(&other.root);
        let order = order.then_with(|| components(&self.dir).cmp(components(&other.dir)));
        order.then_with(|| self.stage.cmp(&other.stage)).is_gt()
    }

    /// Moves to the end.
    pub(crate) fn end(&mut self) {
        self.dir.clear();
        self.stage = Stage::End;
    }

    /// Returns the same position in the answer to another request, which has the same records
    /// there.
    pub(crate) fn of_question(&self, request: &Request) -> Cookie {
        Cookie {
            question: fingerprint(request),
            ..self.clone()
        }
    }

    /// Returns the same position with another path of its directory, as seen from another root.
    pub(crate) fn seen_from(&self, dir: &[u8]) -> Cookie {
        Cookie {
            dir: dir.to_vec(),
            ..self.clone()
        }
    }

    /// Fails if the cookie belongs to another question.
    pub(crate) fn check(&self, request: &Request) -> Result<(), CallError> {
        let why = "it belongs to another search";
        match self.question == fingerprint(request) {
            true if self.root == 0 || request.root(self.root).is_some() => Ok(()),
            _ => Err(CallError::Cookie { why }),
        }
    }

    /// Returns the cookie's encoding.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (stage, name) = match &self.stage {
            Stage::Begin => (0, &b""[..]),
            Stage::Itself => (1, &b""[..]),
            Stage::Own => (2, &b""[..]),
            Stage::Name(name) => (3, &name[..]),
            Stage::End => (4, &b""[..]),
        };
        let mut bytes = vec![VERSION, stage];
        bytes.extend_from_slice(&self.question.to_le_bytes());
        bytes.extend_from_slice(&self.root.to_le_bytes());
        // The cast is lossless: path lengths are bounded.
        bytes.extend_from_slice(&(self.dir.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&self.dir);
        bytes.extend_from_slice(name);
        bytes
    }

    /// Decodes a cookie.
    ///
    /// # Errors
    /// [`CallError::Cookie`] for bytes that are not a valid cookie.
    pub fn from_bytes(bytes: &[u8]) -> Result<Cookie, CallError> {
        let bad = |why| CallError::Cookie { why };
        let (head, rest) = bytes
            .split_first_chunk::<HEAD_BYTES>()
            .ok_or_else(|| bad("it is cut short"))?;
        if head[0] != VERSION {
            return Err(bad("it is of an unknown version"));
        }
        let number =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let question = u64::from(number(2)) | u64::from(number(6)) << 32;
        let (dir, name) = rest
            .split_at_checked(number(14) as usize)
            .ok_or_else(|| bad("it is cut short"))?;
        let stage = match (head[1], name) {
            (0, b"") => Stage::Begin,
            (1, b"") => Stage::Itself,
            (2, b"") => Stage::Own,
            (3, name) if !name.is_empty() && !name.contains(&b'/') => Stage::Name(name.to_vec()),
            (4, b"") => Stage::End,
            _ => return Err(bad("it is damaged")),
        };
        Ok(Cookie {
            question,
            root: number(10),
            dir: dir.to_vec(),
            stage,
        })
    }
}

/// Hashes all that distinguishes one question from another: pattern, roots and options. A search
/// can only be resumed with the same ones.
fn fingerprint(request: &Request) -> u64 {
    let mut hash = Xxh3::new();
    let mut part = |bytes: &[u8]| {
        hash.update(&(bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    let options = request.options();
    part(&(options.max_depth as u64).to_le_bytes());
    for root in request.roots() {
        let language = root.pattern().language();
        let flags = crate::options::Flags::of(language, options);
        part(&flags.0.to_le_bytes());
        part(&root.pattern().to_text());
        part(root.path());
        part(root.shown());
        root.skip().iter().for_each(|path| part(path));
    }
    hash.digest()
}
