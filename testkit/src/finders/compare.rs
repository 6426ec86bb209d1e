//! Compares the determined parts of two answers to one command line.
//!
//! - Records (of standard output and of files that actions write) are compared as a multiset: the
//!   order of a walk is not part of the language. Runs of blanks count as one where `-ls` aligns
//!   columns, which widen in the order of printing.
//! - With `-quit`, the set of entries before the end depends on the order: records must then be
//!   among those of the same command line without `-quit`.
//! - For messages the class and the path count. The wording is compared, too, and reported
//!   separately.

use super::case::{Case, Start, Word};
use super::environment::language;
use super::site::Answer;
use crate::lines::visible;

/// The part of an answer that differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A signal, a panic, a hang.
    Broke,
    /// Records on standard output.
    Output,
    /// Records in files.
    Files,
    /// State after a deletion.
    Left,
    /// The class or the path of a message.
    Messages,
    /// The exit code.
    Code,
}

/// A difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The part that differs.
    pub kind: Kind,
    /// Description for a person.
    pub text: String,
}

/// Returns whether the order of the walk determines how many commands `-execdir … +` starts, each
/// of which reports a failing output.
fn counts_by_order(case: &Case) -> bool {
    let is_shut = matches!(
        case.start,
        Start::NoOutput | Start::FullOutput | Start::UnreadOutput
    );
    let gathers =
        |leaf: &&[Word]| leaf[0] == b"-execdir" && leaf.last().is_some_and(|word| word == b"+");
    is_shut && case.leaves().iter().any(gathers)
}

/// Agreement of answers in parts that are not required to agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Likeness {
    /// Standard output, byte for byte.
    pub order: bool,
    /// Messages, word for word.
    pub wording: bool,
}

/// Part of the program's message about a start that it read from the file system.
const LIVE: &str = "read from the file system now";
/// Number of records shown per difference.
const SHOWN: usize = 6;

/// Returns how an answer differs from the oracle's. `whole` is the oracle's answer to the same
/// command line without `-quit`, if that is in it.
pub fn difference(
    case: &Case,
    theirs: &Answer,
    ours: &Answer,
    whole: Option<&Answer>,
) -> Option<Difference> {
    let found = |kind: Kind, text: String| Some(Difference { kind, text });
    if ours.ran.signal.is_some()
        || ours.ran.code > Some(128)
        || ours.ran.errors().contains("panicked")
    {
        return found(Kind::Broke, ours.ran.to_string());
    }
    let blanks = case.has("-ls") || case.has("-fls");
    let endings = case.endings();
    let split = |bytes: &[u8]| records(bytes, &endings, blanks);
    if let Some(whole) = whole {
        let (part, whole) = (split(&ours.ran.stdout), split(&whole.ran.stdout));
        let extra = only(&part, &whole);
        return match extra.is_empty() {
            true => None,
            false => found(
                Kind::Output,
                format!("never without -quit: {}", shown(&extra)),
            ),
        };
    }
    let (a, b) = (split(&theirs.ran.stdout), split(&ours.ran.stdout));
    if a != b {
        return found(Kind::Output, parted(&a, &b));
    }
    for (theirs, ours) in theirs.files.iter().zip(&ours.files) {
        let (a, b) = (theirs.as_deref().map(split), ours.as_deref().map(split));
        if a != b {
            let none = Vec::new();
            let text = parted(a.as_ref().unwrap_or(&none), b.as_ref().unwrap_or(&none));
            return found(
                Kind::Files,
                format!("{text} ({} and {})", a.is_some(), b.is_some()),
            );
        }
    }
    if theirs.left != ours.left {
        let split =
            |answer: &Answer| records(answer.left.as_deref().unwrap_or_default(), &[0], blanks);
        return found(Kind::Left, parted(&split(theirs), &split(ours)));
    }
    // In encodings other than UTF-8 find shows characters where the program shows bytes.
    let is_bytes = language(case).is_some_and(|name| !name.ends_with("UTF-8"));
    let plain = |stderr: &[u8]| {
        let unescaped = is_bytes.then(|| unescaped(stderr));
        let mut classes = classes(unescaped.as_deref().unwrap_or(stderr));
        if blanks {
            classes = split(&classes.join(&endings[0]));
        }
        if counts_by_order(case) {
            classes.dedup();
        }
        classes
    };
    let (a, b) = (plain(&theirs.ran.stderr), plain(&ours.ran.stderr));
    if a != b {
        return found(Kind::Messages, parted(&a, &b));
    }
    if theirs.ran.code != ours.ran.code {
        return found(
            Kind::Code,
            format!("{:?} of find, {:?} of ours", theirs.ran.code, ours.ran.code),
        );
    }
    None
}

