//! Collects the calls of all processes.
//!
//! A call is seen before the kernel executes it, so a file that is about to be made is looked up
//! again when all has ended: it may have been renamed or removed by then.
//!
//! Shells such as dash open redirected output before they start the program (by vfork(2)), so a
//! program's standard descriptors are looked at when it begins. Which libraries such a program has
//! mapped is looked up when it ends, or when it begins to run another one.

use std::collections::{HashMap, HashSet};
use std::ffi::CString;
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use trawl_model::accesses::{
    Access, AccessKind, AccessedFile, Accesses, FileAtEnd, FileIdentity, FileNumber,
};
use trawl_model::relative_path::split;
use trawl_sys::file::found_at;
use trawl_sys::seccomp::InterceptedCall;
use trawl_sys::stat::{Stat, Time};

use super::calls::{Deed, NamedPath, O_CLOEXEC, OpenMode, Way, deed, way};
use super::{EVENTS_MAX, FILES_MAX, Watch};

/// File systems of the kernel's own, whose files are no data.
pub(super) const KERNEL: [&[u8]; 3] = [b"/proc/", b"/sys/", b"/dev/"];
/// Standard input, output and error output.
const STANDARD: [u32; 3] = [0, 1, 2];
/// For so many files that a program opens for writing, its libraries are looked up before.
const LOOKS_AT_CODE_MAX: u32 = 4;

/// A process, as long as it lives: numbers of processes are used again.
#[derive(Clone, Copy)]
struct Known {
    /// When it began, in clock ticks since the machine started.
    began: u64,
    number: u32,
}

/// A process that makes a call.
#[derive(Clone, Copy)]
struct Process {
    number: u32,
    /// Number of its parent; 0 if that is not known.
    parent: u32,
    /// The kernel's id.
    id: i32,
}

/// Collects calls.
#[derive(Default)]
pub(super) struct Recorder {
    accesses: Accesses,
    numbers: HashMap<Vec<u8>, FileNumber>,
    /// Ids of threads, with when they began and their processes.
    threads: HashMap<i32, (u64, i32)>,
    processes: HashMap<i32, Known>,
    processes_count: u32,
    /// What each process has done since it began to run its program.
    done: HashMap<u32, Done>,
    /// The files that the command itself was given as standard descriptors. Programs that it starts
    /// have them open, too, and need not use them.
    given: HashSet<FileNumber>,
}

#[derive(Default)]
struct Done {
    accesses: HashSet<(FileNumber, u8)>,
    looks_at_code: u32,
    is_redirected: bool,
}

/// Returns the time in nanoseconds since the epoch.
fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
    })
}

fn in_ns(time: Time) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(0)
}

fn at_end(stat: &Stat) -> Option<FileAtEnd> {
    stat.is_file().then(|| FileAtEnd {
        identity: FileIdentity {
            device: stat.dev.as_u64(),
            inode: stat.ino,
            born_ns: stat.btime.map_or(0, in_ns),
        },
        modified_ns: in_ns(stat.mtime),
    })
}

impl Watch for Recorder {
    type Seen = Accesses;

    fn see(&mut self, asked: &InterceptedCall, is_waiting: &dyn Fn() -> bool) {
        self.record(asked, is_waiting);
    }

    /// Looks at all files as they are now, and returns what was done.
    fn end(mut self) -> Accesses {
        for file in &mut self.accesses.files {
            let found = CString::new(&*file.path).ok();
            let found = found.and_then(|path| found_at(&path).ok());
            // Another root directory or mount may have had the path.
            let found = found.filter(|(_, path)| *path == file.path);
            file.at_end = found.and_then(|(stat, _)| at_end(&stat));
        }
        self.accesses
    }
}

impl Recorder {
    /// Records a call.
    fn record(&mut self, asked: &InterceptedCall, is_waiting: &dyn Fn() -> bool) {
        let Some(deed) = deed(asked) else {
            return;
        };
        let Some(process) = self.process(asked.thread) else {
            return;
        };
        if !is_waiting() {
            return;
        }
        match deed {
            Deed::Execute(named) => {
                let file = place(asked.thread, &named).and_then(|place| self.program(&place));
                if let Some(file) = file {
                    self.execute(process, asked.thread, file);
                }
            }
            Deed::End => self.leave(process),
            Deed::Open(named, way) => {
                if let Some(place) = place(asked.thread, &named) {
                    self.open(process, &place, way);
                }
            }
            Deed::Name(old, new) => {
                let mut number =
                    |named: &NamedPath| self.number(beside(&place(asked.thread, named)?)?);
                if let (Some(from), Some(to)) = (number(&old), number(&new)) {
                    self.add(process, AccessKind::Named(from), to);
                }
            }
        }
    }

