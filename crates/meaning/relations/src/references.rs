//! References that hooks find: *includes*, *links to*, *derived*, and kinds of users' hooks.
//!
//! A file's own references are found by running the hooks on it now, as the asking user. Files that
//! refer to it are found among the candidates whose bytes contain its name, by running the hooks on
//! those. References that are [`Known`] from an index spare reading the file; each is resolved again.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use trawl_hooks::{Hooks, Limits, extract};
use trawl_text::words::cause;

use crate::candidates::Candidates;
use crate::kind::{Direction, Kind};
use crate::names::Names;
use crate::related::{Edge, Found, Source, about};

/// Largest file that is searched for the name of another, in bytes.
pub const FILE_BYTES_MAX: u64 = 16 << 20;
/// Maximum number of bytes that are searched for the names of the files of one depth.
pub const SEARCHED_BYTES_MAX: u64 = 4 << 30;
/// Maximum number of names that are found in files at one depth: it bounds memory, to 128 MiB.
pub const HITS_MAX: usize = 16 << 20;
/// Where compilers look for headers besides.
const SYSTEM: [&str; 2] = ["/usr/local/include", "/usr/include"];
/// Name of directories with headers.
const INCLUDE: &str = "include";

/// References of a file as the file names them.
#[derive(Clone, Debug, Default)]
pub struct References {
    /// Kinds and targets.
    pub targets: Vec<(Kind, String)>,
    /// What went wrong.
    pub issues: Vec<String>,
}

/// Files that may refer to a file.
#[derive(Clone, Debug, Default)]
pub struct Referrers {
    /// The files. Each is read before it is named.
    pub files: Vec<PathBuf>,
    /// What could not be looked at.
    pub issues: Vec<String>,
}

/// Knows which references files have.
pub trait ReferenceSource {
    /// Returns the references in a file, as of now.
    fn references_in(&mut self, file: &Path) -> References;

    /// Returns all files that refer to a file, and perhaps others.
    fn may_refer_to(&mut self, file: &Path) -> Referrers;

    /// Is told the files to which references are asked for next, and may look for them at once.
    fn prepare(&mut self, _files: &[&Path]) {}
}

/// References that are known without reading files, such as those in an index.
pub trait Known: fmt::Debug {
    /// Returns all references in a file as it is now, each with its kind and its target, as hooks
    /// would find them; `None` if they are not known to be all.
    fn references(&self, file: &Path) -> Option<Vec<(String, String)>>;
}

/// Reads files now, as far as nothing is known of them.
#[derive(Debug)]
pub struct Live<'a> {
    hooks: &'a Hooks,
    known: Option<&'a dyn Known>,
    limits: Limits,
    candidates: &'a Candidates,
    /// Names that were searched for last, each with the positions of the candidates that have it.
    found: HashMap<Vec<u8>, Vec<usize>>,
    /// What could not be looked at, until it is told.
    issues: Vec<String>,
}

impl<'a> Live<'a> {
    /// Runs these hooks, and looks for files that refer to others among candidates.
    #[must_use]
    pub fn new(hooks: &'a Hooks, candidates: &'a Candidates) -> Live<'a> {
        Live {
            hooks,
            known: None,
            limits: Limits::default(),
            candidates,
            found: HashMap::new(),
            issues: Vec::new(),
        }
    }

    /// Reads no file of which this knows the references.
    #[must_use]
    pub fn knowing(mut self, known: Option<&'a dyn Known>) -> Live<'a> {
        self.known = known;
        self
    }

    fn known(&self, path: &Path) -> Option<References> {
        let known = self.known?.references(path)?.into_iter();
        let targets =
            known.filter_map(|(kind, target)| Some((Kind::from_name(&kind).ok()?, target)));
        Some(References {
            targets: targets.collect(),
            issues: Vec::new(),
        })
    }

    fn read(&self, path: &Path) -> References {
        let mut found = References::default();
        let file = match open(path) {
            Ok(file) => file,
            Err(error) => {
                let why = format!("cannot read: {}", cause(&error));
                found.issues.push(about(path, &why));
                return found;
            }
        };
        let name = path.file_name().unwrap_or_default();
        let extracted = extract(&file, name.as_bytes(), self.hooks, &self.limits);
        for relation in extracted.relations {
            if let Ok(kind) = Kind::from_name(&relation.kind) {
                found.targets.push((kind, relation.target));
            }
        }
        let problems = extracted.problems.iter();
        let problems = problems.map(|one| about(path, &format!("{}: {}", one.hook, one.message)));
        found.issues.extend(problems);
        found
    }
}

