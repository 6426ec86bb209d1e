//! Calls after which the process's identity or its view of the file system differs from what the
//! service knows; calls after which two processes share one memory; and syscall(2), which may be
//! any call.

use std::ffi::{c_char, c_int, c_long, c_uint, c_void};

use crate::real::real;
use crate::{descriptors, kernel, page, place, settings};

/// Defines functions after which no table is used any more.
macro_rules! becomes {
    ($($name:ident($($argument:ident: $kind:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $kind),*) -> c_int {
            leave();
            let result = real!($name($($argument => $kind),*) -> c_int, -1);
            page::change();
            result
        }
    )*};
}

/// Prepares for a new identity. Directories opened so far belong to the old one.
fn leave() {
    descriptors::make_all_real();
    place::working_directory_changed();
    settings::switch_off();
    // The loader's tables (`trawl-audit`) date from before, and the service would answer a new
    // question as before. The change is reported here already, so that the page is mapped while its
    // file is still reachable.
    page::change();
}

becomes! {
    setuid(id: c_uint);
    seteuid(id: c_uint);
    setreuid(real: c_uint, effective: c_uint);
    setresuid(real: c_uint, effective: c_uint, saved: c_uint);
    setgid(id: c_uint);
    setegid(id: c_uint);
    setregid(real: c_uint, effective: c_uint);
    setresgid(real: c_uint, effective: c_uint, saved: c_uint);
    setgroups(count: usize, groups: *const c_uint);
    initgroups(user: *const c_char, group: c_uint);
    setfsuid(id: c_uint);
    setfsgid(id: c_uint);
    chroot(path: *const c_char);
    pivot_root(new: *const c_char, old: *const c_char);
    capset(head: *mut c_void, data: *const c_void);
}

/// Defines functions after which children may be in another PID namespace.
macro_rules! changes_namespaces {
    ($($name:ident($($fd:ident)?; $flags:ident);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($fd: c_int,)? $flags: c_int) -> c_int {
            leave();
            // Without flags the namespace may be of any kind.
            if $flags == 0 || $flags & libc::CLONE_NEWPID != 0 {
                page::namespaces_are_left();
            }
            let result = real!($name($($fd => c_int,)? $flags => c_int) -> c_int, -1);
            page::change();
            result
        }
    )*};
}

changes_namespaces! {
    unshare(; flags);
    setns(fd; kind);
}

/// Prepares vfork(2); returns the C library's function.
extern "C" fn before_vfork() -> *mut c_void {
    static REAL: crate::real::Real = crate::real::Real::new(c"vfork");
    descriptors::make_all_real();
    place::working_directory_changed();
    settings::before_vfork();
    REAL.get()
}

/// vfork(2) returns twice into the caller's frame, so nothing of ours may be on the stack: the code
/// jumps to the C library's function with the stack as the caller left it.
#[cfg(target_arch = "x86_64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn vfork() -> c_int {
    std::arch::naked_asm!(
        "endbr64",
        "sub rsp, 8",
        "call {before}",
        "add rsp, 8",
        "jmp rax",
        before = sym before_vfork,
    )
}

/// As above.
#[cfg(target_arch = "aarch64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn vfork() -> c_int {
    std::arch::naked_asm!(
        "stp x29, x30, [sp, #-16]!",
        "bl {before}",
        "ldp x29, x30, [sp], #16",
        "br x0",
        before = sym before_vfork,
    )
}

/// fork(2) without the handlers that were registered for it.
#[unsafe(no_mangle)]
unsafe extern "C" fn _Fork() -> c_int {
    descriptors::make_all_real();
    real!(_Fork() -> c_int, -1)
}

/// Prepares clone(2), whose first arguments are a function, a stack and flags; returns the C
/// library's function.
extern "C" fn before_clone(
    _run: *const c_void,
    _stack: *const c_void,
    flags: c_int,
) -> *mut c_void {
    static REAL: crate::real::Real = crate::real::Real::new(c"clone");
    let is_vfork = flags & libc::CLONE_VM != 0 && flags & libc::CLONE_THREAD == 0;
    if flags & libc::CLONE_NEWPID != 0 {
        page::namespaces_are_left();
    }
    if flags & libc::CLONE_THREAD == 0 {
        descriptors::make_all_real();
        place::working_directory_changed();
    }
    if is_vfork {
        settings::before_vfork();
    }
    REAL.get()
}

/// Frequent system calls that take neither a descriptor nor a path.
const OF_NO_DESCRIPTOR: [c_long; 6] = [
    libc::SYS_futex,
    libc::SYS_gettid,
    libc::SYS_getrandom,
    libc::SYS_membarrier,
    libc::SYS_sched_yield,
    libc::SYS_tgkill,
];

/// Prepares syscall(2), of which any argument may be a descriptor; returns the C library's
/// function.
extern "C" fn before_any(number: c_long) -> *mut c_void {
    static REAL: crate::real::Real = crate::real::Real::new(c"syscall");
    #[used]
    #[unsafe(link_section = "trawl_real")]
    static TO_BE_LOOKED_UP: &crate::real::Real = &REAL;
    if !OF_NO_DESCRIPTOR.contains(&number) {
        descriptors::make_all_real();
    }
    let found = REAL.known();
    match found.is_null() {
        // An allocator may call it before the functions were looked up.
        true => any as *mut c_void,
        false => found,
    }
}

/// syscall(2).
unsafe extern "C" fn any(
    number: c_long,
    first: usize,
    second: usize,
    third: usize,
    fourth: usize,
    fifth: usize,
    sixth: usize,
) -> c_long {
    let words = [first, second, third, fourth, fifth, sixth];
    // SAFETY: the caller's arguments.
    match unsafe { kernel::any(number, words) } {
        Ok(value) => value as c_long,
        Err(errno) => {
            kernel::set_errno(errno);
            -1
        }
    }
}

/// Defines functions that another function prepares, which returns the C library's function. The
/// code then jumps to that with all arguments unchanged, including those on the stack.
macro_rules! jumps {
    ($($name:ident, $before:ident;)*) => {$(
        #[cfg(target_arch = "x86_64")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() -> c_long {
            std::arch::naked_asm!(
                "endbr64",
                "push rdi",
                "push rsi",
                "push rdx",
                "push rcx",
                "push r8",
                "push r9",
                "sub rsp, 8",
                "call {before}",
                "add rsp, 8",
                "pop r9",
                "pop r8",
                "pop rcx",
                "pop rdx",
                "pop rsi",
                "pop rdi",
                "jmp rax",
                before = sym $before,
            )
        }

        #[cfg(target_arch = "aarch64")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() -> c_long {
            std::arch::naked_asm!(
                "stp x29, x30, [sp, #-80]!",
                "stp x0, x1, [sp, #16]",
                "stp x2, x3, [sp, #32]",
                "stp x4, x5, [sp, #48]",
                "stp x6, x7, [sp, #64]",
                "bl {before}",
                "mov x16, x0",
                "ldp x0, x1, [sp, #16]",
                "ldp x2, x3, [sp, #32]",
                "ldp x4, x5, [sp, #48]",
                "ldp x6, x7, [sp, #64]",
                "ldp x29, x30, [sp], #80",
                "br x16",
                before = sym $before,
            )
        }
    )*};
}

jumps! {
    clone, before_clone;
    syscall, before_any;
}
