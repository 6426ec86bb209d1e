//! A walk by fts(3).
//!
//! The structures that a program holds have the layout of `<fts.h>` and are allocated by malloc(3).
//! The path's buffer has room for the longest path that `fts_pathlen` can count, so it never moves.
//!
//! Source: <https://man7.org/linux/man-pages/man3/fts.3.html>; glibc 2.36, `io/fts.c`.

use std::ffi::{c_char, c_int, c_long, c_short, c_void};
use std::mem::MaybeUninit;
use std::ptr;

use crate::calls::wander;
use crate::kernel::{self, set_errno};

unsafe extern "C" {
    fn opendir(path: *const c_char) -> *mut libc::DIR;
    fn readdir(stream: *mut libc::DIR) -> *mut libc::dirent64;
    fn closedir(stream: *mut libc::DIR) -> c_int;
    fn stat(path: *const c_char, into: *mut libc::stat) -> c_int;
    fn lstat(path: *const c_char, into: *mut libc::stat) -> c_int;
}

unsafe extern "C-unwind" {
    fn qsort(at: *mut c_void, count: usize, size: usize, order: Option<Order>);
}

/// The caller's comparison function, which may throw a C++ exception.
pub(super) type Order = unsafe extern "C-unwind" fn(*const c_void, *const c_void) -> c_int;

const COMFOLLOW: c_int = 0x0001;
pub(super) const LOGICAL: c_int = 0x0002;
pub(super) const NOCHDIR: c_int = 0x0004;
const NOSTAT: c_int = 0x0008;
const PHYSICAL: c_int = 0x0010;
const SEEDOT: c_int = 0x0020;
const XDEV: c_int = 0x0040;
pub(super) const ALL_OPTIONS: c_int = 0x00ff;
const NAMEONLY: c_int = 0x0100;
pub(super) const STOP: c_int = 0x0200;
/// Distinguishes our streams from the C library's, which has no such option.
pub(super) const OURS: c_int = 0x4000_0000;

pub(super) const D: u16 = 1;
const DC: u16 = 2;
const DEFAULT: u16 = 3;
const DNR: u16 = 4;
const DOT: u16 = 5;
const DP: u16 = 6;
pub(super) const ERR: u16 = 7;
const F: u16 = 8;
const INIT: u16 = 9;
const NS: u16 = 10;
const NSOK: u16 = 11;
const SL: u16 = 12;
const SLNONE: u16 = 13;

const AGAIN: u16 = 1;
const FOLLOW: u16 = 2;
const NO_INSTRUCTION: u16 = 3;
const SKIP: u16 = 4;

/// Flag of an entry: it could not be entered, so the walk must not return from it.
pub(super) const DONTCHDIR: u16 = 1;
/// Flag of an entry: a link led there, and `symfd` leads back.
pub(super) const SYMFOLLOW: u16 = 2;

const ABOVE_ROOT: c_short = -1;
pub(super) const ROOT: c_short = 0;

/// Room for any path whose length fits `fts_pathlen`, followed by a name and a NUL.
const PATH_ROOM: usize = u16::MAX as usize + 1 + 256;

/// `FTS`.
#[repr(C)]
pub(super) struct Stream {
    pub(super) current: *mut Entry,
    pub(super) child: *mut Entry,
    array: *mut *mut Entry,
    pub(super) dev: libc::dev_t,
    path: *mut c_char,
    pub(super) root_fd: c_int,
    path_room: c_int,
    items: c_int,
    order: Option<Order>,
    pub(super) options: c_int,
}

/// `FTSENT`; the name continues behind it, followed by the result of stat(2).
#[repr(C)]
pub(super) struct Entry {
    cycle: *mut Entry,
    pub(super) parent: *mut Entry,
    pub(super) link: *mut Entry,
    number: c_long,
    pointer: *mut c_void,
    pub(super) access: *mut c_char,
    path: *mut c_char,
    pub(super) errno: c_int,
    pub(super) symfd: c_int,
    path_length: u16,
    name_length: u16,
    pub(super) ino: libc::ino_t,
    pub(super) dev: libc::dev_t,
    nlink: libc::nlink_t,
    pub(super) level: c_short,
    pub(super) info: u16,
    pub(super) flags: u16,
    instruction: u16,
    stat: *mut libc::stat,
    name: [c_char; 1],
}

