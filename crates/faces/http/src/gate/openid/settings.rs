//! The file that names the provider: lines `NAME = VALUE`; `#` begins a comment.

use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use openidconnect::url::{Host, Url};
use serde::{Deserialize, Serialize};
use trawl_sys::identity::effective_uid;

/// The path at which the provider sends a browser back: the page knows it.
pub const BACK: &str = "/login/oidc";

/// Most bytes of the file.
const FILE_BYTES: u64 = 64 << 10;

/// What the file says.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The issuer: the provider's name, and the address below which it describes itself.
    pub issuer: String,
    /// The name of this server at the provider.
    pub client_id: String,
    /// The secret that this server shares with the provider.
    pub client_secret: String,
    /// The address of this server at which the provider sends browsers back.
    pub redirect: String,
    /// The provider's name for people.
    pub name: String,
    /// What is asked for beside `openid`.
    pub scopes: Vec<String>,
}

impl std::fmt::Debug for Settings {
    /// The secret is not shown.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Settings");
        shown.field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

/// The reason why a file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// It cannot be read.
    #[error("cannot read the provider in {path}: {source}")]
    Unreadable {
        /// The file.
        path: String,
        /// The reason.
        source: io::Error,
    },
    /// Others can read or write it.
    #[error(
        "{path} holds a secret, and only the user that runs the server may open it: chown it to \
         that user, and chmod 600 {path}"
    )]
    Open {
        /// The file.
        path: String,
    },
    /// A line is invalid, or one is missing.
    #[error("{path}: {why}")]
    Invalid {
        /// The file.
        path: String,
        /// The reason, and what to do.
        why: String,
    },
}

impl Settings {
    /// Reads the file.
    ///
    /// # Errors
    /// Says why it cannot be used.
    pub fn read(path: &Path) -> Result<Settings, SettingsError> {
        let shown = || path.display().to_string();
        let unreadable = |source| SettingsError::Unreadable {
            path: shown(),
            source,
        };
        let file = std::fs::File::open(path).map_err(unreadable)?;
        let found = file.metadata().map_err(unreadable)?;
        let is_owned = found.uid() == 0 || found.uid() == effective_uid();
        if !found.is_file() || !is_owned || found.mode() & 0o077 != 0 {
            return Err(SettingsError::Open { path: shown() });
        }
        let mut text = String::new();
        let read = file.take(FILE_BYTES).read_to_string(&mut text);
        read.map_err(unreadable)?;
        Settings::parse(&text).map_err(|why| SettingsError::Invalid { path: shown(), why })
    }

    /// Parses the lines of a file.
    ///
    /// # Errors
    /// Says which line is invalid or missing, and what it should be.
    pub fn parse(text: &str) -> Result<Settings, String> {
        let mut found = Found::default();
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let split = line.split_once('=');
            let (name, value) = split.ok_or("a line is not NAME = VALUE")?;
            found.take(name.trim(), value.trim())?;
        }
        found.settings()
    }

    /// Returns whether the provider is on this machine and speaks without TLS, as in tests.
    pub fn is_local(&self) -> bool {
        self.issuer.starts_with("http://")
    }
}

/// The values of lines.
#[derive(Default)]
struct Found([Option<String>; NAMES.len()]);

/// The names of lines.
const NAMES: [&str; 6] = [
    "issuer",
    "client_id",
    "client_secret",
    "redirect",
    "name",
    "scopes",
];

impl Found {
    fn take(&mut self, name: &str, value: &str) -> Result<(), String> {
        let all = NAMES.join(", ");
        let at = NAMES.iter().position(|known| *known == name);
        let at = at.and_then(|at| self.0.get_mut(at));
        let Some(place) = at else {
            return Err(format!(
                "{name:?} is no name of a line; the names are {all}"
            ));
        };
        if value.is_empty() || value.chars().any(char::is_control) {
            return Err(format!("the value of {name} is no text"));
        }
        match place.replace(value.to_owned()) {
            None => Ok(()),
            Some(_) => Err(format!("there are two lines for {name}: remove one")),
        }
    }

    fn settings(self) -> Result<Settings, String> {
        let [issuer, client_id, client_secret, redirect, name, scopes] = self.0;
        let needed = |name: &str, value: Option<String>| {
            value.ok_or_else(|| format!("there is no line {name} = …: add it"))
        };
        let issuer = needed("issuer", issuer)?;
        let host = issuer_host(&issuer)?;
        let redirect = needed("redirect", redirect)?;
        check_redirect(&redirect)?;
        let name = name.unwrap_or(host);
        if name.chars().count() > 64 {
            return Err("name: it has more than 64 characters".to_owned());
        }
        let scopes = scopes.unwrap_or_default();
        let scopes = scopes.split_whitespace().map(str::to_owned);
        Ok(Settings {
            client_id: needed("client_id", client_id)?,
            client_secret: needed("client_secret", client_secret)?,
            scopes: scopes.filter(|scope| scope != "openid").collect(),
            issuer,
            redirect,
            name,
        })
    }
}

