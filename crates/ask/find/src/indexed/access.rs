//! Computes the answer of access(2) from a row, with the rules of
//! path_resolution(7), acl(5) and capabilities(7).
//!
//! A user who can see a row may reach the entry, so only the entry's own
//! permissions count. The caller follows symbolic links.

use trawl_model::acl::Acl;
use trawl_model::guard::Credentials;
use trawl_model::rows::Row;
use trawl_model::{FileType, Uid};

use crate::file_systems::FileSystems;
use crate::probe::Access;

/// `STATX_ATTR_IMMUTABLE`: no user may write.
const IMMUTABLE: u64 = 0x10;

/// The mounts that restrict access to an entry.
pub(super) struct Mounts<'m> {
    pub(super) file_systems: &'m FileSystems,
    /// The entry's stored path.
    pub(super) stored: &'m dyn Fn() -> Vec<u8>,
}

/// Returns whether this user has the access to the entry.
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

/// Returns true if any user may execute it.
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

/// The permission bits that apply to a user other than root.
fn bits_for(row: &Row<'_>, who: &Credentials) -> u32 {
    let mode = row.mode();
    if row.uid() == who.uid {
        return mode >> 6;
    }
    // The kernel consults the list only if its mask, which is stored as the
    // group bits of the mode, is not empty.
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
    // A bit is granted if any one of the groups grants it.
    match mine.map(|(_, bits)| *bits).reduce(|a, b| a | b) {
        Some(bits) => u32::from(bits & mask),
        None => u32::from(acl.other),
    }
}