/// The purpose of reading a directory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Why {
    /// For `fts_read`.
    Read,
    /// For `fts_children`.
    Children,
    /// For `fts_children`, with names only.
    Names,
}

/// Frees a linked list of entries.
///
/// # Safety
/// [`Stream::allocate`] allocated them, and no other code has them.
unsafe fn free_all(mut entry: *mut Entry) {
    while !entry.is_null() {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let next = (*entry).link;
            libc::free(entry.cast());
            entry = next;
        }
    }
}

impl Entry {
    pub(super) fn name(&mut self) -> *mut c_char {
        // A pointer to the array would cover one byte only.
        let entry = ptr::from_mut(self).cast::<c_char>();
        entry.wrapping_add(std::mem::offset_of!(Entry, name))
    }

    fn is_dot(&mut self) -> bool {
        let name = self.name();
        // SAFETY: names end in NUL.
        matches!(unsafe { kernel::bytes(name) }, Some(b"." | b".."))
    }
}

impl Stream {
    pub(super) fn has(&self, option: c_int) -> bool {
        self.options & option != 0
    }

    /// Allocates an entry; NULL if memory runs out.
    fn allocate(&self, name: &[u8]) -> *mut Entry {
        let stat_at = (size_of::<Entry>() + name.len()).next_multiple_of(align_of::<libc::stat>());
        let bytes = stat_at + size_of::<libc::stat>();
        // SAFETY: all zeros are a valid entry; there is room for the name and its NUL before the
        // `stat`, which is aligned because malloc(3) aligns the block.
        unsafe {
            let entry: *mut Entry = libc::calloc(1, bytes).cast();
            if entry.is_null() {
                return entry;
            }
            (*entry).path = self.path;
            (*entry).instruction = NO_INSTRUCTION;
            (*entry).name_length = name.len() as u16;
            if !self.has(NOSTAT) {
                (*entry).stat = entry.cast::<u8>().add(stat_at).cast();
            }
            ptr::copy_nonoverlapping(name.as_ptr(), (*entry).name().cast(), name.len());
            entry
        }
    }

    /// Looks at the object of an entry and returns its kind.
    ///
    /// # Safety
    /// The entry belongs to this stream, and its access path is the one to look at.
    unsafe fn look(&self, entry: *mut Entry, is_followed: bool) -> u16 {
        let mut apart = MaybeUninit::<libc::stat>::zeroed();
        // SAFETY: the access path ends in NUL; there is room for a `stat`, of which all zeros are a
        // valid value; entries above live as long as those below.
        unsafe {
            let into = match (*entry).stat.is_null() {
                true => apart.as_mut_ptr(),
                false => (*entry).stat,
            };
            if self.has(LOGICAL) || is_followed {
                if stat((*entry).access, into) != 0 {
                    let errno = kernel::errno();
                    if lstat((*entry).access, into) == 0 {
                        set_errno(0);
                        return SLNONE;
                    }
                    return Stream::not_seen(entry, into, errno);
                }
            } else if lstat((*entry).access, into) != 0 {
                return Stream::not_seen(entry, into, kernel::errno());
            }
            match (*into).st_mode & libc::S_IFMT {
                libc::S_IFDIR => {
                    (*entry).dev = (*into).st_dev;
                    (*entry).ino = (*into).st_ino;
                    (*entry).nlink = (*into).st_nlink;
                    if (*entry).is_dot() {
                        return DOT;
                    }
                    let mut above = (*entry).parent;
                    while (*above).level >= ROOT {
                        if (*above).ino == (*entry).ino && (*above).dev == (*entry).dev {
                            (*entry).cycle = above;
                            return DC;
                        }
                        above = (*above).parent;
                    }
                    D
                }
                libc::S_IFLNK => SL,
                libc::S_IFREG => F,
                _ => DEFAULT,
            }
        }
    }

