//! Notices that the files of a server's certificate were replaced, as programs do that renew
//! certificates in time (RFC 8555). A server uses the new ones for the next connections; those that
//! exist stay.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::files::ServerFiles;
use crate::error::RemoteError;

/// Minimum time between two looks at the files.
pub const LOOK: Duration = Duration::from_secs(5);

/// Paths of the files that a server needs.
#[derive(Clone, Debug)]
pub struct ServerPaths {
    /// File of its certificate, followed by the intermediate certificates.
    pub cert: PathBuf,
    /// File of the certificate's key.
    pub key: PathBuf,
    /// File of the authorities that may sign clients' certificates, if these are asked for.
    pub clients: Option<PathBuf>,
}

/// What shows that a file is another one, or has changed: device, inode number, size, and the times of
/// the last change of its content and of its inode. `None`: it cannot be seen.
type Stamp = Option<[i64; 7]>;

/// The files that a server uses, and the knowledge when to read them again.
#[derive(Debug)]
pub struct Renewal {
    paths: ServerPaths,
    files: ServerFiles,
    /// Stamps of the files that were read or refused last.
    seen: Vec<Stamp>,
    /// Stamps of files that could not be used when they were read for the first time.
    doubted: Option<Vec<Stamp>>,
    looked: Instant,
    /// Whether the process that ends TLS has other files than these.
    is_due: bool,
}

fn stamp(path: &Path) -> Stamp {
    let found = std::fs::metadata(path).ok()?;
    Some([
        found.dev().cast_signed(),
        found.ino().cast_signed(),
        found.size().cast_signed(),
        found.mtime(),
        found.mtime_nsec(),
        found.ctime(),
        found.ctime_nsec(),
    ])
}

impl ServerPaths {
    fn stamps(&self) -> Vec<Stamp> {
        let paths = [Some(&self.cert), Some(&self.key), self.clients.as_ref()];
        paths
            .into_iter()
            .flatten()
            .map(|path| stamp(path))
            .collect()
    }
}

impl Renewal {
    /// Reads the files for the first time.
    ///
    /// # Errors
    /// Says which of them cannot be used.
    pub fn begin(paths: ServerPaths) -> Result<Renewal, RemoteError> {
        // Taken first: what changes meanwhile is read again.
        let seen = paths.stamps();
        Ok(Renewal {
            files: ServerFiles::read(&paths)?,
            paths,
            seen,
            doubted: None,
            looked: Instant::now(),
            is_due: true,
        })
    }

    /// Gives the files to a process that ends TLS and that has none yet.
    ///
    /// # Errors
    /// If there is no memory for them, or `give` fails. They are given again later.
    pub fn give(&mut self, give: impl FnOnce(OwnedFd) -> io::Result<()>) -> io::Result<()> {
        self.is_due = true;
        give(self.files.to_memory()?)?;
        self.is_due = false;
        Ok(())
    }

    /// Looks whether the files were replaced, unless that was done a moment ago, and gives the new ones
    /// to the process that ends TLS. Returns what to tell the administrator.
    pub fn pass_on(&mut self, give: impl FnOnce(OwnedFd) -> io::Result<()>) -> Option<String> {
        let told = if self.looked.elapsed() < LOOK {
            None
        } else {
            self.looked = Instant::now();
            self.compare()
        };
        if self.is_due {
            // If it has no room for the message now, it is given them next time.
            let _ = self.give(give);
        }
        told
    }

