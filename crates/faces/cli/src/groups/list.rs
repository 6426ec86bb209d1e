//! `trawl groups list`.

use std::cmp::Reverse;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use trawl_groups::{Identity, Places, Question, Range, Rules, Summary, Wanted};
use trawl_model::Timestamp;
use trawl_model::path::display;
use trawl_report::table::{Align, table};
use trawl_report::{Field, Form, Row, Schema, fields, schema};
use trawl_session::now;
use trawl_text::units::{Scale, format};

use super::{AskArgs, ID, NAME, RULE, learnt, terminal};
use crate::commands::Setting;
use crate::exit::Exit;
use crate::failure::{Failure, quoted};
use crate::forms::{FormArgs, Rows};
use crate::index::progress::grouped;
use crate::rows;

const PLACE: Field = Field::bytes(
    "place",
    "directory that has all members; `null` if they can be anywhere",
);
const FILES: Field = Field::integer(
    "files",
    "number of the group's files that the question is about",
);
const SIZE_BYTES: Field = Field::integer(
    "size_sum_bytes",
    "sum of apparent sizes, each name of a file counted",
)
.in_units("bytes");
const MIN_BYTES: Field =
    Field::integer("size_min_bytes", "size of the smallest file").in_units("bytes");
const MAX_BYTES: Field =
    Field::integer("size_max_bytes", "size of the largest file").in_units("bytes");
const MTIME_MIN: Field = Field::time("mtime_min", "earliest change of a file's content");
const MTIME_MAX: Field = Field::time("mtime_max", "latest change of a file's content");
const ATIME_MIN: Field = Field::time("atime_min", "earliest last access of a file");
const ATIME_MAX: Field = Field::time("atime_max", "latest last access of a file");
const CTIME_MIN: Field = Field::time("ctime_min", "earliest change of a file's inode");
const CTIME_MAX: Field = Field::time("ctime_max", "latest change of a file's inode");

/// Rows for programs.
pub(super) static SCHEMA: Schema = Schema {
    row: "a group of files",
    fields: &[
        ID,
        NAME,
        RULE,
        PLACE,
        FILES,
        SIZE_BYTES,
        fields::DISK_BYTES,
        MIN_BYTES,
        MAX_BYTES,
        MTIME_MIN,
        MTIME_MAX,
        ATIME_MIN,
        ATIME_MAX,
        CTIME_MIN,
        CTIME_MAX,
    ],
    forms: schema::ROWS,
    samples: &["groups list {form} ."],
};

/// Options of `trawl groups list`.
#[derive(Debug, clap::Args)]
pub(super) struct ListArgs {
    /// List groups with files below these directories [default: the whole index]
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,
    /// Sort by this quantity
    #[arg(long, value_name = "WHAT", value_enum, default_value = "size")]
    sort: Sort,
    /// List groups of this rule only
    #[arg(long, value_name = "NAME")]
    rule: Option<String>,
    /// List groups that may have a file with WORD in its path; may be repeated
    #[arg(long, value_name = "WORD")]
    word: Vec<OsString>,
    /// List groups that have a file of at least SIZE; units as in 10K, 1M, 2G
    #[arg(long, value_name = "SIZE", value_parser = crate::duplicates::size)]
    min_size: Option<u64>,
    /// List groups that have a file changed within AGE, such as 30s, 5m or 1d
    #[arg(long, value_name = "AGE", value_parser = crate::fresh::parse_time)]
    newer: Option<Duration>,
    #[command(flatten)]
    ask: AskArgs,
    #[command(flatten)]
    form: FormArgs<Rows>,
}

/// Order of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Sort {
    /// The largest sum of sizes first
    Size,
    /// Most files first
    Files,
    /// By name
    Name,
}

type Listed = (Arc<Identity>, Summary);

impl ListArgs {
    fn wanted(&self) -> Wanted {
        let words = self.word.iter();
        Wanted {
            words: words.map(|word| word.as_encoded_bytes().to_vec()).collect(),
            min_bytes: self.min_size,
            since: self.newer.map(ago),
        }
    }

