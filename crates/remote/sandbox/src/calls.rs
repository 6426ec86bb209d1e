//! The system calls that are intercepted, and what each needs.

use trawl_sys::seccomp::{Filter, InterceptedCall, number, read_number};

/// What must be prepared before a call is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// The names on the way to the path.
    Names,
    /// The names, and the contents of the file.
    Content,
    /// The attributes, which are written for the call: in which form, and to which address.
    Stat(Form, u64),
    /// Extended attributes, which are returned for the call.
    Attributes(WantedXattrs),
}

/// The extended attributes that a call asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WantedXattrs {
    /// Address of the name whose value is requested; `None` if all names are requested.
    pub(crate) name: Option<u64>,
    /// Address of the buffer for the answer.
    pub(crate) to: u64,
    /// Size of the buffer in bytes; 0 only asks for the needed size.
    pub(crate) room: u64,
}

/// The structure in which attributes are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `struct stat`
    Stat,
    /// `struct statx`
    Statx,
}

/// A path that a call names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    /// The directory that it is relative to: a descriptor, or `None` for the working directory.
    pub(crate) directory: Option<i32>,
    /// Address of the path; `None` if the call means the directory's descriptor itself.
    pub(crate) path: Option<u64>,
    /// Whether a link at the end of the path is followed.
    pub(crate) is_followed: bool,
    pub(crate) need: Need,
}

/// The positions of a call's arguments.
#[derive(Clone, Copy)]
struct Shape {
    call: i64,
    directory: Option<usize>,
    path: Option<usize>,
    flags: Flags,
    what: What,
}

#[derive(Clone, Copy)]
enum Flags {
    /// A link at the end is followed.
    Follow,
    /// A link at the end is not followed.
    Stay,
    /// This argument has the flags `AT_SYMLINK_NOFOLLOW` and `AT_EMPTY_PATH`.
    At(usize),
    /// This argument has the flag `O_NOFOLLOW`.
    Open(usize),
    /// The number at the address in this argument has the flag `O_NOFOLLOW`.
    OpenAt(usize),
}

#[derive(Clone, Copy)]
enum What {
    Names,
    Content,
    Stat(usize),
    Statx(usize),
    /// A name, the buffer for its value, and the size of the buffer.
    Value(usize, usize, usize),
    /// A name, the address of a `struct xattr_args`, and the size of that structure.
    ValueAt(usize, usize, usize),
    /// The buffer for names, and its size.
    Listed(usize, usize),
}

const AT_SYMLINK_NOFOLLOW: u64 = 0x100;
const AT_EMPTY_PATH: u64 = 0x1000;
/// Size of `struct xattr_args`: an address, a size, and flags that must be 0.
const XATTR_ARGS_BYTES: u64 = 16;
const AT_FDCWD: i32 = -100;
#[cfg(target_arch = "x86_64")]
const O_NOFOLLOW: u64 = 0o400_000;
#[cfg(not(target_arch = "x86_64"))]
const O_NOFOLLOW: u64 = 0o100_000;

const fn shape(
    call: i64,
    directory: Option<usize>,
    path: Option<usize>,
    flags: Flags,
    what: What,
) -> Shape {
    Shape {
        call,
        directory,
        path,
        flags,
        what,
    }
}

