//! statx of many files with few system calls (io_uring). The kernel's own threads execute the
//! requests, as many at a time as it decides, so that a disk that has to be read gets many requests
//! at once.
//!
//! A ring is used by one thread at a time. Memory passed to the kernel stays in place until all
//! results have arrived: [`Ring::stat_all`] does not return before that.

use std::ffi::{CStr, c_void};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::Statx;

use crate::error::{Errno, Op, SysError};
use crate::stat::{Stat, WANTED, convert};

/// `struct io_sqring_offsets` and `struct io_cqring_offsets` of `linux/io_uring.h`, which have the
/// same size.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Offsets {
    head: u32,
    tail: u32,
    ring_mask: u32,
    ring_entries: u32,
    /// For submissions: flags, dropped, array. For completions: overflow, entries, flags.
    more: [u32; 3],
    reserved: u32,
    user_address: u64,
}

/// `struct io_uring_params`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Params {
    submissions: u32,
    completions: u32,
    flags: u32,
    thread_cpu: u32,
    thread_idle: u32,
    features: u32,
    worker: u32,
    reserved: [u32; 3],
    submission: Offsets,
    completion: Offsets,
}

/// `struct io_uring_sqe`, with the fields that statx uses.
#[repr(C)]
#[derive(Clone, Copy)]
struct Submission {
    opcode: u8,
    flags: u8,
    priority: u16,
    fd: i32,
    /// Address for the result.
    answer: u64,
    /// Address of the name.
    name: u64,
    mask: u32,
    statx_flags: u32,
    user_data: u64,
    rest: [u64; 3],
}

/// `struct io_uring_cqe`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Completion {
    user_data: u64,
    result: i32,
    flags: u32,
}

const OP_STATX: u8 = 21;
const ENTER_GETEVENTS: u32 = 1;
const SETUP_CLAMP: u32 = 1 << 4;
const FEATURE_SINGLE_MAP: u32 = 1;
const OFFSET_RINGS: libc::off_t = 0;
const OFFSET_SUBMISSIONS: libc::off_t = 0x1000_0000;

/// Maximum number of files in one batch.
const AT_ONCE: u32 = 256;

/// Memory shared with the kernel; unmapped when dropped.
struct Mapped {
    start: *mut c_void,
    length: usize,
}

impl Mapped {
    fn new(fd: &OwnedFd, length: usize, offset: libc::off_t) -> Result<Self, SysError> {
        // SAFETY: this makes a new mapping at an address chosen by the kernel.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                fd.as_raw_fd(),
                offset,
            )
        };
        match start == libc::MAP_FAILED {
            true => Err(SysError::last(Op::Mmap)),
            false => Ok(Mapped { start, length }),
        }
    }

    /// Returns one of the kernel's counters.
    fn counter(&self, at: u32) -> &AtomicU32 {
        debug_assert!(at as usize + 4 <= self.length);
        // SAFETY: the kernel's offsets lie within the mapping and are aligned; both sides use these
        // words as atomics; the mapping lives as long as `self`.
        unsafe { &*self.start.byte_add(at as usize).cast::<AtomicU32>() }
    }

    fn at<T>(&self, at: usize, index: u32) -> *mut T {
        debug_assert!(at + (index as usize + 1) * size_of::<T>() <= self.length);
        // SAFETY: at this offset lie as many elements as the kernel said, and `index` is below
        // that.
        unsafe { self.start.byte_add(at).cast::<T>().add(index as usize) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the value owns the mapping, and nothing refers to it any more.
        unsafe { libc::munmap(self.start, self.length) };
    }
}

/// An io_uring for statx requests; see the module documentation.
pub struct Ring {
    params: Params,
    rings: Mapped,
    submissions: Mapped,
    answers: Vec<MaybeUninit<Statx>>,
    /// Return values of the requests.
    results: Vec<i32>,
    fd: OwnedFd,
}

// SAFETY: the mappings belong to this value alone.
unsafe impl Send for Ring {}

