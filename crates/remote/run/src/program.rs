//! A command that sees trees of other machines, or whose calls are answered from tables.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use trawl_table_index::Use;
use trawl_table_service::KnownNames;

use crate::child;
use crate::error::RunError;
use crate::notice::{Notice, Tell};
use crate::preload::{self, Preload, Wishes};
use crate::trees::{self, TreeOptions, Way};

/// A command and what it sees.
#[derive(Clone, Debug)]
pub struct Program {
    /// The program and its arguments: at least one word.
    pub words: Vec<OsString>,
    /// Trees of servers, each as `SERVER:/PATH=/POINT`. If there are none, calls about directories
    /// of this machine are answered from tables.
    pub remotes: Vec<OsString>,
    /// How the servers are asked.
    pub options: TreeOptions,
    /// How their trees are shown.
    pub way: Way,
    /// Whether programs see only the mounts, without tables.
    pub is_mount_alone: bool,
    /// The directories of this machine that are answered for; none for the working directory.
    pub covered: Vec<PathBuf>,
    /// Options of tables.
    pub wishes: Wishes,
    /// When names in tables of this machine's trees come from the index; `None` for never.
    pub names: Option<Use>,
    /// The index that the user named, if any.
    pub index: Option<PathBuf>,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// With this exit code: the command's own, 128 plus the number of the signal that ended it, 127
    /// if it does not exist, or 126 if it cannot be run.
    Code(u8),
    /// With exit code 0, but a part of a tree could not be shown to it.
    Incomplete,
}

impl Program {
    /// Returns the source that knows names without a walk.
    fn known(&self, tell: &Tell) -> Option<Arc<dyn KnownNames>> {
        preload::known(self.index.clone(), self.names?, tell)
    }
}

/// Runs a command, waits for it, and returns how it ended.
///
/// # Errors
/// Fails if a server cannot be asked, or a tree cannot be shown.
pub fn run(program: &Program, tell: &Tell) -> Result<Ended, RunError> {
    let shown = trees::prepare(&program.remotes, &program.options, tell)?;
    let wishes = program.wishes;
    let preload = || match program.remotes.is_empty() {
        true => Preload::start(&program.covered, wishes, program.known(tell), tell),
        false if program.is_mount_alone => None,
        false => Preload::of_mounts(&shown, wishes, tell),
    };
    let code = child::run(&program.words, &shown, program.way, preload, tell)?;
    let failed = shown.iter().find(|shown| shown.tree().has_failed());
    match failed {
        // The command may have taken missing parts for empty ones.
        Some(failed) if code == 0 => {
            let tree = failed.tree().name().to_owned();
            tell(&Notice::Incomplete { tree });
            Ok(Ended::Incomplete)
        }
        _ => Ok(Ended::Code(code)),
    }
}
