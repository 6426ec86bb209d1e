//! Rankings of several servers as one: what a server says about its rows, and the answer that this
//! machine prints of them, with the same code as for its own.
//!
//! Invariants: files and directories come in the order of their keys, so only the first of them are
//! kept; owners, groups, extensions and projects are summed up by their labels first. What servers
//! send is untrusted.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use trawl_answers::expression::Expression;
use trawl_answers::stats::{By, Group, Kinds, Sums};
use trawl_answers::top::{Subject, merged};
use trawl_model::SortKey;
use trawl_query::Count;
use trawl_remote::rows::Row;

use super::render::{Amount, Style, lines};
use super::{Ask, TopArgs, groups, schema};
use crate::failure::Failure;
use crate::output::cells;
use crate::remote::Merged;
use crate::rows::{Form, Report};
use crate::stats::{decode_count, decode_group, encode_count, encode_group};

/// A line for people, and its position among those of several servers.
pub(super) struct Line {
    pub(super) position: SortKey,
    pub(super) amount: Amount,
    pub(super) name: Vec<u8>,
}

/// Writes lines for people, or the rows that another machine makes them of.
pub(super) fn put(
    ask: &Ask<'_>,
    all: Vec<Line>,
    whole: u64,
    report: &mut Report,
) -> Result<(), Failure> {
    if !report.output().gives_rows() {
        let rows: Vec<_> = all.into_iter().map(|one| (one.amount, one.name)).collect();
        return Ok(report.put(lines(&rows, whole, ask.style()))?);
    }
    let output = report.output();
    output.begin_rows(Some(ask.limit()), &[whole.to_le_bytes().into()])?;
    all.into_iter().try_for_each(|one| {
        let [number, time] = one.amount.encode();
        output.put_row(one.position, vec![number, time, one.name])
    })
}

/// Writes all groups as rows.
pub(super) fn put_groups(
    given: &OsStr,
    rows: &[Group],
    whole: &Count,
    report: &mut Report,
) -> Result<(), Failure> {
    let output = report.output();
    let fields = [encode_count(whole), given.as_bytes().to_vec()];
    output.begin_rows(None, &fields)?;
    rows.iter()
        .try_for_each(|row| output.put_row(SortKey::default(), encode_group(row)))
}

/// What the rows of the servers become.
enum Answer {
    /// Rows that the servers have rendered.
    Rendered,
    /// Lines for people.
    Lines(Vec<(Amount, Vec<u8>)>, u64),
    /// Groups of this kind.
    Groups(By, Groups),
}

#[derive(Default)]
struct Groups {
    rows: Sums,
    whole: Count,
    /// The only path that the groups are about; empty if there are several.
    given: Option<Vec<u8>>,
}

/// The ranking that is made of those of several servers.
pub(crate) struct MergedTop<'a> {
    ask: Ask<'a>,
    answer: Answer,
}

impl<'a> MergedTop<'a> {
    /// Begins the answer to this question. The servers read the expression.
    ///
    /// # Errors
    /// If options contradict each other.
    pub(crate) fn new(
        args: &TopArgs,
        expression: &'a Expression,
    ) -> Result<MergedTop<'a>, Failure> {
        let ask = args.ask(expression)?;
        let answer = match (ask.options.subject, ask.form) {
            (Subject::Groups(by), _) => Answer::Groups(by, Groups::default()),
            (_, Form::Text) => Answer::Lines(Vec::new(), 0),
            _ => Answer::Rendered,
        };
        Ok(MergedTop { ask, answer })
    }
}

impl Merged for MergedTop<'_> {
    fn begin(&mut self, fields: &[Vec<u8>]) -> Option<()> {
        match (&mut self.answer, fields) {
            (Answer::Rendered, []) => {}
            (Answer::Lines(_, whole), [more]) => {
                let more = u64::from_le_bytes(more[..].try_into().ok()?);
                *whole = whole.wrapping_add(more);
            }
            (Answer::Groups(_, groups), [whole, given]) => {
                groups.whole.add(&decode_count(whole)?);
                let known = groups.given.get_or_insert_with(|| given.clone());
                if known != given {
                    known.clear();
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn row(&mut self, row: Row, out: &mut Vec<u8>) -> Option<()> {
        match (&mut self.answer, &row.fields[..]) {
            (Answer::Rendered, [text]) => out.extend(text),
            (Answer::Lines(lines, _), [number, time, name]) => {
                let amount = Amount::decode(number, time)?;
                // What a server says of the limit is not believed.
                if (lines.len() as u64) < self.ask.limit() {
                    lines.push((amount, name.clone()));
                }
            }
            (Answer::Groups(by, groups), fields) => {
                groups.rows.add(decode_group(&Kinds::from(*by), fields)?)?;
            }
            _ => return None,
        }
        Some(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), Failure> {
        let ask = &self.ask;
        match &mut self.answer {
            Answer::Rendered => {}
            Answer::Lines(rows, whole) => out.extend(lines(rows, *whole, ask.style())),
            Answer::Groups(by, all) => {
                let rows = merged(&ask.options, *by, std::mem::take(&mut all.rows));
                let given = all.given.take().unwrap_or_default();
                let given = OsStr::from_bytes(&given);
                let schema = schema(ask.options.subject);
                let mut report = trawl_report::Report::new(schema, ask.form, cells(), Vec::new());
                groups::write(ask, given, &rows, all.whole, &mut report)?;
                out.extend(report.into_output()?);
            }
        }
        Ok(())
    }
}

impl Ask<'_> {
    fn style(&self) -> Style {
        Style {
            units: self.exact,
            terminal: self.terminal,
            ink: self.ink,
        }
    }

    /// Returns the maximum number of files or directories.
    pub(super) fn limit(&self) -> u64 {
        self.options.limit as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_ranking_is_refused() {
        let count = Count {
            entries: 1,
            size_bytes: 2,
            blocks: 3,
        };
        let encoded = encode_count(&count);
        assert_eq!(decode_count(&encoded), Some(count));
        assert_eq!(decode_count(&encoded[1..]), None);
        assert_eq!(decode_count(&[&encoded[..], b"x"].concat()), None);
        for amount in [
            Amount::Size(1 << 40),
            Amount::Number(7),
            Amount::Time("2024".into(), 9),
        ] {
            let [number, time] = amount.clone().encode();
            assert_eq!(Amount::decode(&number, &time), Some(amount));
            assert_eq!(Amount::decode(&number[1..], &time), None);
        }
        assert_eq!(Amount::decode(&[3; 9], b""), None);
        assert_eq!(Amount::decode(&[0; 9], b"2024"), None);
    }
}
