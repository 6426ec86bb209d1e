//! Sends parts of a search to the executors of their file systems. Below a mount of a server's
//! tree, the server is asked once for the rest of the pattern ([`mod@crate::decompose`]); all other
//! parts are answered here. The merged answer has the order that it would have without servers.
//!
//! Facts that the server cannot know are looked up here, match by match: where links lead and which
//! rights the user has on a match, as this machine sees them; the device is the mount's. Searches
//! that follow links or stay on one file system are answered here alone. Where a server cannot be
//! asked, or its answer ends early, the search continues through the mount.

mod look;
mod merge;

use std::collections::VecDeque;
use std::ffi::CString;
use std::sync::Arc;

use trawl_model::path;
use trawl_sys::CWD;
use trawl_sys::stat::stat_at_followed;

use crate::decompose::{Part, decompose};
use crate::error::CallError;
use crate::executor::{Block, Executor, Stream};
use crate::index::canonical;
use crate::options::{Links, Metadata, Mounts, Options};
use crate::request::{Request, Root};

use look::ask_server;
use merge::Merge;

/// The server of a mount.
#[derive(Clone)]
pub struct Server {
    /// The executor that asks the server.
    pub executor: Arc<dyn Executor>,
    /// Path of the mounted tree on the server.
    pub path: Vec<u8>,
}

/// A mount. It may be invisible: another file system may be mounted over it or above it.
#[derive(Clone)]
pub struct Mount {
    /// Mount point: an absolute, normalized path.
    pub point: Vec<u8>,
    /// Device number of everything on the mount, as stat(2) reports it.
    pub device: u64,
    /// The server; `None` for an ordinary file system that is mounted below a server's.
    pub server: Option<Server>,
}

impl std::fmt::Debug for Mount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mount")
            .field("point", &self.point.escape_ascii().to_string())
            .finish_non_exhaustive()
    }
}

/// Whose user and group ids stat(2) reports on the mounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ids {
    /// The server's.
    AsServed,
    /// Mapped ids, as in a user namespace: attributes are looked up through the mounts.
    Mapped,
}

/// Asks servers about their mounts, and another executor about everything else.
pub struct Spread {
    here: Arc<dyn Executor>,
    mounts: Arc<[Mount]>,
    ids: Ids,
}

impl std::fmt::Debug for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spread")
            .field("mounts", &self.mounts)
            .finish_non_exhaustive()
    }
}

impl Spread {
    /// Creates the executor; `here` answers about everything outside the servers' mounts.
    pub fn new(here: Box<dyn Executor>, mounts: Vec<Mount>, ids: Ids) -> Spread {
        Spread {
            here: here.into(),
            mounts: mounts.into(),
            ids,
        }
    }

    /// Returns whether the whole request is answered here, whatever mounts it meets.
    fn asks_nobody(&self, options: &Options) -> bool {
        self.mounts.is_empty()
            || options.links == Links::Follow
            || options.mounts == Mounts::Stay
            || (self.ids == Ids::Mapped && options.metadata != Metadata::Omit)
    }

    /// Returns who answers about a root.
    fn way(&self, request: &Request, root: &Root) -> Answerer {
        if root.confined().is_some() {
            return Answerer::Here;
        }
        let Ok(at) = canonical(root) else {
            return Answerer::Here;
        };
        let (met, points) = self.met(&at);
        let mut parts = decompose(request, root, &at, &points);
        for part in &mut parts {
            part.mount = part.mount.and_then(|mount| met.get(mount).copied());
        }
        let served = |part: &Part| {
            part.mount
                .filter(|mount| self.mounts[*mount].server.is_some())
        };
        match &parts[..] {
            [one] => served(one).map_or(Answerer::Here, Answerer::There),
            parts if parts.iter().any(|part| served(part).is_some()) => {
                Answerer::Both(parts.to_vec())
            }
            _ => Answerer::Here,
        }
    }

