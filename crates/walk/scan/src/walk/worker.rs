//! One reading thread: takes a directory, reads it, and continues with its subdirectories.

use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use trawl_model::{DirId, Issue};
use trawl_sys::directory::open_at;
use trawl_sys::stat::{Stat, stat_fd};
use trawl_sys::{Errno, SysError, xattr};

use super::lister::{Lister, Target, cannot_open};
use super::node::Node;
use super::outlet::{Event, Outlet, Stopped};
use super::pending::{Overflow, Pending, Taken};
use super::pool::Pool;
use super::stack::{Frame, LIST, Stack};
use crate::options::{Mounts, WalkOptions};
use crate::progress::{Progress, ScanProgress};

/// A piece of work that is passed between threads.
pub(crate) enum Work {
    /// The root, which has not been read.
    Root(Arc<Node>, Stat),
    /// Subdirectories of a directory that has been read.
    Frame(Frame),
}

/// State shared by all threads of a walk.
pub(crate) struct Shared<'a> {
    pub(crate) options: &'a WalkOptions<'a>,
    pub(crate) progress: &'a ScanProgress,
    pub(crate) root: Arc<OwnedFd>,
    pub(crate) root_depth: usize,
    pub(crate) pool: Pool<Work>,
    pub(crate) overflow: Arc<Overflow>,
    pub(crate) next_id: AtomicU64,
    pub(crate) descriptors_each: usize,
}

impl Shared<'_> {
    pub(crate) fn new_id(&self) -> DirId {
        DirId(self.next_id.fetch_add(1, Ordering::Relaxed))
    }
}

/// One thread's state.
pub(crate) struct Worker<'a, O: Outlet> {
    shared: &'a Shared<'a>,
    outlet: O,
    lister: Lister<'a>,
    stack: Stack,
}

/// Ends the pool when it is dropped.
struct Ending<'a>(&'a Pool<Work>);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl<'a, O: Outlet> Worker<'a, O> {
    pub(crate) fn new(shared: &'a Shared<'a>, outlet: O, xattrs: xattr::Reader) -> Self {
        Worker {
            shared,
            outlet,
            lister: Lister::new(shared.options, xattrs),
            stack: Stack::new(
                Arc::clone(&shared.root),
                shared.root_depth,
                shared.descriptors_each,
            ),
        }
    }

    /// Works until no thread has anything left to do, or until the walk must stop. A panic ends the
    /// other threads, too: they would wait for this one's work.
    pub(crate) fn run(mut self) {
        let shared = self.shared;
        let ending = Ending(&shared.pool);
        if self.work().is_ok() {
            std::mem::forget(ending);
        }
    }

    fn work(&mut self) -> Result<(), Stopped> {
        while let Some(work) = self.shared.pool.take() {
            match work {
                Work::Root(node, stat) => self.read(node, Arc::clone(&self.shared.root), stat)?,
                Work::Frame(frame) => self.stack.push(frame),
            }
            while self.step()? {
                self.share()?;
            }
            self.outlet.flush()?;
        }
        Ok(())
    }

    /// Offers work to a thread that has none. Earlier events are sent first, so that they precede
    /// it.
    fn share(&mut self) -> Result<(), Stopped> {
        if self.shared.options.cancel.load(Ordering::Relaxed) {
            return Err(Stopped);
        }
        if self.shared.pool.is_hungry()
            && let Some(frame) = self.stack.split()
        {
            self.outlet.flush()?;
            self.shared.pool.give(Work::Frame(frame));
        }
        Ok(())
    }

    /// Reads the next directory or removes an empty frame; returns false if the stack is empty.
    fn step(&mut self) -> Result<bool, Stopped> {
        let Some(frame) = self.stack.top() else {
            return Ok(false);
        };
        let parent = Arc::clone(&frame.node);
        match frame.pending.take() {
            None => self.stack.pop(),
            Some(Taken::Lost(count, error)) => {
                let errno = Errno(error.raw_os_error().unwrap_or(Errno::IO.0));
                let error = SysError::new(trawl_sys::Op::Read, errno);
                self.drop_children(&parent, count, Some(cannot_open(parent.path(), error)))?;
            }
            Some(Taken::Name(name)) => match self.stack.top_fd() {
                Ok(fd) => self.enter(&parent, &fd, name)?,
                Err(error) => self.abandon(&parent, error)?,
            },
        }
        Ok(true)
    }

