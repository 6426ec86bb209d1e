//! The messages about a connection between the listening process and the serving processes.

use std::io;

/// The protocol of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// Trawl's frames.
    Trawl,
    /// Chirp's lines.
    Chirp,
}

/// Whether the hellos were exchanged, and the client's features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greeting {
    /// No hello was received.
    Due,
    /// Both sides have sent their hello; the value holds the client's features.
    Done(u64),
}

/// A connection that is to be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    /// Number of the connection.
    pub(crate) number: u64,
    pub(crate) protocol: Protocol,
    pub(crate) greeting: Greeting,
    pub(crate) others: Others,
}

/// Whether other connections wait to be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Others {
    None,
    Wait,
}

/// The result of serving a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// The client is gone.
    Closed(u64),
    /// The client has no requests; number of the connection, and the client's features.
    Idle(u64, u64),
}

/// The bit, beside the protocol, that says that other connections wait.
const CROWDED: u8 = 2;

/// First byte of a message with a serving process's own profile.
pub(crate) const PROFILE: u8 = 2;

/// Maximum length of such a message in bytes.
pub(crate) const PROFILE_BYTES: usize = 64 << 10;

/// Length of any other message in bytes.
pub(crate) const BYTES: usize = 18;

fn message(kinds: [u8; 2], number: u64, features: u64) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    bytes[..2].copy_from_slice(&kinds);
    bytes[2..10].copy_from_slice(&number.to_le_bytes());
    bytes[10..].copy_from_slice(&features.to_le_bytes());
    bytes
}

fn parts(bytes: &[u8]) -> io::Result<([u8; 2], u64, u64)> {
    let bad = || io::Error::other("a message is invalid");
    let bytes: [u8; BYTES] = bytes.try_into().map_err(|_| bad())?;
    let number = |at: usize| {
        let bytes = bytes[at..at + 8].try_into();
        bytes.map(u64::from_le_bytes).map_err(|_| bad())
    };
    Ok(([bytes[0], bytes[1]], number(2)?, number(10)?))
}

impl Job {
    pub(crate) fn to_bytes(self) -> [u8; BYTES] {
        let protocol = match self.protocol {
            Protocol::Trawl => 0,
            Protocol::Chirp => 1,
        };
        let (greeted, features) = match self.greeting {
            Greeting::Due => (0, 0),
            Greeting::Done(features) => (1, features),
        };
        let crowded = match self.others {
            Others::None => 0,
            Others::Wait => CROWDED,
        };
        message([protocol | crowded, greeted], self.number, features)
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> io::Result<Job> {
        let ([protocol, greeted], number, features) = parts(bytes)?;
        Ok(Job {
            number,
            protocol: [Protocol::Trawl, Protocol::Chirp][usize::from(protocol & 1)],
            others: match protocol & CROWDED {
                0 => Others::None,
                _ => Others::Wait,
            },
            greeting: match greeted {
                0 => Greeting::Due,
                _ => Greeting::Done(features),
            },
        })
    }
}

impl Report {
    pub(crate) fn to_bytes(self) -> [u8; BYTES] {
        match self {
            Report::Closed(number) => message([0, 0], number, 0),
            Report::Idle(number, features) => message([1, 0], number, features),
        }
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> io::Result<Report> {
        match parts(bytes)? {
            ([0, 0], number, 0) => Ok(Report::Closed(number)),
            ([1, 0], number, features) => Ok(Report::Idle(number, features)),
            _ => Err(io::Error::other("a message is invalid")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        for protocol in [Protocol::Trawl, Protocol::Chirp] {
            for greeting in [Greeting::Due, Greeting::Done(7)] {
                let job = Job {
                    number: 1 << 40,
                    protocol,
                    greeting,
                    others: Others::Wait,
                };
                assert_eq!(Job::from_bytes(&job.to_bytes()).unwrap(), job);
            }
        }
        for report in [Report::Closed(9), Report::Idle(u64::MAX, 3)] {
            assert_eq!(Report::from_bytes(&report.to_bytes()).unwrap(), report);
        }
        assert!(Report::from_bytes(&[1; BYTES - 1]).is_err());
        assert!(Report::from_bytes(&[2; BYTES]).is_err());
    }
}
