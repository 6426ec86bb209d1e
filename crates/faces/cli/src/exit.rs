//! Exit codes: one enum, and the rule that combines several of them.
//!
//! 0 is complete, 1 complete except for parts that could not be read, 2 wrong usage or a fatal
//! error, 130 interrupted (128 + SIGINT, as shells report it). For a path that does not exist `du`
//! and `stat` return 1 and `ls` returns 2, as the GNU tools do. `trawl find` keeps GNU find's
//! codes, which are 0 and 1, and `trawl locate` keeps plocate's: 1 if nothing matched.

use std::process::ExitCode;

/// How a command ended, from best to worst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Everything that was asked for was answered.
    #[default]
    Complete,
    /// Answered: nothing matched. Only `trawl locate` ends this way.
    Unmatched,
    /// Answered, but a part could not be read.
    Issues,
    /// Wrong usage or a fatal error.
    Fatal,
    /// Stopped by SIGINT, SIGTERM or SIGHUP.
    Interrupted,
    /// The code that GNU find would return. Only `trawl find` ends this way.
    Find(u8),
    /// The exit code of the command that was run. Only `trawl run` ends this way.
    Command(u8),
}

impl Exit {
    /// Returns the exit code of the process.
    pub const fn code(self) -> u8 {
        match self {
            Exit::Complete => 0,
            Exit::Unmatched | Exit::Issues => 1,
            Exit::Fatal => 2,
            Exit::Interrupted => 130,
            Exit::Find(code) | Exit::Command(code) => code,
        }
    }

    /// Combines the ends of two parts of a command: the worse one counts.
    #[must_use]
    pub fn and(self, other: Exit) -> Exit {
        self.max(other)
    }

    /// Returns [`Exit::Issues`] if `count` is not 0, else [`Exit::Complete`].
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
