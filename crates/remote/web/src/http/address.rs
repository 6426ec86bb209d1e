//! Addresses that may be fetched: URLs that were checked.

use url::Url;

use crate::error::WebError;

/// The schemes that are fetched.
const SCHEMES: [&str; 2] = ["http", "https"];

/// An `http:` or `https:` URL with a host, without credentials and without a fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(Url);

/// Returns whether a name begins as a URL that this crate fetches, whatever follows.
pub fn is_url(name: &[u8]) -> bool {
    let starts = |scheme: &str| {
        let (head, rest) = name.split_at_checked(scheme.len()).unwrap_or_default();
        head.eq_ignore_ascii_case(scheme.as_bytes()) && rest.starts_with(b"://")
    };
    SCHEMES.into_iter().any(starts)
}

impl Address {
    /// Checks a URL.
    ///
    /// # Errors
    /// [`WebError::Url`], [`WebError::Scheme`] and [`WebError::Credentials`].
    pub fn parse(name: &[u8]) -> Result<Address, WebError> {
        let wrong = |why: String| WebError::Url {
            url: String::from_utf8_lossy(name).into_owned(),
            why,
        };
        let text = std::str::from_utf8(name);
        let text = text.map_err(|_| wrong("it is not UTF-8; use %XX for such bytes".into()))?;
        let url = Url::parse(text).map_err(|error| wrong(error.to_string()))?;
        Address::check(url)
    }

    /// Returns the address that a redirect from this one leads to.
    ///
    /// # Errors
    /// As [`Address::parse`], and [`WebError::Downgrade`] from `https:` to `http:`.
    pub(crate) fn follow(&self, location: &[u8]) -> Result<Address, WebError> {
        // RFC 9110, section 10.2.2: relative to the URL that was asked for. Bytes beyond ASCII are
        // not allowed, but browsers accept them as UTF-8.
        let text = String::from_utf8_lossy(location);
        let url = self.0.join(&text).map_err(|error| WebError::Url {
            url: text.into_owned(),
            why: error.to_string(),
        })?;
        let to = Address::check(url)?;
        match self.is_https() && !to.is_https() {
            true => Err(WebError::Downgrade { url: to.text() }),
            false => Ok(to),
        }
    }

    fn check(mut url: Url) -> Result<Address, WebError> {
        if !SCHEMES.contains(&url.scheme()) || !url.has_host() {
            return Err(WebError::Scheme { url: url.into() });
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(WebError::Credentials);
        }
        url.set_fragment(None);
        Ok(Address(url))
    }

    /// Returns whether the connection is encrypted.
    pub fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Returns the server as `host:port`.
    pub fn server(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        let port = self.0.port_or_known_default().unwrap_or_default();
        format!("{host}:{port}")
    }

    /// Returns the URL.
    pub fn url(&self) -> &Url {
        &self.0
    }

    /// Returns the URL as text.
    pub(crate) fn text(&self) -> String {
        self.0.as_str().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_without_credentials_is_an_address() {
        let parse = |text: &str| Address::parse(text.as_bytes());
        for good in ["http://a/b", "HTTPS://a.b:81/?q=*", "http://[::1]:8080/"] {
            assert!(is_url(good.as_bytes()) && parse(good).is_ok(), "{good}");
        }
        assert!(matches!(
            parse("file:///etc/passwd"),
            Err(WebError::Scheme { .. })
        ));
        assert!(matches!(
            parse("http://me@host/"),
            Err(WebError::Credentials)
        ));
        assert!(matches!(
            parse("http://:x@host/"),
            Err(WebError::Credentials)
        ));
        assert!(matches!(parse("http://"), Err(WebError::Url { .. })));
        assert!(matches!(
            Address::parse(b"http://a/\xff"),
            Err(WebError::Url { .. })
        ));
        for bad in ["/srv/http://x", "http:/x", "ftp://x", "httpx://y", ""] {
            assert!(!is_url(bad.as_bytes()), "{bad}");
        }
    }

    #[test]
    fn servers_are_named_with_their_port() {
        let server = |text: &str| Address::parse(text.as_bytes()).unwrap().server();
        assert_eq!(server("http://Host/x#y"), "host:80");
        assert_eq!(server("https://h/"), "h:443");
        assert_eq!(server("http://[::1]:8080/"), "[::1]:8080");
    }

    #[test]
    fn redirects_stay_in_bounds() {
        let from = Address::parse(b"https://a/b/c").unwrap();
        let to = |location: &str| from.follow(location.as_bytes());
        assert_eq!(to("d").unwrap().text(), "https://a/b/d");
        assert_eq!(to("//other/x").unwrap().text(), "https://other/x");
        assert!(matches!(to("http://a/"), Err(WebError::Downgrade { .. })));
        assert!(matches!(
            to("file:///etc/passwd"),
            Err(WebError::Scheme { .. })
        ));
        assert!(matches!(to("https://u:p@a/"), Err(WebError::Credentials)));
        let plain = Address::parse(b"http://a/").unwrap();
        assert!(plain.follow(b"https://a/").is_ok());
    }
}
