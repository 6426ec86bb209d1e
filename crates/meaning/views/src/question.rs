//! A question: where to look, and a find expression that only tests entries.

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use trawl_find::environment::Warnings;
use trawl_find::expr::Expr;
use trawl_find::grouping::{Group, Grouping, Members, Relations};
use trawl_find::leaf::Effect;
use trawl_find::predicate::Kind;
use trawl_find::reference::{Reference, References};
use trawl_find::traversal::Follow;
use trawl_find::{Environment, Parsed, Predicate, Program, registry};
use trawl_text::locale::Locale;
use trawl_text::quote::Terminal;
use trawl_text::words::quoted;

use crate::definition::escaped;
use crate::error::ViewError;
use crate::short;

/// What predicates take that name a file.
const FILE: &str = "FILE";
/// Why an expression is refused that prints or acts.
const ONLY_TESTS: &str = "a view only tests entries: it may not print or act";
/// Longest question in bytes, with its start points.
const BYTES_MAX: usize = 64 << 10;

/// A question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Question {
    /// Absolute paths. A slash at the end makes find follow a link. If there are none, the mount
    /// chooses.
    pub starts: Vec<Vec<u8>>,
    /// The words of the expression.
    pub expression: Vec<Vec<u8>>,
}

/// What is asked of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Narrowed {
    /// All members.
    All,
    /// The names of the groups with members below the start points.
    Groups,
    /// The first member with this last component.
    Name(Vec<u8>),
    /// The member with this absolute path.
    Path(Vec<u8>),
}

impl Question {
    /// Reads the words of a question: start points, then a find expression or a question in its
    /// short form (`?ext:o`). Relative paths are relative to `directory`.
    ///
    /// # Errors
    /// If the expression is invalid, does anything but test entries, or names a file that cannot be
    /// looked at.
    pub fn from_words(words: &[Vec<u8>], directory: &Path) -> Result<Question, ViewError> {
        let question = Question::read(words, Some(directory))?;
        question.check_in(&environment())?;
        Ok(question)
    }

    /// Reads the words of a file of definitions, in which paths are absolute. Looks at no file.
    pub(crate) fn from_definition(words: &[Vec<u8>]) -> Result<Question, ViewError> {
        let question = Question::read(words, None)?;
        question.check()?;
        Ok(question)
    }

    fn read(words: &[Vec<u8>], directory: Option<&Path>) -> Result<Question, ViewError> {
        let count = words.iter().take_while(|word| is_start(word)).count();
        let (starts, rest) = words.split_at(count);
        let mut question = match rest {
            [one] if one.starts_with(b"?") => short::parse(&one[1..])?,
            rest => Question {
                starts: Vec::new(),
                expression: with_absolute_files(rest, directory)?,
            },
        };
        for start in starts {
            question.starts.push(absolute(start, directory)?);
        }
        Ok(question)
    }

    /// Returns the words, so that [`Question::from_words`] reads the same question.
    #[must_use]
    pub fn words(&self) -> Vec<Vec<u8>> {
        [&self.starts[..], &self.expression].concat()
    }

    /// Returns the words as a file of definitions has them.
    #[must_use]
    pub fn line(&self) -> String {
        let words = self.words();
        let words: Vec<String> = words.iter().map(|word| escaped(word)).collect();
        words.join(" ")
    }

    /// Checks that the expression only tests entries. Looks at no file that it names: a mount checks
    /// questions with other rights than those of the asking user.
    ///
    /// # Errors
    /// With the reason.
    pub fn check(&self) -> Result<(), ViewError> {
        self.check_in(&Environment {
            references: Box::new(AskedLater),
            ..environment()
        })
    }

