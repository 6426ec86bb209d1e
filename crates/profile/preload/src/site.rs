//! Call sites: which block of this thread's region counts an operation that is called from a place.
//!
//! A place is known by the return address of the wrapper. The address differs from process to process,
//! so it is translated to the file that is mapped there and the offset in it: "the same call site" of
//! two processes, or of a library in two programs, is one. The translation is made once for each
//! address in a process and kept in a table; then only the tables are looked at.
//!
//! All tables are filled by whoever needs a place first, with one atomic operation, and nothing is
//! removed from them: so a signal handler that interrupts a search may search itself. What finds no
//! place is counted in the operation's block, which knows no call site.
//!
//! Not noticed: a library that is mapped where another one was unmapped.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use trawl_profile_mapping::layout::{
    MODULE_HASH_AT, MODULE_PATH_AT, MODULE_PATH_BYTES_AT, MODULE_PATH_BYTES_MAX, MODULE_WORDS,
    MODULES_MAX, PROBES, REGION_BLOCKS_AT, REGION_HEADER_WORDS, SITE_BLOCKS, SITES_MAX, TAGS, Tag,
    first_probe, site_key,
};
use trawl_profile_mapping::{Layout, Operation};

use crate::cells::Word;
use crate::kernel::{self, Quiet};
use crate::process;

/// An address of this process and its site.
struct Known {
    /// 0 for none.
    address: AtomicUsize,
    /// The site's index plus 1; 0 as long as it is being found.
    site: AtomicU32,
}

const KNOWN_MAX: usize = 2048;
/// The site's index plus 1 of an address for which there is no place.
const NO_PLACE: u32 = u32::MAX;

static KNOWN: [Known; KNOWN_MAX] = [const {
    Known {
        address: AtomicUsize::new(0),
        site: AtomicU32::new(0),
    }
}; KNOWN_MAX];

/// Returns the block of an operation that is called from an address.
///
/// # Safety
/// `start` is the region of this thread, in memory in which call sites are told apart.
#[inline(never)]
pub(crate) unsafe fn block(start: Word, operation: Operation, address: usize) -> Word {
    let own = site(address)
        // SAFETY: guaranteed by the caller.
        .and_then(|site| unsafe { own_block(start, operation, site) });
    let block = own.unwrap_or(operation as usize);
    // SAFETY: the region has this block.
    unsafe { start.add(REGION_HEADER_WORDS + block * process::block_words()) }
}

/// Returns the number of the block for a site in a thread's region; `None` if there is no room.
///
/// # Safety
/// As [`block`].
#[inline(always)]
unsafe fn own_block(start: Word, operation: Operation, site: usize) -> Option<usize> {
    let whose = Tag::whose(site, operation as usize);
    // SAFETY: guaranteed by the caller: the words lie behind the blocks.
    let tag_at = |at: usize| unsafe { AtomicU64::from_ptr(start.add(process::tags() + at)) };
    let first = first_probe(whose, TAGS);
    for probe in 0..PROBES {
        let word = tag_at((first + probe) % TAGS).load(Ordering::Relaxed);
        if word & !0xffff == whose && word != 0 {
            // The profiler checks such words; here they must not lead out of the region.
            return Tag::of(word).map(|tag| trawl_profile_mapping::calls::OPERATIONS + tag.block);
        }
        if word == 0 {
            // SAFETY: a word of the region's header, which only this thread changes.
            let next = unsafe { AtomicU64::from_ptr(start.add(REGION_BLOCKS_AT)) };
            return claim(tag_at, next, site, operation);
        }
    }
    None
}

/// Gives a block to a site.
#[cold]
fn claim<'t>(
    tag_at: impl Fn(usize) -> &'t AtomicU64,
    next: &AtomicU64,
    site: usize,
    operation: Operation,
) -> Option<usize> {
    if next.load(Ordering::Relaxed) >= SITE_BLOCKS as u64 {
        return None;
    }
    let block = usize::try_from(next.fetch_add(1, Ordering::Relaxed)).ok();
    let tag = Tag {
        site,
        operation: operation as usize,
        block: block.filter(|block| *block < SITE_BLOCKS)?,
    };
    let whose = Tag::whose(site, operation as usize);
    let first = first_probe(whose, TAGS);
    for probe in 0..PROBES {
        let place = tag_at((first + probe) % TAGS);
        let taken = place.compare_exchange(0, tag.word(), Ordering::Release, Ordering::Relaxed);
        match taken {
            Ok(_) => return Some(trawl_profile_mapping::calls::OPERATIONS + tag.block),
            // A handler was faster: the block stays unused.
            Err(word) if word & !0xffff == whose => {
                return Tag::of(word)
                    .map(|tag| trawl_profile_mapping::calls::OPERATIONS + tag.block);
            }
            Err(_) => {}
        }
    }
    None
}

/// Returns the index of a site; `None` if there is no place for it.
#[inline(always)]
fn site(address: usize) -> Option<usize> {
    let first = first_probe(address as u64, KNOWN_MAX);
    for probe in 0..PROBES {
        let known = KNOWN.get((first + probe) % KNOWN_MAX)?;
        let found = known.address.load(Ordering::Relaxed);
        if found == address {
            return match known.site.load(Ordering::Relaxed) {
                0 => find(address),
                NO_PLACE => None,
                site => Some(site as usize - 1),
            };
        }
        if found == 0 {
            return remember(known, address);
        }
    }
    find(address)
}

/// Finds a site, and keeps it if the place is still free.
#[cold]
fn remember(place: &Known, address: usize) -> Option<usize> {
    let site = find(address);
    let order = Ordering::Relaxed;
    if place
        .address
        .compare_exchange(0, address, order, order)
        .is_ok()
    {
        let number = site.and_then(|site| u32::try_from(site + 1).ok());
        place.site.store(number.unwrap_or(NO_PLACE), order);
    }
    site
}

