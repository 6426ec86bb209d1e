//! ftw(3) and nftw(3), which walk directories inside the C library: reimplemented over our
//! functions.
//!
//! With `FTW_CHDIR` the working directory is the one that holds the object. It is changed where the
//! C library changes it; a directory known from a table is entered only if it is still the same
//! one.
//!
//! Source: glibc 2.36, `io/ftw.c`.

use std::collections::HashSet;
use std::ffi::{CStr, c_char, c_int};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr;

use crate::calls::wander;
use crate::kernel::{self, Own, set_errno};
use crate::real::real;
use crate::{descriptors, place, settings, streams};

unsafe extern "C" {
    fn opendir(path: *const c_char) -> *mut libc::DIR;
    fn openat(directory: c_int, path: *const c_char, flags: c_int, ...) -> c_int;
    fn fdopendir(fd: c_int) -> *mut libc::DIR;
    fn readdir(stream: *mut libc::DIR) -> *mut libc::dirent64;
    fn closedir(stream: *mut libc::DIR) -> c_int;
    fn rewinddir(stream: *mut libc::DIR);
    fn dirfd(stream: *mut libc::DIR) -> c_int;
    fn stat(path: *const c_char, into: *mut libc::stat) -> c_int;
    fn lstat(path: *const c_char, into: *mut libc::stat) -> c_int;
    fn fstatat(at: c_int, path: *const c_char, into: *mut libc::stat, flags: c_int) -> c_int;
}

const FILE: c_int = 0;
const DIRECTORY: c_int = 1;
const UNREADABLE: c_int = 2;
const NO_STAT: c_int = 3;
const LINK: c_int = 4;
const DIRECTORY_AFTER: c_int = 5;
const DANGLING: c_int = 6;

const PHYSICAL: c_int = 1;
const ONE_SYSTEM: c_int = 2;
const CHDIR: c_int = 4;
const DEPTH_FIRST: c_int = 8;
const ACTIONS: c_int = 16;
const ALL_FLAGS: c_int = PHYSICAL | ONE_SYSTEM | CHDIR | DEPTH_FIRST | ACTIONS;

const STOP: c_int = 1;
const SKIP_SUBTREE: c_int = 2;
const SKIP_SIBLINGS: c_int = 3;

/// Maps the kinds that nftw(3) reports to those of ftw(3).
const OLD_KINDS: [c_int; 7] = [
    FILE, DIRECTORY, UNREADABLE, NO_STAT, FILE, DIRECTORY, NO_STAT,
];

/// `struct FTW`.
#[repr(C)]
struct Level {
    base: c_int,
    level: c_int,
}

/// The caller's function, which may throw a C++ exception. That of ftw(3) ignores the last
/// argument.
type Function =
    unsafe extern "C-unwind" fn(*const c_char, *const libc::stat, c_int, *mut Level) -> c_int;

/// An open directory of the walk.
struct Open {
    /// NULL once its descriptor was needed for another directory.
    stream: *mut libc::DIR,
    /// The names that were unread then, each followed by a NUL.
    rest: Vec<u8>,
    /// Number of bytes of `rest` that were consumed.
    gone: usize,
    /// Descriptor with which the walk returns to this directory, if the stream itself does not
    /// suffice. It is closed together with the stream when the descriptor is needed.
    way_back: Option<Own>,
}

impl Open {
    fn close(&mut self) {
        if !self.stream.is_null() {
            let errno = kernel::errno();
            // SAFETY: an open stream of ours.
            unsafe { closedir(self.stream) };
            self.stream = ptr::null_mut();
            set_errno(errno);
        }
        self.way_back = None;
    }