impl ReferenceSource for Live<'_> {
    fn references_in(&mut self, file: &Path) -> References {
        self.known(file).unwrap_or_else(|| self.read(file))
    }

    fn may_refer_to(&mut self, file: &Path) -> Referrers {
        let name = searched_name(file);
        if !self.found.contains_key(name) {
            self.prepare(&[file]);
        }
        let found = self.found.get(name).map(Vec::as_slice);
        let found = found.unwrap_or_default().iter();
        let paths = found.map(|at| &self.candidates.files[*at].path);
        let others = paths.filter(|path| path.as_path() != file);
        Referrers {
            files: others.cloned().collect(),
            issues: std::mem::take(&mut self.issues),
        }
    }

    /// Reads each candidate once, however many files there are.
    fn prepare(&mut self, files: &[&Path]) {
        let names: BTreeSet<&[u8]> = files.iter().map(|file| searched_name(file)).collect();
        let names = Vec::from_iter(names);
        let searched = match Names::new(&names) {
            Ok(searched) => searched,
            Err(error) => {
                let why = format!("cannot search for {} names: {error}", names.len());
                return self.issues.push(why);
            }
        };
        let mut having = vec![Vec::new(); names.len()];
        let (mut searched_bytes, mut hits) = (0u64, 0usize);
        for (at, candidate) in self.candidates.files.iter().enumerate() {
            // Whether a file has its own name does not matter.
            if *files == [candidate.path.as_path()] {
                continue;
            }
            if searched_bytes > SEARCHED_BYTES_MAX || hits > HITS_MAX {
                let why = "not all files were searched for references; use --in";
                self.issues.push(why.to_owned());
                break;
            }
            let mut inside = BTreeSet::new();
            if let Some(known) = self.known(&candidate.path) {
                for (_, target) in &known.targets {
                    searched.find(target.as_bytes(), &mut inside);
                }
            } else if candidate.size_bytes <= FILE_BYTES_MAX {
                searched_bytes += candidate.size_bytes;
                match bytes_of(&candidate.path) {
                    Ok(bytes) => searched.find(&bytes, &mut inside),
                    Err(error) => {
                        let why = format!("cannot read: {}", cause(&error));
                        self.issues.push(about(&candidate.path, &why));
                    }
                }
            }
            hits += inside.len();
            inside.into_iter().for_each(|name| having[name].push(at));
        }
        let names = names.into_iter().map(<[u8]>::to_vec);
        self.found = names.zip(having).collect();
    }
}

/// Opens a regular file for reading, without waiting for what is none.
pub(crate) fn open(path: &Path) -> std::io::Result<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Returns the longest part of a name that no format encodes in a special way.
fn plain_part(name: &[u8]) -> &[u8] {
    let is_special = |byte: &u8| !byte.is_ascii_alphanumeric() && !b"-._".contains(byte);
    let parts = name.split(is_special);
    parts.max_by_key(|part| part.len()).unwrap_or_default()
}

/// Returns the part of a file's name that is searched for.
fn searched_name(file: &Path) -> &[u8] {
    plain_part(file.file_name().unwrap_or_default().as_bytes())
}

