//! The sockets that clients connect to. They are the keeper's, so that they outlive a front.

use std::fs::Metadata;
use std::io;
use std::net::TcpListener;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use trawl_sys::identity::effective_uid;

use super::options::Options;

/// The sockets that clients connect to. Those of proxies are removed when this value is dropped.
#[derive(Debug)]
pub struct Sockets {
    /// For TLS.
    pub tls: Vec<TcpListener>,
    /// For proxies, with their paths.
    pub proxy: Vec<(UnixListener, PathBuf)>,
}

impl Sockets {
    /// Opens them.
    ///
    /// # Errors
    /// Says which cannot be opened.
    pub fn open(options: &Options) -> Result<Sockets, String> {
        let tls = options.listen.iter().map(|address| {
            let bound = TcpListener::bind(address);
            bound.map_err(|error| format!("cannot listen on {address}: {error}"))
        });
        let proxy = options.proxy.iter().map(|path| {
            let bound = bind(path).map(|socket| (socket, path.clone()));
            bound.map_err(|error| format!("cannot listen on {}: {error}", path.display()))
        });
        let sockets = Sockets {
            tls: tls.collect::<Result<_, _>>()?,
            proxy: proxy.collect::<Result<_, _>>()?,
        };
        match sockets.tls.is_empty() && sockets.proxy.is_empty() {
            true => Err("no address to listen on was given".to_owned()),
            false => Ok(sockets),
        }
    }
}

impl Drop for Sockets {
    fn drop(&mut self) {
        for (_, path) in &self.proxy {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Returns an error if others could put another file in the place of one in this directory, whose
/// permissions are about to be changed.
fn check(directory: &Metadata) -> io::Result<()> {
    let is_own = [0, effective_uid()].contains(&directory.uid());
    // In a sticky directory, others cannot rename or remove what is not theirs (inode(7)).
    let is_shared = directory.mode() & 0o022 != 0 && directory.mode() & 0o1000 == 0;
    match is_own && !is_shared {
        true => Ok(()),
        false => Err(io::Error::other(
            "others can write to its directory: use one that belongs to the user of this server, and \
             remove the right of its group and of others to write (chmod go-w)",
        )),
    }
}

/// Listens at a Unix socket that only its owner and the group of its directory may connect to. Whoever
/// connects is believed.
fn bind(path: &Path) -> io::Result<UnixListener> {
    let directory = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let directory = std::fs::metadata(directory.unwrap_or(Path::new(".")))?;
    check(&directory)?;
    // A socket that nobody listens at was left behind.
    let is_socket =
        std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    if is_socket {
        match std::os::unix::net::UnixStream::connect(path) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                std::fs::remove_file(path)?;
            }
            _ => return Err(io::ErrorKind::AddrInUse.into()),
        }
    }
    // Nobody connects before the permissions are right.
    let before = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o177));
    let bound = UnixListener::bind(path);
    rustix::process::umask(before);
    let listener = bound?;
    std::os::unix::fs::chown(path, None, Some(directory.gid()))?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o660))?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_cannot_replace_a_socket() {
        let folder = trawl_testkit::Scratch::new("http-sockets");
        let directory = folder.join("directory");
        let socket = directory.join("socket");
        std::fs::create_dir(&directory).unwrap();
        for (mode, is_right) in [
            (0o755, true),
            (0o750, true),
            (0o1777, true),
            (0o775, false),
            (0o757, false),
        ] {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&directory, mode.clone()).unwrap();
            let bound = bind(&socket);
            assert_eq!(bound.is_ok(), is_right, "{mode:?}: {bound:?}");
            assert_eq!(socket.exists(), is_right, "{mode:?}");
            let _ = std::fs::remove_file(&socket);
        }
    }
}
