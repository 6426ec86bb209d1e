//! Query engines of sets on local objects: what evaluates `prefix/\query\suffix`.
//!
//! | object | query | engine |
//! |---|---|---|
//! | directory | a find expression (empty: everything) | [`Directory`] |
//! | directory | SQL (`select …`, `with …`) | [`Directory`], by the program `trawl-sql` |
//! | SQLite file | SQL | [`Sqlite`] |
//! | Parquet file | SQL | [`Parquet`], by the program `trawl-sql` |
//!
//! HTML pages are answered by the crate `trawl-web`.
//!
//! Invariants: everything runs as the asking user, with the kernel's permissions; no query changes
//! anything; the text of a query is passed as one argument, never pasted into another one; streams
//! end soon after a cancel; what could not be read is a problem in the stream.
//!
//! This crate knows nothing of output or of the grammar of set pathnames.

#![forbid(unsafe_code)]

mod directory;
mod error;
mod expression;
mod head;
mod parquet;
mod relay;
mod sql;
mod sqlite;
mod words;

use std::path::PathBuf;
use std::sync::Arc;

pub use directory::Directory;
pub use error::EngineError;
pub use parquet::Parquet;
pub use sqlite::Sqlite;
use trawl_find::Contents;
use trawl_sets::expand::Engine;

/// What the engines need to know.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The index that the user named; `None` for those of the environment.
    pub index: Option<PathBuf>,
    /// Places where the program `trawl-sql` may be, the most likely first. A name without a slash
    /// is looked up in `PATH`.
    pub sql_programs: Vec<PathBuf>,
    /// What is known of files' contents, for find expressions.
    pub contents: Arc<Contents>,
}

/// Returns the engines of local objects, for [`trawl_sets::expand`].
pub fn engines(settings: &Settings) -> Vec<Arc<dyn Engine>> {
    vec![
        Arc::new(Directory::new(settings.clone())),
        Arc::new(Sqlite),
        Arc::new(Parquet::new(settings.clone())),
    ]
}
