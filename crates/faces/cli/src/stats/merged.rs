//! Counts of several servers as one: what a server says about its groups, and the answer that this
//! machine prints of them, with the same code as for its own.
//!
//! Invariants: groups of the same kind with the same label are one, whatever the numbers of their
//! owners are; what servers send is untrusted, and its size bounded.

use std::ffi::OsStr;

use trawl_answers::stats::{Counts, Group, Kinds, Section, Sums, arranged};
use trawl_model::SortKey;
use trawl_query::{Count, Repeats};
use trawl_remote::rows::Row;

use super::{SCHEMA, StatsArgs, write};
use crate::failure::Failure;
use crate::output::cells;
use crate::remote::Merged;
use crate::rows::Report;

/// Writes a group for the machine that merges it with those of other servers.
pub(crate) fn encode_group(group: &Group) -> Vec<Vec<u8>> {
    let id = group.id.map(|id| id.to_le_bytes().to_vec());
    let directories = group
        .directories
        .map(|number| number.to_le_bytes().to_vec());
    let fields = [
        encode_count(&group.count),
        group.label.clone(),
        id.unwrap_or_default(),
        vec![group.is_of_files.into()],
        directories.unwrap_or_default(),
        group.place.clone().into_bytes(),
    ];
    fields
        .into_iter()
        .chain(group.key.iter().cloned())
        .collect()
}

/// Maximum length of a position: more than that of all kinds together.
const PLACE_MAX_BYTES: usize = 1024;

/// Reads a group of these kinds; `None` if it is invalid.
pub(crate) fn decode_group(kinds: &Kinds, fields: &[Vec<u8>]) -> Option<Group> {
    let [count, label, id, is_of_files, directories, place, key @ ..] = fields else {
        return None;
    };
    if place.len() > PLACE_MAX_BYTES {
        return None;
    }
    Some(Group {
        by: kinds.name(),
        is_of_files: *is_of_files == [1],
        key: key.first().cloned(),
        id: match &id[..] {
            [] => None,
            id => Some(u32::from_le_bytes(id.try_into().ok()?)),
        },
        label: label.clone(),
        count: decode_count(count)?,
        directories: match &directories[..] {
            [] => None,
            number => Some(u64::from_le_bytes(number.try_into().ok()?)),
        },
        place: SortKey::from_bytes(place.clone()),
    })
}

/// Writes a number of entries and bytes.
pub(crate) fn encode_count(count: &Count) -> Vec<u8> {
    [count.entries, count.size_bytes, count.blocks]
        .map(u64::to_le_bytes)
        .concat()
}

/// Reads a number of entries and bytes; `None` if it is invalid.
pub(crate) fn decode_count(bytes: &[u8]) -> Option<Count> {
    let (numbers, rest) = bytes.as_chunks();
    let numbers: [[u8; 8]; 3] = numbers.try_into().ok()?;
    let [entries, size_bytes, blocks] = numbers.map(u64::from_le_bytes);
    rest.is_empty().then_some(Count {
        entries,
        size_bytes,
        blocks,
    })
}

/// Writes the counts of the path at this place among those of the question: a row of the whole, and
/// a row for each group.
pub(super) fn put(path: usize, counts: &Counts, report: &mut Report) -> Result<(), Failure> {
    let output = report.output();
    let path = (path as u64).to_le_bytes().to_vec();
    let repeats = Count {
        entries: counts.repeats.entries,
        size_bytes: counts.repeats.size_bytes,
        blocks: counts.repeats.blocks,
    };
    let whole = [counts.whole, counts.files, repeats];
    let fields = [path.clone()].into_iter();
    let fields = fields.chain(whole.iter().map(encode_count)).collect();
    output.put_row(SortKey::default(), fields)?;
    for (number, section) in counts.sections.iter().enumerate() {
        for group in &section.groups {
            let place = [path.clone(), (number as u64).to_le_bytes().to_vec()];
            let fields = place.into_iter().chain(encode_group(group)).collect();
            output.put_row(SortKey::default(), fields)?;
        }
    }
    Ok(())
}

/// What is known of a path.
#[derive(Default)]
struct Known {
    /// Whether a server has it.
    is_there: bool,
    whole: Count,
    files: Count,
    repeats: Count,
    /// The groups of each kind.
    sections: Vec<Sums>,
}

