//! `news`: what happened in the directories that a server watches for a client.

use super::Body;
use crate::wire::BadFrame;
use crate::wire::fields::{Fields, Reader};

/// Items of news; none: nothing changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewsItems(pub Vec<News>);

impl Body for NewsItems {
    fn write(&self, out: &mut Fields) {
        out.count(self.0.len());
        for one in &self.0 {
            one.write(out);
        }
    }

    fn read(body: &mut Reader<'_>) -> Result<NewsItems, BadFrame> {
        let count = body.count(NEWS_BYTES, "number of news")?;
        let news = (0..count).map(|_| News::read(body));
        news.collect::<Result<_, _>>().map(NewsItems)
    }
}

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
const NEWS_BYTES: usize = 8;

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

    fn write(&self, out: &mut Fields) {
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

    fn read(body: &mut Reader<'_>) -> Result<News, BadFrame> {
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

#[cfg(test)]
impl super::Sample for NewsItems {
    fn example() -> NewsItems {
        let name = |happened, name: &[u8]| NewsName {
            happened,
            name: name.to_vec(),
        };
        NewsItems(vec![
            News::Watched(b"w".to_vec()),
            News::Unwatched(b"u".to_vec()),
            News::Changed {
                dir: b"d".to_vec(),
                names: vec![
                    name(Happened::Changed, b"n"),
                    name(Happened::Replaced, b"."),
                ],
            },
            News::Lost(b"l".to_vec()),
        ])
    }

    fn any() -> proptest::strategy::BoxedStrategy<NewsItems> {
        use super::tests::bytes;
        use proptest::collection::vec;
        use proptest::prelude::*;
        let happened = prop_oneof![Just(Happened::Changed), Just(Happened::Replaced)];
        let name = (happened, bytes()).prop_map(|(happened, name)| NewsName { happened, name });
        let news = prop_oneof![
            bytes().prop_map(News::Watched),
            bytes().prop_map(News::Unwatched),
            (bytes(), vec(name, 0..4)).prop_map(|(dir, names)| News::Changed { dir, names }),
            bytes().prop_map(News::Lost),
        ];
        vec(news, 0..4).prop_map(NewsItems).boxed()
    }
}
