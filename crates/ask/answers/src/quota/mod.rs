//! What users, groups and projects use of file systems, and what they may use.
//!
//! The kernel is asked, not the index, so nothing in the answer is older than the question. The kernel
//! also decides who learns what: a user their own quota and those of their groups, and whoever has
//! `CAP_SYS_ADMIN` all of them. Servers of network file systems are not asked.
//!
//! | module | contents |
//! |---|---|
//! | `kernel` | the kernel's answers |
//! | `remark` | why a file system has no rows, and what to do |

mod kernel;
mod remark;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use trawl_model::Timestamp;
use trawl_sys::device::DeviceNumber;
use trawl_sys::{Errno, SysError};

pub use self::kernel::Kernel;
pub use self::remark::Remark;
pub use trawl_sys::quota::{Amount, Kind, Quota};

/// A file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// Its mount point.
    pub mount: Vec<u8>,
    /// Its type, as in `/proc/mounts`.
    pub kind: Vec<u8>,
    /// Its device number, which distinguishes it from others.
    pub device: DeviceNumber,
}

/// Source of quotas: the kernel, or a stand-in in tests.
pub trait Source {
    /// A place in a file system.
    type Place;

    /// Returns whether quotas can be asked for.
    fn is_supported(&self) -> bool;

    /// Opens a path and returns its file system.
    ///
    /// # Errors
    /// If there is no such path, or it cannot be reached.
    fn open(&self, path: &OsStr) -> Result<(FileSystem, Self::Place), SysError>;

    /// Returns whether the file system keeps account of this kind.
    ///
    /// # Errors
    /// If that cannot be asked.
    fn is_kept(&self, place: &Self::Place, kind: Kind) -> Result<bool, SysError>;

    /// Returns the quota of an id; `None` if the file system knows nothing of it.
    ///
    /// # Errors
    /// If the asker may not know it.
    fn of_id(&self, place: &Self::Place, kind: Kind, id: u32) -> Result<Option<Quota>, SysError>;

    /// Returns the quota of the first id from `id` on that has one.
    ///
    /// # Errors
    /// If the asker may not know all of them.
    fn next_id(&self, place: &Self::Place, kind: Kind, id: u32) -> Result<Option<Quota>, SysError>;

    /// Returns the ids of this kind that are the asker's own.
    ///
    /// # Errors
    /// If the system does not tell.
    fn own(&self, kind: Kind) -> Result<Vec<u32>, SysError>;
}

/// The quota of a user, group or project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Mount point of the file system.
    pub mount: Vec<u8>,
    /// Whose it is.
    pub kind: Kind,
    /// Use and limits.
    pub quota: Quota,
}

/// The quotas of some file systems.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quotas {
    /// The quotas, by file system in the order of the question, by kind and by id. Ids that use nothing
    /// and have no limit are left out.
    pub entries: Vec<Entry>,
    /// Why file systems have no rows.
    pub remarks: Vec<Remark>,
}

/// What a limit means for its owner at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// There is no limit.
    Unlimited,
    /// Within the limits.
    Within,
    /// Beyond the soft limit, within the grace period.
    Over,
    /// Beyond the soft limit, and the grace period has ended: a file system that enforces its limits
    /// lets nothing more be written.
    Expired,
    /// At the hard limit, so likewise.
    Full,
}

impl State {
    /// Returns the state of an amount.
    pub fn of(amount: &Amount, now: Timestamp) -> State {
        let is_over = amount.soft.is_some_and(|soft| amount.used > soft);
        let is_expired = amount.grace_ends.is_some_and(|end| end <= now);
        let is_full = amount.hard.is_some_and(|hard| amount.used >= hard);
        match amount.soft.or(amount.hard) {
            None => State::Unlimited,
            _ if is_over && is_expired => State::Expired,
            _ if is_full => State::Full,
            _ if is_over => State::Over,
            _ => State::Within,
        }
    }

