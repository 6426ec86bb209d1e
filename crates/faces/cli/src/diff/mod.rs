//! `trawl diff`: the differences between two snapshots of a tree.

pub(crate) mod lines;
mod summary;

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use trawl_answers::diff::{DiffOptions, Lacking, Pair};
use trawl_diff::{AttributeSet, Difference, Kind, Moves, Outcome, Which};
use trawl_model::column::{COMPARED, Column};
use trawl_query::AsOf;
use trawl_report::Schema;
use trawl_session::Sessions;

use crate::answer::say_no_answer;
use crate::arguments::Manner;
use crate::at;
use crate::commands::{Setting, Spec};
use crate::exit::Exit;
use crate::failure::{Failure, quoted};
use crate::forms::{FormArgs, Rows};
use crate::index::progress::counted;
use crate::output::say;
use crate::rows::{self, Form, Report};
use crate::scope::{exit_of, printed_path};
use crate::settings;

use self::lines::{Lines, Style};
use self::summary::{Grouping, Summary};

const EXAMPLES: &str = "\
Examples:
  trawl diff                        compare the last two snapshots of this tree
  trawl diff yesterday now /home    show the changes since yesterday
  trawl diff -3 latest --only deleted /home
  trawl diff '2 weeks ago' /srv --summary=owner
  trawl diff -1 latest --json . | jq .path

A time stands for the newest snapshot that began by then. A single time is
compared with the latest snapshot. A word that is both a time and a path is
taken as a time; write ./now for the path.

Each line begins with + (created), - (deleted), M (changed) or R (moved). A
moved object kept its device and inode numbers, and its creation time where the
file system has one; an object with other numbers is another object. Access
times and device numbers, which a mount may change, are not compared by default
(see --ignore). Values of extended attributes are never compared: a changed
value shows as ctime. In each snapshot you see only what you may see, so a file
that was moved out of your sight is shown as deleted.";

/// Maximum number of directories that are named at the end.
const NAMED: usize = 20;

// Options of `trawl diff`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DiffArgs {
    /// Compare these two times, below this path
    ///
    /// A and B are times or snapshot ids (see --at) [default: -1 latest]. PATH is the path to
    /// compare [default: the working directory].
    #[arg(value_name = "A [B] [PATH]", num_args = 0..=4, allow_negative_numbers = true)]
    words: Vec<OsString>,
    /// Show only differences of these kinds
    #[arg(long, value_name = "KINDS", value_enum, value_delimiter = ',')]
    only: Vec<Only>,
    /// Ignore these attributes [default: atime,device; none compares all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = ignored)]
    ignore: Vec<Ignored>,
    /// Show moved entries as deleted in one place and created in another
    #[arg(long)]
    no_moves: bool,
    /// Leave out entries that moved only with their directory
    #[arg(long)]
    collapse_moves: bool,
    /// Count differences by directory, owner or extension instead
    #[arg(long, value_name = "KIND", value_enum, num_args = 0..=1, require_equals = true,
          default_missing_value = "dir")]
    summary: Option<Grouping>,
    /// Count --summary=dir by directories N levels deep
    #[arg(long, value_name = "N", default_value_t = 1, requires = "summary")]
    depth: usize,
    /// Print only paths; for moved entries the new path
    #[arg(long, conflicts_with = "summary")]
    name_only: bool,
    /// Print only paths, each terminated by a NUL byte
    #[arg(short = '0', long = "null", conflicts_with = "summary")]
    null: bool,
    #[command(flatten)]
    form: FormArgs<Rows>,
    /// Exit with 1 if anything differs
    #[arg(long)]
    exit_code: bool,
    #[command(flatten)]
    pub(crate) manner: Manner,
}

impl Spec for DiffArgs {
    const ABOUT: &'static str = "Show the differences between two snapshots";
    const SEE_ALSO: &'static [&'static str] = &["trawl-history(1)", "trawl-growth(1)"];
    const REPORTS: &'static [&'static Schema] = &[&lines::SCHEMA, &summary::SCHEMA];

    fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
        run(setting.index, self, setting.manner)
    }
}

/// Kind of difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Only {
    /// New entries
    Created,
    /// Entries that are gone
    Deleted,
    /// Entries with other attributes
    Changed,
    /// Entries with another path
    Moved,
}

impl Only {
    fn kind(self) -> Kind {
        match self {
            Only::Created => Kind::Created,
            Only::Deleted => Kind::Deleted,
            Only::Changed => Kind::Changed,
            Only::Moved => Kind::Moved,
        }
    }
}

