//! `trawl locate`: entries whose names or paths match, in the manner of plocate(1).
//!
//! Differences from plocate: the order is that of paths; every user sees what the index shows them;
//! an index that cannot be read gives exit code 2, not 1.

mod answer;

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use trawl_answers::locate::{Capitals, Existing, Fuzzy, Language, Locate, Patterns};
use trawl_model::mapped::mapping;
use trawl_model::need::Within;
use trawl_model::path;
use trawl_query::{Event, Hit};
use trawl_report::Schema;
use trawl_text::glob::Case;
use trawl_text::locale::Locale;

use crate::answer::Failing;
use crate::arguments::Manner;
use crate::commands::{IndexOption, Setting, Spec};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::forms::{FormArgs, Rows};
use crate::rows::Form;
use crate::scope::Session;

use self::answer::Answer;

const EXAMPLES: &str = "\
A PATTERN may occur anywhere in the path. If it contains one of the characters
* ? [ without a backslash before it, it is a shell pattern for the whole path,
in which * also matches slashes. If there are several patterns, each must match.

Examples:
  trawl locate notes.txt            find paths that contain notes.txt
  trawl locate -b '*.c'             find names that end in .c
  trawl locate -i --below src todo  search below src, in either case
  trawl locate --regex '/[0-9]{4}/' use extended regular expressions
  trawl locate -c core              count the matches
  trawl locate -0 -e .bak | xargs -0 ls -l
                                    list those that still exist
  trawl locate --fuzzy mkfl         show the best guesses first

Exit codes: 0 if something matched, 1 if nothing did, 2 for wrong usage or if
the index could not be read.";

// Options of `trawl locate`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LocateArgs {
    /// Look for these patterns
    #[arg(value_name = "PATTERN", required_unless_present_any = ["statistics", "database"],
          allow_hyphen_values = false)]
    patterns: Vec<OsString>,
    /// Match letters in either case
    #[arg(short, long)]
    ignore_case: bool,
    /// Match names only, not whole paths
    #[arg(short, long, overrides_with = "wholename")]
    basename: bool,
    /// Match whole paths (the default)
    #[arg(short, long, overrides_with = "basename")]
    wholename: bool,
    /// Match basic regular expressions, anywhere in the path
    #[arg(short, long, overrides_with = "regex")]
    regexp: bool,
    /// Match extended regular expressions, anywhere in the path
    #[arg(long, overrides_with = "regexp")]
    regex: bool,
    /// Show the paths that best fit the letters of PATTERN
    ///
    /// The letters must occur in their order, with anything between them. The best path comes
    /// first; by default there are as many paths as the terminal has rows.
    #[arg(long, conflicts_with_all = ["regexp", "regex"])]
    fuzzy: bool,
    /// Look only below DIR; may be given several times
    #[arg(long, value_name = "DIR")]
    below: Vec<OsString>,
    /// Show only paths that exist now
    #[arg(short, long)]
    existing: bool,
    /// Print the number of matches, not the matches
    #[arg(short, long, conflicts_with_all = ["json", "csv"])]
    count: bool,
    /// Stop after NUMBER matches
    #[arg(short, long, visible_short_alias = 'n', value_name = "NUMBER")]
    limit: Option<u64>,
    /// End each path with a NUL byte instead of a newline
    #[arg(short = '0', long, conflicts_with_all = ["json", "csv"])]
    null: bool,
    /// Print paths on a terminal without quotes
    #[arg(short = 'N', long)]
    literal: bool,
    #[command(flatten)]
    form: FormArgs<Rows>,
    /// List the indexed trees instead, as trawl sources does
    #[arg(short = 'S', long)]
    statistics: bool,
    /// Do nothing: all patterns must match anyway
    #[arg(short = 'A', long)]
    all: bool,
    /// Do nothing: there are no databases that could be missing
    #[arg(short, long)]
    quiet: bool,
    /// Refuse: --index names the index
    #[arg(short, long, value_name = "FILE", hide = true)]
    database: Option<OsString>,
    #[command(flatten)]
    pub(crate) manner: Manner,
}

impl LocateArgs {
    /// Returns whether the answer is a number.
    pub(crate) fn counts(&self) -> bool {
        self.count && self.lists()
    }

    /// Returns whether the question is about paths, not about the index.
    pub(crate) fn lists(&self) -> bool {
        !self.statistics
    }

    /// Returns the maximum number of paths; the largest number if none was given.
    pub(crate) fn most(&self) -> u64 {
        self.limit.unwrap_or(u64::MAX)
    }
}

impl Spec for LocateArgs {
    const ABOUT: &'static str = "Find entries by name, as plocate does";
    const INDEX: IndexOption = IndexOption::Long;
    const SEE_ALSO: &'static [&'static str] = &["locate(1)", "trawl-find(1)", "trawl-search(1)"];
    const REPORTS: &'static [&'static Schema] = &[&answer::SCHEMA];

    fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
        run(setting.index, self, setting.manner)
    }
}

