//! Finds the files that processes have open or mapped, through `/proc`.

use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use trawl_sys::mapping::{self, Mapped};

use super::{FoundWriters, OpenHow};
use crate::error::{LiveError, Result};

/// Examines all processes.
pub(super) fn look(found: &mut FoundWriters<'_>) -> Result<()> {
    let read = |source| LiveError::Read {
        path: b"/proc".to_vec(),
        source,
    };
    for entry in fs::read_dir("/proc").map_err(read)?.flatten() {
        let name = entry.file_name();
        let Some(process) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if let Err(error) = look_at(found, &entry.path(), process) {
            found.failed(process, &error);
        }
    }
    Ok(())
}

fn look_at(found: &mut FoundWriters<'_>, folder: &Path, process: u32) -> io::Result<()> {
    let fds = folder.join("fd");
    for entry in fs::read_dir(&fds)? {
        let entry = entry?;
        let is_written = entry.metadata();
        if is_written.is_ok_and(|link| is_open_for_writing(&link)) {
            let link = fds.join(entry.file_name());
            // The link's text distinguishes files from sockets and pipes without accessing a file
            // system.
            if fs::read_link(&link).is_ok_and(|shown| shown.is_absolute()) {
                // Closing a file meanwhile causes an event.
                let _ = found.file(&link, process, OpenHow::Descriptor);
            }
        }
    }
    for range in written(folder)? {
        found.mapping(folder, process, &range);
    }
    Ok(())
}

/// Returns the addresses of writable file mappings of the process with this directory in `/proc`.
pub(super) fn written(folder: &Path) -> io::Result<Vec<Range<u64>>> {
    let mut maps = File::open(folder.join("maps"))?;
    let mut ranges = Vec::new();
    let mut from = 0;
    loop {
        match mapping::next_written(&maps, from).map_err(io::Error::other)? {
            Mapped::At(range) => {
                from = range.end.max(from + 1);
                ranges.push(range);
            }
            Mapped::None => return Ok(ranges),
            Mapped::Unknown => break,
        }
    }
    // A kernel before 6.11 provides only the text.
    let mut text = Vec::new();
    maps.read_to_end(&mut text)?;
    let lines = text.split(|byte| *byte == b'\n');
    Ok(lines.filter_map(shared_writable).collect())
}

/// Returns true if a link in `/proc/PID/fd` refers to a file open for writing. The link's own mode
/// shows that (see `ls -l`), which costs less than reading `fdinfo`.
///
/// Source: `tid_fd_update_inode` in the kernel's `fs/proc/fd.c`.
fn is_open_for_writing(link: &fs::Metadata) -> bool {
    const OWNER_WRITES: u32 = 0o200;
    link.mode() & OWNER_WRITES != 0
}

/// Returns the addresses of a mapping if it writes to its file.
///
/// Source: <https://man7.org/linux/man-pages/man5/proc_pid_maps.5.html>
fn shared_writable(line: &[u8]) -> Option<Range<u64>> {
    let mut fields = line.split(|byte| *byte == b' ');
    let range = std::str::from_utf8(fields.next()?).ok()?;
    let rights = fields.next()?;
    let is_file = fields.nth(2)? != b"0";
    let writes = rights.get(1) == Some(&b'w') && rights.get(3) == Some(&b's');
    let (start, end) = range.split_once('-').filter(|_| writes && is_file)?;
    let address = |text| u64::from_str_radix(text, 16).ok();
    Some(address(start)?..address(end)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn descriptors_are_as_they_were_opened() {
        let open = |options: &mut fs::OpenOptions| options.open("/dev/null").unwrap();
        let written = open(File::options().read(true).write(true));
        let appended = open(File::options().append(true));
        let read = open(File::options().read(true));
        let is_written = |file: &File| {
            let link = format!("/proc/self/fd/{}", file.as_raw_fd());
            is_open_for_writing(&fs::symlink_metadata(link).unwrap())
        };
        assert!(is_written(&written) && is_written(&appended));
        assert!(!is_written(&read));
    }

    #[test]
    fn lines_are_read_as_the_manual_says() {
        let line = b"7f0c-7f0d rw-s 00000000 08:02 173521 /home/a file";
        assert_eq!(shared_writable(line), Some(0x7f0c..0x7f0d));
        assert_eq!(
            shared_writable(b"7f0c-7f0d rw-p 00000000 08:02 173521 /f"),
            None
        );
        assert_eq!(
            shared_writable(b"7f0c-7f0d r--s 00000000 08:02 173521 /f"),
            None
        );
        assert_eq!(shared_writable(b"7f0c-7f0d rw-s 00000000 00:00 0 "), None);
        assert_eq!(shared_writable(b""), None);
    }
}
