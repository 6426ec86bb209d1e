//! `trawl growth`: the size of a tree in each snapshot that is kept.

mod measure;
mod render;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use trawl_query::{AsOf, Located, SnapshotInfo};
use trawl_report::Schema;

use crate::arguments::Manner;
use crate::commands::{Setting, Spec};
use crate::exit::Exit;
use crate::failure::{Failure, quoted};
use crate::forms::{FormArgs, Offer, Rows};
use crate::output::say;
use crate::resolve::Resolved;
use crate::rows::{self, Report};
use crate::scope::{Follow, Session, outside};

use self::measure::{Measured, measure};
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
    let mut exit = Exit::Complete;
    for given in &args.paths {
        let asked = Asked {
            index: index.clone(),
            given,
            manner,
            by: args.by,
        };
        exit = exit.and(asked.one(&mut report)?);
    }
    rows::finish(report)?;
    Ok(exit)
}

/// A path to be measured.
struct Asked<'a> {
    index: Option<PathBuf>,
    given: &'a OsStr,
    manner: Manner,
    by: By,
}

impl Asked<'_> {
    fn open(&self, as_of: AsOf) -> Result<Session, Failure> {
        let at = Some(as_of);
        let manner = Manner { at, ..self.manner };
        Session::open(self.index.clone(), manner, Exit::Fatal)
    }

    fn one(&self, report: &mut Report) -> Result<Exit, Failure> {
        let shown = quoted(self.given.as_bytes());
        let mut session = self.open(AsOf::Back(0))?;
        let path = match session.resolve(self.given.as_bytes(), Follow::Last)? {
            Some(Resolved::To(_, path)) => path,
            _ => {
                say(format_args!("cannot access {shown}: no such path"));
                return Ok(Exit::Fatal);
            }
        };
        let Some((_, snapshots)) = session.index().snapshots_of(&path)? else {
            say(outside(&session, &path)?);
            return Ok(Exit::Fatal);
        };
        let mut series = Series::new(self.by, self.given.as_bytes());
        let (mut is_anywhere, mut exit) = (false, Exit::Complete);
        for info in &snapshots {
            let (measured, ended) = self.at_one_time(info, &path)?;
            is_anywhere |= measured.is_some();
            exit = exit.and(ended);
            series.add(info, measured.unwrap_or_default());
        }
        if !is_anywhere {
            say(format_args!(
                "cannot access {shown}: you cannot see it in any snapshot"
            ));
            return Ok(Exit::Fatal);
        }
        series.put(report)?;
        Ok(exit)
    }

    /// Measures the path in a snapshot; `None` if the path does not exist there.
    fn at_one_time(
        &self,
        info: &SnapshotInfo,
        path: &[u8],
    ) -> Result<(Option<Measured>, Exit), Failure> {
        let mut session = self.open(AsOf::Snapshot(info.id))?;
        session.tell_denials(crate::scope::Denials::Counted);
        let measured = match session.index().locate(path)? {
            Located::Found(start) => {
                let measured = measure(session.index(), &start, self.by)?;
                session.note(&start, crate::scope::Depth::All)?;
                Some(measured)
            }
            _ => None,
        };
        let exit = match session.denied() {
            0 => Exit::Complete,
            _ => Exit::Issues,
        };
        Ok((measured, exit.and(session.finish()?)))
    }
}
