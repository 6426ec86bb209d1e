//! Limits the number of connections and the rate of costly requests. Both are counted per user, so
//! that no user can lock others out.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use trawl_model::sync::lock;

/// Maximum connections of one user.
const A_USER: usize = 8;
/// Maximum connections of all ordinary users together.
const ALL_USERS: usize = 128;
/// Maximum connections of privileged users, who do not count towards `ALL_USERS`.
const PRIVILEGED: usize = 32;

/// Number of rescans that an ordinary user may request at once; one more is allowed after each
/// `REFRESH_PAUSE`.
const REFRESHES: u32 = 4;
const REFRESH_PAUSE: Duration = Duration::from_secs(2);

/// The kind of user a connection belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum UserKind {
    /// The superuser or the index's owner.
    Privileged,
    /// An ordinary user, by id.
    User(u32),
}

#[derive(Debug, Default)]
struct Counts {
    of: HashMap<UserKind, usize>,
    ordinary: usize,
    refreshes: HashMap<u32, Refreshes>,
    refused: u64,
}

#[derive(Clone, Copy, Debug)]
struct Refreshes {
    left: u32,
    at: Instant,
}

/// Counters of connections and requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots(Arc<Mutex<Counts>>);

/// A counted connection, released when dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    slots: Slots,
    whose: UserKind,
}

impl Slots {
    fn with<T>(&self, work: impl FnOnce(&mut Counts) -> T) -> T {
        work(&mut lock(&self.0))
    }

    /// Counts one more connection, if the limits allow it.
    pub(crate) fn take(&self, whose: UserKind) -> Option<Slot> {
        let has_room = self.with(|counts| {
            let ordinary = counts.ordinary;
            let count = counts.of.entry(whose).or_default();
            let has_room = match whose {
                UserKind::Privileged => *count < PRIVILEGED,
                UserKind::User(_) => *count < A_USER && ordinary < ALL_USERS,
            };
            if has_room {
                *count += 1;
                counts.ordinary += usize::from(whose != UserKind::Privileged);
            } else {
                counts.refused += 1;
            }
            has_room
        });
        has_room.then(|| Slot {
            slots: self.clone(),
            whose,
        })
    }

    /// Returns whether this user may request a rescan now.
    pub(crate) fn may_refresh(&self, user: u32, now: Instant) -> bool {
        self.with(|counts| {
            counts
                .refreshes
                .retain(|_, known| now.duration_since(known.at) < REFRESH_PAUSE * REFRESHES);
            let fresh = Refreshes {
                left: REFRESHES,
                at: now,
            };
            let known = counts.refreshes.entry(user).or_insert(fresh);
            let passed = now.duration_since(known.at).as_nanos() / REFRESH_PAUSE.as_nanos();
            let passed = u32::try_from(passed).unwrap_or(REFRESHES);
            if passed > 0 {
                known.left = (known.left + passed).min(REFRESHES);
                known.at = now;
            }
            let may = known.left > 0;
            known.left = known.left.saturating_sub(1);
            counts.refused += u64::from(!may);
            may
        })
    }

    /// Returns the number of present connections and of refused ones.
    pub(crate) fn counts(&self) -> (usize, u64) {
        self.with(|counts| (counts.of.values().sum(), counts.refused))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let whose = self.whose;
        self.slots.with(|counts| {
            counts.ordinary -= usize::from(whose != UserKind::Privileged);
            if let Some(count) = counts.of.get_mut(&whose) {
                *count -= 1;
                if *count == 0 {
                    counts.of.remove(&whose);
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_user_does_not_lock_others_out() {
        let slots = Slots::default();
        let greedy: Vec<_> = (0..100)
            .filter_map(|_| slots.take(UserKind::User(1)))
            .collect();
        assert_eq!(greedy.len(), A_USER);
        assert!(slots.take(UserKind::User(2)).is_some());
        let many: Vec<_> = (3..1000)
            .filter_map(|uid| slots.take(UserKind::User(uid)))
            .collect();
        assert_eq!(greedy.len() + many.len(), ALL_USERS);
        assert!(slots.take(UserKind::Privileged).is_some());
        drop(greedy);
        assert!(slots.take(UserKind::User(1)).is_some());
        assert_eq!(slots.counts().0, many.len());
    }

    #[test]
    fn refreshes_come_back_with_time() {
        let (slots, start) = (Slots::default(), Instant::now());
        let at = |secs| start + Duration::from_secs(secs);
        let may = |secs| (0..10).filter(|_| slots.may_refresh(7, at(secs))).count();
        assert_eq!(may(0), 4);
        assert_eq!(may(1), 0);
        assert_eq!(may(3), 1);
        assert!(slots.may_refresh(8, at(3)), "another user's");
        assert_eq!(may(1000), 4);
    }
}