/// Returns the host of an issuer, if that is one.
fn issuer_host(text: &str) -> Result<String, String> {
    let wrong = || {
        "issuer: it must be an address such as https://login.example.org/realms/staff, without \
         user, ? and #, exactly as the provider names itself (http:// only for a provider on this \
         machine)"
            .to_owned()
    };
    let url = Url::parse(text).map_err(|_| wrong())?;
    let is_plain = url.query().is_none() && url.fragment().is_none() && names_nobody(&url);
    let host = url.host_str().map(str::to_owned);
    let is_short = text.len() <= 255;
    host.filter(|_| is_plain && is_short && may_ask(&url, url.scheme() == "http"))
        .ok_or_else(wrong)
}

/// Returns whether an address has neither a user nor a password.
fn names_nobody(url: &Url) -> bool {
    url.username().is_empty() && url.password().is_none()
}

fn check_redirect(text: &str) -> Result<(), String> {
    let url = Url::parse(text).ok().filter(|url| {
        url.scheme() == "https"
            && url.path() == BACK
            && url.query().is_none()
            && url.fragment().is_none()
            && names_nobody(url)
    });
    url.map(drop).ok_or_else(|| {
        format!(
            "redirect: it must be the address of this server as browsers know it, with the path \
             {BACK}, such as https://files.example.org:8443{BACK}"
        )
    })
}

/// Returns whether an address may be asked, or a browser be sent there: over TLS, or on this machine
/// if the provider is there.
pub fn may_ask(url: &Url, is_local: bool) -> bool {
    let is_here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => return false,
    };
    match url.scheme() {
        "https" => true,
        "http" => is_local && is_here,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use trawl_testkit::Scratch;

    const GOOD: &str = "# Keycloak\nissuer = https://login.example.org/realms/a\n\
                        client_id=trawl\n client_secret = a=b # c\n\n\
                        redirect = https://files.example.org:8443/login/oidc\n";

    #[test]
    fn a_file_names_a_provider() {
        let settings = Settings::parse(GOOD).expect("it is valid");
        assert_eq!(settings.issuer, "https://login.example.org/realms/a");
        assert_eq!(settings.client_id, "trawl");
        assert_eq!(settings.client_secret, "a=b # c");
        assert_eq!(settings.name, "login.example.org");
        assert!(settings.scopes.is_empty() && !settings.is_local());
        let more = format!("{GOOD}name = The Company\nscopes = openid profile  email\n");
        let settings = Settings::parse(&more).expect("it is valid");
        assert_eq!(settings.name, "The Company");
        assert_eq!(settings.scopes, ["profile", "email"]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for name in ["issuer", "client_id", "client_secret", "redirect"] {
            let lines = GOOD.lines().filter(|line| !line.trim().starts_with(name));
            let without: Vec<&str> = lines.collect();
            let why = Settings::parse(&without.join("\n")).expect_err("refused");
            assert!(why.contains(name) && why.contains("add it"), "{why}");
        }
        for line in [
            "issuer = https://x",
            "x = y",
            "name =",
            "name",
            "name = a\u{7}b",
        ] {
            assert!(
                Settings::parse(&format!("{GOOD}{line}\n")).is_err(),
                "{line}"
            );
        }
        let with = |name: &str, value: &str| {
            let lines = GOOD.lines().filter(|line| !line.trim().starts_with(name));
            let lines: Vec<&str> = lines.collect();
            Settings::parse(&format!("{}\n{name} = {value}\n", lines.join("\n")))
        };
        for issuer in [
            "http://127.0.0.1:1/x",
            "http://localhost:1",
            "http://[::1]:1",
            "https://a.example:1/b/",
        ] {
            assert!(with("issuer", issuer).is_ok(), "{issuer}");
        }
        for issuer in [
            "http://a.example",
            "http://127.0.0.1.evil.example",
            "http://localhost.evil.example",
            "https://a.example?x",
            "https://a.example#x",
            "https://u@a.example",
            "https://:secret@a.example",
            "ftp://a.example",
            "a.example",
            "javascript:alert(1)",
            "file:///etc",
        ] {
            assert!(with("issuer", issuer).is_err(), "{issuer}");
        }
        for redirect in [
            "http://a.example/login/oidc",
            "https://a.example/",
            "https://a.example/login/oidc/",
            "https://a.example/login/oidc?x",
            "https://:secret@a.example/login/oidc",
            "https://a.example/login/oidc#x",
        ] {
            assert!(with("redirect", redirect).is_err(), "{redirect}");
        }
    }

    #[test]
    fn a_file_that_others_may_open_is_refused() {
        let scratch = Scratch::new("http-oidc-settings");
        let path = scratch.join("oidc");
        std::fs::write(&path, GOOD).expect("our own");
        for (mode, is_good) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false)] {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&path, mode.clone()).expect("our own");
            let read = Settings::read(&path);
            assert_eq!(read.is_ok(), is_good, "{mode:?}");
            if let Err(error) = read {
                let text = error.to_string();
                let remedy = format!("chmod 600 {}", path.display());
                assert!(text.contains(&remedy), "{text}");
            }
        }
        let missing = scratch.join("none");
        let error = Settings::read(&missing).expect_err("it is missing");
        assert!(error.to_string().contains(&*missing.to_string_lossy()));
    }
}
