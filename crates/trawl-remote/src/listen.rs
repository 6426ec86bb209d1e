//! A Unix socket that programs on this machine connect to. The kernel says who they are
//! (`SO_PEERCRED`); each gets a process that is that user from its first instruction on, so
//! whatever it is shown is what the kernel shows to that user.
//!
//! Invariants: the process that listens reads nothing from clients; one that is not the
//! superuser's serves its own user alone; the number of processes is bounded, for each user and in all.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use trawl_sys::become_user::User;
use trawl_sys::command::spawn_as;
use trawl_sys::identity::effective_uid;
use trawl_sys::peer::user_of;
use trawl_sys::signal::StopSignals;
use trawl_sys::wait::readable;

use crate::error::RemoteError;
use crate::wire::{Code, Message};

/// How many processes there may be.
#[derive(Clone, Copy, Debug)]
pub struct Crowd {
    /// In all.
    pub connections: usize,
    /// Of one user.
    pub of_one_user: usize,
}

impl Default for Crowd {
    fn default() -> Crowd {
        Crowd {
            connections: 1024,
            of_one_user: 64,
        }
    }
}

/// What is started for each client, with the connection as its standard input and output.
#[derive(Clone, Debug)]
pub struct Worker {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub words: Vec<OsString>,
}

/// A socket that is listened to; gone when this is dropped.
#[derive(Debug)]
pub struct Listening {
    listener: UnixListener,
    path: PathBuf,
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Listening {
    /// Makes the socket: everybody may connect to the superuser's, only the user to their own.
    /// One that was left behind and that nobody listens to is replaced.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn bind(path: &Path) -> Result<Listening, RemoteError> {
        let failed = |source| RemoteError::File {
            action: "make the socket",
            path: path.to_owned(),
            source,
        };
        let is_socket = |path: &Path| {
            let metadata = std::fs::symlink_metadata(path);
            metadata.is_ok_and(|metadata| metadata.file_type().is_socket())
        };
        if is_socket(path) && UnixStream::connect(path).is_err() {
            std::fs::remove_file(path).map_err(failed)?;
        }
        let listener = UnixListener::bind(path).map_err(failed)?;
        let mode = match effective_uid() {
            0 => 0o666,
            _ => 0o600,
        };
        let listening = Listening {
            listener,
            path: path.to_owned(),
        };
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(path, mode).map_err(failed)?;
        listening.listener.set_nonblocking(true).map_err(failed)?;
        Ok(listening)
    }

    /// Serves until a signal says that it is enough. Who is served then is served on.
    ///
    /// # Errors
    /// If the socket cannot be waited for.
    pub fn run(
        &self,
        worker: &Worker,
        crowd: Crowd,
        stop: &StopSignals,
        say: &dyn Fn(String),
    ) -> Result<(), RemoteError> {
        let present = Arc::new(Present::default());
        loop {
            let ready = readable([self.listener.as_fd(), stop.as_fd()], None);
            let [has_client, is_over] = ready.map_err(|error| RemoteError::Client {
                why: error.to_string(),
            })?;
            if is_over {
                return Ok(());
            }
            if !has_client {
                continue;
            }
            match self.listener.accept() {
                Ok((client, _)) => {
                    if let Err(why) = present.admit(client, worker, crowd) {
                        say(format!("a client was not served: {why}"));
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(error) => {
                    say(format!("a client could not be accepted: {error}"));
                    // Too many descriptors, say: not at once again.
                    std::thread::sleep(std::time::Duration::from_millis(50));
                }
            }
        }
    }
}

/// How many are served, by user.
#[derive(Debug, Default)]
struct Present(Mutex<HashMap<u32, usize>>);

impl Present {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u32, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a process for a client.
    fn admit(
        self: &Arc<Self>,
        client: UnixStream,
        worker: &Worker,
        crowd: Crowd,
    ) -> Result<(), String> {
        let user = user_of(&client).map_err(|error| error.to_string())?;
        let own = effective_uid();
        if own != 0 && user.uid != own {
            return refuse(&client, "it serves only the user that started it");
        }
        if !self.enter(user.uid, crowd) {
            return refuse(&client, "there are too many connections: try again later");
        }
        let started = self.start(&user, client, worker);
        if started.is_err() {
            self.leave(user.uid);
        }
        started.map_err(|error| format!("cannot start {}: {error}", worker.program.display()))
    }

    fn start(
        self: &Arc<Self>,
        user: &User,
        client: UnixStream,
        worker: &Worker,
    ) -> std::io::Result<()> {
        client.set_nonblocking(false)?;
        let socket = OwnedFd::from(client);
        let mut child = spawn_as(user, &worker.program, &worker.words, socket)?;
        let (present, uid) = (Arc::clone(self), user.uid);
        let wait = move || {
            let _ = child.wait();
            present.leave(uid);
        };
        let name = "waits for a client".to_owned();
        std::thread::Builder::new().name(name).spawn(wait)?;
        Ok(())
    }

    fn enter(&self, uid: u32, crowd: Crowd) -> bool {
        let mut present = self.lock();
        let all: usize = present.values().sum();
        let of_this = present.get(&uid).copied().unwrap_or(0);
        let may = all < crowd.connections && of_this < crowd.of_one_user;
        if may {
            present.insert(uid, of_this + 1);
        }
        may
    }

    fn leave(&self, uid: u32) {
        let mut present = self.lock();
        match present.get_mut(&uid) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(present.remove(&uid)),
        }
    }
}

/// Says no; a client that does not listen is not waited for.
fn refuse(mut client: &UnixStream, why: &str) -> Result<(), String> {
    let _ = client.set_nonblocking(true);
    let (code, text) = (Code::Busy, why.to_owned());
    let errno = 0;
    let frame = Message::Error { code, errno, text }.encode(0);
    let _ = std::io::Write::write_all(&mut client, &frame);
    Err(why.to_owned())
}
