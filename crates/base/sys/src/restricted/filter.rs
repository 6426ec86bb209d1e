//! The system calls that a restricted process may make, as a program for the kernel's packet filter.
//! Any other call fails with `EPERM`, so that a program can say what went wrong; a call of another
//! architecture, which has other numbers, ends the process.

use super::{Role, done, io};

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCHITECTURE: u32 = 0;

/// Condition under which a call is allowed. Arguments are compared by their lower half: all of them
/// are 32-bit numbers, or flags there.
enum When {
    Always,
    /// The argument has one of these values.
    Is(u32, &'static [u32]),
    /// The argument has all of these bits.
    Has(u32, u32),
    /// The argument has none of these bits.
    Lacks(u32, u32),
    /// Never: the call fails with this error instead of `EPERM`.
    Fails(u32),
}

use When::{Always, Fails, Has, Is, Lacks};

type Rule = (libc::c_long, When);

const PROT_EXEC: u32 = libc::PROT_EXEC as u32;
const THREAD: u32 = libc::CLONE_THREAD as u32;

/// Commands of fcntl(2) that only concern the process's own descriptors. Locks and leases are not
/// among them: they would hinder other processes that use the file.
const OWN_DESCRIPTORS: &[u32] = &[
    libc::F_DUPFD as u32,
    libc::F_DUPFD_CLOEXEC as u32,
    libc::F_GETFD as u32,
    libc::F_SETFD as u32,
    libc::F_GETFL as u32,
    libc::F_SETFL as u32,
];

/// Requests of ioctl(2) that tell what a descriptor is, or whether it is closed on exec. Others can
/// change a file through a descriptor that is open for reading.
const HARMLESS: &[u32] = &[
    libc::TCGETS as u32,
    libc::TIOCGWINSZ as u32,
    libc::FIOCLEX as u32,
    libc::FIONCLEX as u32,
    libc::FIONREAD as u32,
];

/// Calls of every restricted process: reading and writing descriptors that it has, its own memory,
/// time, signals and end.
fn of_all() -> Vec<Rule> {
    let always = [
        libc::SYS_read,
        libc::SYS_pread64,
        libc::SYS_readv,
        libc::SYS_preadv,
        libc::SYS_write,
        libc::SYS_writev,
        libc::SYS_close,
        libc::SYS_lseek,
        libc::SYS_fstat,
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_brk,
        libc::SYS_madvise,
        libc::SYS_futex,
        libc::SYS_sched_yield,
        libc::SYS_sched_getaffinity,
        libc::SYS_getrandom,
        libc::SYS_clock_gettime,
        libc::SYS_clock_getres,
        libc::SYS_clock_nanosleep,
        libc::SYS_nanosleep,
        libc::SYS_gettimeofday,
        libc::SYS_getrusage,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sigaltstack,
        libc::SYS_getpid,
        libc::SYS_gettid,
        libc::SYS_exit,
        libc::SYS_exit_group,
    ];
    let mut rules: Vec<Rule> = always.map(|call| (call, Always)).into();
    // Its own limits, which can only become stricter than the hard limit.
    rules.push((libc::SYS_prlimit64, Is(0, &[0])));
    rules.push((libc::SYS_fcntl, Is(1, OWN_DESCRIPTORS)));
    rules
}

/// Calls of a reader: it receives descriptors, and makes no memory executable.
fn of_readers() -> Vec<Rule> {
    vec![
        (libc::SYS_recvmsg, Always),
        (libc::SYS_mmap, Lacks(2, PROT_EXEC)),
        (libc::SYS_mprotect, Lacks(2, PROT_EXEC)),
    ]
}

/// Calls of a program: it also loads libraries, looks at files and starts threads.
fn of_programs() -> Vec<Rule> {
    let always = [
        libc::SYS_mmap,
        libc::SYS_mprotect,
        libc::SYS_openat,
        libc::SYS_newfstatat,
        libc::SYS_statx,
        libc::SYS_faccessat,
        libc::SYS_faccessat2,
        libc::SYS_readlinkat,
        libc::SYS_getdents64,
        libc::SYS_getcwd,
        libc::SYS_chdir,
        libc::SYS_fchdir,
        libc::SYS_execve,
        libc::SYS_dup,
        libc::SYS_dup3,
        libc::SYS_pipe2,
        libc::SYS_ppoll,
        libc::SYS_pselect6,
        libc::SYS_epoll_create1,
        libc::SYS_epoll_ctl,
        libc::SYS_epoll_pwait,
        libc::SYS_eventfd2,
        libc::SYS_set_tid_address,
        libc::SYS_set_robust_list,
        libc::SYS_rseq,
        libc::SYS_getppid,
        libc::SYS_getpgid,
        libc::SYS_getuid,
        libc::SYS_geteuid,
        libc::SYS_getgid,
        libc::SYS_getegid,
        libc::SYS_getgroups,
        libc::SYS_uname,
        libc::SYS_sysinfo,
        libc::SYS_times,
        libc::SYS_umask,
    ];
    let mut rules: Vec<Rule> = always.map(|call| (call, Always)).into();
    rules.extend([
        // Threads, but no processes. The arguments of clone3(2) are in memory, where a filter
        // cannot look: the C library then uses clone(2).
        (libc::SYS_clone, Has(0, THREAD)),
        (libc::SYS_clone3, Fails(libc::ENOSYS as u32)),
        (libc::SYS_ioctl, Is(1, HARMLESS)),
        (
            libc::SYS_prctl,
            Is(0, &[libc::PR_SET_NAME as u32, libc::PR_GET_NAME as u32]),
        ),
    ]);
    rules.extend(of_old_programs().map(|call| (call, Always)));
    rules
}

/// Calls that newer architectures do not have.
#[cfg(target_arch = "x86_64")]
fn of_old_programs() -> impl Iterator<Item = libc::c_long> {
    [
        libc::SYS_open,
        libc::SYS_stat,
        libc::SYS_lstat,
        libc::SYS_access,
        libc::SYS_readlink,
        libc::SYS_getdents,
        libc::SYS_dup2,
        libc::SYS_pipe,
        libc::SYS_poll,
        libc::SYS_select,
        libc::SYS_epoll_wait,
        libc::SYS_getpgrp,
        libc::SYS_time,
        libc::SYS_arch_prctl,
    ]
    .into_iter()
}

#[cfg(not(target_arch = "x86_64"))]
fn of_old_programs() -> impl Iterator<Item = libc::c_long> {
    std::iter::empty()
}

const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const ANY_BIT: u32 = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
const AND: u32 = libc::BPF_ALU | libc::BPF_AND | libc::BPF_K;
const END: u32 = libc::BPF_RET | libc::BPF_K;

const ALLOW: libc::sock_filter = statement(END, libc::SECCOMP_RET_ALLOW);
const REFUSE: libc::sock_filter = fail(libc::EPERM as u32);

const fn statement(code: u32, value: u32) -> libc::sock_filter {
    jump(code, value, 0, 0)
}

const fn jump(code: u32, value: u32, if_true: u8, if_false: u8) -> libc::sock_filter {
    libc::sock_filter {
        code: code as u16,
        jt: if_true,
        jf: if_false,
        k: value,
    }
}

const fn fail(errno: u32) -> libc::sock_filter {
    statement(END, libc::SECCOMP_RET_ERRNO | errno)
}

/// Returns the position of the lower half of an argument in `struct seccomp_data`.
const fn argument(number: u32) -> u32 {
    16 + 8 * number + if cfg!(target_endian = "big") { 4 } else { 0 }
}

/// Returns the instructions that decide about a call whose number was found.
fn decision(when: &When) -> Vec<libc::sock_filter> {
    match when {
        Always => vec![ALLOW],
        Fails(errno) => vec![fail(*errno)],
        Is(at, values) => {
            let mut code = vec![statement(LOAD, argument(*at))];
            for value in *values {
                code.extend([jump(EQUAL, *value, 0, 1), ALLOW]);
            }
            code.push(REFUSE);
            code
        }
        Has(at, bits) => vec![
            statement(LOAD, argument(*at)),
            statement(AND, *bits),
            jump(EQUAL, *bits, 0, 1),
            ALLOW,
            REFUSE,
        ],
        Lacks(at, bits) => vec![
            statement(LOAD, argument(*at)),
            jump(ANY_BIT, *bits, 1, 0),
            ALLOW,
            REFUSE,
        ],
    }
}

/// Returns the filter of a role.
pub(super) fn program(role: Role) -> Vec<libc::sock_filter> {
    let mut rules = of_all();
    rules.extend(match role {
        Role::Reader => of_readers(),
        Role::Program => of_programs(),
    });
    let mut program = vec![
        // The first word is the call's number, the second the architecture.
        statement(LOAD, 4),
        jump(EQUAL, ARCHITECTURE, 1, 0),
        statement(END, libc::SECCOMP_RET_KILL_PROCESS),
        statement(LOAD, 0),
    ];
    for (call, when) in &rules {
        let decision = decision(when);
        // Decisions have a few instructions each.
        program.push(jump(EQUAL, *call as u32, 0, decision.len() as u8));
        program.extend(decision);
    }
    program.push(REFUSE);
    program
}

/// Applies a filter to the calling thread. Makes system calls only.
pub(super) fn install(filter: &[libc::sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_ptr().cast_mut(),
    };
    let mode = libc::SECCOMP_SET_MODE_FILTER;
    // SAFETY: the program has as many instructions as it says; the kernel only reads it.
    done(unsafe { libc::syscall(libc::SYS_seccomp, mode, 0, &raw const program) })
}