    /// Reads the rest of the names, so that the stream can be closed; `None` if memory runs out.
    fn finish(&mut self) -> Option<()> {
        loop {
            // SAFETY: an open stream of ours.
            let entry = unsafe { readdir(self.stream) };
            if entry.is_null() {
                break;
            }
            // SAFETY: the entry's name ends in NUL.
            let name = unsafe { kernel::bytes((*entry).d_name.as_ptr()) }?;
            self.rest.try_reserve(name.len() + 1).ok()?;
            self.rest.extend_from_slice(name);
            self.rest.push(0);
        }
        self.close();
        Some(())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.close();
    }
}

struct Walk {
    function: Function,
    flags: c_int,
    is_old: bool,
    /// Maximum number of directories open at once.
    open_max: usize,
    /// The directories from the top to the present one; the last ones are open.
    open: Vec<Open>,
    /// The path, with a NUL.
    path: Vec<u8>,
    level: Level,
    dev: u64,
    known: HashSet<(u64, u64)>,
}

fn no_memory() -> c_int {
    set_errno(libc::ENOMEM);
    -1
}

impl Walk {
    fn has(&self, flag: c_int) -> bool {
        self.flags & flag != 0
    }

    fn tell(&mut self, of: &libc::stat, kind: c_int) -> c_int {
        let kind = match self.is_old {
            true => OLD_KINDS[kind as usize],
            false => kind,
        };
        // SAFETY: the caller's function gets the arguments that it expects: a path, a `stat` and a
        // level.
        unsafe { (self.function)(self.path.as_ptr().cast(), of, kind, &raw mut self.level) }
    }

    /// Places a name behind the first `base` bytes of the path.
    fn name(&mut self, base: usize, name: &[u8]) -> Option<()> {
        self.path.truncate(base);
        // One more byte, for a slash behind it.
        self.path.try_reserve(name.len() + 2).ok()?;
        self.path.extend_from_slice(name);
        self.path.push(0);
        Some(())
    }

    /// Returns the part of the path that is relative to the working directory, with `FTW_CHDIR`.
    fn here(&self) -> *const c_char {
        match self.path.get(self.level.base as usize) {
            Some(0) | None => c".".as_ptr(),
            // SAFETY: the offset lies within the path.
            Some(_) => unsafe { self.path.as_ptr().add(self.level.base as usize) }.cast(),
        }
    }

    /// Returns the path for a lookup or an open that is not relative to an open directory.
    fn access(&self) -> *const c_char {
        match self.has(CHDIR) {
            true => self.here(),
            false => self.path.as_ptr().cast(),
        }
    }

    /// Opens the last directory, if it was opened through a table, to enter it later and to return
    /// to it: it may be elsewhere by then.
    fn keep_way(&mut self) -> Option<()> {
        let path = self.here();
        let (open, above) = self.open.split_last_mut()?;
        let above = above.last().filter(|above| !above.stream.is_null());
        // The caller's function may change the working directory.
        let from = match above {
            None => libc::AT_FDCWD,
            Some(Open {
                way_back: Some(way),
                ..
            }) => way.0,
            // SAFETY: the stream is open.
            Some(above) => unsafe { dirfd(above.stream) },
        };
        // SAFETY: the path ends in NUL and the stream is open; the descriptor is a number.
        unsafe {
            let fd = dirfd(open.stream);
            if !descriptors::is_virtual(fd) {
                return Some(());
            }
            let held = descriptors::directory(fd);
            let of = held.as_ref().and_then(|(_, directory)| {
                let of = directory.itself()?.stat()?;
                Some((of.dev, of.ino))
            });
            drop(held);
            let way = of.map(|of| wander::open_same(from, CStr::from_ptr(path), of));
            if let Some(Ok(way)) = way {
                open.way_back = Some(way);
                return Some(());
            }
            // It has changed since; the directory that is there now is walked instead.
            open.close();
            open.stream = open_now(from, CStr::from_ptr(path));
            if open.stream.is_null() {
                self.open.pop();
                return None;
            }
        }
        Some(())
    }

