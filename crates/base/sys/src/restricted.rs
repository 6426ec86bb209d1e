//! Processes that gave up their rights: they handle hostile data, and whatever takes them over can do
//! nothing with them.
//!
//! A [`Restriction`] combines what the kernel offers to an unprivileged process. Landlock leaves
//! nothing to open but chosen files and directories, and those only for reading. A filter of system
//! calls leaves a short list of calls: no sockets, no new processes, nothing that changes a file,
//! even through a descriptor. Limits bound processor time, memory and descriptors. A process of the
//! superuser becomes nobody. None of it can be taken back, and commands inherit it.
//!
//! Descriptors that the process already holds stay usable: that is how it receives data.
//!
//! Source: <https://man7.org/linux/man-pages/man7/landlock.7.html>,
//! <https://man7.org/linux/man-pages/man2/seccomp.2.html>,
//! <https://man7.org/linux/man-pages/man2/getrlimit.2.html>

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

mod filter;
mod landlock;

/// The user that a process of the superuser becomes: nobody, with no groups.
const NOBODY: libc::c_uint = 65534;

/// What a restricted process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It reads descriptors that it was given, and answers: it opens nothing and executes nothing.
    Reader,
    /// It is a program that somebody else wrote: it may also read and execute what the restriction
    /// leaves, and start threads.
    Program,
}

/// Upper bounds of what a restricted process uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Processor time in seconds; the kernel ends the process then.
    pub cpu_secs: u64,
    /// Address space in bytes.
    pub memory_bytes: u64,
    /// Open descriptors.
    pub descriptors: u64,
}

/// Whether a process ends with the thread that started it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// The kernel kills it when that thread ends.
    OfParent,
    /// It ends by itself.
    Own,
}

/// Everything that a process needs to give up its rights, prepared while it may still allocate.
#[derive(Debug)]
pub struct Restriction {
    landlock: Option<OwnedFd>,
    filter: Vec<libc::sock_filter>,
    limits: [(libc::c_int, libc::rlimit); 7],
    lifetime: Lifetime,
}

impl Restriction {
    /// Prepares a restriction. Of `readable`, files may be read and executed; in directories also
    /// everything below. What does not exist is left out.
    ///
    /// # Errors
    /// Fails with `EOPNOTSUPP` or `ENOSYS` if the role is [`Role::Program`] and the kernel has no
    /// Landlock. A reader needs none: its filter has no call that opens a file.
    pub fn new(
        role: Role,
        readable: &[&Path],
        bounds: Bounds,
        lifetime: Lifetime,
    ) -> io::Result<Restriction> {
        let landlock = match landlock::ruleset(readable) {
            Ok(ruleset) => Some(ruleset),
            Err(_) if role == Role::Reader => None,
            Err(error) => return Err(error),
        };
        Ok(Restriction {
            landlock,
            filter: filter::program(role),
            limits: limits(bounds),
            lifetime,
        })
    }

    /// Gives up the rights of the calling process, which must have one thread, for good.
    ///
    /// # Errors
    /// Returns the errors of the calls in this module's sources. The process then has lost some
    /// rights, and must not go on.
    pub fn apply(&self) -> io::Result<()> {
        self.go()
    }

    /// Makes a command start without these rights.
    pub fn apply_to(self, command: &mut Command) {
        let go = move || {
            close_others_on_exec();
            self.go()
        };
        // SAFETY: between fork and exec, `go` only makes system calls: all their arguments were
        // prepared before, and nothing is allocated or locked.
        unsafe { command.pre_exec(go) };
    }

    /// Gives up the rights. Makes system calls only.
    fn go(&self) -> io::Result<()> {
        for (resource, limit) in &self.limits {
            // SAFETY: the kernel reads one limit.
            done(unsafe { libc::setrlimit(*resource as _, limit) }.into())?;
        }
        // SAFETY: prctl(2) gets numbers only.
        done(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }.into())?;
        become_nobody()?;
        if self.lifetime == Lifetime::OfParent {
            // After the change of user, which clears it.
            // SAFETY: prctl(2) gets numbers only.
            done(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) }.into())?;
        }
        if let Some(ruleset) = &self.landlock {
            landlock::restrict(ruleset)?;
        }
        filter::install(&self.filter)
    }
}

