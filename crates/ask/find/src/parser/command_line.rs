//! Parses the command line: options before the paths, paths, then the
//! expression.

use std::sync::OnceLock;

use trawl_text::quote;

use super::arguments::Arguments;
use super::grammar::{Joined, Token, join};
use super::settings::Settings;
use crate::context::Races;
use crate::environment::{Environment, Warnings};
use crate::error::{FindError, Refusal};
use crate::expr::{Expr, Node};
use crate::expr_order::Level;
use crate::files::OutputFile;
use crate::grouping::Relations;
use crate::leaf::Effect;
use crate::likelihood::guess;
use crate::predicate::{Kind, Parse, Predicate};
use crate::predicates::{constant, exclude, limit, print, sort, unique};
use crate::questions::Questions;
use crate::regex::Dialect;
use crate::registry;
use crate::traversal::{Follow, Traversal};

/// A search, ready to be run.
#[derive(Debug)]
pub struct Program {
    /// Start points as they were spelled; `.` if none was given.
    pub starts: Vec<Vec<u8>>,
    /// The file that start points are read from instead, each ended by a NUL.
    pub starts_from: Option<Vec<u8>>,
    /// The files that leaves print to.
    pub files: Vec<OutputFile>,
    /// How to treat entries that vanish during the search.
    pub races: Races,
    /// The questions about contents.
    pub questions: Questions,
    /// The expression that every entry is evaluated with, including its
    /// actions.
    pub expr: Expr,
    /// Which entries are visited.
    pub traversal: Traversal,
    /// Warnings for standard error, without the program's name.
    pub warnings: Vec<String>,
    /// True if the words held no action, so that paths are printed by default.
    pub prints_by_default: bool,
    /// True if `-sort` holds and sorts all output.
    pub is_sorted: bool,
    /// The maximum number of entries that print something (`-limit`).
    pub limit: Option<usize>,
    /// True if the expression is a list of two parts: the first one matches
    /// entries that the search leaves out, the second one is evaluated for the
    /// rest.
    excludes: bool,
    /// Whether to say which named indices answered (`-D indices`).
    pub(crate) tells_indices: bool,
}

impl Program {
    /// Replaces the default action by another one (`--json`, `-0`). Returns
    /// false, and changes nothing, if the words held an action.
    pub fn print_with(&mut self, node: Node) -> bool {
        if !self.prints_by_default {
            return false;
        }
        // The only `-print` of the expression is the default one.
        if let Some(default) = self.expr.find_leaf("-print") {
            *default = node;
        }
        true
    }

    /// The expression of entries that the search leaves out (`-exclude`). It
    /// prunes the entries that it is true of, whatever the rest of the
    /// expression says.
    pub(crate) fn exclusion(&self) -> Option<&Expr> {
        self.parts()?.first()
    }

    /// True if entries nearer than `-mindepth` have to be evaluated too, each
    /// in its turn (`-unique`).
    pub(crate) fn notes_all(&self) -> bool {
        self.exclusion().is_some_and(Expr::needs_turns)
    }

    /// The expression for an entry that is known not to be left out.
    pub(crate) fn inclusion(&self) -> &Expr {
        self.parts().and_then(<[Expr]>::last).unwrap_or(&self.expr)
    }

    fn parts(&self) -> Option<&[Expr]> {
        match &self.expr {
            Expr::Or(parts) if self.excludes => Some(parts),
            _ => None,
        }
    }
}

/// Returns why a predicate is refused; `None` if it is allowed.
pub type WhyNot = fn(&Predicate) -> Option<&'static str>;

static RESTRICTION: OnceLock<WhyNot> = OnceLock::new();

/// From now on, every expression that this process parses is refused if it contains a predicate for
/// which `why_not` has a reason; nothing was opened or created then. The first call counts.
pub fn restrict(why_not: WhyNot) {
    RESTRICTION.get_or_init(|| why_not);
}

fn restriction() -> Option<WhyNot> {
    RESTRICTION.get().copied()
}

