//! Opens members at servers, and finds the executor that searches there.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, mpsc};

use trawl_call::{Attributes, CallError, Executor, LiveWalk, Request, Root, RootParts, Stream};
use trawl_model::FileType;
use trawl_model::sync::lock;
use trawl_remote::client::{Patience, Pipeline};
use trawl_remote::tls::Certificates;
use trawl_remote::{Address, Remote};
use trawl_sets::member::{Op, Problem};
use trawl_sets::name::server_prefix;
use trawl_sets::opener::{Done, Fetched, Opener, PlaceId};
use trawl_sets::source::Found;

use crate::arrived::Arrived;
use crate::below::Below;
use crate::error::FetchError;
use crate::member::Member;
use crate::name::ServerPath;

fn is_regular(attributes: &Attributes) -> bool {
    FileType::from_mode(attributes.mode) == FileType::Regular
}

/// The servers of a set: opens members whose names begin with an address, and members below this
/// user's mounts of servers' trees.
///
/// All members at a server share one connection with many requests in flight. Dropping it, or
/// [`Servers::close`], ends all requests at once.
pub struct Servers {
    certificates: Certificates,
    patience: Patience,
    below: OnceLock<Below>,
    arrived: Arc<Arrived>,
    servers: Mutex<HashMap<String, Server>>,
}

#[derive(Clone)]
struct Server {
    remote: Remote,
    pipeline: Pipeline,
}

impl std::fmt::Debug for Servers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Servers").finish_non_exhaustive()
    }
}

impl Default for Servers {
    fn default() -> Servers {
        Servers::new(Certificates::default(), Patience::default())
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        self.close();
    }
}

impl Servers {
    /// Creates the opener. It looks at the mount table when the first member is opened, and connects
    /// to a server when a member lies there.
    pub fn new(certificates: Certificates, patience: Patience) -> Servers {
        Servers {
            certificates,
            patience,
            below: OnceLock::new(),
            arrived: Arc::default(),
            servers: Mutex::default(),
        }
    }

    /// Makes names that begin with `prefix`, such as `trawl://name`, mean the server at `address`,
    /// however it is reached.
    ///
    /// # Errors
    /// Fails if the prefix is not one of a name at a server.
    pub fn define(&self, prefix: &[u8], address: Address) -> Result<(), FetchError> {
        let stands_for = match ServerPath::parse(prefix) {
            Some(place) if server_prefix(prefix) == Some(prefix.len()) => place?.address,
            _ => {
                return Err(FetchError::Name {
                    name: prefix.escape_ascii().to_string(),
                    why: "it does not begin like a name at a server: write trawl://NAME",
                });
            }
        };
        let server = self.server_at(&address);
        lock(&self.servers).insert(stands_for.to_string(), server);
        Ok(())
    }

    /// Returns the executor for searches at servers: the roots of a request are names at one
    /// server, and small files arrive with the answer. Names below mounts are searched by
    /// [`trawl_remote::mounts::with_servers`].
    pub fn executor(self: &Arc<Servers>) -> Arc<dyn Executor> {
        Arc::new(AtServers(Arc::clone(self)))
    }

    /// Ends all requests: members that are being fetched become problems. Streams that were
    /// delivered continue.
    pub fn close(&self) {
        let servers: Vec<Server> = lock(&self.servers).values().cloned().collect();
        for server in servers {
            server.pipeline.close();
        }
    }

    fn server_at(&self, address: &Address) -> Server {
        let mut servers = lock(&self.servers);
        let server = servers.entry(address.to_string()).or_insert_with(|| {
            let address = address.clone().with_certificates(self.certificates.clone());
            let remote = Remote::with(address, self.patience);
            Server {
                pipeline: Pipeline::new(&remote),
                remote,
            }
        });
        server.clone()
    }

    /// Returns where a member lies, if it is at a server.
    fn find(&self, found: &Found) -> Option<Result<ServerPath, FetchError>> {
        if let Some(place) = ServerPath::parse(&found.name) {
            return Some(place);
        }
        if found.attributes.is_some_and(|of| !is_regular(&of)) {
            return None;
        }
        let below = self.below.get_or_init(Below::now);
        below.find(&found.name).map(Ok)
    }

