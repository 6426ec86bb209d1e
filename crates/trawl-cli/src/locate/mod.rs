//! `trawl locate`: entries whose names or paths match, in the manner of
//! plocate(1).
//!
//! What differs from it: the order is that of paths; every user sees what the
//! index shows them; what cannot be read of the index ends with 2, not 1.

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
use trawl_text::glob::Case;
use trawl_text::locale::Locale;

use crate::arguments::Manner;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::scope::{Depth, Session};

use self::answer::Answer;
use self::fuzzy::{Best, Capitals, Fuzzy, Scored};
use self::pattern::{Language, Patterns};
use self::places::{Itself, Place, places};

const EXAMPLES: &str = "\
A PATTERN is looked for anywhere in the path. With one of the characters * ? [
that no backslash quotes it is a shell pattern for all of the path, in which *
matches slashes, too. Of several patterns each must match.

Examples:
  trawl locate notes.txt            paths with notes.txt somewhere
  trawl locate -b '*.c'             names that end in .c
  trawl locate -i --below src todo  in either case, in the directory src
  trawl locate --regex '/[0-9]{4}/' extended regular expressions
  trawl locate -c core              how many
  trawl locate -0 -e .bak | xargs -0 ls -l
                                    those that are still there
  trawl locate --fuzzy mkfl         the best guesses first

Exit codes: 0 if something matched, 1 if not, 2 wrong usage or the index could
not be read.";

// Options of `trawl locate`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LocateArgs {
    /// What to look for
    #[arg(value_name = "PATTERN", required_unless_present_any = ["statistics", "database"],
          allow_hyphen_values = false)]
    patterns: Vec<OsString>,
    /// Letters match in either case
    #[arg(short, long)]
    ignore_case: bool,
    /// Look at names only, not at whole paths
    #[arg(short, long, overrides_with = "wholename")]
    basename: bool,
    /// Look at whole paths (the default)
    #[arg(short, long, overrides_with = "basename")]
    wholename: bool,
    /// Patterns are basic regular expressions, looked for anywhere
    #[arg(short, long, overrides_with = "regex")]
    regexp: bool,
    /// Patterns are extended regular expressions, looked for anywhere
    #[arg(long, overrides_with = "regexp")]
    regex: bool,
    /// Order by how well the letters of PATTERN fit, in their order and with
    /// anything between: the best first, as many as the terminal has rows
    #[arg(long, conflicts_with_all = ["regexp", "regex"])]
    fuzzy: bool,
    /// Look below this directory only; may be given several times
    #[arg(long, value_name = "DIR")]
    below: Vec<OsString>,
    /// Only what is there now
    #[arg(short, long)]
    existing: bool,
    /// Print how many match, not which
    #[arg(short, long, conflicts_with_all = ["json", "csv"])]
    count: bool,
    /// Stop after so many
    #[arg(short, long, visible_short_alias = 'n', value_name = "NUMBER")]
    limit: Option<u64>,
    /// A NUL byte behind each path instead of a newline
    #[arg(short = '0', long, conflicts_with_all = ["json", "csv"])]
    null: bool,
    /// No quotes around paths on a terminal
    #[arg(short = 'N', long)]
    literal: bool,
    /// One JSON object a line
    #[arg(long, overrides_with = "csv")]
    json: bool,
    /// Comma-separated values with a header
    #[arg(long, overrides_with = "json")]
    csv: bool,
    /// Say what is indexed instead, as trawl sources does
    #[arg(short = 'S', long)]
    statistics: bool,
    /// Accepted: of several patterns each must match
    #[arg(short = 'A', long)]
    all: bool,
    /// Accepted: there are no databases that could be missing
    #[arg(short, long)]
    quiet: bool,
    /// Not here: an index is named by --index
    #[arg(short, long, value_name = "FILE", hide = true)]
    database: Option<OsString>,
    #[command(flatten)]
    pub(crate) manner: Manner,
}

/// Fuzzy answers that go to something else than a terminal.
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
        return crate::sources::list(&crate::sources::opened(index)?, args.json);
    }
    let words: Vec<&[u8]> = args.patterns.iter().map(|word| word.as_bytes()).collect();
    let manner = manner.then(args.manner);
    // A pattern that is none is told before the index is looked for.
    let question = Question::new(args, &words)?;
    let mut session = Session::open(index, manner, Exit::Fatal)?;
    let places = places(&mut session, &args.below)?;
    // Without directories it is about every source; with --status it is said in the end.
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
    // What could not be read is told of, but is not what the exit code says.
    Ok(match (session.finish()?, found) {
        (Exit::Complete | Exit::Issues, 0) => Exit::Unmatched,
        (Exit::Complete | Exit::Issues, _) => Exit::Complete,
        (worse, _) => worse,
    })
}

/// What is asked.
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

/// A request for what passes the test, in one place.
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

/// Whether the user finds it there now.
fn is_there(hit: Hit<'_>) -> bool {
    let path = path::join(hit.dir, hit.name);
    Path::new(OsStr::from_bytes(&path))
        .symlink_metadata()
        .is_ok()
}

/// A place itself, if it is an answer.
fn itself<'p>(place: &'p Place, request: &NameRequest<'_>) -> Option<Hit<'p>> {
    let (dir, name) = path::split(&place.start.path)?;
    let hit = Hit { dir, name };
    (place.itself == Itself::Included && request.admits(hit)).then_some(hit)
}

/// Prints what matches, as it comes in.
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

/// Counts what matches.
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

/// Prints what fits best.
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
