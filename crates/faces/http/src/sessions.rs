//! Who may ask: whoever holds a secret that the server gave, or that a file of its user contains.
//!
//! A one-time link carries a secret behind `#`, which browsers send to no server. The page exchanges it
//! for a session, once, and names the session in the header `Authorization` of each request. There are
//! no cookies: a browser sends those to every port of a machine, so that another user who listens on
//! another port could receive them; and it adds them to requests of other sites.
//!
//! Invariants: a link holds once and for a short time; secrets have 128 random bits, and are compared
//! in constant time; the number of sessions is bounded.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use subtle::ConstantTimeEq;
use trawl_questions::open::secret;

use crate::limits::{IDLE, LINK, SESSIONS, TOKEN_BYTES};

/// The secrets that hold.
#[derive(Debug, Default)]
pub struct Sessions {
    secrets: Mutex<Secrets>,
    /// The token of a file.
    token: Option<String>,
}

#[derive(Debug, Default)]
struct Secrets {
    links: Vec<Secret>,
    sessions: Vec<Secret>,
}

#[derive(Debug)]
struct Secret {
    text: String,
    /// When it was given, or used last.
    since: Instant,
}

/// The reason why a file gives no token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The file cannot be read.
    #[error("cannot read the token in {path}: {source}")]
    Unreadable {
        /// The file.
        path: String,
        /// The reason.
        source: io::Error,
    },
    /// Others can read the file.
    #[error("others may read {path}, which holds the token: chmod 600 {path}")]
    Open {
        /// The file.
        path: String,
    },
    /// The token is too short, or contains other characters than letters, digits and signs.
    #[error(
        "{path}: the token must be one line of at least {TOKEN_BYTES} letters, digits and signs, \
         such as openssl rand -hex 16 prints"
    )]
    Weak {
        /// The file.
        path: String,
    },
}

impl Sessions {
    /// Makes sessions. Programs may use the token in this file, which only its owner may read.
    ///
    /// # Errors
    /// Says why the file gives no token.
    pub fn new(token_file: Option<&Path>) -> Result<Sessions, TokenError> {
        Ok(Sessions {
            secrets: Mutex::default(),
            token: token_file.map(token).transpose()?,
        })
    }

    /// Returns the secret of a new link.
    ///
    /// # Errors
    /// Fails if the kernel has no random numbers.
    pub fn link(&self) -> io::Result<String> {
        let text = secret()?;
        self.lock().links.push(Secret::new(&text));
        Ok(text)
    }

    /// Exchanges the secret of a link for a session; `None` if it does not hold.
    ///
    /// # Errors
    /// Fails if the kernel has no random numbers.
    pub fn begin(&self, link: &str) -> io::Result<Option<String>> {
        let mut secrets = self.lock();
        secrets.links.retain(|link| link.since.elapsed() < LINK);
        let Some(at) = secrets.links.iter().position(|known| known.is(link)) else {
            return Ok(None);
        };
        let session = secret()?;
        secrets.links.remove(at);
        if secrets.sessions.len() >= SESSIONS {
            let oldest = secrets.sessions.iter().enumerate();
            if let Some((at, _)) = oldest.min_by_key(|(_, session)| session.since) {
                secrets.sessions.remove(at);
            }
        }
        secrets.sessions.push(Secret::new(&session));
        Ok(Some(session))
    }

    /// Returns whether this is a session or the token. A session that is used lives on.
    pub fn holds(&self, given: &str) -> bool {
        let mut secrets = self.lock();
        secrets
            .sessions
            .retain(|known| known.since.elapsed() < IDLE);
        let session = secrets.sessions.iter_mut().find(|known| known.is(given));
        if let Some(session) = session {
            session.since = Instant::now();
            return true;
        }
        self.token
            .as_deref()
            .is_some_and(|token| same(token, given))
    }

    /// Ends a session.
    pub fn end(&self, session: &str) {
        self.lock().sessions.retain(|known| !known.is(session));
    }

    fn lock(&self) -> MutexGuard<'_, Secrets> {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Secret {
    fn new(text: &str) -> Secret {
        Secret {
            text: text.to_owned(),
            since: Instant::now(),
        }
    }

    fn is(&self, given: &str) -> bool {
        same(&self.text, given)
    }
}

fn same(known: &str, given: &str) -> bool {
    known.as_bytes().ct_eq(given.as_bytes()).into()
}

/// Reads the token in a file.
fn token(path: &Path) -> Result<String, TokenError> {
    let shown = || path.display().to_string();
    let unreadable = |source| TokenError::Unreadable {
        path: shown(),
        source,
    };
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mode = file.metadata().map_err(unreadable)?.mode();
    if mode & 0o077 != 0 {
        return Err(TokenError::Open { path: shown() });
    }
    let text = io::read_to_string(io::Read::take(file, 4096)).map_err(unreadable)?;
    let text = text.trim_end_matches('\n');
    let is_strong = text.len() >= TOKEN_BYTES && text.bytes().all(|byte| byte.is_ascii_graphic());
    match is_strong {
        true => Ok(text.to_owned()),
        false => Err(TokenError::Weak { path: shown() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use trawl_testkit::Scratch;

    #[test]
    fn a_link_holds_once() {
        let sessions = Sessions::default();
        let link = sessions.link().expect("random numbers");
        assert!(!sessions.holds(&link), "a link is no session");
        let session = sessions.begin(&link).expect("random numbers");
        let session = session.expect("the link holds");
        assert_ne!(session, link);
        assert!(sessions.holds(&session));
        assert_eq!(sessions.begin(&link).expect("random numbers"), None);
        assert_eq!(sessions.begin("").expect("random numbers"), None);
        sessions.end(&session);
        assert!(!sessions.holds(&session) && !sessions.holds(""));
    }

    #[test]
    fn too_many_sessions_end_the_one_that_is_idle_longest() {
        let sessions = Sessions::default();
        let begin = || {
            let link = sessions.link().expect("random numbers");
            let session = sessions.begin(&link).expect("random numbers");
            session.expect("the link holds")
        };
        let first = begin();
        let second = begin();
        assert!(sessions.holds(&first), "it is used");
        let others: Vec<String> = (0..SESSIONS - 1).map(|_| begin()).collect();
        assert!(!sessions.holds(&second));
        assert!(sessions.holds(&first) && others.iter().all(|one| sessions.holds(one)));
    }

    #[test]
    fn a_token_is_secret_and_strong() {
        let scratch = Scratch::new("web-token");
        let path = scratch.join("token");
        let write = |text: &str, mode| {
            std::fs::write(&path, text).expect("our own");
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&path, permissions).expect("our own");
        };
        assert!(matches!(
            Sessions::new(Some(&path)),
            Err(TokenError::Unreadable { .. })
        ));
        write("0123456789abcdef\n", 0o640);
        assert!(matches!(
            Sessions::new(Some(&path)),
            Err(TokenError::Open { .. })
        ));
        for weak in ["", "short", "0123456789 abcdef", "0123456789\nabcdefg"] {
            write(weak, 0o600);
            assert!(
                matches!(Sessions::new(Some(&path)), Err(TokenError::Weak { .. })),
                "{weak:?}"
            );
        }
        write("0123456789abcdef\n", 0o600);
        let sessions = Sessions::new(Some(&path)).expect("a token");
        assert!(sessions.holds("0123456789abcdef") && !sessions.holds("0123456789abcdeg"));
    }
}
