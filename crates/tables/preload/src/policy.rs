//! Decides when to ask the service, and for how much.
//!
//! A question costs some ten system calls and the walk on the service's side. In `patient` mode a
//! program asks once it has shown that it visits many directories, or looks at many files of one
//! directory, and that each call takes long (`meter`). In `eager` mode, where each call costs a
//! round trip, it asks at once. The first table is small, and each further one is four times as
//! large, as in read-ahead of files. Nothing is asked while changes are made, since each change
//! invalidates all tables. After a question in vain the pause doubles.

use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU32, AtomicU64, Ordering};

use trawl_table::Level;
use trawl_table::wire::{Extent, Question};
use trawl_table_client::ask;

use crate::kernel::{self, Quiet};
use crate::place::CallPath;
use crate::tables::TableAnswer;
use crate::{behind, meter, page, search_path, settings, tables};

/// The question behind a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallQuestion {
    /// The names in a directory.
    List,
    /// The result of lstat(2), or a link's target.
    Stat,
    /// Whether there are extended attributes.
    Attributes,
}

/// Number of opened directories before the first question, and of calls of one kind for one
/// directory.
const PATIENCE_LISTS: u32 = 2;
const PATIENCE_STATS: u32 = 8;
const PATIENCE_LEVEL: u32 = 4;

/// Number of the last timed calls that must have been expensive.
const DEAR_OPENS: u32 = 2;
const DEAR_LOOKS: u32 = 4;

/// Nothing is asked for this long after a change.
const SETTLED_NS: i64 = 20_000_000;
const BACKOFF_MIN_NS: i64 = 10_000_000;
const BACKOFF_MAX_NS: i64 = 1_000_000_000;

const WINDOW_MIN: u32 = 512;

static LISTS: AtomicU32 = AtomicU32::new(0);
static LEVEL: AtomicU8 = AtomicU8::new(0);
static WINDOW: AtomicU32 = AtomicU32::new(WINDOW_MIN);
static NOT_BEFORE_NS: AtomicI64 = AtomicI64::new(0);
/// Duration of the last question.
static ASKED_NS: AtomicI64 = AtomicI64::new(0);
static BACKOFF_NS: AtomicI64 = AtomicI64::new(0);
/// Hash of the directory about which something was last asked in vain, and the number of times.
static LAST_DIRECTORY: AtomicU64 = AtomicU64::new(0);
static LAST_COUNT: AtomicU32 = AtomicU32::new(0);
static LEVEL_MISSES: AtomicU32 = AtomicU32::new(0);

/// Returns whether it is worthwhile to determine where a path is.
#[inline]
pub(crate) fn is_worth_a_look() -> bool {
    if settings::is_restless() {
        return true;
    }
    if tables::is_any_live() {
        return page::generation().is_some();
    }
    let is_dear = settings::is_ready() || meter::are_looks_dear(2) || meter::are_opens_dear(1);
    (is_dear || meter::is_sampled()) && kernel::now_ns() >= NOT_BEFORE_NS.load(Ordering::Relaxed)
}

/// Returns whether so many directories were opened that locating an open one is worth a system
/// call.
pub(crate) fn goes_through_directories() -> bool {
    settings::is_eager() || (LISTS.load(Ordering::Relaxed) >= PATIENCE_LISTS && is_dear_to_walk())
}

/// Returns whether visiting directories is expensive, or is to be treated as such.
fn is_dear_to_walk() -> bool {
    settings::is_ready() || meter::are_opens_dear(DEAR_OPENS)
}

/// Returns whether looking at files is expensive, or is to be treated as such.
pub(crate) fn is_dear_to_look() -> bool {
    settings::is_ready() || meter::are_looks_dear(DEAR_LOOKS)
}

/// Counts a directory that is opened without an answer, from an unknown place.
pub(crate) fn opens_directory() {
    LISTS.fetch_add(1, Ordering::Relaxed);
    meter::begin();
}

