//! `trawl grep`: searches the contents of files ([`trawl_grep`]), named by words or selected by a
//! find expression.

mod options;

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use trawl_answers::expression::Expression;
use trawl_call::{Cancel, Executor};
use trawl_engines::Directory;
use trawl_grep::covered::Covered;
use trawl_grep::listed::Listed;
use trawl_grep::tree::Tree;
use trawl_grep::walk::{Admits, Kind, Walk, met};
use trawl_grep::{Blank, GrepError, Options, Order, Summary, Target};
use trawl_model::FileType;
use trawl_sets::expand::{Attribute, Expander};
use trawl_sets::member::Op;
use trawl_sets::name::server_prefix;
use trawl_sets::opener::Fetched;
use trawl_sets::{Found, Local, Names, Opener, PlaceId, Problem, Set, SetName};
use trawl_text::glob::{Case, Glob};

use crate::beside;
use crate::commands::{IndexOption, Setting, Spec};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::members;
use crate::output::{Device, say};
use crate::unlocked::Unlocked;

pub(crate) use options::GrepArgs;
use options::Sort;

const EXAMPLES: &str = "\
Examples:
  trawl grep TODO                          search below the working directory
  trawl grep -n 'fn \\w+' src lib.rs        print line numbers
  trawl grep -e TODO -- /srv -name '*.c'   search what find would find

Exit codes: 0 a line was selected, 1 none was, 2 an error; with -q, 0 if a line
was selected before the error.";

/// Size of the blocks in which output is written.
const OUTPUT_BYTES: usize = 64 << 10;

/// Maximum time to wait for a daemon: a walk is as exact, and soon under way.
const WAIT: Duration = Duration::from_millis(500);

/// What indexes say about files.
#[derive(Clone, Default)]
struct Known {
    /// Files that cannot match; `None` if every file is of interest.
    covered: Option<Arc<Covered>>,
    /// Files below directories that a daemon watches.
    listed: Option<Arc<Listed>>,
}

/// Name of standard input among the names.
const STANDARD_INPUT: &[u8] = b"-";

impl Spec for GrepArgs {
    const ABOUT: &'static str = "Search the contents of files, as ripgrep and grep do";
    const INDEX: IndexOption = IndexOption::Long;
    const HAS_OWN_HELP: bool = true;
    const TAKES_EXPRESSION: bool = true;
    const SEE_ALSO: &'static [&'static str] = &["grep(1)", "rg(1)", "trawl-find(1)"];

    fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
        let (pattern, names) = self.split()?;
        beside::need_more_for(&setting, names.iter().map(Vec::as_slice))?;
        let names: Vec<Vec<u8>> = names.into_iter().map(members::path_or_set_name).collect();
        let is_single = self.expression.is_empty() && is_single(&names);
        let options = self.options(pattern, is_single)?;
        members::refuse_past(setting.manner.then(self.manner))?;
        let known = self.known(&setting, &options, &names);
        let members = self.members(setting, (names, known))?;
        // Its output is not held back.
        crate::again::note_begun();
        let mut out = output();
        let target = Target {
            out: &mut *out,
            problem: &|problem| {
                if self.tells() {
                    say(problem);
                }
            },
            order: match self.sort {
                Some(Sort::Path) => Order::AsFound,
                _ => Order::AsDone,
            },
        };
        let searched = trawl_grep::search(&members, &options, self.stats, target);
        let flushed = out.flush();
        let summary = searched.map_err(failure)?;
        flushed.map_err(Failure::Write)?;
        if self.stats && !self.is_json() {
            print_stats(&mut *out, &summary).map_err(Failure::Write)?;
        }
        Ok(match (summary.has_match, summary.problems) {
            (true, problems) if problems == 0 || self.is_quiet() => Exit::Complete,
            (_, 1..) => Exit::Fatal,
            _ => Exit::Unmatched,
        })
    }
}

/// Returns standard output: written in large blocks, unless somebody watches.
fn output() -> Box<dyn Write + Send> {
    match Device::of_stdout() {
        Device::Terminal => Box::new(Unlocked::stdout()),
        Device::Other => Box::new(BufWriter::with_capacity(OUTPUT_BYTES, Unlocked::stdout())),
    }
}

fn failure(error: GrepError) -> Failure {
    match error {
        GrepError::Write(error) => Failure::Write(error),
        other => Failure::Usage(other.to_string()),
    }
}

/// Returns whether one file is searched, so that its name need not be printed.
fn is_single(names: &[Vec<u8>]) -> bool {
    match names {
        [name] if name == STANDARD_INPUT => true,
        // It may be a directory there, as a set may have any number of members.
        [name] if server_prefix(name).is_some() => false,
        [name] if !name.is_empty() => match Path::new(OsStr::from_bytes(name)).metadata() {
            Ok(meta) => !meta.is_dir(),
            // A set may have any number of members.
            Err(_) => SetName::parse(name).is_ok_and(|set| set.is_plain()),
        },
        _ => false,
    }
}

