//! Extracts bytes that every match of a shell pattern contains.

use crate::pattern::{Anchor, Case, Literal, Needles, Subject};

/// Returns the runs of literal bytes in a pattern. Everything between the first
/// `[` and the last `]` is ignored: implementations disagree on where a bracket
/// expression ends, but agree on the text outside.
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
            // A quoted bracket also ends the run before it.
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

/// Which ends of a piece are also ends of the pattern.
#[derive(Clone, Copy)]
struct Ends {
    start: bool,
    end: bool,
}

/// Collects the runs of a piece without bracket expressions.
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
            // A pattern that ends in a backslash matches nothing.
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
