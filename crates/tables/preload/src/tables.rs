//! Holds the tables that this process has mapped.
//!
//! A table lies in a slot. A reader counts as a user of the slot; the table is unmapped once it is
//! not live and has no users. Only one thread at a time inserts or removes tables, and nobody waits
//! for it: a second thread does without.

use std::ptr;
use std::sync::atomic::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};

use trawl_table::{Directory, Entry, Table};
use trawl_table_client::Mapped;

use crate::{kernel, page, policy, search_path, settings};

const SLOTS: usize = 32;

struct Slot {
    at: AtomicPtr<u8>,
    length: AtomicUsize,
    users: AtomicU32,
    is_live: AtomicBool,
    generation: AtomicU64,
    begun_ns: AtomicI64,
    entries: AtomicU32,
    answered: AtomicU32,
    /// Whether it is about a search path.
    is_search: AtomicBool,
    /// Hash of the search path it is about, if any.
    about: AtomicU64,
}

impl Slot {
    const fn new() -> Slot {
        Slot {
            at: AtomicPtr::new(ptr::null_mut()),
            length: AtomicUsize::new(0),
            users: AtomicU32::new(0),
            is_live: AtomicBool::new(false),
            generation: AtomicU64::new(0),
            begun_ns: AtomicI64::new(0),
            entries: AtomicU32::new(0),
            answered: AtomicU32::new(0),
            is_search: AtomicBool::new(false),
            about: AtomicU64::new(0),
        }
    }

    /// Returns whether the table may still be believed.
    fn is_fresh(&self) -> bool {
        let age = kernel::now_ns().saturating_sub(self.begun_ns.load(Ordering::Relaxed));
        let is_young = age < settings::age_ns();
        let Some(generation) = page::generation() else {
            // This is temporary: the started programs may turn out to change nothing.
            return false;
        };
        let is_same = generation == self.generation.load(Ordering::Relaxed);
        if is_young && is_same {
            return true;
        }
        if self.is_live.swap(false, Ordering::SeqCst) {
            LIVE.fetch_sub(1, Ordering::Relaxed);
            let answered = self.answered.load(Ordering::Relaxed);
            match self.is_search.load(Ordering::Relaxed) {
                true => search_path::table_ended(answered),
                false => {
                    policy::table_ended(answered, self.entries.load(Ordering::Relaxed), is_same);
                }
            }
        }
        false
    }
}

static TABLES: [Slot; SLOTS] = [const { Slot::new() }; SLOTS];
static LIVE: AtomicU32 = AtomicU32::new(0);
static IS_WRITTEN: AtomicBool = AtomicBool::new(false);
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// Returns whether there is any table that may be valid.
#[inline]
pub(crate) fn is_any_live() -> bool {
    LIVE.load(Ordering::Relaxed) > 0
}

/// A reference that keeps a table mapped.
pub(crate) struct TableRef(usize);

impl Drop for TableRef {
    fn drop(&mut self) {
        TABLES[self.0].users.fetch_sub(1, Ordering::SeqCst);
    }
}

impl TableRef {
    fn live(slot: usize) -> Option<TableRef> {
        let of = TABLES.get(slot)?;
        of.users.fetch_add(1, Ordering::SeqCst);
        let held = TableRef(slot);
        of.is_live.load(Ordering::SeqCst).then_some(held)
    }

    /// Returns another reference to the same table.
    pub(crate) fn again(&self) -> TableRef {
        TABLES[self.0].users.fetch_add(1, Ordering::SeqCst);
        TableRef(self.0)
    }

    /// Turns the reference into its slot number; [`TableRef::of_number`] reverses this.
    pub(crate) fn into_number(self) -> u32 {
        let number = self.0 as u32;
        std::mem::forget(self);
        number
    }

    /// Recreates the reference from [`TableRef::into_number`]; must be used once per number.
    pub(crate) fn of_number(number: u32) -> TableRef {
        TableRef((number as usize).min(SLOTS - 1))
    }

