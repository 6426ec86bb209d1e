//! The regions of the shared memory: which thread writes which.
//!
//! A thread claims a region with its first call, and keeps its address. When it ends, the region
//! keeps its counts, and another thread of a program of the same name may continue them, unless the
//! profiler asked for threads. If all regions are in use, calls are counted as dropped.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use trawl_profile_mapping::Operation;
use trawl_profile_mapping::layout::{
    DROPPED_AT, ENTRY_NAMESPACE_AT, ENTRY_OWNER_AT, ENTRY_STATE_AT, NEXT_AT, REGION_NAME_AT,
    REGION_NAME_BYTES_AT, REGION_PROCESS_AT, REGION_THREAD_AT, STATE_ENDED, STATE_LIVE, STATE_MASK,
};

use crate::kernel::{self, Quiet};
use crate::process::{self, Process};

/// The region of this thread.
pub(crate) struct Own {
    /// Its first word; null if there is no region for this thread.
    pub(crate) start: Cell<*mut u64>,
    /// The epoch in which it was claimed.
    pub(crate) epoch: Cell<u64>,
    number: Cell<usize>,
}

/// No thread is this owner.
const NO_OWNER: u64 = 0;

/// No process has it.
const NO_EPOCH: u64 = u64::MAX;

thread_local! {
    pub(crate) static OWN: Own = const {
        Own {
            start: Cell::new(ptr::null_mut()),
            epoch: Cell::new(NO_EPOCH),
            number: Cell::new(0),
        }
    };
}

/// A shared word, which several processes change.
///
/// # Safety
/// The word lies in the shared memory, which is never unmapped.
unsafe fn shared(process: &Process, at: usize) -> &'static AtomicU64 {
    // SAFETY: guaranteed by the caller; any bits are a valid value.
    unsafe { AtomicU64::from_ptr(process.memory.add(at)) }
}

/// An entry of the directory.
struct Entry {
    state: &'static AtomicU64,
    owner: &'static AtomicU64,
    namespace: &'static AtomicU64,
}

impl Entry {
    fn of(process: &Process, region: usize) -> Entry {
        let at = process.layout.entry(region);
        // SAFETY: the layout fits the mapping, and callers pass numbers of existing regions.
        unsafe {
            Entry {
                state: shared(process, at + ENTRY_STATE_AT),
                owner: shared(process, at + ENTRY_OWNER_AT),
                namespace: shared(process, at + ENTRY_NAMESPACE_AT),
            }
        }
    }
}

impl Entry {
    /// Lets another thread of the program with this hash continue the region.
    fn end(&self, program: u64) {
        // Until it says who it is, nobody looks whether it is gone.
        self.owner.store(NO_OWNER, Ordering::Relaxed);
        self.state.store(program | STATE_ENDED, Ordering::Release);
    }
}

/// Finds a region for this thread and returns its address. The address is null if the thread gets no
/// region: its calls are then counted as dropped. Returns `None` if this process records nothing.
#[cold]
pub(crate) fn find(own: &Own) -> Option<*mut u64> {
    let _quiet = Quiet::new();
    let process = process::get()?;
    if process::is_guest() {
        return Some(ptr::null_mut());
    }
    let epoch = process::epoch();
    let found = claim(&process);
    if let Some(region) = found {
        own.number.set(region);
        announce_end();
    }
    let start = found.map_or(ptr::null_mut(), |region| {
        // SAFETY: the layout fits the mapping.
        unsafe { process.memory.add(process.layout.region(region)) }
    });
    own.start.set(start);
    own.epoch.set(epoch);
    Some(start)
}

/// Counts a call for which there is no region.
#[cold]
pub(crate) fn drop_one(operation: Operation) {
    if let Some(process) = process::get() {
        // SAFETY: the header has a word for each operation.
        let word = unsafe { shared(&process, DROPPED_AT + operation as usize) };
        word.fetch_add(1, Ordering::Relaxed);
    }
}

/// Claims a region and returns its number.
fn claim(process: &Process) -> Option<usize> {
    let program = hash(process);
    let owner = u64::from(kernel::process_id()) << 32 | u64::from(kernel::thread_id());
    let dead = || abandoned(process, program, owner);
    // A program whose processes end by _exit(2) or signals leaves room for others.
    let is_scarce = given_out(process) > process.layout.regions() / 2;
    let region = ended(process, program)
        .or_else(|| is_scarce.then(dead).flatten())
        .or_else(|| fresh(process))
        .or_else(dead)?;
    let entry = Entry::of(process, region);
    entry.owner.store(owner, Ordering::Relaxed);
    entry.namespace.store(process.namespace, Ordering::Relaxed);
    // SAFETY: the layout fits the mapping, and this thread owns the region.
    unsafe {
        let start = process.memory.add(process.layout.region(region));
        start.add(REGION_PROCESS_AT).write(owner >> 32);
        start.add(REGION_THREAD_AT).write(owner & 0xffff_ffff);
        let name_bytes = process.name_bytes as u64;
        start.add(REGION_NAME_BYTES_AT).write(name_bytes);
        for (at, word) in process.name.iter().enumerate() {
            start.add(REGION_NAME_AT + at).write(*word);
        }
    }
    entry.state.store(program | STATE_LIVE, Ordering::Release);
    Some(region)
}

