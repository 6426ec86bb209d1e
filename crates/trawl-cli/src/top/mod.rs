//! `trawl top`: ranks files, directories, owners, groups, extensions and projects by size, time or
//! number.
//!
//! Files with several names count once. Directories are summed up from the running sums of the
//! index, without looking at their entries.

mod directories;
mod entries;
mod groups;
mod render;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use trawl_query::{RankBy, Start, Totals};
use trawl_report::Schema;
use trawl_text::locale::Locale;
use trawl_text::owners::Owners;
use trawl_text::quote::Terminal;
use trawl_text::zone::Zone;

use crate::arguments::Manner;
use crate::commands::{Setting, Spec};
use crate::exit::Exit;
use crate::expression::Expression;
use crate::failure::Failure;
use crate::forms::{FormArgs, Offer, Rows};
use crate::output::{Device, Output, cells};
use crate::rows::{self, Form, Report};
use crate::scope::{Depth, Follow, Part, Session};
use crate::stats::By;
use crate::stats::render::Ink;
use trawl_session::now;

const EXAMPLES: &str = "\
Sizes are allocated space, as in du, unless --apparent-size is given. A file
with several names counts once. Shares are of everything below the paths.

Examples:
  trawl top /srv                         show the 20 largest files
  trawl top -n 5 --dirs /home            show the 5 largest directories
  trawl top --fullest /                  show directories with most entries
  trawl top --oldest=atime /scratch      show files not read for longest
  trawl top --owners --by files /scratch
  trawl top /srv -- -user ann -name '*.bam'";

/// The forms of the answer.
#[derive(Clone, Copy, Debug)]
struct Offered;

impl Offer for Offered {
    const CSV: Option<&'static str> = Rows::CSV;
    const NULL: Option<&'static str> =
        Some("Print only paths or names, each terminated by a NUL byte");
}

// Options of `trawl top`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TopArgs {
    /// Rank entries below these paths [default: the working directory]
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,
    #[command(flatten)]
    subject: SubjectArgs,
    /// Rank by this quantity
    #[arg(long, value_name = "WHAT", value_enum, default_value = "space")]
    by: Measure,
    /// Show N lines
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Use apparent sizes, as in ls, instead of allocated space
    #[arg(long)]
    apparent_size: bool,
    /// Print sizes in bytes, without units
    #[arg(short = 'b', long)]
    bytes: bool,
    #[command(flatten)]
    form: FormArgs<Offered>,
    #[command(flatten)]
    pub(crate) manner: Manner,
    /// Rank only entries that match this find expression; not directories
    #[arg(last = true, value_name = "EXPRESSION")]
    expression: Vec<OsString>,
}

impl Spec for TopArgs {
    const ABOUT: &'static str = "Rank files, directories or owners by size, time or number";
    const TAKES_EXPRESSION: bool = true;
    const SEE_ALSO: &'static [&'static str] =
        &["trawl-stats(1)", "trawl-du(1)", "trawl-duplicates(1)"];
    const REPORTS: &'static [&'static Schema] =
        &[&entries::SCHEMA, &directories::SCHEMA, &groups::SCHEMA];

    fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
        run(setting.index, self, setting.manner)
    }
}

// The subject that is ranked.
#[derive(Debug, clap::Args)]
#[group(multiple = false)]
struct SubjectArgs {
    /// Rank files [default]
    #[arg(long)]
    files: bool,
    /// Rank directories, including everything below them
    #[arg(long)]
    dirs: bool,
    /// Rank directories by the number of their own entries
    #[arg(long)]
    fullest: bool,
    /// Show the files with the earliest times
    #[arg(long, value_name = "TIME", value_enum, num_args = 0..=1, require_equals = true,
          default_missing_value = "mtime")]
    oldest: Option<Clock>,
    /// Show the files with the latest times
    #[arg(long, value_name = "TIME", value_enum, num_args = 0..=1, require_equals = true,
          default_missing_value = "mtime")]
    newest: Option<Clock>,
    /// Rank owners
    #[arg(long)]
    owners: bool,
    /// Rank owning groups
    #[arg(long)]
    groups: bool,
    /// Rank extensions of files
    #[arg(long)]
    extensions: bool,
    /// Rank projects
    #[arg(long)]
    projects: bool,
}

