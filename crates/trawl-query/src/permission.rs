//! What the asker may do with a directory, judged by its row.
//!
//! This decides nothing about what is shown, which the kernel has done by
//! letting this process open a shard or not; it tells why something is not
//! there.

use crate::index::View;
use std::collections::HashMap;
use trawl_model::guard::{Bit, Credentials, Predicate};
use trawl_model::rows::Row;
use trawl_model::{Acl, DirAccess, Gid, Uid};

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

/// Judges directories, each kind of permissions once.
#[derive(Debug, Default)]
pub(crate) struct Judge<'a> {
    /// Nobody if there is nothing to judge: this reader sees everything.
    who: Option<&'a Credentials>,
    known: HashMap<(u32, Uid, Gid, Vec<u8>), Access>,
}

impl<'a> Judge<'a> {
    /// A judge of the view's directories for its reader.
    pub(crate) fn of(view: &'a View) -> Judge<'a> {
        Judge {
            who: view.is_partial().then(|| view.who()),
            known: HashMap::new(),
        }
    }

    /// A judge who does not take it that a reader who sees all of the view
    /// may do everything: a user's own scan shows all that it holds, too.
    pub(crate) fn of_reader(view: &'a View) -> Judge<'a> {
        Judge {
            who: Some(view.who()),
            known: HashMap::new(),
        }
    }

    /// What the reader may do with the directory whose row this is (with
    /// mode, owners and ACL).
    pub(crate) fn judge(&mut self, row: &Row<'_>) -> Access {
        let Some(who) = self.who else {
            return Access::Full;
        };
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
