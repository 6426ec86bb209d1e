//! Places the values of extended attributes behind guards, by the kernel's rules for who may read
//! them (`fs/xattr.c`, xattr(7)).
//!
//!  namespace | readers of names | readers of values |
//! ---|---|---|
//!  `user.` | users who may list the directory | those of them who may also read the entry |
//!  `security.`, `system.`, others | users who may list the directory | the same users |
//!  `trusted.` | the superuser | the superuser |
//!
//! Therefore the name of a `trusted.` attribute is not in its entry's row, which others may read,
//! but only beside its value.

use crate::segment::XattrRow;
use trawl_model::placement::{GuardId, Placer};
use trawl_model::{Acl, DirAccess, DirBatch, Entry, Xattr};

const USER: &[u8] = b"user.";
const TRUSTED: &[u8] = b"trusted.";

/// Removes the values from a batch whose rows lie behind `guard`. Returns each with the guard that
/// it belongs behind.
pub(crate) fn take(
    batch: &mut DirBatch,
    guard: GuardId,
    placer: &mut Placer,
) -> Vec<(GuardId, XattrRow)> {
    let xattrs = std::mem::take(&mut batch.xattrs);
    let mut rows = Vec::with_capacity(xattrs.len());
    for xattr in &xattrs {
        let Some(entry) = batch.entries.get(xattr.entry as usize) else {
            continue;
        };
        let row = row(batch, entry, xattr);
        let guard = if row.attr.starts_with(TRUSTED) {
            placer.superuser_guard(guard)
        } else if row.attr.starts_with(USER) {
            placer.value_guard(guard, &access_of(batch, entry))
        } else {
            guard
        };
        rows.push((guard, row));
    }
    hide_trusted(batch);
    rows
}

fn row(batch: &DirBatch, entry: &Entry, xattr: &Xattr) -> XattrRow {
    XattrRow {
        dir: batch.path.clone(),
        name: batch.bytes(entry.name).to_vec(),
        attr: batch.bytes(xattr.name).to_vec(),
        value: batch.bytes(xattr.value).to_vec(),
    }
}

/// Returns the access permissions of an entry.
pub(crate) fn access_of(batch: &DirBatch, entry: &Entry) -> DirAccess {
    DirAccess {
        mode: entry.meta.mode,
        uid: entry.meta.uid,
        gid: entry.meta.gid,
        acl: Acl::parse(batch.bytes(entry.acl)),
    }
}

/// Removes the names that only the superuser may know from the entries.
fn hide_trusted(batch: &mut DirBatch) {
    let is_trusted = |name: &&[u8]| name.starts_with(TRUSTED);
    for at in 0..batch.entries.len() {
        let names = batch.bytes(batch.entries[at].xattr_names);
        if !names.split(|byte| *byte == 0).any(|name| is_trusted(&name)) {
            continue;
        }
        let kept: Vec<u8> = names
            .split_inclusive(|byte| *byte == 0)
            .filter(|name| !is_trusted(name))
            .flatten()
            .copied()
            .collect();
        batch.entries[at].xattr_names = batch.push_bytes(&kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_model::{Meta, Uid};

    /// A private file of user 7 with one attribute of each namespace.
    fn batch() -> DirBatch {
        let mut batch = DirBatch {
            path: b"/d".to_vec(),
            ..DirBatch::default()
        };
        let names: &[&[u8]] = &[b"security.s", b"trusted.t", b"user.u"];
        let mut list = Vec::new();
        names
            .iter()
            .for_each(|name| list.extend([name, &b"\0"[..]].concat()));
        let entry = Entry {
            meta: Meta {
                mode: 0o100_600,
                uid: Uid(7),
                ..Meta::default()
            },
            name: batch.push_bytes(b"f"),
            xattr_names: batch.push_bytes(&list),
            ..Entry::default()
        };
        batch.entries.push(entry);
        for name in names {
            let (name, value) = (batch.push_bytes(name), batch.push_bytes(b"v"));
            batch.xattrs.push(Xattr {
                entry: 0,
                name,
                value,
            });
        }
        batch
    }

    #[test]
    fn each_value_lies_behind_what_the_kernel_asks_for() {
        let mut placer = Placer::new(b"", &[]);
        let mut batch = batch();
        let taken = take(&mut batch, GuardId::TRIVIAL, &mut placer);
        let guards: Vec<(String, String)> = taken
            .iter()
            .map(|(guard, row)| {
                let admits = |uid| {
                    let who = trawl_model::guard::Credentials {
                        uid: Uid(uid),
                        groups: Vec::new(),
                    };
                    placer.guard(*guard).admits(&who, |_| false)
                };
                let who = [0, 7, 8].iter().filter(|uid| admits(**uid));
                let who: Vec<String> = who.map(u32::to_string).collect();
                (String::from_utf8_lossy(&row.attr).into(), who.join(" "))
            })
            .collect();
        let expected = [
            ("security.s", "0 7 8"),
            ("trusted.t", "0"),
            ("user.u", "0 7"),
        ];
        assert_eq!(guards, expected.map(|(a, b)| (a.into(), b.into())));
        let names = batch.bytes(batch.entries[0].xattr_names);
        assert_eq!(names, b"security.s\0user.u\0");
    }
}
