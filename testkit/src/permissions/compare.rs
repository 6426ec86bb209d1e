//! Compares the GNU tools, run as a user on the source, with the program, run as the same user on
//! the index.
//!
//! Two kinds of output are excluded from the comparison and counted:
//! - The program's message that a start was read from the file system.
//! - The known deviation: for a directory that the user may list but not search, find reports each
//!   name with an error, and the program reports one error about the directory. Neither shows any
//!   of its content.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::build::{NAMED_INDEX, Site};
use super::people::Person;
use crate::lines::{Ending, Order, difference, split};
use crate::oracle::{Ran, command, run};
use crate::prng::Prng;

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// find: paths, attributes, errors, exit code.
    Find,
    /// getfattr: names and values.
    Attributes,
    /// du: sums of blocks and of bytes, per path and in total.
    Usage,
    /// ls: the long recursive listing.
    List,
    /// stat: every attribute, of links and of their targets.
    Status,
    /// locate: the paths that find prints.
    Names,
    /// search: the paths that find prints, from the index.
    Search,
    /// duplicates: files of one size, among those that find prints.
    Duplicates,
    /// set: the members that bash's patterns and find name, and what is known of them.
    Members,
    /// grep: the lines that GNU grep prints, below a directory, in a set, of a find expression.
    Lines,
    /// Mounted views: the paths that find prints, and which files can be opened.
    Views,
    /// find -keyword and -attr: the files that GNU grep names, among those that the user may read.
    Words,
    /// Groups, and the views of groups: the files that find prints, each in one group.
    Groups,
    /// related and find -related-to: the files that the shell's `test` finds.
    Related,
    /// Tables of SQL: the paths that find prints and the files that GNU grep names. The program is
    /// `trawl-sql`.
    Sql,
    /// index show: the paths that find prints, by the named index of [`Site::define`].
    Named,
}

impl Check {
    /// All comparisons.
    pub const ALL: [Check; 16] = [
        Check::Find,
        Check::Attributes,
        Check::Usage,
        Check::List,
        Check::Status,
        Check::Names,
        Check::Search,
        Check::Duplicates,
        Check::Members,
        Check::Lines,
        Check::Views,
        Check::Words,
        Check::Groups,
        Check::Related,
        Check::Sql,
        Check::Named,
    ];

    /// Returns its name in messages and on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Check::Find => "find",
            Check::Attributes => "getfattr",
            Check::Usage => "du",
            Check::List => "ls",
            Check::Status => "stat",
            Check::Names => "locate",
            Check::Search => "search",
            Check::Duplicates => "duplicates",
            Check::Members => "set",
            Check::Lines => "grep",
            Check::Views => "views",
            Check::Words => "keyword",
            Check::Groups => "groups",
            Check::Related => "related",
            Check::Sql => "sql",
            Check::Named => "named",
        }
    }
}

/// Counts of a comparison, as evidence that it was not empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Questions put to both sides.
    pub questions: usize,
    /// Rows that both sides printed.
    pub rows: usize,
    /// Messages that both sides gave.
    pub refusals: usize,
    /// Starts that were read from the live file system.
    pub live: usize,
    /// Directories with the known deviation.
    pub deviations: usize,
}

impl Tally {
    /// Adds another tally.
    pub fn add(&mut self, other: Tally) {
        self.questions += other.questions;
        self.rows += other.rows;
        self.refusals += other.refusals;
        self.live += other.live;
        self.deviations += other.deviations;
    }
}

/// The attributes that both sides print about an entry. Access times are left out: reading changes
/// them.
const FORMAT: &str = "=%p\\t%y %i %#m %n %U %G %s %b %k %T@ %C@ %l\\0";
/// The format for stat, whose quoting of names depends on its version.
const STATUS: &str =
    "=%n\\t%A %a %b %B %d %D %f %F %g %G %h %i %o %s %t %T %u %U %w %y %z %W %.Y %.Z\\0";
/// Part of the program's message about a start that it read live.
const LIVE: &str = "read from the file system now";
/// Number of paths whose attributes are requested.
const ATTRIBUTE_PATHS: usize = 40;

/// One user's questions about one tree.
pub struct Questions<'a> {
    pub(super) site: &'a Site,
    pub(super) person: &'a Person,
    starts: Vec<PathBuf>,
    /// Directories in scope that the user may list but not search.
    pub(super) listed_only: BTreeSet<PathBuf>,
    /// Paths that find showed to the user.
    shown: Vec<PathBuf>,
}