impl GrepArgs {
    /// Splits the words into the pattern and the names.
    fn split(&self) -> Result<(Option<&OsString>, Vec<Vec<u8>>), Failure> {
        let (pattern, names) = match self.has_patterns() {
            true => (None, &self.words[..]),
            false => match self.words.split_first() {
                Some((pattern, names)) => (Some(pattern), names),
                None => {
                    let text = "the pattern is missing: give it first, or with -e; words after -- \
                                are a find expression";
                    return Err(Failure::Usage(text.into()));
                }
            },
        };
        let names: Vec<Vec<u8>> = names.iter().map(|name| name.as_bytes().to_vec()).collect();
        Ok(match (names.is_empty(), self.expression.is_empty()) {
            (true, true) if input_has_text() && !self.reads_patterns_from_input() => {
                (pattern, vec![STANDARD_INPUT.to_vec()])
            }
            (true, true) => (pattern, vec![Vec::new()]),
            _ => (pattern, names),
        })
    }

    /// Returns the set of the files to search: the single place that knows where names come from.
    fn members(
        &self,
        setting: Setting<'_>,
        (names, known): (Vec<Vec<u8>>, Known),
    ) -> Result<Set, Failure> {
        let index = setting.index.clone();
        let manner = setting.manner.then(self.manner);
        let local = Arc::new(Local::with_contents());
        let (mut expander, rest) = members::sources(&setting, manner, local);
        if names.iter().any(|name| server_prefix(name).is_some()) {
            // They come with the answer, and tell directories from files.
            expander.attributes = Attribute::Wanted;
        }
        if self.sort.is_some() {
            expander.order = trawl_sets::expand::Order::Csh;
        }
        let blank = Blank::new().map_err(|cause| Failure::Usage(format!("/dev/null: {cause}")))?;
        let mut openers: Vec<Arc<dyn Opener>> = vec![Arc::new(blank), Arc::new(Input)];
        openers.extend(rest);
        let source: Box<dyn Names> = match self.expression.is_empty() {
            true => Box::new(self.named(names, &expander)?.knowing(known)),
            false => Box::new(self.found(index, names)?.knowing(known)),
        };
        let options = trawl_sets::Options {
            ordered: self.sort == Some(Sort::Path),
            ..trawl_sets::Options::default()
        };
        Set::open(source, openers, options).map_err(|why| Failure::Usage(why.to_string()))
    }

    /// Returns what the indexes say about files below the names.
    fn known(&self, setting: &Setting<'_>, options: &Options, names: &[Vec<u8>]) -> Known {
        if self.no_text_index || self.stats {
            return Known::default();
        }
        let Ok(indexes) = trawl_open::place::indexes_to_ask(setting.index.clone()) else {
            return Known::default();
        };
        let covered = self.covered(indexes.clone(), options, names);
        let wait = setting.manner.then(self.manner).when().wait.deadline();
        let listed = covered.clone().zip(wait).map(|(covered, wait)| {
            let paths: Vec<Vec<u8>> = names.iter().filter_map(canonical).collect();
            let wait = wait.min(WAIT);
            let opens = move || {
                let opened = trawl_open::search::knowing_contents(indexes.clone(), &paths, wait);
                // The walk answers as well.
                opened.ok().flatten()
            };
            Arc::new(Listed::new(covered, Box::new(opens)))
        });
        Known { covered, listed }
    }

    /// Returns what the indexes say about contents below the names; `None` if every file is of
    /// interest.
    fn covered(
        &self,
        indexes: Vec<PathBuf>,
        options: &Options,
        names: &[Vec<u8>],
    ) -> Option<Arc<Covered>> {
        let words = self.expression.iter().map(|word| word.as_bytes());
        let names = names.iter().map(Vec::as_slice).chain(words);
        let starts = names.chain([&b"."[..]]).filter_map(canonical).collect();
        let tells = self.tells();
        let warn = move |text: &str| {
            if tells {
                say(text);
            }
        };
        Covered::new(options, (indexes, starts), Box::new(warn)).map(Arc::new)
    }

