//! The directories of `PATH`, in which programs are looked for by name.
//!
//! Who looks for a name in thirty directories asks about thirty files of which at most one is
//! there. One question is for the names in all of these directories (`Extent::Each`); the table says
//! which are not there, and nothing of those that are.

use std::sync::atomic::{AtomicU32, Ordering};

use trawl_bulk_client::{Directories, Text, ask};
use trawl_table::wire::{Extent, Question};
use trawl_table::{Level, PATH_BYTES_MAX};

use crate::policy::{self, hash};
use crate::{kernel, page, settings, tables};

/// With fewer directories a question is not worth its price.
const DIRECTORIES_MIN: usize = 2;
/// Files that are looked at in vain before the first question where looks are dear: 30 of them take
/// 120 microseconds or more, and the question about 30 directories a millisecond.
const PATIENCE: u32 = 64;
const PATIENCE_EAGER: u32 = 1;
const PATIENCE_MAX: u32 = 1 << 20;

/// The directories of `PATH` as the program began with it.
static DIRECTORIES: Text<{ PATH_BYTES_MAX + 1 }> = Text::new();
static COUNT: AtomicU32 = AtomicU32::new(0);
/// Files that were looked at since the last question, and how many there must be; 0 for the usual.
static LOOKED_AT: AtomicU32 = AtomicU32::new(0);
static PATIENCE_NOW: AtomicU32 = AtomicU32::new(0);

/// Takes down what `PATH` says.
pub(crate) fn begin(path: &[u8]) {
    let mut directories = Directories::new();
    directories.add(path, settings::is_covered);
    DIRECTORIES.set(directories.all());
    COUNT.store(directories.count() as u32, Ordering::Relaxed);
}

/// Whether a directory is one of `PATH`.
pub(crate) fn has(directory: &[u8]) -> bool {
    COUNT.load(Ordering::Relaxed) > 0
        && DIRECTORIES
            .get()
            .split(|byte| *byte == b':')
            .any(|one| one == directory)
}

/// Asks, if it is time, about the directories of `PATH`; whether there is a new table.
pub(crate) fn ask_for() -> bool {
    let count = COUNT.load(Ordering::Relaxed) as usize;
    is_due(count, 1) && ask_about(DIRECTORIES.get())
}

/// As above, about those that are `PATH` now, of which that many are going to be looked at.
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
    // What it does not say no other one would.
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

/// A table is no more, after so many answers: one that has answered less than it took to ask for it
/// makes the next wait twice as long.
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

/// Whether a table has the names in this directory.
pub(crate) fn is_known(directory: &[u8]) -> bool {
    tables::is_any_live() && tables::has_names_in(directory)
}

/// Whether a table says that nothing is at an absolute path.
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