/// A value of `--ignore`.
#[derive(Clone, Copy, Debug)]
enum Ignored {
    Nothing,
    One(Column),
}

fn ignored(text: &str) -> Result<Ignored, String> {
    if text == "none" {
        return Ok(Ignored::Nothing);
    }
    let found = COMPARED.iter().find(|one| one.compared_as() == Some(text));
    found.copied().map(Ignored::One).ok_or_else(|| {
        let names: Vec<&str> = AttributeSet::all().names().collect();
        format!("use none, or some of {}", names.join(", "))
    })
}

/// Two times and a path to compare.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    before: AsOf,
    after: AsOf,
    path: OsString,
}

/// An option that looks like a number and would be taken for a time.
const NULL: &str = "-0";

impl Asked {
    /// Splits the words into times and a path.
    fn of(words: &[OsString]) -> Result<Asked, Failure> {
        let words: Vec<OsString> = words.iter().filter(|word| *word != NULL).cloned().collect();
        let is_time = |at: usize| words.get(at)?.to_str().and_then(at::parse_word);
        let (before, after, used) = match (is_time(0), is_time(1)) {
            (Some(before), Some(after)) => (before, after, 2),
            (Some(before), None) => (before, AsOf::Back(0), 1),
            (None, _) => (AsOf::Back(1), AsOf::Back(0), 0),
        };
        let path = match words.get(used..).unwrap_or_default() {
            [] => OsString::from("."),
            [path] => path.clone(),
            [word, ..] => {
                let word = quoted(word.as_bytes());
                return Err(Failure::Usage(format!(
                    "{word} is not a time: give one or two times, then one path"
                )));
            }
        };
        Ok(Asked {
            before,
            after,
            path,
        })
    }
}

/// Returns the path that words of the command compare; the working directory if they are wrong.
pub(crate) fn path_of(words: &[OsString]) -> OsString {
    Asked::of(words).map_or_else(|_| ".".into(), |asked| asked.path)
}

/// Runs the command.
pub(crate) fn run(
    index: Option<PathBuf>,
    args: &DiffArgs,
    manner: Manner,
) -> Result<Exit, Failure> {
    let manner = manner.then(args.manner);
    if manner.at.is_some() {
        let text = "diff takes its times as words: trawl diff TIME TIME PATH";
        return Err(Failure::Usage(text.into()));
    }
    let asked = Asked::of(&args.words)?;
    manner.prepare();
    let sessions = Sessions::new(settings::indexes_to_ask(index)?, manner.options());
    let mut pair = Pair::open(&sessions, asked.before, asked.after)?;
    let path = match pair.locate(&asked.path)? {
        Ok(path) => path,
        Err(why) => return Ok(say_no_answer(&asked.path, &why)),
    };
    if pair.is_one_snapshot() {
        say("both times mean the same snapshot: there are no differences");
    }
    let schema = match args.summary {
        Some(_) => &summary::SCHEMA,
        None => &lines::SCHEMA,
    };
    let mut report = rows::report(schema, args.form());
    let mut taker = Taker::new(args, &asked, &path);
    let outcome = pair.compare(&args.options(), &mut |difference| {
        taker.take(difference, &mut report)
    })?;
    let some = taker.finish(&mut report)?;
    rows::finish(report)?;
    let exit = say_gaps(pair, &outcome, &path, asked.path.as_bytes())?;
    Ok(match args.exit_code && some {
        true => exit.and(Exit::Issues),
        false => exit,
    })
}

/// Reports the gaps in the answer.
fn say_gaps(pair: Pair<'_>, outcome: &Outcome, top: &[u8], given: &[u8]) -> Result<Exit, Failure> {
    let Lacking {
        denied,
        completeness,
    } = pair.finish()?;
    let mut exit = exit_of(&completeness, Exit::Fatal);
    if denied > 0 {
        let count = counted(denied, "directory");
        say(format_args!(
            "the content of {count} that you may not list is not compared"
        ));
        exit = exit.and(Exit::Issues);
    }
    say_not_compared(outcome, top, given);
    Ok(match outcome.not_compared.is_empty() {
        true => exit,
        false => exit.and(Exit::Issues),
    })
}

/// Reports the directories that were not compared, and other gaps in the answer.
fn say_not_compared(outcome: &Outcome, top: &[u8], given: &[u8]) {
    for (dir, which) in outcome.not_compared.iter().take(NAMED) {
        let name = quoted(&printed_path(given, top, dir));
        let lacking = match which {
            Which::Before => "second",
            Which::After => "first",
        };
        say(format_args!(
            "{name}: its content is unknown in the {lacking} snapshot and is not compared"
        ));
    }
    let named = outcome.not_compared.len().min(NAMED);
    let more = (outcome.not_compared.len() - named) as u64 + outcome.more_not_compared;
    if more > 0 {
        say(format_args!(
            "the content of {} is not compared either",
            counted(more, "more directory")
        ));
    }
    if outcome.moves_missed {
        say("there are so many changes that some moves are shown as deleted and created");
    }
}

