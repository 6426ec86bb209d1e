//! Acts for another user in single calls, as servers of file systems do: the thread takes on the
//! user's file-system ids, so that new files belong to that user and quotas count for that user.
//!
//! Changing ids this way does not make the process traceable by that user, and it needs no thread of
//! its own, unlike [`crate::become_user`]. In return it is no protection against the work itself.
//!
//! Source: <https://man7.org/linux/man-pages/man2/setfsuid.2.html>

use std::io;

use rustix::fs::Mode;
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

use crate::identity::{effective_gid, effective_uid};

/// The user and the group that a thread acts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Person {
    /// File-system user id.
    pub uid: u32,
    /// File-system group id.
    pub gid: u32,
}

/// Which permissions are checked while a thread acts for somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checks {
    /// Those of the user, without supplementary groups.
    Ids,
    /// None on permission bits, because they were checked before with all groups of the user.
    Done,
}

/// Ids of this thread, which are restored at the end.
struct Restore(Person);

impl Drop for Restore {
    fn drop(&mut self) {
        // The effective ids of a thread are always allowed. Becoming user 0 restores the
        // capabilities that were lost.
        if take_on(self.0).is_err() {
            std::process::abort();
        }
    }
}

fn take_on(person: Person) -> io::Result<()> {
    let is_set = {
        // SAFETY: the calls take numbers. They return the previous id, which no id equals that is
        // invalid; so the second call of each pair reads the id that is in force.
        unsafe {
            libc::setfsgid(person.gid);
            libc::setfsuid(person.uid);
            libc::setfsgid(u32::MAX).cast_unsigned() == person.gid
                && libc::setfsuid(u32::MAX).cast_unsigned() == person.uid
        }
    };
    match is_set {
        true => Ok(()),
        false => Err(io::Error::from_raw_os_error(libc::EPERM)),
    }
}

/// Does `work` as this person and returns its result.
///
/// # Errors
/// Fails with EPERM if this thread may not act for that person; `work` is not done then.
pub fn acting_as<T>(person: Person, checks: Checks, work: impl FnOnce() -> T) -> io::Result<T> {
    let own = Person {
        uid: effective_uid(),
        gid: effective_gid(),
    };
    if own == person {
        return Ok(work());
    }
    let _restore = Restore(own);
    take_on(person)?;
    if checks == Checks::Done && own.uid == 0 && person.uid != 0 {
        let mut sets = capabilities(None)?;
        let passing = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
        sets.effective |= passing & sets.permitted;
        set_capabilities(None, sets)?;
    }
    Ok(work())
}

/// Gives this thread a umask and a working directory of its own, which no other thread changes.
///
/// Source: <https://man7.org/linux/man-pages/man2/unshare.2.html>, `CLONE_FS`
///
/// # Errors
/// Fails if the kernel has no memory.
pub fn own_umask() -> io::Result<()> {
    // SAFETY: unshare(2) takes a number. Only state inside the kernel stops being shared.
    match unsafe { libc::unshare(libc::CLONE_FS) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sets the umask of a thread that has called [`own_umask`].
///
/// Source: <https://man7.org/linux/man-pages/man2/umask.2.html>
pub fn set_umask(mask: u32) {
    rustix::process::umask(Mode::from_bits_truncate(mask & 0o777));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    #[test]
    fn files_belong_to_the_person_and_the_ids_come_back() {
        if effective_uid() != 0 {
            eprintln!("acting for another user: skipped, because it needs root");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let person = Person {
            uid: 4711,
            gid: 4712,
        };
        let make = |name: &str| std::fs::write(folder.path().join(name), "x");
        let closed = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(folder.path(), closed).unwrap();
        let refused = acting_as(person, Checks::Ids, || make("refused")).unwrap();
        assert_eq!(
            refused.unwrap_err().kind(),
            std::io::ErrorKind::PermissionDenied
        );
        acting_as(person, Checks::Done, || make("theirs"))
            .unwrap()
            .unwrap();
        make("ours").unwrap();
        let owner = |name: &str| {
            let data = std::fs::metadata(folder.path().join(name)).unwrap();
            (data.uid(), data.gid())
        };
        assert_eq!(owner("theirs"), (4711, 4712));
        assert_eq!(owner("ours"), (0, 0));
    }

    #[test]
    fn a_umask_of_its_own_stays_with_its_thread() {
        let folder = tempfile::tempdir().unwrap();
        let mode = |name: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, "x").unwrap();
            std::fs::metadata(path).unwrap().mode() & 0o777
        };
        let before = mode("before");
        std::thread::scope(|scope| {
            let inner = scope.spawn(|| {
                own_umask().unwrap();
                set_umask(0o077);
                mode("inside")
            });
            assert_eq!(inner.join().unwrap(), 0o600);
        });
        assert_eq!(mode("after"), before);
    }
}
