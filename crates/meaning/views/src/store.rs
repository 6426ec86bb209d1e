//! The files that hold definitions: `$XDG_CONFIG_HOME/trawl/views` for the user's own, and the files
//! of `/etc/trawl/views.d` for everybody.
//!
//! A definition gives nobody rights: whoever looks into a view asks its question as themselves. Files
//! that others could have written are refused all the same. Files are replaced as a whole: a reader
//! sees the old ones or the new ones.

use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use trawl_sys::identity::effective_uid;
use trawl_sys::replaced::Replacing;
use trawl_sys::settings;

use crate::definition::{View, check_name};
use crate::error::ViewError;

/// Directory of the definitions for everybody.
pub const SYSTEM: &str = "/etc/trawl/views.d";
/// Largest file of definitions in bytes.
const BYTES_MAX: u64 = 1 << 20;
/// Permissions for writing that only the owner may have.
const OTHERS_WRITE: u32 = 0o022;

/// For whom a view is defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// For the user who defines it.
    Own,
    /// For everybody.
    System,
}

/// A view that is defined.
#[derive(Clone, Debug)]
pub struct Defined {
    /// The view.
    pub view: View,
    /// For whom.
    pub scope: Scope,
    /// The file that defines it.
    pub path: PathBuf,
}

/// All views that are defined, and what is wrong with definitions.
#[derive(Debug, Default)]
pub struct Definitions {
    /// By name; each name once.
    pub views: Vec<Defined>,
    /// Files and lines that could not be used.
    pub issues: Vec<ViewError>,
}

/// The places of definitions.
#[derive(Clone, Debug)]
pub struct Store {
    /// The user's own file; `None` if it has no place.
    pub own: Option<PathBuf>,
    /// The directory of the definitions for everybody.
    pub system: PathBuf,
}

impl Store {
    /// Returns the places of this process's user.
    #[must_use]
    pub fn of_process(system: &Path) -> Store {
        Store {
            own: settings::own().map(|settings| settings.join("views")),
            system: system.to_owned(),
        }
    }

    /// Reads all definitions. A user's own view hides one of the same name for everybody.
    #[must_use]
    pub fn read(&self) -> Definitions {
        let mut all = Definitions::default();
        if let Some(own) = &self.own {
            all.add(own, Scope::Own);
        }
        match system_files(&self.system) {
            Ok(files) => files.iter().for_each(|file| all.add(file, Scope::System)),
            Err(error) => all
                .issues
                .push(ViewError::file("list", &self.system, error)),
        }
        all.views.sort_by(|a, b| a.view.name.cmp(&b.view.name));
        all
    }

    /// Returns the view of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn view(&self, name: &str) -> Result<Defined, ViewError> {
        let views = self.read().views.into_iter();
        let mut views = views.filter(|one| one.view.name == name);
        views.next().ok_or_else(|| unknown(name))
    }

    /// Defines a view, instead of one with the same name and scope. Returns the file.
    ///
    /// # Errors
    /// If the file cannot be read or written, or would be too large to be read again.
    pub fn define(&self, view: &View, scope: Scope) -> Result<PathBuf, ViewError> {
        check_name(&view.name)?;
        let path = self.file(scope, &view.name)?;
        change(&path, scope, |lines| {
            lines.retain(|line| !defines(line, &view.name));
            lines.push(view.line());
            true
        })?;
        Ok(path)
    }

    /// Removes a view.
    ///
    /// # Errors
    /// If there is none, or its file cannot be written.
    pub fn remove(&self, name: &str, scope: Scope) -> Result<(), ViewError> {
        let path = self.file(scope, name)?;
        let mut is_found = false;
        change(&path, scope, |lines| {
            let before = lines.len();
            lines.retain(|line| !defines(line, name));
            is_found = lines.len() < before;
            is_found
        })?;
        match is_found {
            true => Ok(()),
            false => Err(unknown(name)),
        }
    }

    fn file(&self, scope: Scope, name: &str) -> Result<PathBuf, ViewError> {
        match scope {
            Scope::Own => self.own.clone().ok_or(ViewError::NoHome),
            // The first line with this name counts, even if it is invalid.
            Scope::System => {
                let has_line = |path: &PathBuf| {
                    let text = read(path).unwrap_or_default();
                    text.lines().any(|line| defines(line, name))
                };
                let files = system_files(&self.system).unwrap_or_default();
                let file = files.into_iter().find(has_line);
                Ok(file.unwrap_or_else(|| self.system.join(name)))
            }
        }
    }
}

