//! How long the kernel uses names and attributes without asking again.
//!
//! | what | how long | why that is never too long |
//! |---|---|---|
//! | attributes, targets of links | [`ATTRIBUTES`] | a node's number depends on its content: they never change |
//! | names of views | [`VIEWS`] | the same for all users; a question is asked only while its definition is current |
//! | names of members | until [`AGE_MAX`] after an answer had them | the bound that [`crate::recent`] keeps, too |
//!
//! The kernel shares names among all processes that can use a mount. So it keeps names of members only
//! where each of these processes could read the memory of the others: in the mount of one ordinary
//! user. Elsewhere it asks each time.

use std::time::{Duration, Instant};

use crate::recent::AGE_MAX;
use crate::serving::Visible;

/// For attributes, and targets of links.
pub(crate) const ATTRIBUTES: Duration = Duration::from_secs(24 * 60 * 60);
/// For names of views.
pub(crate) const VIEWS: Duration = Duration::from_millis(100);
/// The superuser: its processes may differ in what they are capable of.
const ROOT: u32 = 0;

/// Whether the kernel may keep names of members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    /// It asks each time.
    Asked,
    /// It keeps them for a time.
    Kept,
}

impl Names {
    /// Returns what is right for a mount that this user makes.
    pub(crate) fn of(visible: Visible, uid: u32) -> Names {
        match visible {
            Visible::Owner if uid != ROOT => Names::Kept,
            _ => Names::Asked,
        }
    }

    /// Returns how long the kernel may use a name that an answer had at this time.
    pub(crate) fn last(self, now: Instant, answered: Instant) -> Duration {
        match self {
            Names::Asked => Duration::ZERO,
            Names::Kept => AGE_MAX.saturating_sub(now.saturating_duration_since(answered)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_lasts_until_its_answer_is_a_second_old() {
        let answered = Instant::now();
        let last = |names: Names, ms| {
            let now = answered + Duration::from_millis(ms);
            names.last(now, answered).as_millis()
        };
        let own = Names::of(Visible::Owner, 1000);
        assert_eq!(
            [0, 400, 1000, 5000].map(|ms| last(own, ms)),
            [1000, 600, 0, 0]
        );
        for asked in [Names::of(Visible::All, 0), Names::of(Visible::Owner, 0)] {
            assert_eq!(last(asked, 0), 0);
        }
    }
}
