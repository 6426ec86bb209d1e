//! The parts into which a layer tells its calls apart ([`crate::By`]), alike at every layer: their
//! names, and how many there are.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use trawl_histogram::Profile;

use crate::detail::part_name;
use crate::error::ProfileError;

/// Maximum number of parts; those with the least total latency are one part of their own.
pub(crate) const PARTS_MAX: usize = 256;

/// Name of the part with all others.
pub(crate) const OTHERS: &str = "(others)";

/// Parts by name.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    named: BTreeMap<String, Profile>,
    others: Option<Profile>,
}

/// Returns the name of a thread.
pub(crate) fn thread_name(program: &str, process: u32, thread: u32) -> String {
    format!("{program}/{process}/{thread}")
}

impl Parts {
    /// Adds a part. Parts of one name are one part: numbers of threads are used again.
    pub(crate) fn add(&mut self, name: String, profile: Profile) -> Result<(), ProfileError> {
        match self.named.entry(name) {
            Entry::Occupied(mut earlier) => earlier.get_mut().merge(&profile)?,
            Entry::Vacant(place) => {
                place.insert(profile);
            }
        }
        Ok(())
    }

    /// Adds calls that the layer could not tell apart.
    pub(crate) fn add_others(&mut self, profile: Profile) -> Result<(), ProfileError> {
        match &mut self.others {
            Some(others) => others.merge(&profile)?,
            None => self.others = Some(profile),
        }
        Ok(())
    }

    /// Returns the parts of a layer, the greatest total latency first, with the layer's name before
    /// theirs.
    pub(crate) fn of_layer(mut self, layer: &str) -> Result<Vec<Profile>, ProfileError> {
        let mut all: Vec<(String, Profile)> = std::mem::take(&mut self.named).into_iter().collect();
        all.sort_by_cached_key(|(_, profile)| Reverse(total(profile)));
        for (_, profile) in all.drain(PARTS_MAX.min(all.len())..) {
            self.add_others(profile)?;
        }
        all.extend(self.others.map(|profile| (OTHERS.to_owned(), profile)));
        let named = |(name, mut profile): (String, Profile)| {
            profile.layer = part_name(layer, &name);
            profile
        };
        Ok(all.into_iter().map(named).collect())
    }
}

/// Returns the total latency of all operations.
fn total(profile: &Profile) -> u128 {
    let operations = profile.operations();
    operations.fold(0, |sum, (_, one)| sum.saturating_add(one.counts().total))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_histogram::{Histogram, Resolution, Unit};

    fn profile(latency: u64) -> Profile {
        let mut histogram = Histogram::new(Resolution::ONE);
        histogram.record(latency);
        let mut profile = Profile::new(Unit::Nanoseconds, Resolution::ONE);
        profile.insert("read", histogram).unwrap();
        profile
    }

    #[test]
    fn the_least_parts_are_one() {
        let mut parts = Parts::default();
        for at in 0..PARTS_MAX as u64 + 3 {
            parts.add(format!("p{at}"), profile(at + 1)).unwrap();
        }
        parts.add("p7".into(), profile(1_000_000)).unwrap();
        parts.add_others(profile(5)).unwrap();
        let all = parts.of_layer("user").unwrap();
        assert_eq!(all.len(), PARTS_MAX + 1);
        assert_eq!(all[0].layer, "user:p7");
        let others = all.last().unwrap();
        assert_eq!(others.layer, "user:(others)");
        // p0, p1, p2 and the call that was not told apart: 1 + 2 + 3 + 5.
        let counts = others.get("read").unwrap().counts();
        assert_eq!((counts.entered, counts.total), (4, 11));
    }
}