fn unknown(name: &str) -> ViewError {
    ViewError::Unknown {
        name: name.as_bytes().to_vec(),
    }
}

/// Returns the files of a directory, sorted, without those of editors and of our own writing.
fn system_files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        if !name.starts_with(b".") && !name.ends_with(b"~") {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

fn defines(line: &str, name: &str) -> bool {
    let line = line.trim_start();
    let is_remark = line.starts_with('#');
    !is_remark
        && line
            .split_once('=')
            .is_some_and(|(one, _)| one.trim() == name)
}

impl Definitions {
    fn add(&mut self, path: &Path, scope: Scope) {
        let text = match read(path) {
            Ok(text) => text,
            Err(error) => return self.issues.push(error),
        };
        for (number, line) in text.lines().enumerate() {
            match View::from_line(line) {
                Ok(None) => {}
                Ok(Some(view)) if self.has(&view.name) => {}
                Ok(Some(view)) => self.views.push(Defined {
                    view,
                    scope,
                    path: path.to_owned(),
                }),
                Err(error) => self.issues.push(ViewError::Untrusted {
                    path: path.to_owned(),
                    why: format!("line {}: {error}", number + 1),
                }),
            }
        }
    }

    fn has(&self, name: &str) -> bool {
        self.views.iter().any(|one| one.view.name == name)
    }
}

/// Reads a file of definitions; a missing one is empty.
fn read(path: &Path) -> Result<String, ViewError> {
    // Opening a pipe must not wait for a writer.
    let flags = rustix::fs::OFlags::NONBLOCK.bits();
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(flags.cast_signed())
        .open(path);
    let file = match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
        Err(error) => return Err(ViewError::file("read", path, error)),
        Ok(file) => file,
    };
    let failed = |error| ViewError::file("read", path, error);
    let untrusted = |why: &str| ViewError::Untrusted {
        path: path.to_owned(),
        why: why.into(),
    };
    let attributes = file.metadata().map_err(failed)?;
    if !attributes.is_file() || attributes.len() > BYTES_MAX {
        return Err(untrusted("definitions are files of at most 1 MiB"));
    }
    if ![0, effective_uid()].contains(&attributes.uid()) || attributes.mode() & OTHERS_WRITE != 0 {
        let why = "others could have written it; give it to yourself or root, and chmod go-w";
        return Err(untrusted(why));
    }
    let mut text = String::new();
    file.take(BYTES_MAX)
        .read_to_string(&mut text)
        .map_err(failed)?;
    Ok(text)
}

