//! Encodes and parses the socket's messages: one request, one reply, then the daemon closes the
//! connection.
//!
//! `docs/live.md` specifies the protocol. Messages are lines of text of limited length. Parsing is
//! strict in both directions: a spelling other than this module's own is refused. Pure: no I/O.

use std::fmt::Write as _;
use std::time::Duration;

use trawl_format::SnapshotId;
use trawl_model::Timestamp;

use crate::applier::Stale;

/// Protocol version, with which each request and each reply begins.
const VERSION: &str = "trawl 1 ";

/// Maximum bytes of a request's first line, newline included.
pub(crate) const LINE_BYTES: usize = 96;
/// Maximum bytes of a path in a request.
pub(crate) const PATH_BYTES: usize = 4096;
/// Maximum bytes of a reply.
pub(crate) const REPLY_BYTES: usize = 1 << 16;
/// Maximum bytes of a reply with metrics.
pub(crate) const METRICS_BYTES: usize = 1 << 20;
/// What a reply with metrics begins with; the rest is the daemon's profile.
pub(crate) const METRICS_HEAD: &str = "trawl 1 metrics\n";
/// Maximum number of stale parts in a reply; further ones are combined into one.
const STALE_MAX: usize = 16;
/// Maximum number of remarks in a reply.
const REMARKS_MAX: usize = 4;
/// Maximum bytes of an encoded reason; the rest is cut off.
const WORDS_BYTES: usize = 1024;
/// The longest deadline; longer ones are shortened to it.
pub(crate) const DEADLINE_MAX: Duration = Duration::from_secs(3600);

/// A request to the daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Bring the index up to date with all changes made before the request.
    Now {
        /// How long to wait for it.
        deadline: Duration,
        /// Accepted age of the answer.
        max_age: Duration,
    },
    /// Report the daemon's status.
    Status,
    /// Report how long the daemon's own operations took. Only the superuser and the daemon's own
    /// user may ask: times reveal what others ask.
    Metrics,
    /// Scan a directory again, with everything below.
    Refresh {
        /// How long to wait for it.
        deadline: Duration,
        /// The directory: absolute, without a trailing slash.
        path: Vec<u8>,
    },
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The index has every change made before the request, within the limits of [`Noticed`].
    Fresh,
    /// The index lacks changes, for the given reasons.
    Stale,
    /// The deadline passed before the index was up to date.
    Late,
    /// The request was refused.
    Refused,
}

const OUTCOMES: [(Outcome, &str); 4] = [
    (Outcome::Fresh, "fresh"),
    (Outcome::Stale, "stale"),
    (Outcome::Late, "late"),
    (Outcome::Refused, "refused"),
];

/// How changes are noticed, and so up to when they are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noticed {
    /// By events: until now.
    Now,
    /// By polling at this interval: until the last pass began.
    Every(Duration),
}

/// Whether the times of rows show every change of contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Contents {
    /// A change through a memory mapping, or through a name elsewhere, may be missing.
    #[default]
    Unknown,
    /// Every change of a file's content that completed before the request is in the times of its
    /// row, whoever made it.
    Known,
}

/// The daemon's reply to [`Request::Now`] and [`Request::Refresh`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The outcome.
    pub outcome: Outcome,
    /// The current snapshot, if there is one.
    pub snapshot: Option<SnapshotId>,
    /// The generation beside the snapshot, at least; 0 means none.
    pub generation: u64,
    /// Time up to which the index has all changes.
    pub as_of: Option<Timestamp>,
    /// How changes are noticed.
    pub seen: Noticed,
    /// Whether changes of contents are known.
    pub contents: Contents,
    /// Parts that are not up to date, each with the reason; the reason of a refusal.
    pub stale: Vec<Stale>,
    /// Further remarks, such as parts that could not be looked at.
    pub remarks: Vec<String>,
}