    /// Makes the changes visible that the caller's function made in the directory opened last: the
    /// C library reads the directory only after that call.
    fn look_again(&mut self) {
        let Some(open) = self.open.last_mut() else {
            return;
        };
        // SAFETY: the stream is open; the descriptor is a number.
        unsafe {
            if !streams::is_old(open.stream) {
                return;
            }
            let Some(way) = &open.way_back else {
                return rewinddir(open.stream);
            };
            let now = open_now(way.0, c".");
            if !now.is_null() {
                closedir(std::mem::replace(&mut open.stream, now));
            }
        }
    }

    /// Enters the directory opened last, by its descriptor where needed: the caller's function may
    /// have changed the working directory.
    fn go_in(&self) -> Result<(), c_int> {
        let (true, Some(open)) = (self.has(CHDIR), self.open.last()) else {
            return Ok(());
        };
        match &open.way_back {
            Some(way) => wander::back_to(way.0),
            // SAFETY: the stream is open.
            None => wander::back_to(unsafe { dirfd(open.stream) }),
        }
    }

    /// Returns from a directory to its parent.
    fn go_back(&self) -> Result<(), c_int> {
        let above = self.open.last().filter(|above| !above.stream.is_null());
        let back = match above {
            Some(above) => match &above.way_back {
                Some(way) => wander::back_to(way.0),
                // SAFETY: as above.
                None => wander::back_to(unsafe { dirfd(above.stream) }),
            },
            None => Err(0),
        };
        match back {
            Ok(()) => Ok(()),
            Err(_) if self.level.base == 1 => wander::go(c"/"),
            Err(_) => wander::go(c".."),
        }
    }

    /// Starts the walk at the path; with `FTW_CHDIR` also changes the working directory and
    /// restores it.
    fn set_out(&mut self, path: &[u8]) -> c_int {
        if !self.has(CHDIR) {
            return self.begin(path);
        }
        let start = match wander::open_start() {
            Ok(start) => start,
            Err(errno) => {
                set_errno(errno);
                return -1;
            }
        };
        if self.open_max > 1 {
            self.open_max -= 1;
        }
        // Not dropped if an exception passes.
        let start = ManuallyDrop::new(start);
        let result = self.begin(path);
        // As in the C library, a failure to return is ignored.
        let _ = wander::back_to(start.0);
        drop(ManuallyDrop::into_inner(start));
        result
    }

    /// Enters the directory that holds the object at the path.
    fn go_there(&mut self) -> Result<(), c_int> {
        match self.level.base as usize {
            0 => Ok(()),
            1 => wander::go(c"/"),
            base => {
                let slash = std::mem::replace(&mut self.path[base - 1], 0);
                // SAFETY: it ends in NUL now.
                let path = unsafe { CStr::from_ptr(self.path.as_ptr().cast()) };
                let gone = wander::go(path);
                self.path[base - 1] = slash;
                gone
            }
        }
    }

