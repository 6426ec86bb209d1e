//! `trawl groups explain`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use trawl_groups::{Explained, GroupsError, Question};
use trawl_report::{Field, Schema, fields, schema};

use super::{AskArgs, ID, NAME, RULE, terminal};
use crate::commands::Setting;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::forms::{FormArgs, Rows};
use crate::output::say;
use crate::rows;

const WHY: Field = Field::text("why", "why the file belongs to the group");
const MARKER: Field = Field::bytes(
    "marker",
    "path that makes the file a member; `null` if it is the file itself",
);

/// Rows for programs.
pub(super) static SCHEMA: Schema = Schema {
    row: "the group of a file",
    fields: &[fields::PATH, ID, NAME, RULE, WHY, MARKER],
    forms: schema::ROWS,
    samples: &["groups explain {form} odd/@z"],
};

/// Options of `trawl groups explain`.
#[derive(Debug, clap::Args)]
pub(super) struct ExplainArgs {
    /// Explain the groups of these files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<OsString>,
    #[command(flatten)]
    ask: AskArgs,
    #[command(flatten)]
    form: FormArgs<Rows>,
}

/// Explains the groups.
pub(super) fn run(args: &ExplainArgs, setting: Setting<'_>) -> Result<Exit, Failure> {
    let (mut session, grouper) = args.ask.open(setting)?;
    let mut question = Question::new(&mut session, grouper);
    let mut report = rows::report(&SCHEMA, args.form.form());
    report.begin()?;
    let mut exit = Exit::Complete;
    for file in &args.files {
        let found = match question.explain(file) {
            Ok(Some(found)) => found,
            // The session reports it.
            Ok(None) => continue,
            // The other files are explained all the same.
            Err(error @ (GroupsError::IsDirectory { .. } | GroupsError::Unlisted { .. })) => {
                say(error);
                exit = Exit::Fatal;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let claim = &found.claim;
        let why = claim.why.to_string();
        report.line(
            || text(file.as_bytes(), &found),
            |row| {
                row.put(&fields::PATH, file.as_bytes())
                    .put(&ID, &claim.group.id.to_string())
                    .put(&NAME, &claim.group.name)
                    .put(&RULE, &*claim.group.rule)
                    .put(&WHY, &why)
                    .put(&MARKER, claim.why.marker());
            },
        )?;
    }
    rows::finish(report)?;
    session.worsen(exit);
    session.finish()
}

fn text(file: &[u8], found: &Explained) -> Vec<u8> {
    let terminal = terminal();
    let group = &found.claim.group;
    let line = format!("  {}  {}  ", group.id, group.rule);
    let why = format!("\n  because {}\n", found.claim.why);
    [
        &*terminal.show(file),
        b"\n",
        line.as_bytes(),
        &*terminal.show(&group.name),
        why.as_bytes(),
    ]
    .concat()
}