impl Answer {
    /// Makes the reply that refuses a request.
    pub(crate) fn refused(why: &str) -> Answer {
        Answer {
            outcome: Outcome::Refused,
            snapshot: None,
            generation: 0,
            as_of: None,
            seen: Noticed::Now,
            contents: Contents::Unknown,
            stale: vec![Stale {
                path: Vec::new(),
                why: why.to_owned(),
            }],
            remarks: Vec::new(),
        }
    }

    /// All reasons, separated by semicolons.
    #[must_use]
    pub fn reasons(&self) -> String {
        let whys: Vec<&str> = self.stale.iter().map(|stale| &stale.why[..]).collect();
        whys.join("; ")
    }

    /// Encodes the reply for the socket.
    pub(crate) fn encode(&self) -> String {
        let word = OUTCOMES
            .iter()
            .find(|(outcome, _)| *outcome == self.outcome);
        let mut text = format!("{VERSION}{}\n", word.map_or("", |(_, word)| word));
        if let Some(id) = self.snapshot {
            let _ = writeln!(text, "snapshot {id}");
        }
        if self.generation > 0 {
            let _ = writeln!(text, "generation {}", self.generation);
        }
        if let Some(time) = self.as_of {
            let _ = writeln!(text, "as-of {}.{:09}", time.secs, time.nanos);
        }
        if let Noticed::Every(interval) = self.seen {
            let _ = writeln!(text, "every-ms {}", interval.as_millis());
        }
        if self.contents == Contents::Known {
            let _ = writeln!(text, "contents known");
        }
        for remark in self.remarks.iter().take(REMARKS_MAX) {
            let remark = encode_bytes(remark.as_bytes());
            let _ = writeln!(text, "remark {}", cut(&remark));
        }
        for stale in self.stale.iter().take(STALE_MAX) {
            let (path, why) = (
                encode_bytes(&stale.path),
                encode_bytes(stale.why.as_bytes()),
            );
            // A path may be longer than a reply allows; a truncated path would name another file.
            let path = if path.len() > PATH_BYTES { "" } else { &path };
            let _ = writeln!(text, "stale {path} {}", cut(&why));
        }
        text
    }

    /// Parses a reply; `None` if it is malformed.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Answer> {
        let text = std::str::from_utf8(bytes).ok()?.strip_suffix('\n')?;
        let mut lines = text.split('\n');
        let word = lines.next()?.strip_prefix(VERSION)?;
        let (outcome, _) = OUTCOMES.iter().find(|(_, known)| *known == word)?;
        let mut answer = Answer::refused("");
        answer.outcome = *outcome;
        answer.stale.clear();
        for line in lines {
            let (key, value) = line.split_once(' ')?;
            match key {
                "snapshot" => answer.snapshot = Some(value.parse().ok()?),
                "generation" => answer.generation = value.parse().ok()?,
                "as-of" => answer.as_of = Some(parse_time(value)?),
                "every-ms" => answer.seen = Noticed::Every(parse_millis(value)?),
                "contents" if value == "known" => answer.contents = Contents::Known,
                "stale" => {
                    let (path, why) = value.split_once(' ')?;
                    let why = String::from_utf8_lossy(&decode_bytes(why)?).into_owned();
                    let path = decode_bytes(path)?;
                    answer.stale.push(Stale { path, why });
                }
                "remark" => {
                    let remark = decode_bytes(value)?;
                    answer
                        .remarks
                        .push(String::from_utf8_lossy(&remark).into_owned());
                }
                // Ignored: later versions may send more lines.
                _ => {}
            }
        }
        Some(answer)
    }
}

