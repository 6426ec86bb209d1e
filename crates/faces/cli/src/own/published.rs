//! The profile of a process that runs for long: as a reply to whoever may ask, and as a file that
//! node_exporter's textfile collector reads.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use trawl_histogram::{Profile, openmetrics};
use trawl_profile::own::Own;
use trawl_profile::{Machine, Recording};

use crate::failure::Failure;
use crate::output::say;

/// How often the file is written.
const INTERVAL: Duration = Duration::from_secs(15);

/// Returns the recording of this process as bytes, without what only the asker needs.
pub(crate) fn reply(own: &Own, title: &str) -> Result<Vec<u8>, String> {
    recorded(own.read(title).map_err(|error| error.to_string())?, title)
}

/// Returns the same of a process that serves clients of another process. It changes only if the
/// process does something.
pub(crate) fn worker_profile() -> Option<Vec<u8>> {
    let mut profiles = trawl_profile::own::started()?.read("").ok()?;
    for profile in &mut profiles {
        profile.duration_ns = None;
    }
    recorded(profiles, "").ok()
}

fn recorded(captures: Vec<Profile>, title: &str) -> Result<Vec<u8>, String> {
    let recording = Recording {
        subject: title.to_owned(),
        machine: Machine::default(),
        losses: Vec::new(),
        captures: captures.into_iter().map(Into::into).collect(),
    };
    let text = recording.to_json().map_err(|error| error.to_string())?;
    Ok(text.into_bytes())
}

/// A file that shows this process's profile in Prometheus' text format.
#[derive(Clone)]
pub(crate) struct MetricsFile {
    read: Read,
    path: PathBuf,
}

/// Returns the profiles to show: one for each layer.
pub(crate) type Read = Arc<dyn Fn() -> Result<Vec<Profile>, String> + Send + Sync>;

impl MetricsFile {
    /// Writes the file now, and from now on every 15 seconds.
    ///
    /// # Errors
    /// Fails if it cannot be written now. Later failures are messages.
    pub(crate) fn keep(path: &Path, read: Read) -> Result<MetricsFile, Failure> {
        let file = MetricsFile {
            read,
            path: path.to_owned(),
        };
        file.write().map_err(|source| Failure::File {
            action: "write",
            path: path.to_owned(),
            source,
        })?;
        let ours = file.clone();
        let work = move || {
            loop {
                std::thread::sleep(INTERVAL);
                ours.renew();
            }
        };
        let thread = std::thread::Builder::new().name("metrics".into());
        // The thread ends with the process.
        let started = trawl_sys::signal::without_signals(|| thread.spawn(work));
        started.map_err(|source| Failure::File {
            action: "start a thread for",
            path: path.to_owned(),
            source,
        })?;
        Ok(file)
    }

    /// Writes the file again; a failure is a message.
    pub(crate) fn renew(&self) {
        if let Err(error) = self.write() {
            say(format_args!(
                "cannot write {}: {error}",
                self.path.display()
            ));
        }
    }

    fn write(&self) -> io::Result<()> {
        let profiles = (self.read)().map_err(io::Error::other)?;
        let text = prometheus(&profiles).map_err(io::Error::other)?;
        replace(&self.path, text.as_bytes())
    }
}

fn prometheus(profiles: &[Profile]) -> Result<String, trawl_histogram::Error> {
    openmetrics::write_all(profiles, openmetrics::Version::Prometheus)
}

/// Writes a file so that readers see the old or the new content. The owner and the permissions of
/// the old file stay; a new file is for its owner only, because latencies tell what others ask.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = OsString::from(path);
    // The collector reads only files that end with .prom.
    name.push(".new");
    let new = PathBuf::from(name);
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&new)?;
    let written = adopt(&file, path).and_then(|()| file.write_all(bytes));
    let renamed = written.and_then(|()| fs::rename(&new, path));
    if renamed.is_err() {
        let _ = fs::remove_file(&new);
    }
    renamed
}

/// Gives a file the owner and the permissions of the one that it replaces.
fn adopt(file: &File, old: &Path) -> io::Result<()> {
    let Ok(old) = fs::symlink_metadata(old) else {
        return Ok(());
    };
    if !old.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        fchown(file, Some(old.uid()), Some(old.gid()))?;
    }
    file.set_permissions(fs::Permissions::from_mode(old.mode() & 0o777))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_keeps_its_permissions_and_a_new_one_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trawl.prom");
        let mode = || fs::metadata(&path).unwrap().mode() & 0o777;
        replace(&path, b"one").unwrap();
        assert_eq!(mode(), 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        // Left by a process that was killed.
        fs::write(folder.path().join("trawl.prom.new"), b"half").unwrap();
        replace(&path, b"two").unwrap();
        assert_eq!((mode(), fs::read(&path).unwrap()), (0o644, b"two".to_vec()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(replace(&link, b"three").is_err());
        assert_eq!(fs::read(&path).unwrap(), b"two");
    }
}