impl Ring {
    /// Creates a ring.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/io_uring_setup.2.html>
    ///
    /// # Errors
    /// Fails with `ENOSYS` or `EPERM` if the kernel does not have io_uring or does not allow it.
    pub fn new() -> Result<Self, SysError> {
        let mut params = Params {
            flags: SETUP_CLAMP,
            ..Params::default()
        };
        // SAFETY: `params` has the kernel's layout.
        let fd = unsafe {
            libc::syscall(
                libc::SYS_io_uring_setup,
                AT_ONCE,
                std::ptr::from_mut(&mut params),
            )
        };
        let fd = match i32::try_from(fd) {
            // SAFETY: the call returned a new descriptor that nothing else owns.
            Ok(fd) if fd >= 0 => unsafe { OwnedFd::from_raw_fd(fd) },
            _ => return Err(SysError::last(Op::IoUringSetup)),
        };
        if params.features & FEATURE_SINGLE_MAP == 0 {
            return Err(SysError::new(Op::IoUringSetup, Errno::NOSYS));
        }
        let [_, _, array] = params.submission.more;
        let [_, completions, _] = params.completion.more;
        let of_submissions = array as usize + params.submissions as usize * size_of::<u32>();
        let of_completions =
            completions as usize + params.completions as usize * size_of::<Completion>();
        let rings = Mapped::new(&fd, of_submissions.max(of_completions), OFFSET_RINGS)?;
        let length = params.submissions as usize * size_of::<Submission>();
        let submissions = Mapped::new(&fd, length, OFFSET_SUBMISSIONS)?;
        let mut answers = Vec::new();
        answers.resize_with(params.submissions as usize, MaybeUninit::zeroed);
        Ok(Ring {
            params,
            rings,
            submissions,
            results: vec![0; answers.len()],
            answers,
            fd,
        })
    }

    /// Calls statx for each of `names` in `directory`, without following a symbolic link at the end
    /// and without triggering an automount. `visit` gets the index of each name with its result, in
    /// any order.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/io_uring_enter.2.html>
    ///
    /// # Errors
    /// Fails if the ring cannot be used. Some results were then not delivered, and the ring must
    /// not be used any more.
    pub fn stat_all(
        &mut self,
        directory: impl AsFd,
        names: &[&CStr],
        mut visit: impl FnMut(usize, Result<Stat, SysError>),
    ) -> Result<(), SysError> {
        let directory = directory.as_fd().as_raw_fd();
        let mut first = 0;
        for some in names.chunks(self.answers.len().max(1)) {
            for (at, name) in some.iter().enumerate() {
                self.put(at as u32, directory, name);
            }
            self.run(some.len() as u32)?;
            // All results have arrived: whatever `visit` does, the kernel writes no more.
            for at in 0..some.len() {
                visit(first + at, self.answer(at));
            }
            first += some.len();
        }
        Ok(())
    }

    /// Queues the request whose result goes to index `at`.
    fn put(&mut self, at: u32, directory: i32, name: &CStr) {
        let answer = self.answers.as_mut_ptr().wrapping_add(at as usize);
        let submission = Submission {
            opcode: OP_STATX,
            flags: 0,
            priority: 0,
            fd: directory,
            answer: answer as u64,
            name: name.as_ptr() as u64,
            mask: WANTED.bits(),
            statx_flags: (libc::AT_SYMLINK_NOFOLLOW | libc::AT_NO_AUTOMOUNT) as u32,
            user_data: u64::from(at),
            rest: [0; 3],
        };
        let tail = self.rings.counter(self.params.submission.tail);
        let next = tail.load(Ordering::Relaxed);
        let mask = self.rings.counter(self.params.submission.ring_mask);
        let slot = next & mask.load(Ordering::Relaxed);
        let [_, _, array] = self.params.submission.more;
        // SAFETY: not all entries are in use, so this one is ours until the tail moves.
        unsafe {
            self.submissions.at::<Submission>(0, slot).write(submission);
            self.rings.at::<u32>(array as usize, slot).write(slot);
        }
        tail.store(next.wrapping_add(1), Ordering::Release);
    }

