//! Rules of Landlock: everything that the kernel knows to forbid is forbidden, except reading and
//! executing below chosen places.

use super::{AsRawFd, File, FromRawFd, OwnedFd, Path, done, io, place};

/// Numbers of the calls, the same on every architecture.
const CREATE_RULESET: libc::c_long = 444;
const ADD_RULE: libc::c_long = 445;
const RESTRICT_SELF: libc::c_long = 446;

/// `LANDLOCK_CREATE_RULESET_VERSION`
const VERSION: libc::c_uint = 1;
/// `LANDLOCK_RULE_PATH_BENEATH`
const PATH_BENEATH: libc::c_uint = 1;

const EXECUTE: u64 = 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIRECTORY: u64 = 1 << 3;

/// Rights on files that each version of Landlock knows: the number of bits, from the lowest.
const FILE_BITS: [(i64, u32); 4] = [(1, 13), (2, 14), (3, 15), (5, 16)];
/// Since version 4: to bind and to connect TCP sockets.
const NETWORK: u64 = 0b11;
/// Since version 6: abstract sockets and signals stay within.
const SCOPES: u64 = 0b11;

/// `struct landlock_ruleset_attr`
#[repr(C)]
struct Attributes {
    files: u64,
    network: u64,
    scopes: u64,
}

/// `struct landlock_path_beneath_attr`
#[repr(C, packed)]
struct Beneath {
    allowed: u64,
    parent: i32,
}

/// Returns the version of Landlock in this kernel.
pub(super) fn version() -> io::Result<i64> {
    let none = std::ptr::null::<Attributes>();
    // SAFETY: with this flag, the kernel reads no attributes.
    let version = unsafe { libc::syscall(CREATE_RULESET, none, 0usize, VERSION) };
    done(version)?;
    Ok(version)
}

/// Makes rules.
pub(super) fn ruleset(readable: &[&Path]) -> io::Result<OwnedFd> {
    let version = version()?;
    let known = FILE_BITS.iter().rfind(|(since, _)| *since <= version);
    let bits = known.map_or(13, |(_, bits)| *bits);
    let attributes = Attributes {
        files: (1 << bits) - 1,
        network: if version >= 4 { NETWORK } else { 0 },
        scopes: if version >= 6 { SCOPES } else { 0 },
    };
    // An older kernel refuses a longer structure, unless the rest is zero.
    let length = size_of::<Attributes>();
    // SAFETY: the kernel reads `length` bytes of the attributes.
    let ruleset = unsafe { libc::syscall(CREATE_RULESET, &raw const attributes, length, 0) };
    done(ruleset)?;
    // SAFETY: the kernel has just returned this descriptor, which is close-on-exec.
    let ruleset = unsafe { OwnedFd::from_raw_fd(ruleset as i32) };
    for path in readable {
        match place(path) {
            Ok(place) => allow(&ruleset, &place)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(ruleset)
}

/// Allows to read and execute a file, or what is below a directory.
fn allow(ruleset: &OwnedFd, place: &File) -> io::Result<()> {
    let directory = match place.metadata()?.is_dir() {
        true => READ_DIRECTORY,
        false => 0,
    };
    let rule = Beneath {
        allowed: EXECUTE | READ_FILE | directory,
        parent: place.as_raw_fd(),
    };
    let ruleset = ruleset.as_raw_fd();
    // SAFETY: the kernel reads one rule of this kind.
    let code = unsafe { libc::syscall(ADD_RULE, ruleset, PATH_BENEATH, &raw const rule, 0) };
    done(code)
}

/// Applies rules to the calling thread. Makes system calls only.
pub(super) fn restrict(ruleset: &OwnedFd) -> io::Result<()> {
    // SAFETY: the call gets numbers only.
    done(unsafe { libc::syscall(RESTRICT_SELF, ruleset.as_raw_fd(), 0) })
}
