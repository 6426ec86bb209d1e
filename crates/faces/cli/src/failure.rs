//! Reasons why a command failed. Each ends the command with exit code 2, except an interrupt.

use std::io;
use std::path::PathBuf;

use trawl_answers::AnswerError;
use trawl_daemon::DaemonError;
use trawl_find::driver::DriverError;
use trawl_groups::GroupsError;
use trawl_indexer::IndexerError;
use trawl_open::AskError;
use trawl_report::ReportError;
use trawl_session::SessionError;

use crate::exit::Exit;

pub use trawl_text::words::cause;
pub(crate) use trawl_text::words::{quoted, shown};

/// An error, with the text that the user reads.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Failure {
    /// Standard output cannot be written.
    #[error("cannot write to standard output: {}", cause(.0))]
    Write(io::Error),
    /// There is no default index, because the home directory is unknown.
    #[error("cannot find the index, because HOME is not set: name it with -i DIR or TRAWL_INDEX")]
    NoHome,
    /// Options that are invalid or contradict each other.
    #[error("{0}")]
    Usage(String),
    /// The working directory is needed but cannot be determined.
    #[error("cannot determine the working directory: {}; give absolute paths", cause(.0))]
    NoWorkingDirectory(io::Error),
    /// A file could not be created, read or written.
    #[error("cannot {action} {}: {}", path.display(), cause(source))]
    File {
        /// The operation, as an infinitive.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The index could not be read or written.
    #[error(transparent)]
    Index(#[from] trawl_format::IndexError),
    /// A source could not be watched.
    #[error(transparent)]
    Daemon(DaemonError),
    /// The index could not be queried.
    #[error(transparent)]
    Query(#[from] trawl_query::QueryError),
    /// A scan did not finish.
    #[error(transparent)]
    Scan(trawl_scan::ScanError<trawl_format::IndexError>),
    /// An index could not be made, maintained or checked.
    #[error(transparent)]
    Indexer(IndexerError),
    /// A search could not be started, or ended early.
    #[error(transparent)]
    Call(#[from] trawl_call::CallError),
    /// A server could not be asked, or a client could not be served.
    #[error(transparent)]
    Remote(#[from] trawl_remote::RemoteError),
    /// A command could not be run, or a tree could not be mounted or served.
    #[error(transparent)]
    Run(#[from] trawl_run::RunError),
    /// Hooks could not be loaded.
    #[error(transparent)]
    Hooks(#[from] trawl_hooks::HookError),
    /// Groups could not be computed, shown or edited.
    #[error(transparent)]
    Groups(GroupsError),
    /// A view could not be defined, shown or mounted.
    #[error(transparent)]
    View(#[from] trawl_views::ViewError),
    /// Relations could not be recorded or told.
    #[error(transparent)]
    Relations(#[from] trawl_relations::RelationError),
    /// Tokens or sessions could not be read or changed.
    #[error(transparent)]
    Identity(#[from] trawl_identity::IdentityError),
    /// A report could not be sent.
    #[error("cannot send the report with {}: {why}", program.display())]
    Mail {
        /// The program that sends mail.
        program: PathBuf,
        /// The reason.
        why: String,
    },
    /// A signal asked the command to stop.
    #[error("interrupted")]
    Interrupted,
}

impl From<ReportError> for Failure {
    fn from(error: ReportError) -> Failure {
        match error {
            ReportError::Write(error) => Failure::Write(error),
            other => Failure::Usage(other.to_string()),
        }
    }
}

impl Failure {
    /// Returns true if the reader of the output has closed the pipe.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Failure::Write(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Returns true if no index exists at the expected place.
    pub(crate) fn is_missing_index(&self) -> bool {
        use trawl_format::IndexError;
        use trawl_query::QueryError;
        matches!(
            self,
            Failure::Index(IndexError::NoIndex { .. })
                | Failure::Query(QueryError::Index(IndexError::NoIndex { .. }))
                | Failure::NoHome
        )
    }

    /// Returns how the process ends after this failure.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Failure::Interrupted | Failure::Query(trawl_query::QueryError::Cancelled) => {
                Exit::Interrupted
            }
            _ => Exit::Fatal,
        }
    }
}

impl From<AskError> for Failure {
    fn from(error: AskError) -> Failure {
        match error {
            AskError::NoHome => Failure::NoHome,
            AskError::Query(error) => Failure::Query(error),
            error => Failure::Usage(error.to_string()),
        }
    }
}

impl From<DaemonError> for Failure {
    fn from(error: DaemonError) -> Failure {
        match error {
            DaemonError::Index(error) => Failure::Index(error),
            DaemonError::Query(error) => Failure::Query(error),
            DaemonError::Interrupted => Failure::Interrupted,
            error => Failure::Daemon(error),
        }
    }
}

impl From<GroupsError> for Failure {
    fn from(error: GroupsError) -> Failure {
        match error {
            GroupsError::Session(error) => Failure::from(error),
            GroupsError::Query(error) => Failure::Query(error),
            error => Failure::Groups(error),
        }
    }
}

impl From<IndexerError> for Failure {
    fn from(error: IndexerError) -> Failure {
        match error {
            IndexerError::Index(error) => Failure::Index(error),
            IndexerError::Query(error) => Failure::Query(error),
            IndexerError::Interrupted => Failure::Interrupted,
            error => Failure::Indexer(error),
        }
    }
}

impl From<AnswerError> for Failure {
    fn from(error: AnswerError) -> Failure {
        match error {
            AnswerError::Session(error) => Failure::from(error),
            AnswerError::Search(error) => Failure::from(error),
            AnswerError::FilesOfPast => {
                Failure::Usage("--verify reads the files of now: leave out --verify or --at".into())
            }
            AnswerError::FilesOfRecording => Failure::Usage(
                "--verify reads files, but the index holds only a recording of them: leave it out"
                    .into(),
            ),
            error => Failure::Usage(error.to_string()),
        }
    }
}

impl From<DriverError> for Failure {
    fn from(error: DriverError) -> Failure {
        match error {
            DriverError::Query(error) => Failure::Query(error),
            DriverError::Write(error) => Failure::Write(error),
            other => Failure::Usage(other.to_string()),
        }
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Failure {
        match error {
            SessionError::Ask(error) => Failure::from(error),
            SessionError::NoWorkingDirectory(error) => Failure::NoWorkingDirectory(error),
            SessionError::File {
                action,
                path,
                source,
            } => Failure::File {
                action,
                path,
                source,
            },
            SessionError::Index(error) => Failure::Index(error),
            SessionError::Query(error) => Failure::Query(error),
            SessionError::Scan(error) => Failure::Scan(error),
            SessionError::Interrupted => Failure::Interrupted,
            error => Failure::Usage(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_lower_case() {
        let full = Failure::Write(io::Error::from_raw_os_error(28));
        assert_eq!(
            full.to_string(),
            "cannot write to standard output: no space left on device"
        );
        assert_eq!(full.exit(), Exit::Fatal);
        assert_eq!(Failure::Interrupted.exit(), Exit::Interrupted);
    }
}