    /// Returns the table.
    pub(crate) fn table(&self) -> Option<Table<'static>> {
        let slot = &TABLES[self.0];
        let at = slot.at.load(Ordering::SeqCst);
        let length = slot.length.load(Ordering::SeqCst);
        if at.is_null() {
            return None;
        }
        // SAFETY: the mapping has that many bytes, is sealed memory, so that nobody changes it, and
        // stays as long as the slot has a user. The `'static` lifetime is longer than that: every
        // value derived from it is used only while this `TableRef` lives, which `TableEntry` stores with
        // them.
        let bytes = unsafe { std::slice::from_raw_parts(at, length) };
        Table::new(bytes).ok()
    }

    /// Returns whether the table may be believed.
    pub(crate) fn is_fresh(&self) -> bool {
        TABLES[self.0].is_fresh()
    }

    /// Returns whether the table is about a search path: then it only shows which names do not
    /// exist.
    pub(crate) fn is_search(&self) -> bool {
        TABLES[self.0].is_search.load(Ordering::Relaxed)
    }

    /// Counts an answer.
    pub(crate) fn answered(&self) {
        self.answered_many(1);
    }

    /// Counts answers given to the program.
    pub(crate) fn answered_many(&self, number: u32) {
        let _ = TABLES[self.0].answered.fetch_add(number, Ordering::Relaxed);
    }
}

/// Unmaps unused tables and returns a free slot.
fn free_slot() -> Option<usize> {
    let mut free = None;
    for (number, slot) in TABLES.iter().enumerate() {
        let is_idle =
            !slot.is_live.load(Ordering::SeqCst) && slot.users.load(Ordering::SeqCst) == 0;
        if !is_idle {
            continue;
        }
        let at = slot.at.swap(ptr::null_mut(), Ordering::SeqCst);
        if !at.is_null() {
            // SAFETY: the table was not live and had no user after that, so no thread can get a
            // reference.
            unsafe { kernel::unmap(at, slot.length.load(Ordering::SeqCst)) };
        }
        free = Some(number);
    }
    free
}

/// Inserts a table; `about` is the hash of the search path it is about. The table is unmapped if
/// there is no free slot, or if another thread is inserting one.
pub(crate) fn put(mapped: &Mapped, about: u64) -> bool {
    if IS_WRITTEN.swap(true, Ordering::SeqCst) {
        // SAFETY: no other thread has seen it.
        unsafe { kernel::unmap(mapped.at, mapped.length) };
        return false;
    }
    let is_in = put_alone(mapped, about);
    IS_WRITTEN.store(false, Ordering::SeqCst);
    if !is_in {
        // SAFETY: no other thread has seen it.
        unsafe { kernel::unmap(mapped.at, mapped.length) };
    }
    is_in
}

fn put_alone(mapped: &Mapped, about: u64) -> bool {
    // SAFETY: as in `TableRef::table`; it is not unmapped before this function ends.
    let bytes = unsafe { std::slice::from_raw_parts(mapped.at, mapped.length) };
    let Ok(table) = Table::new(bytes) else {
        return false;
    };
    // A table from the future is invalid; the margin allows for this coarse clock, which is some
    // milliseconds behind.
    if table.begun_ns() > kernel::now_ns().saturating_add(1_000_000_000) {
        return false;
    }
    let slot = match free_slot() {
        Some(slot) => slot,
        None => {
            // Tables are evicted in turn; a slot is free once it has no users.
            let turn = NEXT.fetch_add(1, Ordering::Relaxed) % SLOTS;
            if TABLES[turn].is_live.swap(false, Ordering::SeqCst) {
                LIVE.fetch_sub(1, Ordering::Relaxed);
            }
            match free_slot() {
                Some(slot) => slot,
                None => return false,
            }
        }
    };
    let slot = &TABLES[slot];
    slot.length.store(mapped.length, Ordering::SeqCst);
    slot.at.store(mapped.at, Ordering::SeqCst);
    slot.generation.store(table.generation(), Ordering::Relaxed);
    slot.begun_ns.store(table.begun_ns(), Ordering::Relaxed);
    slot.entries.store(table.len() as u32, Ordering::Relaxed);
    slot.answered.store(0, Ordering::Relaxed);
    let top = table.directory(0);
    let is_search = top.is_some_and(|top| top.is_partly_listed());
    slot.is_search.store(is_search, Ordering::Relaxed);
    slot.about.store(about, Ordering::Relaxed);
    slot.is_live.store(true, Ordering::SeqCst);
    LIVE.fetch_add(1, Ordering::Relaxed);
    true
}