/// The counts that are made of those of several servers.
pub(crate) struct MergedStats<'a> {
    args: &'a StatsArgs,
    kinds: Vec<Kinds>,
    /// What is known of each path of the question.
    paths: Vec<Known>,
}

impl<'a> MergedStats<'a> {
    /// Begins the answer to this question.
    pub(crate) fn new(args: &'a StatsArgs) -> MergedStats<'a> {
        let kinds = args.kinds();
        let known = || Known {
            sections: kinds.iter().map(|_| Sums::default()).collect(),
            ..Known::default()
        };
        let paths = args.given().iter().map(|_| known()).collect();
        MergedStats { args, kinds, paths }
    }
}

fn number(bytes: &[u8]) -> Option<usize> {
    usize::try_from(u64::from_le_bytes(bytes.try_into().ok()?)).ok()
}

impl Merged for MergedStats<'_> {
    fn begin(&mut self, fields: &[Vec<u8>]) -> Option<()> {
        fields.is_empty().then_some(())
    }

    fn row(&mut self, row: Row, out: &mut Vec<u8>) -> Option<()> {
        match &row.fields[..] {
            // Help.
            [text] => out.extend(text),
            [path, whole, files, repeats] => {
                let known = self.paths.get_mut(number(path)?)?;
                known.is_there = true;
                known.whole.add(&decode_count(whole)?);
                known.files.add(&decode_count(files)?);
                known.repeats.add(&decode_count(repeats)?);
            }
            [path, section, group @ ..] => {
                let section = number(section)?;
                let group = decode_group(self.kinds.get(section)?, group)?;
                let known = self.paths.get_mut(number(path)?)?;
                known.sections.get_mut(section)?.add(group)?;
            }
            [] => return None,
        }
        Some(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), Failure> {
        let form = self.args.form.form();
        let mut report = trawl_report::Report::new(&SCHEMA, form, cells(), Vec::new());
        report.begin()?;
        for (given, known) in self.args.given().iter().zip(&mut self.paths) {
            if !known.is_there {
                continue;
            }
            let sections = std::mem::take(&mut known.sections);
            let section = |(kinds, sums): (&Kinds, Sums)| Section {
                name: kinds.name(),
                groups: arranged(kinds, sums.into_groups(), self.args.limit),
            };
            let counts = Counts {
                whole: known.whole,
                files: known.files,
                repeats: Repeats {
                    entries: known.repeats.entries,
                    size_bytes: known.repeats.size_bytes,
                    blocks: known.repeats.blocks,
                },
                sections: self.kinds.iter().zip(sections).map(section).collect(),
            };
            write(OsStr::new(given), &counts, self.args, &mut report)?;
        }
        out.extend(report.into_output()?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_answers::stats::By;

    fn group() -> Group {
        Group {
            by: "owner".into(),
            is_of_files: true,
            key: Some(b"k".to_vec()),
            id: Some(7),
            label: b"l".to_vec(),
            count: Count {
                entries: 1,
                size_bytes: 2,
                blocks: 3,
            },
            directories: Some(4),
            place: SortKey::from_bytes(vec![5; PLACE_MAX_BYTES]),
        }
    }

    #[test]
    fn a_group_is_read_as_it_was_written() {
        let none = Group {
            is_of_files: false,
            key: None,
            id: None,
            directories: None,
            ..group()
        };
        for group in [group(), none] {
            let read = decode_group(&By::Owner.into(), &encode_group(&group));
            assert_eq!(format!("{:?}", read.unwrap()), format!("{group:?}"));
        }
    }

    #[test]
    fn a_group_with_a_field_of_another_length_is_refused() {
        let whole = encode_group(&group());
        for (field, length) in [(0, 23), (0, 25), (0, 0), (2, 3), (2, 5), (4, 7), (4, 9)] {
            let mut fields = whole.clone();
            fields[field] = vec![0; length];
            assert!(
                decode_group(&By::Owner.into(), &fields).is_none(),
                "{field}"
            );
        }
        let mut fields = whole.clone();
        fields[5].push(0);
        assert!(decode_group(&By::Owner.into(), &fields).is_none());
        assert!(decode_group(&By::Owner.into(), &whole[..5]).is_none());
    }
}
