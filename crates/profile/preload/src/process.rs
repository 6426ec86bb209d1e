//! The state of a process: where the shared memory is mapped, and whether the process is a child of
//! the one that mapped it.
//!
//! Forks are noticed without the C library's help, whichever call made them: a page that the kernel
//! wipes in children holds a number, the epoch. A thread compares it with the epoch in which it
//! claimed its region; a child finds zero, chooses another epoch, and each of its threads claims a
//! region of its own. A child of vfork(2) shares its parent's memory and thus its region, which the
//! parent does not use meanwhile. It claims none: the region would be the parent's, under an id that
//! soon is another program's.

use std::ffi::{CStr, c_char, c_int};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering};

use trawl_profile_mapping::layout::{
    CLOCK_AT, CLOCK_CYCLES, FLAG_CLOCK_ONLY, FLAG_MEASURE, FLAG_THREADS, FLAGS_AT, HEADER_WORDS,
    NAME_BYTES_MAX,
};
use trawl_profile_mapping::{CallSites, Layout, VARIABLE};

use crate::kernel::{self, Quiet};
use crate::{calls, clock, measure, region, site};

/// Whether the process records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum State {
    Unknown,
    /// Being found out, by this thread or another one.
    Busy,
    On,
    Off,
}

static STATE: AtomicU8 = AtomicU8::new(State::Unknown as u8);

/// No thread has this epoch.
static NO_EPOCH: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
/// Points to two words: the current epoch, and the id of the process whose memory this is. The id is 0
/// until it is known.
static EPOCH: AtomicPtr<AtomicU64> = AtomicPtr::new((&raw const NO_EPOCH).cast_mut().cast());
/// The last epoch that this process or one of its ancestors chose.
static LAST_EPOCH: AtomicU64 = AtomicU64::new(0);

static MEMORY: AtomicPtr<u64> = AtomicPtr::new(ptr::null_mut());
static FLAGS: AtomicU64 = AtomicU64::new(0);
static REGIONS: AtomicUsize = AtomicUsize::new(0);
static RESOLUTION: AtomicU8 = AtomicU8::new(1);
static BLOCK_WORDS: AtomicUsize = AtomicUsize::new(0);
static TAGS: AtomicUsize = AtomicUsize::new(0);
static NAMESPACE: AtomicU64 = AtomicU64::new(0);
static NAME: [AtomicU64; NAME_BYTES_MAX / 8] = [const { AtomicU64::new(0) }; NAME_BYTES_MAX / 8];
static NAME_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Returns the epoch; 0 if it must be chosen first.
#[inline(always)]
pub(crate) fn epoch() -> u64 {
    // SAFETY: it points to the static above or to a page that is never unmapped.
    unsafe { (*EPOCH.load(Ordering::Relaxed)).load(Ordering::Relaxed) }
}

/// Returns the number of words of a block.
#[inline(always)]
pub(crate) fn block_words() -> usize {
    BLOCK_WORDS.load(Ordering::Relaxed)
}

/// Returns where the words that say whose the blocks are begin in a region; 0 if call sites are not
/// told apart.
#[inline(always)]
pub(crate) fn tags() -> usize {
    TAGS.load(Ordering::Relaxed)
}

/// Returns the resolution.
#[inline(always)]
pub(crate) fn resolution() -> u8 {
    RESOLUTION.load(Ordering::Relaxed)
}

/// The shared memory and what is known of this process.
#[derive(Clone, Copy)]
pub(crate) struct Process {
    pub(crate) memory: *mut u64,
    pub(crate) layout: Layout,
    pub(crate) namespace: u64,
    pub(crate) name: [u64; NAME_BYTES_MAX / 8],
    pub(crate) name_bytes: usize,
    /// Whether regions of ended threads are not continued.
    pub(crate) keeps_threads: bool,
}