impl Request {
    /// Encodes the request for the socket.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let head = match self {
            Request::Now { deadline, max_age } => {
                format!("now {} {}", deadline.as_millis(), max_age.as_millis())
            }
            Request::Status => "status".to_owned(),
            Request::Metrics => "metrics".to_owned(),
            Request::Refresh { deadline, path } => {
                format!("refresh {} {}", deadline.as_millis(), path.len())
            }
        };
        let mut bytes = format!("{VERSION}{head}\n").into_bytes();
        if let Request::Refresh { path, .. } = self {
            bytes.extend(path);
        }
        bytes
    }

    /// Parses the bytes of a request received so far.
    pub(crate) fn parse(bytes: &[u8]) -> Parsed {
        let end = bytes
            .iter()
            .take(LINE_BYTES)
            .position(|byte| *byte == b'\n');
        let Some(end) = end else {
            return match bytes.len() < LINE_BYTES {
                true => Parsed::More,
                false => Parsed::Nonsense,
            };
        };
        let line = std::str::from_utf8(&bytes[..end]).ok();
        let Some(request) = line.and_then(Self::head) else {
            return Parsed::Nonsense;
        };
        Self::body(request, &bytes[end + 1..])
    }

    fn head(line: &str) -> Option<(Request, usize)> {
        let mut words = line.strip_prefix(VERSION)?.split(' ');
        let kind = words.next()?;
        let mut number = || parse_millis(words.next()?);
        let (request, length) = match kind {
            "now" => {
                let (deadline, max_age) = (number()?, number()?);
                (Request::Now { deadline, max_age }, 0)
            }
            "status" => (Request::Status, 0),
            "metrics" => (Request::Metrics, 0),
            "refresh" => {
                let deadline = number()?;
                let length = usize::try_from(number()?.as_millis()).ok()?;
                let path = Vec::new();
                (Request::Refresh { deadline, path }, length)
            }
            _ => return None,
        };
        let is_over = words.next().is_none();
        (is_over && length <= PATH_BYTES).then_some((request, length))
    }

    fn body((mut request, length): (Request, usize), rest: &[u8]) -> Parsed {
        if let Request::Refresh { path, .. } = &mut request {
            if rest.len() < length {
                return Parsed::More;
            }
            path.extend(&rest[..length]);
        }
        match rest.len() == length {
            true => Parsed::Request(request),
            false => Parsed::Nonsense,
        }
    }
}

/// The state of a request that is being received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Parsed {
    /// The request is complete.
    Request(Request),
    /// More bytes are needed.
    More,
    /// The request is malformed, whatever follows.
    Nonsense,
}

fn cut(words: &str) -> &str {
    words
        .get(..words.len().min(WORDS_BYTES))
        .unwrap_or_default()
}

fn parse_millis(text: &str) -> Option<Duration> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let millis = is_plain.then(|| text.parse().ok()).flatten()?;
    Some(Duration::from_millis(millis))
}

fn parse_time(text: &str) -> Option<Timestamp> {
    let (secs, nanos) = text.split_once('.')?;
    let is_plain = nanos.len() == 9 && nanos.bytes().all(|byte| byte.is_ascii_digit());
    let nanos = is_plain.then(|| nanos.parse().ok()).flatten()?;
    Some(Timestamp {
        secs: secs.parse().ok()?,
        nanos,
    })
}

/// Whether a byte is sent as it is; all others become `%` and two hex digits.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_graphic() && byte != b'%'
}

/// Encodes bytes as one word of printable ASCII.
pub(crate) fn encode_bytes(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        match is_plain(*byte) {
            true => text.push(char::from(*byte)),
            false => {
                let _ = write!(text, "%{byte:02x}");
            }
        }
    }
    text
}