    /// Opens and reads the directory `name` of `parent`.
    fn enter(
        &mut self,
        parent: &Arc<Node>,
        fd: &Arc<OwnedFd>,
        name: CString,
    ) -> Result<(), Stopped> {
        let opened = self.open(fd, &name);
        if self
            .stack
            .top()
            .is_some_and(|frame| frame.pending.is_empty())
        {
            self.stack.pop();
        }
        let (fd, stat) = match opened {
            Ok(opened) => opened,
            Err(error) => return self.cannot_enter(parent, &name, error),
        };
        if self.shared.options.mounts == Mounts::Stay && stat.dev != parent.identity.dev {
            // A file system was mounted since the entry was read; a mount point is not entered.
            return self.drop_children(parent, 1, None);
        }
        let node = Node::child(parent, self.shared.new_id(), name, &stat);
        self.read(node, Arc::new(fd), stat)
    }

    /// Opens a directory to list it, and closes others if there are too many open descriptors.
    fn open(&mut self, parent: &OwnedFd, name: &CString) -> Result<(OwnedFd, Stat), SysError> {
        let fd = loop {
            match open_at(parent, name, LIST) {
                Err(e) if e.is_out_of_descriptors() && self.stack.close_shallowest() => {}
                Err(e) => return Err(e),
                Ok(fd) => break fd,
            }
        };
        let stat = stat_fd(&fd)?;
        Ok((fd, stat))
    }

    /// Handles a directory that cannot be opened: it has vanished or been replaced, or it is an
    /// issue.
    fn cannot_enter(
        &mut self,
        parent: &Arc<Node>,
        name: &CString,
        error: SysError,
    ) -> Result<(), Stopped> {
        if error.is_vanished() || matches!(error.errno, Errno::NOTDIR | Errno::LOOP) {
            self.shared.progress.add(Progress {
                vanished: 1,
                ..Progress::default()
            });
            return self.drop_children(parent, 1, None);
        }
        let path = trawl_model::path::join(&parent.path(), name.to_bytes());
        self.drop_children(parent, 1, Some(cannot_open(path, error)))
    }

    /// Handles a directory that was closed and cannot be opened again: its remaining subdirectories
    /// stay unread.
    fn abandon(&mut self, node: &Arc<Node>, error: SysError) -> Result<(), Stopped> {
        let left = self.stack.top().map_or(0, |frame| frame.pending.len());
        self.stack.pop();
        self.drop_children(node, left + 1, Some(cannot_open(node.path(), error)))
    }

    fn drop_children(
        &mut self,
        dir: &Arc<Node>,
        children: usize,
        issue: Option<Issue>,
    ) -> Result<(), Stopped> {
        if issue.is_some() {
            self.shared.progress.add(Progress {
                issues: 1,
                ..Progress::default()
            });
        }
        self.outlet.put(Event::Dropped {
            dir: dir.id,
            children,
            issue,
        })
    }

    /// Reads a directory and pushes its subdirectories on the stack.
    fn read(&mut self, node: Arc<Node>, fd: Arc<OwnedFd>, stat: Stat) -> Result<(), Stopped> {
        let mut pending = Pending::new(Arc::clone(&self.shared.overflow));
        let mut listing = self.lister.start(Target {
            node: &node,
            fd: fd.as_fd(),
            stat,
        });
        while let Some(listed) = listing.next() {
            pending.push(listed.children, listed.child_count);
            if self.shared.overflow.is_over_budget() {
                self.stack.spill(|| !self.shared.overflow.is_over_budget());
                if self.shared.overflow.is_over_budget() {
                    pending.spill();
                }
            }
            self.shared.progress.add(listing.take_counts());
            let (batch, children, fragment) = (listed.batch, listed.child_count, listed.fragment);
            self.outlet.put(Event::Batch {
                batch,
                children,
                fragment,
            })?;
            if self.shared.options.cancel.load(Ordering::Relaxed) {
                return Err(Stopped);
            }
        }
        drop(listing);
        self.stack.set_recent(Arc::clone(&node), Arc::clone(&fd));
        if !pending.is_empty() {
            self.stack.push(Frame {
                node,
                fd: Some(fd),
                pending,
            });
        }
        Ok(())
    }
}
