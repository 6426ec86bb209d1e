//! `search`: records that match patterns below directories. The answer is blocks of records, which
//! need credit, and may pause; [`asking`] resumes it.

pub(crate) mod asking;
pub(crate) mod serving;

use super::{Body, End, Open, Refusal, Serve};
use crate::client::Remote;
use crate::error::RemoteError;
use crate::server::Job;
use crate::wire::BadFrame;
use crate::wire::fields::{Fields, Reader};

use asking::RemoteStream;

/// A root of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionRoot {
    /// Index of its pattern.
    pub pattern: u32,
    /// Its number in records.
    pub number: u32,
    /// Its path on the server.
    pub path: Vec<u8>,
    /// The root as the caller gave it.
    pub shown: Vec<u8>,
    /// Path of this part below the caller's root.
    pub prefix: Vec<u8>,
    /// Paths below it that are left out.
    pub skip: Vec<Vec<u8>>,
}

/// A search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The bits of `trawl_call::options::Flags`.
    pub flags: u32,
    /// Maximum depth in levels.
    pub max_depth: u32,
    /// Number of bytes of blocks that may be sent before more credit is granted.
    pub credit: u32,
    /// Cookie to resume at; empty for the beginning.
    pub cookie: Vec<u8>,
    /// The patterns.
    pub patterns: Vec<Vec<u8>>,
    /// The roots.
    pub roots: Vec<QuestionRoot>,
}

/// Minimum length of an encoded root in bytes.
const ROOT_BYTES: usize = 24;

impl Body for Question {
    fn write(&self, out: &mut Fields) {
        out.u32(self.flags).u32(self.max_depth).u32(self.credit);
        out.bytes(&self.cookie).list(&self.patterns);
        out.count(self.roots.len());
        for root in &self.roots {
            out.u32(root.pattern).u32(root.number);
            out.bytes(&root.path).bytes(&root.shown).bytes(&root.prefix);
            out.list(&root.skip);
        }
    }

    fn read(body: &mut Reader<'_>) -> Result<Question, BadFrame> {
        let (flags, max_depth) = (body.u32("flags")?, body.u32("depth")?);
        let credit = body.u32("credit")?;
        let cookie = body.bytes("cookie")?.to_vec();
        let patterns = body.list("number of patterns", "pattern")?;
        let count = body.count(ROOT_BYTES, "number of roots")?;
        let roots = (0..count).map(|_| QuestionRoot::read(body, patterns.len()));
        Ok(Question {
            flags,
            max_depth,
            credit,
            cookie,
            roots: roots.collect::<Result<_, _>>()?,
            patterns,
        })
    }
}

impl QuestionRoot {
    fn read(body: &mut Reader<'_>, patterns: usize) -> Result<QuestionRoot, BadFrame> {
        let pattern = body.u32("root's pattern")?;
        if pattern as usize >= patterns {
            return Err(BadFrame::Field("root's pattern"));
        }
        let number = body.u32("root's number")?;
        let path = body.bytes("root")?.to_vec();
        let shown = body.bytes("root")?.to_vec();
        let prefix = body.bytes("root")?.to_vec();
        Ok(QuestionRoot {
            pattern,
            number,
            path,
            shown,
            prefix,
            skip: body.list("number of skipped paths", "skipped path")?,
        })
    }
}

impl Serve for Question {
    fn credit(&self) -> u32 {
        self.credit
    }

    fn serve(self: Box<Self>, job: &Job<'_>) -> Result<End, Refusal> {
        serving::search(job, serving::request(&self, job.exports())?, None)
    }
}

impl Open for Question {
    type About = trawl_call::Request;
    type Asker = RemoteStream;

    fn open(remote: &Remote, about: Self::About) -> Result<RemoteStream, RemoteError> {
        RemoteStream::begin(std::sync::Arc::clone(&remote.0), about, None)
    }
}

#[cfg(test)]
impl super::Sample for Question {
    fn example() -> Question {
        let root = QuestionRoot {
            pattern: 1,
            number: 7,
            path: b"/srv/a".to_vec(),
            shown: b"a".to_vec(),
            prefix: b"b/c".to_vec(),
            skip: vec![b"d".to_vec(), b"e/f".to_vec()],
        };
        Question {
            flags: 5,
            max_depth: 8192,
            credit: 1 << 20,
            cookie: b"cookie".to_vec(),
            patterns: vec![b"*".to_vec(), b"a|b".to_vec()],
            roots: vec![root],
        }
    }

    fn any() -> proptest::strategy::BoxedStrategy<Question> {
        use super::tests::bytes;
        use proptest::collection::vec;
        use proptest::prelude::*;
        let root = (
            0u32..2,
            any::<u32>(),
            bytes(),
            bytes(),
            bytes(),
            vec(bytes(), 0..3),
        );
        let root = root.prop_map(
            |(pattern, number, path, shown, prefix, skip)| QuestionRoot {
                pattern,
                number,
                path,
                shown,
                prefix,
                skip,
            },
        );
        let numbers = proptest::array::uniform3(any::<u32>());
        (numbers, bytes(), vec(bytes(), 2..4), vec(root, 0..4))
            .prop_map(
                |([flags, max_depth, credit], cookie, patterns, roots)| Question {
                    flags,
                    max_depth,
                    credit,
                    cookie,
                    patterns,
                    roots,
                },
            )
            .boxed()
    }
}