    fn check_in(&self, environment: &Environment) -> Result<(), ViewError> {
        let bytes: usize = self.words().iter().map(Vec::len).sum();
        if bytes > BYTES_MAX {
            return Err(refused("it is longer than 64 KiB"));
        }
        if self.words().iter().any(|word| word.contains(&0)) {
            return Err(refused("it contains a NUL byte"));
        }
        if overlap(&self.starts) {
            return Err(refused("no start point may lie within another one"));
        }
        // find would create the file that an action prints to as soon as it reads the expression.
        let prints = |one: &Predicate| one.kind == Kind::Action && one.args.starts_with(FILE);
        if predicates(&self.expression).any(|(_, one)| prints(one)) {
            return Err(refused(ONLY_TESTS));
        }
        let root = [b"/".to_vec()];
        let program = parse_in(&[&root[..], &self.expression].concat(), environment)?;
        check(&program, &self.expression)?;
        // It must also be valid as a part of a longer expression.
        let words = self.program(&Narrowed::Name(b"x".to_vec()), &[b"/x".to_vec()]);
        parse_in(&words, environment)?;
        Ok(())
    }

    /// Returns the words with which find prints the members that are meant. `hidden` are directories
    /// that are left out, also above `-mindepth`.
    pub(crate) fn program(&self, narrowed: &Narrowed, hidden: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let mut words = self.starts.clone();
        if words.is_empty() {
            words.push(b"/".to_vec());
        }
        let mut add = |more: &[&[u8]]| words.extend(more.iter().map(|word| word.to_vec()));
        // What disappears while it is looked at is no member.
        add(&[b"-ignore_readdir_race"]);
        for path in hidden {
            add(&[b"-exclude", b"-path", &literal(path)]);
        }
        add(&[b"("]);
        match self.expression.is_empty() {
            true => add(&[b"-true"]),
            false => words.extend(self.expression.iter().cloned()),
        }
        let mut add = |more: &[&[u8]]| words.extend(more.iter().map(|word| word.to_vec()));
        add(&[b")"]);
        match narrowed {
            Narrowed::All | Narrowed::Groups => add(&[b"-print0"]),
            Narrowed::Name(name) => add(&[b"-name", &literal(name), b"-print0", b"-quit"]),
            Narrowed::Path(path) => add(&[b"-path", &literal(path), b"-print0", b"-quit"]),
        }
        words
    }
}

fn refused(why: &str) -> ViewError {
    ViewError::Question(why.into())
}

/// Returns true for a word that find takes for a start point.
fn is_start(word: &[u8]) -> bool {
    let is_expression = matches!(word, b"(" | b")" | b"!" | b",")
        || word.starts_with(b"?")
        || word.len() > 1 && word.starts_with(b"-");
    !is_expression
}

/// Returns a start point as an absolute path. Without a directory, it must be one, and nothing is
/// looked at.
fn absolute(start: &[u8], directory: Option<&Path>) -> Result<Vec<u8>, ViewError> {
    let unusable = |why: &str| refused(&format!("the start point {} {why}", quoted(start)));
    if start.is_empty() {
        return Err(unusable("is empty: write . for the current directory"));
    }
    let joined = directory
        .unwrap_or(Path::new(""))
        .join(OsStr::from_bytes(start));
    if !joined.is_absolute() {
        return Err(unusable("is not an absolute path: begin it with a slash"));
    }
    // Without `.` and repeated slashes.
    let plain: PathBuf = joined.components().collect();
    let is_up = |component: Component<'_>| component == Component::ParentDir;
    if plain.components().any(is_up) {
        if directory.is_none() {
            return Err(unusable("contains ..: write its path without it"));
        }
        let real = plain.canonicalize();
        let real = real.map_err(|source| ViewError::file("look at", &plain, source))?;
        return Ok(real.into_os_string().into_vec());
    }
    // A slash at the end matters only behind a link. In a definition it is there for a reason.
    let follows = (start.ends_with(b"/") || start.ends_with(b"/."))
        && (directory.is_none() || plain.is_symlink());
    let mut path = plain.into_os_string().into_vec();
    if follows && path != b"/" {
        path.push(b'/');
    }
    Ok(path)
}

