//! One scan: from a path or a trace to a committed snapshot.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use trawl_apply::ApplyOptions;
use trawl_format::{EXCLUDE, IndexDir, IndexError, read_list, write_list};
use trawl_model::sink::SourceRoot;
use trawl_model::{DirBatch, DirId, IdMap, Issue, Sink};
use trawl_scan::trace::{TraceOptions, default_root, read_trace};
use trawl_scan::{Mounts, Progress, ScanError, ScanProgress, WalkOptions, Xattrs, walk};
use trawl_session::now;
use trawl_writer::Tightened;
use trawl_writer::{Committed, Prepared, SnapshotWriter, WriterOptions};

use crate::failure::{Failure, shown};
use crate::index::left_out::{self, LeftOut};
use crate::index::progress::{Scan, Style, event, watch};
use crate::index::summary::{Done, Issues, issue_event, issue_line};
use crate::index::upkeep::{RetentionArgs, with_rule};
use crate::index::{IndexArgs, IssuesShown, id_map};
use crate::output::say;

/// Option in a snapshot's description that marks its ids as mapped.
pub(crate) const ID_MAP: &str = "id-map";

/// Input of a scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Job {
    /// A live tree.
    Walk(PathBuf),
    /// A recorded tree.
    Trace {
        /// The trace file.
        file: PathBuf,
        /// Path at which the tree was mounted.
        root: Option<Vec<u8>>,
    },
}

/// Options of scans, checked once for all jobs.
pub(crate) struct Scanner<'a> {
    index: &'a IndexDir,
    args: &'a IndexArgs,
    style: Style,
    id_map: id_map::Wanted,
    cancel: &'static AtomicBool,
}

impl<'a> Scanner<'a> {
    /// Checks the options and starts to watch for signals.
    pub(crate) fn new(index: &'a IndexDir, args: &'a IndexArgs) -> Result<Self, Failure> {
        // Invalid patterns are reported before anything is done.
        left_out::excludes(args.exclude.iter().map(|pattern| pattern.as_bytes()))?;
        // A failing scan must still be able to remove its files.
        let cancel = trawl_sys::signal::ignore_file_size_limit()
            .and_then(|()| trawl_sys::signal::watch_interrupts())
            .map_err(|error| Failure::Usage(format!("cannot watch for signals: {error}")))?;
        Ok(Scanner {
            index,
            args,
            style: args.style(),
            id_map: id_map::Wanted::read(args.id_map.as_deref())?,
            cancel,
        })
    }

    /// Reads a source and makes the result its current snapshot. A source that never gets a
    /// snapshot is removed.
    pub(crate) fn run(&self, job: &Job) -> Result<Done, Failure> {
        let root = self.root(job)?;
        let done = self.run_root(job, root.clone());
        if done.is_err()
            && let Some(source) = self.index.source(&root)?
            && source.current_id()?.is_none()
        {
            trawl_writer::gc::remove_source(self.index, &root)?;
        }
        done
    }

    fn run_root(&self, job: &Job, root: Vec<u8>) -> Result<Done, Failure> {
        let clock = Instant::now();
        let id_map = self.id_map.for_source(self.index, &root)?;
        let left_out = self.left_out(&root)?;
        let options = self.writer_options(id_map.as_ref(), &left_out);
        let writer = SnapshotWriter::begin(self.index, &root, options)?
            .with_id_map(id_map)
            .with_writing(self.args.writing())
            .with_bundle()
            .with_retention(self.args.retention.rule());
        let mut sink = Collector {
            writer,
            issues: Issues::default(),
            shown: self.args.issues,
            style: self.style,
        };
        let (progress, writing) = (ScanProgress::default(), AtomicBool::new(false));
        let scan = Scan {
            root: &root,
            progress: &progress,
            writing: &writing,
        };
        self.tell("start", &root);
        let (counts, (committed, tightened), issues) = watch(self.style, &scan, || {
            let counts = self.read(job, (&root, &left_out), &progress, &mut sink)?;
            writing.store(true, Ordering::Relaxed);
            let Collector { writer, issues, .. } = sink;
            if self.cancel.load(Ordering::Relaxed) {
                return Err(Failure::Interrupted);
            }
            Ok((counts, self.publish(writer)?, issues))
        })?;
        say_forgotten(&root, &tightened);
        let done = Done {
            left_out,
            root,
            counts,
            committed,
            tightened,
            issues,
            elapsed: clock.elapsed(),
        };
        if self.style == Style::Json {
            eprintln!("{}", done.json().close());
        }
        Ok(done)
    }

