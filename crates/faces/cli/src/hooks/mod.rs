//! `trawl hooks`: shows the hooks ([`trawl_hooks`]), and what they find in files.

mod listing;
mod running;

use std::path::{Path, PathBuf};

use trawl_hooks::{HookError, Hooks, PROGRAM};
use trawl_report::Schema;

use crate::beside::places;
use crate::commands::{Class, IndexOption, Setting, Spec};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::forms::{FormArgs, Objects};

const EXAMPLES: &str = "\
Examples:
  trawl hooks list                          list the built-in hooks
  trawl hooks run report.pdf song.flac      show what they find in two files
  trawl hooks run --json src/*.c            show it as JSON
  trawl hooks list --hooks ~/hooks          list your own hooks, too
  trawl hooks run --hooks ~/hooks m31.fits  try them

A hook finds attributes, words and references to other files in a file. It runs
in a sandbox and gets the open file, never its path: docs/hooks.md explains how to
write one.

Exit codes: 0 complete, 1 a file could not be read or a hook reported a problem,
2 wrong usage or a fatal error.";

// Options of `trawl hooks`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct HooksArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List the hooks and the files that they accept
    List(ListArgs),
    /// Show what the hooks find in files
    Run(RunArgs),
}

/// Options of `trawl hooks list`.
#[derive(Debug, clap::Args)]
struct ListArgs {
    #[command(flatten)]
    directories: Directories,
    #[command(flatten)]
    form: FormArgs<Objects>,
}

/// Options of `trawl hooks run`.
#[derive(Debug, clap::Args)]
struct RunArgs {
    /// Run the hooks on these files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    directories: Directories,
    #[command(flatten)]
    form: FormArgs<Objects>,
}

// Where users' hooks are.
#[derive(Debug, clap::Args)]
pub(crate) struct Directories {
    /// Use the hooks in DIR, too; may be repeated
    #[arg(long, value_name = "DIR")]
    hooks: Vec<PathBuf>,
}

/// Variable that names the directory of the hooks that every command uses.
pub(crate) const DIRECTORY_VARIABLE: &str = "TRAWL_HOOKS";
/// That directory, if the variable is not set.
const DIRECTORY: &str = "/etc/trawl/hooks";

/// Returns the built-in hooks and those that are installed on this machine.
pub(crate) fn installed() -> Result<Hooks, HookError> {
    let mut places = places(PROGRAM).into_iter();
    let program = places.find(|place| place.is_file());
    let mut hooks = Hooks::new(program.unwrap_or_else(|| PathBuf::from(PROGRAM)));
    match std::env::var_os(DIRECTORY_VARIABLE) {
        // An empty value turns them off.
        Some(given) if given.is_empty() => {}
        Some(given) => hooks.add_directory(Path::new(&given))?,
        None if Path::new(DIRECTORY).exists() => hooks.add_directory(Path::new(DIRECTORY))?,
        None => {}
    }
    Ok(hooks)
}

impl Directories {
    /// Returns whether all hooks are built in or installed.
    pub(crate) fn are_installed_only(&self) -> bool {
        self.hooks.is_empty()
    }

    /// Returns all hooks.
    pub(crate) fn load(&self) -> Result<Hooks, Failure> {
        let mut hooks = installed()?;
        for directory in &self.hooks {
            hooks.add_directory(directory)?;
        }
        Ok(hooks)
    }
}

impl Spec for HooksArgs {
    const ABOUT: &'static str = "Show what hooks find in files: attributes, words, references";
    const CLASS: Class = Class::Other;
    const INDEX: IndexOption = IndexOption::None;
    const SEE_ALSO: &'static [&'static str] = &["trawl-grep(1)", "landlock(7)", "seccomp(2)"];
    const REPORTS: &'static [&'static Schema] = &[&listing::SCHEMA, &running::SCHEMA];

    fn run(&self, _: Setting<'_>) -> Result<Exit, Failure> {
        match &self.action {
            Action::List(args) => listing::run(args),
            Action::Run(args) => running::run(args),
        }
    }
}