/// The request that the words make.
#[derive(Debug)]
pub enum Parsed {
    /// A search.
    Search(Box<Program>),
    /// The help text ([`crate::help::text`]).
    Help,
    /// The version.
    Version,
}

/// Parses the words after the command's name.
///
/// # Errors
/// If GNU find would exit with 1, with GNU find's message and the warnings that
/// precede it.
pub fn parse(words: &[Vec<u8>], env: &Environment) -> Result<Parsed, Refusal> {
    let mut warnings = Vec::new();
    read(words, env, &mut warnings).map_err(|error| Refusal { error, warnings })
}

fn read(
    words: &[Vec<u8>],
    env: &Environment,
    warnings: &mut Vec<String>,
) -> Result<Parsed, FindError> {
    let Leading {
        follow,
        level,
        tells_indices,
        words,
    } = leading_options(words, env, warnings)?;
    let paths = words
        .iter()
        .take_while(|word| !begins_expression(word, WordPosition::Leading))
        .count();
    let (starts, words) = words.split_at(paths);
    let mut reader = Reader {
        env,
        settings: Settings {
            traversal: Traversal {
                follow,
                ..Traversal::default()
            },
            dialect: Dialect::Emacs,
            relations: Relations::default(),
            warnings: env.warnings,
            day_start: None,
            races: Races::Told,
            starts: match starts {
                [] => vec![b".".to_vec()],
                given => given.to_vec(),
            },
            files: Vec::new(),
            starts_from: None,
            depth_was_asked: false,
            level,
            tells_indices,
            order: None,
            limit: None,
            questions: Questions::default(),
            is_unique: false,
        },
        warnings,
        first_test: None,
        last: None,
        tokens: Vec::new(),
    };
    if let Some(special) = reader.read(words)? {
        return Ok(special);
    }
    reader.finish(starts).map(|p| Parsed::Search(Box::new(p)))
}

/// Returns the start points among the words after the command's name; none if there are none, or if
/// the words cannot be parsed.
pub fn start_words(words: &[Vec<u8>]) -> &[Vec<u8>] {
    let env = Environment::of_process();
    let Ok(Leading { words, .. }) = leading_options(words, &env, &mut Vec::new()) else {
        return &[];
    };
    let begins = |word: &Vec<u8>| begins_expression(word, WordPosition::Leading);
    let end = words.iter().position(begins).unwrap_or(words.len());
    &words[..end]
}

/// The words before the start points, as options, and those that follow.
struct Leading<'a> {
    follow: Follow,
    level: Level,
    tells_indices: bool,
    words: &'a [Vec<u8>],
}

/// Takes `-P`, `-H`, `-L`, `-O…`, `-D …` and `--` from the beginning of the
/// words.
fn leading_options<'a>(
    mut words: &'a [Vec<u8>],
    env: &Environment,
    warnings: &mut Vec<String>,
) -> Result<Leading<'a>, FindError> {
    let mut follow = Follow::Never;
    let mut level = Level::default();
    let mut tells_indices = false;
    while let Some((word, rest)) = words.split_first() {
        match &word[..] {
            b"-P" => follow = Follow::Never,
            b"-H" => follow = Follow::Arguments,
            b"-L" => follow = Follow::Always,
            b"--" => {
                words = rest;
                break;
            }
            b"-D" => {
                let (flags, rest) = rest
                    .split_first()
                    .ok_or_else(|| FindError::bad("-D", NO_FLAGS))?;
                for flag in flags.split(|byte| *byte == b',') {
                    if flag == INDICES {
                        tells_indices = true;
                        continue;
                    }
                    let flag = quote::message(flag, env.locale);
                    warnings.push(format!("Ignoring unrecognised debug flag {flag}"));
                }
                words = rest;
                continue;
            }
            [b'-', b'O', digits @ ..] => level = read_level(digits)?,
            _ => break,
        }
        words = rest;
    }
    Ok(Leading {
        follow,
        level,
        tells_indices,
        words,
    })
}

/// The flag of `-D` that says which named indices answered.
const INDICES: &[u8] = b"indices";
const NO_FLAGS: &str =
    "Missing argument after the -D option.\nTry 'find --help' for more information.";