/// Resets the state in a child, where threads that may have been inserting a table do not exist: a
/// slot that was being filled is not live yet.
pub(crate) fn after_fork() {
    IS_WRITTEN.store(false, Ordering::SeqCst);
}

/// A table's answer about a path.
pub(crate) enum TableAnswer {
    /// The entry at the path.
    Found(TableEntry),
    /// Nothing exists at the path.
    Absent,
    /// A component before the last is neither a directory nor a link.
    NotDirectory,
    /// The table does not know.
    Unknown,
}

/// An entry, and the table that it is in.
pub(crate) struct TableEntry {
    held: TableRef,
    entry: Entry<'static>,
}

impl TableEntry {
    pub(crate) fn entry(&self) -> &Entry<'static> {
        &self.entry
    }

    pub(crate) fn held(&self) -> &TableRef {
        &self.held
    }

    /// Returns the directory that the entry is, if it is listed.
    pub(crate) fn listed(&self) -> Option<Directory<'static>> {
        let directory = self.entry.directory().filter(Directory::is_listed);
        // A listing of a search path's directory is not what readdir(3) returns: it lacks `.`, for
        // example.
        directory.filter(|_| !self.held.is_search())
    }
}

/// Returns what is known about an absolute path without double slashes, and with `.` at its end
/// only. Prefers a table whose answer satisfies `is_enough`.
pub(crate) fn find(path: &[u8], is_enough: impl Fn(&TableAnswer) -> bool) -> TableAnswer {
    let mut little = TableAnswer::Unknown;
    for (slot, of) in TABLES.iter().enumerate() {
        if !of.is_live.load(Ordering::Relaxed) {
            continue;
        }
        let Some(held) = TableRef::live(slot) else {
            continue;
        };
        let rest = held.table().and_then(|table| below(path, table.path()));
        let Some(rest) = rest.filter(|_| held.is_fresh()) else {
            continue;
        };
        match walk(held, 0, rest) {
            TableAnswer::Unknown => {}
            known if is_enough(&known) => return known,
            known => little = known,
        }
    }
    little
}

/// Returns all tables that may be believed.
fn fresh() -> impl Iterator<Item = TableRef> {
    let live = |slot: &Slot| slot.is_live.load(Ordering::Relaxed);
    let slots = TABLES.iter().enumerate().filter(move |(_, of)| live(of));
    slots
        .filter_map(|(slot, _)| TableRef::live(slot))
        .filter(TableRef::is_fresh)
}

/// Returns whether a table shows that nothing exists at an absolute path.
pub(crate) fn says_absent(path: &[u8]) -> bool {
    fresh().any(|held| {
        let is_absent = held.table().is_some_and(|table| table.says_absent(path));
        if is_absent {
            held.answered();
        }
        is_absent
    })
}

/// Returns whether a table about a search path has the names in a directory.
pub(crate) fn has_names_in(directory: &[u8]) -> bool {
    fresh().filter(TableRef::is_search).any(|held| {
        matches!(walk(held, 0, directory), TableAnswer::Found(found)
            if found.entry.directory().is_some_and(|of| of.is_listed()))
    })
}

/// Returns whether there is a table about this search path, by its hash.
pub(crate) fn has_search_about(hash: u64) -> bool {
    let about = |held: &TableRef| TABLES[held.0].about.load(Ordering::Relaxed);
    is_any_live() && fresh().any(|held| held.is_search() && about(&held) == hash)
}

