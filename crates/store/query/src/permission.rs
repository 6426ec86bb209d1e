//! Judges from a directory's row what the asking user may do with it.
//!
//! This does not decide what is shown: the kernel does, by letting this process
//! open a shard or not. It only explains why something is missing.

use crate::asker::{Asker, asker, may_reach, of_kernel};
use crate::closed_since::is_closed_since;
use crate::error::Result;
use crate::index::View;
use crate::locate::Located;
use std::collections::HashMap;
use std::sync::Arc;
use trawl_format::restricted::Restricted;
use trawl_model::guard::{Bit, Credentials, Predicate};
use trawl_model::rows::Row;
use trawl_model::{Acl, DirAccess, Gid, Uid, path};

/// The permission bits of a mode.
const PERMISSION_BITS: u32 = 0o777;

/// Access to a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// May search and list it.
    Full,
    /// May search it, that is, reach its entries by name.
    Pass,
    /// May not search it, whether or not it may be listed.
    None,
}

/// Hides an entry in a closed directory from a process that can open all of the
/// index but has no power over the indexed files ([`Asker::Limited`]).
pub(crate) fn shown(found: Located) -> Located {
    let Located::Found(start) = &found else {
        return found;
    };
    if asker() != Asker::Limited || !asks_kernel(&start.view) || may_reach(&start.path) {
        return found;
    }
    let dir = path::split(&start.path).map_or(&b""[..], |(dir, _)| dir);
    Located::Denied { dir: dir.to_vec() }
}

/// Returns a test of directories: true if their contents are shown. It matters
/// for a reader that can open every shard although the kernel would deny it
/// some of the indexed directories.
pub(crate) fn showing(view: &View) -> impl Fn(&[u8]) -> bool + Sync {
    let asks = asker() == Asker::Limited && asks_kernel(view);
    move |dir| !asks || of_kernel(dir).is_none_or(|access| access == Access::Full)
}

fn asks_kernel(view: &View) -> bool {
    let is_recorded = || view.is_past() || view.info().options.contains_key("from-trace");
    asker() != Asker::Known && !is_recorded()
}

/// Judges directories; caches the result for each combination of permissions.
#[derive(Debug, Default)]
pub(crate) struct Judge<'a> {
    /// `None` if there is nothing to judge, because this reader sees
    /// everything.
    who: Option<&'a Credentials>,
    /// True if the kernel must be asked because ids mislead, and the
    /// directories still exist.
    asks_kernel: bool,
    known: HashMap<(u32, Uid, Gid, Vec<u8>), Access>,
    /// Directories, each with whether it was closed later.
    closed_since: HashMap<Vec<u8>, bool>,
}

impl<'a> Judge<'a> {
    /// Returns a judge of the view's directories for its reader.
    pub(crate) fn of(view: &'a View) -> Judge<'a> {
        Judge {
            who: view.is_partial().then(|| view.who()),
            asks_kernel: asks_kernel(view),
            known: HashMap::new(),
            closed_since: HashMap::new(),
        }
    }

    /// Like [`Judge::of`], but does not assume that a reader who sees the whole
    /// view has full access: an ordinary user's own scan shows all that it
    /// holds, too.
    pub(crate) fn of_reader(view: &'a View) -> Judge<'a> {
        Judge {
            who: Some(view.who()),
            asks_kernel: asks_kernel(view),
            known: HashMap::new(),
            closed_since: HashMap::new(),
        }
    }

    /// Returns the reader's access to the directory with this row (with mode,
    /// owners and ACL) and this stored path.
    pub(crate) fn judge(&mut self, row: &Row<'_>, stored: impl Fn() -> Vec<u8>) -> Access {
        self.access((row.mode(), row.uid(), row.gid(), row.acl()), stored)
    }

    /// As [`is_closed_since`], looked up once for each directory.
    pub(crate) fn is_closed_since(&mut self, view: &Arc<View>, dir: &[u8]) -> Result<bool> {
        if let Some(known) = self.closed_since.get(dir) {
            return Ok(*known);
        }
        let is_closed = is_closed_since(view, dir)?;
        self.closed_since.insert(dir.to_vec(), is_closed);
        Ok(is_closed)
    }

    /// Returns the reader's access to a directory that the index names with its
    /// permissions.
    pub(crate) fn judge_restricted(&mut self, dir: &Restricted<'_>) -> Access {
        self.access((dir.mode, dir.uid, dir.gid, dir.acl), || dir.path.to_vec())
    }

    fn access(
        &mut self,
        (mode, uid, gid, acl): (u32, Uid, Gid, &[u8]),
        stored: impl Fn() -> Vec<u8>,
    ) -> Access {
        let Some(who) = self.who else {
            return Access::Full;
        };
        if self.asks_kernel
            && let Some(access) = of_kernel(&stored())
        {
            return access;
        }
        let key = (mode & PERMISSION_BITS, uid, gid, acl.to_vec());
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let access = DirAccess {
            mode: key.0,
            uid,
            gid,
            acl: Acl::parse(acl),
        };
        let may = |bit| Predicate::of(&access, bit).admits(who);
        let answer = match (may(Bit::Search), may(Bit::Read)) {
            (true, true) => Access::Full,
            (true, false) => Access::Pass,
            (false, _) => Access::None,
        };
        self.known.insert(key, answer);
        answer
    }
}
