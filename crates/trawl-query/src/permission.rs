//! What the asker may do with a directory, judged by its row.
//!
//! This decides nothing about what is shown, which the kernel has done by
//! letting this process open a shard or not; it tells why something is not
//! there.

use crate::asker::{Asker, asker, may_reach, of_kernel};
use crate::index::View;
use crate::locate::Located;
use std::collections::HashMap;
use trawl_model::guard::{Bit, Credentials, Predicate};
use trawl_model::rows::Row;
use trawl_model::{Acl, DirAccess, Gid, Uid, path};

/// The bits of a mode that permissions are made of.
const PERMISSION_BITS: u32 = 0o777;

/// What someone may do with a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Search and list it.
    Full,
    /// Search it: reach what is in it by name.
    Pass,
    /// Not even that.
    None,
}

/// What was found, as the kernel would show it to a superuser who is none to
/// it: nothing that lies in a closed directory.
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

/// Says of a directory whether what is in it is shown to a reader for whom the
/// kernel does not decide that by letting them open a shard.
pub(crate) fn showing(view: &View) -> impl Fn(&[u8]) -> bool + Sync {
    let asks = asker() == Asker::Limited && asks_kernel(view);
    move |dir| !asks || of_kernel(dir).is_none_or(|access| access == Access::Full)
}

fn asks_kernel(view: &View) -> bool {
    let is_recorded = || view.is_past() || view.info().options.contains_key("from-trace");
    asker() != Asker::Known && !is_recorded()
}

/// Judges directories, each kind of permissions once.
#[derive(Debug, Default)]
pub(crate) struct Judge<'a> {
    /// Nobody if there is nothing to judge: this reader sees everything.
    who: Option<&'a Credentials>,
    /// True if the kernel knows better than ids do, and has the directories.
    asks_kernel: bool,
    known: HashMap<(u32, Uid, Gid, Vec<u8>), Access>,
}

impl<'a> Judge<'a> {
    /// A judge of the view's directories for its reader.
    pub(crate) fn of(view: &'a View) -> Judge<'a> {
        Judge {
            who: view.is_partial().then(|| view.who()),
            asks_kernel: asks_kernel(view),
            known: HashMap::new(),
        }
    }

    /// A judge who does not take it that a reader who sees all of the view
    /// may do everything: a user's own scan shows all that it holds, too.
    pub(crate) fn of_reader(view: &'a View) -> Judge<'a> {
        Judge {
            who: Some(view.who()),
            asks_kernel: asks_kernel(view),
            known: HashMap::new(),
        }
    }

    /// What the reader may do with the directory whose row this is (with
    /// mode, owners and ACL), and that is stored so.
    pub(crate) fn judge(&mut self, row: &Row<'_>, stored: impl Fn() -> Vec<u8>) -> Access {
        let Some(who) = self.who else {
            return Access::Full;
        };
        if self.asks_kernel
            && let Some(access) = of_kernel(&stored())
        {
            return access;
        }
        let mode = row.mode() & PERMISSION_BITS;
        let acl = row.acl().to_vec();
        let key = (mode, row.uid(), row.gid(), acl);
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let access = DirAccess {
            mode,
            uid: key.1,
            gid: key.2,
            acl: Acl::parse(&key.3),
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
