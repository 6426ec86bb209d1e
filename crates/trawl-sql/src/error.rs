//! What can go wrong, as it is told to the user.

use std::io;
use std::path::PathBuf;

use datafusion::error::DataFusionError;
use trawl_cli::exit::Exit;

/// This crate's results.
pub(crate) type Result<T> = std::result::Result<T, SqlError>;

/// Why a statement or an export did not reach its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum SqlError {
    /// The index could not be opened or read.
    #[error(transparent)]
    Query(#[from] trawl_query::QueryError),
    /// The same, from below.
    #[error(transparent)]
    Index(#[from] trawl_index::IndexError),
    /// The engine does not accept or cannot answer a statement.
    #[error("{}", plain(.0))]
    Engine(#[from] DataFusionError),
    /// The statement is of a kind that does more than read.
    #[error("{what} is not allowed: queries only read the index")]
    NotAllowed {
        /// The statement or the part of it.
        what: String,
    },
    /// A statement is too deep to be planned.
    #[error(
        "the statement nests {depth} deep or chains as many operators, and {most} is the most: \
         write a list, as in x IN (1, 2, 3), or several statements"
    )]
    TooDeep {
        /// How deep, at most.
        depth: usize,
        /// How deep it may be.
        most: usize,
    },
    /// An option or a statement makes no sense.
    #[error("{0}")]
    Usage(String),
    /// A path that is to be exported is not there.
    #[error("cannot export {path}: {why}")]
    NotThere {
        /// The path, as it is shown.
        path: String,
        /// Why not.
        why: &'static str,
    },
    /// No source has a snapshot of the time that is asked about.
    #[error("cannot answer about {}: {why}", trawl_model::escape::escape(.path))]
    NoSnapshot {
        /// The root of one of them.
        path: Vec<u8>,
        /// Why not.
        why: String,
    },
    /// A file could not be made, read or written.
    #[error("cannot {action} {}: {}", path.display(), trawl_cli::sql::cause(source))]
    File {
        /// What was tried, as an infinitive.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// No file is written over.
    #[error("{} is there already: remove it, or name another file", .0.display())]
    IsThere(PathBuf),
    /// Standard output takes no more.
    #[error("cannot write to standard output: {0}")]
    Write(io::Error),
    /// The engine's threads could not be started.
    #[error("cannot start threads: {0}; try again with --threads 1")]
    Threads(io::Error),
    /// A statement took longer than it may.
    #[error("given up after {seconds} s, as --timeout says")]
    TimedOut {
        /// How long that is.
        seconds: f64,
    },
    /// A signal asked for the end.
    #[error("interrupted")]
    Interrupted,
}

impl SqlError {
    /// True if whoever read the output has enough.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, SqlError::Write(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// How the program ends after it.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            SqlError::Interrupted | SqlError::Query(trawl_query::QueryError::Cancelled) => {
                Exit::Interrupted
            }
            _ => Exit::Fatal,
        }
    }
}

/// The engine's words without its own categories, which tell users nothing.
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

/// What the engine puts before names of tables, which nobody has to write.
const OWN_SCHEMA: &str = "datafusion.public.";

/// The engine lists who uses how much over several lines; the last one says
/// what was too much.
fn out_of_memory(text: &str) -> String {
    let last = text.lines().last().unwrap_or_default();
    let last = first_letter_small(last.strip_prefix("Error: ").unwrap_or(last));
    format!("not enough memory: {last}; raise it with --memory-limit or ask for less at once")
}

fn first_letter_small(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        // Names and keywords stay as they are.
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
