//! What a server that watches directories says of them.

use super::BadFrame;
use super::fields::{Fields, Reader};

/// What happened to a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Happened {
    /// Its attributes or its contents are others.
    Changed = 0,
    /// It is there, is not there any more, or is of another file.
    Replaced = 1,
}

/// A name in a directory, and what happened to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewsName {
    /// What.
    pub happened: Happened,
    /// `.` is the directory itself.
    pub name: Vec<u8>,
}

/// One thing that a server says; paths are relative to the top, which is the empty one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// The directory is watched from now on: what is asked after this is kept up to date by what
    /// is said later.
    Watched(Vec<u8>),
    /// It cannot be watched.
    Unwatched(Vec<u8>),
    /// Something in the directory changed.
    Changed {
        /// The directory.
        dir: Vec<u8>,
        /// What.
        names: Vec<NewsName>,
    },
    /// Everything at and below the path may have changed, and is not watched any more.
    Lost(Vec<u8>),
}

/// The least bytes that one has.
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

    /// How many bytes of a frame it takes.
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
