//! One thread's position in the tree: the directories whose subdirectories it is reading, from the
//! shallowest to the deepest, with their descriptors.
//!
//! The walk is depth-first, so the stack is as long as the tree is deep. Only the deepest
//! directories keep their descriptors. A shallower one is opened again when the walk returns to it:
//! through `..` from below if that leads to the same inode, otherwise name by name from the root.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use trawl_sys::directory::{AccessTime, Purpose, open_at};
use trawl_sys::stat::stat_fd;
use trawl_sys::{Errno, Op, SysError};

use super::node::{Identity, Node};
use super::pending::Pending;

/// A directory and its subdirectories that are still to be read.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) node: Arc<Node>,
    /// Shared with frames of other threads that took over parts of this one.
    pub(crate) fd: Option<Arc<OwnedFd>>,
    pub(crate) pending: Pending,
}

/// The frames of one thread.
#[derive(Debug)]
pub(crate) struct Stack {
    frames: Vec<Frame>,
    /// Frames below this index have no descriptor (or are the root's, which is always open).
    shallowest_open: usize,
    /// Frames below this index have been spilled.
    spilled: usize,
    descriptors: usize,
    root: Arc<OwnedFd>,
    /// The root's depth; directories above it do not belong to this walk.
    root_depth: usize,
    /// The directory read last, from which a way up may start.
    recent: Option<(Arc<Node>, Arc<OwnedFd>)>,
}

/// Descriptors in addition to those of the stack: the directory being read, the one read before,
/// the root, and one used while opening another.
const DESCRIPTORS_BESIDE: usize = 4;

impl Stack {
    /// Makes a stack that keeps at most `descriptors` open, including `root`.
    pub(crate) fn new(root: Arc<OwnedFd>, root_depth: usize, descriptors: usize) -> Stack {
        Stack {
            frames: Vec::new(),
            shallowest_open: 0,
            spilled: 0,
            descriptors: descriptors.saturating_sub(DESCRIPTORS_BESIDE).max(1),
            root,
            root_depth,
            recent: None,
        }
    }

    /// Returns the current frame.
    pub(crate) fn top(&mut self) -> Option<&mut Frame> {
        self.frames.last_mut()
    }

    /// Adds a frame; its node must be a descendant of the top frame's node.
    pub(crate) fn push(&mut self, frame: Frame) {
        self.frames.push(frame);
        if self.frames.len() - self.shallowest_open > self.descriptors {
            self.close_shallowest();
        }
    }

    /// Closes one descriptor; returns false if there is none to close.
    pub(crate) fn close_shallowest(&mut self) -> bool {
        let Some(frame) = self.frames.get_mut(self.shallowest_open) else {
            return false;
        };
        frame.fd = None;
        self.shallowest_open += 1;
        true
    }

    /// Removes the top frame.
    pub(crate) fn pop(&mut self) {
        self.frames.pop();
        self.trim();
    }

    fn trim(&mut self) {
        self.shallowest_open = self.shallowest_open.min(self.frames.len());
        self.spilled = self.spilled.min(self.frames.len());
    }

    /// Remembers the directory read last.
    pub(crate) fn set_recent(&mut self, node: Arc<Node>, fd: Arc<OwnedFd>) {
        self.recent = Some((node, fd));
    }

    /// Writes pending names to the temporary file, those of the shallowest frames first (they are
    /// needed last), until `enough`.
    pub(crate) fn spill(&mut self, enough: impl Fn() -> bool) {
        while !enough()
            && let Some(frame) = self.frames.get_mut(self.spilled)
        {
            frame.pending.spill();
            self.spilled += 1;
        }
    }

    /// Removes work for another thread: the shallowest frame, or half of the only frame.
    pub(crate) fn split(&mut self) -> Option<Frame> {
        if self.frames.len() > 1 {
            let frame = self.frames.remove(0);
            self.shallowest_open = self.shallowest_open.saturating_sub(1);
            self.spilled = self.spilled.saturating_sub(1);
            return Some(frame);
        }
        let frame = self.frames.first_mut()?;
        let pending = frame.pending.split()?;
        Some(Frame {
            node: Arc::clone(&frame.node),
            fd: frame.fd.clone(),
            pending,
        })
    }

    /// Returns the top frame's descriptor, opened again if necessary.
    pub(crate) fn top_fd(&mut self) -> Result<Arc<OwnedFd>, SysError> {
        let gone = SysError::new(Op::Openat, Errno::NOENT);
        let frame = self.frames.last().ok_or(gone)?;
        if let Some(fd) = &frame.fd {
            return Ok(Arc::clone(fd));
        }
        let fd = Arc::new(self.reopen(&frame.node)?);
        if let Some(frame) = self.frames.last_mut() {
            frame.fd = Some(Arc::clone(&fd));
        }
        // The frames below it have none: a frame loses its descriptor only after those below it.
        self.shallowest_open = self.frames.len().saturating_sub(1);
        Ok(fd)
    }

    /// Opens `node` again, and checks that it is the same directory.
    fn reopen(&self, node: &Arc<Node>) -> Result<OwnedFd, SysError> {
        if let Some((recent, fd)) = &self.recent
            && let Some(hops) = recent.depth.checked_sub(node.depth)
            && hops > 0
            && hops <= node.depth
            && let Ok(fd) = climb(fd.as_fd(), hops)
            && is_same(&fd, node.identity)?
        {
            return Ok(fd);
        }
        let fd = descend(self.root.as_fd(), self.root_depth, node)?;
        if is_same(&fd, node.identity)? {
            Ok(fd)
        } else {
            Err(SysError::new(Op::Openat, Errno::STALE))
        }
    }
}

/// Purpose of opening a directory that is only passed on the way to another: it is a starting point
/// for names and is not listed.
const PASS: Purpose = Purpose::Pass;

/// Purpose of opening a directory to list it.
pub(crate) const LIST: Purpose = Purpose::List(AccessTime::Keep);

fn is_same(fd: &OwnedFd, identity: Identity) -> Result<bool, SysError> {
    let stat = stat_fd(fd)?;
    Ok(stat.dev == identity.dev && stat.ino == identity.ino)
}

/// Goes up by `hops` levels through `..`.
fn climb(from: BorrowedFd<'_>, hops: usize) -> Result<OwnedFd, SysError> {
    let mut fd = open_at(from, c"..", PASS)?;
    for _ in 1..hops {
        fd = open_at(&fd, c"..", PASS)?;
    }
    Ok(fd)
}

/// Goes down to `node` from the root, one name at a time.
fn descend(root: BorrowedFd<'_>, depth: usize, node: &Arc<Node>) -> Result<OwnedFd, SysError> {
    let chain: Vec<_> = node.ancestry().take_while(|n| n.depth > depth).collect();
    let mut fd = open_at(root, c".", PASS)?;
    for node in chain.iter().rev() {
        fd = open_at(&fd, node.name(), PASS)?;
    }
    Ok(fd)
}
