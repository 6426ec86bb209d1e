//! Reads bytes of a file together with the version of the file that they belong to.

use trawl_call::{Attributes, Outcome};
use trawl_sys::directory::Links;

use super::{Remote, STAT_MAX_BYTES};
use crate::error::RemoteError;
use crate::wire::version::Version;
use crate::wire::{BadFrame, Code, Message, feature};

/// Bytes of a file, and the version that they belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The state of the file when these were its bytes.
    pub version: Version,
    /// The bytes; fewer than requested only at the end of the file.
    pub bytes: Vec<u8>,
}

impl Remote {
    /// Reads bytes of a regular file, at most 1 MiB; with length 0 only its version. For a server
    /// without `fetch`, the file's attributes are requested before and after reading.
    ///
    /// # Errors
    /// Fails if the server cannot be asked, or the file cannot be read.
    pub fn fetch(&self, path: &[u8], offset: u64, length: u32) -> Result<Fetched, RemoteError> {
        let request = Message::Fetch {
            offset,
            length,
            path: path.to_vec(),
        };
        let most = length as usize + STAT_MAX_BYTES;
        match self.ask_if(feature::FETCH, "versions of contents", &request, most) {
            Ok(mut bytes) => {
                let (version, behind) =
                    Version::decode(&bytes).map_err(|source| self.nonsense(source))?;
                bytes.drain(..behind);
                match bytes.len() <= length as usize {
                    true => Ok(Fetched { version, bytes }),
                    false => Err(self.nonsense(BadFrame::Field("answer"))),
                }
            }
            Err(RemoteError::Lacks { .. }) => self.read_between(path, offset, length),
            Err(error) => Err(error),
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
