//! Why a URL cannot be fetched. Each message says what to do where something can be done.

use std::io;
use std::time::Duration;

/// Why a URL cannot be fetched. The URL itself stands in the [`trawl_sets::Problem`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebError {
    /// The URL, or one that the server redirected to, cannot be parsed.
    #[error("the URL {url} is invalid: {why}")]
    Url {
        /// The URL.
        url: String,
        /// The parser's message.
        why: String,
    },
    /// The URL has another scheme.
    #[error("{url} is neither http nor https: nothing else is fetched")]
    Scheme {
        /// The URL.
        url: String,
    },
    /// The URL has a user name or a password.
    #[error("the URL has a user name or a password: credentials are never sent; remove them")]
    Credentials,
    /// The server answered with another status than success.
    #[error("the server answered {status}{}", remedy(*status))]
    Status {
        /// The status code (RFC 9110, section 15).
        status: u16,
    },
    /// The server sent a redirect without a target.
    #[error("the server redirects with status {status}, but does not say where to")]
    NoTarget {
        /// The status code.
        status: u16,
    },
    /// There were too many redirects.
    #[error("more than {most} redirects: the last one leads to {url}")]
    Redirects {
        /// The limit.
        most: u32,
        /// The target of the last redirect.
        url: String,
    },
    /// The server redirects from `https:` to `http:`.
    #[error("the server redirects from https to {url}, which is not encrypted: ask for that URL")]
    Downgrade {
        /// The target.
        url: String,
    },
    /// The body has an encoding that was not asked for.
    #[error("the server sent the encoding {0}, which was not asked for")]
    Encoding(String),
    /// No trusted certificate was found.
    #[error("no trusted certificates were found: set SSL_CERT_FILE to a file that holds them")]
    NoCertificates,
    /// The server's certificate is not trusted, or TLS failed in another way.
    #[error("no secure connection: {0}; SSL_CERT_FILE can name further trusted certificates")]
    Tls(String),
    /// The host has no address.
    #[error("the host name has no address: check the name and the name server")]
    HostNotFound,
    /// The server took too long.
    #[error("the server did not answer in time ({what}); try again later")]
    Timeout {
        /// What was waited for.
        what: String,
    },
    /// The first bytes did not arrive in time.
    #[error("the first bytes did not arrive within {} s; try again later", .0.as_secs())]
    Slow(Duration),
    /// The connection failed.
    #[error("the connection failed: {0}")]
    Connection(#[source] io::Error),
    /// The server broke the protocol.
    #[error("the server broke the HTTP protocol: {0}")]
    Protocol(String),
    /// A file in memory, a socket or a thread could not be made.
    #[error("cannot hold the object: {0}")]
    Hold(#[source] io::Error),
}

/// Returns what a user can do about a status.
fn remedy(status: u16) -> &'static str {
    match status {
        401 | 403 | 407 => ", not permitted: credentials are never sent",
        404 | 410 => ", not found: check the URL",
        408 | 425 | 429 | 500 | 502 | 503 | 504 => ": try again later",
        _ => "",
    }
}

impl WebError {
    /// Returns the closest kind of I/O error.
    fn kind(&self) -> io::ErrorKind {
        use io::ErrorKind as Kind;
        match self {
            WebError::Url { .. } | WebError::Scheme { .. } | WebError::Credentials => {
                Kind::InvalidInput
            }
            WebError::Status { status: 404 | 410 } | WebError::HostNotFound => Kind::NotFound,
            WebError::Status {
                status: 401 | 403 | 407,
            }
            | WebError::Downgrade { .. }
            | WebError::Tls(_)
            | WebError::NoCertificates => Kind::PermissionDenied,
            WebError::Timeout { .. } | WebError::Slow(_) => Kind::TimedOut,
            WebError::Connection(error) | WebError::Hold(error) => error.kind(),
            WebError::NoTarget { .. } | WebError::Encoding(_) | WebError::Protocol(_) => {
                Kind::InvalidData
            }
            _ => Kind::Other,
        }
    }
}

impl From<WebError> for io::Error {
    fn from(error: WebError) -> io::Error {
        io::Error::new(error.kind(), error)
    }
}

impl From<ureq::Error> for WebError {
    fn from(error: ureq::Error) -> WebError {
        use ureq::Error as E;
        match error {
            E::StatusCode(status) => WebError::Status { status },
            E::HostNotFound => WebError::HostNotFound,
            E::Timeout(what) => WebError::Timeout {
                what: what.to_string(),
            },
            E::Io(error) => WebError::of_io(error),
            E::Tls(why) => WebError::Tls(why.to_owned()),
            E::Rustls(error) => WebError::Tls(error.to_string()),
            E::BadUri(why) => WebError::Protocol(why),
            E::ConnectionFailed => WebError::Connection(io::ErrorKind::ConnectionRefused.into()),
            other => WebError::Protocol(other.to_string()),
        }
    }
}

impl WebError {
    /// Sorts the errors that reading a body or a handshake returns.
    pub(crate) fn of_io(error: io::Error) -> WebError {
        let inner = error.get_ref();
        if let Some(tls) = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            return WebError::Tls(tls.to_string());
        }
        if !inner.is_some_and(|inner| inner.is::<ureq::Error>()) {
            return WebError::Connection(error);
        }
        match error
            .into_inner()
            .map(|inner| inner.downcast::<ureq::Error>())
        {
            // `From` must not come back here.
            Some(Ok(error)) => match *error {
                ureq::Error::Io(error) => WebError::Connection(error),
                other => WebError::from(other),
            },
            Some(Err(other)) => WebError::Protocol(other.to_string()),
            None => WebError::Protocol("unknown error".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_status_and_the_remedy() {
        let text = WebError::Status { status: 503 }.to_string();
        assert_eq!(text, "the server answered 503: try again later");
        let error: io::Error = WebError::Status { status: 404 }.into();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
