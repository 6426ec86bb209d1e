//! What a group is called: its id, which stays the same as long as its rule and its place do, and
//! its name.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use xxhash_rust::xxh3::Xxh3;

/// Id of a group: a hash of its rule and its key. The key is the name of a package, a directory, or
/// a directory and a time, so that the id does not depend on the index, on members or on the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupId(u64);

impl GroupId {
    /// Returns the id of the group of this rule with this key. The parts of the key are told apart.
    #[must_use]
    pub fn of(rule: &str, key: &[&[u8]]) -> GroupId {
        let mut hash = Xxh3::new();
        for part in [rule.as_bytes()].iter().chain(key) {
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        GroupId(hash.digest())
    }
}

impl fmt::Display for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A text is not an id: ids are sixteen lower-case hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAnId;

impl FromStr for GroupId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<GroupId, NotAnId> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 16 || !text.bytes().all(is_digit) {
            return Err(NotAnId);
        }
        u64::from_str_radix(text, 16)
            .map(GroupId)
            .map_err(|_| NotAnId)
    }
}

/// Where the members of a group can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Anywhere.
    Everywhere,
    /// At any depth below this directory.
    Below(Arc<[u8]>),
    /// In this directory itself.
    In(Arc<[u8]>),
}

impl Extent {
    /// Returns the directory, as stored; `None` for groups whose members can be anywhere.
    #[must_use]
    pub fn place(&self) -> Option<&[u8]> {
        match self {
            Extent::Everywhere => None,
            Extent::Below(dir) | Extent::In(dir) => Some(dir),
        }
    }
}

/// A group, without its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The id.
    pub id: GroupId,
    /// Name of the rule that makes the group.
    pub rule: Arc<str>,
    /// The name. Several groups may have the same.
    pub name: Vec<u8>,
    /// Where its members are.
    pub extent: Extent,
}

impl Identity {
    /// Returns the group of a rule that has this key.
    #[must_use]
    pub fn new(rule: &Arc<str>, key: &[&[u8]], name: Vec<u8>, extent: Extent) -> Arc<Identity> {
        Arc::new(Identity {
            id: GroupId::of(rule, key),
            rule: Arc::clone(rule),
            name,
            extent,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_they_are_written() {
        let id = GroupId::of("projects", &[b"/srv/a"]);
        assert_eq!(id.to_string().parse(), Ok(id));
        for text in ["", "packages", "0123456789ABCDEF", "+123456789abcdef"] {
            assert_eq!(text.parse::<GroupId>(), Err(NotAnId), "{text}");
        }
    }

    #[test]
    fn rules_and_parts_of_keys_are_told_apart() {
        let ids = [
            GroupId::of("a", &[b"bc"]),
            GroupId::of("ab", &[b"c"]),
            GroupId::of("a", &[b"b", b"c"]),
            GroupId::of("a", &[b"bc", b""]),
        ];
        for (at, id) in ids.iter().enumerate() {
            assert!(!ids[at + 1..].contains(id), "{at}");
        }
    }
}