/// Runs the command.
pub(crate) fn run(
    index: Option<PathBuf>,
    args: &LocateArgs,
    manner: Manner,
) -> Result<Exit, Failure> {
    if args.database.is_some() {
        let text = "trawl locate reads no other program's databases: name an index before the \
                    command, as in trawl --index DIR locate PATTERN";
        return Err(Failure::Usage(text.into()));
    }
    if args.statistics {
        let form = match args.form.is_json() {
            true => Form::Json,
            false => Form::Text,
        };
        return crate::sources::list(&crate::sources::opened(index)?, form);
    }
    let words: Vec<&[u8]> = args.patterns.iter().map(|word| word.as_bytes()).collect();
    let manner = manner.then(args.manner);
    // Invalid patterns are reported before the index is opened.
    let question = Question::new(args, &words)?;
    let mut session = Session::open(index, manner, Exit::Fatal)?;
    let existing = match args.existing {
        true => Existing::Now,
        false => Existing::Any,
    };
    let below = below(args);
    let mut locate = Locate::new(&mut session, &below, existing)?;
    // Without directories, the question is about every source; with `--status`, gaps are reported
    // at the end.
    let is_about_all = locate.session().is_past() && below.is_empty();
    if is_about_all && !manner.status && locate.session().say_who_has_none() {
        return Ok(Exit::Fatal);
    }
    let mut answer = Answer::begin(args)?;
    match question {
        Question::Fuzzy(fuzzy) => guess(&locate, args, &fuzzy, &mut answer)?,
        Question::Patterns(patterns) if args.count => {
            answer.add(locate.count(&patterns, answer.most())?);
            answer.print_count()?;
        }
        Question::Patterns(patterns) => list(&locate, &patterns, &mut answer)?,
    }
    let found = answer.finish()?;
    if manner.status {
        locate.note_places()?;
    }
    // Unreadable parts are reported, but do not change the exit code.
    Ok(match (session.finish()?, found) {
        (Exit::Complete | Exit::Issues, 0) => Exit::Unmatched,
        (Exit::Complete | Exit::Issues, _) => Exit::Complete,
        (worse, _) => worse,
    })
}

/// A question.
enum Question {
    Patterns(Patterns),
    Fuzzy(Fuzzy),
}

impl Question {
    fn new(args: &LocateArgs, words: &[&[u8]]) -> Result<Question, Failure> {
        let language = match (args.regexp, args.regex) {
            (true, _) => Language::Basic,
            (_, true) => Language::Extended,
            _ => Language::Plain,
        };
        if args.fuzzy {
            let capitals = match args.ignore_case {
                true => Capitals::Ignored,
                false => Capitals::IfTyped,
            };
            return Ok(Question::Fuzzy(Fuzzy::new(words, capitals)));
        }
        let case = match args.ignore_case {
            true => Case::Folded,
            false => Case::Sensitive,
        };
        let patterns = Patterns::new(words, language, case, within(args), Locale::from_env());
        Ok(Question::Patterns(patterns?))
    }
}

/// Returns the directories below which names are looked for; none stands for all that is indexed. An
/// asker whose paths are mapped asks about the mapped trees: nothing else has a name there.
fn below(args: &LocateArgs) -> Vec<OsString> {
    match mapping() {
        Some(mapping) if args.below.is_empty() => {
            let trees = mapping.trees().iter();
            let names = trees.map(|tree| path::display(&tree.theirs).to_vec());
            names.map(OsString::from_vec).collect()
        }
        _ => args.below.clone(),
    }
}

fn within(args: &LocateArgs) -> Within {
    if args.basename {
        Within::Name
    } else {
        Within::Path
    }
}

/// Prints the matches as they arrive.
fn list(locate: &Locate<'_, '_>, patterns: &Patterns, answer: &mut Answer) -> Result<(), Failure> {
    let mut failing = Failing::default();
    let done = locate.list(patterns, &mut |event| {
        failing.check(match event {
            Event::Hit(hit) => answer.hit(hit, None),
            Event::Pause => answer.pause(),
        })?;
        match answer.is_full() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    failing.end(done)
}

/// Prints the best guesses, or their number.
fn guess(
    locate: &Locate<'_, '_>,
    args: &LocateArgs,
    fuzzy: &Fuzzy,
    answer: &mut Answer,
) -> Result<(), Failure> {
    let limit = usize::try_from(answer.most()).unwrap_or(usize::MAX);
    let best = locate.guess(fuzzy, within(args), limit)?;
    if args.count {
        answer.add(best.len() as u64);
        return answer.print_count();
    }
    for scored in best {
        let (dir, name) = path::split(&scored.path).unwrap_or_default();
        answer.hit(Hit { dir, name }, Some(scored.position()))?;
    }
    Ok(())
}
