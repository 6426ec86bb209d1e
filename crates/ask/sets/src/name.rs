//! Set pathnames: the grammar of the paper's Figure 2.
//!
//! | in a name | meaning |
//! |---|---|
//! | `*` `?` `[…]` | csh wildcards, within one component |
//! | `{a,b}` | each of these texts, in this order; the names need not exist |
//! | `~` `~user` | at the beginning: a home directory |
//! | `prefix/\query\suffix` | the names that a query on the object `prefix` gives, each with `suffix` |
//! | `prefix/%command%suffix` | the names that a command prints in the directory `prefix` |
//! | `trawl://host/path` | names at a server, with everything above in `path` but queries and commands |
//! | `\\` `%%` `[*]` | the character itself; brackets quote any one special character |
//!
//! The paper, section 3.2: *A name in the extended syntax can have a set specification in any
//! component of the pathname. The portion of the pathname after the set specification treats the
//! set members as directories.* `docs/set-names.md` has the whole grammar.
//!
//! Invariants: names are untrusted. The length of a name and the nesting of braces are bounded;
//! braces are expanded one word at a time, so that `{a,b}` repeated a thousand times costs no
//! memory.

mod parse;
#[cfg(test)]
mod tests;
mod words;

use std::sync::Arc;

pub use parse::{is_url, server_prefix};
pub(crate) use words::{Piece, Step, Word};

use crate::error::SetError;

/// Maximum length of a set pathname, in bytes.
pub const NAME_MAX_BYTES: usize = 64 << 10;
/// Maximum number of braces inside one another.
pub const NESTING_MAX: usize = 32;

/// Characters that one bracket pair quotes: `[*]` is a star.
const SPECIAL: &[u8] = b"*?[]{},~\\%";
/// Those in a URL, where the others have a meaning of their own.
const SPECIAL_IN_URL: &[u8] = b"{},\\";

/// A set pathname, parsed. Cloning it is cheap.
#[derive(Clone, Debug)]
pub struct SetName {
    text: Vec<u8>,
    root: Arc<parse::Sequence>,
}

impl PartialEq for SetName {
    fn eq(&self, other: &SetName) -> bool {
        self.text == other.text
    }
}

impl Eq for SetName {}

impl SetName {
    /// Parses a set pathname.
    ///
    /// # Errors
    /// [`SetError::Name`] if a specification does not end, or a limit is exceeded; the error says
    /// at which byte and what to write instead.
    pub fn parse(text: &[u8]) -> Result<SetName, SetError> {
        let bad = |why: String| SetError::Name {
            name: text.to_vec(),
            why,
        };
        Ok(SetName {
            text: text.to_vec(),
            root: Arc::new(parse::parse(text).map_err(bad)?),
        })
    }

    /// Returns the set pathname that names exactly this path, whatever bytes it has. A path with a
    /// NUL byte has none, as [`SetName::parse`] says.
    pub fn literal(path: &[u8]) -> Vec<u8> {
        let url_length = parse::url_length(path);
        let mut text = Vec::with_capacity(path.len());
        for (at, byte) in path.iter().enumerate() {
            let special = match at < url_length {
                true => SPECIAL_IN_URL,
                false => SPECIAL,
            };
            match special.contains(byte) {
                true => text.extend_from_slice(&[b'[', *byte, b']']),
                false => text.push(*byte),
            }
        }
        text
    }

    /// Returns whether this is *a normal Unix name*, which *is just a special case of a set pathname
    /// that refers to only one object* (the paper, section 3.2), without any specification or escape.
    pub fn is_plain(&self) -> bool {
        if self.word_count() != 1 || is_url(&self.text) {
            return false;
        }
        let word = self.word(0);
        let is_text = |piece: &Piece| matches!(piece, Piece::Text(text) if *text == self.text);
        word.home.is_none() && word.pieces.iter().all(is_text)
    }

    /// Returns the name of the single object that this name refers to, unescaped, if it contains no
    /// specification.
    pub fn object(&self) -> Option<Vec<u8>> {
        if self.word_count() != 1 {
            return None;
        }
        let word = self.word(0);
        let text = |piece: &Piece| match piece {
            Piece::Text(text) => Some(text.clone()),
            _ => None,
        };
        let texts: Option<Vec<Vec<u8>>> = word.pieces.iter().map(text).collect();
        texts.filter(|_| word.home.is_none()).map(|t| t.concat())
    }

    /// Returns the name as it was given.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Returns the number of words that its braces make, at most `u128::MAX`.
    pub(crate) fn word_count(&self) -> u128 {
        self.root.count
    }

    /// Returns the word with this number, in the order of csh.
    pub(crate) fn word(&self, number: u128) -> Word {
        words::word(&self.root, number)
    }
}
