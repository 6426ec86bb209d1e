//! `search with contents` and `contents`: a search whose answer brings small files along, so that they
//! need no requests of their own. Which files come is the server's choice: each is complete and of
//! one version, or is not there.

use std::time::{Duration, Instant};

use trawl_call::packed::decode;
use trawl_call::{Outcome, Request};

use super::fetch::read_version;
use super::fetch::version::Version;
use super::read::open_path;
use super::search::asking::RemoteStream;
use super::search::{Question, serving};
use super::{Body, End, Open, Refusal, Serve};
use crate::client::Remote;
use crate::error::RemoteError;
use crate::exports::PathTranslator;
use crate::server::{BLOCK_BYTES, Job, Leave};
use crate::wire::BadFrame;
use crate::wire::fields::{Fields, Reader};

/// How long a server reads files for one answer: names must not wait for a slow disk, from which
/// files are better requested many at once.
const TIME: Duration = Duration::from_millis(50);
/// File type bits of a mode, and their values for regular files and links.
const TYPE: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
/// Minimum length of an encoded file in bytes.
const CONTENT_BYTES: usize = 12;
/// Maximum number of bytes of one file.
const FILE_MAX_BYTES: u32 = 1 << 20;

/// Which contents a client takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentsWish {
    /// Maximum size of a file in bytes.
    pub file_bytes: u32,
    /// Maximum number of bytes of all files.
    pub all_bytes: u64,
}

/// A search whose answer may bring contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchContents {
    /// Which contents.
    pub wish: ContentsWish,
    /// The search.
    pub question: Question,
}

impl Body for SearchContents {
    fn write(&self, out: &mut Fields) {
        out.u32(self.wish.file_bytes).u64(self.wish.all_bytes);
        self.question.write(out);
    }

    fn read(body: &mut Reader<'_>) -> Result<SearchContents, BadFrame> {
        Ok(SearchContents {
            wish: ContentsWish {
                file_bytes: body.u32("size of a file")?,
                all_bytes: body.u64("size of all files")?,
            },
            question: Question::read(body)?,
        })
    }
}

impl Serve for SearchContents {
    fn credit(&self) -> u32 {
        self.question.credit
    }

    fn serve(self: Box<Self>, job: &Job<'_>) -> Result<End, Refusal> {
        let request = serving::request(&self.question, job.exports())?;
        let ahead = Ahead {
            wish: self.wish,
            request: request.clone(),
            places: PathTranslator::new(job.exports()),
            left: TIME,
        };
        serving::search(job, request, Some(ahead))
    }
}

/// The client's part of a search with contents.
pub(crate) struct Wanted {
    pub(crate) request: Request,
    pub(crate) wish: ContentsWish,
    pub(crate) sink: Sink,
}

/// What is called with each file before the record of its name arrives: the name (the root as it is
/// shown, and the path below it), the file's version and all of its bytes.
pub type Sink = std::sync::Arc<dyn Fn(Vec<u8>, Version, Vec<u8>) + Send + Sync>;

impl Open for SearchContents {
    type About = Wanted;
    type Asker = RemoteStream;

    fn open(remote: &Remote, about: Wanted) -> Result<RemoteStream, RemoteError> {
        let contents = Some((about.wish, about.sink));
        RemoteStream::begin(std::sync::Arc::clone(&remote.0), about.request, contents)
    }
}

/// Reads files whose records are about to be sent.
pub(crate) struct Ahead<'a> {
    wish: ContentsWish,
    request: Request,
    places: PathTranslator<'a>,
    /// Time that may still be spent on reading.
    left: Duration,
}

