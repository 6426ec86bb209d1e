//! The words of the program, which `trawl web` writes from its own options:
//! `--program=FILE --index=DIR --listen=ADDRESS:PORT --token-file=FILE --time-limit=MS`, in any order.

use std::ffi::{OsStr, OsString};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use trawl_questions::child::Program;
use trawl_questions::limits::Limits;
use trawl_questions::words::{milliseconds, option};

use crate::limits::ANSWERS;

/// What the words say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The program `trawl`, which answers.
    pub program: PathBuf,
    /// The index to ask, if one was named.
    pub index: Option<PathBuf>,
    /// Where to listen.
    pub listen: SocketAddr,
    /// File with a token for programs.
    pub token_file: Option<PathBuf>,
    /// Limits of answers.
    pub limits: Limits,
}

/// The reason why the words are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// They cannot be understood.
    #[error("{word}: not a word of trawl-http; start it with trawl web")]
    Unknown {
        /// The word.
        word: String,
    },
    /// The address belongs to a network.
    #[error(
        "{address} can be reached from other machines, and the connection is not encrypted: listen \
         on 127.0.0.1 or [::1], and reach it from elsewhere with ssh -L"
    )]
    Address {
        /// The address.
        address: SocketAddr,
    },
}

impl Options {
    /// Parses the words, without the program's name.
    ///
    /// # Errors
    /// Names the first word that is unknown, has no valid value or is not allowed.
    pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Options, Refused> {
        let mut options = Options {
            program: Program::beside(),
            index: None,
            listen: (Ipv4Addr::LOCALHOST, 0).into(),
            token_file: None,
            limits: ANSWERS,
        };
        for word in words {
            options.take(&word).ok_or_else(|| Refused::Unknown {
                word: word.to_string_lossy().into_owned(),
            })?;
        }
        match options.listen.ip().is_loopback() {
            true => Ok(options),
            false => Err(Refused::Address {
                address: options.listen,
            }),
        }
    }

    fn take(&mut self, word: &OsStr) -> Option<()> {
        let (name, value) = option(word)?;
        match name {
            "--program" => self.program = value.into(),
            "--index" => self.index = Some(value.into()),
            "--listen" => self.listen = value.to_str()?.parse().ok()?,
            "--token-file" => self.token_file = Some(value.into()),
            "--time-limit" => self.limits.call = milliseconds(value)?,
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn parse(words: &[&str]) -> Result<Options, Refused> {
        Options::parse(words.iter().map(OsString::from))
    }

    #[test]
    fn words_are_read() {
        let words = ["--index=/a=b", "--listen=[::1]:80", "--time-limit=1500"];
        let options = parse(&words).expect("they are valid");
        assert_eq!(options.index, Some("/a=b".into()));
        assert_eq!(options.listen.to_string(), "[::1]:80");
        assert_eq!(options.limits.call, Duration::from_millis(1500));
        assert_eq!(options.token_file, None);
    }

    #[test]
    fn only_addresses_of_this_machine_are_taken() {
        for listen in ["0.0.0.0:80", "[::]:80", "192.0.2.1:80", "[2001:db8::1]:80"] {
            let refused = parse(&[&format!("--listen={listen}")]);
            assert!(matches!(refused, Err(Refused::Address { .. })), "{listen}");
        }
        for word in [
            "",
            "--listen",
            "--listen=x",
            "--listen=localhost:1",
            "--x=y",
        ] {
            assert!(
                matches!(parse(&[word]), Err(Refused::Unknown { .. })),
                "{word}"
            );
        }
    }
}
