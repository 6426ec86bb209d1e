//! Maps certificates, and claims of OpenID Connect, to users of this machine, by a table that the
//! administrator writes.
//!
//! Invariants: only the superuser can have written the file (or, for a server that does not run as
//! the superuser, the user that runs it); one invalid line invalidates the whole table; no
//! certificate stands for the superuser.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use trawl_sys::become_user::{User, UserError};
use trawl_sys::identity::effective_uid;

use crate::error::RemoteError;

/// Default path of the table.
pub const FILE: &str = "/etc/trawl/users";
/// Maximum length of the file in bytes.
const FILE_MAX_BYTES: u64 = 16 << 20;

/// A file of lines `IDENTITY=USER`, where an identity is `sha256:` and the fingerprint of a
/// certificate, `san:` and one of its names, `cn:` and its common name, or [`claim`] of OpenID Connect;
/// `#` begins a comment.
/// The first matching line counts. The file is read for each client, so that changes take effect at
/// once.
#[derive(Clone, Debug)]
pub struct Users(PathBuf);

impl Users {
    /// Creates the table in this file.
    #[must_use]
    pub fn in_file(path: &Path) -> Users {
        Users(path.to_owned())
    }

    /// Reads the table, to report its errors.
    ///
    /// # Errors
    /// Fails if the file cannot be read, another user may write it, or a line is invalid.
    pub fn check(&self) -> Result<(), RemoteError> {
        self.lines().map(drop)
    }

    /// Returns the user for a client with these identities.
    ///
    /// # Errors
    /// Fails if there is none, with a text for the client that reveals nothing of the table.
    pub fn find(&self, identities: &[String]) -> Result<User, String> {
        user(&self.name(identities)?)
    }

    /// Returns the name of the user for a client with these identities.
    ///
    /// # Errors
    /// As [`Users::find`]; whether the user exists is not checked.
    pub fn name(&self, identities: &[String]) -> Result<String, String> {
        let lines = self.lines().map_err(|error| {
            let text = "this server cannot identify users by certificates right now".to_owned();
            // The details are for the administrator only.
            eprintln!("trawl: {error}");
            text
        })?;
        let line = lines.iter().find(|line| identities.contains(&line.0));
        line.map(|(_, name)| name.clone()).ok_or_else(|| {
            let fingerprint = identities.first().map_or("it", |text| text.as_str());
            format!(
                "the certificate {fingerprint} belongs to no user here: ask the \
                 administrator for a line in {}",
                self.0.display()
            )
        })
    }

    /// Returns the first line for one of these identities: the identity, and the name of the user.
    ///
    /// # Errors
    /// Fails if the table cannot be read or has an invalid line.
    pub fn line(&self, identities: &[String]) -> Result<Option<(String, String)>, RemoteError> {
        let lines = self.lines()?;
        Ok(lines.into_iter().find(|line| identities.contains(&line.0)))
    }

    /// Returns the names of the claims of this issuer that lines test, each once.
    ///
    /// # Errors
    /// As [`Users::line`].
    pub fn claims(&self, issuer: &str) -> Result<Vec<String>, RemoteError> {
        let before = format!("{CLAIM}:{issuer}#");
        let lines = self.lines()?;
        let claims = lines.iter().filter_map(|(identity, _)| {
            let (name, _) = identity.strip_prefix(&before)?.split_once('=')?;
            Some(name.to_owned())
        });
        let claims: std::collections::BTreeSet<String> = claims.collect();
        Ok(claims.into_iter().collect())
    }

    /// Returns the path of the table.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    fn lines(&self) -> Result<Vec<(String, String)>, RemoteError> {
        let failed = |source| RemoteError::File {
            action: "read the users in",
            path: self.0.clone(),
            source,
        };
        let file = std::fs::File::open(&self.0).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        let owner = metadata.uid();
        let is_owned = owner == 0 || owner == effective_uid();
        if !metadata.is_file() || !is_owned || metadata.mode() & 0o022 != 0 {
            let text = "it must be a file that only the superuser can write";
            return Err(failed(io::Error::other(text)));
        }
        let mut text = String::new();
        let mut file = io::Read::take(file, FILE_MAX_BYTES + 1);
        io::Read::read_to_string(&mut file, &mut text).map_err(failed)?;
        if text.len() as u64 > FILE_MAX_BYTES {
            return Err(failed(io::Error::other("it is too long")));
        }
        from_lines(&text).map_err(|why| failed(io::Error::other(why)))
    }
}

/// Returns the user of that name, with all groups.
fn user(name: &str) -> Result<User, String> {
    User::named(name).map_err(|error| match error {
        UserError::Superuser => "no certificate stands for the superuser".to_owned(),
        UserError::Unknown => "the certificate stands for a user that does not exist".to_owned(),
        error => error.to_string(),
    })
}

/// Begins the identities of OpenID Connect.
const CLAIM: &str = "oidc";

/// Returns the identity for a claim, `oidc:ISSUER#CLAIM=VALUE`; `None` if a part of it is no plain text
/// on one line, or too long.
#[must_use]
pub fn claim(issuer: &str, name: &str, value: &str) -> Option<String> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:/".contains(&byte);
    let is_sound = |text: &str, most: usize| {
        !text.is_empty()
            && text.len() <= most
            && text.trim() == text
            && !text.chars().any(char::is_control)
    };
    let is_issuer = issuer.starts_with("https://") || issuer.starts_with("http://");
    let is_sound = is_issuer
        && is_sound(issuer, 255)
        && !issuer.contains('#')
        && is_sound(name, 64)
        && name.bytes().all(is_name)
        && is_sound(value, 255);
    is_sound.then(|| format!("{CLAIM}:{issuer}#{name}={value}"))
}