    /// Fails if no rule has the name that is asked for.
    fn check_rule(&self) -> Result<(), Failure> {
        let Some(rule) = &self.rule else {
            return Ok(());
        };
        let rules = Rules::load(&Places::of_process(self.ask.rules.rules.clone()))?;
        let names: Vec<&str> = rules.names().chain([learnt::RULE]).collect();
        if names.contains(&rule.as_str()) {
            return Ok(());
        }
        let (rule, names) = (quoted(rule.as_bytes()), names.join(", "));
        let why = format!("there is no rule {rule}: give one of {names}");
        Err(Failure::Usage(why))
    }

    fn sort(&self, groups: &mut [Listed]) {
        groups.sort_by(|(a, of_a), (b, of_b)| {
            let by_name = || (&a.name, a.id).cmp(&(&b.name, b.id));
            let order = match self.sort {
                Sort::Size => Reverse(of_a.size_sum_bytes).cmp(&Reverse(of_b.size_sum_bytes)),
                Sort::Files => Reverse(of_a.files).cmp(&Reverse(of_b.files)),
                Sort::Name => by_name(),
            };
            order.then_with(by_name)
        });
    }
}

fn ago(age: Duration) -> Timestamp {
    now().minus_secs(i64::try_from(age.as_secs()).unwrap_or(i64::MAX))
}

/// Lists the groups.
pub(super) fn run(args: &ListArgs, setting: Setting<'_>) -> Result<Exit, Failure> {
    args.check_rule()?;
    let (mut session, grouper) = args.ask.open(setting)?;
    let mut groups = Question::new(&mut session, grouper).list(&args.paths, &args.wanted())?;
    if let Some(rule) = &args.rule {
        groups.retain(|(group, _)| *group.rule == **rule);
    }
    args.sort(&mut groups);
    let mut report = rows::report(&SCHEMA, args.form.form());
    report.begin()?;
    match report.form() {
        Form::Text => report.put(text(&groups))?,
        _ => {
            for listed in &groups {
                report.row(|row| fill(row, listed))?;
            }
        }
    }
    rows::finish(report)?;
    session.finish()
}

fn text(groups: &[Listed]) -> Vec<u8> {
    let terminal = terminal();
    let rows = groups.iter().map(|(group, summary)| {
        let size = format(u128::from(summary.size_sum_bytes), Scale::Binary);
        vec![
            group.id.to_string().into_bytes(),
            group.rule.as_bytes().to_vec(),
            grouped(summary.files).into_bytes(),
            size.into_bytes(),
            terminal.show(&group.name).to_vec(),
        ]
    });
    table(&rows.collect::<Vec<_>>(), Align::EndsLeft)
}

fn fill(row: &mut Row<'_>, (group, summary): &Listed) {
    let ends = |range: Option<Range<Timestamp>>| range.map(|range| (range.min, range.max)).unzip();
    let sizes = summary.size_bytes;
    let (mtime_min, mtime_max) = ends(summary.mtime);
    let (atime_min, atime_max) = ends(summary.atime);
    let (ctime_min, ctime_max) = ends(summary.ctime);
    row.put(&ID, &group.id.to_string())
        .put(&NAME, &group.name)
        .put(&RULE, &*group.rule)
        .put(&PLACE, group.extent.place().map(display))
        .put(&FILES, summary.files)
        .put(&SIZE_BYTES, summary.size_sum_bytes)
        .put(&fields::DISK_BYTES, summary.disk_bytes)
        .put(&MIN_BYTES, sizes.map(|sizes| sizes.min))
        .put(&MAX_BYTES, sizes.map(|sizes| sizes.max))
        .put(&MTIME_MIN, mtime_min)
        .put(&MTIME_MAX, mtime_max)
        .put(&ATIME_MIN, atime_min)
        .put(&ATIME_MAX, atime_max)
        .put(&CTIME_MIN, ctime_min)
        .put(&CTIME_MAX, ctime_max);
}
