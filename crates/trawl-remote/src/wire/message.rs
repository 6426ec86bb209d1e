//! Messages and their encoding.

use super::fields::{Fields, Reader};
use super::news::{NEWS_BYTES, News};
use super::{BadFrame, Frame, HEAD_BYTES};

const MAGIC: &[u8; 8] = b"trawl\0rp";
/// Maximum length of an error's text in bytes; longer texts are truncated.
const WORDS_MAX_BYTES: usize = 1024;

/// The first message of each side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Lowest supported version.
    pub lowest: u16,
    /// Highest supported version.
    pub highest: u16,
    /// Maximum number of concurrent requests of a client.
    pub requests: u32,
    /// Feature bits, see [`super::feature`].
    pub features: u64,
}

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

/// How an answer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It is complete.
    Whole,
    /// The rest can be requested with this cookie.
    Paused(Vec<u8>),
}

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Code {
    /// There is no common version.
    Version = 1,
    /// The frame is invalid.
    Malformed = 2,
    /// The kind of request is unknown.
    Unsupported = 3,
    /// There are too many connections or requests.
    Busy = 4,
    /// The pattern, the options or the cookie are invalid.
    Question = 5,
    /// A system call failed.
    System = 6,
    /// The request was interrupted.
    Interrupted = 7,
}

impl Code {
    const ALL: [Code; 7] = [
        Code::Version,
        Code::Malformed,
        Code::Unsupported,
        Code::Busy,
        Code::Question,
        Code::System,
        Code::Interrupted,
    ];

    fn from_number(number: u16) -> Option<Code> {
        Code::ALL.into_iter().find(|code| *code as u16 == number)
    }
}

/// Who answers at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Answerer {
    /// A walk of the file system.
    Live = 1,
    /// An index that is as of now.
    Index = 2,
}

/// A decoded frame.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the table of this module's parent")]
pub enum Message {
    Hello(Hello),
    Search(Question),
    Block(Vec<u8>),
    End {
        records: u64,
        ending: Ending,
    },
    Error {
        code: Code,
        errno: i32,
        text: String,
    },
    Interrupt,
    Credit(u32),
    Stat {
        of_link: bool,
        path: Vec<u8>,
    },
    List {
        credit: u32,
        path: Vec<u8>,
    },
    Read {
        offset: u64,
        length: u32,
        path: Vec<u8>,
    },
    Fetch {
        offset: u64,
        length: u32,
        path: Vec<u8>,
    },
    Data(Vec<u8>),
    Alive,
    ServedBy(Answerer),
    Links(Vec<Vec<u8>>),
    Attributes {
        entries: u32,
        top: Vec<u8>,
        from: Vec<u8>,
    },
    Watch {
        top: Vec<u8>,
        dirs: Vec<Vec<u8>>,
    },
    News(Vec<News>),
}

impl Message {
    fn kind(&self) -> u8 {
        match self {
            Message::Hello(_) => 1,
            Message::Search(_) => 2,
            Message::Block(_) => 3,
            Message::End { .. } => 4,
            Message::Error { .. } => 5,
            Message::Interrupt => 6,
            Message::Credit(_) => 7,
            Message::Stat { .. } => 8,
            Message::List { .. } => 9,
            Message::Read { .. } => 10,
            Message::Data(_) => 11,
            Message::Alive => 12,
            Message::ServedBy(_) => 13,
            Message::Links(_) => 14,
            Message::Attributes { .. } => 15,
            Message::Watch { .. } => 16,
            Message::News(_) => 17,
            Message::Fetch { .. } => 18,
        }
    }