/// Records the end of a table after `answered` answers; `is_old` is false if a change ended it.
///
/// A table that was not used up before it became too old was too large: the next one gets the size
/// that was used.
pub(crate) fn table_ended(answered: u32, entries: u32, is_old: bool) {
    let was_worth_it = answered >= entries / 2;
    if is_old && !was_worth_it {
        let most = answered.saturating_mul(2).max(WINDOW_MIN);
        WINDOW.fetch_min(most, Ordering::Relaxed);
    }
    match was_worth_it {
        true => BACKOFF_NS.store(0, Ordering::Relaxed),
        false => wait(),
    }
}

/// Records that an answer did not contain what was asked for.
pub(crate) fn asked_in_vain() {
    wait();
}

/// Pauses for twice as long as the last time, and much longer than the last answer took: questions
/// in vain then take a small part of the time.
fn wait() {
    let took = ASKED_NS.load(Ordering::Relaxed).saturating_mul(8);
    let backoff = BACKOFF_NS.load(Ordering::Relaxed).saturating_mul(2);
    let backoff = backoff.clamp(BACKOFF_MIN_NS, BACKOFF_MAX_NS).max(took);
    BACKOFF_NS.store(backoff, Ordering::Relaxed);
    NOT_BEFORE_NS.store(kernel::now_ns().saturating_add(backoff), Ordering::Relaxed);
}

/// The result of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QuestionResult {
    /// Nothing was asked, or there was no answer.
    Nothing,
    /// A table that should have the wanted answer.
    Table,
    /// A table about a search path, which shows which names do not exist.
    SearchPath,
}

/// Asks for the wanted answer, if the time is right. `is_there` says that a table about a search
/// path has the name.
pub(crate) fn ask_for(
    place: &CallPath,
    want: CallQuestion,
    is_in_table: bool,
    is_there: bool,
) -> QuestionResult {
    let Some(path) = place.plain() else {
        return QuestionResult::Nothing;
    };
    let is_searched = want == CallQuestion::Stat && search_path::has(parent(path));
    if is_searched && !is_in_table && !is_there {
        let _quiet = Quiet::new();
        return match search_path::ask_for() {
            true => QuestionResult::SearchPath,
            false => QuestionResult::Nothing,
        };
    }
    match ask_about(path, place, want, is_in_table) {
        true => QuestionResult::Table,
        false => QuestionResult::Nothing,
    }
}

fn ask_about(path: &[u8], place: &CallPath, want: CallQuestion, is_in_table: bool) -> bool {
    let (directory, is_due) = match want {
        CallQuestion::List => (path, is_list_due()),
        CallQuestion::Stat | CallQuestion::Attributes => {
            let directory = parent(path);
            (directory, is_name_due(directory, want, is_in_table))
        }
    };
    if !is_due || !settings::is_covered(directory) {
        return false;
    }
    let _quiet = Quiet::new();
    is_quiet() && behind::is_nobody() && ask_now(directory, place.is_in_order())
}

/// Returns the length of the path of the directory that the new table is to begin at: the top of
/// the table that has the parent, if that table was full before it reached this directory;
/// otherwise the parent, so that this directory's siblings become known, too.
fn top(directory: &[u8]) -> usize {
    let above = parent(directory);
    if !settings::is_covered(above) {
        return directory.len();
    }
    let is_listed = |known: &TableAnswer| matches!(known, TableAnswer::Found(found) if found.listed().is_some());
    match tables::find(above, is_listed) {
        TableAnswer::Found(found) if found.listed().is_some() => {
            let top = found.held().table().map_or(0, |table| table.path().len());
            top.min(above.len())
        }
        _ if settings::is_eager() => directory.len(),
        _ => above.len(),
    }
}

fn is_list_due() -> bool {
    let before = LISTS.fetch_add(1, Ordering::Relaxed);
    settings::is_eager() || (before >= PATIENCE_LISTS && is_dear_to_walk())
}

