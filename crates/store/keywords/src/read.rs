//! Where documents come from: the source that the caller passes in, the source that reads plain text
//! without hooks, and the attributes that programs pushed ([`trawl_attributes`]).

use std::fmt::Debug;
use std::fs::File;
use std::hash::Hasher;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::atomic::AtomicBool;

use trawl_grams::{DocId, Identity, Stamp};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::document::{Document, Value};
use crate::plain::plain;

/// Bytes of text of a file that are read. Words behind them do not count, and an answer that may
/// depend on them says so.
pub const BYTES_MAX: u64 = 16 << 20;
/// Size in bytes up to which files have a hash: of larger ones, hooks read a small part.
const HASHED_MAX: u64 = 16 << 20;

/// A source of documents: reads one file, whatever its format.
///
/// Invariants: the document depends on nothing but the file's bytes, its size and
/// [`Documents::kind`] of its name; sources with the same fingerprint return the same documents.
pub trait Documents: Debug + Send + Sync {
    /// Returns what all documents depend on besides the file: which hooks there are, their versions
    /// and limits. Packs that were made with another source are not believed.
    fn fingerprint(&self) -> u64;

    /// Returns what a file's name says of its document: 0 if it says nothing. `name` is the last
    /// component of a path.
    fn kind(&self, name: &[u8]) -> u64;

    /// Returns the document of a file that is open for reading alone. What goes wrong with this file
    /// is among its [`Document::gaps`].
    ///
    /// # Errors
    /// If nothing is known of the file: it cannot be read, or what reads it cannot be run.
    fn document(&self, file: &mut File, name: &[u8]) -> io::Result<Document>;

    /// As [`Documents::document`], but ends soon after the flag is set, with an error.
    ///
    /// # Errors
    /// As [`Documents::document`], or if the flag is set.
    fn document_unless(
        &self,
        _cancel: &AtomicBool,
        file: &mut File,
        name: &[u8],
    ) -> io::Result<Document> {
        self.document(file, name)
    }

    /// Returns the identity of a file's document.
    fn id(&self, identity: &Identity, name: &[u8]) -> DocId {
        let mut id = identity.id();
        id.version ^= self.kind(name);
        id
    }

    /// Returns an identity that stays when the file is moved, which changes the ctime. Content may
    /// have changed under it: only [`content_hash`] tells.
    fn still_id(&self, identity: &Identity, name: &[u8]) -> u64 {
        let mut still = *identity;
        still.ctime = Stamp::default();
        let id = self.id(&still, name);
        xxh3_64(&[id.object.to_le_bytes(), id.version.to_le_bytes()].concat())
    }
}

/// The source without hooks: plain text, whatever the name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlainText;

impl Documents for PlainText {
    fn fingerprint(&self) -> u64 {
        0
    }

    fn kind(&self, _: &[u8]) -> u64 {
        0
    }

    fn document(&self, file: &mut File, _: &[u8]) -> io::Result<Document> {
        let mut content = Vec::new();
        file.take(BYTES_MAX + 1).read_to_end(&mut content)?;
        let is_cut = content.len() as u64 > BYTES_MAX;
        content.truncate(BYTES_MAX as usize);
        Ok(plain(content, is_cut))
    }
}

/// Returns a hash of bytes, for [`Documents::fingerprint`] and [`Documents::kind`].
pub fn hash_of(bytes: &[u8]) -> u64 {
    xxh3_64(bytes)
}

/// Reads a file from its current position, and returns its document: what the source finds in it, and
/// the attributes that programs pushed.
///
/// # Errors
/// If nothing is known of the file.
pub fn document_of(
    documents: &dyn Documents,
    file: &mut File,
    name: &[u8],
) -> io::Result<Document> {
    document_unless(&AtomicBool::new(false), documents, file, name)
}

/// As [`document_of`], but ends soon after the flag is set, with an error.
///
/// # Errors
/// As [`document_of`], or if the flag is set.
pub fn document_unless(
    cancel: &AtomicBool,
    documents: &dyn Documents,
    file: &mut File,
    name: &[u8],
) -> io::Result<Document> {
    let mut document = documents.document_unless(cancel, file, name)?;
    // First, since only so many values count. They are never cut.
    document.attributes.splice(0..0, pushed(file)?);
    Ok(document)
}

/// Returns the attributes that programs pushed to a file. Setting one changes the file's ctime, so
/// they belong to the identity by which documents are known, as the content does.
fn pushed(file: &File) -> io::Result<Vec<(String, Value)>> {
    let pushed = trawl_attributes::list(file).map_err(io::Error::other)?;
    let converted = pushed.into_iter().map(|(name, value)| (name, of(value)));
    Ok(converted.collect())
}

fn of(value: trawl_attributes::Value) -> Value {
    use trawl_attributes::Value as Pushed;
    match value {
        Pushed::Text(text) => Value::Text(text),
        Pushed::Integer(number) => Value::Integer(number),
        Pushed::Real(number) => Value::Real(number),
        Pushed::Time(time_ns) => Value::Time(time_ns),
        Pushed::List(values) => Value::List(values.into_iter().map(of).collect()),
    }
}

/// Returns the hash of everything that a file's document depends on and that stays when the file is
/// moved: all its bytes, and the attributes that programs pushed. `None` if the file is so large that
/// a hash would cost more than it saves. Leaves the position alone.
///
/// # Errors
/// If the file cannot be read.
pub fn content_hash(file: &File) -> io::Result<Option<u128>> {
    if file.metadata()?.len() > HASHED_MAX {
        return Ok(None);
    }
    let (mut hash, mut at) = (Xxh3::new(), 0);
    let mut buffer = vec![0u8; 64 << 10];
    loop {
        match file.read_at(&mut buffer, at) {
            Ok(0) => break,
            Ok(read) => {
                hash.write(&buffer[..read]);
                at += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if at > HASHED_MAX {
            return Ok(None);
        }
    }
    for (name, value) in pushed(file)? {
        hash.write(format!("\0{name}={value:?}").as_bytes());
    }
    // 0 stands for no hash in packs.
    Ok(Some(hash.digest128()).filter(|hash| *hash != 0))
}