    /// Returns the name of the message's kind.
    pub fn name(&self) -> &'static str {
        const NAMES: [&str; 18] = [
            "hello",
            "search",
            "block",
            "end",
            "error",
            "interrupt",
            "credit",
            "stat",
            "list",
            "read",
            "data",
            "alive",
            "served by",
            "links",
            "attributes",
            "watch",
            "news",
            "fetch",
        ];
        NAMES[usize::from(self.kind()) - 1]
    }

    /// Encodes the message as a whole frame.
    pub fn encode(&self, id: u32) -> Vec<u8> {
        let mut out = Fields(vec![0; 4 + HEAD_BYTES]);
        self.body(&mut out);
        let mut bytes = out.0;
        let length = u32::try_from(bytes.len() - 4).unwrap_or(u32::MAX);
        bytes[0..4].copy_from_slice(&length.to_le_bytes());
        bytes[4] = self.kind();
        bytes[8..12].copy_from_slice(&id.to_le_bytes());
        bytes
    }

    fn body(&self, out: &mut Fields) {
        match self {
            Message::Hello(hello) => {
                out.put(MAGIC).u16(hello.lowest).u16(hello.highest);
                out.u32(hello.requests).u64(hello.features);
            }
            Message::Search(question) => question.write(out),
            Message::Block(bytes) | Message::Data(bytes) => {
                out.put(bytes);
            }
            Message::End { records, ending } => {
                let (how, cookie) = match ending {
                    Ending::Whole => (0, &[][..]),
                    Ending::Paused(cookie) => (1, &cookie[..]),
                };
                out.put(&[how, 0, 0, 0, 0, 0, 0, 0]);
                out.u64(*records).bytes(cookie);
            }
            Message::Error { code, errno, text } => {
                let most = text.len().min(WORDS_MAX_BYTES);
                let cut = (0..=most).rev().find(|at| text.is_char_boundary(*at));
                let cut = cut.unwrap_or(0);
                out.u16(*code as u16).u16(0).u32(errno.cast_unsigned());
                out.bytes(&text.as_bytes()[..cut]);
            }
            Message::Interrupt | Message::Alive => {}
            Message::ServedBy(who) => {
                out.put(&[*who as u8, 0, 0, 0]);
            }
            Message::Credit(bytes) => {
                out.u32(*bytes);
            }
            Message::Stat { of_link, path } => {
                out.put(&[u8::from(*of_link), 0, 0, 0]).bytes(path);
            }
            Message::List { credit, path } => {
                out.u32(*credit).bytes(path);
            }
            Message::Read {
                offset,
                length,
                path,
            }
            | Message::Fetch {
                offset,
                length,
                path,
            } => {
                out.u64(*offset).u32(*length).bytes(path);
            }
            Message::Links(paths) => {
                out.count(paths.len());
                for path in paths {
                    out.bytes(path);
                }
            }
            Message::Watch { top, dirs } => {
                out.bytes(top).count(dirs.len());
                for dir in dirs {
                    out.bytes(dir);
                }
            }
            Message::News(news) => {
                out.count(news.len());
                for one in news {
                    one.write(out);
                }
            }
            Message::Attributes { entries, top, from } => {
                out.u32(*entries).bytes(top).bytes(from);
            }
        }
    }

    /// Decodes a frame.
    ///
    /// # Errors
    /// Fails for anything that [`Message::encode`] does not write.
    pub fn decode(frame: Frame) -> Result<Message, BadFrame> {
        let mut body = Reader::new(&frame.body);
        let message = match frame.kind {
            1 => Message::Hello(hello(&mut body)?),
            2 => Message::Search(Question::read(&mut body)?),
            3 => return Ok(Message::Block(frame.body)),
            4 => end(&mut body)?,
            5 => error(&mut body)?,
            6 => Message::Interrupt,
            7 => Message::Credit(body.u32("credit")?),
            8 => {
                let of_link = match body.u8("kind of stat")? {
                    0 => false,
                    1 => true,
                    _ => return Err(BadFrame::Field("kind of stat")),
                };
                body.exactly(&[0; 3], "padding")?;
                let path = body.bytes("path")?.to_vec();
                Message::Stat { of_link, path }
            }
            9 => Message::List {
                credit: body.u32("credit")?,
                path: body.bytes("path")?.to_vec(),
            },
            10 => Message::Read {
                offset: body.u64("offset")?,
                length: body.u32("length")?,
                path: body.bytes("path")?.to_vec(),
            },
            11 => return Ok(Message::Data(frame.body)),
            12 => Message::Alive,
            13 => {
                let who = match body.u8("answerer")? {
                    1 => Answerer::Live,
                    2 => Answerer::Index,
                    _ => return Err(BadFrame::Field("answerer")),
                };
                body.exactly(&[0; 3], "padding")?;
                Message::ServedBy(who)
            }
            14 => Message::Links(paths(&mut body, "number of links")?),
            16 => Message::Watch {
                top: body.bytes("path")?.to_vec(),
                dirs: paths(&mut body, "number of directories")?,
            },
            17 => {
                let count = body.count(NEWS_BYTES, "number of news")?;
                let news = (0..count).map(|_| News::read(&mut body));
                Message::News(news.collect::<Result<_, _>>()?)
            }
            15 => Message::Attributes {
                entries: body.u32("number of entries")?,
                top: body.bytes("path")?.to_vec(),
                from: body.bytes("path")?.to_vec(),
            },
            18 => Message::Fetch {
                offset: body.u64("offset")?,
                length: body.u32("length")?,
                path: body.bytes("path")?.to_vec(),
            },
            kind => return Err(BadFrame::Kind(kind)),
        };
        body.end()?;
        Ok(message)
    }
}