/// A time of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Clock {
    /// Last change of the content
    Mtime,
    /// Last access
    Atime,
    /// Last change of the inode
    Ctime,
    /// Creation, where it is known
    Btime,
}

impl Clock {
    fn of_index(self) -> RankBy {
        match self {
            Clock::Mtime => RankBy::Modified,
            Clock::Atime => RankBy::Accessed,
            Clock::Ctime => RankBy::Changed,
            Clock::Btime => RankBy::Created,
        }
    }
}

/// Quantity by which subjects are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Measure {
    /// Space used
    #[value(alias = "bytes", alias = "size")]
    Space,
    /// Number of entries
    #[value(alias = "files", alias = "inodes")]
    Entries,
}

/// Subject of a ranking, and its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    Largest,
    Oldest(Clock),
    Newest(Clock),
    Directories,
    Fullest,
    Groups(By),
}

impl SubjectArgs {
    fn subject(&self) -> Subject {
        let flags = [
            (self.dirs, Subject::Directories),
            (self.fullest, Subject::Fullest),
            (self.owners, Subject::Groups(By::Owner)),
            (self.groups, Subject::Groups(By::Group)),
            (self.extensions, Subject::Groups(By::Extension)),
            (self.projects, Subject::Groups(By::Project)),
        ];
        let set = flags.into_iter().find(|(is_set, _)| *is_set);
        match (self.oldest, self.newest, set) {
            (Some(clock), _, _) => Subject::Oldest(clock),
            (_, Some(clock), _) => Subject::Newest(clock),
            (_, _, Some((_, subject))) => subject,
            _ => Subject::Largest,
        }
    }
}

/// The kind of size that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SizeKind {
    Allocated,
    Apparent,
}

/// A place that a question is about.
struct Place {
    /// Path as the user spelled it.
    given: Vec<u8>,
    start: Start,
}

/// A question, and everything that answers need.
struct Ask<'a> {
    subject: Subject,
    by: Measure,
    limit: usize,
    size: SizeKind,
    exact: render::Units,
    form: Form,
    expression: &'a Expression,
    terminal: Terminal,
    ink: Ink,
    zone: Zone,
    owners: Owners,
    /// Totals of all places, which shares refer to.
    whole: Totals,
    /// Size in bytes and blocks of the places' own rows.
    own: (u64, u64),
}

impl TopArgs {
    fn ask<'a>(&self, expression: &'a Expression) -> Result<Ask<'a>, Failure> {
        let subject = self.subject.subject();
        let ranks_groups = matches!(subject, Subject::Groups(_) | Subject::Directories);
        if self.by == Measure::Entries && !ranks_groups {
            let why = "--by entries is for --dirs, --owners, --groups, --extensions and --projects";
            return Err(Failure::Usage(why.into()));
        }
        if !expression.is_empty() && matches!(subject, Subject::Directories | Subject::Fullest) {
            let why = "directories are summed up with everything in them: leave out the expression";
            return Err(Failure::Usage(why.into()));
        }
        let locale = Locale::from_env();
        Ok(Ask {
            subject,
            by: self.by,
            limit: self.limit,
            size: match self.apparent_size {
                true => SizeKind::Apparent,
                false => SizeKind::Allocated,
            },
            exact: match self.bytes {
                true => render::Units::Bytes,
                false => render::Units::Human,
            },
            form: self.form.form(),
            expression,
            terminal: match Device::of_stdout() {
                Device::Terminal => Terminal::Watched(locale),
                Device::Other => Terminal::Absent,
            },
            ink: Ink::of(locale),
            zone: Zone::local(),
            owners: Owners::default(),
            whole: Totals::default(),
            own: (0, 0),
        })
    }
}

impl Subject {
    /// Returns the rows for programs.
    fn schema(self) -> &'static Schema {
        match self {
            Subject::Largest | Subject::Oldest(_) | Subject::Newest(_) => &entries::SCHEMA,
            Subject::Directories | Subject::Fullest => &directories::SCHEMA,
            Subject::Groups(_) => &groups::SCHEMA,
        }
    }
}

