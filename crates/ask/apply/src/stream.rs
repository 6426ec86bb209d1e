//! Streams copied into files. A command opens `/dev/fd/N` anew: a socket cannot be opened so, and a
//! FIFO without a writer would have the command wait for one.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileTypeExt;
use std::time::Duration;

use trawl_sys::ahead::open_without_blocking;
use trawl_sys::wait::readable;

use crate::output;

/// Number of bytes that are copied at once.
const PIECE_BYTES: usize = 128 << 10;

/// How soon a stop is noticed while no bytes arrive.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// A stream as a command can open it.
#[derive(Debug)]
pub(crate) enum Copied {
    /// A file without a name that has all bytes of the stream, at offset 0.
    Whole(File),
    /// None is needed: a command can open the stream anew, as it can a device.
    Needless,
    /// The run was stopped before the end of the stream.
    Stopped,
}

/// Copies a FIFO or a socket to its end, unless `is_stopped` returns true before. A FIFO without a
/// writer is empty.
///
/// # Errors
/// Fails if the stream cannot be read to its end, or the copy cannot be written.
pub(crate) fn copied(stream: &File, is_stopped: impl Fn() -> bool) -> io::Result<Copied> {
    let kind = stream.metadata()?.file_type();
    if !kind.is_fifo() && !kind.is_socket() {
        return Ok(Copied::Needless);
    }
    let fifo = match kind.is_fifo() {
        true => Some(opened_anew(stream)?),
        false => None,
    };
    let mut from = fifo.as_ref().unwrap_or(stream);
    let mut to = output::file()?;
    let mut piece = vec![0; PIECE_BYTES];
    while !is_stopped() {
        // Only read(2) tells that a FIFO has no writer; poll(2) waits for the first one. A socket
        // may block, and poll(2) reports its end.
        if fifo.is_none() && !is_ready(from)? {
            continue;
        }
        match from.read(&mut piece) {
            Ok(0) => {
                to.rewind().map_err(|error| not_written(&error))?;
                return Ok(Copied::Whole(to));
            }
            Ok(count) => {
                let written = to.write_all(&piece[..count]);
                written.map_err(|error| not_written(&error))?;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                is_ready(from)?;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Copied::Stopped)
}

/// Opens a FIFO once more, in non-blocking mode, which a delivered descriptor does not have.
fn opened_anew(fifo: &File) -> io::Result<File> {
    let path = CString::new(format!("/proc/self/fd/{}", fifo.as_raw_fd()))?;
    Ok(open_without_blocking(&path)?)
}

/// Waits for bytes or the end of a stream; false if it took too long.
fn is_ready(stream: &File) -> io::Result<bool> {
    let [is_ready] = readable([stream.as_fd()], Some(LOOK_AGAIN))?;
    Ok(is_ready)
}

fn not_written(error: &io::Error) -> io::Error {
    let place = std::env::temp_dir();
    let text = format!(
        "its copy in {} cannot be written: {error}; set TMPDIR to a directory with more space",
        place.display()
    );
    io::Error::new(error.kind(), text)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs::OpenOptions;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::net::UnixStream;
    use std::path::{Path, PathBuf};

    use super::*;

    fn whole(stream: &File) -> io::Result<Vec<u8>> {
        match copied(stream, || false)? {
            Copied::Whole(mut file) => {
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes)?;
                Ok(bytes)
            }
            other => panic!("no copy, but {other:?}"),
        }
    }

    fn socket() -> (UnixStream, File) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (ours, File::from(OwnedFd::from(theirs)))
    }

    /// Makes a FIFO, and opens it as members are opened.
    fn fifo(folder: &Path) -> (PathBuf, File) {
        let path = folder.join("fifo");
        let made = trawl_testkit::oracle::command("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        let name = CString::new(path.as_os_str().as_bytes()).unwrap();
        let file = open_without_blocking(&name).unwrap();
        trawl_sys::ahead::let_it_block(&file).unwrap();
        (path, file)
    }

    fn writer(path: &Path) -> File {
        OpenOptions::new().write(true).open(path).unwrap()
    }

    #[test]
    fn a_socket_is_copied_to_its_end() {
        let bytes: Vec<u8> = (0..=250u8).cycle().take(20_000_000).collect();
        let (mut ours, stream) = socket();
        let sent = bytes.clone();
        // The socket ends with the thread.
        let sender = std::thread::spawn(move || ours.write_all(&sent));
        assert!(whole(&stream).unwrap() == bytes);
        sender.join().unwrap().unwrap();
    }

    #[test]
    fn a_socket_that_breaks_off_is_an_error() {
        let (mut ours, mut stream) = socket();
        // The other end closes with this byte unread, as that of a member whose rest is not there.
        stream.write_all(b"!").unwrap();
        ours.write_all(b"a part").unwrap();
        drop(ours);
        let error = whole(&stream).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    }

    #[test]
    fn a_fifo_without_a_writer_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let (path, stream) = fifo(folder.path());
        assert_eq!(whole(&stream).unwrap(), b"");
        // What a writer has left is read.
        writer(&path).write_all(b"left").unwrap();
        assert_eq!(whole(&stream).unwrap(), b"left");
    }

    #[test]
    fn a_fifo_is_copied_until_its_writer_ends() {
        let folder = tempfile::tempdir().unwrap();
        let (path, stream) = fifo(folder.path());
        let mut slow = writer(&path);
        let sender = std::thread::spawn(move || {
            for part in ["one", "two"] {
                std::thread::sleep(LOOK_AGAIN * 2);
                slow.write_all(part.as_bytes()).unwrap();
            }
        });
        assert_eq!(whole(&stream).unwrap(), b"onetwo");
        sender.join().unwrap();
    }

    #[test]
    fn a_stop_ends_a_copy() {
        let folder = tempfile::tempdir().unwrap();
        let (path, silent) = fifo(folder.path());
        let _writer = writer(&path);
        let (_ours, silent_socket) = socket();
        for stream in [silent, silent_socket] {
            let asked = Cell::new(0);
            let is_stopped = || asked.replace(asked.get() + 1) > 2;
            let ended = copied(&stream, is_stopped).unwrap();
            assert!(matches!(ended, Copied::Stopped), "{ended:?}");
        }
    }

    #[test]
    fn what_can_be_opened_anew_is_not_copied() {
        let device = File::open("/dev/zero").unwrap();
        let ended = copied(&device, || false).unwrap();
        assert!(matches!(ended, Copied::Needless), "{ended:?}");
    }
}