/// What find shows to a user.
#[derive(Clone, Debug)]
pub struct Shown {
    /// All paths.
    pub paths: Vec<PathBuf>,
    /// The directories among them that the user may list but not search.
    pub listed_only: BTreeSet<PathBuf>,
    /// Exit code of find.
    pub code: Option<i32>,
}

impl Shown {
    /// Asks find what a user sees from these starts.
    pub fn to(person: &Person, starts: &[PathBuf]) -> Shown {
        let marks = [
            "-type",
            "d",
            "-readable",
            "!",
            "-executable",
            "-printf",
            "d%p\\0",
        ];
        let mut line = person.identity().command("find");
        line.current_dir("/");
        line.args(starts).args(["-printf", "s%p\\0"]).args(marks);
        let ran = run(&mut line);
        let mut shown = Shown {
            paths: Vec::new(),
            listed_only: BTreeSet::new(),
            code: ran.code,
        };
        for record in split(&ran.stdout, Ending::Zero) {
            let path = PathBuf::from(OsStr::from_bytes(&record[1..]));
            match record[0] {
                b'd' => drop(shown.listed_only.insert(path)),
                _ => shown.paths.push(path),
            }
        }
        shown
    }
}

impl<'a> Questions<'a> {
    /// Asks find what the user sees from these starts, which are relative to the root.
    pub fn new(site: &'a Site, person: &'a Person, starts: &[Vec<u8>]) -> Questions<'a> {
        let starts: Vec<PathBuf> = starts.iter().map(|start| site.absolute(start)).collect();
        let Shown {
            paths, listed_only, ..
        } = Shown::to(person, &starts);
        Questions {
            site,
            person,
            starts,
            listed_only,
            shown: paths,
        }
    }

    /// Runs a comparison; the error describes the difference for a person.
    pub fn check(&self, check: Check) -> Result<Tally, String> {
        let outcome = match check {
            Check::Find => self.find(),
            Check::Attributes => self.attributes(),
            Check::Usage => self.usage(),
            Check::List => self.list(),
            Check::Status => self.status(),
            Check::Names => self.paths(&["locate", "-0", "--below"], &["/"]),
            Check::Search => self.paths(&["search", "-0r", "--served-by=index", "*"], &[]),
            Check::Duplicates => self.duplicates(),
            Check::Members => self.members(),
            Check::Lines => self.lines(),
            Check::Views => self.views(),
            Check::Words => self.words(),
            Check::Groups => self.groups(),
            Check::Related => self.related(),
            Check::Sql => self.sql(),
            Check::Named => {
                let words = ["index", "show", NAMED_INDEX, "-0", "-n", "1000000", "--in"];
                self.paths(&words, &[])
            }
        };
        outcome.map_err(|difference| {
            let (seed, word) = (self.site.plan.seed, check.word());
            let person = self.person;
            format!("seed {seed}, {person}, {word}: {difference}")
        })
    }

    pub(super) fn line(&self, program: &OsStr) -> std::process::Command {
        let mut line = self.person.identity().command(program);
        line.current_dir("/");
        line
    }

    /// Runs both sides with the same arguments.
    fn both(&self, tool: &str, words: &[&str], paths: &[PathBuf], last: &[&str]) -> (Ran, Ran) {
        let mut theirs = self.line(OsStr::new(tool));
        let mut ours = self.line(self.site.trawl.as_os_str());
        ours.arg("-i").arg(self.site.index_dir()).arg(tool);
        for line in [&mut theirs, &mut ours] {
            line.args(words).args(paths).args(last);
        }
        (run(&mut theirs), run(&mut ours))
    }

    fn find(&self) -> Result<Tally, String> {
        let (theirs, ours) = self.both("find", &[], &self.starts, &["-printf", FORMAT]);
        same_output(&theirs, &ours, Order::Any, Ending::Zero)?;
        let live = live_lines(&ours);
        let quoted = self.quoted_listed_only();
        let (expected, actual) = (messages(&theirs, &quoted), messages(&ours, &quoted));
        if expected != actual && !self.is_hidden(&theirs, &ours) {
            let text = |list: &BTreeSet<String>| list.iter().cloned().collect::<String>();
            let (expected, actual) = (text(&expected), text(&actual));
            let lines = difference(
                expected.as_bytes(),
                actual.as_bytes(),
                Order::Any,
                Ending::Newline,
            );
            return Err(format!(
                "messages differ: {}{ours}",
                lines.unwrap_or_default()
            ));
        }
        self.same_code(&theirs, &ours)?;
        Ok(Tally {
            questions: 1,
            rows: split(&ours.stdout, Ending::Zero).len(),
            refusals: expected.len(),
            live,
            deviations: self.listed_only.len(),
        })
    }

    /// Compares words and attributes of contents.
    fn words(&self) -> Result<Tally, String> {
        // Larger files end with bytes that nobody wrote.
        const TEXT: [&str; 5] = ["-type", "f", "-readable", "-size", "-17"];
        let mut tally = Tally::default();
        for (theirs, ours) in [
            (
                &["-exec", "grep", "-lwZ", "-e", "2", "{}", "+"][..],
                ["-keyword", "line 2"],
            ),
            (&["!", "-size", "0", "-print0"], ["-attr", "encoding=ASCII"]),
        ] {
            let mut gnu = self.line(OsStr::new("find"));
            let gnu = run(gnu.args(&self.starts).args(TEXT).args(theirs));
            let mut line = self.line(self.site.trawl.as_os_str());
            line.arg("-i").arg(self.site.index_dir()).arg("find");
            line.args(&self.starts).args(TEXT).args(ours).arg("-print0");
            let ran = run(&mut line);
            same_output(&gnu, &ran, Order::Any, Ending::Zero)?;
            if ran.errors().contains("cannot search its content") {
                return Err(format!("a readable file is not searched: {ran}"));
            }
            tally.questions += 1;
            tally.rows += split(&ran.stdout, Ending::Zero).len();
            tally.live += live_lines(&ran);
        }
        Ok(tally)
    }

    /// Returns true if the user may not even see the root: then the program must not distinguish it
    /// from one that was never indexed, and neither side shows anything.
    fn is_hidden(&self, theirs: &Ran, ours: &Ran) -> bool {
        let root = self.site.root();
        let mut line = self.line(OsStr::new("stat"));
        run(line.arg(&root)).code != Some(0) && theirs.stdout.is_empty() && ours.stdout.is_empty()
    }

    fn same_code(&self, theirs: &Ran, ours: &Ran) -> Result<(), String> {
        if ours.signal.is_some() || ours.errors().contains("panicked") {
            return Err(format!("the program broke: {ours}"));
        }
        // With the deviation, one side may have errors that the other does not.
        if theirs.code == ours.code || !self.listed_only.is_empty() || self.is_hidden(theirs, ours)
        {
            return Ok(());
        }
        Err(format!(
            "exit code {:?} expected: {ours}\n{theirs}",
            theirs.code
        ))
    }

    /// Returns the deviating directories as find quotes them, without the quotes.
    fn quoted_listed_only(&self) -> Vec<String> {
        if self.listed_only.is_empty() {
            return Vec::new();
        }
        let mut line = command("ls");
        line.args(["-d", "-U", "--quoting-style=locale", "--"]);
        let ran = run(line.args(&self.listed_only));
        let quoted = ran.text();
        let inner = quoted.lines().map(|name| name.trim_matches(['‘', '’']));
        inner.map(String::from).collect()
    }

    fn attributes(&self) -> Result<Tally, String> {
        let paths = self.some_paths();
        let words = ["-d", "-m", "-", "-h", "--absolute-names", "--"];
        let (theirs, ours) = self.both("getfattr", &words, &paths, &[]);
        same_output(&theirs, &ours, Order::Exact, Ending::Newline)?;
        if theirs.code != ours.code {
            return Err(format!(
                "exit code {:?} expected: {ours}\n{theirs}",
                theirs.code
            ));
        }
        let refusals = refusals(&theirs);
        if refusals != self::refusals(&ours) && !self.is_hidden(&theirs, &ours) {
            return Err(format!("messages differ: {ours}\n{theirs}"));
        }
        Ok(Tally {
            questions: 1,
            rows: split(&ours.stdout, Ending::Newline).len(),
            refusals,
            live: live_lines(&ours),
            ..Tally::default()
        })
    }

    /// Returns the starts, and some of the paths that find showed.
    fn some_paths(&self) -> Vec<PathBuf> {
        let mut prng = Prng::new(self.site.plan.seed ^ u64::from(self.person.uid));
        let short = |path: &&PathBuf| path.as_os_str().len() < 3_500;
        let shown: Vec<&PathBuf> = self.shown.iter().filter(short).collect();
        let mut paths: Vec<PathBuf> = self.starts.iter().take(6).cloned().collect();
        for _ in 0..ATTRIBUTE_PATHS.min(shown.len()) {
            paths.push((*prng.pick(&shown)).clone());
        }
        paths
    }

    fn status(&self) -> Result<Tally, String> {
        let mut tally = Tally::default();
        let paths = self.some_paths();
        for words in [
            &["--printf", STATUS, "--"][..],
            &["-L", "--printf", STATUS, "--"],
        ] {
            let (theirs, ours) = self.both("stat", words, &paths, &[]);
            same_output(&theirs, &ours, Order::Exact, Ending::Zero)?;
            self.same_code(&theirs, &ours)?;
            if !self.is_hidden(&theirs, &ours) {
                self.same_refusals(&theirs, &ours)?;
            }
            tally.questions += 1;
            tally.rows += split(&ours.stdout, Ending::Zero).len();
            tally.refusals += refusals(&theirs);
            tally.live += live_lines(&ours);
        }
        Ok(tally)
    }

    /// Compares one of the program's commands that print paths. It must report any path that it
    /// leaves out of those that find prints.
    fn paths(&self, words: &[&str], last: &[&str]) -> Result<Tally, String> {
        let mut tally = Tally::default();
        // Unlike find, these follow a start that is a link.
        let is_link =
            |start: &PathBuf| std::fs::symlink_metadata(start).is_ok_and(|meta| meta.is_symlink());
        for start in self
            .two_starts()
            .into_iter()
            .filter(|start| !is_link(start))
        {
            let format = ["-mindepth", "1", "-print0"];
            let theirs = run(self.line(OsStr::new("find")).arg(&start).args(format));
            let mut ours = self.line(self.site.trawl.as_os_str());
            ours.arg("-i").arg(self.site.index_dir());
            let ours = run(ours.args(words).arg(&start).args(last));
            self.same_paths(&theirs, &ours)?;
            tally.questions += 1;
            tally.rows += split(&ours.stdout, Ending::Zero).len();
            tally.refusals += refusals(&ours);
        }
        Ok(tally)
    }

    pub(super) fn same_paths(&self, theirs: &Ran, ours: &Ran) -> Result<(), String> {
        if ours.signal.is_some() || ours.errors().contains("panicked") {
            return Err(format!("the program broke: {ours}"));
        }
        let set = |ran: &Ran| -> BTreeSet<Vec<u8>> {
            let records = split(&ran.stdout, Ending::Zero).into_iter();
            records.map(<[u8]>::to_vec).collect()
        };
        let (shown, told) = (set(theirs), set(ours));
        let visible = |path: &Vec<u8>| path.escape_ascii().to_string();
        if let Some(first) = told.difference(&shown).next() {
            let first = visible(first);
            return Err(format!(
                "shown and not to be seen: {first}: {ours}\n{theirs}"
            ));
        }
        // Entries of a directory with the known deviation may be left out.
        let is_told = |path: &&Vec<u8>| {
            let holder = Path::new(OsStr::from_bytes(path)).parent();
            told.contains(*path) || holder.is_some_and(|dir| self.listed_only.contains(dir))
        };
        let left_out = shown.iter().find(|path| !is_told(path)).map(visible);
        if let Some(first) = left_out.filter(|_| ours.code == Some(0) || ours.stderr.is_empty()) {
            return Err(format!(
                "left out without a word: {first}: {ours}\n{theirs}"
            ));
        }
        Ok(())
    }

    fn duplicates(&self) -> Result<Tally, String> {
        let start = self.site.root();
        let format = ["-type", "f", "-size", "+0", "-printf", "%s %p\\0"];
        let theirs = run(self.line(OsStr::new("find")).arg(&start).args(format));
        let mut ours = self.line(self.site.trawl.as_os_str());
        ours.arg("-i").arg(self.site.index_dir());
        let ours = run(ours.args(["duplicates", "-0", "-n", "1000000"]).arg(&start));
        if ours.signal.is_some() || ours.errors().contains("panicked") {
            return Err(format!("the program broke: {ours}"));
        }
        let mut sizes = BTreeMap::new();
        for record in split(&theirs.stdout, Ending::Zero) {
            let at = record
                .iter()
                .position(|byte| *byte == b' ')
                .unwrap_or_default();
            sizes.insert(&record[at + 1..], &record[..at]);
        }
        let mut rows = 0;
        for group in ours
            .stdout
            .split(|byte| *byte == 0)
            .collect::<Vec<_>>()
            .split(|path| path.is_empty())
        {
            let of: BTreeSet<Option<&&[u8]>> = group.iter().map(|path| sizes.get(path)).collect();
            rows += group.len();
            if of.contains(&None) || of.len() > 1 {
                return Err(format!("a group of other files: {of:?}: {ours}\n{theirs}"));
            }
        }
        Ok(Tally {
            questions: 1,
            rows,
            refusals: refusals(&ours),
            ..Tally::default()
        })
    }

    fn usage(&self) -> Result<Tally, String> {
        let mut tally = Tally::default();
        // An object with several names is counted at the first one visited, which depends on the
        // order; hence `-l` where paths are shown.
        let ways: [&[&str]; 3] = [
            &["-s", "-B1", "-0", "--"],
            &["-s", "-B1", "-0", "--apparent-size", "--"],
            &["-a", "-l", "-B1", "-0", "--"],
        ];
        for start in self.two_starts() {
            for words in ways {
                let (theirs, ours) = self.both("du", words, std::slice::from_ref(&start), &[]);
                same_output(&theirs, &ours, Order::Any, Ending::Zero)?;
                self.same_code(&theirs, &ours)?;
                self.same_refusals(&theirs, &ours)?;
                tally.questions += 1;
                tally.rows += split(&ours.stdout, Ending::Zero).len();
                tally.refusals += refusals(&theirs);
                tally.live += live_lines(&ours);
            }
        }
        Ok(tally)
    }

    fn list(&self) -> Result<Tally, String> {
        let mut tally = Tally::default();
        // For names in a directory that may only be listed ls prints question marks, and for
        // entries deeper than `PATH_MAX` it prints errors.
        if !self.listed_only.is_empty() || self.site.plan.is_deep {
            return Ok(tally);
        }
        for start in self.two_starts() {
            let words = ["-lnAR", "--time-style=full-iso", "--"];
            let (theirs, ours) = self.both("ls", &words, &[start], &[]);
            same_output(&theirs, &ours, Order::Exact, Ending::Newline)?;
            self.same_code(&theirs, &ours)?;
            self.same_refusals(&theirs, &ours)?;
            tally.questions += 1;
            tally.rows += split(&ours.stdout, Ending::Newline).len();
            tally.refusals += refusals(&theirs);
            tally.live += live_lines(&ours);
        }
        Ok(tally)
    }

    /// Checks that both sides refused equally many paths. The wording and quoting of these tools
    /// differ between their versions.
    fn same_refusals(&self, theirs: &Ran, ours: &Ran) -> Result<(), String> {
        if !self.listed_only.is_empty()
            || self.is_hidden(theirs, ours)
            || refusals(theirs) == refusals(ours)
        {
            return Ok(());
        }
        Err(format!("messages differ: {ours}\n{theirs}"))
    }

    /// Returns the root, unless paths below are too long for the tools, and another start.
    pub(super) fn two_starts(&self) -> Vec<PathBuf> {
        let mut prng = Prng::new(self.site.plan.seed ^ u64::from(self.person.gid) << 7);
        let other = prng.pick(&self.starts).clone();
        if self.site.plan.is_deep {
            return vec![other];
        }
        vec![self.site.root(), other]
    }
}