    /// Returns the files that the names stand for. A name of something that exists, or that the
    /// kernel does not let this user look for, is that file or directory, whatever characters are in
    /// it; others are names of sets.
    fn named(&self, names: Vec<Vec<u8>>, expander: &Expander) -> Result<Below, Failure> {
        let is_there = |name: &Vec<u8>| {
            let path = Path::new(OsStr::from_bytes(name));
            let is_there = match path.symlink_metadata() {
                Ok(_) => true,
                // Whatever the name is, nothing can be reached through this directory.
                Err(why) => why.kind() == io::ErrorKind::PermissionDenied,
            };
            name.is_empty() || name == STANDARD_INPUT || is_there
        };
        let mut starts: VecDeque<Start> = VecDeque::new();
        for name in names {
            starts.push_back(match is_there(&name) {
                true => Start::Path(name),
                false => {
                    let set = SetName::parse(&name);
                    let set = set.map_err(|why| Failure::Usage(why.to_string()))?;
                    match set.object() {
                        Some(object) if server_prefix(&object).is_some() => Start::Path(object),
                        _ if set.is_plain() => Start::Path(name),
                        _ => Start::Set(Box::new(expander.expand(vec![set]))),
                    }
                }
            });
        }
        Ok(Below {
            starts,
            admits: self.admits(),
            servers: expander.servers.clone(),
            walk: None,
            known: Known::default(),
        })
    }

    /// Returns the regular files that the find expression selects, by the index or live as `trawl
    /// find` does. `starts` are further start points, before those of the expression.
    fn found(&self, index: Option<PathBuf>, starts: Vec<Vec<u8>>) -> Result<Below, Failure> {
        let is_word = |word: &OsString| {
            let word = word.as_bytes();
            word.starts_with(b"-") || matches!(word, b"(" | b"!")
        };
        let at = self.expression.iter().position(is_word);
        let (paths, tests) = self
            .expression
            .split_at(at.unwrap_or(self.expression.len()));
        // Mistakes in the expression are told before anything is searched.
        Expression::read(tests)?;
        let tests: Vec<Vec<u8>> = tests.iter().map(|word| word.as_bytes().to_vec()).collect();
        let mut all = starts;
        all.extend(paths.iter().map(|path| path.as_bytes().to_vec()));
        if all.is_empty() {
            all.push(b".".to_vec());
        }
        let search = Arc::new(Search {
            directory: Directory::new(members::settings(index)),
            tests,
        });
        let selected = |start| Start::Selected {
            start,
            search: Arc::clone(&search),
            names: None,
        };
        Ok(Below {
            starts: all.into_iter().map(selected).collect(),
            admits: self.admits(),
            servers: None,
            walk: None,
            known: Known::default(),
        })
    }

    /// Returns the test of --include, --exclude and --exclude-dir.
    fn admits(&self) -> Admits {
        let globs = |words: &[OsString]| -> Vec<Glob> {
            let glob = |word: &OsString| Glob::of_environment(word.as_bytes(), Case::Sensitive);
            words.iter().map(glob).collect()
        };
        let (include, exclude) = (globs(&self.include), globs(&self.exclude));
        let exclude_dir = globs(&self.exclude_dir);
        Arc::new(move |name, kind| {
            let is_in = |globs: &[Glob]| globs.iter().any(|glob| glob.matches(name));
            match kind {
                Kind::File => (include.is_empty() || is_in(&include)) && !is_in(&exclude),
                Kind::Directory => !is_in(&exclude_dir),
            }
        })
    }
}

/// A start of the search.
enum Start {
    Path(Vec<u8>),
    Set(Box<dyn Names>),
    /// The entries of a directory that a find expression selects.
    Selected {
        start: Vec<u8>,
        search: Arc<Search>,
        /// `None` before its turn.
        names: Option<Box<dyn Names>>,
    },
}

/// A find expression, and what evaluates it.
struct Search {
    directory: Directory,
    tests: Vec<Vec<u8>>,
}

/// The files at and below the starts, in their order.
struct Below {
    starts: VecDeque<Start>,
    admits: Admits,
    /// Answers searches at servers.
    servers: Option<Arc<dyn Executor>>,
    /// The files at and below the current name.
    walk: Option<Box<dyn Names>>,
    known: Known,
}

impl Below {
    /// Uses what indexes say about files.
    fn knowing(mut self, known: Known) -> Below {
        self.known = known;
        self
    }

    fn walk(&mut self, name: Vec<u8>) {
        let admits = Arc::clone(&self.admits);
        let servers = self.servers.as_ref();
        let at_server = servers.filter(|_| server_prefix(&name).is_some());
        self.walk = Some(match at_server {
            Some(servers) => Box::new(Tree::new(Arc::clone(servers), name, admits)),
            None => {
                let Known { covered, listed } = self.known.clone();
                Box::new(Walk::new([name], admits).skipping(covered).listed(listed))
            }
        });
    }
}