/// Returns the process, with an epoch; `None` if nothing is recorded. Looks for the memory first, if
/// that was not done yet.
#[cold]
pub(crate) fn get() -> Option<Process> {
    if STATE.load(Ordering::Acquire) == State::Unknown as u8 {
        // SAFETY: the C library's variable; null before it is initialised.
        unsafe { find(libc_environment()) };
    }
    if STATE.load(Ordering::Acquire) != State::On as u8 {
        return None;
    }
    choose_epoch();
    let regions = REGIONS.load(Ordering::Relaxed) as u64;
    let sites = match tags() {
        0 => CallSites::Ignored,
        _ => CallSites::Apart,
    };
    let layout = Layout::new(resolution().into(), regions, sites).ok()?;
    let mut name = [0; NAME_BYTES_MAX / 8];
    for (to, from) in name.iter_mut().zip(&NAME) {
        *to = from.load(Ordering::Relaxed);
    }
    Some(Process {
        memory: MEMORY.load(Ordering::Relaxed),
        layout,
        namespace: NAMESPACE.load(Ordering::Relaxed),
        name,
        name_bytes: NAME_BYTES.load(Ordering::Relaxed),
        keeps_threads: FLAGS.load(Ordering::Relaxed) & FLAG_THREADS != 0,
    })
}

fn libc_environment() -> *const *const c_char {
    unsafe extern "C" {
        static environ: *const *const c_char;
    }
    // SAFETY: a variable of the C library; programs that change it in other threads meanwhile break
    // getenv(3) as well.
    unsafe { environ }
}