fn paths(body: &mut Reader<'_>, what: &'static str) -> Result<Vec<Vec<u8>>, BadFrame> {
    let count = body.count(4, what)?;
    let paths = (0..count).map(|_| Ok(body.bytes("path")?.to_vec()));
    paths.collect()
}

fn hello(body: &mut Reader<'_>) -> Result<Hello, BadFrame> {
    body.exactly(MAGIC, "greeting")?;
    Ok(Hello {
        lowest: body.u16("version")?,
        highest: body.u16("version")?,
        requests: body.u32("number of requests")?,
        features: body.u64("features")?,
    })
}

fn end(body: &mut Reader<'_>) -> Result<Message, BadFrame> {
    let how = body.u8("end")?;
    body.exactly(&[0; 7], "padding")?;
    let records = body.u64("number of records")?;
    let ending = match (how, body.bytes("cookie")?) {
        (0, []) => Ending::Whole,
        (1, cookie) if !cookie.is_empty() => Ending::Paused(cookie.to_vec()),
        _ => return Err(BadFrame::Field("end")),
    };
    Ok(Message::End { records, ending })
}

fn error(body: &mut Reader<'_>) -> Result<Message, BadFrame> {
    let code = Code::from_number(body.u16("code")?).ok_or(BadFrame::Field("code"))?;
    body.exactly(&[0; 2], "padding")?;
    let errno = body.u32("errno")?.cast_signed();
    let words = body.bytes("words")?;
    let text = std::str::from_utf8(words).map_err(|_| BadFrame::Field("words"))?;
    if errno < 0 || words.len() > WORDS_MAX_BYTES {
        return Err(BadFrame::Field("error"));
    }
    let text = text.to_owned();
    Ok(Message::Error { code, errno, text })
}

/// Minimum length of an encoded root in bytes.
const ROOT_BYTES: usize = 24;

impl Question {
    fn write(&self, out: &mut Fields) {
        out.u32(self.flags).u32(self.max_depth).u32(self.credit);
        out.bytes(&self.cookie).count(self.patterns.len());
        for pattern in &self.patterns {
            out.bytes(pattern);
        }
        out.count(self.roots.len());
        for root in &self.roots {
            out.u32(root.pattern).u32(root.number);
            out.bytes(&root.path).bytes(&root.shown).bytes(&root.prefix);
            out.count(root.skip.len());
            for path in &root.skip {
                out.bytes(path);
            }
        }
    }