impl Names for Below {
    fn next(&mut self, cancel: &Cancel) -> Option<Result<Found, Problem>> {
        loop {
            if let Some(next) = self.walk.as_mut().and_then(|walk| walk.next(cancel)) {
                return Some(next);
            }
            match self.starts.front_mut()? {
                Start::Path(name) => {
                    let name = std::mem::take(name);
                    self.starts.pop_front();
                    self.walk(name);
                }
                Start::Selected {
                    start,
                    search,
                    names: names @ None,
                } => match search.directory.select(start, &search.tests) {
                    Ok(selected) => *names = Some(selected),
                    Err(problem) => {
                        self.starts.pop_front();
                        return Some(Err(problem));
                    }
                },
                Start::Selected {
                    start,
                    names: Some(names),
                    ..
                } => match names.next(cancel) {
                    None => {
                        self.starts.pop_front();
                    }
                    Some(Ok(found)) => {
                        let found = selected(start, found, &self.admits);
                        let found = found.and_then(|found| met(found, &self.known.covered));
                        if let Some(found) = found {
                            return Some(Ok(found));
                        }
                    }
                    Some(problem) => return Some(problem),
                },
                Start::Set(names) => match names.next(cancel) {
                    None => {
                        self.starts.pop_front();
                    }
                    Some(Ok(found)) if trawl_sets::name::is_url(&found.name) => {
                        match server_prefix(&found.name).is_some() && may_be_directory(&found) {
                            true => self.walk(found.name),
                            false => return Some(Ok(found)),
                        }
                    }
                    // A file of this name is not standard input.
                    Some(Ok(found)) if found.name == STANDARD_INPUT => self.walk(b"./-".to_vec()),
                    Some(Ok(found)) => self.walk(found.name),
                    Some(problem) => return Some(problem),
                },
            }
        }
    }
}

/// Returns whether what was found may be a directory: names without wildcards have no attributes.
fn may_be_directory(found: &Found) -> bool {
    let kind = |of: trawl_call::Attributes| FileType::from_mode(of.mode);
    found
        .attributes
        .is_none_or(|of| kind(of) == FileType::Directory)
}

/// Returns a selected entry under its name below the start, if it is a regular file to be searched.
fn selected(start: &[u8], mut found: Found, admits: &Admits) -> Option<Found> {
    let is_file = found
        .attributes
        .is_none_or(|of| FileType::from_mode(of.mode) == FileType::Regular);
    // The start itself, which may be a file.
    if found.name == b"." {
        found.name = start.to_vec();
    } else if !found.name.starts_with(b"/") {
        let slash: &[u8] = if start.ends_with(b"/") { b"" } else { b"/" };
        found.name = [start, slash, &found.name].concat();
    }
    let last = found.name.rsplit(|byte| *byte == b'/').next();
    (is_file && admits(last.unwrap_or_default(), Kind::File)).then_some(found)
}

/// Returns the path, absolute, without symbolic links, in the form that indexes use; `None` if it
/// does not exist. An empty one is the working directory.
fn canonical(name: &(impl AsRef<[u8]> + ?Sized)) -> Option<Vec<u8>> {
    let name = match name.as_ref() {
        b"" => b".",
        name => name,
    };
    let path = std::fs::canonicalize(Path::new(OsStr::from_bytes(name))).ok()?;
    trawl_model::path::normalize(path.as_os_str().as_bytes())
}

/// Returns whether standard input is a pipe or a file, which is then searched by default.
fn input_has_text() -> bool {
    let Ok(input) = input() else {
        return false;
    };
    let kind = input.metadata().map(|meta| meta.file_type());
    kind.is_ok_and(|kind| kind.is_fifo() || kind.is_file())
}

fn input() -> io::Result<File> {
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

/// Opens standard input.
struct Input;

impl Opener for Input {
    fn place(&self, found: &Found) -> Option<PlaceId> {
        (found.name == STANDARD_INPUT).then_some(PlaceId::Mount(u64::MAX))
    }

    fn fetch(&self, found: &Found, _: u64) -> Result<Fetched, Problem> {
        let file = input().map_err(|source| Problem {
            name: found.name.clone(),
            op: Op::Open,
            source,
        })?;
        Ok(Fetched {
            is_stream: true,
            ..Fetched::of(file, 0)
        })
    }
}

fn print_stats(out: &mut dyn Write, summary: &Summary) -> io::Result<()> {
    let stats = &summary.stats;
    writeln!(
        out,
        "\n{} matches\n{} matched lines\n{} files contained matches\n{} files searched\n{} bytes \
         searched\n{:.6} seconds",
        stats.matches(),
        stats.matched_lines(),
        stats.searches_with_match(),
        stats.searches(),
        stats.bytes_searched(),
        stats.elapsed().as_secs_f64()
    )?;
    out.flush()
}