/// Chooses an epoch, if this process is a new child.
fn choose_epoch() {
    let epoch = EPOCH.load(Ordering::Acquire);
    // SAFETY: as in `epoch`.
    let epoch = unsafe { &*epoch };
    if epoch.load(Ordering::Relaxed) == 0 {
        let next = LAST_EPOCH.fetch_add(1, Ordering::Relaxed) + 1;
        // Another thread may have been faster.
        let _ = epoch.compare_exchange(0, next, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Returns whether this process runs in the memory of its parent, as a child of vfork(2).
pub(crate) fn is_guest() -> bool {
    // SAFETY: as in `epoch`; there are two words.
    let host = unsafe { &*EPOCH.load(Ordering::Acquire).add(1) };
    let ours = u64::from(kernel::process_id());
    let known = host.load(Ordering::Relaxed);
    if known == ours {
        return false;
    }
    let is_guest = known != 0 && known == u64::from(kernel::parent_id());
    if !is_guest {
        // This is a new child; or a child of vfork(2) made the first call here, and has ended.
        host.store(ours, Ordering::Relaxed);
    }
    is_guest
}

/// Finds the shared memory, once.
///
/// # Safety
/// `environment` is NULL or an array of C strings that ends in NULL.
unsafe fn find(environment: *const *const c_char) {
    if environment.is_null() {
        return;
    }
    let busy = State::Busy as u8;
    let unknown = State::Unknown as u8;
    let order = (Ordering::Acquire, Ordering::Relaxed);
    if STATE
        .compare_exchange(unknown, busy, order.0, order.1)
        .is_err()
    {
        return;
    }
    let _quiet = Quiet::new();
    // SAFETY: guaranteed by the caller.
    let state = match unsafe { path(environment).and_then(|path| map(path)) } {
        Some(()) => State::On,
        None => State::Off,
    };
    STATE.store(state as u8, Ordering::Release);
    if state == State::On {
        region::release_those_of_former_program();
    }
}

/// Returns the value of the variable.
///
/// # Safety
/// `environment` is an array of C strings that ends in NULL.
unsafe fn path(environment: *const *const c_char) -> Option<*const c_char> {
    for at in 0.. {
        // SAFETY: guaranteed by the caller; no element before this one was NULL.
        let entry = unsafe { *environment.add(at) };
        if entry.is_null() {
            return None;
        }
        // SAFETY: as above.
        let bytes = unsafe { CStr::from_ptr(entry) }.to_bytes();
        let rest = bytes.strip_prefix(VARIABLE.as_bytes());
        if let Some(value) = rest.and_then(|rest| rest.strip_prefix(b"=")) {
            return Some(value.as_ptr().cast());
        }
    }
    None
}

/// Maps the memory and notes what its header says; `None` if it is not usable.
///
/// # Safety
/// `path` is a C string.
unsafe fn map(path: *const c_char) -> Option<()> {
    // SAFETY: guaranteed by the caller.
    let fd = unsafe { kernel::open(path) }?;
    let bytes = kernel::file_bytes(fd);
    let bytes = bytes.filter(|bytes| *bytes >= HEADER_WORDS * size_of::<u64>());
    let mapped = bytes.and_then(|bytes| kernel::map_file(fd, bytes));
    kernel::close(fd);
    let memory: *mut u64 = mapped?.cast();
    // SAFETY: the header is mapped; nobody changes these words.
    let word = |at: usize| unsafe { memory.add(at).read_volatile() };
    let layout = Layout::of_header(word).ok()?;
    if layout.words() * size_of::<u64>() > bytes? {
        return None;
    }
    clock::choose(word(CLOCK_AT) == CLOCK_CYCLES);
    FLAGS.store(word(FLAGS_AT), Ordering::Relaxed);
    RESOLUTION.store(layout.resolution(), Ordering::Relaxed);
    BLOCK_WORDS.store(layout.block_words(), Ordering::Relaxed);
    REGIONS.store(layout.regions(), Ordering::Relaxed);
    if layout.sites() == CallSites::Apart {
        site::prepare();
        TAGS.store(layout.tags(), Ordering::Relaxed);
    }
    MEMORY.store(memory, Ordering::Relaxed);
    NAMESPACE.store(kernel::pid_namespace(), Ordering::Relaxed);
    note_name();
    region::prepare();
    let page = kernel::page_wiped_on_fork()?.cast::<AtomicU64>();
    // SAFETY: there is room for two words, and no other thread knows the page yet.
    unsafe { &*page.add(1) }.store(kernel::process_id().into(), Ordering::Relaxed);
    EPOCH.store(page, Ordering::Release);
    Some(())
}

/// Notes the name of the program's file.
fn note_name() {
    let mut space = [0; 4096];
    let length = kernel::read_link(c"/proc/self/exe", &mut space).unwrap_or(0);
    let path = space.get(..length).unwrap_or_default();
    let path = path.strip_suffix(b" (deleted)").unwrap_or(path);
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    let name = name.get(..NAME_BYTES_MAX).unwrap_or(name);
    for (word, part) in NAME.iter().zip(name.chunks(8)) {
        let mut bytes = [0; 8];
        for (to, from) in bytes.iter_mut().zip(part) {
            *to = *from;
        }
        word.store(u64::from_ne_bytes(bytes), Ordering::Relaxed);
    }
    NAME_BYTES.store(name.len(), Ordering::Relaxed);
}

#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: unsafe extern "C" fn(c_int, *const *const c_char, *const *const c_char) = begin;

/// Called by the loader like the C library's constructors, with the arguments and the environment.
unsafe extern "C" fn begin(
    _count: c_int,
    _arguments: *const *const c_char,
    environment: *const *const c_char,
) {
    let quiet = Quiet::new();
    calls::look_all_up();
    // SAFETY: what the loader passes.
    unsafe { find(environment) };
    drop(quiet);
    let flags = FLAGS.load(Ordering::Relaxed);
    if flags & FLAG_MEASURE != 0
        && let Some(process) = get()
    {
        match flags & FLAG_CLOCK_ONLY {
            0 => measure::run(process.memory),
            _ => measure::run_clock(process.memory),
        }
        kernel::exit();
    }
}

#[used]
#[unsafe(link_section = ".fini_array")]
static END: unsafe extern "C" fn() = end;

/// Called when the program ends by exit(3): the region may be continued by another process.
unsafe extern "C" fn end() {
    region::release_own();
}
