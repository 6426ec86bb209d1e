//! Delivery of events from the reading threads to the sink.
//!
//! Readers collect events in chunks and send the chunks through a bounded channel. One thread (the
//! caller's) passes them to the sink and keeps the [`Ledger`], which detects when a subtree is
//! done. A reader sends its chunk before it gives work to another thread, so a directory's first
//! batch always precedes those of its children. With one thread, events go to the ledger directly.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use trawl_model::{DirBatch, DirId, Issue, Sink};

/// Whether more fragments of the same directory follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fragment {
    More,
    Last,
}

/// A result of a reader.
#[derive(Debug)]
pub(crate) enum Event {
    /// Entries of a directory; `children` of them will be read as directories.
    Batch {
        batch: Box<DirBatch>,
        children: usize,
        fragment: Fragment,
    },
    /// This number of a directory's children will not be read after all, with the reason if it is
    /// an issue.
    Dropped {
        dir: DirId,
        children: usize,
        issue: Option<Issue>,
    },
}

/// Error: the scan must stop, because the sink failed or the caller cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stopped;

/// Receives a reader's events.
pub(crate) trait Outlet {
    /// Takes an event, which may reach the sink only after [`Outlet::flush`].
    fn put(&mut self, event: Event) -> Result<(), Stopped>;
    /// Sends all events taken so far.
    fn flush(&mut self) -> Result<(), Stopped>;
}

/// Maximum number of events and entries in a chunk: enough to make a send cheap, few enough to stay
/// in the cache.
const CHUNK_ENTRIES: usize = 1024;
/// Size in bytes at which a chunk is sent.
const CHUNK_BYTES: usize = 512 << 10;
/// Maximum number of chunks in the channel; with the largest fragments about 30 MB each.
const CHUNKS_UNDER_WAY: usize = 4;

/// A reader's end of the channel.
pub(crate) struct ChannelOutlet {
    sender: SyncSender<Vec<Event>>,
    chunk: Vec<Event>,
    entries: usize,
    bytes: usize,
}

/// Makes a channel for chunks of events.
pub(crate) fn channel() -> (SyncSender<Vec<Event>>, Receiver<Vec<Event>>) {
    sync_channel(CHUNKS_UNDER_WAY)
}

impl ChannelOutlet {
    pub(crate) fn new(sender: SyncSender<Vec<Event>>) -> Self {
        ChannelOutlet {
            sender,
            chunk: Vec::new(),
            entries: 0,
            bytes: 0,
        }
    }
}

impl Outlet for ChannelOutlet {
    fn put(&mut self, event: Event) -> Result<(), Stopped> {
        if let Event::Batch { batch, .. } = &event {
            self.entries += batch.entries.len() + 1;
            self.bytes += batch.memory_bytes();
        } else {
            self.entries += 1;
        }
        self.chunk.push(event);
        if self.entries >= CHUNK_ENTRIES || self.bytes >= CHUNK_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Stopped> {
        if self.chunk.is_empty() {
            return Ok(());
        }
        (self.entries, self.bytes) = (0, 0);
        self.sender
            .send(std::mem::take(&mut self.chunk))
            .map_err(|_| Stopped)
    }
}

/// One directory whose subtree is not done.
#[derive(Debug, Default)]
struct Open {
    parent: Option<DirId>,
    /// Number of children that are not done.
    children: usize,
    listed: bool,
}

/// Passes events to the sink and reports completed subtrees. Holds the directories that are in
/// progress: those that have had a batch and are not yet complete.
pub(crate) struct Ledger<'a, S: Sink> {
    sink: &'a mut S,
    open: HashMap<DirId, Open>,
    /// The sink's error, which ended the scan.
    failed: Option<S::Error>,
}

impl<'a, S: Sink> Ledger<'a, S> {
    pub(crate) fn new(sink: &'a mut S) -> Self {
        Ledger {
            sink,
            open: HashMap::new(),
            failed: None,
        }
    }

    /// Returns the sink's error, if any.
    pub(crate) fn into_error(self) -> Option<S::Error> {
        self.failed
    }

    /// Passes one event to the sink, and closes the directories that it completes.
    fn settle(&mut self, event: Event) -> Result<(), S::Error> {
        let dir = match event {
            Event::Batch {
                batch,
                children,
                fragment,
            } => {
                let dir = batch.dir;
                let open = self.open.entry(dir).or_default();
                open.parent = batch.parent;
                open.children += children;
                open.listed = fragment == Fragment::Last;
                self.sink.batch(*batch)?;
                dir
            }
            Event::Dropped {
                dir,
                children,
                issue,
            } => {
                if let Some(issue) = issue {
                    self.sink.issue(Some(dir), issue)?;
                }
                if let Some(open) = self.open.get_mut(&dir) {
                    open.children = open.children.saturating_sub(children);
                }
                dir
            }
        };
        self.close(dir)
    }

    /// Closes `dir` if it is complete, and then each ancestor that is complete.
    fn close(&mut self, dir: DirId) -> Result<(), S::Error> {
        let mut next = Some(dir);
        while let Some(dir) = next {
            let Some(open) = self.open.get(&dir) else {
                break;
            };
            if !open.listed || open.children > 0 {
                break;
            }
            next = open.parent;
            self.open.remove(&dir);
            self.sink.subtree_done(dir)?;
            if let Some(parent) = next.and_then(|p| self.open.get_mut(&p)) {
                parent.children = parent.children.saturating_sub(1);
            }
        }
        Ok(())
    }
}

impl<S: Sink> Outlet for Ledger<'_, S> {
    fn put(&mut self, event: Event) -> Result<(), Stopped> {
        self.settle(event).map_err(|error| {
            self.failed = Some(error);
            Stopped
        })
    }

    fn flush(&mut self) -> Result<(), Stopped> {
        Ok(())
    }
}

impl<O: Outlet> Outlet for &mut O {
    fn put(&mut self, event: Event) -> Result<(), Stopped> {
        (**self).put(event)
    }

    fn flush(&mut self) -> Result<(), Stopped> {
        (**self).flush()
    }
}
