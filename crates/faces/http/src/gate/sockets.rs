//! The sockets that clients connect to. They are the keeper's, so that they outlive a front.

use std::io;
use std::net::TcpListener;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

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

/// Listens at a Unix socket that only its owner and the group of its directory may connect to. Whoever
/// connects is believed.
fn bind(path: &Path) -> io::Result<UnixListener> {
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
    let directory = path.parent().unwrap_or(Path::new("/"));
    let group = std::fs::metadata(directory)?.gid();
    std::os::unix::fs::chown(path, None, Some(group))?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o660))?;
    Ok(listener)
}