fn same_output(theirs: &Ran, ours: &Ran, order: Order, ending: Ending) -> Result<(), String> {
    match difference(&theirs.stdout, &ours.stdout, order, ending) {
        None => Ok(()),
        Some(lines) => Err(format!("{lines}{ours}\n{theirs}")),
    }
}

/// Returns the number of messages about refusals.
fn refusals(ran: &Ran) -> usize {
    let errors = ran.errors().to_lowercase();
    let lines = errors.lines();
    lines
        .filter(|line| line.ends_with("permission denied"))
        .count()
}

fn live_lines(ran: &Ran) -> usize {
    ran.errors()
        .lines()
        .filter(|line| line.contains(LIVE))
        .count()
}

/// Returns the lines on standard error, without those about live reads and those about a directory
/// that may only be listed, or its entries.
fn messages(ran: &Ran, listed_only: &[String]) -> BTreeSet<String> {
    let is_deviation = |line: &str| {
        let about = line
            .split_once('‘')
            .and_then(|(_, rest)| rest.rsplit_once('’'));
        about.is_some_and(|(path, _)| {
            let holder = path.rsplit_once('/').map(|(holder, _)| holder);
            let met = |dir: &String| dir == path || Some(dir.as_str()) == holder;
            listed_only.iter().any(met)
        })
    };
    let errors = ran.errors();
    let lines = errors
        .lines()
        .filter(|line| !line.contains(LIVE) && !is_deviation(line));
    lines.map(|line| format!("{line}\n")).collect()
}
