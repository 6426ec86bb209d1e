//! Finds the changes since the index was last known to match its source, without listing
//! directories. After trust was lost, only these changes are read again.
//!
//! Each row of the index is compared with the present state, by the cheapest method that the file
//! system offers:
//!
//! - *transactions* (btrfs, if the last transaction before was noted): the file system delivers
//!   just the inodes that changed since;
//! - *inodes* (xfs): the file system delivers all inodes in the order of their numbers, many per
//!   call;
//! - *times* elsewhere: each file is asked for its times, many per call.
//!
//! A row is dirty if it differs from its file. It is also dirty if the file's change time is later
//! than the moment up to which everything is known to be in the index, or shortly before it, since
//! the kernel's times are coarse. Times are compared for equality, so a clock that was set back
//! does not hide a change. A new file, which no row names, is found through its directory, whose
//! times have changed.
//!
//! Changes that cannot be found this way are refused ([`Unappliable::Untold`]): then everything
//! must be scanned.

mod digest;
mod inodes;
mod times;
mod transactions;

use std::ffi::CString;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use trawl_changes::{Dirty, KeyResolver};
use trawl_model::column::{Column, ColumnSet};
use trawl_model::rows::Row;
use trawl_model::{Timestamp, path};
use trawl_query::{Batch, Located, QueryError, Request, Start, View};
use trawl_scan::trusts_ctime;
use trawl_sys::directory::{AccessTime, Links, Purpose, open_path};
use trawl_sys::stat::{Stat, Time, stat_at, stat_fd};
use trawl_sys::{CWD, SysError, filesystem};

use crate::applier::named::Unsettled;
use crate::applier::{Applied, Applier};
use crate::error::{ApplyError, Result, Unappliable};
use crate::targets::Targets;

pub use transactions::Note;

/// Margin in seconds: a change may have a time this long before the moment up to which everything
/// is known, since the coarsest times of the file systems compared are one second apart.
const MARGIN_SECS: i64 = 2;

/// A scan is cheaper if the number of dirty rows exceeds the snapshot's rows divided by `MANY_OF`,
/// and is at least `MANY_LEAST`.
const MANY_OF: u64 = 4;
const MANY_LEAST: u64 = 50_000;
/// Maximum number of dirty rows, which bounds memory.
const MANY_MOST: u64 = 500_000;

/// The method by which the changes were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// By the transactions in which inodes changed.
    Transactions,
    /// By all inodes of the file system.
    Inodes,
    /// By the times of each file.
    Times,
}

impl Method {
    /// Returns the method's name, one word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Method::Transactions => "transactions",
            Method::Inodes => "inodes",
            Method::Times => "times",
        }
    }
}

/// Result of a recovery after changes were lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaughtUp {
    /// The method.
    pub method: Method,
    /// Number of files looked at.
    pub looked_at: u64,
    /// Number of files that differed from the index.
    pub dirty: u64,
    /// Why a cheaper method was not used, if so.
    pub why: Option<String>,
    /// The result of applying the changes.
    pub applied: Applied,
}

impl Applier {
    /// Finds the changes since the last complete state and reads them again, together with the
    /// dirty entries: for use after changes were lost. `note` is of a moment before the one up to
    /// which everything is known.
    ///
    /// # Errors
    /// As [`Applier::apply`]; [`Unappliable::Untold`] where the changes cannot be determined.
    pub fn catch_up(
        &mut self,
        dirty: &Dirty,
        note: Option<&Note>,
        places: &mut dyn KeyResolver,
        (as_of, cancel): (Timestamp, &AtomicBool),
    ) -> Result<CaughtUp> {
        self.check_base()?;
        let mut targets = Targets::of(dirty, &self.root, &self.options.excludes, places)?;
        let view = self.view();
        let mounts = trawl_changes::mounts_below(&self.root)?;
        let found = Search {
            view: &view,
            rows: self.writer.growth().1,
            since: self.writer.known_until(),
            note,
            mounts,
            cancel,
        }
        .run()?;
        let (method, looked_at, why) = (found.method, found.looked_at, found.why.clone());
        let suspects = found.suspects.len() as u64 + u64::from(found.is_root_suspect);
        targets.add_suspects(found, &self.root);
        let applied = self.read_again(targets, Unsettled::none(), as_of, cancel)?;
        Ok(CaughtUp {
            method,
            looked_at,
            dirty: suspects,
            why,
            applied,
        })
    }
}

/// A row that may differ from the object it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Suspect {
    /// The directory that holds the name.
    pub(crate) dir: Vec<u8>,
    pub(crate) name: Vec<u8>,
    pub(crate) is_dir: bool,
}

impl Suspect {
    fn of(row: &Row<'_>) -> Suspect {
        Suspect {
            dir: row.dir.to_vec(),
            name: row.name().to_vec(),
            is_dir: row.mode() & bits::FORMAT == bits::DIRECTORY,
        }
    }
}

