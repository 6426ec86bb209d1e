//! One scan: from a path or a trace to a committed snapshot.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use trawl_format::{EXCLUDE, IndexDir, IndexError, SnapshotId, read_list, write_list};
use trawl_model::operation::Operation;
use trawl_model::sink::SourceRoot;
use trawl_model::{DirBatch, DirId, IdMap, Issue, Sink, Timestamp};
use trawl_scan::trace::{TraceOptions, default_root, read_trace};
use trawl_scan::{Mounts, Progress, ScanError, WalkOptions, Xattrs, walk};
use trawl_text::words::shown;
use trawl_writer::{Committed, Prepared, SnapshotWriter, WriterOptions, Writing};

use crate::error::{IndexerError, Result};
use crate::event::{Event, Listener, Notice, Running};
use crate::id_map::Wanted;
use crate::left_out::LeftOut;
use crate::options::{Control, ScanOptions, Unchanged};
use crate::summary::{Issues, Summary};
use crate::upkeep::{Retention, with_rule};

/// Option in a snapshot's description that marks its ids as mapped.
pub const ID_MAP: &str = "id-map";

/// Input of a scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Job {
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

impl Job {
    /// Returns the source's root path, as the scanner will report it.
    ///
    /// # Errors
    /// If the path is empty or cannot be resolved.
    pub fn root(&self) -> Result<Vec<u8>> {
        match self {
            Job::Trace { file, root } => Ok(root.clone().unwrap_or_else(|| default_root(file))),
            Job::Walk(path) if path.as_os_str().is_empty() => Err(IndexerError::EmptyPath),
            Job::Walk(path) => {
                let resolved = std::fs::canonicalize(path).map_err(|source| {
                    let path = path.as_os_str().as_bytes().to_vec();
                    IndexerError::Scan(ScanError::Resolve { path, source })
                })?;
                let bytes = OsString::from(resolved).into_vec();
                Ok(if bytes == b"/" { Vec::new() } else { bytes })
            }
        }
    }

    /// Returns the trace file.
    fn trace(&self) -> Option<&Path> {
        match self {
            Job::Trace { file, .. } => Some(file),
            Job::Walk(_) => None,
        }
    }
}

/// Scanner of sources, with options that are checked once for all of them.
#[derive(Debug)]
pub struct Scanner<'a> {
    index: &'a IndexDir,
    options: &'a ScanOptions,
    id_map: Wanted,
    control: Control<'a>,
}

