//! Exit codes: one enum and how several of them become one.
//!
//! 0 complete, 1 complete but for what could not be read, 2 usage or fatal,
//! 130 interrupted (128 + SIGINT, as shells report it). A path that is not
//! there is 1 for `du` and `stat` and 2 for `ls`, as the GNU tools have it;
//! `trawl find` keeps GNU find's codes, which are 0 and 1, and `trawl locate`
//! plocate's: 1 if nothing matched.

use std::process::ExitCode;

/// How a command ended, from best to worst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Everything that was asked for was answered.
    #[default]
    Complete,
    /// Answered: there is no such thing; only `trawl locate` ends so.
    Unmatched,
    /// Answered, but a part of what was asked for could not be read.
    Issues,
    /// Wrong usage, or nothing could be done.
    Fatal,
    /// Stopped by SIGINT, SIGTERM or SIGHUP.
    Interrupted,
    /// What GNU find would return; only `trawl find` ends so.
    Find(u8),
    /// What a command that was run ended with; only `trawl run` ends so.
    Command(u8),
}

impl Exit {
    /// The number that the process ends with.
    pub const fn code(self) -> u8 {
        match self {
            Exit::Complete => 0,
            Exit::Unmatched | Exit::Issues => 1,
            Exit::Fatal => 2,
            Exit::Interrupted => 130,
            Exit::Find(code) | Exit::Command(code) => code,
        }
    }

    /// The end of a command whose parts ended as `self` and `other`: the
    /// worse of them.
    #[must_use]
    pub fn and(self, other: Exit) -> Exit {
        self.max(other)
    }

    /// [`Exit::Issues`] if there were any.
    pub const fn from_issues(count: u64) -> Exit {
        if count == 0 {
            Exit::Complete
        } else {
            Exit::Issues
        }
    }
}

impl FromIterator<Exit> for Exit {
    fn from_iter<I: IntoIterator<Item = Exit>>(parts: I) -> Exit {
        parts.into_iter().fold(Exit::Complete, Exit::and)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_part_wins_in_any_order() {
        use Exit::{Complete, Fatal, Interrupted, Issues};
        for (a, b, both) in [
            (Complete, Complete, Complete),
            (Complete, Issues, Issues),
            (Issues, Fatal, Fatal),
            (Complete, Fatal, Fatal),
            (Fatal, Interrupted, Interrupted),
        ] {
            assert_eq!(a.and(b), both);
            assert_eq!(b.and(a), both);
        }
        assert_eq!(Exit::from_iter([]), Complete);
        assert_eq!(Exit::from_iter([Issues, Complete, Issues]), Issues);
    }

    #[test]
    fn codes_are_those_of_the_manual() {
        let codes = [Exit::Complete, Exit::Issues, Exit::Fatal, Exit::Interrupted];
        assert_eq!(codes.map(Exit::code), [0, 1, 2, 130]);
        assert_eq!(Exit::from_issues(0), Exit::Complete);
        assert_eq!(Exit::from_issues(7), Exit::Issues);
    }
}