/// Result of a search for changes.
#[derive(Debug)]
pub(crate) struct CatchUpResult {
    pub(crate) method: Method,
    /// Number of rows, or inodes, looked at.
    pub(crate) looked_at: u64,
    pub(crate) suspects: Vec<Suspect>,
    /// Whether the root itself may differ; it is in no directory.
    pub(crate) is_root_suspect: bool,
    /// Why a cheaper method was not used.
    pub(crate) why: Option<String>,
}

impl CatchUpResult {
    fn by(method: Method) -> CatchUpResult {
        CatchUpResult {
            method,
            looked_at: 0,
            suspects: Vec::new(),
            is_root_suspect: false,
            why: None,
        }
    }
}

/// Input of a search for changes.
pub(crate) struct Search<'a> {
    pub(crate) view: &'a Arc<View>,
    /// Rows of the base snapshot.
    pub(crate) rows: u64,
    /// Time up to which the view has all changes.
    pub(crate) since: Timestamp,
    /// The transaction of that moment, where known.
    pub(crate) note: Option<&'a Note>,
    /// Mount points of other file systems below the root.
    pub(crate) mounts: Vec<Vec<u8>>,
    pub(crate) cancel: &'a AtomicBool,
}

/// The source's root as it is now.
struct Top {
    fd: OwnedFd,
    stat: Stat,
    /// Its path.
    path: Vec<u8>,
}

/// Finds rows that may differ now; runs on several threads.
trait Judge: Sync {
    /// The columns that it reads of each row, besides the name.
    fn columns(&self) -> ColumnSet;

    /// Adds the suspects of a batch.
    fn judge(&self, batch: &mut Batch<'_>, into: &mut Piece) -> trawl_query::Result<()>;
}

/// The result for a batch.
#[derive(Default)]
struct Piece {
    looked_at: u64,
    suspects: Vec<Suspect>,
}

/// The reason why a method cannot be used here.
enum Unfit {
    /// It is not permitted, or the system call does not exist.
    System(SysError),
    Query(QueryError),
    /// There are so many changes that a scan is cheaper.
    TooMuch,
}

impl From<QueryError> for Unfit {
    fn from(error: QueryError) -> Unfit {
        Unfit::Query(error)
    }
}

impl From<SysError> for Unfit {
    fn from(error: SysError) -> Unfit {
        Unfit::System(error)
    }
}

/// Bits of a mode.
mod bits {
    pub(super) const FORMAT: u32 = 0o170_000;
    pub(super) const DIRECTORY: u32 = 0o040_000;
}

fn untold(why: impl Into<String>) -> ApplyError {
    ApplyError::Unappliable(Unappliable::Untold { why: why.into() })
}

impl Search<'_> {
    /// Finds the changes.
    ///
    /// # Errors
    /// [`Unappliable::Untold`] where they cannot be determined.
    pub(crate) fn run(&self) -> Result<CatchUpResult> {
        let root = self.view.root().to_vec();
        let Located::Found(start) = self.view.locate(&root)? else {
            return Err(untold("its root is not in the index"));
        };
        let top = Top::open(root)?;
        let kind = top.kind()?;
        if start.own_row().dev() != top.stat.dev {
            return Err(untold("its device number has changed"));
        }
        let mut found = self.by_any_way(&start, &top, kind)?;
        for mount in &self.mounts {
            found.suspects.extend(top.suspect(mount));
        }
        found.is_root_suspect = self.is_changed(&start.own_row(), &top.stat);
        // A path that could not be read before may be readable now.
        for issue in start.recorded_issues(None)? {
            found.suspects.extend(top.suspect(&issue.path));
        }
        Ok(found)
    }

    /// Finds the changes by the cheapest method available.
    fn by_any_way(&self, start: &Start, top: &Top, kind: Kind) -> Result<CatchUpResult> {
        let mut why = None;
        let cheaper = match (kind, self.note) {
            (Kind::Btrfs, Some(note)) => Some(transactions::find(self, start, top, note)),
            (Kind::Btrfs, None) => {
                why = Some("no transaction was noted".to_owned());
                None
            }
            (Kind::Xfs, _) => Some(inodes::find(self, start, top)),
            (Kind::Other, _) => None,
        };
        if let Some(found) = cheaper {
            match usable(found)? {
                Ok(found) => return Ok(found),
                Err(error) => why = Some(error.to_string()),
            }
        }
        match usable(times::find(self, start, top))? {
            Ok(found) => Ok(CatchUpResult { why, ..found }),
            Err(error) => Err(untold(error.to_string())),
        }
    }

