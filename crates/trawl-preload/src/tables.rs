//! The tables that this process has mapped.
//!
//! A table lies in a slot. Who reads it counts as a user of the slot; it is unmapped once it is
//! not live and has no users. Only one thread at a time puts tables in or takes them away, and
//! nobody waits for it: who comes second does without.

use std::ptr;
use std::sync::atomic::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};

use trawl_bulk_client::Mapped;
use trawl_table::{Directory, Entry, Table};

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
    /// The hash of what it was asked about, if that is a search path.
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

    /// Whether it may be believed still.
    fn is_fresh(&self) -> bool {
        let age = kernel::now_ns().saturating_sub(self.begun_ns.load(Ordering::Relaxed));
        let is_young = age < settings::age_ns();
        let Some(generation) = page::generation() else {
            // For now: who is at work may turn out to change nothing.
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

/// Whether there is any table that may be good.
#[inline]
pub(crate) fn is_any_live() -> bool {
    LIVE.load(Ordering::Relaxed) > 0
}

/// A table that stays mapped.
pub(crate) struct Held(usize);

impl Drop for Held {
    fn drop(&mut self) {
        TABLES[self.0].users.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Held {
    fn live(slot: usize) -> Option<Held> {
        let of = TABLES.get(slot)?;
        of.users.fetch_add(1, Ordering::SeqCst);
        let held = Held(slot);
        of.is_live.load(Ordering::SeqCst).then_some(held)
    }

    /// One more for the same table.
    pub(crate) fn again(&self) -> Held {
        TABLES[self.0].users.fetch_add(1, Ordering::SeqCst);
        Held(self.0)
    }

    /// The slot; [`Held::of_number`] makes it whole again.
    pub(crate) fn into_number(self) -> u32 {
        let number = self.0 as u32;
        std::mem::forget(self);
        number
    }

    /// What [`Held::into_number`] gave, once.
    pub(crate) fn of_number(number: u32) -> Held {
        Held((number as usize).min(SLOTS - 1))
    }

    /// The table.
    pub(crate) fn table(&self) -> Option<Table<'static>> {
        let slot = &TABLES[self.0];
        let at = slot.at.load(Ordering::SeqCst);
        let length = slot.length.load(Ordering::SeqCst);
        if at.is_null() {
            return None;
        }
        // SAFETY: the mapping has that many bytes, is sealed memory, so that nobody changes it, and
        // stays as long as the slot has a user. The lifetime is longer than that: every value that
        // is made of it here is used while this `Held` lives, which `Found` keeps with them.
        let bytes = unsafe { std::slice::from_raw_parts(at, length) };
        Table::new(bytes).ok()
    }

    /// Whether what it says is to be believed.
    pub(crate) fn is_fresh(&self) -> bool {
        TABLES[self.0].is_fresh()
    }

    /// Whether it is about a search path: then it only says what is not there.
    pub(crate) fn is_search(&self) -> bool {
        TABLES[self.0].is_search.load(Ordering::Relaxed)
    }

    /// Counts an answer.
    pub(crate) fn answered(&self) {
        self.answered_many(1);
    }

    /// Counts what a program is given.
    pub(crate) fn answered_many(&self, number: u32) {
        let _ = TABLES[self.0].answered.fetch_add(number, Ordering::Relaxed);
    }
}

/// Unmaps what nobody uses, and gives a slot that is free.
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
            // SAFETY: it is not live and had no user after that was so: nobody can come by it.
            unsafe { kernel::unmap(at, slot.length.load(Ordering::SeqCst)) };
        }
        free = Some(number);
    }
    free
}

/// Puts a table in; `about` is the hash of a search path that was asked about. It is taken away again
/// if there is no room, or if another thread is at it.
pub(crate) fn put(mapped: &Mapped, about: u64) -> bool {
    if IS_WRITTEN.swap(true, Ordering::SeqCst) {
        // SAFETY: nobody has seen it.
        unsafe { kernel::unmap(mapped.at, mapped.length) };
        return false;
    }
    let is_in = put_alone(mapped, about);
    IS_WRITTEN.store(false, Ordering::SeqCst);
    if !is_in {
        // SAFETY: nobody has seen it.
        unsafe { kernel::unmap(mapped.at, mapped.length) };
    }
    is_in
}