/// Returns the predicates of an expression, each with the place of its argument. Commands, which have
/// more than one, are refused later.
fn predicates(words: &[Vec<u8>]) -> impl Iterator<Item = (usize, &'static Predicate)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let word = String::from_utf8_lossy(words.get(at)?);
            at += 1;
            if let Some(found) = registry::find(&word) {
                let argument = at;
                at += usize::from(!matches!(found.args, "" | "EXPR"));
                return Some((argument, found));
            }
        }
    })
}

/// Makes the files absolute that an expression names, such as that of `-newer`. Without a directory,
/// they must be.
fn with_absolute_files(
    words: &[Vec<u8>],
    directory: Option<&Path>,
) -> Result<Vec<Vec<u8>>, ViewError> {
    let mut absolute = words.to_vec();
    for (at, predicate) in predicates(words) {
        // `-newermt` and its like take a date.
        let is_date = predicate.name == "-newerXY" && words[at - 1].ends_with(b"t");
        let Some(file) = absolute.get_mut(at).filter(|file| !file.is_empty()) else {
            continue;
        };
        if predicate.args != FILE || is_date || file.starts_with(b"/") {
            continue;
        }
        let Some(directory) = directory else {
            let why = "is not an absolute path: define the view again";
            return Err(refused(&format!("the file {} {why}", quoted(file))));
        };
        let path = directory.join(OsStr::from_bytes(file));
        *file = path.into_os_string().into_vec();
    }
    Ok(absolute)
}

/// Returns true if a start point lies within another one: its members would come twice.
fn overlap(starts: &[Vec<u8>]) -> bool {
    let is_pair = |(at, one): (usize, &Vec<u8>)| {
        let others = starts.iter().enumerate().filter(|(other, _)| *other != at);
        others.into_iter().any(|(_, other)| lies_within(one, other))
    };
    starts.iter().enumerate().any(is_pair)
}

/// Returns true if a path is a directory's or lies below it.
pub(crate) fn lies_within(path: &[u8], directory: &[u8]) -> bool {
    let path_of = |bytes| Path::new(OsStr::from_bytes(bytes));
    path_of(path).starts_with(path_of(directory))
}

/// Returns the pattern that matches only these bytes.
fn literal(bytes: &[u8]) -> Vec<u8> {
    let mut pattern = Vec::with_capacity(bytes.len());
    for byte in bytes {
        if b"*?[\\".contains(byte) {
            pattern.push(b'\\');
        }
        pattern.push(*byte);
    }
    pattern
}

/// Returns the environment in which questions are read: the same for all users.
pub(crate) fn environment() -> Environment {
    Environment {
        locale: Locale::Utf8,
        terminal: Terminal::Absent,
        warnings: Warnings::Hidden,
        is_posix: false,
        grouping: Arc::new(AskedLater),
        ..Environment::of_process()
    }
}

/// The groups and files that a question names may be there when it is asked.
#[derive(Debug)]
struct AskedLater;

impl References for AskedLater {
    fn attributes(&self, _: &[u8], _: Follow) -> Result<Reference, String> {
        let unknown = Reference::default();
        Ok(Reference {
            btime: Some(unknown.mtime),
            ..unknown
        })
    }
}

impl Grouping for AskedLater {
    fn members_with(&self, _: &[u8]) -> Result<Members, String> {
        Err("a view names a group: -in-group GROUP".into())
    }

    fn members_of(&self, _: &[u8]) -> Result<Members, String> {
        Ok(Members::default())
    }

    fn groups_below(&self, _: &[Vec<u8>]) -> Result<Vec<Group>, String> {
        Ok(Vec::new())
    }

    fn related_to(&self, _: &[u8], _: &Relations) -> Result<Members, String> {
        Err("a view cannot ask for related files: they are looked at one by one".into())
    }
}

