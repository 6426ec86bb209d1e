//! `trawl stats`: how many entries and bytes there are, by type, extension,
//! size, age, owner and group.

mod groups;
mod render;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use trawl_model::FileType;
use trawl_query::{Count, Repeats, Stats, StatsRequest};
use trawl_text::locale::Locale;
use trawl_text::owners::Owners;
use trawl_text::quote::Terminal;
use trawl_text::units::{Scale, format};

use crate::arguments::Manner;
use crate::csv::Line;
use crate::exit::Exit;
use crate::failure::{Failure, shown};
use crate::index::progress::counted;
use crate::index::scan::now;
use crate::output::{Device, Output};
use crate::rows::Form;
use crate::scope::{Depth, Follow, Part, Session};
use trawl_text::json::Object;

use self::groups::{By, Group, add, groups};
use self::render::{Ink, section};

const EXAMPLES: &str = "\
Every name counts, also further names of the same file; the first line says
how many of these there are. Sizes, ages and extensions are those of regular
files, ages those of the content, counted from now.";

/// Owners and groups that are named to people; the others are one row.
const OWNERS_SHOWN: usize = 20;

/// Options of `trawl stats`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct StatsArgs {
    /// Where to count [default: the working directory]
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,
    /// Count by this only; may be given several times
    #[arg(long, value_name = "KIND", value_enum)]
    by: Vec<By>,
    /// One JSON object a line
    #[arg(long, overrides_with = "csv")]
    json: bool,
    /// Comma-separated values with a header
    #[arg(long, overrides_with = "json")]
    csv: bool,
    #[command(flatten)]
    pub(crate) manner: Manner,
}

/// Runs the command.
pub(crate) fn run(
    index: Option<PathBuf>,
    args: &StatsArgs,
    manner: Manner,
) -> Result<Exit, Failure> {
    let mut session = Session::open(index, manner.then(args.manner), Exit::Fatal)?;
    let here = [OsString::from(".")];
    let paths = if args.paths.is_empty() {
        &here[..]
    } else {
        &args.paths[..]
    };
    let kinds = if args.by.is_empty() {
        &By::ALL[..]
    } else {
        &args.by[..]
    };
    let form = Form::new(args.json, args.csv);
    let request = StatsRequest {
        now: now(),
        threads: None,
        cancel: crate::live::cancel(),
    };
    let (owners, mut output) = (Owners::default(), Output::stdout());
    if form == Form::Csv {
        output.put("path,by,key,entries,size_bytes,disk_bytes\n")?;
    }
    for given in paths {
        let Some(start) = session.locate(given, Follow::Last)? else {
            continue;
        };
        let stats = session.index().stats(&start, &request)?;
        let repeats = session.index().totals(&start)?.repeats;
        session.note_part(&start, given.as_bytes(), &Part::whole(Depth::All))?;
        let rows: Vec<Group> = kinds
            .iter()
            .flat_map(|by| groups(*by, &stats, &owners))
            .collect();
        match form {
            Form::Json => rows
                .iter()
                .try_for_each(|row| output.put(json(given, row)))?,
            Form::Csv => rows
                .iter()
                .try_for_each(|row| output.put(csv(given, row)))?,
            Form::Text => output.put(text(given, &stats, &repeats, kinds, &rows))?,
        }
    }
    output.finish()?;
    session.finish()
}

fn json(given: &OsStr, row: &Group) -> String {
    let object = Object::new()
        .bytes("path", given.as_bytes())
        .text("by", row.by.name());
    let object = match &row.key {
        Some(key) => object.bytes("key", key),
        None => object.null("key"),
    };
    let object = object
        .bytes("label", &row.label)
        .number("entries", row.count.entries)
        .number("size_bytes", row.count.size_bytes)
        .number("disk_bytes", disk_bytes(&row.count));
    object.close() + "\n"
}

fn csv(given: &OsStr, row: &Group) -> Vec<u8> {
    Line::new()
        .field(given.as_bytes())
        .field(row.by.name())
        .field(row.key.as_deref().unwrap_or(&row.label))
        .value(row.count.entries)
        .value(row.count.size_bytes)
        .value(disk_bytes(&row.count))
        .close()
}

fn disk_bytes(count: &Count) -> u64 {
    count.blocks.saturating_mul(512)
}

/// A line about everything, then a section for each kind.
fn text(given: &OsStr, stats: &Stats, repeats: &Repeats, kinds: &[By], rows: &[Group]) -> Vec<u8> {
    let locale = Locale::from_env();
    let terminal = match Device::of_stdout() {
        Device::Terminal => Terminal::Watched(locale),
        Device::Other => Terminal::Absent,
    };
    let ink = if locale.is_utf8() {
        Ink::Blocks
    } else {
        Ink::Signs
    };
    let mut whole = Count::default();
    stats
        .types
        .values()
        .for_each(|count| add(&mut whole, count));
    let files = stats
        .types
        .get(&FileType::Regular)
        .copied()
        .unwrap_or_default();
    let mut out = headline(given, &whole, repeats).into_bytes();
    for by in kinds {
        let lines: Vec<Group> = rows.iter().filter(|row| row.by == *by).cloned().collect();
        let of = if by.is_of_files() { files } else { whole };
        out.push(b'\n');
        out.extend(section(
            by.name(),
            &shortened(*by, lines),
            of,
            terminal,
            ink,
        ));
    }
    out
}

fn headline(given: &OsStr, whole: &Count, repeats: &Repeats) -> String {
    let size = |bytes: u64| format(u128::from(bytes), Scale::Binary);
    let mut line = format!(
        "{}: {}, {} of content, {} on disk",
        shown(given.as_bytes()),
        counted(whole.entries, "entry"),
        size(whole.size_bytes),
        size(disk_bytes(whole)),
    );
    if repeats.entries > 0 {
        let names = counted(repeats.entries, "further name");
        let space = size(repeats.blocks.saturating_mul(512));
        line.push_str(&format!(" ({space} of it in {names} of the same files)"));
    }
    line.push('\n');
    line
}

/// Not more owners and groups than people read.
fn shortened(by: By, mut rows: Vec<Group>) -> Vec<Group> {
    if !matches!(by, By::Owner | By::Group) || rows.len() <= OWNERS_SHOWN {
        return rows;
    }
    let mut count = Count::default();
    for row in rows.drain(OWNERS_SHOWN..) {
        add(&mut count, &row.count);
    }
    rows.push(Group {
        by,
        key: None,
        label: b"(others)".to_vec(),
        count,
    });
    rows
}