fn bytes_of(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Relations from a source of references. The references of a file are read and resolved once.
#[derive(Debug)]
pub struct Referring<S> {
    source: S,
    /// The direction that is asked for; both if `None`.
    direction: Option<Direction>,
    /// Files, each with those to which it refers.
    resolved: HashMap<PathBuf, Vec<(Kind, PathBuf)>>,
}

impl<S: ReferenceSource> Referring<S> {
    /// Uses a source; the direction saves looking for the others.
    #[must_use]
    pub fn new(source: S, direction: Option<Direction>) -> Referring<S> {
        Referring {
            source,
            direction,
            resolved: HashMap::new(),
        }
    }

    /// Returns the files to which a file refers.
    fn resolved(&mut self, file: &Path, issues: &mut Vec<String>) -> &[(Kind, PathBuf)] {
        let source = &mut self.source;
        let all = self.resolved.entry(file.to_owned());
        all.or_insert_with(|| {
            let references = source.references_in(file);
            issues.extend(references.issues);
            let targets = references.targets.into_iter();
            let resolved = targets.filter_map(|(kind, target)| {
                let path = resolve(file, &kind, &target)?;
                Some((kind, path))
            });
            resolved.collect()
        })
    }

    fn forward(&mut self, file: &Path, found: &mut Found) {
        for (kind, path) in self.resolved(file, &mut found.issues) {
            let edge = edge(kind.clone(), Direction::Forward, path.clone());
            found.edges.push(edge);
        }
    }

    fn backward(&mut self, file: &Path, found: &mut Found) {
        let referrers = self.source.may_refer_to(file);
        found.issues.extend(referrers.issues);
        for other in referrers.files {
            for (kind, path) in self.resolved(&other, &mut found.issues) {
                if path == file {
                    let edge = edge(kind.clone(), Direction::Backward, other.clone());
                    found.edges.push(edge);
                }
            }
        }
    }
}

impl<S: ReferenceSource> Source for Referring<S> {
    fn kinds(&self, kind: &Kind) -> bool {
        kind.is_reference()
    }

    fn edges(&mut self, file: &Path) -> Found {
        let mut found = Found::default();
        if self.direction != Some(Direction::Backward) {
            self.forward(file, &mut found);
        }
        if self.direction != Some(Direction::Forward) {
            self.backward(file, &mut found);
        }
        found
    }

    fn prepare(&mut self, files: &[&Path]) {
        if self.direction != Some(Direction::Forward) {
            self.source.prepare(files);
        }
    }
}

fn edge(kind: Kind, direction: Direction, path: PathBuf) -> Edge {
    Edge {
        kind,
        direction,
        path,
        weight: 1.0,
        identity: None,
    }
}

/// Returns the file that a reference leads to, without links; `None` if there is none here.
///
/// A path is relative to the file's directory. A header that is not there is searched for as
/// compilers are usually told to: in `include` of each directory above and in these themselves, and
/// where the system's headers are.
#[must_use]
pub fn resolve(file: &Path, kind: &Kind, target: &str) -> Option<PathBuf> {
    let directory = file.parent()?;
    let plain = |path: PathBuf| {
        let path = fs::canonicalize(path).ok()?;
        path.is_file().then_some(path)
    };
    if let Some(found) = plain(directory.join(target)) {
        return Some(found);
    }
    if *kind == Kind::Includes {
        let above = directory.ancestors();
        let above = above.flat_map(|one| [one.join(INCLUDE), one.to_owned()]);
        let places = above.chain(SYSTEM.map(PathBuf::from));
        return places
            .into_iter()
            .find_map(|place| plain(place.join(target)));
    }
    plain(directory.join(unescaped(target)?))
}

/// Returns the path in a link to a file, such as `a%20b.md#part`.
fn unescaped(target: &str) -> Option<PathBuf> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let target = target.strip_prefix("file://").unwrap_or(target);
    let end = target.find(['#', '?']).unwrap_or(target.len());
    let target = &target.as_bytes()[..end];
    if target.is_empty() {
        return None;
    }
    let mut bytes = Vec::with_capacity(target.len());
    let mut left = target;
    while let Some((byte, rest)) = left.split_first() {
        let value = match rest {
            [high, low, ..] if *byte == b'%' => digit(*high).zip(digit(*low)),
            _ => None,
        };
        let value = value.and_then(|(high, low)| u8::try_from(high << 4 | low).ok());
        match value {
            Some(value) => {
                bytes.push(value);
                left = &rest[2..];
            }
            None => {
                bytes.push(*byte);
                left = rest;
            }
        }
    }
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(&bytes)))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::candidates;
    use crate::related::{Wanted, related};

    #[test]
    fn links_are_resolved_as_browsers_do() {
        let folder = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(folder.path()).unwrap();
        fs::create_dir(top.join("a")).unwrap();
        for name in ["a b.md", "100%.md", "100%+5.md", "a/c.md"] {
            fs::write(top.join(name), name).unwrap();
        }
        let page = top.join("a/c.md");
        let led = |target: &str| resolve(&page, &Kind::LinksTo, target);
        assert_eq!(led("../a%20b.md#part"), Some(top.join("a b.md")));
        assert_eq!(led("../a b.md"), Some(top.join("a b.md")));
        assert_eq!(led("../100%.md?x"), Some(top.join("100%.md")));
        // A sign is no digit.
        assert_eq!(led("../100%+5.md#x"), Some(top.join("100%+5.md")));
        let absolute = format!("file://{}/a/c.md", top.display());
        assert_eq!(led(&absolute), Some(page.clone()));
        for elsewhere in [
            "https://example.org/c.md",
            "#part",
            "gone.md",
            "..",
            "",
            "%",
        ] {
            assert_eq!(led(elsewhere), None, "{elsewhere}");
        }
    }

    /// Knows the references of all files, and counts how often it is asked.
    #[derive(Debug, Default)]
    struct Counting(Cell<usize>);

    impl Known for Counting {
        fn references(&self, _: &Path) -> Option<Vec<(String, String)>> {
            self.0.set(self.0.get() + 1);
            Some(vec![("includes".into(), "f.h".into())])
        }
    }

    #[test]
    fn files_are_searched_once_at_each_depth() {
        let folder = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(folder.path()).unwrap();
        fs::write(top.join("f.h"), "int f;\n").unwrap();
        for at in 0..20 {
            fs::write(top.join(format!("x{at}.c")), "#include \"f.h\"\n").unwrap();
        }
        let candidates = candidates::below(std::slice::from_ref(&top));
        let hooks = Hooks::new("/nowhere/trawl-hook".into());
        let known = Counting::default();
        let live = Live::new(&hooks, &candidates).knowing(Some(&known));
        let wanted = Wanted {
            kinds: vec![Kind::Includes],
            direction: Some(Direction::Backward),
            depth: 2,
        };
        let mut referring = Referring::new(live, wanted.direction);
        let sources: &mut [&mut dyn Source] = &mut [&mut referring];
        let answer = related(&top.join("f.h"), &wanted, sources).unwrap();
        assert_eq!((answer.related.len(), answer.issues), (20, Vec::new()));
        // At both depths, and once to read the references.
        let asked = known.0.get();
        assert!(asked <= 3 * candidates.files.len(), "{asked}");
    }

    #[test]
    fn plain_parts_are_searched_for() {
        assert_eq!(plain_part("my long name.tar".as_bytes()), b"name.tar");
        assert_eq!(plain_part("ü".as_bytes()), b"");
    }
}