    fn member(&self, found: &Found, ahead_bytes: u64) -> Result<Member, Problem> {
        let problem = |source| Problem {
            name: found.name.clone(),
            op: Op::Open,
            source,
        };
        let place = match self.find(found) {
            Some(Ok(place)) => place,
            Some(Err(error)) => return Err(problem(std::io::Error::other(error))),
            None => return Err(problem(std::io::ErrorKind::Unsupported.into())),
        };
        let Server { remote, pipeline } = self.server_at(&place.address);
        let of_file = found.attributes.filter(is_regular);
        Ok(Member {
            pipeline,
            remote,
            name: found.name.clone(),
            path: place.path,
            ahead_bytes,
            size_bytes: of_file.map(|attributes| attributes.size),
            tries: 0,
        })
    }
}

/// Asks the server that the roots name.
struct AtServers(Arc<Servers>);

impl Executor for AtServers {
    fn begin(&self, request: Request) -> Result<Box<dyn Stream>, CallError> {
        let mut address = None;
        let mut roots = Vec::new();
        for root in request.roots() {
            let place = match ServerPath::parse(root.path()) {
                Some(place) => place.map_err(|error| not_served(root, error))?,
                None => return Err(not_served(root, "it is not a name at a server")),
            };
            if *address.get_or_insert_with(|| place.address.clone()) != place.address {
                return Err(not_served(root, "it is a name at another server"));
            }
            roots.push(at_server(root, place.path));
        }
        let Some(address) = address else {
            return LiveWalk::default().begin(request);
        };
        let there = Request::of_roots(roots, *request.options())?;
        let there = there.cancelled_by(request.cancel().clone());
        let remote = self.0.server_at(&address).remote;
        self.0.arrived.executor(remote).begin(there)
    }
}

fn not_served(root: &Root, why: impl ToString) -> CallError {
    CallError::NotServed {
        path: root.path().escape_ascii().to_string(),
        why: why.to_string(),
    }
}

/// Returns the root at its path on the server; records keep its name.
fn at_server(root: &Root, path: Vec<u8>) -> Root {
    let parts = RootParts {
        number: root.number(),
        path,
        shown: root.shown().to_vec(),
        prefix: root.prefix().to_vec(),
        pattern: root.pattern().clone(),
        skip: root.skip().to_vec(),
    };
    Root::of_parts(parts, None)
}

impl Opener for Servers {
    fn place(&self, found: &Found) -> Option<PlaceId> {
        Some(PlaceId::Server(match self.find(found)? {
            Ok(place) => place.address.to_string(),
            // Opening it reports the mistake.
            Err(_) => String::new(),
        }))
    }

    /// Returns a member that arrived with the search.
    fn cached(&self, found: &Found) -> Option<Result<Fetched, Problem>> {
        let bytes = self.arrived.take(&found.name)?;
        let file = trawl_sys::file::sealed(c"trawl-member", &bytes).ok()?;
        Some(Ok(Fetched {
            was_cached: true,
            ..Fetched::of(file, bytes.len() as u64)
        }))
    }

    fn fetch(&self, found: &Found, ahead_bytes: u64) -> Result<Fetched, Problem> {
        let member = self.member(found, ahead_bytes)?;
        let (give, get) = mpsc::channel();
        member.begin(Box::new(move |fetched| {
            let _ = give.send(fetched);
        }));
        get.recv().unwrap_or_else(|_| {
            Err(Problem {
                name: found.name.clone(),
                op: Op::Fetch,
                source: std::io::ErrorKind::Interrupted.into(),
            })
        })
    }

    fn start(&self, found: &Found, ahead_bytes: u64, done: Done) -> Option<Done> {
        match self.member(found, ahead_bytes) {
            Ok(member) => member.begin(done),
            Err(problem) => done(Err(problem)),
        }
        None
    }
}
