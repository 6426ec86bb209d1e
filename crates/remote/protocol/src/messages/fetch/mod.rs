//! `fetch`: bytes of a file together with the version of the file that they belong to. The answer is
//! data.

pub mod version;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use trawl_call::{Attributes, Outcome};
use trawl_sys::directory::Links;
use trawl_sys::stat::{Stat, Time, stat_fd};

use super::byte_range::ByteRange;
use super::read::{fill, of_file, of_system, open};
use super::stat::STAT_MAX_BYTES;
use super::{Ask, Body, Code, Data, End, Refusal, Serve};
use crate::client::{Patience, Remote};
use crate::error::RemoteError;
use crate::server::{BLOCK_BYTES, Job};
use crate::wire::BadFrame;
use crate::wire::fields::{Fields, Reader};

use version::Version;

/// Number of attempts to read a file that changes meanwhile.
const TRIES: usize = 3;
/// Coarsest resolution of the clock that stamps times of change …
const TICK: Duration = Duration::from_millis(50);
/// … and of file systems that store whole seconds.
const COARSE_TICK: Duration = Duration::from_millis(2_050);

/// A request for bytes of a file and their version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchRequest(pub ByteRange);

impl Body for FetchRequest {
    fn write(&self, out: &mut Fields) {
        self.0.write(out);
    }

    fn read(body: &mut Reader<'_>) -> Result<FetchRequest, BadFrame> {
        ByteRange::read(body).map(FetchRequest)
    }
}

impl Serve for FetchRequest {
    fn serve(self: Box<Self>, job: &Job<'_>) -> Result<End, Refusal> {
        let range = self.0;
        let file = open(job.exports(), &range)?;
        let mut buffer = vec![0; range.length as usize];
        let mut tries = TRIES;
        let (version, count) = loop {
            tries -= 1;
            let read = read_version(&file, &mut buffer, range.offset)?;
            if read.is_whole || tries == 0 {
                break (read.version, read.count);
            }
        };
        let mut bytes = Vec::new();
        version.encode(&mut bytes);
        bytes.extend_from_slice(&buffer[..count]);
        for piece in bytes.chunks(BLOCK_BYTES) {
            job.say(&Data(piece.to_vec()));
        }
        Ok(End::whole(bytes.len() as u64))
    }
}

/// What was read of a file.
pub(super) struct VersionRead {
    /// The version before reading.
    pub(super) version: Version,
    /// Number of bytes read.
    pub(super) count: usize,
    /// Whether the file was the same after reading.
    pub(super) is_whole: bool,
}

/// Reads bytes of a file and their version.
pub(super) fn read_version(
    file: &std::fs::File,
    buffer: &mut [u8],
    offset: u64,
) -> Result<VersionRead, Refusal> {
    let began = SystemTime::now();
    let before = stat_fd(file).map_err(of_system)?;
    let count = fill(file, buffer, offset).map_err(of_file)?;
    let is_whole = changes(&before) == changes(&stat_fd(file).map_err(of_system)?);
    let version = Version {
        attributes: Attributes::of(&before),
        born: before.btime.unwrap_or_default(),
        is_settled: is_whole && is_settled(before.ctime, began),
    };
    Ok(VersionRead {
        version,
        count,
        is_whole,
    })
}

/// Bytes of a file, and the version that they belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The state of the file when these were its bytes.
    pub version: Version,
    /// The bytes; fewer than requested only at the end of the file.
    pub bytes: Vec<u8>,
}

impl Ask for FetchRequest {
    const SUBJECT: Option<&'static str> = Some("versions of contents");
    type Answer = Fetched;

    fn most_bytes(&self, _: &Patience) -> usize {
        self.0.length as usize + STAT_MAX_BYTES
    }

    fn answer(&self, mut bytes: Vec<u8>) -> Result<Fetched, BadFrame> {
        let (version, behind) = Version::decode(&bytes)?;
        bytes.drain(..behind);
        match bytes.len() <= self.0.length as usize {
            true => Ok(Fetched { version, bytes }),
            false => Err(BadFrame::Field("answer")),
        }
    }
}

impl Remote {
    /// Reads bytes of a regular file, at most 1 MiB; with length 0 only its version. For a server
    /// without `fetch`, the file's attributes are requested before and after reading.
    ///
    /// # Errors
    /// Fails if the server cannot be asked, or the file cannot be read.
    pub fn fetch(&self, path: &[u8], offset: u64, length: u32) -> Result<Fetched, RemoteError> {
        let range = ByteRange {
            offset,
            length,
            path: path.to_vec(),
        };
        match self.ask(&FetchRequest(range)) {
            Err(RemoteError::Lacks { .. }) => self.read_between(path, offset, length),
            answer => answer,
        }
    }

    /// Like [`Remote::fetch`], in three requests. The version is never settled: the server's clock
    /// is unknown.
    fn read_between(&self, path: &[u8], offset: u64, length: u32) -> Result<Fetched, RemoteError> {
        let attributes = self.attributes_of(path)?;
        let bytes = self.read(path, offset, length)?;
        let after = self.attributes_of(path)?;
        if (after.dev, after.ino) != (attributes.dev, attributes.ino) {
            // The bytes may belong to either file, so the caller has to request them again.
            return Err(self.refused(trawl_sys::Errno::STALE.0));
        }
        let version = Version {
            attributes,
            born: trawl_sys::stat::Time::default(),
            is_settled: false,
        };
        Ok(Fetched { version, bytes })
    }

    fn attributes_of(&self, path: &[u8]) -> Result<Attributes, RemoteError> {
        match self.stat(path, Links::Followed)?.outcome {
            Outcome::Match(Some(attributes)) => Ok(attributes),
            Outcome::Match(None) => Err(self.nonsense(BadFrame::Field("answer"))),
            Outcome::Error(trouble) => Err(self.refused(trouble.errno)),
        }
    }

    fn refused(&self, errno: i32) -> RemoteError {
        RemoteError::Refused {
            server: self.0.address.to_string(),
            code: Code::System,
            errno,
            text: std::io::Error::from_raw_os_error(errno).to_string(),
        }
    }
}

/// Returns the attributes that every change of the contents changes.
fn changes(stat: &Stat) -> (u64, Time, Time) {
    (stat.size, stat.mtime, stat.ctime)
}

/// Returns whether any change after this moment gets a different time of change.
fn is_settled(changed: Time, now: SystemTime) -> bool {
    let tick = match changed.nanos {
        0 => COARSE_TICK,
        _ => TICK,
    };
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let changed = match u64::try_from(changed.secs) {
        Ok(secs) => Duration::new(secs, changed.nanos),
        Err(_) => return true,
    };
    changed.checked_add(tick).is_some_and(|until| until < now)
}

#[cfg(test)]
impl super::Sample for FetchRequest {
    fn example() -> FetchRequest {
        FetchRequest(ByteRange::example())
    }

    fn any() -> proptest::strategy::BoxedStrategy<FetchRequest> {
        use proptest::prelude::*;
        ByteRange::any().prop_map(FetchRequest).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_settles_once_the_clock_has_gone_on() {
        let now = UNIX_EPOCH + Duration::from_secs(1_000);
        let at = |secs, nanos| is_settled(Time { secs, nanos }, now);
        assert!(at(-5, 1) && at(0, 0) && at(999, 1) && at(997, 0));
        assert!(!at(999, 990_000_000) && !at(998, 0) && !at(1_000, 1) && !at(2_000, 1));
        assert!(!at(i64::MAX, 1));
    }
}
