//! `trawl index list`.

use std::ffi::OsString;
use std::sync::Arc;

use trawl_format::{IndexError, Source};
use trawl_indexer::indices::Coverage;
use trawl_indexer::sources::in_all;
use trawl_indices::Definition;
use trawl_keywords::{Contents, PacksCovered};
use trawl_model::guard::Credentials;
use trawl_model::path::{self, display};
use trawl_query::View;
use trawl_report::{Field, Schema, fields, schema};
use trawl_text::units::{Scale, format};

use super::define::needs_packs;
use super::{In, asked};
use crate::commands::Setting;
use crate::documents;
use crate::exit::Exit;
use crate::failure::{Failure, shown};
use crate::forms::{FormArgs, Rows};
use crate::index::progress::counted;
use crate::output::say;
use crate::rows::{self, Report};
use crate::sources::opened;

pub(super) const NAME: Field = Field::text("named_index", "name of a named index");
const KIND: Field = Field::text("index_kind", "`ordered`, `hashed`, `inverted` or `graph`");
const ATTRIBUTES: Field = Field::text(
    "attributes_on",
    "attributes of a named index, separated by commas, the first in order first; `attr:NAME` is \
     an attribute of contents, `xattr:NAME` an extended attribute, `relation:KIND` a kind of \
     relations, `relation:all` all kinds",
);
const PART: Field = Field::bytes(
    "index_part",
    "path of the directory whose entries a named index has",
);
const FILES: Field = Field::integer(
    "index_files",
    "number of files of a named index that you may read; of one over contents or relations, number \
     of packs of keywords; of one over an extended attribute, number of tables of values",
);
const SIZE_BYTES: Field =
    Field::integer("named_index_bytes", "size of these files").in_units("bytes");
const ROWS: Field = Field::integer(
    "rows_covered",
    "number of rows in these files, of files whose contents are in these packs, or of values of all \
     attributes in these tables",
);
const ROWS_LEFT: Field = Field::integer(
    "rows_left",
    "number of other rows that you may read, which questions look at; `null` for other indices \
     than those over columns",
);
const IS_CURRENT: Field = Field::flag(
    "is_current",
    "whether every part of the source that can have a file has one, contents are indexed and all \
     packs can be used, or the scan read extended attributes",
);

/// Rows for programs.
pub(in crate::index) static SCHEMA: Schema = Schema {
    row: "a named index",
    fields: &[
        fields::ROOT,
        NAME,
        KIND,
        ATTRIBUTES,
        PART,
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
    let contents = documents::contents(setting.index.clone());
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
            match Covered::of((&source, &view), one, &contents) {
                Ok(covered) => put(&mut report, &source, one, &covered)?,
                Err(error) => {
                    say(&error);
                    exit = Exit::Fatal;
                }
            }
        }
    }
    rows::finish(report)?;
    Ok(exit)
}

/// Reports on a named index.
fn put(
    report: &mut Report,
    source: &Source,
    one: &Definition,
    covered: &Covered,
) -> Result<(), Failure> {
    let part = match one.part() {
        b"" => source.root().to_vec(),
        part => path::join(source.root(), part),
    };
    report.line(
        || text(&part, one, covered),
        |row| {
            row.put(&fields::ROOT, display(source.root()))
                .put(&NAME, one.name())
                .put(&KIND, one.kind().name())
                .put(&ATTRIBUTES, &*one.on())
                .put(&PART, display(&part))
                .put(&FILES, covered.files)
                .put(&SIZE_BYTES, covered.size_bytes)
                .put(&ROWS, covered.rows)
                .put(&ROWS_LEFT, covered.rows_left)
                .put(&IS_CURRENT, covered.is_current);
        },
    )?;
    Ok(())
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

/// What a named index has, as far as this user may read it.
struct Covered {
    files: u64,
    size_bytes: u64,
    rows: u64,
    rows_left: Option<u64>,
    is_current: bool,
    /// What it has, in words.
    has: String,
}

impl Covered {
    fn of(
        (source, view): (&Source, &View),
        one: &Definition,
        contents: &Contents,
    ) -> Result<Covered, IndexError> {
        if needs_packs(one) {
            return Ok(Covered::of_packs(contents.covered(source)?));
        }
        if one.relations().is_some() {
            return Ok(Covered::of_record());
        }
        Ok(match one.xattr() {
            Some(_) => Covered {
                rows_left: None,
                ..Covered::of_tables(&Coverage::of_xattrs(view), "value")
            },
            None => Covered::of_tables(&Coverage::of(view, one), "row"),
        })
    }

    fn of_tables(coverage: &Coverage, unit: &str) -> Covered {
        Covered {
            files: coverage.files,
            size_bytes: coverage.size_bytes,
            rows: coverage.rows,
            rows_left: Some(coverage.rows_left),
            is_current: !coverage.is_behind,
            has: has((coverage.rows, unit), coverage.size_bytes),
        }
    }

    fn of_packs(packs: PacksCovered) -> Covered {
        Covered {
            files: packs.packs,
            size_bytes: packs.size_bytes,
            rows: packs.documents,
            rows_left: None,
            is_current: packs.is_usable,
            has: has((packs.documents, "file"), packs.size_bytes),
        }
    }

    /// What programs opened is in the record of each user, which no scan makes.
    fn of_record() -> Covered {
        Covered {
            files: 0,
            size_bytes: 0,
            rows: 0,
            rows_left: None,
            is_current: true,
            has: "in each user's own record".to_owned(),
        }
    }
}

fn has((count, unit): (u64, &str), size_bytes: u64) -> String {
    let size = format(u128::from(size_bytes), Scale::Binary);
    format!("{}, {size}", counted(count, unit))
}

fn text(part: &[u8], one: &Definition, covered: &Covered) -> String {
    let state = match covered.is_current {
        true => "current",
        false => "behind",
    };
    format!(
        "{}: {}, {} by {}, {}, {state}\n",
        shown(part),
        one.name(),
        one.kind().name(),
        one.on(),
        covered.has,
    )
}