    /// Returns the indexes of the mounts that a search at this place can meet, and their mount
    /// points. No other mount is looked at: it may not respond.
    fn met(&self, at: &[u8]) -> (Vec<usize>, Vec<Vec<u8>>) {
        let all = self.mounts.iter().enumerate();
        let met = all.filter(|(_, mount)| {
            let is_near = path::is_within(&mount.point, at) || path::is_within(at, &mount.point);
            is_near && is_visible(mount)
        });
        met.map(|(index, mount)| (index, mount.point.clone()))
            .unzip()
    }

    /// Groups consecutive roots that are answered in the same way.
    fn steps(&self, request: &Request) -> VecDeque<Step> {
        let mut steps: VecDeque<Step> = VecDeque::new();
        for (at, root) in request.roots().iter().enumerate() {
            if request
                .resume()
                .is_some_and(|place| root.number() < place.root)
            {
                continue;
            }
            let way = self.way(request, root);
            match steps.back_mut() {
                Some(last) if last.way.goes_with(&way) => last.roots.end = at + 1,
                _ => steps.push_back(Step {
                    way,
                    roots: at..at + 1,
                }),
            }
        }
        steps
    }
}

/// Returns whether the mount's path leads to this mount.
fn is_visible(mount: &Mount) -> bool {
    let point = CString::new(path::display(&mount.point)).unwrap_or_default();
    let stat = stat_at_followed(CWD, &point);
    stat.is_ok_and(|stat| stat.dev.as_u64() == mount.device)
}

/// The executors that answer about a root.
enum Answerer {
    Here,
    /// The server of this mount alone.
    There(usize),
    /// Several executors, one per part.
    Both(Vec<Part>),
}

impl Answerer {
    fn goes_with(&self, other: &Answerer) -> bool {
        match (self, other) {
            (Answerer::Here, Answerer::Here) => true,
            (Answerer::There(one), Answerer::There(other)) => one == other,
            _ => false,
        }
    }
}

/// Consecutive roots that are answered in the same way.
struct Step {
    way: Answerer,
    roots: std::ops::Range<usize>,
}

impl Executor for Spread {
    fn begin(&self, request: Request) -> Result<Box<dyn Stream>, CallError> {
        if self.asks_nobody(request.options()) {
            return self.here.begin(request);
        }
        let steps = self.steps(&request);
        if steps.iter().all(|step| matches!(step.way, Answerer::Here)) {
            return self.here.begin(request);
        }
        Ok(Box::new(Steps {
            here: Arc::clone(&self.here),
            mounts: Arc::clone(&self.mounts),
            request,
            steps,
            current: None,
            is_over: false,
        }))
    }
}

/// The stream of steps, one after the other.
struct Steps {
    here: Arc<dyn Executor>,
    mounts: Arc<[Mount]>,
    request: Request,
    steps: VecDeque<Step>,
    current: Option<Box<dyn Stream>>,
    is_over: bool,
}

impl Steps {
    fn begin(&self, step: Step) -> Result<Box<dyn Stream>, CallError> {
        let request = self.request.some(step.roots);
        match step.way {
            Answerer::Here => self.here.begin(request),
            Answerer::There(mount) => begin_part(&self.here, self.mounts.get(mount), request),
            Answerer::Both(parts) => {
                let (here, mounts) = (Arc::clone(&self.here), Arc::clone(&self.mounts));
                Ok(Box::new(Merge::new(request, parts, here, mounts)?))
            }
        }
    }
}

impl Stream for Steps {
    fn next_block(&mut self) -> Result<Option<Block>, CallError> {
        while !self.is_over {
            let Some(current) = &mut self.current else {
                match self.steps.pop_front() {
                    Some(step) => self.current = Some(self.begin(step)?),
                    None => self.is_over = true,
                }
                continue;
            };
            match current.next_block()? {
                None => self.current = None,
                Some(block) => {
                    self.is_over =
                        self.request.is_first() && crate::index::has_match(&block.packed)?;
                    return Ok(Some(block));
                }
            }
        }
        Ok(None)
    }
}

/// Begins to answer a part, at the server of its mount if it has one.
fn begin_part(
    here: &Arc<dyn Executor>,
    mount: Option<&Mount>,
    request: Request,
) -> Result<Box<dyn Stream>, CallError> {
    match mount {
        Some(mount) if mount.server.is_some() => ask_server(mount, request, here),
        _ => here.begin(request),
    }
}
