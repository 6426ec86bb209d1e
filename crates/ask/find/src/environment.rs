//! The environment that parsing and running need to know, passed in so that
//! tests can choose it.

use std::sync::Arc;

use trawl_keywords::Contents;
use trawl_model::{SortKey, Timestamp};
use trawl_text::locale::Locale;
use trawl_text::quote::Terminal;
use trawl_text::zone::Zone;

use crate::foresight::Foresight;
use crate::grouping::{Grouping, NoGroups};
use crate::output::Output;
use crate::reference::References;

/// The environment of a search.
#[derive(Debug)]
pub struct Environment {
    /// The time at which the search begins.
    pub now: Timestamp,
    /// The character encoding of the locale.
    pub locale: Locale,
    /// Whether standard output is a terminal.
    pub terminal: Terminal,
    /// Whether to print warnings. GNU find does so if standard input is a
    /// terminal.
    pub warnings: Warnings,
    /// Returns the time zone that times are parsed and printed in.
    pub zone: fn() -> Zone,
    /// Size in bytes of the blocks that `-ls` counts: 1024, or 512 if
    /// `POSIXLY_CORRECT` is set.
    pub ls_block_bytes: u64,
    /// Whether `POSIXLY_CORRECT` is set: no warnings beyond POSIX, and patterns
    /// with the rules of POSIX.
    pub is_posix: bool,
    /// Called with the process id of each command that `-exec … {} +` has started with the names of
    /// many files.
    pub started: fn(i32),
    /// Returns what fetches files ahead of `-exec … ;`, if anything does.
    pub foresight: fn() -> Option<Box<dyn Foresight>>,
    /// What indexes know of files' contents.
    pub contents: Arc<Contents>,
    /// Finds files that belong together (`-group-of FILE`, `-related-to FILE`).
    pub grouping: Arc<dyn Grouping>,
    /// Attributes of files named by arguments (`-newer FILE`).
    pub references: Box<dyn References>,
    /// Writes the rows that `-sort` has sorted, for somebody who merges them with others; `None`
    /// prints them.
    pub framing: Option<Framing>,
}

/// Returns the bytes that stand for a row with this key and this output.
pub type Framing = fn(SortKey, Output) -> Vec<u8>;

/// Whether to warn of doubtful expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Warnings {
    /// `-warn`
    Shown,
    /// `-nowarn`
    Hidden,
}

impl Environment {
    /// The environment of the process: clock, locale, terminals, the live file
    /// system. No index knows contents, and no groups are known.
    pub fn of_process() -> Environment {
        let locale = Locale::from_env();
        let is_posix = std::env::var_os("POSIXLY_CORRECT").is_some();
        let now = trawl_sys::process::now();
        let watched = trawl_sys::process::is_terminal(std::io::stdout());
        let asked = trawl_sys::process::is_terminal(std::io::stdin());
        Environment {
            now: Timestamp {
                secs: now.secs,
                nanos: now.nanos,
            },
            locale,
            terminal: if watched {
                Terminal::Watched(locale)
            } else {
                Terminal::Absent
            },
            warnings: if asked {
                Warnings::Shown
            } else {
                Warnings::Hidden
            },
            zone: Zone::local,
            ls_block_bytes: if is_posix { 512 } else { 1024 },
            is_posix,
            started: |_| {},
            foresight: || None,
            contents: Arc::default(),
            grouping: Arc::new(NoGroups),
            references: Box::new(crate::reference::LiveFiles),
            framing: None,
        }
    }
}