    /// Submits the queued requests and waits until all of them are complete.
    fn run(&mut self, count: u32) -> Result<(), SysError> {
        let (mut submitted, mut done) = (0, 0);
        while done < count {
            // SAFETY: names and results stay in place until all completions have arrived.
            let entered = unsafe {
                libc::syscall(
                    libc::SYS_io_uring_enter,
                    self.fd.as_raw_fd(),
                    count - submitted,
                    count - done,
                    ENTER_GETEVENTS,
                    std::ptr::null::<c_void>(),
                    0usize,
                )
            };
            match u32::try_from(entered) {
                Ok(entered) => submitted += entered,
                Err(_) => self.check_going_on(submitted, done)?,
            }
            done += self.take();
        }
        Ok(())
    }

    /// Decides after an error whether to continue: yes if the error is temporary, or if results are
    /// still outstanding, because the kernel writes to our memory until they arrive.
    fn check_going_on(&self, submitted: u32, done: u32) -> Result<(), SysError> {
        let error = SysError::last(Op::IoUringEnter);
        let passes = matches!(error.errno, Errno::INTR | Errno::WOULDBLOCK | Errno::BUSY);
        if passes || submitted > done {
            std::thread::yield_now();
            return Ok(());
        }
        Err(error)
    }

    /// Records the results of completed requests and returns their number.
    fn take(&mut self) -> u32 {
        let head = self.rings.counter(self.params.completion.head);
        let tail = self.rings.counter(self.params.completion.tail);
        let mask = self.rings.counter(self.params.completion.ring_mask);
        let mask = mask.load(Ordering::Relaxed);
        let [_, completions, _] = self.params.completion.more;
        let (mut at, end) = (head.load(Ordering::Relaxed), tail.load(Ordering::Acquire));
        let mut taken = 0;
        while at != end {
            // SAFETY: the kernel has written the entries between head and tail.
            let completion: Completion = unsafe {
                self.rings
                    .at::<Completion>(completions as usize, at & mask)
                    .read()
            };
            at = at.wrapping_add(1);
            taken += 1;
            if let Some(result) = self.results.get_mut(completion.user_data as usize) {
                *result = completion.result;
            }
        }
        head.store(at, Ordering::Release);
        taken
    }

    /// Returns the result at `at`, which has arrived.
    fn answer(&self, at: usize) -> Result<Stat, SysError> {
        match (self.results.get(at), self.answers.get(at)) {
            // SAFETY: it was zeroed first and has been written by the kernel; any bytes are a valid
            // value.
            (Some(0..), Some(answer)) => Ok(convert(unsafe { answer.assume_init_ref() })),
            (Some(error), _) => Err(SysError::new(Op::Statx, Errno(-error))),
            (None, _) => Err(SysError::new(Op::Statx, Errno::INVAL)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::{Purpose, open_at};
    use crate::stat::stat_at;
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn structures_are_as_large_as_the_kernels() {
        assert_eq!((size_of::<Params>(), size_of::<Offsets>()), (120, 40));
        assert_eq!((size_of::<Submission>(), size_of::<Completion>()), (64, 16));
    }

    #[test]
    fn many_files_are_as_statx_says_of_each() {
        let mut ring = match Ring::new() {
            Ok(ring) => ring,
            Err(error) => return eprintln!("skipped, because {error}"),
        };
        let scratch = tempfile::tempdir().unwrap();
        let path = CString::new(scratch.path().as_os_str().as_bytes()).unwrap();
        let folder = open_at(crate::CWD, &path, Purpose::Pass).unwrap();
        let count = AT_ONCE as usize * 2 + 77;
        let names: Vec<CString> = (0..count)
            .map(|n| CString::new(format!("file {n}")).unwrap())
            .collect();
        for (n, name) in names.iter().enumerate().filter(|(n, _)| n % 3 > 0) {
            std::fs::write(scratch.path().join(name.to_str().unwrap()), vec![7; n]).unwrap();
        }
        let asked: Vec<&CStr> = names.iter().map(|name| &name[..]).collect();
        for _ in 0..2 {
            let mut found = vec![None; count];
            ring.stat_all(&folder, &asked, |at, result| found[at] = Some(result))
                .unwrap();
            for (name, found) in names.iter().zip(&found) {
                let alone = stat_at(&folder, name).map_err(|error| error.errno);
                let found = found.unwrap().map_err(|error| error.errno);
                assert_eq!(found, alone);
            }
        }
    }
}
