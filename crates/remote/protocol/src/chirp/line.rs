//! Parses a client's lines, and formats records as lines.

use trawl_call::options::Flags;
use trawl_call::{Attributes, Outcome, RecordRef, Source};

/// A path in a line must be shorter than this many bytes: clients have no larger buffer.
const PATH_MAX_BYTES: usize = 1024;
/// Maximum number of paths in one request.
const PATHS_MAX: usize = 1024;

/// Flag bits of a line, and ours. The bit for periods has no effect in Chirp, so it has none here.
const BITS: [(u32, u32); 7] = [
    (1 << 0, Flags::STOPATFIRST),
    (1 << 1, Flags::METADATA),
    (1 << 2, Flags::INCLUDEROOT),
    (1 << 3, 0),
    (1 << 4, Flags::R_OK),
    (1 << 5, Flags::W_OK),
    (1 << 6, Flags::X_OK),
];
const INCLUDEROOT: u32 = 1 << 2;

/// A parsed line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ChirpRequest {
    Search(Question),
    /// A request for the client's own name.
    Whoami {
        /// Maximum number of bytes to return.
        most: usize,
    },
    /// An unsupported request.
    Other,
}

/// A search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) pattern: Vec<u8>,
    /// Absolute paths without `.` and `..`.
    pub(super) paths: Vec<Vec<u8>>,
    bits: u32,
}

/// An invalid line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BadLine;

/// Parses a line.
pub(super) fn parse(line: &[u8]) -> Result<ChirpRequest, BadLine> {
    let mut words = line
        .split(|byte| *byte == b' ')
        .filter(|word| !word.is_empty());
    match words.next() {
        Some(b"search") => {}
        Some(b"whoami") => return whoami(words),
        _ => return Ok(ChirpRequest::Other),
    }
    let (Some(pattern), Some(paths), Some(bits), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(BadLine);
    };
    let bits = std::str::from_utf8(bits)
        .ok()
        .and_then(|bits| bits.parse().ok());
    let known = BITS.iter().fold(0, |all, (bit, _)| all | bit);
    let bits = bits
        .filter(|bits: &u32| bits & !known == 0)
        .ok_or(BadLine)?;
    let paths = paths.split(|byte| matches!(byte, b'|' | b':'));
    let paths: Vec<Vec<u8>> = paths.map(|path| collapse(&decode(path))).collect();
    if paths.len() > PATHS_MAX || paths.iter().any(|path| path.contains(&0)) {
        return Err(BadLine);
    }
    Ok(ChirpRequest::Search(Question {
        pattern: pattern.to_vec(),
        paths,
        bits,
    }))
}

fn whoami<'w>(mut words: impl Iterator<Item = &'w [u8]>) -> Result<ChirpRequest, BadLine> {
    let most = words.next().and_then(|most| std::str::from_utf8(most).ok());
    let most = most.and_then(|most| most.parse().ok());
    match (most, words.next()) {
        (Some(most), None) => Ok(ChirpRequest::Whoami { most }),
        _ => Err(BadLine),
    }
}

