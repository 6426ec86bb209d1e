//! Programs and threads told apart: which of them has which rows of counters.

use std::collections::BTreeMap;

use aya::Ebpf;
use aya::maps::{HashMap, MapData};
use trawl_histogram::{Profile, Resolution, Unit};

use crate::error::KernelError;
use crate::layout::CALLS;
use crate::read::variables;

/// By what calls are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Apart {
    /// The program that makes the call, by the name of its file.
    Programs,
    /// The thread that makes the call; one that executes another program is another one from then on.
    Threads,
}

/// Maximum number of pairs of a part and a system call with counters of their own; calls of further
/// pairs are in [`crate::Reading::others`].
pub const PAIRS_MAX: u32 = 8192;

/// The calls of a program or thread.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Part {
    /// The name of the program's file, without white space and control characters; `?` if it is
    /// unknown.
    pub program: String,
    /// Number of the process, as the profiler sees it; 0 if programs are told apart.
    pub process: u32,
    /// Number of the thread, likewise.
    pub thread: u32,
    /// Its calls.
    pub profile: Profile,
}

/// What the programs are told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// `apart_by` in `bpf/system_calls.c`.
    pub(crate) kind: u32,
    /// Number of all rows.
    pub(crate) rows: u32,
    /// Maximum number of parts, each of which has at least one pair.
    pub(crate) parts: u32,
}

impl Settings {
    pub(crate) fn new(apart: Option<Apart>) -> Settings {
        let kind = match apart {
            None => 0,
            Some(Apart::Programs) => 1,
            Some(Apart::Threads) => 2,
        };
        let pairs = if apart.is_some() { PAIRS_MAX } else { 0 };
        Settings {
            kind,
            rows: CALLS + pairs,
            parts: pairs,
        }
    }
}

/// Words of the programs' `shared`: tasks that were lost, rows and parts given out, and a level.
type SharedWords = [u64; 4];

/// What the programs count for all CPUs together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shared {
    pub(crate) lost_tasks: u64,
    /// All rows that are in use.
    pub(crate) rows: u32,
}

pub(crate) fn shared(programs: &Ebpf, settings: Settings) -> Result<Shared, KernelError> {
    let [lost_tasks, given_out, _, _]: SharedWords = variables(programs)?;
    let rows = u64::from(CALLS).saturating_add(given_out);
    Ok(Shared {
        lost_tasks,
        rows: rows.min(settings.rows.into()) as u32,
    })
}

/// `struct part`: process, thread and name.
type PartBytes = [u8; 72];

/// The pair behind each row.
pub(crate) struct Pairs {
    by_row: BTreeMap<u32, (u32, u32)>,
    parts: BTreeMap<u32, PartBytes>,
}

impl Pairs {
    /// Reads the pairs of all rows that were counted in before the call.
    pub(crate) fn read(programs: &Ebpf, settings: Settings) -> Result<Pairs, KernelError> {
        let mut pairs = Pairs {
            by_row: BTreeMap::new(),
            parts: BTreeMap::new(),
        };
        if settings.parts == 0 {
            return Ok(pairs);
        }
        let all: Vec<(PartBytes, u32)> = entries(programs, "parts")?;
        pairs.parts = all.into_iter().map(|(key, part)| (part, key)).collect();
        let all: Vec<([u32; 2], u32)> = entries(programs, "rows")?;
        let all = all.into_iter();
        pairs.by_row = all
            .map(|([part, number], row)| (row, (part, number)))
            .collect();
        Ok(pairs)
    }

    /// Returns the part and the number of the system call that a row counts; `None` as the part for
    /// rows that belong to no part, `None` for rows that were given out in vain.
    pub(crate) fn of(&self, row: u32) -> Option<(Option<u32>, u32)> {
        match row < CALLS {
            true => Some((None, row)),
            false => self
                .by_row
                .get(&row)
                .map(|(part, number)| (Some(*part), *number)),
        }
    }

    /// Returns a part without calls.
    pub(crate) fn part(&self, number: u32, resolution: Resolution) -> Part {
        let unknown = [0; size_of::<PartBytes>()];
        let key = self.parts.get(&number).unwrap_or(&unknown);
        let [a, b, c, d, e, f, g, h, name @ ..] = *key;
        Part {
            program: shown(&name),
            process: u32::from_le_bytes([a, b, c, d]),
            thread: u32::from_le_bytes([e, f, g, h]),
            profile: Profile::new(Unit::Nanoseconds, resolution),
        }
    }
}

/// Returns the entries of a map from which none is ever removed.
fn entries<K: aya::Pod>(programs: &Ebpf, name: &'static str) -> Result<Vec<(K, u32)>, KernelError> {
    let failed = |source| KernelError::Map { map: name, source };
    let map = programs.map(name).ok_or(KernelError::Object(name))?;
    let map: HashMap<&MapData, K, u32> = HashMap::try_from(map).map_err(failed)?;
    map.iter().map(|entry| entry.map_err(failed)).collect()
}

/// Returns the name of a program's file, with odd characters replaced.
fn shown(name: &[u8]) -> String {
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    let is_odd = |one: char| one.is_control() || one.is_whitespace();
    match name.is_empty() {
        true => "?".to_owned(),
        false => String::from_utf8_lossy(name).replace(is_odd, "?"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_programs_have_no_odd_characters() {
        let mut name = [0; 64];
        name[..7].copy_from_slice(b"a b\nc\x1bd");
        assert_eq!(shown(&name), "a?b?c?d");
        assert_eq!(shown(&[0; 64]), "?");
        assert_eq!(shown(&[b'x'; 64]).len(), 64, "one that fills its place");
    }

    #[test]
    fn rows_without_a_pair_were_given_out_in_vain() {
        let pairs = Pairs {
            by_row: BTreeMap::from([(CALLS + 1, (7, 3))]),
            parts: BTreeMap::new(),
        };
        assert_eq!(pairs.of(3), Some((None, 3)));
        assert_eq!(pairs.of(CALLS), None);
        assert_eq!(pairs.of(CALLS + 1), Some((Some(7), 3)));
    }
}
