//! The calls that are recorded, and what each does to which path.

use trawl_sys::seccomp::{Filter, InterceptedCall, number, read_number, read_path};

/// A path that a call names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedPath {
    /// The directory that it is relative to: a descriptor, or `None` for the working directory.
    pub(super) directory: Option<i32>,
    /// The path as the call has it.
    pub(super) text: Vec<u8>,
}

/// What a call is about to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    Execute(NamedPath),
    Open(NamedPath, Way),
    /// The second name gets the first one's content.
    Name(NamedPath, NamedPath),
    /// The process ends.
    End,
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) mode: OpenMode,
    /// Whether a missing file is made.
    pub(super) is_made: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenMode {
    Read,
    Update,
    Write,
    Append,
}

/// The positions of a call's arguments.
#[derive(Clone, Copy)]
enum Shape {
    /// Directory, path; flags of execveat(2) do not matter.
    Execute(Option<usize>, usize),
    /// Directory, path, flags.
    Open(Option<usize>, usize, usize),
    /// Directory, path, address of `struct open_how`, whose first number are the flags.
    OpenHow(usize, usize, usize),
    /// A path.
    Create(usize),
    /// Two paths, each with a directory.
    Name([(Option<usize>, usize); 2]),
    End,
}

#[rustfmt::skip]
static SHAPES: &[(i64, Shape)] = &[
    (number::OPENAT, Shape::Open(Some(0), 1, 2)),
    (number::OPEN, Shape::Open(None, 0, 1)),
    (number::OPENAT2, Shape::OpenHow(0, 1, 2)),
    (number::CREAT, Shape::Create(0)),
    (number::EXECVE, Shape::Execute(None, 0)),
    (number::EXECVEAT, Shape::Execute(Some(0), 1)),
    (number::RENAME, Shape::Name([(None, 0), (None, 1)])),
    (number::RENAMEAT, Shape::Name([(Some(0), 1), (Some(2), 3)])),
    (number::RENAMEAT2, Shape::Name([(Some(0), 1), (Some(2), 3)])),
    (number::LINK, Shape::Name([(None, 0), (None, 1)])),
    (number::LINKAT, Shape::Name([(Some(0), 1), (Some(2), 3)])),
    (number::EXIT_GROUP, Shape::End),
];

const AT_FDCWD: i32 = -100;
const O_ACCMODE: u64 = 3;
const O_WRONLY: u64 = 1;
const O_RDWR: u64 = 2;
const O_CREAT: u64 = 0o100;
const O_APPEND: u64 = 0o2000;
/// The place is opened, not the file.
const O_PATH: u64 = 0o10_000_000;
/// The descriptor is closed when a program is executed.
pub(super) const O_CLOEXEC: u64 = 0o2_000_000;
/// A file without a name is made.
const O_TMPFILE: u64 = 0o20_000_000;

/// Returns the filter that intercepts these calls.
pub(super) fn filter() -> Filter {
    let calls = SHAPES.iter().map(|(call, _)| *call);
    let calls: Vec<i64> = calls.filter(|call| *call >= 0).collect();
    Filter::new(&calls)
}

/// Returns the filter that intercepts the calls that open files.
pub(super) fn filter_of_opens() -> Filter {
    let is_open = |shape: &Shape| matches!(shape, Shape::Open(..) | Shape::OpenHow(..));
    let calls = SHAPES
        .iter()
        .filter(|(call, shape)| *call >= 0 && is_open(shape));
    let calls: Vec<i64> = calls.map(|(call, _)| *call).collect();
    Filter::new(&calls)
}

/// Returns what a call is about to do; `None` if it does nothing that is recorded, or its memory
/// cannot be read.
pub(super) fn deed(asked: &InterceptedCall) -> Option<Deed> {
    let (_, shape) = SHAPES.iter().find(|(call, _)| *call == asked.call)?;
    let path = |(directory, path): (Option<usize>, usize)| {
        let directory = directory.map(|at| asked.arguments[at] as i32);
        let text = read_path(asked.thread, asked.arguments[path]).ok()?;
        let directory = directory.filter(|fd| *fd != AT_FDCWD);
        Some(NamedPath { directory, text })
    };
    Some(match *shape {
        Shape::Execute(directory, at) => Deed::Execute(path((directory, at))?),
        Shape::Open(directory, at, flags) => {
            let way = way(asked.arguments[flags])?;
            Deed::Open(path((directory, at))?, way)
        }
        Shape::OpenHow(directory, at, how) => {
            let way = way(read_number(asked.thread, asked.arguments[how]).ok()?)?;
            Deed::Open(path((Some(directory), at))?, way)
        }
        Shape::Create(at) => Deed::Open(path((None, at))?, way(O_CREAT | O_WRONLY)?),
        Shape::Name([old, new]) => Deed::Name(path(old)?, path(new)?),
        Shape::End => Deed::End,
    })
}

/// Returns how a file is opened with these flags; `None` if it is no open of an existing name.
pub(super) fn way(flags: u64) -> Option<Way> {
    if flags & (O_PATH | O_TMPFILE) != 0 {
        return None;
    }
    let mode = match flags & O_ACCMODE {
        0 => OpenMode::Read,
        _ if flags & O_APPEND != 0 => OpenMode::Append,
        O_RDWR => OpenMode::Update,
        _ => OpenMode::Write,
    };
    Some(Way {
        mode,
        is_made: flags & O_CREAT != 0,
    })
}