/// Returns which further parts agree.
pub fn likeness(theirs: &Answer, ours: &Answer) -> Likeness {
    let lines = |answer: &Answer| {
        let mut lines = messages(&answer.ran.stderr);
        lines.sort();
        lines
    };
    Likeness {
        order: theirs.ran.stdout == ours.ran.stdout,
        wording: lines(theirs) == lines(ours),
    }
}

fn records(bytes: &[u8], endings: &[u8], blanks: bool) -> Vec<Vec<u8>> {
    let mut records: Vec<Vec<u8>> = bytes
        .split(|byte| endings.contains(byte))
        .map(|record| match blanks {
            true => {
                let words = record
                    .split(|byte| *byte == b' ')
                    .filter(|word| !word.is_empty());
                words.collect::<Vec<_>>().join(&b' ')
            }
            false => record.to_vec(),
        })
        .collect();
    records.sort();
    records
}

/// Splits standard error into lines; a prompt counts as a line, too.
fn messages(stderr: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(stderr).replace(" > ? ", " > ?\n");
    let lines = text
        .split(['\n', '\0'])
        .filter(|line| !line.is_empty() && !line.contains(LIVE));
    lines.map(String::from).collect()
}

/// Replaces `\\ooo` escapes by their bytes.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, behind @ ..] = rest {
        let octal = |byte: &u8| (b'0'..=b'7').contains(byte).then(|| byte - b'0');
        let digits = behind.get(..3).filter(|_| *first == b'\\');
        let value = digits.and_then(|digits| {
            let each: Option<Vec<u8>> = digits.iter().map(octal).collect();
            let value = each?
                .iter()
                .fold(0u32, |sum, digit| sum * 8 + u32::from(*digit));
            u8::try_from(value).ok()
        });
        plain.push(value.unwrap_or(*first));
        rest = &behind[if value.is_some() { 3 } else { 0 }..];
    }
    plain
}

/// Reduces messages to their class and path, so that the wording does not matter.
fn classes(stderr: &[u8]) -> Vec<Vec<u8>> {
    let mut classes: Vec<String> = messages(stderr).iter().map(|line| class(line)).collect();
    classes.sort();
    // The refusal of a command line may take several lines.
    if classes.iter().any(|class| class == "refused") {
        return vec![b"refused".to_vec()];
    }
    classes.into_iter().map(String::into_bytes).collect()
}

const CAUSES: &[&str] = &[
    "No such file or directory",
    "Permission denied",
    "File system loop detected",
    "Too many levels of symbolic links",
    "Not a directory",
    "File name too long",
    "Directory not empty",
    "Operation not permitted",
];

fn class(line: &str) -> String {
    if line.contains("warning:") {
        return "warning".into();
    }
    let path = line
        .split_once(['‘', '\''])
        .and_then(|(_, rest)| rest.rsplit_once(['’', '\'']));
    let path = path.map_or("", |(path, _)| path);
    let lower = line.to_lowercase();
    match CAUSES
        .iter()
        .find(|cause| lower.contains(&cause.to_lowercase()))
    {
        Some(cause) => format!("{cause}: {path}"),
        None if line.starts_with("find: ") || line.starts_with("Try ") => "refused".into(),
        None => line.into(),
    }
}