    /// A process begins to run a program.
    fn execute(&mut self, process: Process, thread: i32, program: FileNumber) {
        self.leave(process);
        self.done.remove(&process.number);
        let is_first = self.accesses.events.is_empty();
        self.add(process, AccessKind::Executed, program);
        for descriptor in STANDARD {
            let Some((file, kind)) = self.inherited(thread, descriptor) else {
                continue;
            };
            if is_first {
                self.given.insert(file);
            } else if self.given.contains(&file) {
                continue;
            }
            self.add(process, kind, file);
            if kind == AccessKind::Redirected {
                self.done.entry(process.number).or_default().is_redirected = true;
            }
        }
    }

    /// Returns the regular file that a program which is about to begin has as a descriptor, and what
    /// for.
    fn inherited(&mut self, thread: i32, descriptor: u32) -> Option<(FileNumber, AccessKind)> {
        let flags = flags(thread, descriptor)?;
        let way = way(flags).filter(|_| flags & O_CLOEXEC == 0)?;
        let file = self.existing(format!("/proc/{thread}/fd/{descriptor}").as_bytes())?;
        let kind = match way.mode {
            OpenMode::Read => AccessKind::Read,
            OpenMode::Update | OpenMode::Write => AccessKind::Redirected,
            OpenMode::Append => AccessKind::Appended,
        };
        Some((file, kind))
    }

    /// A process ends its program. One with redirected output opened nothing at which its code would
    /// have been looked up.
    fn leave(&mut self, process: Process) {
        let done = self.done.get(&process.number);
        if done.is_some_and(|done| done.is_redirected) {
            self.look_at_code(process);
        }
    }

    fn open(&mut self, process: Process, place: &[u8], way: Way) {
        let kind = match way.mode {
            OpenMode::Read => AccessKind::Read,
            OpenMode::Update => AccessKind::Updated,
            OpenMode::Write => AccessKind::Written,
            OpenMode::Append => AccessKind::Appended,
        };
        let mut file = self.existing(place);
        if file.is_none() && way.is_made {
            let path = beside(place).filter(|_| !is_there(place));
            file = path.and_then(|path| self.number(path));
        }
        let Some(file) = file else {
            return;
        };
        if matches!(kind, AccessKind::Written | AccessKind::Updated) {
            let looks = &mut self.done.entry(process.number).or_default().looks_at_code;
            *looks += 1;
            if *looks <= LOOKS_AT_CODE_MAX {
                self.look_at_code(process);
            }
        }
        self.add(process, kind, file);
    }

    fn add(&mut self, process: Process, kind: AccessKind, file: FileNumber) {
        let code = match kind {
            AccessKind::Executed => 0,
            AccessKind::Mapped => 1,
            AccessKind::Read => 2,
            AccessKind::Updated => 3,
            AccessKind::Written => 4,
            AccessKind::Appended => 5,
            AccessKind::Redirected => 6,
            AccessKind::Named(_) => 7,
        };
        let done = self.done.entry(process.number).or_default();
        let is_name = matches!(kind, AccessKind::Named(_));
        if !is_name && !done.accesses.insert((file, code)) {
            return;
        }
        if self.accesses.events.len() >= EVENTS_MAX {
            self.accesses.lost += 1;
            return;
        }
        self.accesses.events.push(Access {
            at_ns: now_ns(),
            process: process.number,
            parent: process.parent,
            file,
            kind,
        });
    }

    /// Returns the process of a thread.
    fn process(&mut self, thread: i32) -> Option<Process> {
        let (parent, began) = parent_and_begin(thread)?;
        let leader = match self.threads.get(&thread) {
            Some((known, leader)) if *known == began => *leader,
            _ => {
                let leader = leader(thread)?;
                self.threads.insert(thread, (began, leader));
                leader
            }
        };
        let began = match leader == thread {
            true => began,
            false => parent_and_begin(leader)?.1,
        };
        let known = self.processes.get(&leader).filter(|one| one.began == began);
        let number = match known {
            Some(known) => known.number,
            None => {
                self.processes_count += 1;
                let number = self.processes_count;
                self.processes.insert(leader, Known { began, number });
                number
            }
        };
        let parent = self.processes.get(&parent).map_or(0, |one| one.number);
        Some(Process {
            number,
            parent,
            id: leader,
        })
    }

    /// Returns the number of the regular file at a place, if there is one.
    fn existing(&mut self, place: &[u8]) -> Option<FileNumber> {
        let (stat, path) = found_at(&CString::new(place).ok()?).ok()?;
        // A file without a name has a path that never was one.
        let is_data = stat.is_file() && stat.nlink > 0 && path.starts_with(b"/");
        if !is_data || KERNEL.iter().any(|kernel| path.starts_with(kernel)) {
            return None;
        }
        self.number(path)
    }