    fn begin(&mut self, path: &[u8]) -> c_int {
        let mut end = path.len();
        while end > 1 && path[end - 1] == b'/' {
            end -= 1;
        }
        let path = &path[..end];
        let slash = path.iter().rposition(|byte| *byte == b'/');
        self.level.base = slash.map_or(0, |at| at + 1) as c_int;
        if self.name(0, path).is_none() {
            return no_memory();
        }
        if self.has(CHDIR)
            && let Err(errno) = self.go_there()
        {
            set_errno(errno);
            return -1;
        }
        let mut of = MaybeUninit::<libc::stat>::zeroed();
        let (at, into) = (self.access(), of.as_mut_ptr());
        // SAFETY: the path ends in NUL, and there is room for a `stat`.
        let code = unsafe {
            match self.has(PHYSICAL) {
                true => lstat(at, into),
                false => stat(at, into),
            }
        };
        let is_dangling = || {
            let is_link = |of: *mut libc::stat| {
                // SAFETY: all zeros are a valid `stat`.
                unsafe { (*of).st_mode & libc::S_IFMT == libc::S_IFLNK }
            };
            // SAFETY: as above.
            let is_looked_at = kernel::errno() == libc::ENOENT && unsafe { lstat(at, into) } == 0;
            is_looked_at && is_link(into)
        };
        let is_told = code == 0 || (!self.has(PHYSICAL) && is_dangling());
        if !is_told {
            return -1;
        }
        // SAFETY: all zeros are a valid `stat`, and so is what was written.
        let of = unsafe { of.assume_init() };
        let kind = match (code, of.st_mode & libc::S_IFMT) {
            (0, libc::S_IFDIR) => DIRECTORY,
            (0, libc::S_IFLNK) => LINK,
            (0, _) => FILE,
            _ => DANGLING,
        };
        self.dev = of.st_dev;
        let result = match kind {
            DIRECTORY => self.new_directory(&of),
            kind => self.tell(&of, kind),
        };
        match result {
            SKIP_SUBTREE | SKIP_SIBLINGS if self.has(ACTIONS) => 0,
            result => result,
        }
    }

    /// Walks a directory unless it was seen before: links may lead to it again.
    fn new_directory(&mut self, of: &libc::stat) -> c_int {
        if !self.has(PHYSICAL) {
            if self.known.try_reserve(1).is_err() {
                return no_memory();
            }
            if !self.known.insert((of.st_dev, of.st_ino)) {
                return 0;
            }
        }
        self.directory(of)
    }

    /// Walks a directory.
    fn directory(&mut self, of: &libc::stat) -> c_int {
        let base = self.level.base;
        if self.open().is_none() {
            return match kernel::errno() {
                libc::EACCES => self.tell(of, UNREADABLE),
                _ => -1,
            };
        }
        let mut result = 0;
        if !self.has(DEPTH_FIRST) {
            result = self.tell(of, DIRECTORY);
            if result != 0 {
                self.open.pop();
                return result;
            }
            self.look_again();
        }
        if let Err(errno) = self.go_in() {
            self.open.pop();
            set_errno(errno);
            return -1;
        }
        self.level.level += 1;
        // The end of the name, where the NUL is.
        let end = self.path.len() - 1;
        self.path.truncate(end);
        if self.path.last() != Some(&b'/') {
            self.path.push(b'/');
        }
        self.level.base = self.path.len() as c_int;
        let depth = self.open.len();
        while result == 0 {
            // SAFETY: readdir(3) returns a name that ends in NUL and stays until the next call; it
            // is copied before that.
            let Some(name) = (unsafe { self.next(depth - 1) }) else {
                break;
            };
            result = self.entry(depth - 1, &name);
        }
        self.open.truncate(depth - 1);
        if self.has(ACTIONS) && result == SKIP_SIBLINGS {
            result = 0;
        }
        let end = (self.level.base as usize).max(1) - 1;
        self.path.truncate(end);
        self.path.push(0);
        self.level.level -= 1;
        self.level.base = base;
        if result == 0 && self.has(DEPTH_FIRST) {
            result = self.tell(of, DIRECTORY_AFTER);
        }
        let goes_on = result == 0 || self.has(ACTIONS) && !matches!(result, -1 | STOP);
        if self.has(CHDIR)
            && goes_on
            && self.level.level > 0
            && let Err(errno) = self.go_back()
        {
            set_errno(errno);
            return -1;
        }
        result
    }

    /// Returns the next name in a directory.
    unsafe fn next(&mut self, at: usize) -> Option<Name> {
        let open = self.open.get_mut(at)?;
        if open.stream.is_null() {
            let rest = open.rest.get(open.gone..)?;
            let end = rest.iter().position(|byte| *byte == 0)?;
            let name = Name::of(rest.get(..end)?);
            open.gone += end + 1;
            return name;
        }
        // SAFETY: an open stream of ours, whose entry's name ends in NUL.
        unsafe {
            let entry = readdir(open.stream);
            if entry.is_null() {
                return None;
            }
            Name::of(kernel::bytes((*entry).d_name.as_ptr())?)
        }
    }

