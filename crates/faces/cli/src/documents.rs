//! Documents by hooks: what joins [`trawl_hooks`], which read files, with [`trawl_keywords`], which
//! index and search what was read. Indexing, daemons and questions use the same source, so answers
//! do not depend on which of them reads a file.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use trawl_hooks::format::FORMATS;
use trawl_hooks::{Extracted, Fault, HookError, Hooks, Limits, Problem, Value, extract_unless};
use trawl_keywords::{BYTES_MAX, Contents, Document, Documents, Gap, Gaps, Reference, hash_of};

use crate::failure::Failure;
use crate::hooks::installed;
use crate::output::say;
use crate::settings;

/// Longest end of a name that says something about the format, in bytes.
const EXTENSION_MAX: usize = 16;

/// Raised when the same file becomes another document.
const VERSION: u64 = 2;

/// Returns the source of documents, which loads the installed hooks when it is first asked. If they
/// are invalid, no file can be read.
pub(crate) fn lazy() -> Arc<dyn Documents> {
    Arc::new(ByHooks(OnceLock::new()))
}

/// Returns the contents that the indexes know. Indexes are looked up when a test of contents is
/// evaluated.
pub(crate) fn contents(index: Option<PathBuf>) -> Arc<Contents> {
    contents_of(move || settings::indexes_to_ask(index.clone()).unwrap_or_default())
}

/// As [`contents`], of the indexes that the function returns.
pub(crate) fn contents_of(
    indexes: impl Fn() -> Vec<PathBuf> + Send + Sync + 'static,
) -> Arc<Contents> {
    let (documents, indexes) = (lazy(), Box::new(indexes));
    Arc::new(Contents::of_indexes(
        documents,
        indexes,
        Box::new(|text| say(text)),
    ))
}

/// Returns the source of documents with the installed hooks.
pub(crate) fn loaded() -> Result<Arc<dyn Documents>, Failure> {
    let hooks = installed()?;
    Ok(Arc::new(ByHooks(OnceLock::from(Ok(Loaded::new(hooks))))))
}

/// The source.
#[derive(Debug)]
struct ByHooks(OnceLock<Result<Loaded, HookError>>);

#[derive(Debug)]
struct Loaded {
    hooks: Hooks,
    limits: Limits,
    fingerprint: u64,
    /// Ends of names that decide between formats, in lower case, and their kinds.
    extensions: HashMap<&'static [u8], u64>,
}

impl Loaded {
    fn new(hooks: Hooks) -> Loaded {
        let mut limits = Limits::default();
        limits.text_bytes = BYTES_MAX as usize;
        let described = format!("{VERSION} {limits:?} {}", hooks.description());
        let extensions = FORMATS.iter().flat_map(|row| row.extensions);
        Loaded {
            fingerprint: hash_of(described.as_bytes()),
            extensions: extensions
                .map(|one| (one.as_bytes(), hash_of(one.as_bytes())))
                .collect(),
            hooks,
            limits,
        }
    }

    /// Returns the kind of the extension, if it decides between formats; otherwise 0.
    fn extension(&self, name: &[u8]) -> u64 {
        let found = || {
            let dot = name.iter().rposition(|byte| *byte == b'.')?;
            let extension = name.get(dot + 1..)?;
            let mut lower = [0u8; EXTENSION_MAX];
            let lower = lower.get_mut(..extension.len())?;
            lower.copy_from_slice(extension);
            lower.make_ascii_lowercase();
            self.extensions.get(&*lower).copied()
        };
        found().unwrap_or_default()
    }

    /// Returns the kind of a name of which users' hooks accept some.
    fn with_users(&self, extension: u64, name: &[u8]) -> u64 {
        let users = self.hooks.users().iter().zip(0u64..);
        let accepting: Vec<u64> = users
            .filter(|(hook, _)| hook.accepts_name(name))
            .map(|(_, at)| at)
            .collect();
        if accepting.is_empty() {
            return extension;
        }
        let numbers = std::iter::once(extension).chain(accepting);
        let bytes: Vec<u8> = numbers.flat_map(u64::to_le_bytes).collect();
        hash_of(&bytes)
    }
}

impl ByHooks {
    fn loaded(&self) -> Result<&Loaded, &HookError> {
        let loaded = self.0.get_or_init(|| installed().map(Loaded::new));
        loaded.as_ref()
    }
}

impl Documents for ByHooks {
    fn fingerprint(&self) -> u64 {
        // A source that reads nothing has no packs.
        self.loaded().map_or(0, |loaded| loaded.fingerprint)
    }

    fn kind(&self, name: &[u8]) -> u64 {
        let Ok(loaded) = self.loaded() else {
            return 0;
        };
        // Asked for each row: nothing is allocated without users' hooks.
        let extension = loaded.extension(name);
        match loaded.hooks.users().is_empty() {
            true => extension,
            false => loaded.with_users(extension, name),
        }
    }

    fn document(&self, file: &mut File, name: &[u8]) -> io::Result<Document> {
        self.document_unless(&AtomicBool::new(false), file, name)
    }