    /// Like [`Recorder::existing`], if the file can be executed by anybody.
    fn program(&mut self, place: &[u8]) -> Option<FileNumber> {
        let (stat, path) = found_at(&CString::new(place).ok()?).ok()?;
        let is_program = stat.is_file() && stat.mode & 0o111 != 0 && path.starts_with(b"/");
        is_program.then(|| self.number(path)).flatten()
    }

    fn number(&mut self, path: Vec<u8>) -> Option<FileNumber> {
        if let Some(number) = self.numbers.get(&path) {
            return Some(*number);
        }
        if self.accesses.files.len() >= FILES_MAX {
            self.accesses.lost += 1;
            return None;
        }
        let number = self.accesses.files.len() as FileNumber;
        self.numbers.insert(path.clone(), number);
        self.accesses
            .files
            .push(AccessedFile { path, at_end: None });
        Some(number)
    }

    /// Records the libraries that a process has mapped as code.
    fn look_at_code(&mut self, process: Process) {
        let Ok(maps) = fs::read(format!("/proc/{}/maps", process.id)) else {
            return;
        };
        for path in maps.split(|byte| *byte == b'\n').filter_map(mapped_code) {
            if let Some(file) = self.existing(path) {
                self.add(process, AccessKind::Mapped, file);
            }
        }
    }
}

/// Returns the path of a line of `/proc/PID/maps` that maps a file as code.
///
/// Source: <https://man7.org/linux/man-pages/man5/proc_pid_maps.5.html>
fn mapped_code(line: &[u8]) -> Option<&[u8]> {
    let permissions = line.split(|byte| *byte == b' ').nth(1)?;
    let path = line.iter().position(|byte| *byte == b'/')?;
    (permissions.get(2) == Some(&b'x')).then_some(&line[path..])
}

/// Returns the flags with which a descriptor of a thread was opened.
///
/// Source: <https://man7.org/linux/man-pages/man5/proc_pid_fdinfo.5.html>
fn flags(thread: i32, descriptor: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{thread}/fdinfo/{descriptor}")).ok()?;
    let octal = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
    u64::from_str_radix(octal.trim(), 8).ok()
}

/// Returns the place that a path of a thread's call leads to, as this process can open it; `None`
/// if the path is one of the kernel's, or the directory's descriptor itself is meant.
pub(super) fn place(thread: i32, named: &NamedPath) -> Option<Vec<u8>> {
    if named.text.is_empty() || KERNEL.iter().any(|kernel| named.text.starts_with(kernel)) {
        return None;
    }
    if named.text.starts_with(b"/") {
        return Some(named.text.clone());
    }
    let directory = match named.directory {
        Some(fd) => format!("/proc/{thread}/fd/{fd}/"),
        None => format!("/proc/{thread}/cwd/"),
    };
    Some([directory.as_bytes(), &named.text].concat())
}

/// Returns true if anything has this name.
fn is_there(place: &[u8]) -> bool {
    let place = CString::new(place).ok();
    place.is_some_and(|place| found_at(&place).is_ok())
}

/// Returns the path of a name in an existing directory, without links and dots before the name.
fn beside(place: &[u8]) -> Option<Vec<u8>> {
    let (directory, name) = split(place);
    if matches!(name, b"" | b"." | b"..") {
        return None;
    }
    let directory = [directory, b"/"].concat();
    let (stat, path) = found_at(&CString::new(directory).ok()?).ok()?;
    let is_kernel = KERNEL.iter().any(|kernel| path.starts_with(kernel));
    if !stat.is_directory() || !path.starts_with(b"/") || is_kernel {
        return None;
    }
    let path = path.strip_suffix(b"/").unwrap_or(&path);
    Some([path, b"/", name].concat())
}

/// Returns the id of a thread's parent process, and when the thread began.
///
/// Source: <https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html>
fn parent_and_begin(thread: i32) -> Option<(i32, u64)> {
    let text = fs::read(format!("/proc/{thread}/stat")).ok()?;
    let name_end = text.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(&text[name_end + 1..]).ok()?;
    // The first word is the third field.
    let mut words = rest.split_ascii_whitespace().skip(1);
    let parent = words.next()?.parse().ok()?;
    let began = words.nth(17)?.parse().ok()?;
    Some((parent, began))
}

/// Returns the id of a thread's process.
fn leader(thread: i32) -> Option<i32> {
    let text = fs::read(format!("/proc/{thread}/status")).ok()?;
    let lines = text.split(|byte| *byte == b'\n');
    let mut found = lines.filter_map(|line| line.strip_prefix(b"Tgid:"));
    let number = std::str::from_utf8(found.next()?).ok()?;
    number.trim().parse().ok()
}
