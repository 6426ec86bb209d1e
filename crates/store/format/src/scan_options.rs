//! Encodes scan options that are lists of byte strings. A snapshot's description keeps each list as
//! one value and compares it as such.

use serde::{Deserialize, Serialize};

use crate::snapshot::SnapshotInfo;
use crate::text;

/// Name of the option that holds the patterns of excluded paths.
pub const EXCLUDE: &str = "exclude";

#[derive(Serialize, Deserialize)]
struct List(#[serde(with = "text::list")] Vec<Vec<u8>>);

/// Encodes a list as the value of an option: a JSON array of byte strings.
pub fn write_list(list: &[Vec<u8>]) -> String {
    // Serializing text and arrays cannot fail.
    serde_json::to_string(&List(list.to_vec())).unwrap_or_default()
}

/// Decodes a value made by [`write_list`]. Until 2026 patterns were joined with spaces: such a
/// value is split at spaces.
pub fn read_list(text: &str) -> Vec<Vec<u8>> {
    if let Ok(List(list)) = serde_json::from_str(text) {
        return list;
    }
    let words = text.split(' ').filter(|word| !word.is_empty());
    words.map(|word| word.as_bytes().to_vec()).collect()
}

impl SnapshotInfo {
    /// Returns the patterns of the paths that the scan excluded.
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
