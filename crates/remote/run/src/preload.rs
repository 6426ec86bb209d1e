//! Bulk answers for programs: a library that is loaded into them, and the service that answers it.
//! For trees of this machine the service uses walks and the index; for mounted trees it uses what
//! the mount knows.
//!
//! Invariant: a command that cannot have this runs without it, and the user is told why.

use std::fs::File;
use std::num::NonZeroU32;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use trawl_apply::Ahead;
use trawl_mount::Tables;
use trawl_mount::tables::MountedTree;
use trawl_open::place::indexes_to_ask;
use trawl_sys::enclosure::View;
use trawl_table_index::{IndexNames, Use};
use trawl_table_service::{
    Config, Haste, KnownNames, LocalWalk, Running, Service, Started, Viewers,
};

use crate::child::shown_path;
use crate::notice::{Notice, Tell};
use crate::trees::ShownTree;

/// Paths of the library relative to the program's directory: where `make install` puts it, and
/// where cargo does.
const LIBRARIES: [&str; 2] = ["../lib/trawl/libtrawl-preload.so", "libtrawl_preload.so"];
/// Paths of the library for the dynamic loader.
const AUDIT_LIBRARIES: [&str; 2] = ["../lib/trawl/libtrawl-audit.so", "libtrawl_audit.so"];

/// From this number of directories in `LD_LIBRARY_PATH` on, the loader is answered automatically.
/// With fewer, its own search is as fast.
const AUDIT_DIRECTORIES: usize = 32;

/// Answers that may be used for less time than this are not worth a table.
const AGE_MIN: Duration = Duration::from_millis(10);

/// Options of tables, besides the directories.
#[derive(Clone, Copy, Debug)]
pub struct Wishes {
    /// Maximum age of an answer.
    pub max_age: Duration,
    /// How soon programs ask.
    pub haste: Haste,
    /// Whether the loader is answered in any case.
    pub is_audited: bool,
    /// Number of arguments that may be files from which on they are fetched ahead; `None` if they
    /// never are. Without effect on programs in mounted trees.
    pub files_min: Option<NonZeroU32>,
}

/// A service that answers programs, until it is dropped.
pub(crate) struct Preload {
    running: Running,
    library: PathBuf,
    /// Library that answers the loader.
    audit: Option<PathBuf>,
    /// Tables of mounted trees.
    tables: Option<Arc<Tables>>,
}

impl Drop for Preload {
    fn drop(&mut self) {
        if let Some(tables) = &self.tables {
            tables.close();
        }
    }
}

impl Preload {
    /// Starts to answer for everything below these directories; returns `None` if that is
    /// impossible.
    pub(crate) fn start(
        directories: &[PathBuf],
        wishes: Wishes,
        known: Option<Arc<dyn KnownNames>>,
        tell: &Tell,
    ) -> Option<Preload> {
        let audit = library_for_loader(wishes, tell);
        Preload::begin(tell, || {
            let mut config = local(directories, wishes)?;
            if let Some(known) = known {
                config.source = Arc::new(LocalWalk::knowing(known));
            }
            Ok((config, audit, None))
        })
    }

    /// Starts to answer for mounts as soon as they are seen (see [`Preload::seen`]). Returns `None`
    /// if that is impossible, or if no answer may be used twice.
    pub(crate) fn of_mounts(shown: &[ShownTree], wishes: Wishes, tell: &Tell) -> Option<Preload> {
        if wishes.max_age < AGE_MIN {
            return None;
        }
        let tables = Arc::new(Tables::default());
        let mut config = Config::local(shown.iter().map(|shown| shown.point.clone()).collect());
        config.age = wishes.max_age;
        config.age_left = Tables::age_left(wishes.max_age);
        config.haste = Haste::Eager;
        config.viewers = Viewers::Elsewhere;
        config.source = Arc::clone(&tables) as _;
        Preload::begin(tell, || Ok((config, None, Some(tables))))
    }

    fn begin(tell: &Tell, prepare: impl FnOnce() -> Result<Prepared, String>) -> Option<Preload> {
        let without = |why: &dyn std::fmt::Display| {
            let why = why.to_string();
            tell(&Notice::WithoutTables { why });
        };
        let Some(library) = library(&LIBRARIES) else {
            without(&"libtrawl-preload.so is not installed next to trawl");
            return None;
        };
        let started = prepare().and_then(|(config, audit, tables)| {
            Ok(Preload {
                running: start(config)?,
                library,
                audit,
                tables,
            })
        });
        started.map_err(|error| without(&error)).ok()
    }

