//! Bytes that every match of a shell pattern contains.

use crate::pattern::{Anchor, Case, Literal, Needles, Subject};

/// The runs of plain bytes in a pattern. What stands between the first `[`
/// and the last `]` is not looked at: where a bracket expression ends is a
/// matter of opinion, and outside of these two everyone has the same.
pub(crate) fn needles(pattern: &[u8], subject: Subject, case: Case) -> Needles {
    let open = pattern.iter().position(|byte| *byte == b'[');
    let close = pattern.iter().rposition(|byte| *byte == b']');
    let mut found = Vec::new();
    match open {
        None => runs(
            pattern,
            Ends {
                start: true,
                end: true,
            },
            &mut found,
        ),
        Some(open) => {
            let before = &pattern[..open];
            // A quoted bracket ends the run in front of it all the same.
            let before = before.strip_suffix(b"\\").unwrap_or(before);
            runs(
                before,
                Ends {
                    start: true,
                    end: false,
                },
                &mut found,
            );
            if let Some(close) = close.filter(|close| *close > open) {
                runs(
                    &pattern[close + 1..],
                    Ends {
                        start: false,
                        end: true,
                    },
                    &mut found,
                );
            }
        }
    }
    Needles {
        subject,
        case,
        all: found.into_iter().map(|literal| vec![literal]).collect(),
    }
}

/// Which ends of a piece are ends of the pattern.
#[derive(Clone, Copy)]
struct Ends {
    start: bool,
    end: bool,
}

/// The runs of a piece without bracket expressions.
fn runs(piece: &[u8], ends: Ends, found: &mut Vec<Literal>) {
    let mut run = Vec::new();
    let mut at_start = ends.start;
    let mut bytes = piece.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'*' | b'?' => {
                push(std::mem::take(&mut run), at_start, false, found);
                at_start = false;
            }
            // A backslash at the end makes a pattern that matches nothing.
            b'\\' => run.extend(bytes.next()),
            plain => run.push(plain),
        }
    }
    push(run, at_start, ends.end, found);
}

fn push(bytes: Vec<u8>, at_start: bool, at_end: bool, found: &mut Vec<Literal>) {
    let anchor = match (at_start, at_end) {
        (true, true) => Anchor::Whole,
        (true, false) => Anchor::Start,
        (false, true) => Anchor::End,
        (false, false) => Anchor::Anywhere,
    };
    if !bytes.is_empty() {
        found.push(Literal { bytes, anchor });
    }
}