    /// Passes all rows to a judge.
    fn judge(
        &self,
        start: &Start,
        judge: &dyn Judge,
        found: &mut CatchUpResult,
    ) -> std::result::Result<(), Unfit> {
        let request = Request {
            columns: judge.columns().union(ColumnSet::of(&[Column::Name])),
            cancel: Some(self.cancel),
            ..Request::default()
        };
        let most = (self.rows / MANY_OF).clamp(MANY_LEAST, MANY_MOST) as usize;
        let mut is_too_much = false;
        start.walk_batches(
            &request,
            |batch, piece: &mut Piece| judge.judge(batch, piece),
            |piece| {
                found.looked_at += piece.looked_at;
                found.suspects.extend(piece.suspects);
                is_too_much = found.suspects.len() > most;
                match is_too_much {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            },
        )?;
        match is_too_much {
            true => Err(Unfit::TooMuch),
            false => Ok(()),
        }
    }

    /// Returns true if the row differs from the file, or if the file changed so recently that the
    /// index may lack a change with the same times.
    fn is_changed(&self, row: &Row<'_>, now: &Stat) -> bool {
        let had = (row.ino(), row.mode(), row.nlink(), row.size());
        had != (now.ino, now.mode, now.nlink, now.size)
            || row.dev() != now.dev
            || row.mtime() != now.mtime
            || row.ctime() != now.ctime
            || self.is_recent(now.ctime)
    }

    /// Returns true if the index may lack a change although the file has this change time.
    fn is_recent(&self, ctime: Time) -> bool {
        ctime.secs >= self.since.secs.saturating_sub(MARGIN_SECS)
    }
}

/// The columns used by [`Search::is_changed`]. Allocated blocks are not compared: file systems
/// change them on their own, long after.
const COMPARED: ColumnSet = ColumnSet::of(&[
    Column::Ino,
    Column::Dev,
    Column::Mode,
    Column::Nlink,
    Column::Size,
    Column::Mtime,
    Column::MtimeNs,
    Column::Ctime,
    Column::CtimeNs,
]);

/// Separates errors: after the inner one another method may succeed.
fn usable(
    found: std::result::Result<CatchUpResult, Unfit>,
) -> Result<std::result::Result<CatchUpResult, SysError>> {
    match found {
        Ok(found) => Ok(Ok(found)),
        Err(Unfit::System(error)) => Ok(Err(error)),
        Err(Unfit::Query(error)) => Err(error.into()),
        Err(Unfit::TooMuch) => Err(untold("so much changed that a scan is cheaper")),
    }
}

/// Kinds of file systems whose times reveal every change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Btrfs,
    Xfs,
    Other,
}

impl Top {
    fn open(path: Vec<u8>) -> Result<Top> {
        let shown: &[u8] = path::display(&path);
        let name = CString::new(shown).map_err(|_| untold("its path contains a NUL byte"))?;
        let purpose = Purpose::List(AccessTime::Keep);
        let opened =
            open_path(CWD, &name, purpose, Links::Followed).and_then(|fd| Ok((stat_fd(&fd)?, fd)));
        let (stat, fd) = opened.map_err(|_| ApplyError::Unappliable(Unappliable::NoRoot))?;
        Ok(Top { fd, stat, path })
    }

    fn kind(&self) -> Result<Kind> {
        let magic = filesystem::of_fd(&self.fd)
            .map_err(|error| untold(error.to_string()))?
            .magic;
        match filesystem::name(magic) {
            Some("btrfs") => Ok(Kind::Btrfs),
            Some("xfs") => Ok(Kind::Xfs),
            _ if trusts_ctime(magic) => Ok(Kind::Other),
            // Before Linux 6.2, setting an attribute there could leave all times as they were.
            Some("tmpfs" | "overlay") if kernel_release() >= (6, 2) => Ok(Kind::Other),
            name => Err(untold(format!(
                "times of {} files may not reveal every change",
                name.unwrap_or("this file system's")
            ))),
        }
    }

    /// Returns the path of `name` in `dir`, relative to the root.
    fn below(&self, dir: &[u8], name: &[u8]) -> Option<CString> {
        let dir = dir.strip_prefix(&self.path[..])?;
        let dir = dir.strip_prefix(b"/").unwrap_or(dir);
        let mut path = Vec::with_capacity(dir.len() + name.len() + 2);
        path.extend_from_slice(dir);
        if !dir.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        CString::new(path).ok()
    }

    /// Makes a suspect of a path; `None` for the root and for paths outside it.
    fn suspect(&self, at: &[u8]) -> Option<Suspect> {
        let is_below = at != self.path && path::is_within(at, &self.path);
        let (dir, name) = path::split(at).filter(|_| is_below)?;
        let now = stat_at(&self.fd, &self.below(dir, name)?);
        Some(Suspect {
            dir: dir.to_vec(),
            name: name.to_vec(),
            is_dir: now.is_ok_and(|now| now.is_directory()),
        })
    }

    /// Returns true if the object that the row names differs, by a look at it.
    fn differs(&self, search: &Search<'_>, row: &Row<'_>) -> bool {
        let Some(path) = self.below(row.dir, row.name()) else {
            return true;
        };
        stat_at(&self.fd, &path).map_or(true, |now| search.is_changed(row, &now))
    }
}

/// Returns the first two numbers of the kernel's release; zeros if unknown.
fn kernel_release() -> (u32, u32) {
    let text = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = text.split(|c: char| !c.is_ascii_digit());
    let mut next = || numbers.next().and_then(|n| n.parse().ok()).unwrap_or(0);
    (next(), next())
}
