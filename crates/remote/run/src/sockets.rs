//! The sockets at which a server listens.

use std::ffi::{OsStr, OsString};
use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use trawl_remote::RemoteError;
use trawl_remote::listen::{Listening, TlsListen, UnixSocket, Worker};
use trawl_remote::tls::renewal::ServerPaths;
use trawl_remote::tls::users::Users;
use trawl_sys::become_user::User;
use trawl_sys::identity;

use crate::error::RunError;

/// Names that a service manager gives to sockets that are not Unix sockets.
const TLS_NAME: &str = "tls";
const CHIRP_NAME: &str = "chirp";

/// The sockets at which a server listens, and how it identifies clients that use TLS.
#[derive(Clone, Debug)]
pub struct Sockets {
    /// Addresses for clients: `unix:PATH`, `tls:ADDRESS:PORT`, or `systemd`.
    pub listen: Vec<OsString>,
    /// Address and port for Chirp's line search.
    pub listen_chirp: Option<String>,
    /// Name of the user as whom Chirp's clients are served.
    pub chirp_user: Option<String>,
    /// File of the server's certificate.
    pub cert: PathBuf,
    /// File of the server's key.
    pub key: PathBuf,
    /// File of the authorities that may sign clients' certificates.
    pub client_ca: PathBuf,
    /// File that assigns users to certificates.
    pub users: PathBuf,
    /// Name of the user as whom the process runs that ends TLS.
    pub tls_user: String,
    /// Starts that process.
    pub front: Worker,
    /// Maximum number of connections.
    pub connections: usize,
}

/// Opens all sockets.
pub(crate) fn open(args: &Sockets) -> Result<Listening, RunError> {
    let mut listening = Listening::default();
    for address in &args.listen {
        let bytes = address.as_bytes();
        if let Some(path) = bytes.strip_prefix(b"unix:") {
            let socket = UnixSocket::bind(Path::new(OsStr::from_bytes(path)))?;
            listening.add_unix(socket);
        } else if let Some(place) = bytes.strip_prefix(b"tls:") {
            let place = String::from_utf8_lossy(place);
            add_tls(&mut listening, args, bind(&place)?)?;
        } else if bytes == b"systemd" {
            add_inherited(&mut listening, args)?;
        } else {
            let text = "--listen takes unix:PATH, tls:ADDRESS:PORT or systemd";
            return Err(RunError::Usage(text.into()));
        }
    }
    if let Some(place) = &args.listen_chirp {
        add_chirp(&mut listening, args, bind(place)?)?;
    }
    Ok(listening)
}

fn bind(place: &str) -> Result<TcpListener, RemoteError> {
    TcpListener::bind(place).map_err(|source| RemoteError::File {
        action: "listen at",
        path: place.into(),
        source,
    })
}

/// Returns a user of this machine, by name.
fn user(name: &str) -> Result<User, RunError> {
    let failed = |why: String| RunError::Usage(format!("the user {name} cannot be used: {why}"));
    let uid = identity::uid_of(name.as_bytes()).map_err(|error| failed(error.to_string()))?;
    let uid = uid.ok_or_else(|| failed("there is no such user".to_owned()))?;
    let account = identity::account_of(uid).map_err(|error| failed(error.to_string()))?;
    let account = account.ok_or_else(|| failed("there is no such user".to_owned()))?;
    Ok(User {
        uid,
        gid: account.gid,
        groups: identity::groups_of(&account),
    })
}

/// Returns the user of this process.
fn ourselves() -> Result<User, RunError> {
    let groups = identity::groups().map_err(|error| RunError::Usage(error.to_string()))?;
    Ok(User {
        uid: identity::effective_uid(),
        gid: identity::effective_gid(),
        groups,
    })
}

fn add_tls(
    listening: &mut Listening,
    args: &Sockets,
    listener: TcpListener,
) -> Result<(), RunError> {
    let front_user = match identity::effective_uid() {
        // The user has no groups besides its own.
        0 => User {
            groups: Vec::new(),
            ..user(&args.tls_user)?
        },
        _ => ourselves()?,
    };
    Ok(listening.add_tls(TlsListen {
        listener,
        paths: ServerPaths {
            cert: args.cert.clone(),
            key: args.key.clone(),
            clients: Some(args.client_ca.clone()),
        },
        users: Users::in_file(&args.users),
        front: args.front.clone(),
        front_user,
        connections: args.connections,
    })?)
}

fn add_chirp(
    listening: &mut Listening,
    args: &Sockets,
    listener: TcpListener,
) -> Result<(), RunError> {
    let Some(name) = &args.chirp_user else {
        return Err(RunError::Usage("Chirp needs --chirp-user".into()));
    };
    Ok(listening.add_chirp(listener, user(name)?)?)
}

/// Adds the sockets that a service manager opened: those named `tls` and `chirp`; all others are
/// Unix sockets.
fn add_inherited(listening: &mut Listening, args: &Sockets) -> Result<(), RunError> {
    let sockets = trawl_sys::inherited::take();
    if sockets.is_empty() {
        let text = "no service manager passed a socket: use --listen systemd only in units";
        return Err(RunError::Usage(text.into()));
    }
    for (name, socket) in sockets {
        match &name[..] {
            TLS_NAME => add_tls(listening, args, TcpListener::from(socket))?,
            CHIRP_NAME => add_chirp(listening, args, TcpListener::from(socket))?,
            _ => listening.add_unix(unix(socket)?),
        }
    }
    Ok(())
}

fn unix(socket: OwnedFd) -> Result<UnixSocket, RunError> {
    UnixSocket::inherited(socket).map_err(|source: io::Error| RunError::File {
        action: "use",
        path: "the service manager's socket".into(),
        source,
    })
}