/// Reads the level of `-O`. Levels above 2 count as 2.
fn read_level(level: &[u8]) -> Result<Level, FindError> {
    let number = || std::str::from_utf8(level).ok()?.parse::<u64>().ok();
    let reason = match level.first() {
        None => "The -O option must be immediately followed by a decimal integer".into(),
        Some(digit) if !digit.is_ascii_digit() => {
            "Please specify a decimal number immediately after -O".into()
        }
        Some(_) => {
            match number() {
                Some(0) => return Ok(Level::Names),
                Some(1) => return Ok(Level::Free),
                Some(_) => return Ok(Level::Types),
                None => {}
            }
            let shown = String::from_utf8_lossy(level);
            let range = level.iter().all(u8::is_ascii_digit);
            let why = if range {
                ": Numerical result out of range"
            } else {
                ""
            };
            format!("Invalid optimisation level {shown}{why}")
        }
    };
    Err(FindError::bad("-O", reason))
}

/// Position of a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WordPosition {
    /// Before the expression.
    Leading,
    /// Within the expression.
    Within,
}

/// Returns whether a word belongs to the expression rather than being a path.
fn begins_expression(word: &[u8], place: WordPosition) -> bool {
    match word {
        [b'-', _, ..] => true,
        b"!" | b"(" => true,
        b")" | b"," => place == WordPosition::Within,
        _ => false,
    }
}

/// Returns the request of `-help` and `-version`. They end the parsing wherever
/// a predicate may stand.
fn special(word: &[u8]) -> Option<Parsed> {
    match word {
        b"-help" | b"--help" => Some(Parsed::Help),
        b"-version" | b"--version" => Some(Parsed::Version),
        _ => None,
    }
}

struct Reader<'a> {
    env: &'a Environment,
    settings: Settings,
    warnings: &'a mut Vec<String>,
    /// The first test or action, for a warning.
    first_test: Option<String>,
    /// The predicate that was read last, as spelled.
    last: Option<String>,
    tokens: Vec<Token>,
}