    /// Opens the directory at the path and appends it to `open`; closes another one if needed.
    fn open(&mut self) -> Option<()> {
        let open = self.open.iter().filter(|one| !one.stream.is_null()).count();
        if open >= self.open_max {
            let oldest = self.open.iter_mut().find(|one| !one.stream.is_null());
            if oldest.is_some_and(|oldest| oldest.finish().is_none()) {
                no_memory();
                return None;
            }
        }
        if self.open.try_reserve(1).is_err() {
            no_memory();
            return None;
        }
        let parent = self.open.last().filter(|parent| !parent.stream.is_null());
        // SAFETY: the path ends in NUL; the stream is open.
        let stream = unsafe {
            match parent {
                None => opendir(self.access()),
                Some(parent) => {
                    let name = self.path.as_ptr().add(self.level.base as usize);
                    let flags =
                        libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NONBLOCK | libc::O_CLOEXEC;
                    open_at(dirfd(parent.stream), name.cast(), flags)
                }
            }
        };
        if stream.is_null() {
            return None;
        }
        self.open.push(Open {
            stream,
            rest: Vec::new(),
            gone: 0,
            way_back: None,
        });
        if self.has(CHDIR) {
            return self.keep_way();
        }
        Some(())
    }

    /// Reports an entry of a directory, and everything below it.
    fn entry(&mut self, parent: usize, name: &Name) -> c_int {
        let name = name.get();
        if matches!(name, b"." | b"..") {
            return 0;
        }
        if self.name(self.level.base as usize, name).is_none() {
            return no_memory();
        }
        let mut of = MaybeUninit::<libc::stat>::zeroed();
        let mut kind = match self.look(parent, &mut of, !self.has(PHYSICAL)) {
            0 => FILE,
            _ if !matches!(kernel::errno(), libc::EACCES | libc::ENOENT) => return -1,
            _ => NO_STAT,
        };
        let was_looked_at =
            kind != NO_STAT || (!self.has(PHYSICAL) && self.look(parent, &mut of, false) == 0);
        // SAFETY: all zeros are a valid `stat`, and so is what was written.
        let of = unsafe { of.assume_init() };
        kind = match (kind, of.st_mode & libc::S_IFMT) {
            (FILE, libc::S_IFDIR) => DIRECTORY,
            (FILE, libc::S_IFLNK) => LINK,
            (NO_STAT, libc::S_IFLNK) if was_looked_at => DANGLING,
            (kind, _) => kind,
        };
        let is_here = kind == NO_STAT || !self.has(ONE_SYSTEM) || of.st_dev == self.dev;
        let result = match kind {
            _ if !is_here => 0,
            DIRECTORY => self.new_directory(&of),
            kind => self.tell(&of, kind),
        };
        match result {
            SKIP_SUBTREE if self.has(ACTIONS) => 0,
            result => result,
        }
    }

    /// Looks at the object at the path, relative to the open directory if there is one.
    fn look(&self, parent: usize, of: &mut MaybeUninit<libc::stat>, is_followed: bool) -> c_int {
        let into = of.as_mut_ptr();
        let path = self.access();
        let stream = self
            .open
            .get(parent)
            .map_or(ptr::null_mut(), |one| one.stream);
        // SAFETY: path and name end in NUL, there is room for a `stat`, and the stream is open.
        unsafe {
            match (stream.is_null(), is_followed) {
                (true, true) => stat(path, into),
                (true, false) => lstat(path, into),
                (false, is_followed) => {
                    let flags = match is_followed {
                        true => 0,
                        false => libc::AT_SYMLINK_NOFOLLOW,
                    };
                    let name = self.path.as_ptr().add(self.level.base as usize);
                    fstatat(dirfd(stream), name.cast(), into, flags)
                }
            }
        }
    }
}

