//! `trawl groups show`.

use std::ffi::OsString;

use trawl_find::record;
use trawl_groups::{Member, Question};
use trawl_model::Column;
use trawl_report::{Field, Form, Schema, fields, schema};

use super::{AskArgs, ID, NAME, RULE, terminal};
use crate::answer::Failing;
use crate::commands::Setting;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::forms::{FormArgs, Offer, Rows};
use crate::rows;

/// The forms of the answer.
#[derive(Clone, Copy, Debug)]
struct Offered;

impl Offer for Offered {
    const CSV: Option<&'static str> = Rows::CSV;
    const NULL: Option<&'static str> = Some("Print only paths, each terminated by a NUL byte");
}

const PATH: Field = fields::PATH.with_null();
const SIZE: Field = record::field(Column::Size);
const MTIME: Field = record::field(Column::Mtime);

/// Rows for programs.
pub(super) static SCHEMA: Schema = Schema {
    row: "a file of a group",
    fields: &[PATH, SIZE, MTIME, ID, NAME, RULE],
    forms: schema::ROWS,
    samples: &[],
};

/// Options of `trawl groups show`.
#[derive(Debug, clap::Args)]
pub(super) struct ShowArgs {
    /// Show the group with this id or name
    #[arg(value_name = "GROUP")]
    group: OsString,
    #[command(flatten)]
    ask: AskArgs,
    #[command(flatten)]
    form: FormArgs<Offered>,
}

/// Shows the members.
pub(super) fn run(args: &ShowArgs, setting: Setting<'_>) -> Result<Exit, Failure> {
    let (mut session, grouper) = args.ask.open(setting)?;
    let mut question = Question::new(&mut session, grouper);
    let group = question.find(args.group.as_encoded_bytes())?;
    let mut report = rows::report(&SCHEMA, args.form.form());
    report.begin()?;
    let terminal = terminal();
    let mut failing = Failing::default();
    let shown = question.members(&group, &mut |member: &Member<'_>| {
        let path = member.path();
        failing.check(match report.form() {
            Form::Text => report
                .put([&*terminal.show(&path), b"\n"].concat())
                .map_err(Failure::from),
            _ => report
                .row(|row| {
                    row.put(&PATH, &path)
                        .put(&SIZE, member.entry.size_bytes)
                        .put(&MTIME, member.entry.mtime)
                        .put(&ID, &group.id.to_string())
                        .put(&NAME, &group.name)
                        .put(&RULE, &*group.rule);
                })
                .map_err(Failure::from),
        })
    });
    failing.end(shown)?;
    rows::finish(report)?;
    session.finish()
}
