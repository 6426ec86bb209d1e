//! `trawl token list`.

use std::time::{SystemTime, UNIX_EPOCH};

use trawl_identity::credentials::{Grant, Scope};
use trawl_model::Timestamp;
use trawl_report::table::{Align, table};
use trawl_report::{Field, Form, Row, Schema, schema};
use trawl_text::time_style::long_iso;
use trawl_text::zone::Zone;

use super::{PlaceArgs, now};
use crate::exit::Exit;
use crate::failure::{Failure, shown};
use crate::forms::{FormArgs, Objects};
use crate::output::say;
use crate::rows;

const ID: Field = Field::text(
    "id",
    "id of a token or session; it reveals nothing of the secret",
);
const KIND: Field = Field::text("kind", "what holds the secret: `token`, `session`");
const USER: Field = Field::text("user", "the user as whom it asks");
const SCOPES: Field = Field::texts("scopes", "what it may ask: `names`, `contents`, `sql`");
const CREATED: Field = Field::time("created", "when it was made");
const EXPIRES: Field = Field::time("expires", "when it ends");
const NOTE: Field = Field::text("note", "what it is for");

/// Rows for programs.
pub(super) static SCHEMA: Schema = Schema {
    row: "a token or session",
    fields: &[ID, KIND, USER, SCOPES, CREATED, EXPIRES, NOTE],
    forms: schema::OBJECTS,
    samples: &["token list {form} --directory ../http"],
};

/// Options of `trawl token list`.
#[derive(Debug, clap::Args)]
pub(super) struct ListArgs {
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    form: FormArgs<Objects>,
}

/// Lists what has not expired.
pub(super) fn run(args: &ListArgs) -> Result<Exit, Failure> {
    let grants = args.place.existing()?.list(now())?;
    let mut report = rows::report(&SCHEMA, args.form.form());
    report.begin()?;
    match report.form() {
        Form::Text => {
            if grants.is_empty() {
                say("there are no tokens and sessions: trawl token create makes a token");
            }
            report.put(text(&grants))?;
        }
        _ => {
            for grant in &grants {
                report.row(|row| fill(row, grant))?;
            }
        }
    }
    rows::finish(report)?;
    Ok(Exit::Complete)
}

fn text(grants: &[Grant]) -> Vec<u8> {
    let rows = grants.iter().map(|grant| {
        let cells = [
            grant.id.clone(),
            grant.kind.name().to_owned(),
            shown(grant.user.as_bytes()),
            grant.scopes.to_string(),
            format!("until {}", minute(grant.expires)),
            shown_note(&grant.note),
        ];
        cells.map(String::into_bytes).to_vec()
    });
    table(&rows.collect::<Vec<_>>(), Align::EndsLeft)
}

/// The file may have been written by hand, so it may contain anything.
fn shown_note(note: &str) -> String {
    match note {
        "" => String::new(),
        note => shown(note.as_bytes()),
    }
}

fn fill(row: &mut Row<'_>, grant: &Grant) {
    let scopes = Scope::ALL.into_iter();
    let scopes = scopes.filter(|scope| grant.scopes.contains(*scope));
    row.put(&ID, &grant.id)
        .put(&KIND, grant.kind.name())
        .put(&USER, &grant.user)
        .texts(&SCOPES, scopes.map(Scope::name))
        .put(&CREATED, timestamp(grant.created))
        .put(&EXPIRES, timestamp(grant.expires))
        .put(&NOTE, &grant.note);
}

/// A time in the local zone, to the minute.
pub(super) fn minute(time: SystemTime) -> String {
    let mut text = String::new();
    long_iso(&mut text, timestamp(time), &Zone::local());
    text
}

fn timestamp(time: SystemTime) -> Timestamp {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp {
        secs: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        nanos: since.subsec_nanos(),
    }
}
