//! `trawl history`: the state of a path in each snapshot that is kept.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use trawl_answers::history::{Change as Said, history};
use trawl_diff::AttributeSet;
use trawl_query::SnapshotInfo;
use trawl_session::Sessions;
use trawl_text::json::Object;

use crate::answer::{Failing, say_no_answer};
use crate::arguments::Manner;
use crate::at;
use crate::csv::Line;
use crate::diff::lines::{Words, state_object};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::rows::Form;
use crate::settings;

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
    manner.prepare();
    let sessions = Sessions::new(settings::indexes_to_ask(index)?, manner.options());
    let mut exit = Exit::Complete;
    for given in &args.paths {
        exit = exit.and(one(&sessions, given, &mut writer)?);
    }
    writer.output.finish()?;
    Ok(exit)
}

/// Shows the history of one path.
fn one(sessions: &Sessions<'_>, given: &OsStr, writer: &mut Writer) -> Result<Exit, Failure> {
    let path = given.as_bytes();
    let mut failing = Failing::default();
    let seen = history(sessions, path, &mut |moment| {
        failing.check(match moment.is_news || writer.is_all {
            true => writer.put(path, &moment.info, &moment.change),
            false => Ok(()),
        })
    });
    Ok(match failing.end(seen)? {
        Err(why) => say_no_answer(given, &why),
        Ok(seen) if seen.hidden => Exit::Issues,
        Ok(_) => Exit::Complete,
    })
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
