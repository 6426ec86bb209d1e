//! `trawl history`: the state of a path in each snapshot that is kept.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use trawl_diff::{AttributeSet, changed};
use trawl_model::Column;
use trawl_model::rows::OwnedRow;
use trawl_query::{AsOf, Located, SnapshotInfo, Start};
use trawl_text::json::Object;

use crate::arguments::Manner;
use crate::at;
use crate::csv::Line;
use crate::diff::lines::{Words, state_object};
use crate::exit::Exit;
use crate::failure::{Failure, quoted};
use crate::output::{Output, say};
use crate::resolve::Resolved;
use crate::rows::Form;
use crate::scope::{Follow, Session, outside, row_of};

const EXAMPLES: &str = "\
Prints a line for each snapshot in which the path differs from the snapshot
before: time, snapshot and changes. A history follows the path, not the object,
so an object that was moved away is gone from its old path. Times of access and
device numbers are not compared. The state of a path is unknown where the
permissions of that snapshot or of a later one hide it from you.";

// Options of `trawl history`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct HistoryArgs {
    /// Show the history of these paths
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<OsString>,
    /// Print a line for every snapshot, even if nothing changed
    #[arg(long)]
    all: bool,
    /// Print one JSON object per line
    #[arg(long, overrides_with = "csv")]
    json: bool,
    /// Print comma-separated values with a header
    #[arg(long, overrides_with = "json")]
    csv: bool,
    #[command(flatten)]
    pub(crate) manner: Manner,
}

/// State of the path in a snapshot, compared with the snapshot before.
enum Said {
    /// It exists; before, it did not exist or its state was unknown.
    Created(OwnedRow),
    /// It is unchanged.
    Same(OwnedRow),
    /// Its attributes changed.
    Changed(Box<(OwnedRow, OwnedRow)>, AttributeSet),
    /// It does not exist.
    Gone,
    /// It is hidden from the user.
    Unknown,
}

impl Said {
    fn name(&self) -> &'static str {
        match self {
            Said::Created(_) => "present",
            Said::Same(_) => "same",
            Said::Changed(..) => "changed",
            Said::Gone => "absent",
            Said::Unknown => "unknown",
        }
    }

    fn state(&self) -> Option<&OwnedRow> {
        match self {
            Said::Created(state) | Said::Same(state) => Some(state),
            Said::Changed(states, _) => Some(&states.1),
            Said::Gone | Said::Unknown => None,
        }
    }
}

/// State of the path in the snapshot before.
#[derive(Default)]
enum Last {
    /// There is no snapshot before.
    #[default]
    Nothing,
    Present(Box<Start>),
    Absent,
    Unknown,
}

/// Runs the command.
pub(crate) fn run(
    index: Option<PathBuf>,
    args: &HistoryArgs,
    manner: Manner,
) -> Result<Exit, Failure> {
    let manner = manner.then(args.manner);
    if manner.at.is_some() {
        let text = "history is about all snapshots: --at has no meaning here";
        return Err(Failure::Usage(text.into()));
    }
    let mut writer = Writer {
        form: Form::new(args.json, args.csv),
        is_all: args.all,
        words: Words::new(),
        output: Output::stdout(),
    };
    if writer.form == Form::Csv {
        writer.output.put(CSV_HEADER)?;
    }
    let mut exit = Exit::Complete;
    for given in &args.paths {
        exit = exit.and(one(index.clone(), given, manner, &mut writer)?);
    }
    writer.output.finish()?;
    Ok(exit)
}

/// Shows the history of one path.
fn one(
    index: Option<PathBuf>,
    given: &OsStr,
    manner: Manner,
    writer: &mut Writer,
) -> Result<Exit, Failure> {
    let shown = quoted(given.as_bytes());
    let Some(path) = absolute(index.clone(), given, manner)? else {
        say(format_args!("cannot access {shown}: no such path"));
        return Ok(Exit::Fatal);
    };
    let session = open(index.clone(), manner, AsOf::Back(0))?;
    let Some((_, snapshots)) = session.index().snapshots_of(&path)? else {
        say(outside(&session, &path)?);
        return Ok(Exit::Fatal);
    };
    drop(session);
    let seen = go_through(&index, &path, given, manner, &snapshots, writer)?;
    if seen == Seen::default() {
        say(format_args!(
            "{shown} is not in any of {} snapshots",
            snapshots.len()
        ));
        return Ok(Exit::Fatal);
    }
    Ok(match seen.hidden {
        true => Exit::Issues,
        false => Exit::Complete,
    })
}

/// Which states were seen in all snapshots together.
#[derive(Default, PartialEq, Eq)]
struct Seen {
    present: bool,
    hidden: bool,
}

