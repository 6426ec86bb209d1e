//! What the service for many users reads besides questions: the file that names its provider, what
//! its processes tell each other, and the file of sessions and tokens.

#![no_main]

use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{Duration, UNIX_EPOCH};

use libfuzzer_sys::fuzz_target;
use serde::{Serialize, de::DeserializeOwned};
use trawl_http::gate::messages::{Answer, Request, Setup};
use trawl_http::gate::openid::settings::Settings;
use trawl_identity::credentials::Credentials;

static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else {
        return;
    };
    match first % 4 {
        0 => settings(&String::from_utf8_lossy(rest)),
        1 => message::<Request>(rest),
        2 => message::<Answer>(rest),
        _ => credentials(rest),
    }
    message::<Setup>(rest);
});

/// The issuer must be a place that may be asked, and the secret must not be shown.
fn settings(text: &str) {
    let Ok(settings) = Settings::parse(text) else {
        return;
    };
    let is_local = ["http://localhost", "http://127.", "http://[::1]"];
    let is_local = is_local
        .iter()
        .any(|start| settings.issuer.starts_with(start));
    let is_encrypted = settings.issuer.to_ascii_lowercase().starts_with("https:");
    assert!(is_encrypted || is_local, "{}", settings.issuer);
    assert!(settings.redirect.to_ascii_lowercase().starts_with("https:"));
    assert!(settings.name.chars().count() <= 64);
    assert!(!settings.scopes.iter().any(|scope| scope == "openid"));
    message::<Settings>(&serde_json::to_vec(&settings).expect("JSON"));
}

/// A message that is read is written, and read again, as the same.
fn message<M: Serialize + DeserializeOwned>(bytes: &[u8]) {
    let Ok(message) = serde_json::from_slice::<M>(bytes) else {
        return;
    };
    let written = serde_json::to_vec(&message).expect("JSON");
    // Numbers such as 1e999 have no other form that is read.
    if let Ok(again) = serde_json::from_slice::<M>(&written) {
        assert_eq!(serde_json::to_vec(&again).expect("JSON"), written);
    }
}

fn credentials(lines: &[u8]) {
    let directory = DIRECTORY.get_or_init(|| {
        let path = trawl_fuzz::scratch("credentials");
        let closed = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(&path, closed).expect("our own");
        path
    });
    let path = directory.join("credentials");
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600);
    let text = [b"{\"trawl_credentials\":1}\n", lines].concat();
    let written = file
        .open(&path)
        .and_then(|mut file| std::io::Write::write_all(&mut file, &text));
    written.expect("our own");
    let Ok(credentials) = Credentials::open(directory) else {
        return;
    };
    for secs in [0, 1_000, 253_402_300_799, 1 << 40] {
        let now = UNIX_EPOCH + Duration::from_secs(secs);
        let grants = credentials.list(now).expect("it was read");
        for grant in &grants {
            assert!(grant.expires > now && !grant.user.is_empty());
            credentials
                .used(&grant.id, now)
                .expect("it can be extended");
        }
        assert_eq!(
            credentials
                .list(now)
                .expect("what was written is read")
                .len(),
            grants.len()
        );
        assert_eq!(credentials.find("x", now).expect("it was read"), None);
    }
}