impl DiffArgs {
    fn options(&self) -> DiffOptions {
        DiffOptions {
            compare: self.compared(),
            read: self.read(),
            moves: match self.no_moves {
                true => Moves::Ignore,
                false => Moves::Find,
            },
            collapse_moves: self.collapse_moves,
            only: self.only.iter().map(|one| one.kind()).collect(),
        }
    }

    fn compared(&self) -> AttributeSet {
        let named = self.ignore.iter().filter_map(|one| match one {
            Ignored::Nothing => None,
            Ignored::One(attribute) => Some(*attribute),
        });
        let ignored: Vec<Column> = match self.ignore.is_empty() {
            true => vec![Column::Atime, Column::Dev],
            false => named.collect(),
        };
        AttributeSet::all().minus(AttributeSet::of(&ignored))
    }

    fn is_null(&self) -> bool {
        self.null || self.words.iter().any(|word| word == NULL)
    }

    /// Returns the form of the answer. `-0` counts only beside no other.
    fn form(&self) -> Form {
        match self.form.form() {
            Form::Text if self.is_null() && self.summary.is_none() => Form::Null,
            form => form,
        }
    }

    fn read(&self) -> AttributeSet {
        if self.summary.is_some() {
            return AttributeSet::of(&[Column::Uid, Column::Size, Column::Blocks]);
        }
        match self.form() {
            Form::Json | Form::Csv | Form::Arrow => AttributeSet::all(),
            Form::Text | Form::Null => AttributeSet::EMPTY,
        }
    }
}

/// Receiver of the differences.
struct Taker<'a> {
    lines: Lines<'a>,
    summary: Option<Summary<'a>>,
    some: bool,
    failed: Option<Failure>,
}

impl<'a> Taker<'a> {
    fn new(args: &'a DiffArgs, asked: &'a Asked, top: &'a [u8]) -> Taker<'a> {
        let style = match args.name_only {
            true => Style::Names,
            false => Style::Changes,
        };
        let given = asked.path.as_bytes();
        let lines = Lines::new(style, given, top);
        let summary = |grouping| Summary::new(grouping, args.depth, given, top);
        Taker {
            lines,
            summary: args.summary.map(summary),
            some: false,
            failed: None,
        }
    }

    fn take(&mut self, difference: &Difference, report: &mut Report) -> ControlFlow<()> {
        self.some = true;
        let done = match &mut self.summary {
            Some(summary) => {
                summary.add(difference);
                Ok(())
            }
            None => self.lines.put(difference, report),
        };
        match done {
            Ok(()) => ControlFlow::Continue(()),
            Err(failure) => {
                self.failed = Some(failure);
                ControlFlow::Break(())
            }
        }
    }

    /// Writes the rest; returns true if anything differed.
    fn finish(self, report: &mut Report) -> Result<bool, Failure> {
        if let Some(failure) = self.failed {
            return Err(failure);
        }
        match self.summary {
            Some(summary) => summary.put(report)?,
            None => report.begin()?,
        }
        Ok(self.some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_stand_before_the_path() {
        let asked = |words: &str| {
            let words: Vec<OsString> = words.split_whitespace().map(OsString::from).collect();
            Asked::of(&words)
                .ok()
                .map(|asked| (asked.before, asked.after, asked.path))
        };
        let back = AsOf::Back;
        let path = |text: &str| OsString::from(text);
        assert_eq!(asked(""), Some((back(1), back(0), path("."))));
        assert_eq!(asked("/x"), Some((back(1), back(0), path("/x"))));
        assert_eq!(asked("-3"), Some((back(3), back(0), path("."))));
        assert_eq!(asked("-3 -2"), Some((back(3), back(2), path("."))));
        assert_eq!(asked("-3 latest x"), Some((back(3), back(0), path("x"))));
        assert_eq!(asked("-3 ./now"), Some((back(3), back(0), path("./now"))));
        assert_eq!(asked("x y"), None);
        assert_eq!(asked("-3 x y"), None);
    }

    #[test]
    fn what_is_ignored_can_be_named() {
        assert!(ignored("atime").is_ok() && ignored("none").is_ok());
        assert!(ignored("colour").unwrap_err().contains("mtime"));
    }
}
