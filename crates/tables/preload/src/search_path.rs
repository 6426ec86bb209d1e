//! Answers lookups in the directories of `PATH`, where programs are searched by name.
//!
//! A search through thirty directories asks about thirty files of which at most one exists. One
//! question covers the names in all these directories (`Extent::Each`); its table only shows which
//! names do not exist, and says nothing about those that do.

use std::sync::atomic::{AtomicU32, Ordering};

use trawl_table::wire::{Extent, Question};
use trawl_table::{Level, PATH_BYTES_MAX};
use trawl_table_client::{Directories, Text, ask};

use crate::policy::{self, hash};
use crate::{kernel, page, settings, tables};

/// Minimum number of directories for which a question is worthwhile.
const DIRECTORIES_MIN: usize = 2;
/// Number of failed lookups before the first question, where lookups are expensive. Thirty lookups
/// take 120 microseconds or more; the question about thirty directories takes a millisecond.
const PATIENCE: u32 = 64;
const PATIENCE_EAGER: u32 = 1;
const PATIENCE_MAX: u32 = 1 << 20;

/// The directories of `PATH` at the program's start.
static DIRECTORIES: Text<{ PATH_BYTES_MAX + 1 }> = Text::new();
static COUNT: AtomicU32 = AtomicU32::new(0);
/// Number of files looked at since the last question, and the number that triggers the next one (0
/// means the default).
static LOOKED_AT: AtomicU32 = AtomicU32::new(0);
static PATIENCE_NOW: AtomicU32 = AtomicU32::new(0);

/// Stores the value of `PATH`.
pub(crate) fn begin(path: &[u8]) {
    let mut directories = Directories::new();
    directories.add(path, settings::is_covered);
    DIRECTORIES.set(directories.all());
    COUNT.store(directories.count() as u32, Ordering::Relaxed);
}

/// Returns whether a directory is in `PATH`.
pub(crate) fn has(directory: &[u8]) -> bool {
    COUNT.load(Ordering::Relaxed) > 0
        && DIRECTORIES
            .get()
            .split(|byte| *byte == b':')
            .any(|one| one == directory)
}

/// Asks about the directories of `PATH`, if the time is right; returns whether there is a new
/// table.
pub(crate) fn ask_for() -> bool {
    let count = COUNT.load(Ordering::Relaxed) as usize;
    is_due(count, 1) && ask_about(DIRECTORIES.get())
}

/// Like [`ask_for`], about the present value of `PATH`, of which `looks` directories are about to
/// be searched.
pub(crate) fn ask_for_those(path: &[u8], looks: u32) -> bool {
    let mut directories = Directories::new();
    directories.add(path, settings::is_covered);
    is_due(directories.count(), looks) && ask_about(directories.all())
}

fn patience() -> u32 {
    match PATIENCE_NOW.load(Ordering::Relaxed) {
        0 if settings::is_eager() => PATIENCE_EAGER,
        0 => PATIENCE,
        patience => patience,
    }
}

fn is_due(count: usize, looks: u32) -> bool {
    let looked_at = LOOKED_AT
        .fetch_add(looks, Ordering::Relaxed)
        .saturating_add(looks);
    let pays = count >= DIRECTORIES_MIN && looked_at >= patience();
    pays && policy::is_dear_to_look() && policy::is_quiet()
}

fn ask_about(directories: &[u8]) -> bool {
    // A table about this search path exists; another one would have no more answers.
    if tables::has_search_about(hash(directories)) {
        return false;
    }
    let question = Question {
        path: directories,
        from: b"",
        level: Level::Names,
        extent: Extent::Each,
        entries_max: settings::entries_max(),
    };
    LOOKED_AT.store(0, Ordering::Relaxed);
    let mapped = ask(settings::socket(), settings::user(), &question);
    let is_in = mapped.is_some_and(|mapped| tables::put(&mapped, hash(directories)));
    if !is_in {
        wait();
    }
    is_in
}

/// Records the end of a table. If it answered fewer lookups than the question cost, the next
/// question waits twice as long.
pub(crate) fn table_ended(answered: u32) {
    let usual = match settings::is_eager() {
        true => PATIENCE_EAGER,
        false => PATIENCE,
    };
    match answered >= usual {
        true => PATIENCE_NOW.store(0, Ordering::Relaxed),
        false => wait(),
    }
}

fn wait() {
    let patience = patience().saturating_mul(2).min(PATIENCE_MAX);
    PATIENCE_NOW.store(patience, Ordering::Relaxed);
}

/// Returns whether a table has the names in this directory.
pub(crate) fn is_known(directory: &[u8]) -> bool {
    tables::is_any_live() && tables::has_names_in(directory)
}

/// Returns whether a table shows that nothing exists at an absolute path.
pub(crate) fn says_absent(path: &[u8]) -> bool {
    if !settings::is_on_here()
        || !path.starts_with(b"/")
        || !tables::is_any_live()
        || page::generation().is_none()
    {
        return false;
    }
    let _quiet = kernel::Quiet::new();
    tables::says_absent(path)
}