impl Reader<'_> {
    fn read(&mut self, mut words: &[Vec<u8>]) -> Result<Option<Parsed>, FindError> {
        while let Some((word, rest)) = words.split_first() {
            if !begins_expression(word, WordPosition::Within) {
                return Err(self.stray_path(word));
            }
            if let Some(special) = special(word) {
                return Ok(Some(special));
            }
            let name = String::from_utf8_lossy(word).into_owned();
            let Some(predicate) = registry::find(&name) else {
                return Err(FindError::UnknownPredicate { name });
            };
            let used = self.predicate(predicate, word, rest)?;
            self.last = Some(name);
            words = rest.get(used..).unwrap_or_default();
        }
        Ok(None)
    }

    fn predicate(
        &mut self,
        predicate: &'static Predicate,
        word: &[u8],
        rest: &[Vec<u8>],
    ) -> Result<usize, FindError> {
        let name = String::from_utf8_lossy(word).into_owned();
        if let Some(why) = restriction().and_then(|why_not| why_not(predicate)) {
            let reason = format!("`{name}' is refused: {why}");
            return Err(FindError::bad(predicate.name, reason));
        }
        self.note_order(predicate, &name);
        let (env, settings) = (self.env, &mut self.settings);
        let mut args = Arguments::new(env, settings, self.warnings, word, rest);
        let leaf = match predicate.parse {
            Parse::Leaf(parse) => parse(&mut args)?,
            Parse::Option(parse) => {
                parse(&mut args)?;
                if matches!(predicate.name, "-daystart" | "-files0-from") {
                    // It adds nothing to the expression, but GNU find then
                    // takes its name for that of the operator before it.
                    let used = args.used();
                    if let Some(Token::Operator(_, last)) = self.tokens.last_mut() {
                        *last = name;
                    }
                    return Ok(used);
                }
                constant::always()
            }
            Parse::Operator(operator) => {
                self.tokens.push(Token::Operator(operator, name));
                return Ok(0);
            }
        };
        let used = args.used();
        let words = rest.get(..used).unwrap_or_default();
        let guess = guess(predicate.name, words, &*leaf, &self.settings, env.now);
        let node = Node::new(predicate, leaf).guessed(guess);
        self.tokens.push(Token::Leaf(node));
        Ok(used)
    }

    /// Warns if an option for the whole search comes after a test or an action.
    fn note_order(&mut self, predicate: &Predicate, name: &str) {
        match (predicate.kind, &self.first_test) {
            (Kind::Test | Kind::Action, None) => self.first_test = Some(name.to_owned()),
            (Kind::GlobalOption, Some(test))
                if self.settings.warnings == Warnings::Shown && !self.env.is_posix =>
            {
                self.warnings.push(format!(
                    "warning: you have specified the global option {name} after the argument \
                     {test}, but global options are not positional, i.e., {name} affects tests \
                     specified before it as well as those specified after it.  Please specify \
                     global options before other arguments."
                ));
            }
            _ => {}
        }
    }

    fn stray_path(&self, word: &[u8]) -> FindError {
        // A pattern that the shell has expanded leaves file names behind.
        let exists = self.env.references.attributes(word, Follow::Never).is_ok();
        FindError::PathAfterExpression {
            word: String::from_utf8_lossy(word).into_owned(),
            after: self.last.clone().filter(|_| exists),
        }
    }

    fn finish(self, starts: &[Vec<u8>]) -> Result<Program, FindError> {
        let Joined { expr, mut excluded } = join(self.tokens)?;
        let mut settings = self.settings;
        if settings.is_unique {
            // It comes last, since the exclusions before it can be evaluated
            // out of turn.
            excluded.push(Expr::Leaf(unique::node()));
        }
        if let (Some(_), Some(start)) = (&settings.starts_from, starts.first()) {
            return Err(start_beside_file(start, self.env));
        }
        let acts = expr.as_ref().is_some_and(Expr::acts);
        if let Some(expr) = &expr {
            check_deletion(expr, &settings)?;
            check_questions(expr, &settings)?;
        }
        let print = || Expr::Leaf(print::node());
        let expr = match expr {
            None => print(),
            Some(expr) if acts => expr,
            Some(mut expr) => {
                // `-limit` limits the number of paths printed.
                let limits = expr.take_leaves(&limit::LIMIT);
                let mut parts = vec![expr, print()];
                parts.extend(limits.into_iter().map(Expr::Leaf));
                Expr::And(parts)
            }
        };
        let is_sorted = settings.order.is_some();
        let expr = sort::sorted(expr, &mut settings, self.env.framing)?;
        let excludes = !excluded.is_empty();
        let expr = match excludes {
            true => Expr::Or(vec![exclude::exclusion(excluded), expr]),
            false => expr,
        };
        Ok(Program {
            starts: settings.starts,
            starts_from: settings.starts_from,
            files: settings.files,
            races: settings.races,
            questions: settings.questions,
            expr: expr.optimized(settings.level),
            traversal: settings.traversal,
            warnings: std::mem::take(self.warnings),
            prints_by_default: !acts,
            is_sorted,
            limit: settings.limit,
            excludes,
            tells_indices: settings.tells_indices,
        })
    }
}

/// Refuses `-delete` with `-prune`. `-delete` turns on `-depth`, with which
/// `-prune` has no effect, so that files could be deleted that were meant to be
/// kept.
fn check_deletion(expr: &Expr, settings: &Settings) -> Result<(), FindError> {
    let mut deletes = false;
    expr.leaves(&mut |node| deletes |= node.predicate.name == "-delete");
    if deletes && expr.has(Effect::Prune) && !settings.depth_was_asked {
        return Err(FindError::Grammar {
            reason: "The -delete action automatically turns on -depth, but -prune does nothing \
                     when -depth is in effect.  If you want to carry on anyway, just explicitly \
                     use the -depth option."
                .into(),
        });
    }
    Ok(())
}

