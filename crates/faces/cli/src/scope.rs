//! Sessions of the command line: [`trawl_session`]'s, with notices on standard error and an exit
//! code for what an answer lacks.

use std::ops::{Deref, DerefMut};
use std::path::PathBuf;

use trawl_model::rows::Row;
use trawl_query::Start;
use trawl_session::{Completeness, NotIndexed, Notice, Options, Report, settings};

pub(crate) use trawl_session::spelling::{join_printed, printed_path};
pub(crate) use trawl_session::{Denials, Depth, Follow, PATHS_AT_ONCE, Part};

use crate::arguments::Manner;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{say, say_with_others};

/// One question, and how the command ends.
pub(crate) struct Session {
    session: trawl_session::Session<'static>,
    /// How the command ends if a path that it was given does not exist.
    if_missing: Exit,
    exit: Exit,
}

impl Session {
    /// Opens the index. `if_missing` says how the command ends if a path that it was given does not
    /// exist: as the GNU tool of the same name does.
    pub(crate) fn open(
        index: Option<PathBuf>,
        manner: Manner,
        if_missing: Exit,
    ) -> Result<Session, Failure> {
        manner.prepare();
        let indexes = settings::indexes_to_ask(index)?;
        Ok(Session {
            session: trawl_session::Session::open(&indexes, manner.options())?,
            if_missing,
            exit: Exit::Complete,
        })
    }

    /// Records that something could not be answered as it was asked.
    pub(crate) fn worsen(&mut self, exit: Exit) {
        self.exit = self.exit.and(exit);
    }

    /// Reports issues and, with `--status`, how fresh the answer is. Returns how the command ends.
    pub(crate) fn finish(self) -> Result<Exit, Failure> {
        let lacking = self.session.finish();
        Ok(self.exit.and(exit_of(&lacking, self.if_missing)))
    }
}

impl Deref for Session {
    type Target = trawl_session::Session<'static>;

    fn deref(&self) -> &Self::Target {
        &self.session
    }
}

impl DerefMut for Session {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.session
    }
}

/// Returns how a command ends whose answer lacks this.
pub(crate) fn exit_of(lacking: &Completeness, if_missing: Exit) -> Exit {
    let issues = lacking.unreachable + lacking.behind + lacking.unread;
    match lacking.missing {
        0 => Exit::from_issues(issues),
        _ => Exit::from_issues(issues).and(if_missing),
    }
}

impl Manner {
    /// Returns the options of a session: notices go to standard error, and an interrupt ends it.
    pub(crate) fn options(self) -> Options<'static> {
        Options {
            when: self.when(),
            report: match self.status {
                true => Report::Status,
                false => Report::Gaps,
            },
            interrupts: crate::live::interrupts(),
            listener: &say_notice,
        }
    }
}

/// Prints a notice.
pub(crate) fn say_notice(notice: Notice) {
    match notice {
        Notice::Denied { .. } => say_with_others(notice),
        notice => say(notice),
    }
}

/// Returns the message about a path outside every source. `nearest` is the root that shares most of
/// the path, or `None` if the asker sees no source.
pub(crate) fn not_indexed(path: &[u8], nearest: Option<&[u8]>) -> String {
    let outside = NotIndexed {
        path: path.to_vec(),
        nearest: nearest.map(<[u8]>::to_vec),
    };
    outside.to_string()
}

/// Returns the row of the start itself.
pub(crate) fn row_of(start: &Start) -> Row<'_> {
    start.own_row()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_says_what_is_lacking() {
        let lacking = |missing, unread| Completeness {
            missing,
            unread,
            ..Completeness::default()
        };
        assert_eq!(exit_of(&lacking(0, 0), Exit::Fatal), Exit::Complete);
        assert_eq!(exit_of(&lacking(0, 2), Exit::Fatal), Exit::Issues);
        assert_eq!(exit_of(&lacking(1, 2), Exit::Fatal), Exit::Fatal);
        assert_eq!(exit_of(&lacking(1, 0), Exit::Issues), Exit::Issues);
    }
}
