//! Bytes of a file with the version of the file that they are of.

use trawl_call::{Attributes, Outcome};
use trawl_sys::directory::Links;

use super::{Remote, STAT_MAX_BYTES};
use crate::error::RemoteError;
use crate::wire::version::Version;
use crate::wire::{BadFrame, Code, Message, feature};

/// Bytes of a file, and the version that they are of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The file as it was when these were its bytes.
    pub version: Version,
    /// Fewer than were asked for at the file's end alone.
    pub bytes: Vec<u8>,
}

impl Remote {
    /// Bytes of a regular file, at most 1 MiB, none if just its version is wanted. A server that
    /// cannot say of which version bytes are is asked about the file before and after.
    ///
    /// # Errors
    /// If the server cannot be asked, or the file not be read.
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

    /// The same in three questions. Nothing is settled then: the server does not tell its time.
    fn read_between(&self, path: &[u8], offset: u64, length: u32) -> Result<Fetched, RemoteError> {
        let attributes = self.attributes_of(path)?;
        let bytes = self.read(path, offset, length)?;
        let after = self.attributes_of(path)?;
        if (after.dev, after.ino) != (attributes.dev, attributes.ino) {
            // Whose they are cannot be told: they are asked for again by whoever needs them.
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
