//! `trawl top`: ranks files, directories, owners, groups, extensions and projects by size, time or
//! number.
//!
//! Files with several names count once. Directories are summed up from the running sums of the
//! index, without looking at their entries.

mod directories;
mod entries;
mod groups;
mod merged;
mod render;

use std::ffi::OsStr;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use trawl_answers::TimeKind;
use trawl_answers::expression::Expression;
use trawl_answers::stats::By;
use trawl_answers::top::{Measure, Ranking, SizeKind, Subject, TopOptions, top};
use trawl_report::Schema;
use trawl_text::locale::Locale;
use trawl_text::owners::Owners;
use trawl_text::quote::Terminal;
use trawl_text::zone::Zone;

use crate::arguments::Manner;
use crate::commands::{Setting, Spec};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::forms::{FormArgs, Offer, Rows};
use crate::output::{Device, Output};
use crate::rows::{self, Form};
use crate::scope::Session;
use trawl_answers::listing::COLUMNS;
use trawl_report::bar::Ink;
use trawl_session::now;

pub(crate) use merged::MergedTop;

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
    by: Quantity,
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
    fn kind(self) -> TimeKind {
        match self {
            Clock::Mtime => TimeKind::Modified,
            Clock::Atime => TimeKind::Accessed,
            Clock::Ctime => TimeKind::Changed,
            Clock::Btime => TimeKind::Born,
        }
    }
}

/// Quantity by which subjects are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Quantity {
    /// Space used
    #[value(alias = "bytes", alias = "size")]
    Space,
    /// Number of entries
    #[value(alias = "files", alias = "inodes")]
    Entries,
}

impl Quantity {
    fn measure(self) -> Measure {
        match self {
            Quantity::Space => Measure::Space,
            Quantity::Entries => Measure::Entries,
        }
    }
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
            (Some(clock), _, _) => Subject::Oldest(clock.kind()),
            (_, Some(clock), _) => Subject::Newest(clock.kind()),
            (_, _, Some((_, subject))) => subject,
            _ => Subject::Largest,
        }
    }
}

/// A question, and everything that its output needs.
struct Ask<'a> {
    options: TopOptions<'a>,
    exact: render::Units,
    form: Form,
    terminal: Terminal,
    ink: Ink,
    zone: Zone,
    owners: Owners,
}

impl TopArgs {
    fn ask<'a>(&self, expression: &'a Expression) -> Result<Ask<'a>, Failure> {
        let locale = Locale::from_env();
        Ok(Ask {
            options: self.options(expression)?,
            exact: match self.bytes {
                true => render::Units::Bytes,
                false => render::Units::Human,
            },
            form: self.form.form(),
            terminal: match Device::of_stdout() {
                Device::Terminal => Terminal::Watched(locale),
                Device::Other => Terminal::Absent,
            },
            ink: Ink::of(locale),
            zone: Zone::local(),
            owners: Owners::default(),
        })
    }

    fn options<'a>(&self, expression: &'a Expression) -> Result<TopOptions<'a>, Failure> {
        let subject = self.subject.subject();
        let ranks_groups = matches!(subject, Subject::Groups(_) | Subject::Directories);
        if self.by == Quantity::Entries && !ranks_groups {
            let why = "--by entries is for --dirs, --owners, --groups, --extensions and --projects";
            return Err(Failure::Usage(why.into()));
        }
        if !expression.is_empty() && matches!(subject, Subject::Directories | Subject::Fullest) {
            let why = "directories are summed up with everything in them: leave out the expression";
            return Err(Failure::Usage(why.into()));
        }
        Ok(TopOptions {
            subject,
            by: self.by.measure(),
            size: match self.apparent_size {
                true => SizeKind::Apparent,
                false => SizeKind::Allocated,
            },
            limit: self.limit,
            expression,
            columns: COLUMNS,
            now: now(),
        })
    }
}

/// Returns the rows for programs.
fn schema(subject: Subject) -> &'static Schema {
    match subject {
        Subject::Largest | Subject::Oldest(_) | Subject::Newest(_) => &entries::SCHEMA,
        Subject::Directories | Subject::Fullest => &directories::SCHEMA,
        Subject::Groups(_) => &groups::SCHEMA,
    }
}

/// Runs the command.
pub(crate) fn run(index: Option<PathBuf>, args: &TopArgs, manner: Manner) -> Result<Exit, Failure> {
    let expression = Expression::read(&args.expression)?;
    let ask = args.ask(&expression)?;
    let mut session = Session::open(index, manner.then(args.manner), Exit::Fatal)?;
    let here = [OsString::from(".")];
    let paths = if args.paths.is_empty() {
        &here[..]
    } else {
        &args.paths
    };
    let top = top(&mut session, paths, &ask.options, &ask.owners)?;
    let output = Output::stdout().with_own_controls();
    let mut report = rows::report_to(schema(ask.options.subject), ask.form, output);
    match &top.ranking {
        Ranking::Files(files) => entries::write(&ask, &top, files, &mut report)?,
        Ranking::Directories(found) => directories::write(&ask, &top, found, &mut report)?,
        Ranking::Groups(rows, whole) => {
            let given = match &top.places[..] {
                [only] => OsStr::from_bytes(&only.given),
                _ => OsStr::new(""),
            };
            match report.output().gives_rows() {
                true => merged::put_groups(given, rows, whole, &mut report)?,
                false => groups::write(&ask, given, rows, *whole, &mut report)?,
            }
        }
    }
    rows::finish(report)?;
    session.finish()
}