/// Asks one snapshot after the other and writes the changes in each.
fn go_through(
    index: &Option<PathBuf>,
    path: &[u8],
    given: &OsStr,
    manner: Manner,
    snapshots: &[SnapshotInfo],
    writer: &mut Writer,
) -> Result<Seen, Failure> {
    let mut last = Last::Nothing;
    let mut seen = Seen::default();
    for info in snapshots {
        let session = open(index.clone(), manner, AsOf::Snapshot(info.id))?;
        let now = match session.index().locate(path)? {
            Located::Found(start) => Last::Present(start),
            Located::Missing { .. } | Located::NotDirectory { .. } => Last::Absent,
            _ => Last::Unknown,
        };
        seen.present |= matches!(now, Last::Present(_));
        seen.hidden |= matches!(now, Last::Unknown);
        let said = compared(&last, &now);
        let is_old = match (&said, &last) {
            // Until the path exists for the first time there is nothing to report.
            (Said::Gone, Last::Absent | Last::Nothing) => true,
            (Said::Same(_), _) | (Said::Unknown, Last::Unknown) => true,
            _ => false,
        };
        if !is_old || writer.is_all {
            writer.put(given.as_bytes(), info, &said)?;
        }
        last = now;
    }
    Ok(seen)
}

fn open(index: Option<PathBuf>, manner: Manner, as_of: AsOf) -> Result<Session, Failure> {
    let at = Some(as_of);
    Session::open(index, Manner { at, ..manner }, Exit::Fatal)
}

/// Returns the absolute path that is meant. Links above it are followed as they are now.
fn absolute(
    index: Option<PathBuf>,
    given: &OsStr,
    manner: Manner,
) -> Result<Option<Vec<u8>>, Failure> {
    let mut session = open(index, manner, AsOf::Back(0))?;
    Ok(match session.resolve(given.as_bytes(), Follow::Never)? {
        Some(Resolved::To(_, path)) => Some(path),
        _ => None,
    })
}

fn compared(last: &Last, now: &Last) -> Said {
    match (last, now) {
        (_, Last::Nothing | Last::Unknown) => Said::Unknown,
        (_, Last::Absent) => Said::Gone,
        (Last::Present(before), Last::Present(after)) => {
            let (before, after) = (row_of(before), row_of(after));
            let ignored = AttributeSet::of(&[Column::Atime, Column::Dev]);
            let which = changed(&before, &after, AttributeSet::all().minus(ignored), true);
            let states = (before.owned(), after.owned());
            match which.is_empty() {
                true => Said::Same(states.1),
                false => Said::Changed(Box::new(states), which),
            }
        }
        (_, Last::Present(after)) => Said::Created(row_of(after).owned()),
    }
}

/// Writer of the states in a format.
struct Writer {
    form: Form,
    is_all: bool,
    words: Words,
    output: Output,
}

impl Writer {
    fn put(&mut self, path: &[u8], info: &SnapshotInfo, said: &Said) -> Result<(), Failure> {
        match self.form {
            Form::Json => {
                let text = self.json(path, info, said);
                self.output.put(text)
            }
            Form::Csv => self.output.put(csv(path, info, said)),
            Form::Text => {
                let text = self.text(info, said);
                self.output.put(text)
            }
        }
    }

    fn json(&self, path: &[u8], info: &SnapshotInfo, said: &Said) -> String {
        let object = Object::new()
            .bytes("path", path)
            .time("started", Some(info.started))
            .text("snapshot", &info.id.to_string())
            .text("state", said.name());
        let which = match said {
            Said::Changed(_, which) => *which,
            _ => AttributeSet::EMPTY,
        };
        let names = which.names().map(|name| format!("\"{name}\""));
        let object = object.array("changed", names);
        let object = match said.state() {
            Some(state) => object.object("entry", state_object(path, state, self.words.owners())),
            None => object.null("entry"),
        };
        object.close() + "\n"
    }

    fn text(&self, info: &SnapshotInfo, said: &Said) -> String {
        let what = match said {
            Said::Created(state) => format!(
                "present  type {}, size {}, mode {:04o}",
                char::from(state.meta.file_type().letter()),
                state.meta.size,
                state.meta.mode & 0o7777
            ),
            Said::Same(_) => "as before".to_owned(),
            Said::Changed(states, which) => {
                let changes = self.words.changes(&states.0, &states.1, *which);
                let changes = trawl_text::quote::Terminal::Absent
                    .show(changes.as_bytes())
                    .to_vec();
                format!("changed  {}", String::from_utf8_lossy(&changes))
            }
            Said::Gone => "absent".to_owned(),
            Said::Unknown => "hidden from you".to_owned(),
        };
        format!("{}  {}  {what}\n", at::time_text(info.started), info.id)
    }
}

const CSV_HEADER: &str =
    "path,path_raw,started,snapshot,state,changed,type,size,mode,permissions,uid,gid,mtime\n";

fn csv(path: &[u8], info: &SnapshotInfo, said: &Said) -> Vec<u8> {
    let which = match said {
        Said::Changed(_, which) => which.names().collect(),
        _ => Vec::new(),
    };
    let line = Line::new()
        .path(path)
        .time(Some(info.started))
        .value(info.id)
        .field(said.name())
        .field(which.join("+"));
    let Some(state) = said.state() else {
        return (0..7).fold(line, |line, _| line.field("")).close();
    };
    line.value(char::from(state.meta.file_type().letter()))
        .value(state.meta.size)
        .value(state.meta.mode)
        .value(trawl_find::record::permissions(state.meta.mode))
        .value(state.meta.uid)
        .value(state.meta.gid)
        .time(Some(state.meta.mtime))
        .close()
}
