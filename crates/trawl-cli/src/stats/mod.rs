//! `trawl stats`: how many entries and bytes there are, by type, extension,
//! size, age, owner and group, in one pass over the rows.

mod render;
mod tally;

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use trawl_model::rows::Row;
use trawl_model::{FileType, Gid, Timestamp, Uid};
use trawl_query::{Request, Start};
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
use crate::json::Object;
use crate::output::{Device, Output};
use crate::rows::Form;
use crate::scope::{Depth, Follow, Session, row_of};

use self::render::{Ink, section};
use self::tally::{By, Count, Tally};

const EXAMPLES: &str = "\
Entries count names; content (apparent size) and disk (allocated space) count
a file with several names once, as du does. Ages are those of the content,
counted from now; sizes and extensions those of regular files.";

/// Extensions that are shown.
const EXTENSIONS_SHOWN: usize = 20;
/// Owners and groups that are shown to people.
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

/// One counted thing.
struct Counted {
    by: By,
    /// The label; `None` where the thing has none.
    key: Option<Vec<u8>>,
    /// How people read it.
    label: Vec<u8>,
    count: Count,
}

/// Runs the command.
pub(crate) fn run(
    index: Option<PathBuf>,
    args: &StatsArgs,
    manner: Manner,
) -> Result<Exit, Failure> {
    let mut session = Session::open(index, manner.then(args.manner))?;
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
    let (owners, mut output) = (Owners::default(), Output::stdout());
    if form == Form::Csv {
        output.put("path,by,key,entries,size_bytes,disk_bytes\n")?;
    }
    for given in paths {
        let Some(start) = session.locate(given, Follow::Last)? else {
            continue;
        };
        let tally = count(&session, &start, now())?;
        session.note(&start, Depth::All)?;
        let rows: Vec<Counted> = kinds
            .iter()
            .flat_map(|by| counted_by(*by, &tally, &owners))
            .collect();
        match form {
            Form::Json => rows
                .iter()
                .try_for_each(|row| output.put(json(given, row)))?,
            Form::Csv => rows
                .iter()
                .try_for_each(|row| output.put(csv(given, row)))?,
            Form::Text => output.put(text(given, &tally, kinds, &rows))?,
        }
    }
    output.finish()?;
    session.finish()
}

fn count(session: &Session, start: &Start, now: Timestamp) -> Result<Tally, Failure> {
    let (mut whole, mut seen) = (Tally::default(), HashSet::new());
    let mut own = Tally::default();
    own.add(&row_of(start), now);
    whole.absorb(own, &mut seen);
    if start.is_dir {
        let request = Request {
            columns: tally::COLUMNS,
            ..Request::default()
        };
        session.index().walk(
            start,
            &request,
            |listing, tally: &mut Tally| {
                for at in listing.range.clone() {
                    let row = Row {
                        batch: listing.batch,
                        at,
                        dir: listing.dir.path,
                    };
                    tally.add(&row, now);
                }
            },
            |tally| {
                whole.absorb(tally, &mut seen);
                ControlFlow::Continue(())
            },
        )?;
    }
    Ok(whole)
}

/// The rows of one kind, in the order in which they are shown.
fn counted_by(by: By, tally: &Tally, owners: &Owners) -> Vec<Counted> {
    let row = |key: Option<Vec<u8>>, label: &[u8], count| Counted {
        by,
        key,
        label: label.to_vec(),
        count,
    };
    let labelled = |(label, count): (&str, Count)| row(Some(label.into()), label.as_bytes(), count);
    match by {
        By::Type => {
            let types = tally.types().into_iter();
            let letter = |kind: FileType| Some(vec![kind.letter()]);
            types
                .map(|(kind, count)| row(letter(kind), type_name(kind), count))
                .collect()
        }
        By::Extension => {
            let (list, rest) = tally.extensions(EXTENSIONS_SHOWN);
            let named = list.into_iter().map(|(extension, count)| match extension {
                Some(extension) => row(Some(extension.to_vec()), &dotted(extension), count),
                None => row(None, b"(none)", count),
            });
            let others = (rest.entries > 0).then(|| row(None, b"(others)", rest));
            named.chain(others).collect()
        }
        By::Size => tally.sizes().into_iter().map(labelled).collect(),
        By::Age => tally.ages().into_iter().map(labelled).collect(),
        By::Owner => by_id(&tally.owners, |id| owners.user(Uid(id)), row),
        By::Group => by_id(&tally.groups, |id| owners.group(Gid(id)), row),
    }
}

