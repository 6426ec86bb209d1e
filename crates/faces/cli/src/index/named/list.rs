//! `trawl index list`.

use std::ffi::OsString;
use std::sync::Arc;

use trawl_format::Source;
use trawl_indexer::indices::Coverage;
use trawl_indexer::sources::in_all;
use trawl_indices::Definition;
use trawl_model::guard::Credentials;
use trawl_model::path::{self, display};
use trawl_query::View;
use trawl_report::{Field, Schema, fields, schema};
use trawl_text::units::{Scale, format};

use super::{In, asked};
use crate::commands::Setting;
use crate::exit::Exit;
use crate::failure::{Failure, shown};
use crate::forms::{FormArgs, Rows};
use crate::index::progress::counted;
use crate::output::say;
use crate::rows;
use crate::sources::opened;

pub(super) const NAME: Field = Field::text("named_index", "name of a named index");
const KIND: Field = Field::text("index_kind", "`ordered` or `hashed`");
const ATTRIBUTES: Field = Field::text(
    "attributes_on",
    "attributes of a named index, separated by commas, the first in order first",
);
const FILES: Field = Field::integer(
    "index_files",
    "number of files of a named index that you may read",
);
const SIZE_BYTES: Field =
    Field::integer("named_index_bytes", "size of these files").in_units("bytes");
const ROWS: Field = Field::integer("rows_covered", "number of rows in these files");
const ROWS_LEFT: Field = Field::integer(
    "rows_left",
    "number of other rows that you may read, which questions look at",
);
const IS_CURRENT: Field = Field::flag(
    "is_current",
    "whether every part of the source that can have a file has one",
);

/// Rows for programs.
pub(in crate::index) static SCHEMA: Schema = Schema {
    row: "a named index",
    fields: &[
        fields::ROOT,
        NAME,
        KIND,
        ATTRIBUTES,
        FILES,
        SIZE_BYTES,
        ROWS,
        ROWS_LEFT,
        IS_CURRENT,
    ],
    forms: schema::ROWS,
    samples: &[],
};

// Options of `trawl index list`.
#[derive(Debug, clap::Args)]
pub(in crate::index) struct ListArgs {
    /// List those of the sources with these paths [default: all]
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,
    #[command(flatten)]
    place: In,
    #[command(flatten)]
    form: FormArgs<Rows>,
}

/// Lists the named indices, as far as this user may read them.
pub(super) fn run(args: &ListArgs, setting: Setting<'_>) -> Result<Exit, Failure> {
    let indexes = opened(args.place.or(&setting))?;
    let asked = args.paths.iter().map(|path| asked(path));
    let asked: Vec<Vec<u8>> = asked.collect::<Result<_, _>>()?;
    let mut report = rows::report(&SCHEMA, args.form.form());
    report.begin()?;
    let mut exit = Exit::Complete;
    for (source, _) in in_all(&indexes)? {
        let has = |path: &Vec<u8>| path::is_within(path, source.root());
        if !asked.is_empty() && !asked.iter().any(has) {
            continue;
        }
        let Some(view) = view_of(&source, &mut exit) else {
            continue;
        };
        for one in view.named_indices() {
            let coverage = Coverage::of(&view, one);
            report.line(
                || text(&source, one, &coverage),
                |row| {
                    row.put(&fields::ROOT, display(source.root()))
                        .put(&NAME, one.name())
                        .put(&KIND, one.kind().name())
                        .put(&ATTRIBUTES, &*attributes(one))
                        .put(&FILES, coverage.files)
                        .put(&SIZE_BYTES, coverage.size_bytes)
                        .put(&ROWS, coverage.rows)
                        .put(&ROWS_LEFT, coverage.rows_left)
                        .put(&IS_CURRENT, !coverage.is_behind);
                },
            )?;
        }
    }
    rows::finish(report)?;
    Ok(exit)
}

/// Opens the current snapshot of a source, with the changes since. An unreadable source does not
/// hide the others.
fn view_of(source: &Source, exit: &mut Exit) -> Option<View> {
    let snapshot = source.now().unwrap_or_else(|error| {
        say(&error);
        *exit = Exit::Fatal;
        None
    });
    let who = Arc::new(Credentials::default());
    Some(View::new(snapshot?.without_bundle(), who))
}

fn attributes(one: &Definition) -> String {
    let names = one.attributes().iter();
    let names: Vec<&str> = names.map(|column| column.info().name).collect();
    names.join(",")
}

fn text(source: &Source, one: &Definition, coverage: &Coverage) -> String {
    let state = match coverage.is_behind {
        true => "behind",
        false => "current",
    };
    format!(
        "{}: {}, {} by {}, {}, {}, {state}\n",
        shown(source.root()),
        one.name(),
        one.kind().name(),
        attributes(one),
        counted(coverage.rows, "row"),
        format(u128::from(coverage.size_bytes), Scale::Binary),
    )
}
