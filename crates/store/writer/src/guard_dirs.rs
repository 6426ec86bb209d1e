//! Makes guard directories. Each gets its permissions before it gets any content.
//!
//! The attributes of a guard directory reveal nothing to users who may not enter it. A predicate's
//! directory always contains exactly one directory. A directory of barriers shows its link count
//! and times to everyone who reaches it; therefore empty directories pad the number of its entries
//! to a power of four, and every commit sets its times.

use std::collections::HashSet;
use trawl_format::error::{IndexError, Result};
use trawl_format::layout;
use trawl_format::store::{Dir, if_there};
use trawl_model::guard::{Bit, Element, Predicate};
use trawl_model::index_access::{Refused, index_access};
use trawl_model::{DirAccess, Timestamp, Uid};

/// Minimum number of entries of a directory of barriers.
const BARRIERS_LEAST: usize = 4;

/// The guard directories below a `data` directory, made on demand. If an existing one has other
/// permissions, it gets its own back, once per value of this type.
#[derive(Debug, Default)]
pub(crate) struct GuardDirs {
    sound: HashSet<Vec<Element>>,
}

impl GuardDirs {
    /// Opens the `data` directory of a guard.
    pub(crate) fn open(&mut self, top: &Dir, guard: &[Element]) -> Result<Dir> {
        let mut sound = guard.len();
        while sound > 0 && !self.sound.contains(&guard[..sound]) {
            sound -= 1;
        }
        let mut dir = top.open_below(&layout::data_components(&guard[..sound]))?;
        for end in sound..guard.len() {
            dir = match &guard[end] {
                Element::Predicate(who) => {
                    let access = index_access(who, Refused::Entry);
                    dir.make_guarded(&layout::predicate_dir(who), &access)?
                }
                Element::Barrier { path, list } => {
                    barriers_in(&dir, list)?.make_dir(&layout::barrier_dir(path))?
                }
            };
            dir = dir.make_dir(layout::DATA)?;
            self.sound.insert(guard[..=end].to_vec());
        }
        Ok(dir)
    }

    /// Makes the directory of barriers for the users of the predicate `list`, even if it has no
    /// barrier, and returns the directory names that lead to it.
    pub(crate) fn make_barriers(
        &mut self,
        top: &Dir,
        guard: &[Element],
        list: &Predicate,
    ) -> Result<Vec<String>> {
        barriers_in(&self.open(top, guard)?, list)?;
        let mut components = layout::data_components(guard);
        components.push(layout::barriers_dir(list));
        Ok(components)
    }
}

/// Name of a directory that exists only during a check.
pub(crate) const TRIAL: &str = "acls.tmp";

/// Checks that the file system supports access control lists.
pub(crate) fn check_acls(dir: &Dir) -> Result<()> {
    let private = DirAccess {
        mode: 0o700,
        uid: Uid(u32::MAX - 1),
        ..DirAccess::default()
    };
    // A directory owned by another user: only an ACL can express that.
    let access = index_access(&Predicate::of(&private, Bit::Read), Refused::Entry);
    let made = dir.make_guarded(TRIAL, &access).map(drop);
    if_there(dir.remove_dir(TRIAL))?;
    made
}

/// Opens the directory of barriers in a `data` directory, and makes it if it does not exist.
fn barriers_in(data: &Dir, list: &Predicate) -> Result<Dir> {
    let access = index_access(list, Refused::Listing);
    data.make_guarded(&layout::barriers_dir(list), &access)
}

/// Disguises a directory of barriers: adds or removes empty directories until the number of entries
/// is [`padded`], and sets the times.
pub(crate) fn disguise(barriers: &Dir, time: Timestamp) -> Result<()> {
    let (mut real, mut empty) = (0, Vec::new());
    for name in barriers.list()? {
        match barriers.open_dir(&name)?.list()?.is_empty() {
            true => empty.push(name),
            false => real += 1,
        }
    }
    let wanted = padded(real);
    while real + empty.len() > wanted {
        if let Some(name) = empty.pop() {
            barriers.remove_dir(&name)?;
        }
    }
    while real + empty.len() < wanted {
        let name = random_name(barriers)?;
        barriers.make_dir(&name)?;
        empty.push(name);
    }
    barriers.set_time(time)
}

/// Returns the number of entries to show for a number of barriers.
fn padded(real: usize) -> usize {
    let mut shown = BARRIERS_LEAST;
    while shown < real {
        shown = shown.saturating_mul(4);
    }
    shown
}

/// Returns a name that looks like a barrier's and cannot be guessed.
fn random_name(dir: &Dir) -> Result<String> {
    let mut bytes = [0u8; layout::HASH_DIGITS / 2];
    let filled = rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty());
    match filled {
        Ok(length) if length == bytes.len() => {}
        Ok(_) => {
            let short = std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
            return Err(IndexError::io("get random numbers for", dir.path(), short));
        }
        Err(error) => return Err(IndexError::io("get random numbers for", dir.path(), error)),
    }
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_barriers_are_shown_as_powers_of_four() {
        for (real, shown) in [
            (0, 4),
            (1, 4),
            (4, 4),
            (5, 16),
            (16, 16),
            (17, 64),
            (65, 256),
        ] {
            assert_eq!(padded(real), shown);
        }
    }

    #[test]
    fn what_is_seen_of_barriers_does_not_tell_how_many_there_are() {
        let folder = tempfile::tempdir().unwrap();
        let top = Dir::open_top(folder.path()).unwrap();
        let mut dirs = GuardDirs::default();
        let list = Predicate::superuser_only();
        let made = dirs.make_barriers(&top, &[], &list).unwrap();
        let barriers = top.open_below(&made).unwrap();
        let time = Timestamp { secs: 5, nanos: 7 };
        let look = || {
            disguise(&barriers, time).unwrap();
            let meta = std::fs::metadata(folder.path().join(&made[0])).unwrap();
            use std::os::unix::fs::MetadataExt;
            assert_eq!((meta.mtime(), meta.mtime_nsec()), (5, 7));
            (meta.nlink(), barriers.list().unwrap().len())
        };
        let before = look();
        for path in [&b"/a"[..], b"/b", b"/c"] {
            let path = path.to_vec();
            let list = list.clone();
            dirs.open(&top, &[Element::Barrier { path, list }]).unwrap();
        }
        assert_eq!(look(), before);
        assert_eq!(before.1, 4);
    }
}