fn dotted(extension: &[u8]) -> Vec<u8> {
    [b".", extension].concat()
}

/// Ids with their names, those with most bytes first.
fn by_id(
    counts: &std::collections::HashMap<u32, Count>,
    name: impl Fn(u32) -> trawl_text::owners::OwnerName,
    row: impl Fn(Option<Vec<u8>>, &[u8], Count) -> Counted,
) -> Vec<Counted> {
    let mut list: Vec<(u32, Count)> = counts.iter().map(|(id, count)| (*id, *count)).collect();
    list.sort_by_key(|(id, count)| (std::cmp::Reverse(count.disk_bytes), *id));
    let rows = list.into_iter().map(|(id, count)| {
        let label = name(id).map_or_else(|| id.to_string().into_bytes(), |name| name.to_vec());
        row(Some(label.clone()), &label, count)
    });
    rows.collect()
}

const fn type_name(kind: FileType) -> &'static [u8] {
    match kind {
        FileType::Regular => b"files",
        FileType::Directory => b"directories",
        FileType::Symlink => b"symbolic links",
        FileType::Fifo => b"FIFOs",
        FileType::Socket => b"sockets",
        FileType::Block => b"block devices",
        FileType::Char => b"character devices",
        FileType::Unknown => b"unknown",
    }
}

fn json(given: &OsStr, row: &Counted) -> String {
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
        .number("disk_bytes", row.count.disk_bytes);
    object.close() + "\n"
}

fn csv(given: &OsStr, row: &Counted) -> Vec<u8> {
    Line::new()
        .field(given.as_bytes())
        .field(row.by.name())
        .field(row.key.as_deref().unwrap_or(&row.label))
        .value(row.count.entries)
        .value(row.count.size_bytes)
        .value(row.count.disk_bytes)
        .close()
}

fn text(given: &OsStr, tally: &Tally, kinds: &[By], rows: &[Counted]) -> Vec<u8> {
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
    let size = |bytes: u64| format(u128::from(bytes), Scale::Binary);
    let whole = tally.all;
    let mut out = format!(
        "{}: {}, {} of content, {} on disk\n",
        shown(given.as_bytes()),
        counted(whole.entries, "entry"),
        size(whole.size_bytes),
        size(whole.disk_bytes),
    )
    .into_bytes();
    for by in kinds {
        let of_kind = rows.iter().filter(|row| row.by == *by);
        let mut lines: Vec<render::Row> = of_kind
            .map(|row| render::Row {
                label: row.label.clone(),
                count: row.count,
            })
            .collect();
        let cut = matches!(by, By::Owner | By::Group) && lines.len() > OWNERS_SHOWN;
        if cut {
            let mut rest = Count::default();
            lines
                .drain(OWNERS_SHOWN..)
                .for_each(|line| rest.add(line.count));
            lines.push(render::Row {
                label: b"(others)".to_vec(),
                count: rest,
            });
        }
        out.push(b'\n');
        let of = if matches!(by, By::Size | By::Extension) {
            files(tally)
        } else {
            whole
        };
        out.extend(section(by.name(), &lines, of, terminal, ink));
    }
    out
}

/// What sizes and extensions are shares of.
fn files(tally: &Tally) -> Count {
    let types = tally.types();
    let regular = types.iter().find(|(kind, _)| *kind == FileType::Regular);
    regular.map(|(_, count)| *count).unwrap_or_default()
}
