//! What `/proc` says about a program: its arguments, its working directory, its open files.

use std::fs::{self, File};
use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::Duration;

use trawl_sys::CWD;
use trawl_sys::directory::{Links, Purpose, open_path};

/// Maximum number of bytes of arguments that are looked at.
const ARGUMENTS_MAX_BYTES: u64 = 8 << 20;
/// Maximum number of open files that are looked at.
const OPEN_MAX: usize = 64;
/// How often to look for the arguments of a process that was just started, and how long to wait
/// before each further look: a second in all.
const LOOKS_MAX: usize = 1000;
const LOOK_WAIT: Duration = Duration::from_millis(1);

/// A program, as long as its process runs it.
#[derive(Debug)]
pub(crate) struct Process {
    /// The process's directory in `/proc`: it stays that of this process, whoever gets the number.
    directory: OwnedFd,
    /// The program's file.
    program: PathBuf,
}

/// An open file of a program.
pub(crate) struct OpenFile {
    /// Its path, without links.
    pub(crate) path: Vec<u8>,
    /// Where its link is.
    link: PathBuf,
}

impl OpenFile {
    /// Returns its device and inode number.
    pub(crate) fn id(&self) -> Option<(u64, u64)> {
        use std::os::unix::fs::MetadataExt;
        let of = fs::metadata(&self.link).ok()?;
        Some((of.dev(), of.ino()))
    }
}

impl Process {
    /// Returns the program that a process runs; `None` if it has ended or may not be looked at.
    pub(crate) fn of(number: i32) -> Option<Process> {
        let path = std::ffi::CString::new(format!("/proc/{number}")).ok()?;
        let directory = open_path(CWD, &path, Purpose::Pass, Links::Refused).ok()?;
        let mut process = Process {
            directory,
            program: PathBuf::new(),
        };
        process.program = fs::read_link(process.path("exe")).ok()?;
        Some(process)
    }

    /// Returns the program that a process was started with, and its arguments; `None` if it has ended
    /// or may not be looked at.
    ///
    /// posix_spawn(3) returns when the new process no longer uses our memory. For a moment it may
    /// still look like this process, or have no arguments yet, so it is looked at again.
    pub(crate) fn started(number: i32) -> Option<(Process, Vec<Vec<u8>>)> {
        let ours = Process::of(std::process::id().cast_signed())?.arguments();
        for _ in 0..LOOKS_MAX {
            let process = Process::of(number)?;
            let arguments = process.arguments().filter(|_| process.runs());
            match arguments {
                Some(arguments) if Some(&arguments) != ours.as_ref() => {
                    return Some((process, arguments));
                }
                _ => std::thread::sleep(LOOK_WAIT),
            }
        }
        None
    }

    /// Returns whether the process still runs the program.
    fn runs(&self) -> bool {
        fs::read_link(self.path("exe")).is_ok_and(|now| now == self.program)
    }

    fn path(&self, name: &str) -> PathBuf {
        let directory = self.directory.as_raw_fd();
        format!("/proc/self/fd/{directory}/{name}").into()
    }

    /// Returns the arguments, the program's name first; as many as fit into some megabytes.
    pub(crate) fn arguments(&self) -> Option<Vec<Vec<u8>>> {
        let mut bytes = Vec::new();
        let file = File::open(self.path("cmdline")).ok()?;
        file.take(ARGUMENTS_MAX_BYTES)
            .read_to_end(&mut bytes)
            .ok()?;
        // The last one may be cut off.
        let whole = bytes.iter().rposition(|byte| *byte == 0)?;
        let arguments = bytes[..whole].split(|byte| *byte == 0);
        Some(arguments.map(<[u8]>::to_vec).collect())
    }

    /// Returns the path of the working directory.
    pub(crate) fn directory(&self) -> Option<Vec<u8>> {
        let path = fs::read_link(self.path("cwd")).ok()?;
        Some(path.into_os_string().into_vec())
    }

    /// Returns files that are open; `None` if the program has ended, or may not be looked at.
    pub(crate) fn open_files(&self) -> Option<Vec<OpenFile>> {
        if !self.runs() {
            return None;
        }
        let links = fs::read_dir(self.path("fd")).ok()?.flatten();
        // A file that is closed meanwhile is no longer open.
        let files = links.take(OPEN_MAX).filter_map(|link| {
            let link = link.path();
            let path = fs::read_link(&link).ok()?.into_os_string().into_vec();
            path.starts_with(b"/").then_some(OpenFile { path, link })
        });
        Some(files.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_testkit::oracle::command;

    /// posix_spawn(3) often returns before `/proc` shows the arguments of the new program.
    #[test]
    fn the_arguments_are_those_of_the_new_program() {
        for number in 0..300 {
            let seconds = format!("{}", 1000 + number);
            let mut child = command("sleep").arg(&seconds).spawn().unwrap();
            let started = Process::started(child.id().cast_signed());
            child.kill().unwrap();
            child.wait().unwrap();
            let (process, arguments) = started.unwrap();
            assert_eq!(arguments[1..], [seconds.into_bytes()]);
            assert_ne!(process.program, std::env::current_exe().unwrap());
        }
    }

    #[test]
    fn a_program_is_seen_until_it_ends() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        fs::write(dir.join("file"), "").unwrap();
        let mut child = command("sleep")
            .args(["100", "0"])
            .current_dir(&dir)
            .stdin(File::open(dir.join("file")).unwrap())
            .spawn()
            .unwrap();
        let (process, arguments) = Process::started(child.id().cast_signed()).unwrap();
        assert_eq!(arguments[1..], [b"100".to_vec(), b"0".to_vec()]);
        assert_eq!(
            process.directory().unwrap(),
            dir.as_os_str().as_encoded_bytes()
        );
        let open = process.open_files().unwrap();
        let path = dir.join("file");
        let path = path.as_os_str().as_encoded_bytes();
        let file = open.iter().find(|file| file.path == path).unwrap();
        assert!(file.id().is_some());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(process.open_files().is_none());
    }
}