    /// Returns the source's root path, as the scanner will report it.
    fn root(&self, job: &Job) -> Result<Vec<u8>, Failure> {
        match job {
            Job::Trace { file, root } => Ok(root.clone().unwrap_or_else(|| default_root(file))),
            Job::Walk(path) if path.as_os_str().is_empty() => Err(Failure::Usage(
                "an empty path names no tree: give . for the working directory".into(),
            )),
            Job::Walk(path) => {
                let resolved = std::fs::canonicalize(path).map_err(|source| {
                    let path = path.as_os_str().as_bytes().to_vec();
                    Failure::Scan(ScanError::Resolve { path, source })
                })?;
                let bytes = OsString::from(resolved).into_vec();
                Ok(if bytes == b"/" { Vec::new() } else { bytes })
            }
        }
    }

    fn read(
        &self,
        job: &Job,
        (root, left_out): (&[u8], &LeftOut),
        progress: &ScanProgress,
        sink: &mut Collector,
    ) -> Result<Progress, Failure> {
        let result = match job {
            Job::Walk(_) => {
                let path = trawl_model::path::display(root);
                let known = sink.writer.known();
                let mut options = self.walk_options(left_out)?;
                if self.args.trust_ctime {
                    options.known = Some(&known);
                }
                walk(path, &options, progress, sink)
            }
            Job::Trace { file, .. } => {
                let options = TraceOptions {
                    root: Some(root.to_vec()),
                    cancel: self.cancel,
                };
                read_trace(file, &options, progress, sink)
            }
        };
        result.map_err(|error| match error {
            ScanError::Cancelled => Failure::Interrupted,
            ScanError::Sink(error) => Failure::Index(error),
            other => Failure::Scan(other),
        })
    }

    /// Returns the options for reading parts of the source later.
    pub(crate) fn apply_options(&self, root: &[u8]) -> Result<ApplyOptions, Failure> {
        let walk = self.walk_options(&self.left_out(root)?)?;
        Ok(ApplyOptions {
            mounts: walk.mounts,
            excludes: walk.excludes,
            xattrs: walk.xattrs,
            memory_bytes: 0,
        })
    }

    fn left_out(&self, root: &[u8]) -> Result<LeftOut, Failure> {
        LeftOut::of(self.args, self.index, root)
    }

    /// Returns true if a scan with these options of a snapshot reads the source with this root as
    /// this scanner does.
    pub(crate) fn reads_as(
        &self,
        root: &[u8],
        options: &BTreeMap<String, String>,
    ) -> Result<bool, Failure> {
        let id_map = self.id_map.for_source(self.index, root)?;
        let left_out = self.left_out(root)?;
        let own = self.writer_options(id_map.as_ref(), &left_out).options;
        // These options change how a source is read, but not the result.
        let counts = |name: &str| name != "trust-ctime" && name != trawl_writer::CHECKPOINT;
        let meant = |(name, value): (&String, &String)| match &name[..] {
            EXCLUDE => (name.clone(), write_list(&read_list(value))),
            _ => (name.clone(), value.clone()),
        };
        let ours = own.iter().filter(|(name, _)| counts(name)).map(meant);
        let theirs = options.iter().filter(|(name, _)| counts(name)).map(meant);
        Ok(ours.eq(theirs))
    }

    fn walk_options<'o>(&self, left_out: &LeftOut) -> Result<WalkOptions<'o>, Failure> {
        let mut options = WalkOptions::new(self.cancel);
        options.threads = self.args.threads.map_or(0, usize::from);
        options.excludes = left_out.excludes()?;
        if self.args.cross_file_systems {
            options.mounts = Mounts::Cross;
        }
        if self.args.no_xattr {
            options.xattrs = Xattrs::Skip;
        }
        Ok(options)
    }