    /// Records how the command sees its mounts. Until then its questions are not answered.
    pub(crate) fn seen(&self, shown: &[ShownTree], view: Option<View>) {
        let (Some(tables), Some(view)) = (&self.tables, view) else {
            return;
        };
        let [mounts, users] = view.namespaces;
        let place = |shown: &ShownTree| MountedTree {
            mounted: shown.mounted.clone(),
            point: shown.point.clone(),
        };
        // This fails only without `/proc`, and then nobody can be answered anyway.
        if tables.open(shown.iter().map(place).collect(), view).is_ok() {
            self.running.seen_in(mounts, users);
        }
    }

    /// Lets a command, and all programs that it runs, ask.
    pub(crate) fn lend_to(&self, command: &mut Command) {
        let (name, value) = Running::preload(&self.library);
        command.envs(self.running.environment()).env(name, value);
        if let Some(audit) = &self.audit {
            let (name, value) = Running::audit(audit);
            command.env(name, value);
        }
    }
}

/// Returns the index that this user asks, as a source of names. With [`Use::Always`], reports if it
/// will not be asked.
pub(crate) fn known(
    given: Option<PathBuf>,
    when: Use,
    report: &Tell,
) -> Option<Arc<dyn KnownNames>> {
    let tell = |why: &dyn std::fmt::Display| {
        if when == Use::Always {
            let why = why.to_string();
            report(&Notice::WithoutIndex { why });
        }
    };
    let index = match indexes_to_ask(given) {
        Ok(indexes) => {
            // Names come from only one index: the first one that a daemon watches.
            let watched = indexes.iter().find(|index| IndexNames::is_watched(index));
            let index = watched.or(indexes.first()).cloned().unwrap_or_default();
            // The command may rename the working directory or one above it.
            std::path::absolute(&index).unwrap_or(index)
        }
        Err(failure) => {
            tell(&failure);
            return None;
        }
    };
    if when == Use::Always && !IndexNames::is_watched(&index) {
        tell(&format_args!(
            "no daemon keeps {} up to date",
            shown_path(&index)
        ));
    }
    let names = IndexNames::of(index, when);
    if names.is_none() {
        tell(&"this process has dropped capabilities that reading an index depends on");
    }
    Some(Arc::new(names?))
}

/// Everything that a start needs: the configuration, the library for the loader, and the tables of
/// mounted trees.
type Prepared = (Config, Option<PathBuf>, Option<Arc<Tables>>);

fn local(directories: &[PathBuf], wishes: Wishes) -> Result<Config, String> {
    let directories = match directories {
        [] => vec![std::env::current_dir().map_err(|error| error.to_string())?],
        some => some.to_vec(),
    };
    let mut config = Config::local(directories);
    config.age = config.age.min(wishes.max_age);
    config.age_left = config.age / 2;
    config.haste = wishes.haste;
    config.starts = wishes.files_min.map(starts);
    Ok(config)
}

/// Fetches files ahead for programs with this many.
fn starts(files_min: NonZeroU32) -> Started {
    let ahead = Arc::new(Ahead::default());
    Started {
        files_min: files_min.get(),
        tell: Arc::new(move |process| ahead.started(process)),
    }
}

fn start(config: Config) -> Result<Running, String> {
    let running = Service::start(config).map_err(|error| error.to_string())?;
    // The command writes to these files without having opened them itself.
    let (input, output, errors) = (std::io::stdin(), std::io::stdout(), std::io::stderr());
    let lent: [BorrowedFd<'_>; 3] = [input.as_fd(), output.as_fd(), errors.as_fd()];
    for file in lent {
        // Nobody writes to a descriptor that is closed.
        let _ = running.written(file);
    }
    Ok(running)
}

/// Returns the library that answers the loader, if it is wanted.
fn library_for_loader(wishes: Wishes, tell: &Tell) -> Option<PathBuf> {
    let path = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let directories = std::env::split_paths(&path).count();
    if !wishes.is_audited && directories < AUDIT_DIRECTORIES {
        return None;
    }
    let library = library(&AUDIT_LIBRARIES);
    if library.is_none() && wishes.is_audited {
        tell(&Notice::WithoutAudit);
    }
    library
}

fn library(names: &[&str; 2]) -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let beside = program.parent()?;
    let places = names.map(|name| beside.join(name));
    let found = places.into_iter().find(|place| is_readable(place))?;
    // A loader splits the variable at spaces and colons, and cannot use relative components.
    let found = found.canonicalize().ok()?;
    let is_plain = |text: &str| !text.contains([' ', ':']);
    found.to_str().is_some_and(is_plain).then_some(found)
}

fn is_readable(place: &Path) -> bool {
    File::open(place).is_ok_and(|file| file.metadata().is_ok_and(|meta| meta.is_file()))
}
