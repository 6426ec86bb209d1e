//! The news that a server sends about watched directories.

use super::BadFrame;
use super::fields::{Fields, Reader};

/// The change of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Happened {
    /// Its attributes or its contents changed.
    Changed = 0,
    /// It was created, was removed, or refers to another file.
    Replaced = 1,
}

/// A name in a directory, and its change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewsName {
    /// The change.
    pub happened: Happened,
    /// The name; `.` is the directory itself.
    pub name: Vec<u8>,
}

/// One item of news. Paths are relative to the top, which is the empty path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// The directory is watched from now on: news keep every answer that is requested after this up
    /// to date.
    Watched(Vec<u8>),
    /// The directory cannot be watched.
    Unwatched(Vec<u8>),
    /// Something in the directory changed.
    Changed {
        /// The directory.
        dir: Vec<u8>,
        /// The changed names.
        names: Vec<NewsName>,
    },
    /// Everything at and below the path may have changed, and is no longer watched.
    Lost(Vec<u8>),
}

/// Minimum length of an encoded item in bytes.
pub(super) const NEWS_BYTES: usize = 8;

impl News {
    fn how(&self) -> u8 {
        match self {
            News::Watched(_) => 0,
            News::Unwatched(_) => 1,
            News::Changed { .. } => 2,
            News::Lost(_) => 3,
        }
    }

    /// Returns the encoded length of the item in bytes.
    pub(crate) fn length(&self) -> usize {
        NEWS_BYTES
            + match self {
                News::Watched(path) | News::Unwatched(path) | News::Lost(path) => path.len(),
                News::Changed { dir, names } => {
                    let names = names.iter().map(|it| NEWS_BYTES + it.name.len());
                    dir.len() + 4 + names.sum::<usize>()
                }
            }
    }

    pub(super) fn write(&self, out: &mut Fields) {
        out.put(&[self.how(), 0, 0, 0]);
        match self {
            News::Watched(path) | News::Unwatched(path) | News::Lost(path) => {
                out.bytes(path);
            }
            News::Changed { dir, names } => {
                out.bytes(dir).count(names.len());
                for name in names {
                    out.put(&[name.happened as u8, 0, 0, 0]).bytes(&name.name);
                }
            }
        }
    }

    pub(super) fn read(body: &mut Reader<'_>) -> Result<News, BadFrame> {
        let how = body.u8("kind of news")?;
        body.exactly(&[0; 3], "padding")?;
        let path = body.bytes("path")?.to_vec();
        Ok(match how {
            0 => News::Watched(path),
            1 => News::Unwatched(path),
            2 => {
                let count = body.count(NEWS_BYTES, "number of names")?;
                let names = (0..count).map(|_| NewsName::read(body));
                let names = names.collect::<Result<_, _>>()?;
                News::Changed { dir: path, names }
            }
            3 => News::Lost(path),
            _ => return Err(BadFrame::Field("kind of news")),
        })
    }
}

impl NewsName {
    fn read(body: &mut Reader<'_>) -> Result<NewsName, BadFrame> {
        let happened = match body.u8("kind of change")? {
            0 => Happened::Changed,
            1 => Happened::Replaced,
            _ => return Err(BadFrame::Field("kind of change")),
        };
        body.exactly(&[0; 3], "padding")?;
        let name = body.bytes("name")?.to_vec();
        Ok(NewsName { happened, name })
    }
}
