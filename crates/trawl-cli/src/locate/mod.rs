//! `trawl locate`: entries whose names or paths match, in the manner of plocate(1).
//!
//! Differences from plocate: the order is that of paths; every user sees what the index shows them;
//! an index that cannot be read gives exit code 2, not 1.

mod answer;
mod fuzzy;
mod pattern;
mod places;

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use trawl_model::need::Within;
use trawl_model::path;
use trawl_query::{Event, Hit, Matcher, NameRequest};
use trawl_report::Schema;
use trawl_text::glob::Case;
use trawl_text::locale::Locale;

use crate::arguments::Manner;
use crate::commands::{IndexOption, Setting, Spec};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::forms::{FormArgs, Rows};
use crate::rows::Form;
use crate::scope::{Depth, Session};

use self::answer::Answer;
use self::fuzzy::{Best, Capitals, Fuzzy, Scored};
use self::pattern::{Language, Patterns};
use self::places::{Itself, Place, places};

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

impl Spec for LocateArgs {
    const ABOUT: &'static str = "Find entries by name, as plocate does";
    const INDEX: IndexOption = IndexOption::Long;
    const SEE_ALSO: &'static [&'static str] = &["locate(1)", "trawl-find(1)", "trawl-search(1)"];
    const REPORTS: &'static [&'static Schema] = &[&answer::SCHEMA];

    fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
        run(setting.index, self, setting.manner)
    }
}

/// Maximum number of fuzzy answers if the output is not a terminal.
const GUESSES: usize = 100;

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
    let places = places(&mut session, &args.below)?;
    // Without directories, the question is about every source; with `--status`, gaps are reported
    // at the end.
    let is_about_all = session.is_past() && args.below.is_empty();
    if is_about_all && !manner.status && session.say_who_has_none() {
        return Ok(Exit::Fatal);
    }
    let mut answer = Answer::begin(args)?;
    match question {
        Question::Fuzzy(fuzzy) => guess(&session, &places, args, &fuzzy, &mut answer)?,
        Question::Patterns(patterns) if args.count => {
            count(&session, &places, args, &patterns, &mut answer)?;
        }
        Question::Patterns(patterns) => list(&session, &places, args, &patterns, &mut answer)?,
    }
    let found = answer.finish()?;
    if manner.status {
        for place in &places {
            session.note(&place.start, Depth::All)?;
        }
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
        patterns.map(Question::Patterns).map_err(Failure::Usage)
    }
}

fn within(args: &LocateArgs) -> Within {
    if args.basename {
        Within::Name
    } else {
        Within::Path
    }
}

/// Returns a request for the names in one place that pass the test.
fn request<'a>(
    place: &'a Place,
    args: &LocateArgs,
    patterns: &'a Patterns,
    test: &'a dyn Matcher,
) -> NameRequest<'a> {
    NameRequest {
        within: patterns.within,
        need: &patterns.need,
        test,
        literal: patterns.literal.as_ref(),
        keep: args.existing.then_some(&is_there),
        skip: &place.skip,
        threads: None,
        cancel: crate::live::cancel(),
    }
}

/// Returns true if the user can see the path now.
fn is_there(hit: Hit<'_>) -> bool {
    let path = path::join(hit.dir, hit.name);
    Path::new(OsStr::from_bytes(&path))
        .symlink_metadata()
        .is_ok()
}

/// Returns the place itself, if it matches.
fn itself<'p>(place: &'p Place, request: &NameRequest<'_>) -> Option<Hit<'p>> {
    let (dir, name) = path::split(&place.start.path)?;
    let hit = Hit { dir, name };
    (place.itself == Itself::Included && request.admits(hit)).then_some(hit)
}

/// Prints the matches as they arrive.
fn list(
    session: &Session,
    places: &[Place],
    args: &LocateArgs,
    patterns: &Patterns,
    answer: &mut Answer,
) -> Result<(), Failure> {
    for place in places {
        let request = request(place, args, patterns, patterns);
        if let Some(hit) = itself(place, &request) {
            answer.hit(hit)?;
        }
        let mut done = Ok(());
        let mut emit = |event: Event<'_>| {
            done = match event {
                Event::Hit(hit) => answer.hit(hit),
                Event::Pause => answer.pause(),
            };
            match done.is_err() || answer.is_full() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        };
        let index = session.index();
        index.search_names(&place.start, &request, &mut emit)?;
        done?;
        if answer.is_full() {
            break;
        }
    }
    Ok(())
}

/// Counts the matches.
fn count(
    session: &Session,
    places: &[Place],
    args: &LocateArgs,
    patterns: &Patterns,
    answer: &mut Answer,
) -> Result<(), Failure> {
    for place in places {
        let request = request(place, args, patterns, patterns);
        answer.add(u64::from(itself(place, &request).is_some()));
        let tally = |_: Hit<'_>, count: &mut u64| *count += 1;
        let index = session.index();
        index.search_names_apart(&place.start, &request, tally, |count| {
            answer.add(count);
            match answer.is_full() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })?;
    }
    answer.print_count()
}

/// Prints the best guesses.
fn guess(
    session: &Session,
    places: &[Place],
    args: &LocateArgs,
    fuzzy: &Fuzzy,
    answer: &mut Answer,
) -> Result<(), Failure> {
    let limit = answer.limit().unwrap_or(GUESSES);
    let (any, mut best) = (Patterns::any(within(args)), Best::default());
    let test = |text: &[u8]| fuzzy.fits(text);
    let score = |hit: Hit<'_>, best: &mut Best| {
        let path = path::join(hit.dir, hit.name);
        let text = match args.basename {
            true => hit.name,
            false => &path[..],
        };
        if let Some(score) = fuzzy.score(text) {
            best.add(Scored { score, path }, limit);
        }
    };
    for place in places {
        let request = request(place, args, &any, &test);
        if let Some(hit) = itself(place, &request) {
            score(hit, &mut best);
        }
        let index = session.index();
        index.search_names_apart(&place.start, &request, score, |found| {
            best.join(found, limit);
            ControlFlow::Continue(())
        })?;
    }
    if args.count {
        answer.add(best.finish(limit).len() as u64);
        return answer.print_count();
    }
    for scored in best.finish(limit) {
        let (dir, name) = path::split(&scored.path).unwrap_or_default();
        answer.hit(Hit { dir, name })?;
    }
    Ok(())
}
