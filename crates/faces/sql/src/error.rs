//! Errors as they are shown to the user.

use std::io;
use std::path::PathBuf;

use datafusion::error::DataFusionError;
use trawl_cli::exit::Exit;

/// A result of this crate.
pub(crate) type Result<T> = std::result::Result<T, SqlError>;

/// The reason why a statement or an export did not complete.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum SqlError {
    /// The index could not be opened or read.
    #[error(transparent)]
    Query(#[from] trawl_query::QueryError),
    /// The index could not be opened or read, as the writer's crate reports it.
    #[error(transparent)]
    Index(#[from] trawl_format::IndexError),
    /// The engine rejects a statement or cannot answer it.
    #[error("{}", plain(.0))]
    Engine(#[from] DataFusionError),
    /// Groups of files could not be computed.
    #[error(transparent)]
    Groups(trawl_groups::GroupsError),
    /// What makes groups of files cannot be read.
    #[error("{0}")]
    Grouping(String),
    /// What relates files cannot be read.
    #[error("{0}")]
    Relating(String),
    /// The statement does more than read.
    #[error("{what} is not allowed: queries only read the index")]
    NotAllowed {
        /// The statement, or the part of it.
        what: String,
    },
    /// A statement nests too deep to be planned.
    #[error(
        "the statement nests {depth} levels deep or chains as many operators; the limit is {most}: \
         write a list, as in x IN (1, 2, 3), or several statements"
    )]
    TooDeep {
        /// An upper bound of its depth.
        depth: usize,
        /// The maximum depth.
        most: usize,
    },
    /// An option or a statement makes no sense.
    #[error("{0}")]
    Usage(String),
    /// A path to export does not exist in the index.
    #[error("cannot export {path}: {why}")]
    NotThere {
        /// The path, as shown.
        path: String,
        /// The reason.
        why: &'static str,
    },
    /// A file is no Parquet file, or a damaged one.
    #[error("{} is not a Parquet file that can be read: {why}", path.display())]
    BadParquet {
        /// Its path.
        path: PathBuf,
        /// The mistake in it.
        why: String,
    },
    /// The column of paths is neither text nor bytes.
    #[error("the column {column} has no paths: select the path first, or name the column path")]
    NoPath {
        /// Its name.
        column: String,
    },
    /// No source has a snapshot for the requested time.
    #[error("cannot answer about {}: {why}", trawl_model::escape::escape(.path))]
    NoSnapshot {
        /// The root of one of the sources.
        path: Vec<u8>,
        /// The reason.
        why: String,
    },
    /// An export cannot be written.
    #[error(transparent)]
    Export(#[from] trawl_cli::export::ExportError),
    /// A file could not be made, read or written.
    #[error("cannot {action} {}: {}", path.display(), trawl_cli::sql::cause(source))]
    File {
        /// The attempted operation, as an infinitive.
        action: &'static str,
        /// The path it was attempted on.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The output file exists; files are never overwritten.
    #[error("{} already exists: remove it, or name another file", .0.display())]
    IsThere(PathBuf),
    /// Standard output cannot be written to.
    #[error("cannot write to standard output: {0}")]
    Write(io::Error),
    /// The engine's threads could not be started.
    #[error("cannot start threads: {0}; try again with --threads 1")]
    Threads(io::Error),
    /// A statement exceeded its time limit.
    #[error("given up after {seconds} s, as --timeout says")]
    TimedOut {
        /// The limit.
        seconds: f64,
    },
    /// A signal interrupted the statement.
    #[error("interrupted")]
    Interrupted,
}

impl From<trawl_groups::GroupsError> for SqlError {
    fn from(error: trawl_groups::GroupsError) -> SqlError {
        match error {
            trawl_groups::GroupsError::Query(error) => SqlError::Query(error),
            error => SqlError::Groups(error),
        }
    }
}

impl SqlError {
    /// Returns true if the reader of the output has closed it.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, SqlError::Write(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Returns the exit code for this error.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            SqlError::Interrupted | SqlError::Query(trawl_query::QueryError::Cancelled) => {
                Exit::Interrupted
            }
            _ => Exit::Fatal,
        }
    }
}

/// Returns the engine's message without its own categories, which mean nothing to users.
fn plain(error: &DataFusionError) -> String {
    let root = error.find_root();
    let text = match root {
        DataFusionError::External(cause) => cause.to_string(),
        DataFusionError::ResourcesExhausted(text) => out_of_memory(text),
        DataFusionError::SQL(error, _) => error.to_string(),
        _ => root.strip_backtrace(),
    };
    let known = [
        "Error during planning: ",
        "Execution error: ",
        "Schema error: ",
        "sql parser error: ",
        "Arrow error: ",
        "Optimizer rule",
    ];
    let short = known
        .iter()
        .find_map(|prefix| text.strip_prefix(prefix))
        .unwrap_or(&text);
    first_letter_small(&short.replace(OWN_SCHEMA, ""))
}

/// The prefix that the engine adds to table names; users need not write it.
const OWN_SCHEMA: &str = "datafusion.public.";

/// Shortens an out-of-memory message. The engine lists the largest consumers over several lines;
/// the last line names the failed request.
fn out_of_memory(text: &str) -> String {
    let last = text.lines().last().unwrap_or_default();
    let last = first_letter_small(last.strip_prefix("Error: ").unwrap_or(last));
    format!("not enough memory: {last}; raise it with --memory-limit or ask for less at once")
}

fn first_letter_small(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        // Names and keywords keep their case.
        Some(first) if letters.clone().next().is_some_and(char::is_lowercase) => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_without_categories() {
        let error = DataFusionError::Plan("No such column".into());
        assert_eq!(SqlError::Engine(error).to_string(), "no such column");
        let error = DataFusionError::Plan("table 'datafusion.public.x' not found".into());
        assert_eq!(SqlError::Engine(error).to_string(), "table 'x' not found");
        let error = DataFusionError::ResourcesExhausted("Who:\n  a, b.\nError: Failed so".into());
        assert!(
            SqlError::Engine(error)
                .to_string()
                .starts_with("not enough memory: failed so; ")
        );
        let error = DataFusionError::Execution("SELECT is odd".into());
        assert_eq!(SqlError::Engine(error).to_string(), "SELECT is odd");
        assert_eq!(SqlError::Interrupted.exit(), Exit::Interrupted);
    }
}
