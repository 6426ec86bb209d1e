//! What the kernel would say to access(2), from what a row tells: the rules of
//! path_resolution(7), acl(5) and capabilities(7).
//!
//! Whoever sees a row may reach it, so that only the entry's own permissions
//! count. Links are followed by whoever asks.

use trawl_model::acl::Acl;
use trawl_model::guard::Credentials;
use trawl_model::rows::Row;
use trawl_model::{FileType, Uid};

use crate::file_systems::FileSystems;
use crate::probe::Access;

/// `STATX_ATTR_IMMUTABLE`: nobody may write.
const IMMUTABLE: u64 = 0x10;

/// What the mounts allow at an entry.
pub(super) struct Mounts<'m> {
    pub(super) file_systems: &'m FileSystems,
    /// Where the entry lies, as stored.
    pub(super) stored: &'m dyn Fn() -> Vec<u8>,
}

/// Whether this user may do something with the entry.
pub(super) fn admits(
    row: &Row<'_>,
    who: &Credentials,
    access: Access,
    mounts: &Mounts<'_>,
) -> bool {
    let kind = row.file_type();
    let forbidden = match access {
        Access::Read => false,
        Access::Write => {
            let is_kept = matches!(kind, FileType::Regular | FileType::Directory);
            row.attributes() & IMMUTABLE != 0
                || is_kept && mounts.file_systems.is_read_only(row.dev(), mounts.stored)
        }
        Access::Execute => {
            let file_systems = mounts.file_systems;
            kind == FileType::Regular && file_systems.is_without_programs(row.dev(), mounts.stored)
        }
    };
    !forbidden
        && match who.uid == Uid::ROOT {
            true => access != Access::Execute || kind == FileType::Directory || runs(row.mode()),
            false => bits_for(row, who) & bit(access) != 0,
        }
}

/// True if somebody may execute it.
fn runs(mode: u32) -> bool {
    mode & 0o111 != 0
}

fn bit(access: Access) -> u32 {
    match access {
        Access::Read => 4,
        Access::Write => 2,
        Access::Execute => 1,
    }
}

/// The permission bits that an ordinary user has.
fn bits_for(row: &Row<'_>, who: &Credentials) -> u32 {
    let mode = row.mode();
    if row.uid() == who.uid {
        return mode >> 6;
    }
    // The kernel looks at the list only if its mask, which is the group's
    // part of the mode, grants something.
    let acl = (mode & 0o070 != 0).then(|| Acl::parse(row.acl())).flatten();
    if let Some(acl) = acl {
        return bits_of(&acl, row, who);
    }
    match who.groups.contains(&row.gid()) {
        true => mode >> 3,
        false => mode,
    }
}

fn bits_of(acl: &Acl, row: &Row<'_>, who: &Credentials) -> u32 {
    let mask = acl.mask.unwrap_or(7);
    if let Some((_, bits)) = acl.users.iter().find(|(uid, _)| *uid == who.uid) {
        return u32::from(bits & mask);
    }
    let owning = (row.gid(), acl.group);
    let groups = std::iter::once(&owning).chain(&acl.groups);
    let mine = groups.filter(|(gid, _)| who.groups.contains(gid));
    // A single bit is granted if one of the groups grants it.
    match mine.map(|(_, bits)| *bits).reduce(|a, b| a | b) {
        Some(bits) => u32::from(bits & mask),
        None => u32::from(acl.other),
    }
}