/// A copy of a name, since the entry belongs to the stream.
struct Name {
    bytes: [u8; 256],
    length: usize,
}

impl Name {
    fn of(name: &[u8]) -> Option<Name> {
        let mut bytes = [0; 256];
        bytes.get_mut(..name.len())?.copy_from_slice(name);
        Some(Name {
            bytes,
            length: name.len(),
        })
    }

    fn get(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// Opens a directory relative to another one.
unsafe fn open_at(directory: c_int, name: *const c_char, flags: c_int) -> *mut libc::DIR {
    // SAFETY: the caller's name ends in NUL.
    unsafe {
        let fd = openat(directory, name, flags);
        if fd < 0 {
            return ptr::null_mut();
        }
        let stream = fdopendir(fd);
        if stream.is_null() {
            let errno = kernel::errno();
            descriptors::close(fd);
            set_errno(errno);
        }
        stream
    }
}

/// Opens a directory as it is now, regardless of tables; NULL if that fails.
fn open_now(from: c_int, path: &CStr) -> *mut libc::DIR {
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NONBLOCK | libc::O_CLOEXEC;
    let opened = match wander::open_at(from, path, flags) {
        Ok(opened) => opened,
        Err(errno) => {
            set_errno(errno);
            return ptr::null_mut();
        }
    };
    let fd = opened.0;
    let stream = real!(fdopendir(fd => c_int) -> *mut libc::DIR, ptr::null_mut());
    if !stream.is_null() {
        wander::keep(opened);
    }
    stream
}

unsafe fn walk(
    path: *const c_char,
    function: Function,
    open_max: c_int,
    flags: c_int,
    is_old: bool,
) -> c_int {
    // SAFETY: the caller's string.
    let path = unsafe { kernel::bytes(path) }.unwrap_or_default();
    if path.is_empty() {
        set_errno(libc::ENOENT);
        return -1;
    }
    // Nothing may be dropped where an exception of the caller's function passes: this library may
    // have an unwinder of its own, which must not interfere. Open descriptors then stay open, as
    // with the C library's function.
    let mut walk = ManuallyDrop::new(Walk {
        function,
        flags,
        is_old,
        open_max: usize::try_from(open_max).unwrap_or(0).max(1),
        open: Vec::new(),
        path: Vec::new(),
        level: Level { base: 0, level: 0 },
        dev: 0,
        known: HashSet::new(),
    });
    let result = walk.set_out(path);
    let errno = kernel::errno();
    drop(ManuallyDrop::into_inner(walk));
    set_errno(errno);
    result
}

macro_rules! walks {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(
            path: *const c_char,
            function: Function,
            open_max: c_int,
        ) -> c_int {
            if !settings::is_on() {
                return real!(unwind $name(
                    path => *const c_char, function => Function, open_max => c_int,
                ) -> c_int, -1);
            }
            // SAFETY: guaranteed by the caller.
            unsafe { walk(path, function, open_max, 0, true) }
        }
    )*};
}

walks!(ftw ftw64);

macro_rules! walks_with_flags {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(
            path: *const c_char,
            function: Function,
            open_max: c_int,
            flags: c_int,
        ) -> c_int {
            if !settings::is_on() || flags & !ALL_FLAGS != 0 {
                // If the caller's function throws an exception, this state remains.
                if flags & CHDIR != 0 {
                    place::wandering_begins();
                }
                let result = real!(unwind $name(
                    path => *const c_char, function => Function, open_max => c_int, flags => c_int,
                ) -> c_int, -1);
                if flags & CHDIR != 0 {
                    place::wandering_ends();
                }
                return result;
            }
            // SAFETY: guaranteed by the caller.
            unsafe { walk(path, function, open_max, flags, false) }
        }
    )*};
}

walks_with_flags!(nftw nftw64);
