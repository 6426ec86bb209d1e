//! Decides whether a change of permissions takes a right away from some user.

use trawl_model::DirAccess;
use trawl_model::guard::{Bit, Predicate};

/// The effect of a change of permissions on who may see a directory's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Change {
    /// No effect.
    None,
    /// Nobody loses a right.
    Loosened,
    /// Somebody may lose a right.
    Tightened,
}

/// Returns the effect of the change from `before` to `now` on these permission bits.
pub(crate) fn change(before: &DirAccess, now: &DirAccess, bits: &[Bit]) -> Change {
    let one = |bit: &Bit| {
        // Of a list that is too long for the index, an older index may have the exact users.
        let (before, now) = (Predicate::exact(before, *bit), Predicate::exact(now, *bit));
        match (before == now, before.implies(&now)) {
            (true, _) => Change::None,
            (false, true) => Change::Loosened,
            (false, false) => Change::Tightened,
        }
    };
    bits.iter().map(one).max().unwrap_or(Change::None)
}

/// Returns true if everybody may list a directory with this access and reach its entries.
pub(crate) fn is_open(access: &DirAccess) -> bool {
    let open = DirAccess {
        mode: 0o555,
        ..DirAccess::default()
    };
    change(&open, access, &[Bit::Search, Bit::Read]) == Change::None
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_model::guard::ENTRIES_MAX;
    use trawl_model::{Acl, Gid, Uid};

    #[test]
    fn who_loses_a_right_is_noticed() {
        let access = |mode, uid, gid| DirAccess {
            mode,
            uid: Uid(uid),
            gid: Gid(gid),
            acl: None,
        };
        let both = [Bit::Search, Bit::Read];
        let open = access(0o755, 1, 1);
        assert_eq!(change(&open, &open, &both), Change::None);
        // The write permission does not matter.
        assert_eq!(change(&open, &access(0o555, 1, 1), &both), Change::None);
        assert_eq!(
            change(&open, &access(0o750, 1, 1), &both),
            Change::Tightened
        );
        assert_eq!(change(&access(0o750, 1, 1), &open, &both), Change::Loosened);
        // With another owner, the previous owner may lose.
        let own = access(0o700, 1, 1);
        assert_eq!(change(&own, &access(0o700, 2, 1), &both), Change::Tightened);
        assert_eq!(
            change(&access(0o755, 1, 1), &access(0o755, 2, 1), &both),
            Change::None
        );
        assert_eq!(
            change(&open, &access(0o751, 1, 1), &[Bit::Search]),
            Change::None
        );
        assert!(is_open(&open) && is_open(&access(0o1777, 4, 7)));
        for mode in [0o751, 0o750, 0o711, 0o700, 0o744, 0o055] {
            assert!(!is_open(&access(mode, 1, 1)), "{mode:o}");
        }
    }

    /// An older index may show exactly these users what is there.
    #[test]
    fn who_leaves_a_list_that_is_too_long_loses_a_right() {
        let most = u32::try_from(ENTRIES_MAX).unwrap();
        let to = |uids: std::ops::Range<u32>| DirAccess {
            mode: 0o750,
            uid: Uid(1),
            gid: Gid(1),
            acl: Some(Acl {
                owner: 7,
                users: uids.map(|uid| (Uid(uid), 5)).collect(),
                group: 0,
                groups: Vec::new(),
                mask: Some(5),
                other: 0,
            }),
        };
        let both = [Bit::Search, Bit::Read];
        let before = to(10..50 + most);
        assert_eq!(
            change(&before, &to(11..50 + most), &both),
            Change::Tightened
        );
        assert_eq!(change(&before, &to(9..50 + most), &both), Change::Loosened);
    }
}