/// Parses a program that is run in this environment.
pub(crate) fn parse_in(words: &[Vec<u8>], environment: &Environment) -> Result<Program, ViewError> {
    match trawl_find::parse(words, environment) {
        Ok(Parsed::Search(program)) => Ok(*program),
        Ok(_) => Err(refused("help is not a test")),
        Err(refusal) => Err(ViewError::Question(refusal.error.to_string())),
    }
}

fn check(program: &Program, words: &[Vec<u8>]) -> Result<(), ViewError> {
    let refuses = |word: &Vec<u8>| matches!(&word[..], b"-files0-from" | b"-quit");
    if !program.prints_by_default || !program.files.is_empty() || words.iter().any(refuses) {
        return Err(refused(ONLY_TESTS));
    }
    if program.starts.len() > 1 {
        return Err(refused("start points come before the expression"));
    }
    let traversal = &program.traversal;
    if traversal.follow != Follow::Never || traversal.contents_first {
        return Err(refused(
            "-L, -H, -follow and -depth cannot be used in a view",
        ));
    }
    let mut acts = matches!(program.expr, Expr::Sorted(..));
    program.expr.leaves(&mut |node| {
        let is_allowed = match node.effect {
            Effect::None | Effect::Prune => true,
            // The default action.
            Effect::Output => node.predicate.name == "-print",
            _ => false,
        };
        acts |= !is_allowed;
    });
    match acts {
        true => Err(refused(
            "a view is a set of entries: it may not act, sort, limit or end the search",
        )),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(line: &str) -> Result<Question, ViewError> {
        let words: Vec<Vec<u8>> = line
            .split(' ')
            .map(|word| word.as_bytes().to_vec())
            .collect();
        Question::from_words(&words, Path::new("/here"))
    }

    #[test]
    fn start_points_are_absolute() {
        let read = question("/srv/ ./a//b -name *.c").unwrap();
        assert_eq!(read.starts, [b"/srv".to_vec(), b"/here/a/b".to_vec()]);
        assert_eq!(read.expression, [b"-name".to_vec(), b"*.c".to_vec()]);
        assert_eq!(question("/srv").unwrap().expression, Vec::<Vec<u8>>::new());
    }

    #[test]
    fn actions_are_refused() {
        for line in [
            "/srv -exec rm {} ;",
            "/srv -execdir rm {} +",
            "/srv -ok rm {} ;",
            "/srv -delete",
            "/srv -fprint /tmp/x",
            "/srv -fprintf /tmp/x %p",
            "/srv -print",
            "/srv -print0",
            "/srv -ls",
            "/srv -quit",
            "/srv -limit 3",
            "/srv -depth",
            "/srv -follow",
            "-L /srv -name x",
            "-files0-from /etc/passwd",
            "/srv -name",
            "/srv -nonsense",
            "/srv ( -name x",
            "/srv -name x ) -o ( -delete",
            "/srv -help",
            "/srv /srv/a -name x",
            "/ /srv",
            "/srv /srv",
        ] {
            assert!(question(line).is_err(), "{line}");
        }
    }

    #[test]
    fn tests_and_pruning_are_allowed() {
        for line in [
            "/srv -name *.c",
            "/srv -name .git -prune -o -type f -size +1M",
            "/srv -maxdepth 2 ! -user root",
            "/srv -xdev -newermt 2024-01-01",
            "/srv ( -name a -o -name b ) , -type f",
        ] {
            assert!(question(line).is_ok(), "{line}: {:?}", question(line));
        }
    }

    #[test]
    fn names_are_literal_in_narrowed_questions() {
        let read = question("/srv -type f").unwrap();
        let hidden = [b"/srv/v".to_vec()];
        let words = read.program(&Narrowed::Name(b"a*[b]?\\".to_vec()), &hidden);
        let line = words.join(&b' ');
        assert_eq!(
            String::from_utf8_lossy(&line),
            "/srv -ignore_readdir_race -exclude -path /srv/v ( -type f ) -name a\\*\\[b]\\?\\\\ -print0 -quit"
        );
    }
}
