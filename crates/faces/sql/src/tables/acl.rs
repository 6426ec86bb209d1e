//! Formats access control lists as one line of text, with numeric users and groups:
//! `user::rw-,user:1000:r--,group::r--,mask::rw-,other::---`.

use trawl_model::Acl;

/// Returns the text of a stored list; `None` if the list is invalid.
pub(super) fn text(stored: &[u8]) -> Option<String> {
    let acl = Acl::parse(stored)?;
    let mut parts = vec![format!("user::{}", letters(acl.owner))];
    let users = acl.users.iter();
    parts.extend(users.map(|(uid, bits)| format!("user:{}:{}", uid.0, letters(*bits))));
    parts.push(format!("group::{}", letters(acl.group)));
    let groups = acl.groups.iter();
    parts.extend(groups.map(|(gid, bits)| format!("group:{}:{}", gid.0, letters(*bits))));
    parts.extend(acl.mask.map(|bits| format!("mask::{}", letters(bits))));
    parts.push(format!("other::{}", letters(acl.other)));
    Some(parts.join(","))
}

fn letters(bits: u8) -> String {
    let letter = |bit: u8, letter: char| if bits & bit != 0 { letter } else { '-' };
    String::from_iter([letter(4, 'r'), letter(2, 'w'), letter(1, 'x')])
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_model::{Gid, Uid};

    #[test]
    fn lists_read_as_getfacl_takes_them() {
        let acl = Acl {
            owner: 7,
            users: vec![(Uid(1000), 5)],
            group: 4,
            groups: vec![(Gid(5), 6)],
            mask: Some(7),
            other: 0,
        };
        assert_eq!(
            text(&acl.to_bytes()).as_deref(),
            Some("user::rwx,user:1000:r-x,group::r--,group:5:rw-,mask::rwx,other::---")
        );
        assert_eq!(text(b"nonsense"), None);
    }
}