    fn writer_options(&self, id_map: Option<&IdMap>, left_out: &LeftOut) -> WriterOptions {
        let mut options = BTreeMap::new();
        let mut note = |name: &str, value: String| options.insert(name.to_owned(), value);
        if self.args.cross_file_systems {
            note("cross-file-systems", "yes".into());
        }
        if self.args.no_xattr {
            note("no-xattr", "yes".into());
        }
        if self.args.trust_ctime {
            note("trust-ctime", "yes".into());
        }
        if id_map.is_some() {
            note(ID_MAP, "yes".into());
        }
        if let Some(file) = &self.args.from_trace {
            note("from-trace", shown(file.as_os_str().as_bytes()));
        }
        if !left_out.patterns.is_empty() {
            note(EXCLUDE, write_list(&left_out.patterns));
        }
        WriterOptions {
            memory_bytes: trawl_writer::DEFAULT_MEMORY_BYTES,
            started: now(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            options,
        }
    }

    /// Makes the new snapshot the current one, after making the older ones that stay as strict as
    /// it is.
    fn publish(&self, writer: SnapshotWriter) -> Result<(Committed, Tightened), Failure> {
        publish(writer.prepare(now())?, &self.args.retention)
    }

    fn tell(&self, name: &str, root: &[u8]) {
        if self.style == Style::Json {
            eprintln!("{}", event(name, root).close());
        }
    }

    /// Removes the source of a failed job if it never had a snapshot. A failure to do so is not
    /// reported: the next scan reports the cause.
    pub(crate) fn forget_unused(&self, job: &Job) {
        if let Ok(root) = self.root(job) {
            let _ = trawl_writer::gc::remove_unused(self.index, &root);
        }
    }

    /// Says what a failure means for the index, in words that follow the error message.
    pub(crate) fn advice(&self, job: &Job, failure: &Failure) -> String {
        let Ok(root) = self.root(job) else {
            return String::new();
        };
        if self.style == Style::Json {
            let name = if matches!(failure, Failure::Interrupted) {
                "interrupted"
            } else {
                "error"
            };
            eprintln!(
                "{}",
                event(name, &root)
                    .text("message", &failure.to_string())
                    .close()
            );
        }
        if !matches!(failure, Failure::Interrupted) {
            return String::new();
        }
        let source = self.index.source(&root).ok().flatten();
        let before = source.and_then(|source| source.current_id().ok().flatten());
        match before {
            Some(id) => format!(
                ": {} stays as of snapshot {id}, nothing changed",
                shown(&root)
            ),
            None => format!(
                ": {} is not indexed, all files of the scan were removed",
                shown(&root)
            ),
        }
    }
}

/// Makes a snapshot the current one, after making the older ones that stay as strict as it is.
pub(crate) fn publish(
    prepared: Prepared,
    retention: &RetentionArgs,
) -> Result<(Committed, Tightened), Failure> {
    // The source already has its own rule for the next snapshot.
    let rule = retention.rule_for(prepared.source())?;
    with_rule(&rule, |rule| prepared.collect(rule))?;
    let committed = prepared.commit()?;
    let tightened = committed.tightened.clone();
    Ok((committed, tightened))
}

/// Reports older snapshots that were removed because they are damaged: it is unknown what they
/// would show to whom.
pub(crate) fn say_forgotten(root: &[u8], tightened: &Tightened) {
    for id in &tightened.damaged {
        let root = shown(root);
        say(format_args!(
            "{root}: removed snapshot {id}: it is damaged, and might show more than is allowed now"
        ));
    }
}

/// Passes everything on to the writer, and records the issues.
struct Collector {
    writer: SnapshotWriter,
    issues: Issues,
    shown: IssuesShown,
    style: Style,
}

impl Collector {
    fn note(&mut self, issue: &Issue) {
        self.issues.note(issue);
        if self.style == Style::Json {
            eprintln!("{}", issue_event(issue).close());
        } else if self.shown == IssuesShown::All {
            let clear = if self.style == Style::Line {
                "\r\x1b[K"
            } else {
                ""
            };
            eprintln!("{clear}{}", issue_line(issue));
        }
    }
}

impl Sink for Collector {
    type Error = IndexError;

    fn root(&mut self, root: SourceRoot) -> Result<(), IndexError> {
        self.writer.root(root)
    }

    fn batch(&mut self, batch: DirBatch) -> Result<(), IndexError> {
        for issue in &batch.issues {
            self.note(issue);
        }
        self.writer.batch(batch)
    }

    fn subtree_done(&mut self, dir: DirId) -> Result<(), IndexError> {
        self.writer.subtree_done(dir)
    }

    fn issue(&mut self, dir: Option<DirId>, issue: Issue) -> Result<(), IndexError> {
        self.note(&issue);
        self.writer.issue(dir, issue)
    }
}
