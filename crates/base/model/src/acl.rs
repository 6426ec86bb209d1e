//! POSIX access control lists as Linux stores them in extended attributes.
//!
//! Layout (`linux/posix_acl_xattr.h`, acl(5)): a little-endian version word
//! (2), followed by entries of a tag (u16), permissions (u16) and an id (u32).

use crate::id::{Gid, Uid};

const VERSION: u32 = 2;
const TAG_USER_OBJ: u16 = 0x01;
const TAG_USER: u16 = 0x02;
const TAG_GROUP_OBJ: u16 = 0x04;
const TAG_GROUP: u16 = 0x08;
const TAG_MASK: u16 = 0x10;
const TAG_OTHER: u16 = 0x20;
const UNDEFINED_ID: u32 = u32::MAX;

/// An access ACL, including the entries that the mode cannot express.
///
/// Permission bits are `rwx` = 4, 2, 1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Acl {
    /// `ACL_USER_OBJ`: the owner's bits.
    pub owner: u8,
    /// `ACL_USER` entries, sorted by id.
    pub users: Vec<(Uid, u8)>,
    /// `ACL_GROUP_OBJ`: the owning group's bits, before the mask.
    pub group: u8,
    /// `ACL_GROUP` entries, sorted by id.
    pub groups: Vec<(Gid, u8)>,
    /// `ACL_MASK`, if present.
    pub mask: Option<u8>,
    /// `ACL_OTHER`: everybody else's bits.
    pub other: u8,
}

impl Acl {
    /// Parses the value of `system.posix_acl_access` or
    /// `system.posix_acl_default`.
    ///
    /// Returns `None` if the bytes are not a well-formed ACL: an unknown
    /// version, a length that is not a whole number of entries, an unknown tag
    /// or permission bit, a missing required entry, a duplicate entry, or
    /// named entries without a mask (which the kernel refuses to store,
    /// acl_check(3)).
    pub fn parse(value: &[u8]) -> Option<Acl> {
        let (version, entries) = value.split_first_chunk::<4>()?;
        if u32::from_le_bytes(*version) != VERSION || entries.len() % 8 != 0 {
            return None;
        }
        let mut acl = Acl::default();
        let mut seen = 0u16;
        for raw in entries.chunks_exact(8) {
            let tag = u16::from_le_bytes([raw[0], raw[1]]);
            let bits = u16::from_le_bytes([raw[2], raw[3]]);
            let id = u32::from_le_bytes([raw[4], raw[5], raw[6], raw[7]]);
            let bits = u8::try_from(bits).ok().filter(|b| *b <= 7)?;
            let named = matches!(tag, TAG_USER | TAG_GROUP);
            if !named && seen & tag != 0 {
                return None;
            }
            seen |= tag;
            match tag {
                TAG_USER_OBJ => acl.owner = bits,
                TAG_USER => acl.users.push((Uid(id), bits)),
                TAG_GROUP_OBJ => acl.group = bits,
                TAG_GROUP => acl.groups.push((Gid(id), bits)),
                TAG_MASK => acl.mask = Some(bits),
                TAG_OTHER => acl.other = bits,
                _ => return None,
            }
        }
        acl.users.sort_unstable();
        acl.groups.sort_unstable();
        acl.is_complete(seen).then_some(acl)
    }

    fn is_complete(&self, seen: u16) -> bool {
        let required = TAG_USER_OBJ | TAG_GROUP_OBJ | TAG_OTHER;
        let doubled_user = self.users.windows(2).any(|w| w[0].0 == w[1].0);
        let doubled_group = self.groups.windows(2).any(|w| w[0].0 == w[1].0);
        let named = !self.users.is_empty() || !self.groups.is_empty();
        seen & required == required
            && !doubled_user
            && !doubled_group
            && (!named || self.mask.is_some())
    }

    /// Returns the bytes that [`Acl::parse`] reads, with entries in the
    /// kernel's order.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = VERSION.to_le_bytes().to_vec();
        let mut push = |tag: u16, bits: u8, id: u32| {
            out.extend(tag.to_le_bytes());
            out.extend(u16::from(bits).to_le_bytes());
            out.extend(id.to_le_bytes());
        };
        push(TAG_USER_OBJ, self.owner, UNDEFINED_ID);
        for (uid, bits) in &self.users {
            push(TAG_USER, *bits, uid.0);
        }
        push(TAG_GROUP_OBJ, self.group, UNDEFINED_ID);
        for (gid, bits) in &self.groups {
            push(TAG_GROUP, *bits, gid.0);
        }
        if let Some(mask) = self.mask {
            push(TAG_MASK, mask, UNDEFINED_ID);
        }
        push(TAG_OTHER, self.other, UNDEFINED_ID);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn any_acl() -> impl Strategy<Value = Acl> {
        let bits = || 0u8..8;
        (
            bits(),
            proptest::collection::btree_map(0u32..6, bits(), 0..4),
            bits(),
            proptest::collection::btree_map(0u32..6, bits(), 0..4),
            bits(),
            bits(),
        )
            .prop_map(|(owner, users, group, groups, mask, other)| Acl {
                owner,
                users: users.into_iter().map(|(id, b)| (Uid(id), b)).collect(),
                group,
                groups: groups.into_iter().map(|(id, b)| (Gid(id), b)).collect(),
                mask: Some(mask),
                other,
            })
    }

    proptest! {
        #[test]
        fn bytes_round_trip(acl in any_acl()) {
            prop_assert_eq!(Acl::parse(&acl.to_bytes()), Some(acl));
        }

        #[test]
        fn hostile_bytes_never_panic(bytes: Vec<u8>) {
            let _ = Acl::parse(&bytes);
        }
    }

    #[test]
    fn malformed_lists_are_refused() {
        let good = Acl {
            mask: Some(7),
            users: vec![(Uid(5), 7)],
            ..Acl::default()
        };
        let mut short = good.to_bytes();
        short.pop();
        assert_eq!(Acl::parse(&short), None);
        let unmasked = Acl {
            mask: None,
            ..good.clone()
        };
        assert_eq!(Acl::parse(&unmasked.to_bytes()), None);
        let doubled = Acl {
            users: vec![(Uid(5), 7), (Uid(5), 1)],
            ..good
        };
        assert_eq!(Acl::parse(&doubled.to_bytes()), None);
        assert_eq!(Acl::parse(b""), None);
    }
}
