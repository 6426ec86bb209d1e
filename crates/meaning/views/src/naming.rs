//! Names of members in a view's directory.
//!
//! A member is listed by its last component, if no member before it in the answer has the same one;
//! otherwise by its path below the start point, with `%2F` for each slash. `%` itself is `%25`. So
//! each name can be read back without a list (`urllib.parse.unquote` in Python), no two members have
//! the same name, and every member also answers to its longer names, listed or not:
//!
//! | name | member |
//! |---|---|
//! | `a.c` | the first one whose last component is `a.c` |
//! | `lib%2Fa.c` | `lib/a.c` below the only start point |
//! | `%2Fsrv%2Flib%2Fa.c` | `/srv/lib/a.c` |
//! | `%~0123456789abcdef0123456789abcdef~a.c` | a member whose longer name exceeds 255 bytes |
//! | [`INCOMPLETE`] | not a member: what could not be looked at |

use xxhash_rust::xxh3::xxh3_128;

/// Longest name of an entry in bytes (`NAME_MAX`).
pub const NAME_BYTES_MAX: usize = 255;
/// Name of the file that lists what could not be looked at. No member has it, because a percent sign
/// in a member's name is `%25`.
pub const INCOMPLETE: &[u8] = b"%incomplete";
/// How names begin that contain a hash instead of a path.
pub(crate) const HASHED: &[u8] = b"%~";
/// How much of a member's last component such a name keeps.
const KEPT_BYTES: usize = 200;

/// What a name means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// The first member with this last component.
    Last(Vec<u8>),
    /// The member with this path below the start point, or from the root.
    Path(Vec<u8>),
    /// Only a list of all members tells.
    Hashed,
}

pub(crate) fn encoded(bytes: &[u8]) -> Vec<u8> {
    let mut name = Vec::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b'/' => name.extend_from_slice(b"%2F"),
            b'%' => name.extend_from_slice(b"%25"),
            byte => name.push(*byte),
        }
    }
    name
}

fn last(path: &[u8]) -> &[u8] {
    // A start point that is a link ends with a slash.
    let path = path.strip_suffix(b"/").unwrap_or(path);
    let at = path.iter().rposition(|byte| *byte == b'/');
    &path[at.map_or(0, |at| at + 1)..]
}

/// Returns the name of a member from its last component; `None` for the root of the file system,
/// which has none, and where the name would be too long.
#[must_use]
pub fn short(path: &[u8]) -> Option<Vec<u8>> {
    let name = encoded(last(path));
    (!name.is_empty() && name.len() <= NAME_BYTES_MAX).then_some(name)
}

/// Returns the name of a member that no other member can have, from its path. `start` is the only
/// start point, if there is only one.
#[must_use]
pub fn long(path: &[u8], start: Option<&[u8]>) -> Vec<u8> {
    let below = start.and_then(|start| below(path, start));
    // Without a slash in it, it would be taken for a last component.
    let below = below.filter(|below| below.contains(&b'/'));
    let name = encoded(below.unwrap_or(path));
    match name.len() <= NAME_BYTES_MAX {
        true => name,
        false => hashed(path),
    }
}

fn hashed(path: &[u8]) -> Vec<u8> {
    let hash = format!("{:032x}~", xxh3_128(path));
    let mut end = encoded(last(path));
    let excess = end.len().saturating_sub(KEPT_BYTES);
    [HASHED, hash.as_bytes(), &end.split_off(excess)].concat()
}

/// Returns the part of a path below a directory.
fn below<'p>(path: &'p [u8], directory: &[u8]) -> Option<&'p [u8]> {
    let directory = directory.strip_suffix(b"/").unwrap_or(directory);
    path.strip_prefix(directory)?.strip_prefix(b"/")
}

/// Returns what a name means; `None` if no member can have it.
#[must_use]
pub fn meaning(name: &[u8]) -> Option<Meaning> {
    if name.starts_with(HASHED) {
        return Some(Meaning::Hashed);
    }
    let decoded = decoded(name)?;
    Some(match decoded.contains(&b'/') {
        true => Meaning::Path(decoded),
        false => Meaning::Last(decoded),
    })
}

pub(crate) fn decoded(name: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (code, after) = after.split_at_checked(2)?;
        bytes.push(match code {
            b"2F" => b'/',
            b"25" => b'%',
            _ => return None,
        });
        rest = after;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_those_of_the_table() {
        let start = Some(&b"/srv"[..]);
        assert_eq!(short(b"/srv/lib/a.c").unwrap(), b"a.c");
        assert_eq!(long(b"/srv/lib/a.c", start), b"lib%2Fa.c");
        assert_eq!(long(b"/srv/lib/a.c", None), b"%2Fsrv%2Flib%2Fa.c");
        assert_eq!(long(b"/srv/a.c", start), b"%2Fsrv%2Fa.c");
        assert_eq!(long(b"/lib/a.c", Some(b"/")), b"lib%2Fa.c");
        assert_eq!(short(b"/srv/100%").unwrap(), b"100%25");
        assert_eq!(short(b"/"), None);
        assert_eq!(short(b"/link/").unwrap(), b"link");
        assert_eq!(long(b"/link/lib/a.c", Some(b"/link/")), b"lib%2Fa.c");
        assert_eq!(long(b"/", Some(b"/")), b"%2F");
    }

    #[test]
    fn what_no_member_is_called_means_nothing() {
        for name in [&b"%incomplete"[..], b"100%", b"a%2f", b"%", b"%2"] {
            assert_eq!(meaning(name), None, "{name:?}");
        }
    }

    #[test]
    fn names_are_never_too_long() {
        let path = [&b"/srv/"[..], &b"%".repeat(255), b"/", &b"x".repeat(255)].concat();
        let name = long(&path, Some(b"/srv"));
        assert!(name.len() <= NAME_BYTES_MAX && name.ends_with(b"xxx"));
        assert_eq!(meaning(&name), Some(Meaning::Hashed));
        assert_eq!(short(&[&b"/"[..], &b"%".repeat(200)].concat()), None);
    }

    fn path() -> impl Strategy<Value = Vec<u8>> {
        let component = proptest::collection::vec(
            prop_oneof![
                Just(b'%'),
                Just(b'2'),
                Just(b'F'),
                Just(b'a'),
                Just(b'~'),
                128..=255_u8
            ],
            1..6,
        );
        proptest::collection::vec(component, 1..5)
            .prop_map(|parts| [&b"/"[..], &parts.join(&b'/')].concat())
    }

    proptest! {
        #[test]
        fn names_can_be_read_back(path in path()) {
            let named = short(&path).unwrap();
            prop_assert_eq!(meaning(&named), Some(Meaning::Last(last(&path).to_vec())));
            prop_assert_eq!(meaning(&long(&path, None)), Some(Meaning::Path(path.clone())));
            prop_assert_ne!(named, long(&path, None));
        }
    }
}
