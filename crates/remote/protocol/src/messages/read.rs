//! `read`: bytes of a file. The answer is data, shorter at the end of the file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use trawl_sys::SysError;
use trawl_sys::confined::open_file_anywhere;

use super::byte_range::ByteRange;
use super::{Ask, Body, Code, Data, End, Refusal, Serve};
use crate::client::{Patience, Remote};
use crate::error::RemoteError;
use crate::exports::{ExportedPath, Exports, PathTranslator};
use crate::server::{BLOCK_BYTES, Job};
use crate::wire::fields::{Fields, Reader};
use crate::wire::{BadFrame, READ_MAX_BYTES};

/// A request for bytes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadRequest(pub ByteRange);

impl Body for ReadRequest {
    fn write(&self, out: &mut Fields) {
        self.0.write(out);
    }

    fn read(body: &mut Reader<'_>) -> Result<ReadRequest, BadFrame> {
        ByteRange::read(body).map(ReadRequest)
    }
}

impl Serve for ReadRequest {
    fn serve(self: Box<Self>, job: &Job<'_>) -> Result<End, Refusal> {
        let range = self.0;
        let file = open(job.exports(), &range)?;
        let mut bytes = vec![0; BLOCK_BYTES];
        let (mut at, mut left, mut sent) = (range.offset, range.length as usize, 0u64);
        while left > 0 {
            let most = left.min(BLOCK_BYTES);
            let count = fill(&file, &mut bytes[..most], at).map_err(of_file)?;
            if count > 0 {
                job.say(&Data(bytes[..count].to_vec()));
            }
            at = at.saturating_add(count as u64);
            left -= count;
            sent += count as u64;
            if count < most {
                break;
            }
        }
        Ok(End::whole(sent))
    }
}

/// Opens a file for reading these bytes.
pub(super) fn open(exports: &Exports, range: &ByteRange) -> Result<File, Refusal> {
    if range.length > READ_MAX_BYTES {
        return Err(Refusal::bad("too many bytes are requested at once"));
    }
    open_path(&mut PathTranslator::new(exports), &range.path).map_err(of_system)
}

/// Opens a regular file.
pub(super) fn open_path(places: &mut PathTranslator<'_>, path: &[u8]) -> Result<File, SysError> {
    let opened = match places.find(path) {
        ExportedPath::Anywhere(path) => open_file_anywhere(&path),
        ExportedPath::Confined(confined) => confined.open_file(),
    };
    opened.map(File::from)
}

pub(super) fn of_system(error: SysError) -> Refusal {
    Refusal::new(Code::System, error.errno.0, &error.to_string())
}

pub(super) fn of_file(error: io::Error) -> Refusal {
    let errno = error.raw_os_error().unwrap_or(0);
    Refusal::new(Code::System, errno, &error.to_string())
}

/// Fills a buffer from a file; a shorter result means the end of the file.
pub(super) fn fill(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        let at = offset.saturating_add(filled as u64);
        match file.read_at(&mut buffer[filled..], at) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

impl Ask for ReadRequest {
    const SUBJECT: Option<&'static str> = None;
    type Answer = Vec<u8>;

    fn most_bytes(&self, _: &Patience) -> usize {
        self.0.length as usize
    }

    fn answer(&self, bytes: Vec<u8>) -> Result<Vec<u8>, BadFrame> {
        Ok(bytes)
    }
}

impl Remote {
    /// Reads bytes of a regular file, at most 1 MiB; a shorter result means the end of the file.
    ///
    /// # Errors
    /// Fails if the server cannot be asked, or the file cannot be read.
    pub fn read(&self, path: &[u8], offset: u64, length: u32) -> Result<Vec<u8>, RemoteError> {
        let path = path.to_vec();
        self.ask(&ReadRequest(ByteRange {
            offset,
            length,
            path,
        }))
    }
}

#[cfg(test)]
impl super::Sample for ReadRequest {
    fn example() -> ReadRequest {
        ReadRequest(ByteRange::example())
    }

    fn any() -> proptest::strategy::BoxedStrategy<ReadRequest> {
        use proptest::prelude::*;
        ByteRange::any().prop_map(ReadRequest).boxed()
    }
}