/// Decodes the output of [`encode_bytes`]; a code that was cut off at the end is left out.
pub(crate) fn decode_bytes(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first {
            b'%' => {
                let [high, low, after @ ..] = after else {
                    break;
                };
                bytes.push(u8::try_from(digit(*high)? << 4 | digit(*low)?).ok()?);
                rest = after;
            }
            plain if is_plain(*plain) => bytes.push(*plain),
            _ => return None,
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn request() -> impl Strategy<Value = Request> {
        let time = || (0u64..1 << 40).prop_map(Duration::from_millis);
        let path = proptest::collection::vec(any::<u8>(), 0..PATH_BYTES);
        prop_oneof![
            (time(), time()).prop_map(|(deadline, max_age)| Request::Now { deadline, max_age }),
            Just(Request::Status),
            Just(Request::Metrics),
            (time(), path).prop_map(|(deadline, path)| Request::Refresh { deadline, path }),
        ]
    }

    fn answer() -> impl Strategy<Value = Answer> {
        let stale = (proptest::collection::vec(any::<u8>(), 0..50), ".{0,50}")
            .prop_map(|(path, why)| Stale { path, why });
        let time = (any::<i64>(), 0u32..1_000_000_000);
        let time = time.prop_map(|(secs, nanos)| Timestamp { secs, nanos });
        (
            0..OUTCOMES.len(),
            (
                proptest::option::of(any::<u64>().prop_map(SnapshotId)),
                any::<u64>(),
            ),
            proptest::option::of(time),
            proptest::option::of((0u64..1 << 40).prop_map(Duration::from_millis)),
            prop_oneof![Just(Contents::Known), Just(Contents::Unknown)],
            proptest::collection::vec(stale, 0..STALE_MAX),
            proptest::collection::vec(".{0,50}", 0..REMARKS_MAX),
        )
            .prop_map(
                |(outcome, (snapshot, generation), as_of, every, contents, stale, remarks)| {
                    Answer {
                        outcome: OUTCOMES[outcome].0,
                        snapshot,
                        generation,
                        as_of,
                        seen: every.map_or(Noticed::Now, Noticed::Every),
                        contents,
                        stale,
                        remarks,
                    }
                },
            )
    }

    proptest! {
        #[test]
        fn requests_are_read_as_they_were_written(request in request()) {
            let bytes = request.encode();
            prop_assert_eq!(Request::parse(&bytes), Parsed::Request(request));
            for end in [0, 5, bytes.len() - 1] {
                prop_assert_eq!(Request::parse(&bytes[..end]), Parsed::More);
            }
            let more = [&bytes[..], b"x"].concat();
            prop_assert_eq!(Request::parse(&more), Parsed::Nonsense);
        }

        #[test]
        fn answers_are_read_as_they_were_written(answer in answer()) {
            prop_assert_eq!(Answer::parse(answer.encode().as_bytes()), Some(answer));
        }

        #[test]
        fn no_bytes_do_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = (Request::parse(&bytes), Answer::parse(&bytes));
            let begun = [VERSION.as_bytes(), &bytes].concat();
            let _ = (Request::parse(&begun), Answer::parse(&begun));
        }

        #[test]
        fn no_lines_do_harm(text in "(now|refresh|status|metrics|fresh|stale)[ 0-9a-z.%\n-]{0,120}\n") {
            let text = format!("{VERSION}{text}");
            let _ = (Request::parse(text.as_bytes()), Answer::parse(text.as_bytes()));
        }
    }

    #[test]
    fn what_is_too_long_is_nonsense() {
        let long = [&b"trawl 1 refresh 1 4097\n"[..], &[b'a'; 4097]].concat();
        assert_eq!(Request::parse(&long), Parsed::Nonsense);
        assert_eq!(Request::parse(&[b'a'; LINE_BYTES]), Parsed::Nonsense);
        assert_eq!(Request::parse(b"trawl 2 status\n"), Parsed::Nonsense);
        assert_eq!(Request::parse(b"trawl 1 now 1 +2\n"), Parsed::Nonsense);
    }

    /// [`str::parse`] takes a plus sign, and no reply is written with one.
    #[test]
    fn a_sign_is_no_digit() {
        let parse = |line: &str| Answer::parse(format!("{VERSION}fresh\n{line}\n").as_bytes());
        for (good, bad) in [
            ("remark a%05", "remark a%+5"),
            ("as-of 1.000000005", "as-of 1.+00000005"),
        ] {
            assert!(parse(good).is_some(), "{good}");
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_longest_answer_fits() {
        let stale = Stale {
            path: vec![b'/'; 5000],
            why: "%".repeat(5000),
        };
        let mut answer = Answer::refused("");
        answer.stale = vec![stale; 100];
        assert!(answer.encode().len() < REPLY_BYTES);
        assert!(Answer::parse(answer.encode().as_bytes()).is_some());
    }
}