    fn document_unless(
        &self,
        cancel: &AtomicBool,
        file: &mut File,
        name: &[u8],
    ) -> io::Result<Document> {
        let loaded = self
            .loaded()
            .map_err(|error| io::Error::other(error.to_string()))?;
        let found = extract_unless(cancel, file, name, &loaded.hooks, &loaded.limits);
        let is_unknown = |one: &&Problem| one.fault == Fault::Unavailable;
        match found.problems.iter().find(is_unknown) {
            Some(problem) => Err(io::Error::other(problem.message.clone())),
            None => Ok(document_of(found)),
        }
    }
}

/// Converts what hooks found.
fn document_of(found: Extracted) -> Document {
    let reference = |one: trawl_hooks::Relation| Reference {
        kind: one.kind,
        target: one.target,
    };
    Document {
        gaps: gaps_of(&found.problems),
        // A limit is no issue: questions whose result depends on it say so.
        problems: (found.problems.iter())
            .filter(|problem| problem.limit().is_none())
            .map(told)
            .collect(),
        text: found.text,
        attributes: found
            .attributes
            .into_iter()
            .map(|(name, value)| (name, value_of(value)))
            .collect(),
        references: found.relations.into_iter().map(reference).collect(),
        content_hash: None,
    }
}

fn told(problem: &Problem) -> String {
    format!("{}: {}", problem.hook, problem.message)
}

fn value_of(value: Value) -> trawl_keywords::Value {
    use trawl_keywords::Value as To;
    match value {
        Value::Text(text) => To::Text(text),
        Value::Integer(number) => To::Integer(number),
        Value::Real(number) => To::Real(number),
        Value::Time(time) => To::Time(time),
        Value::List(values) => To::List(values.into_iter().map(value_of).collect()),
    }
}

/// Returns what is missing because of these problems.
fn gaps_of(problems: &[Problem]) -> Gaps {
    let mut gaps = Gaps::default();
    for problem in problems {
        let gap = match problem.fault {
            Fault::Limit if problem.limit().is_some() => Gap::Limit,
            // It was ended because it used or wrote too much.
            Fault::Limit => Gap::Crash,
            Fault::Damaged => Gap::Damaged,
            Fault::Crash => Gap::Crash,
            Fault::Timeout => Gap::Timeout,
            Fault::Nonsense => Gap::Nonsense,
            _ => Gap::Unreadable,
        };
        let is_of_all = match problem.limit() {
            Some("number of relations" | "length of a target") => continue,
            Some("number of attributes" | "length of a list" | "length of a value") => false,
            _ => true,
        };
        note(&mut gaps.attributes, gap);
        if is_of_all {
            note(&mut gaps.text, gap);
        }
    }
    gaps
}

/// Notes a reason: the first, but a limit only if nothing went wrong.
fn note(reason: &mut Option<Gap>, gap: Gap) {
    if matches!(reason, None | Some(Gap::Limit)) {
        *reason = Some(gap);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded() -> Loaded {
        Loaded::new(Hooks::new(PathBuf::from("/nowhere/trawl-hook")))
    }

    #[test]
    fn only_extensions_that_decide_count() {
        let source = ByHooks(OnceLock::from(Ok(loaded())));
        let kind = |name: &str| source.kind(name.as_bytes());
        assert_eq!(kind("a.c"), kind("other.C"));
        assert_ne!(kind("a.c"), kind("a.py"));
        for name in [
            "",
            "README",
            "a.unknown",
            "a.",
            ".",
            "a.an-extension-that-is-long",
        ] {
            assert_eq!(kind(name), 0, "{name}");
        }
    }

    #[test]
    fn a_problem_is_a_gap_where_something_may_be_missing() {
        let gaps = |fault, message: &str| {
            gaps_of(&[Problem {
                hook: "text".into(),
                fault,
                message: message.into(),
            }])
        };
        let limit = |what| format!("the limit of the {what} was reached; the rest is left out");
        assert_eq!(gaps(Fault::Limit, &limit("text")), Gaps::both(Gap::Limit));
        assert_eq!(
            gaps(Fault::Limit, &limit("number of relations")),
            Gaps::default()
        );
        let of_list = gaps(Fault::Limit, &limit("length of a list"));
        assert_eq!((of_list.text, of_list.attributes), (None, Some(Gap::Limit)));
        assert_eq!(gaps(Fault::Crash, "ended"), Gaps::both(Gap::Crash));
        assert_eq!(
            gaps(Fault::Timeout, &limit("text")),
            Gaps::both(Gap::Timeout)
        );
    }

    #[test]
    fn files_are_not_known_without_the_program_that_reads_them() {
        let source = ByHooks(OnceLock::from(Ok(loaded())));
        let mut file = tempfile::tempfile().expect("a file");
        io::Write::write_all(&mut file, b"%PDF-1.7\n").expect("a file");
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
        let mut file = File::open(path).expect("a file");
        let error = source
            .document(&mut file, b"a.pdf")
            .expect_err("no program");
        assert!(error.to_string().contains("/nowhere/trawl-hook"), "{error}");
    }
}