impl<'a> Scanner<'a> {
    /// Checks the options, and reads the id map.
    ///
    /// # Errors
    /// Fails with [`IndexerError::Pattern`] if a pattern is invalid; fails if the file with the id
    /// map cannot be read, is larger than 4 MiB, or is invalid.
    pub fn new(
        index: &'a IndexDir,
        options: &'a ScanOptions,
        control: Control<'a>,
    ) -> Result<Scanner<'a>> {
        // Invalid patterns are reported before anything is done.
        options.exclusion.check()?;
        Ok(Scanner {
            index,
            options,
            id_map: Wanted::read(&options.id_map)?,
            control,
        })
    }

    /// Reads a source and makes the result its current snapshot. A source that never gets a
    /// snapshot is removed.
    ///
    /// # Errors
    /// If the source or the index cannot be read or written, or the work was interrupted. The
    /// previous snapshot then stays unchanged, and files of the scan are removed.
    pub fn run(&self, job: &Job, listener: &mut dyn Listener) -> Result<Summary> {
        let root = job.root()?;
        let done = self.run_root(job, root.clone(), listener);
        if done.is_err()
            && let Some(source) = self.index.source(&root)?
            && source.current_id()?.is_none()
        {
            trawl_writer::gc::remove_source(self.index, &root)?;
        }
        done
    }

    fn run_root(&self, job: &Job, root: Vec<u8>, listener: &mut dyn Listener) -> Result<Summary> {
        let clock = Instant::now();
        let id_map = self.id_map.for_source(self.index, &root)?;
        let left_out = self.left_out(job.trace(), &root)?;
        let options = self.writer_options(job.trace(), id_map.as_ref(), &left_out);
        let writer = SnapshotWriter::begin(self.index, &root, options)?
            .with_id_map(id_map)
            .with_writing(self.writing(job.trace()))
            .with_bundle()
            .with_retention(self.options.retention.rule().cloned());
        let mut sink = Collector {
            writer,
            issues: Issues::default(),
            listener,
        };
        let running = Arc::new(Running::new(&root));
        sink.listener.hear(&Event::Begun(&running));
        let counts = {
            let _span = Operation::Scan.span();
            self.read(job, &left_out, &running, &mut sink)
        };
        let Collector {
            writer,
            issues,
            listener,
        } = sink;
        let published = counts.and_then(|counts| {
            running.writing.store(true, Ordering::Relaxed);
            self.control.check()?;
            Ok((counts, self.publish(writer)?))
        });
        listener.hear(&Event::Ended);
        let (counts, committed) = published?;
        for id in &committed.tightened.damaged {
            let (root, id) = (root.clone(), *id);
            listener.hear(&Event::Notice(Notice::Forgotten { root, id }));
        }
        Ok(Summary {
            left_out,
            root,
            counts,
            committed,
            issues,
            elapsed: clock.elapsed(),
        })
    }

    fn read(
        &self,
        job: &Job,
        left_out: &LeftOut,
        running: &Running,
        sink: &mut Collector<'_>,
    ) -> Result<Progress> {
        let result = match job {
            Job::Walk(_) => {
                let path = trawl_model::path::display(running.root());
                let known = sink.writer.known();
                let mut options = self.walk_options(left_out)?;
                if self.options.unchanged == Unchanged::TrustCtime {
                    options.known = Some(&known);
                }
                walk(path, &options, &running.progress, sink)
            }
            Job::Trace { file, .. } => {
                let options = TraceOptions {
                    root: Some(running.root().to_vec()),
                    cancel: self.control.cancel,
                };
                read_trace(file, &options, &running.progress, sink)
            }
        };
        result.map_err(|error| match error {
            ScanError::Cancelled => IndexerError::Interrupted,
            ScanError::Sink(error) => IndexerError::Index(error),
            other => IndexerError::Scan(other),
        })
    }

    /// Returns how a tree with this root is walked, also for reading parts of it later.
    ///
    /// # Errors
    /// If the source's last scan or its patterns cannot be read.
    pub fn walk_options_for<'o>(&self, root: &[u8]) -> Result<WalkOptions<'o>>
    where
        'a: 'o,
    {
        self.walk_options(&self.left_out(None, root)?)
    }

    fn left_out(&self, trace: Option<&Path>, root: &[u8]) -> Result<LeftOut> {
        LeftOut::of(&self.options.exclusion, trace, (self.index, root))
    }

    /// Returns how unchanged content is written.
    fn writing(&self, trace: Option<&Path>) -> Writing {
        // A trace that is read once has most directories in two pieces, and pieces cannot be
        // shared.
        if trace.is_some_and(trawl_scan::trace::is_read_once) {
            return Writing::Alone;
        }
        match self.options.unchanged {
            Unchanged::Rewritten => Writing::Anew,
            _ => Writing::Sharing,
        }
    }

    /// Returns true if a scan with these options of a snapshot reads the source with this root as
    /// this scanner does.
    ///
    /// # Errors
    /// If the source's id map or its last scan cannot be read.
    pub fn reads_as(&self, root: &[u8], options: &BTreeMap<String, String>) -> Result<bool> {
        let id_map = self.id_map.for_source(self.index, root)?;
        let left_out = self.left_out(None, root)?;
        let own = self
            .writer_options(None, id_map.as_ref(), &left_out)
            .options;
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

    fn walk_options<'o>(&self, left_out: &LeftOut) -> Result<WalkOptions<'o>>
    where
        'a: 'o,
    {
        let mut options = WalkOptions::new(self.control.cancel);
        options.threads = self.options.threads;
        options.excludes = left_out.excludes()?;
        options.mounts = self.options.mounts;
        options.xattrs = self.options.xattrs;
        Ok(options)
    }

    fn writer_options(
        &self,
        trace: Option<&Path>,
        id_map: Option<&IdMap>,
        left_out: &LeftOut,
    ) -> WriterOptions {
        let mut options = BTreeMap::new();
        let mut note = |name: &str, value: String| options.insert(name.to_owned(), value);
        if self.options.mounts == Mounts::Cross {
            note("cross-file-systems", "yes".into());
        }
        if self.options.xattrs == Xattrs::Skip {
            note("no-xattr", "yes".into());
        }
        if self.options.unchanged == Unchanged::TrustCtime {
            note("trust-ctime", "yes".into());
        }
        if id_map.is_some() {
            note(ID_MAP, "yes".into());
        }
        if let Some(file) = trace {
            note("from-trace", shown(file.as_os_str().as_bytes()));
        }
        if !left_out.patterns.is_empty() {
            note(EXCLUDE, write_list(&left_out.patterns));
        }
        WriterOptions {
            memory_bytes: trawl_writer::DEFAULT_MEMORY_BYTES,
            started: (self.control.clock)(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            options,
        }
    }

    /// Makes the new snapshot the current one, after making the older ones that stay as strict as
    /// it is.
    fn publish(&self, writer: SnapshotWriter) -> Result<Committed> {
        let clock = self.control.clock;
        publish(writer.prepare(clock())?, &self.options.retention, clock())
    }

    /// Removes the source of a failed job if it never had a snapshot. A failure to do so is not
    /// reported: the next scan reports the cause.
    pub fn forget_unused(&self, job: &Job) {
        if let Ok(root) = job.root() {
            let _ = trawl_writer::gc::remove_unused(self.index, &root);
        }
    }

    /// Returns the current snapshot of the source with this root; `None` if there is none or it
    /// cannot be read. It says what remains after a failed scan.
    pub fn current(&self, root: &[u8]) -> Option<SnapshotId> {
        let source = self.index.source(root).ok().flatten();
        source.and_then(|source| source.current_id().ok().flatten())
    }
}

/// Makes a snapshot the current one, after making the older ones that stay as strict as it is.
///
/// # Errors
/// If an older snapshot cannot be read or changed, or the snapshot cannot be made current.
pub fn publish(prepared: Prepared, retention: &Retention, now: Timestamp) -> Result<Committed> {
    // The source already has its own rule for the next snapshot.
    let rule = retention.rule_for(prepared.source())?;
    with_rule(&rule, now, |rule| prepared.collect(rule))?;
    Ok(prepared.commit()?)
}

/// Passes everything on to the writer, and reports the issues.
struct Collector<'l> {
    writer: SnapshotWriter,
    issues: Issues,
    listener: &'l mut dyn Listener,
}

impl Collector<'_> {
    fn note(&mut self, issue: &Issue) {
        self.issues.note(issue);
        self.listener.hear(&Event::Issue(issue));
    }
}

impl Sink for Collector<'_> {
    type Error = IndexError;

    fn root(&mut self, root: SourceRoot) -> std::result::Result<(), IndexError> {
        self.writer.root(root)
    }

    fn batch(&mut self, batch: DirBatch) -> std::result::Result<(), IndexError> {
        for issue in &batch.issues {
            self.note(issue);
        }
        self.writer.batch(batch)
    }

    fn subtree_done(&mut self, dir: DirId) -> std::result::Result<(), IndexError> {
        self.writer.subtree_done(dir)
    }

    fn issue(&mut self, dir: Option<DirId>, issue: Issue) -> std::result::Result<(), IndexError> {
        self.note(&issue);
        self.writer.issue(dir, issue)
    }
}