fn limits(bounds: Bounds) -> [(libc::c_int, libc::rlimit); 7] {
    let limit = |resource: u32, value: u64| {
        let both = libc::rlimit {
            rlim_cur: value,
            rlim_max: value,
        };
        (resource as libc::c_int, both)
    };
    // The kernel kills at the hard limit; at the soft one, SIGXCPU says why.
    let processor = libc::rlimit {
        rlim_cur: bounds.cpu_secs,
        rlim_max: bounds.cpu_secs.saturating_add(1),
    };
    [
        (libc::RLIMIT_CPU as libc::c_int, processor),
        limit(libc::RLIMIT_AS, bounds.memory_bytes),
        limit(libc::RLIMIT_NOFILE, bounds.descriptors),
        // Files cannot grow, and no core is dumped. Pipes and sockets are not concerned.
        limit(libc::RLIMIT_FSIZE, 0),
        limit(libc::RLIMIT_CORE, 0),
        limit(libc::RLIMIT_MEMLOCK, 0),
        limit(libc::RLIMIT_MSGQUEUE, 0),
    ]
}

/// Makes a process of the superuser one of nobody.
fn become_nobody() -> io::Result<()> {
    // SAFETY: the call has no arguments.
    if unsafe { libc::geteuid() } != 0 {
        return Ok(());
    }
    let none = std::ptr::null::<libc::gid_t>();
    // The calls of the kernel, not those of the C library, which would signal other threads.
    // SAFETY: no groups are read.
    done(unsafe { libc::syscall(libc::SYS_setgroups, 0, none) })?;
    // SAFETY: the calls get numbers only.
    done(unsafe { libc::syscall(libc::SYS_setresgid, NOBODY, NOBODY, NOBODY) })?;
    // SAFETY: as above.
    done(unsafe { libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY) })
}

fn done(code: libc::c_long) -> io::Result<()> {
    match code {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Lets the calling process use this much more processor time from now on, within its hard limit.
///
/// Source: <https://man7.org/linux/man-pages/man2/getrlimit.2.html>
///
/// # Errors
/// Returns the errors of getrusage(2) and setrlimit(2).
pub fn allow_cpu_secs(more: u64) -> io::Result<()> {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let used = u64::try_from(used.tv_sec).unwrap_or(0);
    let mut now = rustix::process::getrlimit(rustix::process::Resource::Cpu);
    let soft = used.saturating_add(1).saturating_add(more);
    now.current = Some(now.maximum.map_or(soft, |hard| soft.min(hard)));
    rustix::process::setrlimit(rustix::process::Resource::Cpu, now)?;
    Ok(())
}

/// Makes a command start without the descriptors that this process was started with or opened without
/// close-on-exec, except the three standard streams.
pub fn keep_only_standard_streams(command: &mut Command) {
    let go = || {
        close_others_on_exec();
        Ok(())
    };
    // SAFETY: between fork and exec, the closure makes one system call.
    unsafe { command.pre_exec(go) };
}

/// Marks all descriptors but the standard streams close-on-exec. Linux before 5.11 cannot do that.
///
/// Source: <https://man7.org/linux/man-pages/man2/close_range.2.html>
fn close_others_on_exec() {
    /// `CLOSE_RANGE_CLOEXEC`
    const ON_EXEC: libc::c_uint = 4;
    // SAFETY: the call gets numbers only, and closes nothing that this process uses.
    unsafe { libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, ON_EXEC) };
}

/// Returns whether this kernel restricts what a process opens.
#[must_use]
pub fn has_landlock() -> bool {
    landlock::version().is_ok()
}

/// Returns whether a descriptor is open for reading only, so that it can be given away.
///
/// Source: `F_GETFL`, <https://man7.org/linux/man-pages/man2/fcntl.2.html>
#[must_use]
pub fn is_read_only(file: impl std::os::fd::AsFd) -> bool {
    use rustix::fs::OFlags;
    let flags = rustix::fs::fcntl_getfl(file);
    flags.is_ok_and(|flags| {
        flags & OFlags::RWMODE == OFlags::RDONLY && !flags.contains(OFlags::PATH)
    })
}

/// Opens a file only as a place, for rules.
fn place(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_PATH)
        .open(path)
}

#[cfg(test)]
mod tests;
