//! The words of the keeper, which `trawl serve --http` writes from its own options, each as `--name=`
//! and a value, in any order.

use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use axum::http::HeaderName;
use trawl_questions::child::Program;
use trawl_questions::words::{milliseconds, option};

use crate::options::Refused;

/// What the words say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The program `trawl`, which answers.
    pub program: PathBuf,
    /// The index to ask, if one was named.
    pub index: Option<PathBuf>,
    /// Where to listen for TLS.
    pub listen: Vec<SocketAddr>,
    /// Unix sockets for proxies that know their users.
    pub proxy: Vec<PathBuf>,
    /// The header in which they name the user.
    pub proxy_header: String,
    /// The server's certificate, and its key.
    pub cert: PathBuf,
    /// See `cert`.
    pub key: PathBuf,
    /// Authorities that sign certificates of clients.
    pub client_ca: Option<PathBuf>,
    /// The users of certificates.
    pub users: PathBuf,
    /// The user of the front.
    pub user: String,
    /// The service of PAM that checks passwords.
    pub pam: Option<String>,
    /// Where PAM's configuration is, if not in its usual place.
    pub pam_directory: Option<PathBuf>,
    /// The file that names a provider of OpenID Connect.
    pub oidc: Option<PathBuf>,
    /// Where sessions and tokens are kept.
    pub state: PathBuf,
    /// File of the record of questions.
    pub record: Option<PathBuf>,
    /// How long a question may take.
    pub time_limit: Option<Duration>,
    /// Most bytes that a user is sent in an hour.
    pub hourly_bytes: Option<u64>,
    /// Most rows that a user is sent in an hour.
    pub hourly_rows: Option<u64>,
}

impl Options {
    /// Parses the words, without the program's name and the word that names this part of it.
    ///
    /// # Errors
    /// Names the first word that is unknown or has no valid value.
    pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Options, Refused> {
        let mut options = Options {
            program: Program::beside(),
            index: None,
            listen: Vec::new(),
            proxy: Vec::new(),
            proxy_header: "x-remote-user".to_owned(),
            cert: "/etc/trawl/server.pem".into(),
            key: "/etc/trawl/server.key".into(),
            client_ca: None,
            users: trawl_remote::tls::users::FILE.into(),
            user: "nobody".to_owned(),
            pam: None,
            pam_directory: None,
            oidc: None,
            state: trawl_identity::DIRECTORY.into(),
            record: None,
            time_limit: None,
            hourly_bytes: None,
            hourly_rows: None,
        };
        for word in words {
            options.take(&word).ok_or_else(|| Refused::Unknown {
                word: word.to_string_lossy().into_owned(),
            })?;
        }
        Ok(options)
    }

    fn take(&mut self, word: &OsStr) -> Option<()> {
        let (name, value) = option(word)?;
        let text = || value.to_str().map(str::to_owned);
        match name {
            "--program" => self.program = value.into(),
            "--index" => self.index = Some(value.into()),
            "--listen" => self.listen.push(text()?.parse().ok()?),
            "--proxy" => self.proxy.push(value.into()),
            "--proxy-header" => {
                let name = HeaderName::from_bytes(value.as_encoded_bytes()).ok()?;
                self.proxy_header = name.as_str().to_owned();
            }
            "--cert" => self.cert = value.into(),
            "--key" => self.key = value.into(),
            "--client-ca" => self.client_ca = Some(value.into()),
            "--users" => self.users = value.into(),
            "--user" => self.user = text()?,
            "--pam" => self.pam = Some(text()?),
            "--pam-directory" => self.pam_directory = Some(value.into()),
            "--oidc" => self.oidc = Some(value.into()),
            "--state" => self.state = value.into(),
            "--record" => self.record = Some(value.into()),
            "--time-limit" => self.time_limit = Some(milliseconds(value)?),
            "--hourly-bytes" => self.hourly_bytes = Some(text()?.parse().ok()?),
            "--hourly-rows" => self.hourly_rows = Some(text()?.parse().ok()?),
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read() {
        let words = [
            "--listen=[::]:8443",
            "--listen=192.0.2.1:1",
            "--proxy=/run/p",
            "--pam=trawl",
            "--proxy-header=X-User",
            "--time-limit=250",
            "--hourly-bytes=1048576",
            "--hourly-rows=1000",
        ];
        let options = Options::parse(words.map(OsString::from)).expect("they are valid");
        assert_eq!(options.listen.len(), 2);
        assert_eq!(options.proxy, [PathBuf::from("/run/p")]);
        assert_eq!(options.proxy_header, "x-user");
        assert_eq!(options.time_limit, Some(Duration::from_millis(250)));
        assert_eq!(options.hourly_bytes, Some(1 << 20));
        assert_eq!(options.hourly_rows, Some(1000));
        for word in [
            "",
            "--proxy-header=a b",
            "--listen=x",
            "--listen",
            "--x=y",
            "--time-limit=x",
            "--hourly-bytes=-1",
            "--hourly-rows=1k",
        ] {
            let refused = Options::parse([OsString::from(word)]);
            assert!(matches!(refused, Err(Refused::Unknown { .. })), "{word}");
        }
    }
}
