//! Options of a scan that are lists of byte strings: each is kept in a snapshot's description as
//! one value, and compared as that.

use serde::{Deserialize, Serialize};

use crate::snapshot::SnapshotInfo;
use crate::text;

/// The name of the option that has the patterns of what a scan leaves out.
pub const EXCLUDE: &str = "exclude";

#[derive(Serialize, Deserialize)]
struct List(#[serde(with = "text::list")] Vec<Vec<u8>>);

/// A list as the value of an option: a JSON array of byte strings.
pub fn write_list(list: &[Vec<u8>]) -> String {
    // Text and arrays can always be written.
    serde_json::to_string(&List(list.to_vec())).unwrap_or_default()
}

/// What [`write_list`] was given. Until 2026 patterns were put together with spaces: such a value
/// is cut at these.
pub fn read_list(text: &str) -> Vec<Vec<u8>> {
    if let Ok(List(list)) = serde_json::from_str(text) {
        return list;
    }
    let words = text.split(' ').filter(|word| !word.is_empty());
    words.map(|word| word.as_bytes().to_vec()).collect()
}

impl SnapshotInfo {
    /// The patterns of what its scan left out.
    pub fn excludes(&self) -> Vec<Vec<u8>> {
        let value = self.options.get(EXCLUDE);
        value.map_or(Vec::new(), |text| read_list(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_of_earlier_versions_are_read() {
        assert_eq!(read_list("*.o .git"), [b"*.o".to_vec(), b".git".to_vec()]);
        assert_eq!(read_list("[ab]*.o"), [b"[ab]*.o".to_vec()]);
        assert!(read_list("").is_empty());
    }

    proptest! {
        #[test]
        fn lists_read_back(list: Vec<Vec<u8>>) {
            prop_assert_eq!(read_list(&write_list(&list)), list);
        }
    }
}