/// Reads what follows `oidc:` in a line; without the name of a claim it is `sub`.
fn claim_of_line(text: &str) -> Option<String> {
    let (issuer, rest) = text.split_once('#')?;
    let (name, value) = rest.split_once('=').unwrap_or(("sub", rest));
    claim(issuer, name.trim(), value.trim())
}

/// Parses the lines of a table into identities and users.
///
/// # Errors
/// Fails for an invalid line.
pub fn from_lines(text: &str) -> Result<Vec<(String, String)>, String> {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let bad = || {
                format!(
                    "a line is not sha256:…=USER, san:…=USER, cn:…=USER or \
                     oidc:ISSUER#CLAIM=VALUE=USER: {line}"
                )
            };
            let (identity, user) = line.rsplit_once('=').ok_or_else(bad)?;
            let (kind, name) = identity.split_once(':').ok_or_else(bad)?;
            let (name, user) = (name.trim(), user.trim());
            let digits = || name.replace(':', "").to_ascii_lowercase();
            let is_digits =
                |text: &str| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
            let identity = match kind.trim() {
                "sha256" if is_digits(&digits()) => format!("sha256:{}", digits()),
                kind @ ("san" | "cn") if !name.is_empty() => format!("{kind}:{name}"),
                CLAIM => claim_of_line(name).ok_or_else(bad)?,
                _ => return Err(bad()),
            };
            match user {
                "" => Err(bad()),
                user => Ok((identity, user.to_owned())),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::fs::PermissionsExt;

    proptest! {
        #[test]
        fn no_text_panics(text in "(sha256|san|cn|oidc|https://|x|:|=|\n|#| |[0-9a-f]{64}|\\PC){0,12}") {
            if let Ok(lines) = from_lines(&text) {
                for (identity, user) in lines {
                    prop_assert!(identity.contains(':') && !user.is_empty());
                }
            }
        }
    }

    use trawl_testkit::Scratch;

    #[test]
    fn lines_are_users() {
        let digits = "AB:".repeat(31) + "cd";
        let text = format!("# who\n\nsha256:{digits} = alice\nsan: a=b@x = bob\ncn:A B=c\n");
        let lines = from_lines(&text).unwrap();
        let lines: Vec<_> = lines.iter().map(|(a, b)| (&a[..], &b[..])).collect();
        let hex = format!("sha256:{}cd", "ab".repeat(31));
        let expected = [(&hex[..], "alice"), ("san:a=b@x", "bob"), ("cn:A B", "c")];
        assert_eq!(lines, expected);
        for bad in ["alice", "cn:x", "cn:=x", "cn:x=", "sha256:ab=x", "dns:x=y"] {
            assert!(from_lines(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn claims_are_identities() {
        let text = "oidc:https://a.example/r#email=a=b@x = ann\n\
                    oidc: https://a.example/r#0815 = bob\n\
                    oidc:https://b.example#https://b.example/unix=c=carl\n";
        let lines = from_lines(text).unwrap();
        let of = |issuer: &str, name: &str, value: &str| claim(issuer, name, value).unwrap();
        let expected = [
            (
                of("https://a.example/r", "email", "a=b@x"),
                "ann".to_owned(),
            ),
            (of("https://a.example/r", "sub", "0815"), "bob".to_owned()),
            (
                of("https://b.example", "https://b.example/unix", "c"),
                "carl".to_owned(),
            ),
        ];
        assert_eq!(lines, expected);
        for bad in [
            "oidc:x",
            "oidc:https://a.example=x",
            "oidc:https://a.example#=x",
            "oidc:https://a.example#sub==x",
            "oidc:https://a.example#=v=x",
            "oidc:https://a.example#a b=v=x",
            "oidc:a.example#v=x",
            "oidc:https://a.example#v=",
        ] {
            assert!(from_lines(bad).is_err(), "{bad}");
        }
        let long = "x".repeat(256);
        for (issuer, name, value) in [
            ("https://a#b", "sub", "x"),
            ("https://a", "s=b", "x"),
            ("https://a", "s#b", "x"),
            ("https://a", "sub", "x\ny"),
            ("https://a", "sub", " x"),
            ("https://a", "sub", &long),
            ("https://a", &long, "x"),
            (&long, "sub", "x"),
        ] {
            assert_eq!(claim(issuer, name, value), None, "{issuer} {name} {value}");
        }
        let scratch = Scratch::new("users-claims");
        let path = scratch.join("users");
        std::fs::write(&path, text).unwrap();
        let users = Users::in_file(&path);
        assert_eq!(
            users.claims("https://a.example/r").unwrap(),
            ["email", "sub"]
        );
        assert!(users.claims("https://a.example").unwrap().is_empty());
        let both = [lines[1].0.clone(), lines[0].0.clone()];
        assert_eq!(users.line(&both).unwrap().as_ref(), Some(&lines[0]));
    }

    #[test]
    fn only_files_that_nobody_else_writes_are_believed() {
        let scratch = Scratch::new("users");
        let path = scratch.join("users");
        std::fs::write(&path, "cn:who=no such user\ncn:x=root\n").unwrap();
        let mode = |mode| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&path, mode).unwrap();
        };
        mode(0o644);
        let users = Users::in_file(&path);
        users.check().unwrap();
        let find = |text: &str| users.find(&["sha256:1".to_owned(), text.to_owned()]);
        assert!(find("cn:who").unwrap_err().contains("not exist"));
        assert!(find("cn:other").unwrap_err().contains("sha256:1"));
        if trawl_testkit::skip::is_root() {
            assert!(find("cn:x").unwrap_err().contains("superuser"));
        }
        mode(0o664);
        assert!(users.check().is_err());
        assert!(Users::in_file(&scratch.join("none")).check().is_err());
    }
}
