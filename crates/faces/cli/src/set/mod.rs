//! `trawl set`: lists the members of sets, or runs a command on each.

mod alive;
mod listing;
mod running;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use trawl_report::{Field, Schema, fields, schema};
use trawl_sets::expand::{Attribute, Commands, Order, Records};
use trawl_sets::{Local, Set, SetName};

use crate::arguments::Manner;
use crate::beside;
use crate::commands::{Setting, Spec};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::forms::{FormArgs, Offer};
use crate::index::progress::ProgressWhen;
use crate::members;
use alive::Alive;

const EXAMPLES: &str = "\
NAME is a path. Any component may have csh wildcards (*, ?, [...], {a,b}, ~user),
be a query \\...\\ of the directory, database or page before it, or be a command
%...% that prints names. Quote NAME, so that the shell leaves it alone.

Examples:
  trawl set '/srv/{a,b}/*.c'            list the members
  trawl set --size '/srv/*/*.log'       count them
  trawl set '*.c' -- wc -l {}           run wc on each as soon as it is fetched
  trawl set -j8 '*.gz' -- gzip -t {}    run 8 commands at once
  trawl set '*.c' -- grep TODO {} +     run grep on as many as fit

Exit codes: 0 complete, 1 a member could not be read or a command failed, 2 wrong
usage or a fatal error, 126 or 127 the command could not be run or found, 130
interrupted.";

/// Forms of the list.
#[derive(Clone, Copy, Debug)]
struct Offered;

impl Offer for Offered {
    const JSON: &'static str = "Print one JSON object per member";
    const CSV: Option<&'static str> = Some("Print comma-separated values with a header");
    const NULL: Option<&'static str> = Some("End each name with a NUL byte");
}

const TYPE: Field = fields::TYPE;

/// Rows for programs.
pub(super) static SCHEMA: Schema = Schema {
    row: "a member of a set",
    fields: &[
        listing::PATH,
        TYPE,
        listing::SIZE,
        listing::MODE,
        fields::PERMISSIONS,
        listing::UID,
        listing::GID,
        listing::MTIME,
    ],
    forms: schema::ROWS,
    samples: &["set *"],
};

// Options of `trawl set`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SetArgs {
    /// Open the set with this name
    #[arg(value_name = "NAME", required = true)]
    names: Vec<OsString>,
    /// Combine several NAMEs: members of any (the default)
    #[arg(long, overrides_with = "intersect")]
    union: bool,
    /// Combine several NAMEs: members that all of them have
    #[arg(long, overrides_with = "union")]
    intersect: bool,
    /// Show what is known of each member without fetching it
    ///
    /// Type, size in bytes and time of last change precede the name; ? if unknown.
    #[arg(long)]
    digest: bool,
    /// Print the number of members
    #[arg(long, conflicts_with_all = ["digest", "json", "csv", "arrow", "null"])]
    size: bool,
    /// List or process members in order of their names
    ///
    /// Nothing is listed before all members are known.
    #[arg(long)]
    sort: bool,
    /// Write outputs of commands in the order in which members were found
    #[arg(long, requires = "command")]
    ordered: bool,
    /// Run commands in names: %command%
    #[arg(long)]
    allow_commands: bool,
    /// Run up to N commands at once; 0 stands for the number of processors
    ///
    /// One command at a time uses the terminal and standard input as find -exec does. Several read
    /// from /dev/null, and the output of each is written whole when it ends.
    #[arg(
        short,
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u16).range(0..=1024),
        requires = "command"
    )]
    jobs: u16,
    /// Pass at most N members to a command with {} +
    #[arg(short = 'n', long, value_name = "N", requires = "command")]
    max_args: Option<NonZeroUsize>,
    /// Pass each member on standard input instead of by its path
    #[arg(long, requires = "command")]
    stdin: bool,
    /// Do not name members for which the command fails
    #[arg(short, long, requires = "command")]
    quiet: bool,
    /// Report the progress of commands in this way
    #[arg(
        long,
        value_name = "HOW",
        value_enum,
        default_value_t,
        requires = "command"
    )]
    progress: ProgressWhen,
    /// Report what fetching cost and what it saved
    #[arg(long, requires = "command")]
    stats: bool,
    /// Report the linear performance model of this run, and its prediction
    ///
    /// Shows the latency and bandwidth of each place as fitted, the times that the model predicts
    /// for a plain loop and for this set, and the time measured.
    #[arg(long, requires = "command")]
    explain: bool,
    #[command(flatten)]
    form: FormArgs<Offered>,
    #[command(flatten)]
    pub(crate) manner: Manner,
    /// Run this command on each member
    ///
    /// {} stands for the member's path, {} + at the end for as many as fit. A member without a
    /// path, such as a link, is /dev/fd/N.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl Spec for SetArgs {
    const ABOUT: &'static str = "List the members of a set, or run a command on each";
    const SEE_ALSO: &'static [&'static str] = &["trawl-find(1)", "trawl-search(1)", "xargs(1)"];
    const REPORTS: &'static [&'static Schema] = &[&SCHEMA];

    fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
        beside::need_more_for(&setting, self.names.iter().map(|name| name.as_bytes()))?;
        let manner = setting.manner.then(self.manner);
        manner.prepare();
        members::refuse_past(manner)?;
        let alive = Alive::default();
        let ended = match self.command.is_empty() {
            true => listing::list(self, &setting, manner, &alive),
            false => running::run(self, &setting, manner, &alive),
        };
        if self.allow_commands {
            alive.wait();
        }
        ended
    }
}

impl SetArgs {
    /// Opens the set.
    fn open(
        &self,
        setting: &Setting<'_>,
        manner: Manner,
        use_: Use,
        alive: &Alive,
    ) -> Result<Set, Failure> {
        let mut names = Vec::new();
        for name in &self.names {
            names.push(SetName::parse(&members::set_name(name.as_bytes())).map_err(usage)?);
        }
        let local = Arc::new(Local::default());
        let (mut expander, openers) = members::sources(setting, manner, local);
        if self.allow_commands {
            expander.commands = Commands::Run(Records::Either);
        }
        if use_ == Use::Attributes {
            expander.attributes = Attribute::Wanted;
        }
        if self.sort {
            expander.order = Order::Csh;
        }
        let options = trawl_sets::Options {
            ordered: self.sort || self.ordered,
            ..trawl_sets::Options::default()
        };
        let open = |names| {
            let names = alive.watch(Box::new(expander.expand(names)));
            Set::open(names, openers.clone(), options.clone()).map_err(usage)
        };
        if !self.intersect {
            return open(names);
        }
        let mut sets = names.into_iter().map(|name| open(vec![name]));
        let first = sets.next().transpose()?;
        let Some(mut all) = first else {
            return open(Vec::new());
        };
        for set in sets {
            all = all.intersect(&set?, options.clone()).map_err(usage)?;
        }
        Ok(all)
    }
}

/// What a set is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Names,
    Attributes,
}

fn usage(error: impl std::fmt::Display) -> Failure {
    Failure::Usage(error.to_string())
}