    /// Returns the name in output for programs.
    pub const fn name(self) -> &'static str {
        match self {
            State::Unlimited => "unlimited",
            State::Within => "within",
            State::Over => "over",
            State::Expired => "expired",
            State::Full => "full",
        }
    }
}

/// Returns the name of a kind in output for programs.
pub const fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::User => "user",
        Kind::Group => "group",
        Kind::Project => "project",
    }
}

/// Returns the quotas of the file systems that hold these paths, each file system once. Links are
/// followed.
pub fn quotas<S: Source>(source: &S, paths: &[OsString]) -> Quotas {
    let mut found = Quotas::default();
    if !source.is_supported() {
        found.remarks.push(Remark::NoCall);
        return found;
    }
    let mut seen = HashSet::new();
    for path in paths {
        match source.open(path) {
            Ok((system, place)) => {
                if seen.insert((system.device, system.kind.clone())) {
                    found.add(source, &system, &place);
                }
            }
            Err(source) => found.remarks.push(Remark::Unreachable {
                path: path.as_bytes().to_vec(),
                source,
            }),
        }
    }
    found
}

impl Quotas {
    /// Returns true if quotas may be missing.
    pub fn is_incomplete(&self) -> bool {
        self.remarks.iter().any(Remark::is_gap)
    }

    fn remark(&mut self, remark: Remark) {
        if !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
    }

    fn add<S: Source>(&mut self, source: &S, system: &FileSystem, place: &S::Place) {
        let mut is_kept = false;
        for kind in Kind::ALL {
            let done = source.is_kept(place, kind).and_then(|kept| {
                is_kept |= kept;
                match kept {
                    true => self.add_kind(source, (system, place), kind),
                    false => Ok(()),
                }
            });
            if let Err(source) = done {
                is_kept = true;
                self.remarks.push(Remark::Refused {
                    mount: system.mount.clone(),
                    kind,
                    source,
                });
            }
        }
        if !is_kept {
            self.remark(Remark::none_of(system));
        }
    }

    /// Adds all quotas of a kind, or the asker's own if the kernel shows no others.
    fn add_kind<S: Source>(
        &mut self,
        source: &S,
        (system, place): (&FileSystem, &S::Place),
        kind: Kind,
    ) -> Result<(), SysError> {
        match self.add_all(source, (system, place), kind) {
            Err(error) if error.errno == Errno::PERM => {}
            // Such a file system, with quota files of the first format, only answers about one id.
            Err(error) if error.errno == Errno::NOSYS => self.remarks.push(Remark::OwnOnly {
                mount: system.mount.clone(),
                kind,
            }),
            done => return done,
        }
        for id in source.own(kind)? {
            match source.of_id(place, kind, id) {
                Ok(Some(quota)) => self.keep(system, kind, quota),
                Ok(None) => {}
                // In a user namespace, groups from outside it have an id that nobody may ask about.
                Err(error) if error.errno == Errno::PERM => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn add_all<S: Source>(
        &mut self,
        source: &S,
        (system, place): (&FileSystem, &S::Place),
        kind: Kind,
    ) -> Result<(), SysError> {
        let mut next = Some(0);
        while let Some(from) = next {
            let Some(quota) = source.next_id(place, kind, from)? else {
                break;
            };
            // A file system that goes backwards would never end. The last number is no id: the kernel
            // refuses it.
            let is_id = |next: &u32| *next > from && *next != u32::MAX;
            next = quota.id.checked_add(1).filter(is_id);
            self.keep(system, kind, quota);
        }
        Ok(())
    }

    fn keep(&mut self, system: &FileSystem, kind: Kind, quota: Quota) {
        let is_empty =
            |amount: &Amount| amount.used == 0 && amount.soft.is_none() && amount.hard.is_none();
        if is_empty(&quota.space) && is_empty(&quota.inodes) {
            return;
        }
        self.entries.push(Entry {
            mount: system.mount.clone(),
            kind,
            quota,
        });
    }
}