/// Returns the program's hash, with zeroes for the state.
fn hash(process: &Process) -> u64 {
    // FNV-1a, by words.
    let words = process.name.iter();
    let hash = words.fold(0xcbf2_9ce4_8422_2325_u64, |hash, word| {
        (hash ^ word).wrapping_mul(0x0100_0000_01b3)
    });
    hash & !STATE_MASK
}

/// Returns the number of regions that were given out.
fn given_out(process: &Process) -> usize {
    // SAFETY: a word of the header.
    let next = unsafe { shared(process, NEXT_AT) }.load(Ordering::Acquire);
    usize::try_from(next).map_or(process.layout.regions(), |next| {
        next.min(process.layout.regions())
    })
}

/// Takes over the region of an ended thread of this program.
fn ended(process: &Process, program: u64) -> Option<usize> {
    if process.keeps_threads {
        return None;
    }
    (0..given_out(process)).find(|region| {
        let state = Entry::of(process, *region).state;
        let (ended, live) = (program | STATE_ENDED, program | STATE_LIVE);
        state.load(Ordering::Relaxed) == ended
            && state
                .compare_exchange(ended, live, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
    })
}

/// Takes a region that was never given out.
fn fresh(process: &Process) -> Option<usize> {
    // SAFETY: a word of the header.
    let next = unsafe { shared(process, NEXT_AT) };
    let limit = process.layout.regions() as u64;
    let taken = next.fetch_update(Ordering::AcqRel, Ordering::Relaxed, |next| {
        (next < limit).then_some(next + 1)
    });
    taken.ok().and_then(|region| usize::try_from(region).ok())
}

/// Takes over the region of a thread of this program whose process ended without a word.
fn abandoned(process: &Process, program: u64, ours: u64) -> Option<usize> {
    if process.keeps_threads || process.namespace == 0 {
        return None;
    }
    (0..given_out(process)).find(|region| {
        let entry = Entry::of(process, *region);
        let owner = entry.owner.load(Ordering::Relaxed);
        entry.state.load(Ordering::Acquire) == program | STATE_LIVE
            && owner != NO_OWNER
            && entry.namespace.load(Ordering::Relaxed) == process.namespace
            && kernel::is_gone((owner >> 32) as u32)
            && entry
                .owner
                .compare_exchange(owner, ours, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
    })
}

/// Lets others continue the regions of the program that this process ran before execve(2).
pub(crate) fn release_those_of_former_program() {
    let Some(process) = process::get().filter(|one| !one.keeps_threads && one.namespace != 0)
    else {
        return;
    };
    let ours = u64::from(kernel::process_id());
    for region in 0..given_out(&process) {
        let entry = Entry::of(&process, region);
        let state = entry.state.load(Ordering::Acquire);
        if state & STATE_MASK == STATE_LIVE
            && entry.owner.load(Ordering::Relaxed) >> 32 == ours
            && entry.namespace.load(Ordering::Relaxed) == process.namespace
        {
            entry.end(state & !STATE_MASK);
        }
    }
}

/// Lets others continue this thread's region. Its next call, if there is one, finds another.
pub(crate) fn release_own() {
    OWN.with(|own| {
        if release(own) {
            own.epoch.set(NO_EPOCH);
        }
    });
}

/// Returns whether this thread had a region.
fn release(own: &Own) -> bool {
    // A child of fork(2) inherits its parent's region, which is not its own.
    let is_own = own.epoch.get() == process::epoch() && !own.start.get().is_null();
    let process = process::get().filter(|_| is_own);
    if let Some(process) = process.as_ref() {
        own.start.set(ptr::null_mut());
        Entry::of(process, own.number.get()).end(hash(process));
    }
    process.is_some()
}

/// The key whose destructor notices the end of threads, plus 1; 0 if there is none.
static KEY: AtomicU32 = AtomicU32::new(0);

/// The C library has room for the values of the first keys in each thread and allocates for others.
const KEYS_WITHOUT_ALLOCATION: u32 = 32;

/// The rounds of destructors in which the thread keeps its region, because destructors of other keys
/// may make calls. The C library makes four rounds.
const ROUNDS: usize = 3;

/// Makes the key, when the memory was found.
pub(crate) fn prepare() {
    let mut key = 0;
    // SAFETY: there is room for the key, and the destructor has the expected type.
    let code = unsafe { libc::pthread_key_create(&raw mut key, Some(thread_ends)) };
    if code == 0 && key < KEYS_WITHOUT_ALLOCATION {
        KEY.store(key + 1, Ordering::Relaxed);
    }
}

/// Has [`thread_ends`] called at this thread's end.
fn announce_end() {
    set_value(1);
}

fn set_value(round: usize) {
    if let Some(key) = KEY.load(Ordering::Relaxed).checked_sub(1) {
        let value = ptr::without_provenance::<c_void>(round);
        // SAFETY: the key exists; the value is a number that nobody follows.
        unsafe { libc::pthread_setspecific(key, value) };
    }
}

/// Called by the C library when a thread that has a region ends, once in each round.
unsafe extern "C" fn thread_ends(round: *mut c_void) {
    match round.addr() {
        round if round < ROUNDS => set_value(round + 1),
        // Further calls of this thread are counted as dropped.
        _ => OWN.with(|own| {
            release(own);
        }),
    }
}