fn is_name_due(directory: &[u8], want: CallQuestion, is_in_table: bool) -> bool {
    let level = match want {
        CallQuestion::Attributes => Level::Attributes,
        _ => Level::Stats,
    };
    let patience = match is_in_table {
        true => PATIENCE_LEVEL,
        false => PATIENCE_STATS,
    };
    let count = match is_in_table {
        true => LEVEL_MISSES.fetch_add(1, Ordering::Relaxed) + 1,
        false => count_directory(directory),
    };
    let is_walk = is_in_table && goes_through_directories();
    // That a program was found in a search path does not mean that the other files of its directory
    // are wanted.
    let is_eager = settings::is_eager() && !search_path::has(directory);
    let pays = is_in_table || is_dear_to_look();
    let is_due = is_eager || is_walk || (count >= patience && pays);
    if is_due {
        LEVEL.fetch_max(level as u8, Ordering::Relaxed);
        LEVEL_MISSES.store(0, Ordering::Relaxed);
    }
    is_due
}

fn count_directory(directory: &[u8]) -> u32 {
    let hash = hash(directory);
    if LAST_DIRECTORY.swap(hash, Ordering::Relaxed) == hash {
        return LAST_COUNT.fetch_add(1, Ordering::Relaxed) + 1;
    }
    LAST_COUNT.store(1, Ordering::Relaxed);
    1
}

/// FNV-1a hash; a collision costs one question.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// Returns whether a question makes sense now: no change was made recently, and no recent question
/// was in vain.
pub(crate) fn is_quiet() -> bool {
    if settings::is_restless() {
        return page::generation().is_some();
    }
    let now = kernel::now_ns();
    if now < NOT_BEFORE_NS.load(Ordering::Relaxed) || page::generation().is_none() {
        return false;
    }
    let changed = page::changed_ns();
    let is_settled = changed == 0 || now.saturating_sub(changed) >= SETTLED_NS;
    if !is_settled {
        let until = changed.saturating_add(SETTLED_NS);
        NOT_BEFORE_NS.store(until, Ordering::Relaxed);
    }
    is_settled
}

/// Asks about a directory. If the program visits directories in the order of their listings, the
/// table begins there; otherwise it covers everything from the top.
fn ask_now(directory: &[u8], is_in_order: bool) -> bool {
    let goes_through = goes_through_directories();
    let top = match goes_through {
        true => top(directory),
        false => directory.len(),
    };
    let (path, from) = match directory.split_at(top) {
        // `/a` lies below `/`, whose path is the slash itself.
        (b"", _) | (b"/", _) => (&b"/"[..], directory),
        parts => parts,
    };
    let window = WINDOW.load(Ordering::Relaxed);
    let question = Question {
        path,
        from: match path != directory && is_in_order {
            true => from,
            false => b"",
        },
        level: Level::from_number(LEVEL.load(Ordering::Relaxed)).unwrap_or(Level::Names),
        extent: match goes_through {
            true => Extent::Below,
            false => Extent::Alone,
        },
        entries_max: window.min(settings::entries_max()),
    };
    let begun = kernel::now_ns();
    page::asks_for_tables();
    let is_in = ask(settings::socket(), settings::user(), &question)
        .is_some_and(|mapped| tables::put(&mapped, 0));
    let took = kernel::now_ns().saturating_sub(begun);
    ASKED_NS.store(took, Ordering::Relaxed);
    match is_in {
        false => wait(),
        true if goes_through => {
            let window = window.saturating_mul(4).min(settings::entries_max());
            WINDOW.store(window.max(WINDOW_MIN), Ordering::Relaxed);
        }
        true => {}
    }
    is_in
}

fn parent(path: &[u8]) -> &[u8] {
    match path.iter().rposition(|byte| *byte == b'/') {
        None | Some(0) => b"/",
        Some(at) => &path[..at],
    }
}
