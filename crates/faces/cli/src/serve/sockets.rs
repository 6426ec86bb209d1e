//! The sockets at which `trawl serve --listen` listens.

use std::ffi::{OsStr, OsString};
use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use trawl_remote::RemoteError;
use trawl_remote::listen::{Listening, TlsListen, UnixSocket, Worker};
use trawl_remote::tls::users::Users;
use trawl_sys::become_user::User;
use trawl_sys::identity;

use super::ServeArgs;
use crate::failure::Failure;

/// Names that a service manager gives to sockets that are not Unix sockets.
const TLS_NAME: &str = "tls";
const CHIRP_NAME: &str = "chirp";

/// Opens all sockets.
pub(super) fn open(args: &ServeArgs, program: PathBuf) -> Result<Listening, Failure> {
    let mut listening = Listening::default();
    for address in &args.listen {
        let bytes = address.as_bytes();
        if let Some(path) = bytes.strip_prefix(b"unix:") {
            let socket = UnixSocket::bind(Path::new(OsStr::from_bytes(path)))?;
            listening.add_unix(socket);
        } else if let Some(place) = bytes.strip_prefix(b"tls:") {
            let place = String::from_utf8_lossy(place);
            add_tls(&mut listening, args, &program, bind(&place)?)?;
        } else if bytes == b"systemd" {
            add_inherited(&mut listening, args, &program)?;
        } else {
            let text = "--listen takes unix:PATH, tls:ADDRESS:PORT or systemd";
            return Err(Failure::Usage(text.into()));
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
fn user(name: &str) -> Result<User, Failure> {
    let failed = |why: String| Failure::Usage(format!("the user {name} cannot be used: {why}"));
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
fn ourselves() -> Result<User, Failure> {
    let groups = identity::groups().map_err(|error| Failure::Usage(error.to_string()))?;
    Ok(User {
        uid: identity::effective_uid(),
        gid: identity::effective_gid(),
        groups,
    })
}

fn add_tls(
    listening: &mut Listening,
    args: &ServeArgs,
    program: &Path,
    listener: TcpListener,
) -> Result<(), Failure> {
    let front = Worker {
        program: program.to_owned(),
        words: ["serve", "--tls-front"].map(OsString::from).into(),
    };
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
        cert: args.cert.clone(),
        key: args.key.clone(),
        clients: args.client_ca.clone(),
        users: Users::in_file(&args.users),
        front,
        front_user,
        connections: args.connections,
    })?)
}

fn add_chirp(
    listening: &mut Listening,
    args: &ServeArgs,
    listener: TcpListener,
) -> Result<(), Failure> {
    let Some(name) = &args.chirp_user else {
        return Err(Failure::Usage("Chirp needs --chirp-user".into()));
    };
    Ok(listening.add_chirp(listener, user(name)?)?)
}

/// Adds the sockets that a service manager opened: those named `tls` and `chirp`; all others are
/// Unix sockets.
fn add_inherited(
    listening: &mut Listening,
    args: &ServeArgs,
    program: &Path,
) -> Result<(), Failure> {
    let sockets = trawl_sys::inherited::take();
    if sockets.is_empty() {
        let text = "no service manager passed a socket: use --listen systemd only in units";
        return Err(Failure::Usage(text.into()));
    }
    for (name, socket) in sockets {
        match &name[..] {
            TLS_NAME => add_tls(listening, args, program, TcpListener::from(socket))?,
            CHIRP_NAME => add_chirp(listening, args, TcpListener::from(socket))?,
            _ => listening.add_unix(unix(socket)?),
        }
    }
    Ok(())
}

fn unix(socket: OwnedFd) -> Result<UnixSocket, Failure> {
    UnixSocket::inherited(socket).map_err(|source: io::Error| Failure::File {
        action: "use",
        path: "the service manager's socket".into(),
        source,
    })
}
