//! Limits on clients, and the current counts.

use std::collections::HashMap;
use std::time::Duration;

/// Limits on clients.
#[derive(Clone, Copy, Debug)]
pub struct Crowd {
    /// Maximum number of connections in total. A connection without requests only costs a
    /// descriptor here.
    pub connections: usize,
    /// Maximum number of connections of one user.
    pub of_one_user: usize,
    /// Maximum number of connections served at the same time, each by a thread of its user's
    /// process.
    pub served: usize,
    /// Maximum number of connections of one user served at the same time. Others wait.
    pub served_of_one_user: usize,
    /// Maximum time that a connection waits to be served; then it is refused.
    pub patience: Duration,
}

impl Default for Crowd {
    fn default() -> Crowd {
        Crowd {
            connections: 16_384,
            of_one_user: 4096,
            served: 1024,
            served_of_one_user: 64,
            patience: Duration::from_secs(30),
        }
    }
}

/// The current counts.
#[derive(Debug, Default)]
pub(super) struct Counts {
    all: Count,
    by_user: HashMap<u32, Count>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    connections: usize,
    served: usize,
}

impl Counts {
    /// Counts a new connection; false if the limit is reached.
    pub(super) fn enter(&mut self, uid: u32, crowd: &Crowd) -> bool {
        let of_this = self.by_user.entry(uid).or_default();
        let may =
            self.all.connections < crowd.connections && of_this.connections < crowd.of_one_user;
        if may {
            of_this.connections += 1;
            self.all.connections += 1;
        } else if of_this.connections == 0 {
            self.by_user.remove(&uid);
        }
        may
    }

    /// Counts a connection that is gone.
    pub(super) fn leave(&mut self, uid: u32) {
        self.all.connections = self.all.connections.saturating_sub(1);
        if let Some(of_this) = self.by_user.get_mut(&uid) {
            of_this.connections = of_this.connections.saturating_sub(1);
            if of_this.connections == 0 {
                self.by_user.remove(&uid);
            }
        }
    }

    /// Counts a connection that begins to be served; false if the limit is reached.
    pub(super) fn begin(&mut self, uid: u32, crowd: &Crowd) -> bool {
        let Some(of_this) = self.by_user.get_mut(&uid) else {
            return false;
        };
        let may = self.all.served < crowd.served && of_this.served < crowd.served_of_one_user;
        if may {
            of_this.served += 1;
            self.all.served += 1;
        }
        may
    }

    /// Counts a connection that is not served any more.
    pub(super) fn end(&mut self, uid: u32) {
        self.all.served = self.all.served.saturating_sub(1);
        if let Some(of_this) = self.by_user.get_mut(&uid) {
            of_this.served = of_this.served.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_takes_all_the_room() {
        let crowd = Crowd {
            connections: 3,
            of_one_user: 2,
            served: 2,
            served_of_one_user: 1,
            ..Crowd::default()
        };
        let mut counts = Counts::default();
        let entered: Vec<bool> = [1, 1, 1, 2, 3]
            .into_iter()
            .map(|uid| counts.enter(uid, &crowd))
            .collect();
        assert_eq!(entered, [true, true, false, true, false]);
        let begun: Vec<bool> = [1, 1, 2, 3]
            .into_iter()
            .map(|uid| counts.begin(uid, &crowd))
            .collect();
        assert_eq!(begun, [true, false, true, false]);
        counts.end(1);
        counts.leave(1);
        assert!(counts.enter(3, &crowd) && counts.begin(3, &crowd));
        for uid in [1, 2, 3] {
            counts.leave(uid);
        }
        assert!(counts.by_user.is_empty());
    }
}