/// Replaces a file by one with other lines, unless `with` returns false.
fn change(
    path: &Path,
    scope: Scope,
    with: impl FnOnce(&mut Vec<String>) -> bool,
) -> Result<(), ViewError> {
    let failed = |error| ViewError::file("write", path, error);
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(failed(io::ErrorKind::InvalidInput.into()));
    };
    let (directory_mode, file_mode) = match scope {
        Scope::Own => (0o700, 0o600),
        Scope::System => (0o755, 0o644),
    };
    let replacing = Replacing::begin(directory, directory_mode).map_err(failed)?;
    let mut lines: Vec<String> = read(path)?.lines().map(Into::into).collect();
    if !with(&mut lines) {
        return Ok(());
    }
    if lines.is_empty() {
        return fs::remove_file(path).map_err(failed);
    }
    let text = lines.join("\n") + "\n";
    if text.len() as u64 > BYTES_MAX {
        let why = "definitions are files of at most 1 MiB, and this view would make it larger: \
                   remove others with trawl view remove";
        return Err(ViewError::Untrusted {
            path: path.to_owned(),
            why: why.into(),
        });
    }
    replacing
        .replace(name, file_mode, text.as_bytes())
        .map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::question::Question;

    fn view(name: &str, pattern: &str) -> View {
        let question = Question {
            starts: vec![b"/srv".to_vec()],
            expression: vec![b"-name".to_vec(), pattern.into()],
        };
        View::new(name, question).unwrap()
    }

    fn site() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store {
            own: Some(folder.path().join("home/trawl/views")),
            system: folder.path().join("views.d"),
        };
        (folder, store)
    }

    fn names(store: &Store) -> Vec<(String, Scope)> {
        let all = store.read();
        assert!(all.issues.is_empty(), "{:?}", all.issues);
        all.views
            .into_iter()
            .map(|one| (one.view.name, one.scope))
            .collect()
    }

    #[test]
    fn views_are_defined_replaced_hidden_and_removed() {
        let (_folder, store) = site();
        store.define(&view("a", "1"), Scope::Own).unwrap();
        store.define(&view("b", "2"), Scope::Own).unwrap();
        store.define(&view("a", "3"), Scope::Own).unwrap();
        store.define(&view("a", "4"), Scope::System).unwrap();
        store.define(&view("c", "5"), Scope::System).unwrap();
        let own = |name: &str| (name.to_owned(), Scope::Own);
        let system = |name: &str| (name.to_owned(), Scope::System);
        assert_eq!(names(&store), [own("a"), own("b"), system("c")]);
        assert_eq!(store.view("a").unwrap().view, view("a", "3"));
        store.remove("a", Scope::Own).unwrap();
        assert_eq!(store.view("a").unwrap().view, view("a", "4"));
        store.remove("a", Scope::System).unwrap();
        assert!(matches!(store.view("a"), Err(ViewError::Unknown { .. })));
        assert!(store.remove("a", Scope::Own).is_err());
        assert_eq!(names(&store), [own("b"), system("c")]);
    }

    #[test]
    fn remarks_stay_and_bad_lines_are_reported() {
        let (_folder, store) = site();
        let path = store.define(&view("a", "1"), Scope::Own).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
        fs::write(&path, "# mine\nbad = /srv -delete\n").unwrap();
        store.define(&view("a", "1"), Scope::Own).unwrap();
        assert!(
            fs::read_to_string(&path)
                .unwrap()
                .starts_with("# mine\nbad = ")
        );
        let all = store.read();
        assert_eq!((all.views.len(), all.issues.len()), (1, 1));
        assert!(
            all.issues[0].to_string().contains("line 2"),
            "{}",
            all.issues[0]
        );
    }

    #[test]
    fn files_that_others_can_write_are_refused() {
        let (_folder, store) = site();
        let path = store.define(&view("a", "1"), Scope::System).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o664)).unwrap();
        let all = store.read();
        assert_eq!((all.views.len(), all.issues.len()), (0, 1));
        assert!(store.view("a").is_err());
    }

    #[test]
    fn a_view_that_could_not_be_read_again_is_refused() {
        let (_folder, store) = site();
        let long = "x".repeat(60_000);
        let define = |number: u32| store.define(&view(&format!("v{number}"), &long), Scope::Own);
        for number in 0..17 {
            define(number).unwrap();
        }
        let path = store.own.clone().unwrap();
        let before = fs::read(&path).unwrap();
        let refused = define(17).unwrap_err().to_string();
        for part in ["home/trawl/views", "1 MiB", "trawl view remove"] {
            assert!(refused.contains(part), "{refused}");
        }
        assert!(fs::read(&path).unwrap() == before);
        store.remove("v0", Scope::Own).unwrap();
        define(17).unwrap();
    }

    #[test]
    fn concurrent_definitions_are_all_kept() {
        let (_folder, store) = site();
        std::thread::scope(|scope| {
            for number in 0..8 {
                let store = &store;
                scope.spawn(move || {
                    store
                        .define(&view(&format!("v{number}"), "x"), Scope::Own)
                        .unwrap()
                });
            }
        });
        assert_eq!(names(&store).len(), 8);
    }
}
