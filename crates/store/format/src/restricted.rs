//! Encodes the column `restricted` of the dirs table.
//!
//! A question has to say which directories its user may not list. The column holds the candidates,
//! so that a reader does not look for them among all rows. A value is a sequence of records:
//!
//! ```text
//! u32   length of the path      u32   group
//! u32   mode                    u32   length of the access ACL
//! u32   owner                   then the path and the ACL
//! ```
//!
//! All numbers are little-endian. A value of a single byte 0 stands for more than [`BYTES_MOST`]
//! bytes: then the rows of the directory have to be read.

use trawl_model::{Gid, Uid};

/// Maximum length of a value in bytes.
pub const BYTES_MOST: usize = 1 << 20;

/// The value of a directory with too many restricted subdirectories to be listed.
const TOO_MANY: &[u8] = &[0];
/// Number of bytes before the path.
const HEAD: usize = 20;

/// A directory that some users may not list, although they may read its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restricted<'a> {
    /// The directory's absolute path.
    pub path: &'a [u8],
    /// Its type and permission bits.
    pub mode: u32,
    /// Its owner.
    pub uid: Uid,
    /// Its owning group.
    pub gid: Gid,
    /// The access ACL in the kernel's encoding, or nothing if the directory has no ACL.
    pub acl: &'a [u8],
}

/// The value of a column under construction.
#[derive(Debug, Default)]
pub struct RestrictedBuilder {
    bytes: Vec<u8>,
}

impl RestrictedBuilder {
    /// Adds a directory.
    pub fn add(&mut self, dir: &Restricted<'_>) {
        if self.is_full() {
            return;
        }
        let Restricted {
            path,
            mode,
            uid,
            gid,
            acl,
        } = *dir;
        let head = [path.len() as u32, mode, uid.0, gid.0, acl.len() as u32];
        self.bytes
            .extend(head.into_iter().flat_map(u32::to_le_bytes));
        self.bytes.extend_from_slice(path);
        self.bytes.extend_from_slice(acl);
        if self.bytes.len() > BYTES_MOST {
            self.bytes.clear();
            self.bytes.extend_from_slice(TOO_MANY);
        }
    }

    /// Returns the value of what was added since the last call; `None` for nothing.
    pub fn take(&mut self) -> Option<Vec<u8>> {
        let bytes = std::mem::take(&mut self.bytes);
        (!bytes.is_empty()).then_some(bytes)
    }

    fn is_full(&self) -> bool {
        self.bytes == TOO_MANY
    }
}

/// A decoded value.
#[derive(Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// The restricted subdirectories.
    Dirs(Vec<Restricted<'a>>),
    /// There are too many of them; the directory's rows have to be read.
    TooMany,
}

/// Decodes a value; returns `None` if it is not valid.
pub fn decode(value: &[u8]) -> Option<Value<'_>> {
    if value == TOO_MANY {
        return Some(Value::TooMany);
    }
    let (mut dirs, mut rest) = (Vec::new(), value);
    while !rest.is_empty() {
        let (head, after) = rest.split_first_chunk::<HEAD>()?;
        let number = |at: usize| {
            let bytes = head.get(4 * at..4 * at + 4)?;
            Some(u32::from_le_bytes(bytes.try_into().ok()?))
        };
        let (path, after) = after.split_at_checked(number(0)? as usize)?;
        let (acl, after) = after.split_at_checked(number(4)? as usize)?;
        dirs.push(Restricted {
            path,
            mode: number(1)?,
            uid: Uid(number(2)?),
            gid: Gid(number(3)?),
            acl,
        });
        rest = after;
    }
    Some(Value::Dirs(dirs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_added_is_decoded(
            dirs in prop::collection::vec(
                (prop::collection::vec(any::<u8>(), 0..40), any::<[u32; 3]>(), prop::collection::vec(any::<u8>(), 0..40)),
                0..20,
            ),
        ) {
            let dirs: Vec<Restricted<'_>> = dirs
                .iter()
                .map(|(path, [mode, uid, gid], acl)| Restricted {
                    path,
                    mode: *mode,
                    uid: Uid(*uid),
                    gid: Gid(*gid),
                    acl,
                })
                .collect();
            let mut builder = RestrictedBuilder::default();
            dirs.iter().for_each(|dir| builder.add(dir));
            let value = builder.take().unwrap_or_default();
            prop_assert_eq!(decode(&value), Some(Value::Dirs(dirs)));
            prop_assert_eq!(builder.take(), None);
        }

        #[test]
        fn any_bytes_are_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            if let Some(Value::Dirs(dirs)) = decode(&bytes) {
                let mut builder = RestrictedBuilder::default();
                dirs.iter().for_each(|dir| builder.add(dir));
                prop_assert_eq!(builder.take().unwrap_or_default(), bytes);
            }
        }
    }

    #[test]
    fn too_many_are_not_listed() {
        let long = vec![b'x'; 1000];
        let dir = Restricted {
            path: &long,
            mode: 0o040_700,
            uid: Uid(1),
            gid: Gid(1),
            acl: b"",
        };
        let mut builder = RestrictedBuilder::default();
        (0..BYTES_MOST / 1000).for_each(|_| builder.add(&dir));
        let value = builder.take().unwrap();
        assert_eq!(decode(&value), Some(Value::TooMany));
        builder.add(&dir);
        assert!(
            matches!(decode(&builder.take().unwrap()), Some(Value::Dirs(dirs)) if dirs.len() == 1)
        );
        assert_eq!(decode(&value[..0]), Some(Value::Dirs(Vec::new())));
        assert_eq!(decode(&[1]), None);
    }
}