/// Returns the part of a path behind a directory.
fn below<'a>(path: &'a [u8], directory: &[u8]) -> Option<&'a [u8]> {
    let rest = match directory {
        b"/" => path,
        directory => path.strip_prefix(directory)?,
    };
    (rest.is_empty() || rest.starts_with(b"/")).then_some(rest)
}

/// Returns what is known about a path below a directory of a table.
pub(crate) fn walk(held: TableRef, directory: u32, path: &[u8]) -> TableAnswer {
    let Some(mut at) = held.table().and_then(|table| table.directory(directory)) else {
        return TableAnswer::Unknown;
    };
    let Some(mut entry) = at.itself() else {
        return TableAnswer::Unknown;
    };
    let names = path
        .split(|byte| *byte == b'/')
        .filter(|name| !matches!(*name, b"" | b"."));
    let mut is_directory = true;
    for name in names {
        if !is_directory {
            return no_directory(held, &entry);
        }
        if name == b".." {
            // The directories of a search path may be reached through links.
            if held.is_search() {
                return TableAnswer::Unknown;
            }
            if !is_gone_into(&at, &entry) {
                return TableAnswer::Unknown;
            }
            let Some((above, itself)) = at.parent().and_then(|up| Some((up, up.itself()?))) else {
                return TableAnswer::Unknown;
            };
            (at, entry) = (above, itself);
            continue;
        }
        if name.len() > 255 || !(at.is_listed() || at.is_partly_listed()) {
            return TableAnswer::Unknown;
        }
        let Some(found) = at.find(name) else {
            return match at.is_searchable() {
                true => answered(held, TableAnswer::Absent),
                false => TableAnswer::Unknown,
            };
        };
        entry = found;
        match entry.directory() {
            Some(below) => at = below,
            None => is_directory = false,
        }
    }
    // A slash at the end requires a directory; a dot requires one that may also be entered.
    let has_dot = path == b"." || path.ends_with(b"/.");
    if !is_directory && (has_dot || path.ends_with(b"/")) {
        return TableAnswer::Unknown;
    }
    if has_dot && !is_gone_into(&at, &entry) {
        return TableAnswer::Unknown;
    }
    TableAnswer::Found(TableEntry { held, entry })
}

/// Returns whether names in a directory, `.` and `..` included, can certainly be reached.
fn is_gone_into(directory: &Directory<'_>, itself: &Entry<'_>) -> bool {
    const ALL_PASS: u32 = 0o111;
    let is_open = |mode: u32| mode & ALL_PASS == ALL_PASS;
    directory.is_searchable() || itself.stat().is_some_and(|of| is_open(of.mode))
}

fn answered(held: TableRef, known: TableAnswer) -> TableAnswer {
    held.answered();
    known
}

/// Returns what is known if the path leads through something that is not a listed directory.
fn no_directory(held: TableRef, entry: &Entry<'static>) -> TableAnswer {
    match entry.kind() {
        // Unknown type; a directory that is not in the table; a link.
        0 | 4 | 10 => TableAnswer::Unknown,
        _ => answered(held, TableAnswer::NotDirectory),
    }
}

/// Writes the path of a directory of a table; `None` if it does not fit.
pub(crate) fn path_of<'a>(
    table: &Table<'_>,
    directory: u32,
    into: &'a mut [u8],
) -> Option<&'a [u8]> {
    let mut begin = into.len();
    let mut at = table.directory(directory)?;
    while let Some(above) = at.parent() {
        let name = at.itself()?.name();
        begin = begin.checked_sub(name.len() + 1)?;
        into.get_mut(begin + 1..begin + 1 + name.len())?
            .copy_from_slice(name);
        *into.get_mut(begin)? = b'/';
        at = above;
    }
    let top = match table.path() {
        b"/" if begin < into.len() => b"",
        path => path,
    };
    begin = begin.checked_sub(top.len())?;
    into.get_mut(begin..begin + top.len())?.copy_from_slice(top);
    into.get(begin..)
}