/// Refuses to read both answers and start points from standard input.
fn check_questions(expr: &Expr, settings: &Settings) -> Result<(), FindError> {
    let mut asks = false;
    expr.leaves(&mut |node| asks |= matches!(node.predicate.name, "-ok" | "-okdir"));
    let reason = match settings.starts_from.as_deref() {
        Some(b"-") if asks => {
            "option -files0-from reading from standard input cannot be combined with -ok, \
             -okdir\n"
                .into()
        }
        Some(from) if asks && is_standard_input(from) => format!(
            "option -files0-from: standard input must not refer to the same file when combined \
             with -ok, -okdir: {}\n",
            quote::message(from, trawl_text::locale::Locale::from_env())
        ),
        _ => return Ok(()),
    };
    Err(FindError::bad("-files0-from", reason))
}

fn is_standard_input(path: &[u8]) -> bool {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::MetadataExt;
    let id = |path: &std::path::Path| path.metadata().ok().map(|m| (m.dev(), m.ino()));
    let named = id(std::ffi::OsStr::from_bytes(path).as_ref());
    named.is_some() && named == id("/proc/self/fd/0".as_ref())
}

fn start_beside_file(start: &[u8], env: &Environment) -> FindError {
    let quoted = |text| quote::message(text, env.locale);
    let reason = format!(
        "extra operand {}\nfind: file operands cannot be combined with -files0-from",
        quoted(start)
    );
    FindError::bad("-files0-from", reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{error_of, parse_words, program};

    #[test]
    fn paths_end_where_the_expression_begins() {
        for (words, starts) in [
            ("", "."),
            ("a b -name x", "a b"),
            ("-P -O3 a", "a"),
            ("-- a", "a"),
            (") , -name x", ") ,"),
            ("- -name x", "-"),
            ("-name x", "."),
            ("-D stat a -true", "a"),
        ] {
            let found: Vec<_> = program(words)
                .starts
                .iter()
                .map(|s| String::from_utf8_lossy(s).into_owned())
                .collect();
            assert_eq!(found.join(" "), starts, "{words}");
        }
    }

    #[test]
    fn mistakes_are_named_as_find_names_them() {
        for (words, expected) in [
            (". -foo", "unknown predicate `-foo'"),
            (". -name", "missing argument to `-name'"),
            (". -name a b", "paths must precede expression: `b'"),
            (". --", "unknown predicate `--'"),
            (
                "-O a",
                "The -O option must be immediately followed by a decimal integer",
            ),
            (". -H", "unknown predicate `-H'"),
        ] {
            assert_eq!(error_of(words), expected, "{words}");
        }
        assert_eq!(
            error_of(". -true here"),
            "paths must precede expression: `here'\nfind: possible unquoted pattern after predicate `-true'?"
        );
    }

    #[test]
    fn the_default_action_is_to_print() {
        for (words, expected) in [
            ("", true),
            ("-true", true),
            ("-prune", true),
            ("-quit", true),
            ("-print", false),
            ("-true -o -printf x", false),
            ("! -ls", false),
        ] {
            assert_eq!(program(words).prints_by_default, expected, "{words}");
        }
        assert!(matches!(parse_words(". --help"), Ok(Parsed::Help)));
        assert!(matches!(parse_words("-version"), Ok(Parsed::Version)));
        // Wherever a predicate may stand; what stands before it must make sense.
        for words in ["-print -version", "! -version", "( -name a -version"] {
            assert!(matches!(parse_words(words), Ok(Parsed::Version)), "{words}");
        }
        assert_eq!(error_of("-none -version"), "unknown predicate `-none'");
        assert!(matches!(
            parse_words("-name -version"),
            Ok(Parsed::Search(_))
        ));
    }

    #[test]
    fn misplaced_options_are_remarked_upon() {
        assert_eq!(program("-warn -name a -maxdepth 1").warnings.len(), 1);
        assert_eq!(program("-name a -maxdepth 1").warnings.len(), 0);
        assert_eq!(
            program("-warn -maxdepth 1 -name a -daystart")
                .warnings
                .len(),
            0
        );
    }
}
