//! `trawl history`: the state of a path in each snapshot that is kept.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use trawl_answers::diff::words::{STATE_FIELDS, Words, fill_state};
use trawl_answers::history::{Change, history};
use trawl_diff::AttributeSet;
use trawl_find::record;
use trawl_model::Column;
use trawl_query::SnapshotInfo;
use trawl_report::{Field, Row, Schema, Value, fields, schema};
use trawl_session::Sessions;
use trawl_text::locale::Locale;
use trawl_text::zone::Zone;

use crate::answer::{Failing, say_no_answer};
use crate::arguments::Manner;
use crate::at;
use crate::commands::{Setting, Spec};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::forms::{FormArgs, Rows};
use crate::rows::{self, Report};
use crate::settings;

const EXAMPLES: &str = "\
Prints a line for each snapshot in which the path differs from the snapshot
before: time, snapshot and changes. A history follows the path, not the object,
so an object that was moved away is gone from its old path. Times of access and
device numbers are not compared. The state of a path is unknown where the
permissions of that snapshot or of a later one hide it from you.";

const ENTRY: Field = Field::object(
    "entry",
    &STATE_FIELDS,
    "an entry's fields at that time; `null` if it did not exist",
);
const TYPE: Field = fields::TYPE.without_json();
const SIZE: Field = record::field(Column::Size).without_json();
const MODE: Field = record::field(Column::Mode).without_json();
const PERMISSIONS: Field = fields::PERMISSIONS.without_json();
const UID: Field = record::field(Column::Uid).without_json();
const GID: Field = record::field(Column::Gid).without_json();
const MTIME: Field = record::field(Column::Mtime).without_json();

/// Rows for programs.
static SCHEMA: Schema = Schema {
    row: "a path in a snapshot",
    fields: &[
        fields::PATH.always(),
        fields::STARTED.always(),
        fields::SNAPSHOT.always(),
        fields::STATE.always(),
        fields::CHANGED.always(),
        ENTRY,
        TYPE,
        SIZE,
        MODE,
        PERMISSIONS,
        UID,
        GID,
        MTIME,
    ],
    forms: schema::ROWS,
    samples: &["history odd ."],
};

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
    #[command(flatten)]
    form: FormArgs<Rows>,
    #[command(flatten)]
    pub(crate) manner: Manner,
}

impl Spec for HistoryArgs {
    const ABOUT: &'static str = "Show the state of a path in every snapshot";
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[
        (
            "trawl history notes.txt",
            "show when it appeared, changed and went",
        ),
        (
            "trawl history --all --json .",
            "print every snapshot, for programs",
        ),
    ];
    const SEE_ALSO: &'static [&'static str] = &["trawl-diff(1)", "trawl-growth(1)"];
    const REPORTS: &'static [&'static Schema] = &[&SCHEMA];

    fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
        run(setting.index, self, setting.manner)
    }
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
        is_all: args.all,
        words: Words::new(Zone::local(), Locale::from_env()),
        report: rows::report(&SCHEMA, args.form.form()),
    };
    writer.report.begin()?;
    manner.prepare();
    let sessions = Sessions::new(settings::indexes_to_ask(index)?, manner.options());
    let mut exit = Exit::Complete;
    for given in &args.paths {
        exit = exit.and(one(&sessions, given, &mut writer)?);
    }
    rows::finish(writer.report)?;
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

/// Writer of the states.
struct Writer {
    is_all: bool,
    words: Words,
    report: Report,
}

impl Writer {
    fn put(&mut self, path: &[u8], info: &SnapshotInfo, change: &Change) -> Result<(), Failure> {
        let words = &self.words;
        let done = self.report.line(
            || text(words, info, change),
            |row| fill(row, words, path, info, change),
        );
        Ok(done?)
    }
}

fn fill(row: &mut Row<'_>, words: &Words, path: &[u8], info: &SnapshotInfo, change: &Change) {
    let which = match change {
        Change::Changed(_, which) => *which,
        _ => AttributeSet::EMPTY,
    };
    row.put(&fields::PATH, path)
        .put(&fields::STARTED, info.started)
        .put(&fields::SNAPSHOT, &info.id.to_string())
        .put(&fields::STATE, change.name())
        .texts(&fields::CHANGED, which.names());
    let Some(state) = change.state() else {
        row.put(&ENTRY, Value::Null);
        return;
    };
    let meta = &state.meta;
    row.object(&ENTRY, |row| fill_state(row, path, state, words.owners()))
        .put(&TYPE, char::from(meta.file_type().letter()))
        .put(&SIZE, meta.size)
        .put(&MODE, meta.mode)
        .put(&PERMISSIONS, &record::permissions(meta.mode))
        .put(&UID, meta.uid)
        .put(&GID, meta.gid)
        .put(&MTIME, meta.mtime);
}

fn text(words: &Words, info: &SnapshotInfo, change: &Change) -> String {
    let what = match change {
        Change::Created(state) => format!(
            "present  type {}, size {}, mode {:04o}",
            char::from(state.meta.file_type().letter()),
            state.meta.size,
            state.meta.mode & 0o7777
        ),
        Change::Same(_) => "as before".to_owned(),
        Change::Changed(states, which) => {
            let changes = words.changes(&states.0, &states.1, *which);
            let changes = trawl_text::quote::Terminal::Absent
                .show(changes.as_bytes())
                .to_vec();
            format!("changed  {}", String::from_utf8_lossy(&changes))
        }
        Change::Gone => "absent".to_owned(),
        Change::Unknown => "hidden from you".to_owned(),
    };
    format!("{}  {}  {what}\n", at::time_text(info.started), info.id)
}
