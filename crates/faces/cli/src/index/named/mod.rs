//! `trawl index define`, `list`, `show` and `drop`: named indices ([`trawl_indices`]).

mod define;
mod graph;
mod list;
mod show;
mod value;

pub(super) use define::update_all;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use trawl_indexer::Job;
use trawl_model::path;

use crate::commands::Setting;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::end_quietly_on_closed_pipe;

pub(super) use list::SCHEMA as LIST;
pub(super) use show::SCHEMA as SHOW;

// The actions of `trawl index` besides scans. (A doc comment would replace the command's own text.)
#[derive(Debug, clap::Subcommand)]
#[command(disable_help_subcommand = true)]
pub(super) enum Action {
    /// Declare a named index over attributes, and make it
    Define(define::DefineArgs),
    /// List the named indices, and what they cover
    List(list::ListArgs),
    /// Show the entries of a named index, in the order of their values, or the neighbours of a file
    Show(show::ShowArgs),
    /// Remove a named index
    Drop(define::DropArgs),
}

impl Action {
    pub(super) fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
        if matches!(self, Action::List(_) | Action::Show(_)) {
            end_quietly_on_closed_pipe();
        }
        match self {
            Action::Define(args) => define::define(args, setting),
            Action::List(args) => list::run(args, setting),
            Action::Show(args) => show::run(args, setting),
            Action::Drop(args) => define::drop(args, setting),
        }
    }
}

// The index that an action is about.
#[derive(Debug, clap::Args)]
struct In {
    /// Use the index in DIR
    #[arg(short, long, value_name = "DIR")]
    index: Option<PathBuf>,
}

impl In {
    fn or(&self, setting: &Setting<'_>) -> Option<PathBuf> {
        self.index.clone().or_else(|| setting.index.clone())
    }
}

/// Returns the absolute path of what an action is about: as the live file system resolves it, or as it
/// is given where it is in the index alone, as what came from a trace is.
fn asked(given: &OsStr) -> Result<Vec<u8>, Failure> {
    let resolved = Job::Walk(given.into()).root();
    let as_given = path::normalize(given.as_bytes());
    Ok(resolved.or_else(|error| as_given.ok_or(error))?)
}
