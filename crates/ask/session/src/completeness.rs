//! How complete an answer is.

/// The gaps of an answer. By default there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completeness {
    /// Number of paths of the question that do not exist, or that cannot be looked up or listed.
    pub missing: u64,
    /// Number of entries below the paths that were reported because the user may not list them, or
    /// because they lead to nothing that can be looked up.
    pub unreachable: u64,
    /// Number of sources that may be out of date.
    pub behind: u64,
    /// Number of parts that the index lacks because they could not be read.
    pub unread: u64,
}

impl Completeness {
    /// Returns true if nothing is missing.
    pub fn is_complete(&self) -> bool {
        *self == Completeness::default()
    }

    /// Adds what another part of the answer lacks.
    pub fn add(&mut self, other: &Completeness) {
        self.missing += other.missing;
        self.unreachable += other.unreachable;
        self.behind += other.behind;
        self.unread += other.unread;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_gap_makes_an_answer_incomplete() {
        let mut whole = Completeness::default();
        assert!(whole.is_complete());
        whole.add(&Completeness {
            behind: 1,
            ..Completeness::default()
        });
        assert!(!whole.is_complete());
    }
}
