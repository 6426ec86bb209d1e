//! Opens members at servers, and finds the executor that searches there.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, mpsc};

use trawl_call::{Attributes, Executor, Pattern, Root, RootParts};
use trawl_model::FileType;
use trawl_model::sync::lock;
use trawl_remote::client::{Patience, Pipeline};
use trawl_remote::tls::Certificates;
use trawl_remote::{Address, Remote};
use trawl_sets::member::{Op, Problem};
use trawl_sets::opener::{Done, Fetched, Opener, PlaceId};
use trawl_sets::source::Found;

use crate::arrived::Arrived;
use crate::below::Below;
use crate::error::FetchError;
use crate::member::Member;
use crate::name::{ServerPath, prefix_length};

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

/// A directory of a server, for a search.
#[derive(Clone)]
pub struct ServerRoot {
    /// Asks the server.
    pub executor: Arc<dyn Executor>,
    /// The directory's path on the server.
    pub path: Vec<u8>,
    /// The directory's name in the set.
    pub shown: Vec<u8>,
}

impl std::fmt::Debug for ServerRoot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = self.shown.escape_ascii().to_string();
        f.debug_tuple("ServerRoot").field(&shown).finish()
    }
}

impl ServerRoot {
    /// Returns the root of a request in which this pattern is searched for below the directory.
    /// With `RootForm::Included`, the paths of records are names in the set.
    pub fn root(&self, number: u32, pattern: Pattern) -> Root {
        let parts = RootParts {
            number,
            path: self.path.clone(),
            shown: self.shown.clone(),
            prefix: Vec::new(),
            pattern,
            skip: Vec::new(),
        };
        Root::of_parts(parts, None)
    }
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
            Some(place) if prefix_length(prefix) == Some(prefix.len()) => place?.address,
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

    /// Returns the executor and the directory for a search at a server; small files arrive with the
    /// answer. `None` if the name is not one of a server. Names below mounts are searched by
    /// [`trawl_remote::mounts::with_servers`].
    ///
    /// # Errors
    /// Fails if the name cannot be read.
    pub fn search(&self, name: &[u8]) -> Option<Result<ServerRoot, FetchError>> {
        let place = match ServerPath::parse(name)? {
            Ok(place) => place,
            Err(error) => return Some(Err(error)),
        };
        Some(Ok(ServerRoot {
            executor: self.arrived.executor(self.server_at(&place.address).remote),
            path: place.path,
            shown: name.to_vec(),
        }))
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
            file,
            is_stream: false,
            ahead_bytes: bytes.len() as u64,
            was_cached: true,
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
