//! The directory of groups: "/views/by-group/GROUP/FILE". "The POSIX layer will rely on *views* to
//! offer the 'directory' concept in the hierarchical file systems" (Propeller, §Views).
//!
//! It lists the groups that the asking user sees, each with one name, from which the group is found
//! again without a list:
//!
//! | name | group |
//! |---|---|
//! | `linux` | the only group with this name |
//! | `docs%~0123456789abcdef` | the one with this id: several groups have the name |
//! | `%~0123456789abcdef` | the one with this id, whose name is no name of a file |

use std::collections::HashMap;

use trawl_find::grouping::Group;

use crate::naming::{HASHED, NAME_BYTES_MAX, decoded, encoded};
use crate::question::Question;

/// Name of the directory of groups in a mount of views.
pub const BY_GROUP: &str = "by-group";
/// Number of hexadecimal digits of a group's id.
const ID_DIGITS: usize = 16;

fn is_id(bytes: &[u8]) -> bool {
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    bytes.len() == ID_DIGITS && bytes.iter().all(is_digit)
}

/// Returns the names of the groups in their directory, in order.
pub(crate) fn names(groups: &[Group]) -> Vec<Vec<u8>> {
    let mut counts: HashMap<&[u8], u32> = HashMap::new();
    for group in groups {
        *counts.entry(&group.name).or_default() += 1;
    }
    let is_only = |group: &Group| counts.get(&group.name[..]) == Some(&1);
    let named = groups.iter().map(|group| name(group, is_only(group)));
    let mut names: Vec<Vec<u8>> = named.collect();
    names.sort_unstable();
    names
}

fn name(group: &Group, is_only: bool) -> Vec<u8> {
    let name = encoded(&group.name);
    let with_id = |name: &[u8]| [name, HASHED, group.id.as_bytes()].concat();
    match name.len() <= NAME_BYTES_MAX - HASHED.len() - ID_DIGITS {
        false => with_id(b""),
        // An id would be taken for that of another group.
        true if is_only && !is_id(&name) && !matches!(&name[..], b"" | b"." | b"..") => name,
        true => with_id(&name),
    }
}

/// Returns the question of a group's members; `None` if no group can have the name.
pub(crate) fn question(name: &[u8], starts: &[Vec<u8>]) -> Option<Question> {
    let at = name
        .windows(HASHED.len())
        .position(|window| window == HASHED);
    let group = match at {
        Some(at) => Some(name[at + HASHED.len()..].to_vec()).filter(|id| is_id(id))?,
        None => decoded(name)?,
    };
    Some(Question {
        starts: starts.to_vec(),
        expression: vec![b"-in-group".to_vec(), group],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(name: &str, id: u64) -> Group {
        Group {
            name: name.into(),
            id: format!("{id:016x}"),
        }
    }

    #[test]
    fn every_group_has_one_name_that_leads_back_to_it() {
        let long = "x".repeat(NAME_BYTES_MAX);
        let groups = [
            group("linux", 1),
            group("docs", 2),
            group("docs", 3),
            group("100%/a b", 4),
            group("..", 5),
            group("0123456789abcdef", 6),
            group(&long, 7),
        ];
        let listed = names(&groups);
        let meant = |name: &[u8]| {
            let question = question(name, &[b"/srv".to_vec()]).unwrap();
            assert_eq!(question.starts, [b"/srv".to_vec()]);
            assert_eq!(question.expression[0], b"-in-group");
            let word = String::from_utf8(question.expression[1].clone()).unwrap();
            let is_meant =
                |one: &&Group| one.id == word || one.name == word.as_bytes() && !is_id(&one.name);
            let found: Vec<&Group> = groups.iter().filter(is_meant).collect();
            assert_eq!(found.len(), 1, "{word}");
            found[0].id.clone()
        };
        let mut ids: Vec<String> = listed.iter().map(|name| meant(name)).collect();
        ids.sort();
        let expected: Vec<String> = groups.iter().map(|one| one.id.clone()).collect();
        assert_eq!(ids, expected);
        for name in &listed {
            assert!(name.len() <= NAME_BYTES_MAX && !name.contains(&b'/'));
        }
        assert!(listed.contains(&b"linux".to_vec()));
        assert!(listed.contains(&b"docs%~0000000000000002".to_vec()));
        assert!(listed.contains(&b"100%25%2Fa b".to_vec()));
        for odd in [&b"docs%~2"[..], b"a%", b"%incomplete"] {
            assert_eq!(question(odd, &[]), None);
        }
    }
}
