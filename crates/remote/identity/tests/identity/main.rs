//! Tests of the library of identities on files, with several instances at a time.

mod credentials;
mod permissions;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use trawl_identity::credentials::{Credentials, Kind, New, Scopes};
use trawl_testkit::Scratch;

const HOUR: Duration = Duration::from_secs(3_600);

/// A fixed time.
fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

fn new(kind: Kind, user: &str) -> New<'_> {
    New {
        kind,
        user,
        scopes: Scopes::all(),
        lifetime: HOUR,
        note: "",
        token: None,
        identity: None,
    }
}

/// Opens the credentials of a test.
fn open(scratch: &Scratch) -> Credentials {
    Credentials::open(&scratch.join("http")).expect("our own directory")
}
