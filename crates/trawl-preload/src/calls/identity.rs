//! Calls after which the process is somebody else, or sees something else, than the service knows;
//! and the one after which it is two processes in one memory.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::real::real;
use crate::{descriptors, page, place, settings};

/// Functions after which no table is used any more.
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

/// What was opened as who the process is still belongs to that.
fn leave() {
    descriptors::make_all_real();
    place::working_directory_changed();
    settings::switch_off();
    // The loader's tables (`trawl-audit`) are of before, and who asks again the service knows. Here
    // already, so that the page is mapped while its file is still where it was.
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
    unshare(flags: c_int);
    setns(fd: c_int, kind: c_int);
    capset(head: *mut c_void, data: *const c_void);
}

/// What is to be done before vfork(2); gives the C library's.
extern "C" fn before_vfork() -> *mut c_void {
    static REAL: crate::real::Real = crate::real::Real::new(c"vfork");
    descriptors::make_all_real();
    place::working_directory_changed();
    settings::before_vfork();
    REAL.get()
}

/// vfork(2) returns twice into the caller's frame, so nothing of ours may be on the stack: the C
/// library's function is jumped to with the stack as the caller left it.
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