    fn read(body: &mut Reader<'_>) -> Result<Question, BadFrame> {
        let (flags, max_depth) = (body.u32("flags")?, body.u32("depth")?);
        let credit = body.u32("credit")?;
        let cookie = body.bytes("cookie")?.to_vec();
        let count = body.count(4, "number of patterns")?;
        let patterns = (0..count).map(|_| Ok(body.bytes("pattern")?.to_vec()));
        let patterns = patterns.collect::<Result<Vec<_>, BadFrame>>()?;
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
        let count = body.count(4, "number of skipped paths")?;
        let skip = (0..count).map(|_| Ok(body.bytes("skipped path")?.to_vec()));
        Ok(QuestionRoot {
            pattern,
            number,
            path,
            shown,
            prefix,
            skip: skip.collect::<Result<_, BadFrame>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Happened, NewsName};
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        vec(any::<u8>(), 0..12)
    }

    fn question() -> impl Strategy<Value = Question> {
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
        (numbers, bytes(), vec(bytes(), 2..4), vec(root, 0..4)).prop_map(
            |([flags, max_depth, credit], cookie, patterns, roots)| Question {
                flags,
                max_depth,
                credit,
                cookie,
                patterns,
                roots,
            },
        )
    }

    fn news() -> impl Strategy<Value = News> {
        let happened = prop_oneof![Just(Happened::Changed), Just(Happened::Replaced)];
        let name = (happened, bytes()).prop_map(|(happened, name)| NewsName { happened, name });
        prop_oneof![
            bytes().prop_map(News::Watched),
            bytes().prop_map(News::Unwatched),
            (bytes(), vec(name, 0..4)).prop_map(|(dir, names)| News::Changed { dir, names }),
            bytes().prop_map(News::Lost),
        ]
    }

    fn message() -> impl Strategy<Value = Message> {
        let hello = (any::<u16>(), any::<u16>(), any::<u32>(), any::<u64>());
        let ending = prop_oneof![
            Just(Ending::Whole),
            vec(any::<u8>(), 1..9).prop_map(Ending::Paused)
        ];
        let code = (0..Code::ALL.len()).prop_map(|at| Code::ALL[at]);
        prop_oneof![
            hello.prop_map(
                |(lowest, highest, requests, features)| Message::Hello(Hello {
                    lowest,
                    highest,
                    requests,
                    features
                })
            ),
            question().prop_map(Message::Search),
            bytes().prop_map(Message::Block),
            (any::<u64>(), ending).prop_map(|(records, ending)| Message::End { records, ending }),
            (code, 0..i32::MAX, ".{0,20}").prop_map(|(code, errno, text)| Message::Error {
                code,
                errno,
                text
            }),
            Just(Message::Interrupt),
            any::<u32>().prop_map(Message::Credit),
            (any::<bool>(), bytes()).prop_map(|(of_link, path)| Message::Stat { of_link, path }),
            (any::<u32>(), bytes()).prop_map(|(credit, path)| Message::List { credit, path }),
            (any::<u64>(), any::<u32>(), bytes()).prop_map(|(offset, length, path)| {
                Message::Read {
                    offset,
                    length,
                    path,
                }
            }),
            (any::<u64>(), any::<u32>(), bytes()).prop_map(|(offset, length, path)| {
                Message::Fetch {
                    offset,
                    length,
                    path,
                }
            }),
            bytes().prop_map(Message::Data),
            Just(Message::Alive),
            Just(Message::ServedBy(Answerer::Live)),
            Just(Message::ServedBy(Answerer::Index)),
            vec(bytes(), 0..4).prop_map(Message::Links),
            (any::<u32>(), bytes(), bytes()).prop_map(|(entries, top, from)| Message::Attributes {
                entries,
                top,
                from
            }),
            (bytes(), vec(bytes(), 0..4)).prop_map(|(top, dirs)| Message::Watch { top, dirs }),
            vec(news(), 0..4).prop_map(Message::News),
        ]
    }

    fn frame(bytes: &[u8]) -> Frame {
        Frame {
            kind: bytes[4],
            id: u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]),
            body: bytes[12..].to_vec(),
        }
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(message in message(), id: u32) {
            let bytes = message.encode(id);
            prop_assert_eq!(&bytes[..4], &u32::try_from(bytes.len() - 4).unwrap().to_le_bytes());
            let frame = frame(&bytes);
            prop_assert_eq!(frame.id, id);
            prop_assert_eq!(Message::decode(frame), Ok(message));
        }

        /// Bytes that decode to a message are exactly the bytes that the message encodes to.
        #[test]
        fn nothing_else_is_read(message in message(), at: usize, value: u8, cut: usize) {
            let mut bytes = message.encode(7);
            if bytes.len() > 12 {
                let at = 12 + at % (bytes.len() - 12);
                bytes[at] = value;
                if cut % 3 == 0 {
                    bytes.truncate(at);
                }
            }
            let frame = frame(&bytes);
            let body = frame.body.clone();
            if let Ok(message) = Message::decode(frame) {
                prop_assert_eq!(&message.encode(7)[12..], &body[..]);
            }
        }

        #[test]
        fn no_bytes_panic(kind: u8, body in vec(any::<u8>(), 0..300)) {
            let _ = Message::decode(Frame { kind, id: 1, body });
        }
    }

    #[test]
    fn counts_are_not_believed() {
        let mut body = Fields::default();
        body.u32(0).u32(0).u32(0).bytes(b"").u32(u32::MAX);
        let frame = Frame {
            kind: 2,
            id: 1,
            body: body.0,
        };
        let bad = BadFrame::Field("number of patterns");
        assert_eq!(Message::decode(frame), Err(bad));
    }
}