impl Ahead<'_> {
    /// Sends contents of files in these records, within the credit. Returns what kept it from
    /// sending, if anything.
    pub(crate) fn send(&mut self, job: &Job<'_>, packed: &[u8]) -> Leave {
        let mut rest = packed;
        let (mut items, mut bytes) = (Vec::new(), 0);
        while let Ok((record, length)) = decode(rest) {
            rest = &rest[length..];
            let Some(item) = self.content(record.root, record.path, record.outcome) else {
                continue;
            };
            bytes += item.content.len() + item.path.len();
            items.push(item);
            if bytes >= BLOCK_BYTES {
                match job.leave(bytes) {
                    Leave::Granted => job.say(&Contents(std::mem::take(&mut items))),
                    other => return other,
                }
                bytes = 0;
            }
        }
        if items.is_empty() {
            return Leave::Granted;
        }
        let leave = job.leave(bytes);
        if leave == Leave::Granted {
            job.say(&Contents(items));
        }
        leave
    }

    /// Reads a file, if it is wanted and can be read.
    fn content(&mut self, root: u32, path: &[u8], outcome: Outcome) -> Option<Content> {
        let most = u64::from(self.wish.file_bytes.min(FILE_MAX_BYTES)).min(self.wish.all_bytes);
        let is_wanted = match outcome {
            Outcome::Match(None) => true,
            Outcome::Match(Some(file)) if file.mode & TYPE == REGULAR => file.size <= most,
            Outcome::Match(Some(file)) => file.mode & TYPE == LINK,
            Outcome::Error(_) => false,
        };
        if !is_wanted || self.left.is_zero() || most == 0 {
            return None;
        }
        let begun = Instant::now();
        let content = self.read(root, path, most);
        self.left = self.left.saturating_sub(begun.elapsed());
        let content = content?;
        self.wish.all_bytes = self.wish.all_bytes.saturating_sub(content.len() as u64);
        Some(Content {
            root,
            path: path.to_vec(),
            content,
        })
    }

    fn read(&mut self, number: u32, path: &[u8], most: u64) -> Option<Vec<u8>> {
        let root = self.request.root(number)?;
        let below = self.request.unspell(root, path);
        let slash: &[u8] = if root.path().ends_with(b"/") {
            b""
        } else {
            b"/"
        };
        let file = open_path(&mut self.places, &[root.path(), slash, below].concat()).ok()?;
        let size = file.metadata().ok()?.len();
        if size > most {
            return None;
        }
        let mut bytes = vec![0; usize::try_from(size).ok()? + 1];
        let read = read_version(&file, &mut bytes, 0).ok()?;
        if !read.is_whole || read.count as u64 != size || read.version.attributes.size != size {
            return None;
        }
        let mut content = Vec::new();
        read.version.encode(&mut content);
        content.extend_from_slice(&bytes[..read.count]);
        Some(content)
    }
}

/// A file that arrives with the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// Number of its record's root.
    pub root: u32,
    /// Path as in the record.
    pub path: Vec<u8>,
    /// The version, and all bytes.
    pub content: Vec<u8>,
}

/// Files that arrive with the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents(pub Vec<Content>);

impl Body for Contents {
    fn write(&self, out: &mut Fields) {
        out.count(self.0.len());
        for item in &self.0 {
            out.u32(item.root).bytes(&item.path).bytes(&item.content);
        }
    }

    fn read(body: &mut Reader<'_>) -> Result<Contents, BadFrame> {
        let count = body.count(CONTENT_BYTES, "number of files")?;
        let items = (0..count).map(|_| {
            Ok(Content {
                root: body.u32("record's root")?,
                path: body.bytes("path")?.to_vec(),
                content: body.bytes("content")?.to_vec(),
            })
        });
        items.collect::<Result<_, _>>().map(Contents)
    }
}

#[cfg(test)]
impl super::Sample for SearchContents {
    fn example() -> SearchContents {
        SearchContents {
            wish: ContentsWish {
                file_bytes: 1 << 14,
                all_bytes: 1 << 20,
            },
            question: Question::example(),
        }
    }

    fn any() -> proptest::strategy::BoxedStrategy<SearchContents> {
        use proptest::prelude::*;
        let fields = (any::<u32>(), any::<u64>(), Question::any());
        let search = |(file_bytes, all_bytes, question)| SearchContents {
            wish: ContentsWish {
                file_bytes,
                all_bytes,
            },
            question,
        };
        fields.prop_map(search).boxed()
    }
}

#[cfg(test)]
impl super::Sample for Contents {
    fn example() -> Contents {
        Contents(vec![Content {
            root: 7,
            path: b"a/b".to_vec(),
            content: b"content".to_vec(),
        }])
    }

    fn any() -> proptest::strategy::BoxedStrategy<Contents> {
        use super::tests::bytes;
        use proptest::prelude::*;
        let item = (any::<u32>(), bytes(), bytes());
        let item = item.prop_map(|(root, path, content)| Content {
            root,
            path,
            content,
        });
        proptest::collection::vec(item, 0..4)
            .prop_map(Contents)
            .boxed()
    }
}
