//! The table of the C library's functions that are measured.
//!
//! [`for_each_call`] passes the table to another macro: the preload library makes a wrapper for each
//! function, this module an id and a name for each operation. An operation has one name for all
//! symbols behind which the C library hides one call: `open64` for large files, `__open_2` in
//! programs compiled with `_FORTIFY_SOURCE`, `__xstat` in programs compiled before glibc 2.33.
//!
//! Functions with variable arguments have one more fixed argument here; see the preload library.
//! Missing on purpose: functions that return for each character or call the program back (`getc`,
//! `printf`, `scandir`, `nftw`, `glob`).

/// Passes the table to the macro of this name: `operation { symbol(argument: type, …) -> type; … }`.
#[macro_export]
macro_rules! for_each_call {
    ($consumer:ident) => { $consumer! {
        open {
            open(path: *const c_char, flags: c_int, mode: c_uint) -> c_int;
            open64(path: *const c_char, flags: c_int, mode: c_uint) -> c_int;
            __open_2(path: *const c_char, flags: c_int) -> c_int;
            __open64_2(path: *const c_char, flags: c_int) -> c_int;
        }
        openat {
            openat(at: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int;
            openat64(at: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int;
            __openat_2(at: c_int, path: *const c_char, flags: c_int) -> c_int;
            __openat64_2(at: c_int, path: *const c_char, flags: c_int) -> c_int;
        }
        creat {
            creat(path: *const c_char, mode: c_uint) -> c_int;
            creat64(path: *const c_char, mode: c_uint) -> c_int;
        }
        close { close(fd: c_int) -> c_int; }
        read {
            read(fd: c_int, to: *mut c_void, count: usize) -> isize;
            __read_chk(fd: c_int, to: *mut c_void, count: usize, room: usize) -> isize;
        }
        pread {
            pread(fd: c_int, to: *mut c_void, count: usize, offset: i64) -> isize;
            pread64(fd: c_int, to: *mut c_void, count: usize, offset: i64) -> isize;
            __pread_chk(fd: c_int, to: *mut c_void, count: usize, offset: i64, room: usize) -> isize;
            __pread64_chk(fd: c_int, to: *mut c_void, count: usize, offset: i64, room: usize) -> isize;
        }
        readv { readv(fd: c_int, parts: *const c_void, count: c_int) -> isize; }
        preadv {
            preadv(fd: c_int, parts: *const c_void, count: c_int, offset: i64) -> isize;
            preadv64(fd: c_int, parts: *const c_void, count: c_int, offset: i64) -> isize;
        }
        preadv2 {
            preadv2(fd: c_int, parts: *const c_void, count: c_int, offset: i64, flags: c_int) -> isize;
            preadv64v2(fd: c_int, parts: *const c_void, count: c_int, offset: i64, flags: c_int) -> isize;
        }
        write { write(fd: c_int, from: *const c_void, count: usize) -> isize; }
        pwrite {
            pwrite(fd: c_int, from: *const c_void, count: usize, offset: i64) -> isize;
            pwrite64(fd: c_int, from: *const c_void, count: usize, offset: i64) -> isize;
        }
        writev { writev(fd: c_int, parts: *const c_void, count: c_int) -> isize; }
        pwritev {
            pwritev(fd: c_int, parts: *const c_void, count: c_int, offset: i64) -> isize;
            pwritev64(fd: c_int, parts: *const c_void, count: c_int, offset: i64) -> isize;
        }
        pwritev2 {
            pwritev2(fd: c_int, parts: *const c_void, count: c_int, offset: i64, flags: c_int) -> isize;
            pwritev64v2(fd: c_int, parts: *const c_void, count: c_int, offset: i64, flags: c_int) -> isize;
        }
        lseek {
            lseek(fd: c_int, offset: i64, whence: c_int) -> i64;
            lseek64(fd: c_int, offset: i64, whence: c_int) -> i64;
        }
        stat {
            stat(path: *const c_char, to: *mut c_void) -> c_int;
            stat64(path: *const c_char, to: *mut c_void) -> c_int;
            __xstat(version: c_int, path: *const c_char, to: *mut c_void) -> c_int;
            __xstat64(version: c_int, path: *const c_char, to: *mut c_void) -> c_int;
        }
        lstat {
            lstat(path: *const c_char, to: *mut c_void) -> c_int;
            lstat64(path: *const c_char, to: *mut c_void) -> c_int;
            __lxstat(version: c_int, path: *const c_char, to: *mut c_void) -> c_int;
            __lxstat64(version: c_int, path: *const c_char, to: *mut c_void) -> c_int;
        }
        fstat {
            fstat(fd: c_int, to: *mut c_void) -> c_int;
            fstat64(fd: c_int, to: *mut c_void) -> c_int;
            __fxstat(version: c_int, fd: c_int, to: *mut c_void) -> c_int;
            __fxstat64(version: c_int, fd: c_int, to: *mut c_void) -> c_int;
        }
        fstatat {
            fstatat(at: c_int, path: *const c_char, to: *mut c_void, flags: c_int) -> c_int;
            fstatat64(at: c_int, path: *const c_char, to: *mut c_void, flags: c_int) -> c_int;
            __fxstatat(version: c_int, at: c_int, path: *const c_char, to: *mut c_void, flags: c_int) -> c_int;
            __fxstatat64(version: c_int, at: c_int, path: *const c_char, to: *mut c_void, flags: c_int) -> c_int;
        }
        statx { statx(at: c_int, path: *const c_char, flags: c_int, mask: c_uint, to: *mut c_void) -> c_int; }
        access { access(path: *const c_char, mode: c_int) -> c_int; }
        euidaccess {
            euidaccess(path: *const c_char, mode: c_int) -> c_int;
            eaccess(path: *const c_char, mode: c_int) -> c_int;
        }
        faccessat { faccessat(at: c_int, path: *const c_char, mode: c_int, flags: c_int) -> c_int; }
        opendir { opendir(path: *const c_char) -> *mut c_void; }
        fdopendir { fdopendir(fd: c_int) -> *mut c_void; }
        readdir {
            readdir(stream: *mut c_void) -> *mut c_void;
            readdir64(stream: *mut c_void) -> *mut c_void;
            readdir_r(stream: *mut c_void, entry: *mut c_void, result: *mut c_void) -> c_int;
            readdir64_r(stream: *mut c_void, entry: *mut c_void, result: *mut c_void) -> c_int;
        }
        rewinddir { rewinddir(stream: *mut c_void) -> (); }
        closedir { closedir(stream: *mut c_void) -> c_int; }
        getdents64 { getdents64(fd: c_int, to: *mut c_void, room: usize) -> isize; }
        mkdir { mkdir(path: *const c_char, mode: c_uint) -> c_int; }
        mkdirat { mkdirat(at: c_int, path: *const c_char, mode: c_uint) -> c_int; }
        mkfifo { mkfifo(path: *const c_char, mode: c_uint) -> c_int; }
        mknod {
            mknod(path: *const c_char, mode: c_uint, device: u64) -> c_int;
            __xmknod(version: c_int, path: *const c_char, mode: c_uint, device: *mut u64) -> c_int;
        }
        mknodat {
            mknodat(at: c_int, path: *const c_char, mode: c_uint, device: u64) -> c_int;
            __xmknodat(version: c_int, at: c_int, path: *const c_char, mode: c_uint, device: *mut u64) -> c_int;
        }
        mkdtemp { mkdtemp(template: *mut c_char) -> *mut c_char; }
        mkstemp {
            mkstemp(template: *mut c_char) -> c_int;
            mkstemp64(template: *mut c_char) -> c_int;
            mkstemps(template: *mut c_char, suffix: c_int) -> c_int;
            mkstemps64(template: *mut c_char, suffix: c_int) -> c_int;
            mkostemp(template: *mut c_char, flags: c_int) -> c_int;
            mkostemp64(template: *mut c_char, flags: c_int) -> c_int;
            mkostemps(template: *mut c_char, suffix: c_int, flags: c_int) -> c_int;
            mkostemps64(template: *mut c_char, suffix: c_int, flags: c_int) -> c_int;
        }
        rmdir { rmdir(path: *const c_char) -> c_int; }
        unlink { unlink(path: *const c_char) -> c_int; }
        unlinkat { unlinkat(at: c_int, path: *const c_char, flags: c_int) -> c_int; }
        remove { remove(path: *const c_char) -> c_int; }
        rename { rename(from: *const c_char, to: *const c_char) -> c_int; }
        renameat { renameat(at: c_int, from: *const c_char, to_at: c_int, to: *const c_char) -> c_int; }
        renameat2 { renameat2(at: c_int, from: *const c_char, to_at: c_int, to: *const c_char, flags: c_uint) -> c_int; }
        link { link(from: *const c_char, to: *const c_char) -> c_int; }
        linkat { linkat(at: c_int, from: *const c_char, to_at: c_int, to: *const c_char, flags: c_int) -> c_int; }
        symlink { symlink(target: *const c_char, path: *const c_char) -> c_int; }
        symlinkat { symlinkat(target: *const c_char, at: c_int, path: *const c_char) -> c_int; }
        readlink {
            readlink(path: *const c_char, to: *mut c_char, room: usize) -> isize;
            __readlink_chk(path: *const c_char, to: *mut c_char, length: usize, room: usize) -> isize;
        }
        readlinkat {
            readlinkat(at: c_int, path: *const c_char, to: *mut c_char, room: usize) -> isize;
            __readlinkat_chk(at: c_int, path: *const c_char, to: *mut c_char, length: usize, room: usize) -> isize;
        }
        realpath {
            realpath(path: *const c_char, to: *mut c_char) -> *mut c_char;
            __realpath_chk(path: *const c_char, to: *mut c_char, room: usize) -> *mut c_char;
            canonicalize_file_name(path: *const c_char) -> *mut c_char;
        }
        chmod { chmod(path: *const c_char, mode: c_uint) -> c_int; }
        fchmod { fchmod(fd: c_int, mode: c_uint) -> c_int; }
        fchmodat { fchmodat(at: c_int, path: *const c_char, mode: c_uint, flags: c_int) -> c_int; }
        chown { chown(path: *const c_char, user: c_uint, group: c_uint) -> c_int; }
        lchown { lchown(path: *const c_char, user: c_uint, group: c_uint) -> c_int; }
        fchown { fchown(fd: c_int, user: c_uint, group: c_uint) -> c_int; }
        fchownat { fchownat(at: c_int, path: *const c_char, user: c_uint, group: c_uint, flags: c_int) -> c_int; }
        truncate {
            truncate(path: *const c_char, size: i64) -> c_int;
            truncate64(path: *const c_char, size: i64) -> c_int;
        }
        ftruncate {
            ftruncate(fd: c_int, size: i64) -> c_int;
            ftruncate64(fd: c_int, size: i64) -> c_int;
        }
        fsync { fsync(fd: c_int) -> c_int; }
        fdatasync { fdatasync(fd: c_int) -> c_int; }
        sync { sync() -> (); }
        syncfs { syncfs(fd: c_int) -> c_int; }
        sync_file_range { sync_file_range(fd: c_int, offset: i64, count: i64, flags: c_uint) -> c_int; }
        mmap {
            mmap(at: *mut c_void, length: usize, protection: c_int, flags: c_int, fd: c_int, offset: i64) -> Mapped;
            mmap64(at: *mut c_void, length: usize, protection: c_int, flags: c_int, fd: c_int, offset: i64) -> Mapped;
        }
        munmap { munmap(at: *mut c_void, length: usize) -> c_int; }
        msync { msync(at: *mut c_void, length: usize, flags: c_int) -> c_int; }
        fopen {
            fopen(path: *const c_char, mode: *const c_char) -> *mut c_void;
            fopen64(path: *const c_char, mode: *const c_char) -> *mut c_void;
        }
        fdopen { fdopen(fd: c_int, mode: *const c_char) -> *mut c_void; }
        freopen {
            freopen(path: *const c_char, mode: *const c_char, stream: *mut c_void) -> *mut c_void;
            freopen64(path: *const c_char, mode: *const c_char, stream: *mut c_void) -> *mut c_void;
        }
        tmpfile {
            tmpfile() -> *mut c_void;
            tmpfile64() -> *mut c_void;
        }
        fread {
            fread(to: *mut c_void, size: usize, count: usize, stream: *mut c_void) -> usize;
            fread_unlocked(to: *mut c_void, size: usize, count: usize, stream: *mut c_void) -> usize;
            __fread_chk(to: *mut c_void, room: usize, size: usize, count: usize, stream: *mut c_void) -> usize;
            __fread_unlocked_chk(to: *mut c_void, room: usize, size: usize, count: usize, stream: *mut c_void) -> usize;
        }
        fwrite {
            fwrite(from: *const c_void, size: usize, count: usize, stream: *mut c_void) -> usize;
            fwrite_unlocked(from: *const c_void, size: usize, count: usize, stream: *mut c_void) -> usize;
        }
        fgets {
            fgets(to: *mut c_char, room: c_int, stream: *mut c_void) -> *mut c_char;
            fgets_unlocked(to: *mut c_char, room: c_int, stream: *mut c_void) -> *mut c_char;
            __fgets_chk(to: *mut c_char, size: usize, room: c_int, stream: *mut c_void) -> *mut c_char;
            __fgets_unlocked_chk(to: *mut c_char, size: usize, room: c_int, stream: *mut c_void) -> *mut c_char;
        }
        fputs {
            fputs(text: *const c_char, stream: *mut c_void) -> c_int;
            fputs_unlocked(text: *const c_char, stream: *mut c_void) -> c_int;
        }
        getline {
            getline(line: *mut c_void, room: *mut usize, stream: *mut c_void) -> isize;
            getdelim(line: *mut c_void, room: *mut usize, end: c_int, stream: *mut c_void) -> isize;
            __getdelim(line: *mut c_void, room: *mut usize, end: c_int, stream: *mut c_void) -> isize;
        }
        fflush {
            fflush(stream: *mut c_void) -> c_int;
            fflush_unlocked(stream: *mut c_void) -> c_int;
        }
        fseek {
            fseek(stream: *mut c_void, offset: i64, whence: c_int) -> c_int;
            fseeko(stream: *mut c_void, offset: i64, whence: c_int) -> c_int;
            fseeko64(stream: *mut c_void, offset: i64, whence: c_int) -> c_int;
        }
        fclose { fclose(stream: *mut c_void) -> c_int; }
        fallocate {
            fallocate(fd: c_int, mode: c_int, offset: i64, length: i64) -> c_int;
            fallocate64(fd: c_int, mode: c_int, offset: i64, length: i64) -> c_int;
        }
        posix_fallocate {
            posix_fallocate(fd: c_int, offset: i64, length: i64) -> ErrorNumber;
            posix_fallocate64(fd: c_int, offset: i64, length: i64) -> ErrorNumber;
        }
        posix_fadvise {
            posix_fadvise(fd: c_int, offset: i64, length: i64, advice: c_int) -> ErrorNumber;
            posix_fadvise64(fd: c_int, offset: i64, length: i64, advice: c_int) -> ErrorNumber;
        }
        readahead { readahead(fd: c_int, offset: i64, count: usize) -> isize; }
        copy_file_range { copy_file_range(from: c_int, from_at: *mut i64, to: c_int, to_at: *mut i64, count: usize, flags: c_uint) -> isize; }
        sendfile {
            sendfile(to: c_int, from: c_int, offset: *mut i64, count: usize) -> isize;
            sendfile64(to: c_int, from: c_int, offset: *mut i64, count: usize) -> isize;
        }
        splice { splice(from: c_int, from_at: *mut i64, to: c_int, to_at: *mut i64, count: usize, flags: c_uint) -> isize; }
        getxattr { getxattr(path: *const c_char, name: *const c_char, to: *mut c_void, room: usize) -> isize; }
        lgetxattr { lgetxattr(path: *const c_char, name: *const c_char, to: *mut c_void, room: usize) -> isize; }
        fgetxattr { fgetxattr(fd: c_int, name: *const c_char, to: *mut c_void, room: usize) -> isize; }
        setxattr { setxattr(path: *const c_char, name: *const c_char, from: *const c_void, count: usize, flags: c_int) -> c_int; }
        lsetxattr { lsetxattr(path: *const c_char, name: *const c_char, from: *const c_void, count: usize, flags: c_int) -> c_int; }
        fsetxattr { fsetxattr(fd: c_int, name: *const c_char, from: *const c_void, count: usize, flags: c_int) -> c_int; }
        listxattr { listxattr(path: *const c_char, to: *mut c_char, room: usize) -> isize; }
        llistxattr { llistxattr(path: *const c_char, to: *mut c_char, room: usize) -> isize; }
        flistxattr { flistxattr(fd: c_int, to: *mut c_char, room: usize) -> isize; }
        removexattr { removexattr(path: *const c_char, name: *const c_char) -> c_int; }
        lremovexattr { lremovexattr(path: *const c_char, name: *const c_char) -> c_int; }
        fremovexattr { fremovexattr(fd: c_int, name: *const c_char) -> c_int; }
        getcwd {
            getcwd(to: *mut c_char, room: usize) -> *mut c_char;
            __getcwd_chk(to: *mut c_char, size: usize, room: usize) -> *mut c_char;
        }
        chdir { chdir(path: *const c_char) -> c_int; }
        fchdir { fchdir(fd: c_int) -> c_int; }
        utimensat { utimensat(at: c_int, path: *const c_char, times: *const c_void, flags: c_int) -> c_int; }
        futimens { futimens(fd: c_int, times: *const c_void) -> c_int; }
        utimes { utimes(path: *const c_char, times: *const c_void) -> c_int; }
        utime { utime(path: *const c_char, times: *const c_void) -> c_int; }
        statfs {
            statfs(path: *const c_char, to: *mut c_void) -> c_int;
            statfs64(path: *const c_char, to: *mut c_void) -> c_int;
        }
        fstatfs {
            fstatfs(fd: c_int, to: *mut c_void) -> c_int;
            fstatfs64(fd: c_int, to: *mut c_void) -> c_int;
        }
        statvfs {
            statvfs(path: *const c_char, to: *mut c_void) -> c_int;
            statvfs64(path: *const c_char, to: *mut c_void) -> c_int;
        }
        fstatvfs {
            fstatvfs(fd: c_int, to: *mut c_void) -> c_int;
            fstatvfs64(fd: c_int, to: *mut c_void) -> c_int;
        }
        fcntl {
            fcntl(fd: c_int, command: c_int, argument: usize) -> c_int;
            fcntl64(fd: c_int, command: c_int, argument: usize) -> c_int;
        }
        ioctl { ioctl(fd: c_int, request: usize, argument: usize) -> c_int; }
        flock { flock(fd: c_int, operation: c_int) -> c_int; }
        lockf {
            lockf(fd: c_int, command: c_int, length: i64) -> c_int;
            lockf64(fd: c_int, command: c_int, length: i64) -> c_int;
        }
    } };
}

/// Makes the ids and the names.
macro_rules! name {
    ($($operation:ident {
        $($symbol:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*
    })*) => {
        /// A measured operation; its number is its place in shared memory.
        #[allow(
            missing_docs,
            non_camel_case_types,
            reason = "the names are those of the C library's functions"
        )]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub enum Operation { $($operation),* }

        /// The names of all operations, in the order of their numbers.
        pub const NAMES: &[&str] = &[$(stringify!($operation)),*];

        /// The symbols of all operations, in the order of their numbers.
        pub const SYMBOLS: &[&[&str]] = &[$(&[$(stringify!($symbol)),*]),*];
    };
}

for_each_call!(name);

/// The number of operations.
pub const OPERATIONS: usize = NAMES.len();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_places_in_the_tables() {
        assert_eq!(NAMES[Operation::open as usize], "open");
        assert_eq!(NAMES[Operation::lockf as usize], "lockf");
        assert_eq!(SYMBOLS[Operation::fstat as usize][3], "__fxstat64");
    }

    #[test]
    fn each_symbol_appears_once() {
        let mut all: Vec<_> = SYMBOLS.concat();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
