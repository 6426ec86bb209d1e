//! Choice of the directories that are looked at: some of each kind of permissions, so that the few
//! private ones are not lost among the many open ones.

use std::collections::{BTreeMap, HashMap};

use trawl_model::column::{Column, ColumnSet};
use trawl_query::QueryError;

use super::shown::{Reading, directories};

/// An owner of directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) uid: u32,
    /// Group of one of the owner's directories.
    pub(super) gid: u32,
}

/// The chosen directories.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    /// Paths of the directories, in path order.
    pub(super) directories: Vec<Vec<u8>>,
    /// Number of directories in the tree.
    pub(super) of: u64,
    /// Owners, ordered by how many directories they own, most first.
    pub(super) owners: Vec<Owner>,
}

/// Size of the sample, and its seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Maximum number of directories.
    pub most: usize,
    /// Seed of the choice: the same seed makes the same choice.
    pub seed: u64,
}

/// Directories with the same permissions.
#[derive(Default)]
struct Kind {
    met: u64,
    kept: Vec<Vec<u8>>,
}

/// Mode, owner, group and ACL.
type Permissions = (u32, u32, u32, Vec<u8>);

#[derive(Default)]
struct Met {
    kinds: BTreeMap<Permissions, Kind>,
    owners: HashMap<u32, (u64, u32)>,
}

/// Chooses among `top` and all directories below it.
pub(super) fn choose(reading: &Reading<'_>, top: &[u8], size: Size) -> Result<Sample, QueryError> {
    let columns = ColumnSet::of(&[
        Column::Name,
        Column::Mode,
        Column::Uid,
        Column::Gid,
        Column::Acl,
    ]);
    let mut met = Met::default();
    let mut random = Random(size.seed);
    let mut of = 1;
    if let Some(facts) = reading.facts(top)? {
        let access = (facts.mode & 0o7777, facts.uid, facts.gid, Vec::new());
        met.add(access, top.to_vec(), size.most, &mut random);
    }
    reading.walk(
        top,
        columns,
        |listing, out: &mut Vec<(Permissions, Vec<u8>)>| {
            let rows = directories(listing);
            out.extend(rows.map(|row| {
                let access = (
                    row.mode() & 0o7777,
                    row.uid().0,
                    row.gid().0,
                    row.acl().to_vec(),
                );
                (access, row.path())
            }));
        },
        |found| {
            of += found.len() as u64;
            for (access, path) in found {
                met.add(access, path, size.most, &mut random);
            }
        },
    )?;
    Ok(Sample {
        of,
        owners: met.owners(),
        directories: met.directories(size.most, &mut random),
    })
}

impl Met {
    /// Keeps up to `most` directories of each kind, each with the same probability.
    fn add(&mut self, access: Permissions, path: Vec<u8>, most: usize, random: &mut Random) {
        let owner = self.owners.entry(access.1).or_insert((0, access.2));
        owner.0 += 1;
        let kind = self.kinds.entry(access).or_default();
        kind.met += 1;
        if kind.kept.len() < most {
            kind.kept.push(path);
        } else if let Ok(at) = usize::try_from(random.below(kind.met))
            && let Some(place) = kind.kept.get_mut(at)
        {
            *place = path;
        }
    }

    fn owners(&self) -> Vec<Owner> {
        let mut owners: Vec<_> = self.owners.iter().collect();
        owners.sort_unstable_by_key(|(uid, (count, _))| (std::cmp::Reverse(*count), **uid));
        let owners = owners.into_iter();
        owners
            .map(|(uid, (_, gid))| Owner {
                uid: *uid,
                gid: *gid,
            })
            .collect()
    }

    /// Takes a directory of each kind in turn until there are enough.
    fn directories(self, most: usize, random: &mut Random) -> Vec<Vec<u8>> {
        let mut kinds: Vec<Vec<Vec<u8>>> = self.kinds.into_values().map(|kind| kind.kept).collect();
        let mut chosen = Vec::new();
        while chosen.len() < most && !kinds.is_empty() {
            for kept in &mut kinds {
                let at = random.below(kept.len() as u64) as usize;
                if chosen.len() < most && at < kept.len() {
                    chosen.push(kept.swap_remove(at));
                }
            }
            kinds.retain(|kept| !kept.is_empty());
        }
        chosen.sort_unstable_by(|a, b| trawl_model::path::cmp(a, b));
        chosen
    }
}

/// SplitMix64: makes the same choice for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_kinds_are_not_lost() {
        let choose = |seed, most| {
            let (mut met, mut random) = (Met::default(), Random(seed));
            for n in 0..1000 {
                let private = n % 500 == 7;
                let access = (if private { 0o700 } else { 0o755 }, n % 2, 0, Vec::new());
                let path = format!("/{n:04}").into_bytes();
                met.add(access, path, most, &mut random);
            }
            assert_eq!(met.owners()[0].uid, 0);
            met.directories(most, &mut random)
        };
        let ten = choose(1, 10);
        assert_eq!(ten.len(), 10);
        assert!(ten.contains(&b"/0007".to_vec()) && ten.contains(&b"/0507".to_vec()));
        assert_eq!(ten, choose(1, 10));
        assert_ne!(ten, choose(2, 10));
        assert_eq!(choose(1, usize::MAX).len(), 1000);
    }
}
