//! What sets are opened with, in one place for the command line, the C library and the Python
//! package: the executor that expands wildcards, the openers of members, and, for libraries, the
//! program that evaluates queries.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use trawl_open::search::{Choice, Deferred};
use trawl_remote::mounts::with_servers;
use trawl_sets::expand::{Attribute, Commands, Engine, Expander, Order, Program};
use trawl_sets::source::Share;
use trawl_sets::{Local, Names, Opener, Options, Set, SetError, SetName};

use crate::Servers;

/// Returns what expands names, without engines, and the openers of files at servers and of local
/// files, in the order in which they are asked; `local` is the latter. Nothing is asked before a
/// name needs it.
pub fn sources(choice: Choice, local: Arc<dyn Opener>) -> (Expander, Vec<Arc<dyn Opener>>) {
    let mut expander = Expander::new(Arc::new(Deferred::new(choice, with_servers)));
    let servers = Arc::new(Servers::default());
    expander.servers = Some(servers.executor());
    (expander, vec![servers, local])
}

/// Whether the user's environment and settings may be obeyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Environment {
    /// They may.
    Trusted,
    /// The program has more rights than its user: no server is reached with the programs and files
    /// that settings name, and no program evaluates queries.
    Untrusted,
}

/// What a library's caller may wish for a set.
pub struct Wishes {
    /// Limits, and whether members come in order; names then come in the order of csh, too.
    pub options: Options,
    /// What answers wildcards.
    pub choice: Choice,
    /// Whether commands in names are run.
    pub commands: Commands,
    /// Whether attributes come with names.
    pub attributes: Attribute,
    /// Whether the environment may be obeyed.
    pub environment: Environment,
    /// Number of the share of the names that the set has, and of all shares; see [`Share`].
    pub share: Option<(u64, u64)>,
    /// Engines that are asked before the program that evaluates queries.
    pub engines: Vec<Arc<dyn Engine>>,
    /// Openers that are asked first.
    pub openers: Vec<Arc<dyn Opener>>,
}

impl Wishes {
    /// Wishes nothing but this executor.
    pub fn new(choice: Choice) -> Wishes {
        Wishes {
            options: Options::default(),
            choice,
            commands: Commands::default(),
            attributes: Attribute::default(),
            environment: Environment::Trusted,
            share: None,
            engines: Vec::new(),
            openers: Vec::new(),
        }
    }

    /// Opens a set of these names. Queries that no given engine accepts are evaluated by the
    /// program `trawl`: `TRAWL_PROGRAM`, or `trawl` in a directory of `PATH`.
    ///
    /// # Errors
    /// As [`Set::open`].
    pub fn open(self, names: Vec<SetName>) -> Result<Set, SetError> {
        let (mut expander, mut openers) = sources(self.choice, Arc::new(Local::default()));
        let is_trusted = self.environment == Environment::Trusted;
        expander.engines = self.engines;
        if is_trusted {
            expander.engines.extend(program(&names));
        } else {
            expander.servers = None;
            openers = vec![Arc::new(Local::default())];
        }
        expander.commands = self.commands;
        expander.attributes = self.attributes;
        if self.options.ordered {
            expander.order = Order::Csh;
        }
        openers.splice(0..0, self.openers);
        let mut names: Box<dyn Names> = Box::new(expander.expand(names));
        if let Some((index, count)) = self.share {
            names = Box::new(Share::new(names, index, count));
        }
        Set::open(names, openers, self.options)
    }
}

/// Returns the engine that is the program, if there is one and a name has a query.
fn program(names: &[SetName]) -> Option<Arc<dyn Engine>> {
    // Only queries need it, and they are written with backslashes.
    let has_query = names.iter().any(|name| name.text().contains(&b'\\'));
    let path = has_query.then(program_path).flatten()?;
    let arguments = ["set", "-0"].map(OsString::from);
    let program = Program::new(path, arguments.into()).ok()?;
    Some(Arc::new(program))
}

fn program_path() -> Option<PathBuf> {
    if let Some(program) = std::env::var_os("TRAWL_PROGRAM").filter(|path| !path.is_empty()) {
        return Some(program.into());
    }
    let path = std::env::var_os("PATH")?;
    let mut programs = std::env::split_paths(&path).map(|directory| directory.join("trawl"));
    programs.find(|program| program.is_absolute() && program.is_file())
}
