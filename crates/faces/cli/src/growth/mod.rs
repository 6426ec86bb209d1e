//! `trawl growth`: the size of a tree in each snapshot that is kept.

mod render;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use trawl_answers::growth;
use trawl_report::Schema;
use trawl_session::{Notice, Options, Sessions};

use crate::answer::say_no_answer;
use crate::arguments::Manner;
use crate::commands::{Setting, Spec};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::forms::{FormArgs, Offer, Rows};
use crate::rows::{self, Report};
use crate::scope::{exit_of, say_notice};
use crate::settings;

use self::render::{SCHEMA, Series};

const EXAMPLES: &str = "\
Examples:
  trawl growth /home                  show the total in each snapshot
  trawl growth /home --by dir         show the directories in /home
  trawl growth /srv --by owner --csv  print values for a spreadsheet

In totals and by directory, an object with several names counts once, as in du;
by owner and by extension, every name counts. For each directory, --by dir shows
what du -s would show for it alone. Sums cover what you may see in each
snapshot, by the permissions of then and of now.";

/// Maximum number of keys that people are shown; the others are not listed.
const KEYS_SHOWN: usize = 30;

/// Kind of key by which sizes are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum By {
    /// Everything together
    #[default]
    Total,
    /// Each directory directly below, and the entries beside them
    Dir,
    /// Each owner
    Owner,
    /// The part of regular files' names after the last dot
    Ext,
}

impl By {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            By::Total => "total",
            By::Dir => "dir",
            By::Owner => "owner",
            By::Ext => "ext",
        }
    }

    fn key(self) -> growth::By {
        match self {
            By::Total => growth::By::Total,
            By::Dir => growth::By::Dir,
            By::Owner => growth::By::Owner,
            By::Ext => growth::By::Ext,
        }
    }
}

/// The forms of the answer.
#[derive(Clone, Copy, Debug)]
struct Offered;

impl Offer for Offered {
    const JSON: &'static str = "Print one JSON object per line, for each key in each snapshot";
    const CSV: Option<&'static str> = Rows::CSV;
}

// Options of `trawl growth`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct GrowthArgs {
    /// Measure these paths [default: the working directory]
    #[arg(value_name = "PATH", default_value = ".", hide_default_value = true)]
    paths: Vec<OsString>,
    /// Measure separately by this kind of key
    #[arg(long, value_name = "KIND", value_enum, default_value_t)]
    by: By,
    #[command(flatten)]
    form: FormArgs<Offered>,
    #[command(flatten)]
    pub(crate) manner: Manner,
}

impl Spec for GrowthArgs {
    const ABOUT: &'static str = "Show the size of a tree in each snapshot";
    const SEE_ALSO: &'static [&'static str] = &["trawl-history(1)", "trawl-du(1)"];
    const REPORTS: &'static [&'static Schema] = &[&SCHEMA];

    fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
        run(setting.index, self, setting.manner)
    }
}

/// Runs the command.
pub(crate) fn run(
    index: Option<PathBuf>,
    args: &GrowthArgs,
    manner: Manner,
) -> Result<Exit, Failure> {
    let manner = manner.then(args.manner);
    if manner.at.is_some() {
        let text = "growth is about all snapshots: --at has no meaning here";
        return Err(Failure::Usage(text.into()));
    }
    let mut report = rows::report(&SCHEMA, args.form.form());
    report.begin()?;
    manner.prepare();
    let told = RefCell::new(BTreeSet::new());
    // Most directories are the same in all snapshots.
    let say_once = |notice: Notice| match notice {
        Notice::Denied { .. } | Notice::Missing { .. }
            if !told.borrow_mut().insert(notice.to_string()) => {}
        notice => say_notice(notice),
    };
    let options = Options {
        listener: &say_once,
        ..manner.options()
    };
    let sessions = Sessions::new(settings::indexes_to_ask(index)?, options);
    let mut exit = Exit::Complete;
    for given in &args.paths {
        exit = exit.and(one(&sessions, given, args.by, &mut report)?);
    }
    rows::finish(report)?;
    Ok(exit)
}

/// Shows the growth of one path.
fn one(
    sessions: &Sessions<'_>,
    given: &OsStr,
    by: By,
    report: &mut Report,
) -> Result<Exit, Failure> {
    let growth = match growth::growth(sessions, given.as_bytes(), by.key())? {
        Ok(growth) => growth,
        Err(why) => return Ok(say_no_answer(given, &why)),
    };
    let mut series = Series::new(by, given.as_bytes());
    for (info, measured) in growth.times {
        series.add(&info, measured);
    }
    series.put(report)?;
    Ok(exit_of(&growth.completeness, Exit::Fatal))
}