/// Decodes `%` and two hexadecimal digits.
fn decode(text: &[u8]) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let (mut bytes, mut rest) = (Vec::new(), text);
    while let [first, after @ ..] = rest {
        let pair = match after {
            [high, low, ..] if *first == b'%' => digit(*high).zip(digit(*low)),
            _ => None,
        };
        match pair {
            Some((high, low)) => {
                bytes.push(u8::try_from(high << 4 | low).unwrap_or(0));
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}

/// Returns an absolute path without `.`, `..` and repeated slashes: like Chirp, from the text
/// alone.
fn collapse(path: &[u8]) -> Vec<u8> {
    let mut names: Vec<&[u8]> = Vec::new();
    for name in path.split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    let mut whole = Vec::new();
    for name in names {
        whole.push(b'/');
        whole.extend_from_slice(name);
    }
    match whole.is_empty() {
        true => b"/".to_vec(),
        false => whole,
    }
}

/// Joins a path to a directory; both are absolute.
fn below(dir: &[u8], path: &[u8]) -> Vec<u8> {
    match dir {
        b"/" => path.to_vec(),
        dir => [dir, path].concat(),
    }
}

/// Returns whether a line can represent the path.
fn is_tellable(path: &[u8]) -> bool {
    path.len() < PATH_MAX_BYTES
        && !path
            .iter()
            .any(|byte| matches!(byte, b':' | b'\n' | b'\r' | 0))
}

/// Returns the error line for a path that no line can represent.
fn untold(path: &[u8]) -> Vec<u8> {
    let mut dir = path;
    while !is_tellable(dir) {
        let cut = dir.iter().rposition(|byte| *byte == b'/');
        dir = &dir[..cut.unwrap_or(0)];
    }
    let errno = rustix::io::Errno::ILSEQ.raw_os_error();
    let source = Source::Read as u8;
    let dir = if dir.is_empty() { b"/" } else { dir };
    [format!("{errno}:{source}:").as_bytes(), dir, b":\n"].concat()
}

impl Question {
    /// Returns the flags in our bits; `?` matches exactly one byte, as in the other implementation.
    pub(super) fn flags(&self) -> Flags {
        let set = BITS.iter().filter(|(bit, _)| self.bits & bit != 0);
        let bits = set.fold(Flags::FNMATCH, |all, (_, ours)| all | ours);
        // Root paths are prepended here instead.
        Flags(bits & !Flags::INCLUDEROOT)
    }

    /// Returns the line for this record.
    pub(super) fn line(&self, record: &RecordRef<'_>) -> Vec<u8> {
        let root = self
            .paths
            .get(record.root as usize)
            .map_or(&b"/"[..], |path| path);
        let path = match record.path {
            b"." => Vec::new(),
            path => [b"/", path].concat(),
        };
        let whole = below(root, &path);
        let whole = if whole.is_empty() {
            b"/".to_vec()
        } else {
            whole
        };
        let (head, shown, tail) = match record.outcome {
            Outcome::Error(trouble) => {
                let head = format!("{}:{}:", trouble.errno, chirps(trouble.source));
                (head, whole.clone(), String::new())
            }
            Outcome::Match(attributes) => {
                let shown = match self.bits & INCLUDEROOT {
                    0 if path.is_empty() => b"/".to_vec(),
                    0 => path,
                    _ => whole.clone(),
                };
                let tail = attributes.map_or(String::new(), |attributes| numbers(&attributes));
                ("0:".to_owned(), shown, format!("{tail}:"))
            }
        };
        match is_tellable(&shown) {
            true => [head.as_bytes(), &shown, b":", tail.as_bytes(), b"\n"].concat(),
            false => untold(&whole),
        }
    }
}

/// Returns the error source in Chirp's numbers: it knows only four.
fn chirps(source: Source) -> u8 {
    match source {
        Source::Depth | Source::Loop => Source::Open as u8,
        other => other as u8,
    }
}

/// Returns attributes in Chirp's order.
fn numbers(of: &Attributes) -> String {
    let numbers = [
        of.dev.cast_signed(),
        of.ino.cast_signed(),
        of.mode.into(),
        of.nlink.cast_signed(),
        of.uid.into(),
        of.gid.into(),
        of.rdev.cast_signed(),
        of.size.cast_signed(),
        of.blksize.into(),
        of.blocks.cast_signed(),
        of.atime.secs,
        of.mtime.secs,
        of.ctime.secs,
    ];
    numbers.map(|number| number.to_string()).join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use trawl_call::Trouble;

    fn question(line: &str) -> Question {
        match parse(line.as_bytes()) {
            Ok(ChirpRequest::Search(question)) => question,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn lines_are_questions() {
        let asked = question("search *.c /usr/../srv//x/|a%20b%3ac:. 71");
        assert_eq!(asked.pattern, b"*.c");
        let paths: Vec<_> = asked
            .paths
            .iter()
            .map(|path| path.escape_ascii().to_string())
            .collect();
        assert_eq!(paths, ["/srv/x", "/a b:c", "/"]);
        let flags = Flags::STOPATFIRST | Flags::METADATA | Flags::X_OK | Flags::FNMATCH;
        assert_eq!(asked.flags().0, flags);
        for bad in [
            "search",
            "search a",
            "search a /",
            "search a / x",
            "search a / 128",
            "search a / 1 2",
            "search a /%00 0",
            "search a / -1",
        ] {
            assert_eq!(parse(bad.as_bytes()), Err(BadLine), "{bad}");
        }
        assert_eq!(
            parse(b"whoami 1024"),
            Ok(ChirpRequest::Whoami { most: 1024 })
        );
        for bad in ["whoami", "whoami -1", "whoami x", "whoami 1 2"] {
            assert_eq!(parse(bad.as_bytes()), Err(BadLine), "{bad}");
        }
        // A leading period is ordinary, whatever the flags say.
        assert_eq!(question("search * / 8").flags().0, Flags::FNMATCH);
        assert_eq!(parse(b"unlink /x"), Ok(ChirpRequest::Other));
        assert_eq!(parse(b""), Ok(ChirpRequest::Other));
    }

    fn line(question: &Question, path: &[u8], outcome: Outcome) -> String {
        let record = RecordRef {
            root: 0,
            path,
            outcome,
        };
        question.line(&record).escape_ascii().to_string()
    }

    #[test]
    fn records_are_lines() {
        let (plain, rooted) = (question("search x /srv 0"), question("search x /srv 4"));
        let found = || Outcome::Match(None);
        assert_eq!(line(&plain, b"a/x", found()), "0:/a/x::\\n");
        assert_eq!(line(&rooted, b"a/x", found()), "0:/srv/a/x::\\n");
        assert_eq!(line(&plain, b".", found()), "0:/::\\n");
        assert_eq!(line(&question("search x / 4"), b"x", found()), "0:/x::\\n");
        let trouble = |source| Outcome::Error(Trouble { source, errno: 13 });
        assert_eq!(line(&plain, b"a", trouble(Source::Open)), "13:1:/srv/a:\\n");
        assert_eq!(line(&plain, b".", trouble(Source::Loop)), "13:1:/srv:\\n");
        // A path that no line can represent becomes an error of its closest representable
        // directory.
        assert_eq!(line(&plain, b"a/b:c/x", found()), "84:2:/srv/a:\\n");
        assert_eq!(line(&plain, b"a\n", found()), "84:2:/srv:\\n");
        assert_eq!(line(&plain, &[b'a'; 1024], found()), "84:2:/srv:\\n");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(text in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&text);
            let _ = parse(&[b"search ", &text[..]].concat());
        }

        /// A record always makes one line, whatever bytes its name has.
        #[test]
        fn a_record_is_one_line(path in proptest::collection::vec(any::<u8>(), 1..40), bits in 0u32..8) {
            let asked = question(&format!("search x /srv {bits}"));
            let record = RecordRef { root: 0, path: &path, outcome: Outcome::Match(None) };
            let line = asked.line(&record);
            prop_assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
            prop_assert_eq!(line.iter().filter(|byte| **byte == b':').count(), 3);
        }
    }
}