    /// Reads files that were replaced. Returns what to tell the administrator.
    fn compare(&mut self) -> Option<String> {
        let stamps = self.paths.stamps();
        if stamps == self.seen {
            return None;
        }
        match ServerFiles::read(&self.paths) {
            Ok(files) => {
                self.seen = stamps;
                self.doubted = None;
                if files == self.files {
                    return None;
                }
                self.files = files;
                self.is_due = true;
                let cert = self.paths.cert.display();
                Some(format!("new connections use the new certificate in {cert}"))
            }
            // The next look may find that the other files have followed.
            Err(_) if self.doubted.as_ref() != Some(&stamps) => {
                self.doubted = Some(stamps);
                None
            }
            Err(error) => {
                self.seen = stamps;
                Some(format!("{error}; the certificate from before stays in use"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use trawl_testkit::Scratch;

    /// Returns a certificate that signs itself, and its key.
    fn certificate() -> (String, String) {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    fn put(path: &Path, text: &str) {
        // As programs that renew certificates do it: another file takes the name.
        let beside = path.with_extension("new");
        std::fs::write(&beside, text).unwrap();
        std::fs::set_permissions(&beside, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::rename(beside, path).unwrap();
    }

    #[test]
    fn replaced_files_are_used_once_they_belong_together() {
        let scratch = Scratch::new("renewal");
        let paths = ServerPaths {
            cert: scratch.join("cert"),
            key: scratch.join("key"),
            clients: None,
        };
        let [(cert, key), (new_cert, new_key)] = [certificate(), certificate()];
        put(&paths.cert, &cert);
        put(&paths.key, &key);
        let mut renewal = Renewal::begin(paths.clone()).unwrap();
        assert_eq!(renewal.compare(), None);
        put(&paths.cert, &cert);
        assert_eq!(renewal.compare(), None, "the same certificate");
        put(&paths.cert, &new_cert);
        assert_eq!(renewal.compare(), None, "its key is to follow");
        assert_eq!(renewal.files.chain, cert.as_bytes());
        put(&paths.key, &new_key);
        let told = renewal.compare().unwrap();
        assert!(told.contains("use the new certificate"), "{told}");
        assert_eq!(renewal.files.chain, new_cert.as_bytes());
        assert_eq!(renewal.files.key, new_key.as_bytes());
        assert_eq!(renewal.compare(), None);
    }

    #[test]
    fn files_that_cannot_be_used_are_told_of_once_and_the_former_ones_stay() {
        let scratch = Scratch::new("renewal");
        let paths = ServerPaths {
            cert: scratch.join("cert"),
            key: scratch.join("key"),
            clients: Some(scratch.join("clients")),
        };
        let (cert, key) = certificate();
        put(&paths.cert, &cert);
        put(&paths.key, &key);
        put(paths.clients.as_ref().unwrap(), &cert);
        let mut renewal = Renewal::begin(paths.clone()).unwrap();
        for (path, text) in [
            (&paths.cert, "no certificate"),
            (&paths.key, &*certificate().1),
            (paths.clients.as_ref().unwrap(), ""),
        ] {
            let before = std::fs::read_to_string(path).unwrap();
            put(path, text);
            assert_eq!(renewal.compare(), None);
            let told = renewal.compare().unwrap();
            assert!(told.contains("stays in use"), "{told}");
            assert_eq!(renewal.compare(), None, "it was told of");
            assert_eq!(renewal.files.chain, cert.as_bytes());
            put(path, &before);
            assert_eq!(renewal.compare(), None, "as it was");
        }
        std::fs::remove_file(&paths.key).unwrap();
        assert_eq!(renewal.compare(), None);
        assert!(renewal.compare().unwrap().contains("stays in use"));
        assert_eq!(renewal.files.key, key.as_bytes());
    }

    #[test]
    fn files_are_given_until_they_are_taken() {
        let scratch = Scratch::new("renewal");
        let paths = ServerPaths {
            cert: scratch.join("cert"),
            key: scratch.join("key"),
            clients: None,
        };
        let (cert, key) = certificate();
        put(&paths.cert, &cert);
        put(&paths.key, &key);
        let mut renewal = Renewal::begin(paths.clone()).unwrap();
        let given = |renewal: &mut Renewal, can_take: bool| {
            let mut given = None;
            renewal.pass_on(|files| match can_take {
                true => {
                    given = Some(ServerFiles::from_memory(files).unwrap().chain);
                    Ok(())
                }
                false => Err(io::ErrorKind::WouldBlock.into()),
            });
            given
        };
        renewal.give(|_| Ok(())).unwrap();
        assert_eq!(given(&mut renewal, true), None, "it has them");
        let (new_cert, new_key) = certificate();
        put(&paths.cert, &new_cert);
        put(&paths.key, &new_key);
        renewal.looked -= LOOK;
        assert_eq!(given(&mut renewal, false), None);
        let taken = given(&mut renewal, true);
        assert_eq!(taken, Some(new_cert.into_bytes()));
        assert_eq!(given(&mut renewal, true), None, "it has them");
    }
}