#[rustfmt::skip]
static SHAPES: &[Shape] = &[
    shape(number::OPENAT, Some(0), Some(1), Flags::Open(2), What::Content),
    shape(number::OPENAT2, Some(0), Some(1), Flags::OpenAt(2), What::Content),
    shape(number::NEWFSTATAT, Some(0), Some(1), Flags::At(3), What::Stat(2)),
    shape(number::STATX, Some(0), Some(1), Flags::At(2), What::Statx(4)),
    shape(number::FSTAT, Some(0), None, Flags::Follow, What::Stat(1)),
    shape(number::FACCESSAT, Some(0), Some(1), Flags::Follow, What::Names),
    shape(number::FACCESSAT2, Some(0), Some(1), Flags::At(3), What::Names),
    shape(number::READLINKAT, Some(0), Some(1), Flags::Stay, What::Names),
    shape(number::CHDIR, None, Some(0), Flags::Follow, What::Names),
    shape(number::EXECVE, None, Some(0), Flags::Follow, What::Content),
    shape(number::EXECVEAT, Some(0), Some(1), Flags::At(4), What::Content),
    shape(number::GETXATTR, None, Some(0), Flags::Follow, What::Value(1, 2, 3)),
    shape(number::LGETXATTR, None, Some(0), Flags::Stay, What::Value(1, 2, 3)),
    shape(number::FGETXATTR, Some(0), None, Flags::Follow, What::Value(1, 2, 3)),
    shape(number::GETXATTRAT, Some(0), Some(1), Flags::At(2), What::ValueAt(3, 4, 5)),
    shape(number::LISTXATTR, None, Some(0), Flags::Follow, What::Listed(1, 2)),
    shape(number::LLISTXATTR, None, Some(0), Flags::Stay, What::Listed(1, 2)),
    shape(number::FLISTXATTR, Some(0), None, Flags::Follow, What::Listed(1, 2)),
    shape(number::LISTXATTRAT, Some(0), Some(1), Flags::At(2), What::Listed(3, 4)),
    shape(number::STATFS, None, Some(0), Flags::Follow, What::Names),
    shape(number::INOTIFY_ADD_WATCH, None, Some(1), Flags::Follow, What::Names),
    shape(number::OPEN, None, Some(0), Flags::Open(1), What::Content),
    shape(number::STAT, None, Some(0), Flags::Follow, What::Stat(1)),
    shape(number::LSTAT, None, Some(0), Flags::Stay, What::Stat(1)),
    shape(number::ACCESS, None, Some(0), Flags::Follow, What::Names),
    shape(number::READLINK, None, Some(0), Flags::Stay, What::Names),
];

/// Returns the filter that intercepts these calls.
pub fn filter() -> Filter {
    let calls: Vec<i64> = SHAPES
        .iter()
        .map(|shape| shape.call)
        .filter(|call| *call >= 0)
        .collect();
    Filter::new(&calls)
}

/// Returns the path that a call names; `None` if the call needs no attention.
pub(crate) fn named(asked: &InterceptedCall) -> Option<Named> {
    let shape = SHAPES.iter().find(|shape| shape.call == asked.call)?;
    let argument = |at: usize| asked.arguments[at];
    let directory = shape.directory.map(|at| argument(at) as i32);
    let directory = directory.filter(|directory| *directory != AT_FDCWD);
    let (is_followed, is_itself) = match shape.flags {
        Flags::Follow => (true, false),
        Flags::Stay => (false, false),
        Flags::At(at) => {
            let flags = argument(at);
            let is_itself = flags & AT_EMPTY_PATH != 0;
            (flags & AT_SYMLINK_NOFOLLOW == 0, is_itself)
        }
        Flags::Open(at) => (argument(at) & O_NOFOLLOW == 0, false),
        Flags::OpenAt(at) => {
            let flags = read_number(asked.thread, argument(at)).unwrap_or(0);
            (flags & O_NOFOLLOW == 0, false)
        }
    };
    let need = match shape.what {
        What::Names => Need::Names,
        What::Content => Need::Content,
        What::Stat(at) => Need::Stat(Form::Stat, argument(at)),
        What::Statx(at) => Need::Stat(Form::Statx, argument(at)),
        What::Listed(to, room) => Need::Attributes(WantedXattrs {
            name: None,
            to: argument(to),
            room: argument(room),
        }),
        What::Value(name, to, room) => Need::Attributes(WantedXattrs {
            name: Some(argument(name)),
            to: argument(to),
            room: argument(room),
        }),
        What::ValueAt(name, rest, bytes) if argument(bytes) == XATTR_ARGS_BYTES => {
            let rest = argument(rest);
            let to = read_number(asked.thread, rest).ok()?;
            let room = read_number(asked.thread, rest.wrapping_add(8)).ok()?;
            // The upper half of the number holds the flags: a call with flags is left to the
            // kernel.
            let room = u32::try_from(room).ok()?.into();
            let name = Some(argument(name));
            Need::Attributes(WantedXattrs { name, to, room })
        }
        What::ValueAt(..) => return None,
    };
    // Since Linux 6.11 the path may be NULL.
    let path = shape
        .path
        .map(argument)
        .filter(|path| *path != 0 || !is_itself);
    Some(Named {
        directory,
        path,
        is_followed,
        need,
    })
}