/// Translates an address and finds its site in the shared memory.
#[cold]
fn find(address: usize) -> Option<usize> {
    let _quiet = Quiet::new();
    let process = process::get()?;
    let key = match object_at(address) {
        Some(object) => {
            let module = module(process.memory, &process.layout, &object);
            let offset = address.wrapping_sub(object.base) as u64;
            site_key(module.unwrap_or(MODULES_MAX), offset)
        }
        None => site_key(MODULES_MAX, 0),
    };
    let first = first_probe(key, SITES_MAX);
    for probe in 0..PROBES {
        let site = (first + probe) % SITES_MAX;
        // SAFETY: the layout fits the mapping, which is never unmapped.
        let place = unsafe { AtomicU64::from_ptr(process.memory.add(process.layout.site(site))) };
        let order = Ordering::Relaxed;
        match place.compare_exchange(0, key, order, order) {
            Ok(_) => return Some(site),
            Err(other) if other == key => return Some(site),
            Err(_) => {}
        }
    }
    None
}

/// A file that is mapped as part of this program.
struct Object {
    /// What the file's own addresses are added to.
    base: usize,
    /// Its path, without the zero at its end; empty for the program itself.
    path: &'static [u8],
}

/// The start of `struct link_map` (dlinfo(3)).
#[repr(C)]
struct LinkMap {
    base: usize,
    path: *const c_char,
}

/// `struct dl_find_object`, with room for later members; the fourth word is the object.
type Found = [usize; 32];
const LINK_MAP_AT: usize = 3;

/// The C library's `_dl_find_object`, since glibc 2.35: it takes no lock, and signal handlers may call
/// it. Null if there is none.
///
/// Source: <https://sourceware.org/glibc/manual/latest/html_node/Dynamic-Linker-Introspection.html>
static FIND_OBJECT: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// Looks the function up, when the memory was found.
pub(crate) fn prepare() {
    // SAFETY: the name ends in NUL.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"_dl_find_object".as_ptr()) };
    FIND_OBJECT.store(found, Ordering::Relaxed);
}

/// Returns the object at an address.
fn object_at(address: usize) -> Option<Object> {
    let function = FIND_OBJECT.load(Ordering::Relaxed);
    if function.is_null() {
        return None;
    }
    let mut found: Found = [0; 32];
    // SAFETY: the C library's function of this name has this type, and `found` has room for its
    // result. A return address may lie behind the last instruction of an object, the call does not.
    let code = unsafe {
        let function = std::mem::transmute::<
            *mut c_void,
            unsafe extern "C" fn(*const c_void, *mut Found) -> c_int,
        >(function);
        function(
            std::ptr::without_provenance(address.wrapping_sub(1)),
            &raw mut found,
        )
    };
    let map: *const LinkMap = std::ptr::with_exposed_provenance(found[LINK_MAP_AT]);
    if code != 0 || map.is_null() {
        return None;
    }
    // SAFETY: the loader's description of an object, which contains the caller and stays loaded
    // while the call is under way.
    let LinkMap { base, path } = unsafe { std::ptr::read(map) };
    let path = match path.is_null() {
        true => b"",
        // SAFETY: a C string of the loader; it is not used after the call.
        false => unsafe { CStr::from_ptr(path) }.to_bytes(),
    };
    Some(Object { base, path })
}

/// The program's own module plus 1, if it is known.
static OWN_MODULE: AtomicU32 = AtomicU32::new(0);

/// Returns the number of a module; `None` if there is no place for it.
fn module(memory: Word, layout: &Layout, object: &Object) -> Option<usize> {
    if !object.path.is_empty() {
        return module_of_path(memory, layout, object.path);
    }
    if let Some(module) = OWN_MODULE.load(Ordering::Relaxed).checked_sub(1) {
        return Some(module as usize);
    }
    let mut space = [0; 4096];
    let length = kernel::read_link(c"/proc/self/exe", &mut space).unwrap_or(0);
    let path = space.get(..length).unwrap_or_default();
    let path = path.strip_suffix(b" (deleted)").unwrap_or(path);
    let module = module_of_path(memory, layout, path)?;
    OWN_MODULE.store(u32::try_from(module + 1).unwrap_or(0), Ordering::Relaxed);
    Some(module)
}

fn module_of_path(memory: Word, layout: &Layout, path: &[u8]) -> Option<usize> {
    let path = path.get(..MODULE_PATH_BYTES_MAX).unwrap_or(path);
    // FNV-1a; 0 means none.
    let hash = path.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let hash = hash.max(1);
    let first = first_probe(hash, MODULES_MAX);
    for probe in 0..PROBES {
        let module = (first + probe) % MODULES_MAX;
        // SAFETY: the layout fits the mapping, which is never unmapped.
        let words: [&AtomicU64; MODULE_WORDS] = std::array::from_fn(|at| unsafe {
            AtomicU64::from_ptr(memory.add(layout.module(module) + at))
        });
        let order = Ordering::Relaxed;
        match words[MODULE_HASH_AT].compare_exchange(0, hash, order, order) {
            Ok(_) => {
                for (word, part) in words[MODULE_PATH_AT..].iter().zip(path.chunks(8)) {
                    let mut bytes = [0; 8];
                    for (to, from) in bytes.iter_mut().zip(part) {
                        *to = *from;
                    }
                    word.store(u64::from_ne_bytes(bytes), order);
                }
                words[MODULE_PATH_BYTES_AT].store(path.len() as u64, Ordering::Release);
                return Some(module);
            }
            Err(other) if other == hash => return Some(module),
            Err(_) => {}
        }
    }
    None
}