fn put_alone(mapped: &Mapped, about: u64) -> bool {
    // SAFETY: as in `Held::table`; nobody unmaps it before this ends.
    let bytes = unsafe { std::slice::from_raw_parts(mapped.at, mapped.length) };
    let Ok(table) = Table::new(bytes) else {
        return false;
    };
    // It cannot have been begun in the future: the clock here is some milliseconds behind.
    if table.begun_ns() > kernel::now_ns().saturating_add(1_000_000_000) {
        return false;
    }
    let slot = match free_slot() {
        Some(slot) => slot,
        None => {
            // One in turn goes; its place is free once its users are gone.
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

/// In a child, which has none of the threads that may have been at it: a slot that one was putting a
/// table in is not live yet.
pub(crate) fn after_fork() {
    IS_WRITTEN.store(false, Ordering::SeqCst);
}

/// What a table says of a path.
pub(crate) enum Known {
    /// What it is.
    Found(Found),
    /// There is none.
    Absent,
    /// One of the names before the last is no directory, nor a link.
    NotDirectory,
    /// Nothing.
    Unknown,
}

/// An entry, and the table that it is in.
pub(crate) struct Found {
    held: Held,
    entry: Entry<'static>,
}

impl Found {
    pub(crate) fn entry(&self) -> &Entry<'static> {
        &self.entry
    }

    pub(crate) fn held(&self) -> &Held {
        &self.held
    }

    /// The directory that it is, if that is listed.
    pub(crate) fn listed(&self) -> Option<Directory<'static>> {
        let directory = self.entry.directory().filter(Directory::is_listed);
        // Of a search path what is listed is not all that is read: it lacks `.`, say.
        directory.filter(|_| !self.held.is_search())
    }
}

/// What is known of an absolute path without double slashes, and `.` at its end alone: by a table that says enough of
/// it, if there is one.
pub(crate) fn find(path: &[u8], is_enough: impl Fn(&Known) -> bool) -> Known {
    let mut little = Known::Unknown;
    for (slot, of) in TABLES.iter().enumerate() {
        if !of.is_live.load(Ordering::Relaxed) {
            continue;
        }
        let Some(held) = Held::live(slot) else {
            continue;
        };
        let rest = held.table().and_then(|table| below(path, table.path()));
        let Some(rest) = rest.filter(|_| held.is_fresh()) else {
            continue;
        };
        match walk(held, 0, rest) {
            Known::Unknown => {}
            known if is_enough(&known) => return known,
            known => little = known,
        }
    }
    little
}

/// All tables that may be believed.
fn fresh() -> impl Iterator<Item = Held> {
    let live = |slot: &Slot| slot.is_live.load(Ordering::Relaxed);
    let slots = TABLES.iter().enumerate().filter(move |(_, of)| live(of));
    slots
        .filter_map(|(slot, _)| Held::live(slot))
        .filter(Held::is_fresh)
}

/// Whether a table says that nothing is at an absolute path.
pub(crate) fn says_absent(path: &[u8]) -> bool {
    fresh().any(|held| {
        let is_absent = held.table().is_some_and(|table| table.says_absent(path));
        if is_absent {
            held.answered();
        }
        is_absent
    })
}

/// Whether a table about a search path has the names in a directory.
pub(crate) fn has_names_in(directory: &[u8]) -> bool {
    fresh().filter(Held::is_search).any(|held| {
        matches!(walk(held, 0, directory), Known::Found(found)
            if found.entry.directory().is_some_and(|of| of.is_listed()))
    })
}

/// Whether there is a table about this search path, by its hash.
pub(crate) fn has_search_about(hash: u64) -> bool {
    let about = |held: &Held| TABLES[held.0].about.load(Ordering::Relaxed);
    is_any_live() && fresh().any(|held| held.is_search() && about(&held) == hash)
}

/// What follows a directory in a path.
fn below<'a>(path: &'a [u8], directory: &[u8]) -> Option<&'a [u8]> {
    let rest = match directory {
        b"/" => path,
        directory => path.strip_prefix(directory)?,
    };
    (rest.is_empty() || rest.starts_with(b"/")).then_some(rest)
}

/// What is known of a path below a directory of a table.
pub(crate) fn walk(held: Held, directory: u32, path: &[u8]) -> Known {
    let Some(mut at) = held.table().and_then(|table| table.directory(directory)) else {
        return Known::Unknown;
    };
    let Some(mut entry) = at.itself() else {
        return Known::Unknown;
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
            // In a search path directories may be behind links.
            if held.is_search() {
                return Known::Unknown;
            }
            if !is_gone_into(&at, &entry) {
                return Known::Unknown;
            }
            let Some((above, itself)) = at.parent().and_then(|up| Some((up, up.itself()?))) else {
                return Known::Unknown;
            };
            (at, entry) = (above, itself);
            continue;
        }
        if name.len() > 255 || !(at.is_listed() || at.is_partly_listed()) {
            return Known::Unknown;
        }
        let Some(found) = at.find(name) else {
            return match at.is_searchable() {
                true => answered(held, Known::Absent),
                false => Known::Unknown,
            };
        };
        entry = found;
        match entry.directory() {
            Some(below) => at = below,
            None => is_directory = false,
        }
    }
    // With a slash at its end it would have to be a directory, with a dot one that lets in.
    let has_dot = path == b"." || path.ends_with(b"/.");
    if !is_directory && (has_dot || path.ends_with(b"/")) {
        return Known::Unknown;
    }
    if has_dot && !is_gone_into(&at, &entry) {
        return Known::Unknown;
    }
    Known::Found(Found { held, entry })
}

/// Whether it is certain that names in a directory, `.` and `..` among them, may be reached.
fn is_gone_into(directory: &Directory<'_>, itself: &Entry<'_>) -> bool {
    const ALL_PASS: u32 = 0o111;
    let is_open = |mode: u32| mode & ALL_PASS == ALL_PASS;
    directory.is_searchable() || itself.stat().is_some_and(|of| is_open(of.mode))
}

fn answered(held: Held, known: Known) -> Known {
    held.answered();
    known
}

/// What is known where something that is not a listed directory would have to be gone through.
fn no_directory(held: Held, entry: &Entry<'static>) -> Known {
    match entry.kind() {
        // Not said; a directory that is not in the table; a link.
        0 | 4 | 10 => Known::Unknown,
        _ => answered(held, Known::NotDirectory),
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
