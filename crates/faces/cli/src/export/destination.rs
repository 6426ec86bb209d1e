//! The directory of an export.
//!
//! The files are written to a new directory beside the requested one. It gets its name when all
//! files are complete and on disk, so an export either exists as a whole or not at all. An earlier
//! export is exchanged for the new one in one step.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use trawl_sys::file::{Existing, rename};
use trawl_text::words::cause;

use crate::failure::Failure;

/// The file that describes an export; its presence shows that a directory is one.
pub const ABOUT: &str = "export.json";

/// The reason why an export cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The destination makes no sense.
    #[error("{0}")]
    Usage(String),
    /// A file or directory could not be made or written.
    #[error("cannot {action} {}: {}", path.display(), cause(source))]
    File {
        /// The attempted operation, as an infinitive.
        action: &'static str,
        /// The path it was attempted on.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl ExportError {
    pub(super) fn file(action: &'static str, path: &Path, source: io::Error) -> ExportError {
        ExportError::File {
            action,
            path: path.to_owned(),
            source,
        }
    }
}

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Failure {
        match error {
            ExportError::Usage(why) => Failure::Usage(why),
            ExportError::File {
                action,
                path,
                source,
            } => Failure::File {
                action,
                path,
                source,
            },
        }
    }
}

/// The destination of an export. What was written is removed unless it is published.
#[derive(Debug)]
pub struct Destination {
    /// The requested directory.
    dir: PathBuf,
    /// The directory that is written to.
    part: PathBuf,
    /// Whether an earlier export exists.
    replaces: bool,
}

impl Destination {
    /// Makes the directory that is written to; with `force`, an earlier export at `dir` is replaced.
    ///
    /// # Errors
    /// If something else is there, or the directory cannot be made.
    pub fn make(dir: &Path, force: bool) -> Result<Destination, ExportError> {
        let absolute = std::path::absolute(dir);
        let dir = absolute.map_err(|source| ExportError::file("write", dir, source))?;
        let exists = dir.symlink_metadata().is_ok();
        if exists && !force {
            return Err(ExportError::Usage(format!(
                "{} already exists; --force replaces an earlier export",
                dir.display()
            )));
        }
        if exists && !dir.join(ABOUT).is_file() {
            return Err(ExportError::Usage(format!(
                "{} is not an export, and is left alone",
                dir.display()
            )));
        }
        let mut name = dir.file_name().map(ToOwned::to_owned).unwrap_or_default();
        name.push(format!(".part-{}", std::process::id()));
        let part = dir.with_file_name(name);
        make_dir(&part)?;
        Ok(Destination {
            dir,
            part,
            replaces: exists,
        })
    }

    /// Returns the directory that files are written to.
    #[must_use]
    pub fn part(&self) -> &Path {
        &self.part
    }

    /// Makes the directory of a table.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn make_table(&self, name: &str) -> Result<(), ExportError> {
        make_dir(&self.part.join(name))
    }

    /// Waits until the directory of a table is on disk.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn sync_table(&self, name: &str) -> Result<(), ExportError> {
        sync_dir(&self.part.join(name))
    }

    /// Gives the directory its name.
    ///
    /// # Errors
    /// If it cannot be renamed, for example because another program has made the directory.
    pub fn publish(self) -> Result<(), ExportError> {
        sync_dir(&self.part)?;
        let existing = match self.replaces {
            true => Existing::Exchange,
            false => Existing::Keep,
        };
        let failed = |source| ExportError::file("rename to", &self.dir, source);
        let above = self.dir.parent().unwrap_or(Path::new("/"));
        let above = File::open(above).map_err(failed)?;
        let [from, to] = [&self.part, &self.dir].map(|path| {
            let name = path.file_name().unwrap_or_default();
            CString::new(name.as_bytes()).map_err(io::Error::from)
        });
        let (from, to) = (from.map_err(failed)?, to.map_err(failed)?);
        let renamed = rename(&above, &from, &above, &to, existing);
        renamed.map_err(|error| failed(error.into()))?;
        if self.replaces && !self.part.join(ABOUT).is_file() {
            // Somebody has put something else there while the export was made.
            let back = rename(&above, &from, &above, &to, existing);
            back.map_err(|error| failed(error.into()))?;
            return Err(ExportError::Usage(format!(
                "{} is no export any more, and is left alone",
                self.dir.display()
            )));
        }
        above.sync_all().map_err(failed)
        // An earlier export now has the other name and is removed on drop.
    }
}

impl Drop for Destination {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.part);
    }
}

fn make_dir(dir: &Path) -> Result<(), ExportError> {
    // File names and sizes are private to the owner.
    let made = std::fs::DirBuilder::new().mode(0o700).create(dir);
    made.map_err(|source| ExportError::file("make", dir, source))
}

fn sync_dir(dir: &Path) -> Result<(), ExportError> {
    let synced = File::open(dir).and_then(|dir| dir.sync_all());
    synced.map_err(|source| ExportError::file("sync", dir, source))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn export(dir: &Path) {
        std::fs::create_dir(dir).unwrap();
        std::fs::write(dir.join(ABOUT), "{}").unwrap();
    }

    #[test]
    fn force_replaces_an_export_and_nothing_else() {
        let scratch = trawl_testkit::Scratch::new("export-destination");
        let (dir, away) = (scratch.join("out"), scratch.join("away"));
        export(&dir);
        let made = Destination::make(&dir, true).unwrap();
        std::fs::write(made.part().join(ABOUT), "new").unwrap();
        made.publish().unwrap();
        assert_eq!(std::fs::read(dir.join(ABOUT)).unwrap(), b"new");
        // While the next one is made, somebody moves it away and puts something else there.
        let made = Destination::make(&dir, true).unwrap();
        std::fs::write(made.part().join(ABOUT), "newer").unwrap();
        std::fs::rename(&dir, &away).unwrap();
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(dir.join("precious"), "x").unwrap();
        let why = made.publish().unwrap_err().to_string();
        assert!(why.contains("is left alone"), "{why}");
        assert!(dir.join("precious").exists() && !dir.join(ABOUT).exists());
        let names = std::fs::read_dir(scratch.path()).unwrap();
        assert_eq!(names.count(), 2, "nothing else is left");
    }
}