fn parted(theirs: &[Vec<u8>], ours: &[Vec<u8>]) -> String {
    let (missing, extra) = (only(theirs, ours), only(ours, theirs));
    let (a, b) = (theirs.len(), ours.len());
    format!(
        "{a} by find, {b} by us\n  only find: {}\n  only we:   {}",
        shown(&missing),
        shown(&extra)
    )
}

fn shown(records: &[&Vec<u8>]) -> String {
    let list: Vec<String> = records
        .iter()
        .take(SHOWN)
        .map(|record| visible(record))
        .collect();
    let more = records.len().saturating_sub(SHOWN);
    let more = if more > 0 {
        format!(" … and {more} more")
    } else {
        String::new()
    };
    format!("{}{more}", list.join(" ¦ "))
}

/// Returns records of the first sorted list that the second lacks, counting repeats.
fn only<'a>(first: &'a [Vec<u8>], second: &[Vec<u8>]) -> Vec<&'a Vec<u8>> {
    let mut second = second.iter().peekable();
    let mut only = Vec::new();
    for record in first {
        while second.next_if(|other| *other < record).is_some() {}
        if second.next_if(|other| *other == record).is_none() {
            only.push(record);
        }
    }
    only
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finders::case::Expr;
    use crate::oracle::Ran;

    fn answer(stdout: &str, stderr: &str, code: i32) -> Answer {
        Answer {
            ran: Ran {
                line: String::new(),
                stdout: stdout.into(),
                stderr: stderr.into(),
                code: Some(code),
                signal: None,
            },
            files: vec![None],
            left: None,
        }
    }

    fn kind(case: &Case, theirs: &Answer, ours: &Answer) -> Option<Kind> {
        difference(case, theirs, ours, None).map(|difference| difference.kind)
    }

    #[test]
    fn order_and_wording_do_not_count_but_everything_else_does() {
        let case = Case::default();
        let theirs = answer("a\nb\n", "find: ‘x’: Permission denied\n", 1);
        let same = answer("b\na\n", "find: cannot open ‘x’: Permission denied\n", 1);
        assert_eq!(kind(&case, &theirs, &same), None);
        let alike = Likeness {
            order: false,
            wording: false,
        };
        assert_eq!(likeness(&theirs, &same), alike);
        for (other, expected) in [
            (
                answer("a\n", "find: ‘x’: Permission denied\n", 1),
                Kind::Output,
            ),
            (
                answer("a\nb\nb\n", "find: ‘x’: Permission denied\n", 1),
                Kind::Output,
            ),
            (
                answer("a\nb\n", "find: ‘y’: Permission denied\n", 1),
                Kind::Messages,
            ),
            (
                answer("a\nb\n", "find: ‘x’: Not a directory\n", 1),
                Kind::Messages,
            ),
            (answer("a\nb\n", "", 1), Kind::Messages),
            (
                answer("a\nb\n", "find: ‘x’: Permission denied\n", 0),
                Kind::Code,
            ),
            (
                answer("a\nb\n", "find: ‘x’: Permission denied\n", 137),
                Kind::Broke,
            ),
        ] {
            assert_eq!(kind(&case, &theirs, &other), Some(expected));
        }
    }

    #[test]
    fn what_quit_cut_off_must_be_part_of_the_whole() {
        let case = Case {
            exprs: vec![Expr::leaf(&["-print"]), Expr::leaf(&["-quit"])],
            ..Case::default()
        };
        let (theirs, whole) = (answer("a\n", "", 0), answer("a\nb\n", "", 0));
        assert_eq!(
            difference(&case, &theirs, &answer("b\n", "", 0), Some(&whole)),
            None
        );
        assert!(difference(&case, &theirs, &answer("c\n", "", 0), Some(&whole)).is_some());
    }
}