/// Runs the command.
pub(crate) fn run(index: Option<PathBuf>, args: &TopArgs, manner: Manner) -> Result<Exit, Failure> {
    let expression = Expression::read(&args.expression)?;
    let mut ask = args.ask(&expression)?;
    let mut session = Session::open(index, manner.then(args.manner), Exit::Fatal)?;
    let places = places(&mut session, &args.paths)?;
    for place in &places {
        ask.note(&session, &place.start)?;
    }
    let output = Output::stdout().with_own_controls();
    let mut report = Report::new(ask.subject.schema(), ask.form, cells(), output);
    match ask.subject {
        Subject::Largest | Subject::Oldest(_) | Subject::Newest(_) => {
            entries::write(&ask, &session, &places, &mut report)?;
        }
        Subject::Directories | Subject::Fullest => {
            directories::write(&ask, &session, &places, &mut report)?;
        }
        Subject::Groups(by) => groups::write(&ask, by, &session, &places, now(), &mut report)?,
    }
    rows::finish(report)?;
    session.finish()
}

/// Looks up the paths; no place lies within another.
fn places(session: &mut Session, paths: &[OsString]) -> Result<Vec<Place>, Failure> {
    let here = [OsString::from(".")];
    let paths = if paths.is_empty() { &here[..] } else { paths };
    let mut places: Vec<Place> = Vec::new();
    for given in paths {
        let Some(start) = session.locate(given, Follow::Last)? else {
            continue;
        };
        let is_in = |a: &Start, b: &Start| trawl_model::path::is_within(&a.path, &b.path);
        if places.iter().any(|known| is_in(&start, &known.start)) {
            continue;
        }
        places.retain(|known| !is_in(&known.start, &start));
        places.push(Place {
            given: given.as_bytes().to_vec(),
            start,
        });
    }
    for Place { given, start } in &places {
        session.note_part(start, given, &Part::whole(Depth::All))?;
    }
    Ok(places)
}

impl Ask<'_> {
    /// Adds the entries at and below a place to the totals.
    fn note(&mut self, session: &Session, start: &Start) -> Result<(), Failure> {
        let totals = session.index().totals(start)?;
        let row = start.own_row();
        self.own.0 = self.own.0.wrapping_add(row.size());
        self.own.1 = self.own.1.wrapping_add(row.blocks());
        let (sums, more) = (&mut self.whole.sums, &totals.sums);
        sums.files = sums.files.wrapping_add(more.files);
        sums.dirs = sums.dirs.wrapping_add(more.dirs);
        sums.symlinks = sums.symlinks.wrapping_add(more.symlinks);
        sums.others = sums.others.wrapping_add(more.others);
        sums.size_bytes = sums.size_bytes.wrapping_add(more.size_bytes);
        sums.blocks = sums.blocks.wrapping_add(more.blocks);
        let (repeats, more) = (&mut self.whole.repeats, &totals.repeats);
        repeats.entries = repeats.entries.saturating_add(more.entries);
        repeats.size_bytes = repeats.size_bytes.wrapping_add(more.size_bytes);
        repeats.blocks = repeats.blocks.wrapping_add(more.blocks);
        Ok(())
    }

    /// Returns the bytes of all places, each object counted once.
    fn whole_bytes(&self) -> u64 {
        let (sums, repeats) = (&self.whole.sums, &self.whole.repeats);
        match self.size {
            SizeKind::Apparent => sums
                .size_bytes
                .wrapping_sub(repeats.size_bytes)
                .wrapping_add(self.own.0),
            SizeKind::Allocated => sums
                .blocks
                .wrapping_sub(repeats.blocks)
                .wrapping_add(self.own.1)
                .saturating_mul(512),
        }
    }

    /// Returns the size in bytes that counts, of these two.
    fn bytes(&self, size_bytes: u64, blocks: u64) -> u64 {
        match self.size {
            SizeKind::Apparent => size_bytes,
            SizeKind::Allocated => blocks.saturating_mul(512),
        }
    }
}