    /// Notes that an entry could not be looked at.
    ///
    /// # Safety
    /// As [`Stream::look`].
    unsafe fn not_seen(entry: *mut Entry, into: *mut libc::stat, errno: c_int) -> u16 {
        // SAFETY: guaranteed by the caller; all zeros are a valid `stat`.
        unsafe {
            (*entry).errno = errno;
            into.write(MaybeUninit::zeroed().assume_init());
        }
        NS
    }

    /// Returns the length of the path up to where a slash follows an entry's path.
    ///
    /// # Safety
    /// The path is that of the entry.
    unsafe fn end_of(&self, entry: *mut Entry) -> usize {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let length = usize::from((*entry).path_length);
            match length > 0 && *self.path.add(length - 1) == b'/' as c_char {
                true => length - 1,
                false => length,
            }
        }
    }

    /// Begins at one of the given paths.
    ///
    /// # Safety
    /// The entry belongs to this stream.
    unsafe fn begin_at(&mut self, root: *mut Entry) {
        // SAFETY: names end in NUL; the path has room for any that `open` accepted.
        unsafe {
            let name = (*root).name();
            let length = usize::from((*root).name_length);
            (*root).path_length = (*root).name_length;
            ptr::copy_nonoverlapping(name, self.path, length + 1);
            let bytes = std::slice::from_raw_parts(name.cast::<u8>(), length);
            let slash = bytes.iter().rposition(|byte| *byte == b'/');
            if let Some(at) = slash.filter(|at| *at > 0 || length > 1) {
                let last = length - at - 1;
                ptr::copy(name.add(at + 1), name, last + 1);
                (*root).name_length = last as u16;
            }
            (*root).access = self.path;
            (*root).path = self.path;
            self.dev = (*root).dev;
        }
    }

    /// Sorts entries by the caller's order.
    ///
    /// # Safety
    /// The list has `count` entries of this stream.
    unsafe fn sort(&mut self, head: *mut Entry, count: usize) -> *mut Entry {
        let Some(order) = self.order.filter(|_| count > 1) else {
            return head;
        };
        // SAFETY: the array has room for that many; the caller's function is called with pointers
        // to two of its members.
        unsafe {
            if self.items < count as c_int {
                let room = count + 40;
                let bytes = room * size_of::<*mut Entry>();
                let array: *mut *mut Entry = libc::realloc(self.array.cast(), bytes).cast();
                if array.is_null() {
                    // As in the C library, unsorted entries are better than none.
                    libc::free(self.array.cast());
                    self.array = ptr::null_mut();
                    self.items = 0;
                    return head;
                }
                (self.array, self.items) = (array, room as c_int);
            }
            let mut next = head;
            for at in 0..count {
                self.array.add(at).write(next);
                next = (*next).link;
            }
            let array = self.array.cast();
            qsort(array, count, size_of::<*mut Entry>(), Some(order));
            for at in 1..count {
                (**self.array.add(at - 1)).link = *self.array.add(at);
            }
            (**self.array.add(count - 1)).link = ptr::null_mut();
            *self.array
        }
    }

    /// Reads the walk's present directory. Returns NULL if it is empty or cannot be read; in the
    /// latter case the entry says so if it is read for `fts_read`.
    ///
    /// # Safety
    /// The current entry is a directory, and the path is its own.
    unsafe fn build(&mut self, why: Why) -> *mut Entry {
        let current = self.current;
        // SAFETY: the access path ends in NUL; entries belong to this stream; readdir(3) returns
        // names that end in NUL and have at most 255 bytes, for which the path has room.
        unsafe {
            let stream = opendir((*current).access);
            if stream.is_null() {
                if why == Why::Read {
                    (*current).info = DNR;
                    (*current).errno = kernel::errno();
                }
                return ptr::null_mut();
            }
            // Number of directories still to come, where the parent's link count tells it.
            let is_counted = self.has(NOSTAT) && self.has(PHYSICAL);
            let mut dirs = match why {
                Why::Names => 0,
                _ if is_counted => {
                    let dots = if self.has(SEEDOT) { 0 } else { 2 };
                    i64::try_from((*current).nlink).unwrap_or(i64::MAX) - dots
                }
                _ => -1,
            };
            let is_unseen = why == Why::Names || is_counted;
            let is_gone_into = dirs != 0 || why == Why::Read;
            if is_gone_into && let Err(errno) = self.go_into_stream(current, stream) {
                closedir(stream);
                (*current).flags |= DONTCHDIR;
                if why == Why::Read {
                    if dirs != 0 {
                        (*current).errno = errno;
                    }
                    (*current).info = DP;
                }
                set_errno(errno);
                return ptr::null_mut();
            }
            let end = self.end_of(current);
            let base = end + 1;
            let is_by_path = self.has(NOCHDIR);
            if is_by_path {
                *self.path.add(end) = b'/' as c_char;
            }
            let (mut head, mut tail) = (ptr::null_mut::<Entry>(), ptr::null_mut::<Entry>());
            let mut count = 0;
            loop {
                let found = readdir(stream);
                if found.is_null() {
                    break;
                }
                let name = kernel::bytes((*found).d_name.as_ptr()).unwrap_or_default();
                if !self.has(SEEDOT) && matches!(name, b"." | b"..") {
                    continue;
                }
                let entry = self.allocate(name);
                let is_too_long = base + name.len() > usize::from(u16::MAX);
                if entry.is_null() || is_too_long {
                    let errno = match is_too_long {
                        true => libc::ENAMETOOLONG,
                        false => libc::ENOMEM,
                    };
                    libc::free(entry.cast());
                    free_all(head);
                    closedir(stream);
                    (*current).info = ERR;
                    self.options |= STOP;
                    set_errno(errno);
                    return ptr::null_mut();
                }
                (*entry).level = (*current).level + 1;
                (*entry).parent = current;
                (*entry).path_length = (base + name.len()) as u16;
                (*entry).access = match is_by_path {
                    true => self.path,
                    false => (*entry).name(),
                };
                let is_other = !matches!((*found).d_type, libc::DT_DIR | libc::DT_UNKNOWN);
                if dirs == 0 || is_unseen && is_other {
                    (*entry).info = NSOK;
                } else {
                    if is_by_path {
                        let at = self.path.add(base);
                        ptr::copy_nonoverlapping((*entry).name(), at, name.len() + 1);
                    }
                    (*entry).info = self.look(entry, false);
                    if dirs > 0 && matches!((*entry).info, D | DC | DOT) {
                        dirs -= 1;
                    }
                }
                match tail.is_null() {
                    true => head = entry,
                    false => (*tail).link = entry,
                }
                tail = entry;
                count += 1;
            }
            closedir(stream);
            if is_by_path {
                *self.path.add(if count == 0 { end } else { base }) = 0;
            }
            let is_left = is_gone_into && (why == Why::Children || count == 0);
            if is_left && let Err(errno) = self.leave(current) {
                free_all(head);
                (*current).info = ERR;
                self.options |= STOP;
                set_errno(errno);
                return ptr::null_mut();
            }
            if count == 0 {
                if why == Why::Read {
                    (*current).info = DP;
                }
                return ptr::null_mut();
            }
            self.sort(head, count)
        }
    }

    /// Returns the next entry of the walk.
    ///
    /// # Safety
    /// `self` is an open stream of ours.
    pub(super) unsafe fn read(&mut self) -> *mut Entry {
        if self.current.is_null() || self.has(STOP) {
            return ptr::null_mut();
        }
        // SAFETY: entries belong to this stream; each has one above it, up to one above the roots.
        unsafe {
            let mut at = self.current;
            let instruction = std::mem::replace(&mut (*at).instruction, NO_INSTRUCTION);
            if instruction == AGAIN {
                (*at).info = self.look(at, false);
                return at;
            }
            if instruction == FOLLOW && matches!((*at).info, SL | SLNONE) {
                (*at).info = self.look(at, true);
                self.keep_way_back(at);
                return at;
            }
            if (*at).info == D {
                if instruction == SKIP || self.has(XDEV) && (*at).dev != self.dev {
                    if (*at).flags & SYMFOLLOW != 0 {
                        let _ = kernel::close((*at).symfd);
                    }
                    free_all(std::mem::replace(&mut self.child, ptr::null_mut()));
                    (*at).info = DP;
                    return at;
                }
                if !self.child.is_null() && self.has(NAMEONLY) {
                    self.options &= !NAMEONLY;
                    free_all(std::mem::replace(&mut self.child, ptr::null_mut()));
                }
                match self.child.is_null() {
                    true => self.child = self.build(Why::Read),
                    false => self.go_into_read(at),
                }
                if self.child.is_null() {
                    return match self.has(STOP) {
                        true => ptr::null_mut(),
                        false => at,
                    };
                }
                at = std::mem::replace(&mut self.child, ptr::null_mut());
                return self.come_to(at);
            }
            loop {
                let left = at;
                at = (*left).link;
                if at.is_null() {
                    return self.back_from(left);
                }
                self.current = at;
                libc::free(left.cast());
                if (*at).level == ROOT {
                    if self.is_stopped_by(self.back_to_start()) {
                        return ptr::null_mut();
                    }
                    self.begin_at(at);
                    return at;
                }
                match (*at).instruction {
                    SKIP => continue,
                    FOLLOW => {
                        // The C library looks before it sets the path to the entry's, so it looks
                        // at the walk's previous place.
                        (*at).info = self.look(at, true);
                        self.keep_way_back(at);
                        (*at).instruction = NO_INSTRUCTION;
                    }
                    _ => {}
                }
                return self.come_to(at);
            }
        }
    }

    /// Sets the path to an entry's, which becomes the walk's present one.
    ///
    /// # Safety
    /// The entry belongs to this stream, below the one that the path leads through.
    unsafe fn come_to(&mut self, entry: *mut Entry) -> *mut Entry {
        // SAFETY: the path has room for a name behind that of the parent.
        unsafe {
            let end = self.end_of((*entry).parent);
            *self.path.add(end) = b'/' as c_char;
            let length = usize::from((*entry).name_length);
            let to = self.path.add(end + 1);
            ptr::copy_nonoverlapping((*entry).name(), to, length + 1);
        }
        self.current = entry;
        entry
    }

    /// Returns to the parent of an entry, which was the last one there.
    ///
    /// # Safety
    /// The entry belongs to this stream.
    unsafe fn back_from(&mut self, left: *mut Entry) -> *mut Entry {
        // SAFETY: guaranteed by the caller; the parent exists.
        unsafe {
            let above = (*left).parent;
            self.current = above;
            libc::free(left.cast());
            if (*above).level == ABOVE_ROOT {
                libc::free(above.cast());
                self.current = ptr::null_mut();
                set_errno(0);
                return self.current;
            }
            *self.path.add(usize::from((*above).path_length)) = 0;
            if self.is_stopped_by(self.back_out_of(above)) {
                return ptr::null_mut();
            }
            (*above).info = match (*above).errno {
                0 => DP,
                _ => ERR,
            };
            above
        }
    }

    /// Frees the stream and returns to where the walk began, as fts_close(3).
    ///
    /// # Safety
    /// `stream` is an open stream of ours, and nobody uses it afterwards.
    pub(super) unsafe fn close(stream: *mut Stream) -> c_int {
        // SAFETY: guaranteed by the caller; malloc(3) allocated all of it.
        unsafe {
            let mut at = (*stream).current;
            if !at.is_null() {
                while (*at).level >= ROOT {
                    let left = at;
                    at = match (*left).link.is_null() {
                        true => (*left).parent,
                        false => (*left).link,
                    };
                    libc::free(left.cast());
                }
                libc::free(at.cast());
            }
            free_all((*stream).child);
            libc::free((*stream).array.cast());
            libc::free((*stream).path.cast());
            let back = (*stream).end();
            libc::free(stream.cast());
            match back {
                Ok(()) => 0,
                Err(errno) => {
                    set_errno(errno);
                    -1
                }
            }
        }
    }

    /// Makes the entries to begin with; `None` if memory runs out.
    ///
    /// # Safety
    /// The paths end in NUL, the list of them in NULL.
    unsafe fn set_out(&mut self, paths: *const *const c_char) -> Option<()> {
        let held = |entry: *mut Entry| (!entry.is_null()).then_some(entry);
        // SAFETY: guaranteed by the caller; the entries are new.
        unsafe {
            let above = held(self.allocate(b""))?;
            (*above).level = ABOVE_ROOT;
            let first = held(self.allocate(b""));
            let Some(first) = first else {
                libc::free(above.cast());
                return None;
            };
            // The walk starts before the first of them.
            (*first).parent = above;
            (*first).info = INIT;
            self.current = first;
            let mut tail = first;
            let mut count = 0;
            while !(*paths.add(count)).is_null() {
                let name = kernel::bytes(*paths.add(count)).unwrap_or_default();
                let root = held(self.allocate(name))?;
                (*root).level = ROOT;
                (*root).parent = above;
                (*root).access = (*root).name();
                (*root).info = self.look(root, self.has(COMFOLLOW));
                if (*root).info == DOT {
                    (*root).info = D;
                }
                match self.order {
                    // In the order in which the C library has them before it sorts.
                    Some(_) => {
                        (*root).link = (*first).link;
                        (*first).link = root;
                    }
                    None => {
                        (*tail).link = root;
                        tail = root;
                    }
                }
                count += 1;
            }
            (*first).link = self.sort((*first).link, count);
        }
        Some(())
    }

    /// As fts_open(3), for a walk that we handle.
    ///
    /// # Safety
    /// As fts_open(3).
    pub(super) unsafe fn open(
        paths: *const *const c_char,
        options: c_int,
        order: Option<Order>,
    ) -> *mut Stream {
        // SAFETY: all zeros are a valid stream.
        unsafe {
            let stream: *mut Stream = libc::calloc(1, size_of::<Stream>()).cast();
            let path: *mut c_char = libc::malloc(PATH_ROOM).cast();
            if !stream.is_null() && !path.is_null() {
                path.write(0);
                (*stream).path = path;
                (*stream).path_room = PATH_ROOM as c_int;
                (*stream).root_fd = -1;
                (*stream).order = order;
                (*stream).options = options | OURS;
                (*stream).begin();
                if (*stream).set_out(paths).is_some() {
                    return stream;
                }
                Stream::close(stream);
            } else {
                libc::free(stream.cast());
                libc::free(path.cast());
            }
        }
        set_errno(libc::ENOMEM);
        ptr::null_mut()
    }

    /// As fts_children(3).
    ///
    /// # Safety
    /// `self` is an open stream of ours.
    pub(super) unsafe fn children(&mut self, instruction: c_int) -> *mut Entry {
        let why = match instruction {
            0 => Why::Children,
            NAMEONLY => Why::Names,
            _ => {
                set_errno(libc::EINVAL);
                return ptr::null_mut();
            }
        };
        set_errno(0);
        // SAFETY: guaranteed by the caller.
        unsafe {
            let current = self.current;
            if current.is_null() || self.has(STOP) {
                return ptr::null_mut();
            }
            match (*current).info {
                INIT => return (*current).link,
                D => {}
                _ => return ptr::null_mut(),
            }
            free_all(std::mem::replace(&mut self.child, ptr::null_mut()));
            if why == Why::Names {
                self.options |= NAMEONLY;
            }
            let fd = match (*current).level == ROOT && *(*current).access != b'/' as c_char {
                true if !self.has(NOCHDIR) => match wander::open_here() {
                    Ok(here) => Some(here),
                    Err(errno) => {
                        self.child = ptr::null_mut();
                        set_errno(errno);
                        return ptr::null_mut();
                    }
                },
                _ => None,
            };
            self.child = self.build(why);
            if let Some(here) = fd
                && let Err(errno) = wander::back_to(here.0)
            {
                set_errno(errno);
                return ptr::null_mut();
            }
            self.child
        }
    }
}
