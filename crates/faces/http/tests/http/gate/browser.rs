//! The page in Chromium, with a form in which two users log in.

use serde_json::json;
use trawl_testkit::oracle::{Identity, gnu};
use trawl_testkit::site::Site;

use super::passwords::with_passwords;
use super::{Settings, cannot};
use crate::browser;
use crate::client::SERVER;

#[test]
fn users_log_in_in_a_browser_and_see_their_own() {
    let test = "logins in a browser";
    if cannot(test) || browser::cannot(test) {
        return;
    }
    let Some(site) = Site::guarded("http-gate-browser", SERVER) else {
        return;
    };
    // One of the two may enter what is closed to the other.
    let closed = site.path("closed");
    std::os::unix::fs::chown(&closed, Some(60_005), None).expect("our own");
    site.index();
    let settings = with_passwords(Settings::of(&site));
    let gate = settings.start();
    let probe = gate.log_in(&json!({"user": "u60001", "password": "R1ght"}));
    if probe.status == 503 {
        return trawl_testkit::Skip::new(test, "PAM cannot be asked here").say();
    }
    let hits = |uid: u32| {
        let who = Identity::Other {
            uid,
            gid: uid,
            groups: Vec::new(),
        };
        let words = [site.text(""), "-iname".into(), "*e*".into()];
        let found = gnu(
            "find",
            words.each_ref().map(String::as_str),
            &site.tree(),
            &who,
        );
        found.text().lines().count()
    };
    let users = [60_001, 60_005].map(|uid| format!("u{uid}=R1ght={}", hits(uid)));
    assert_ne!(hits(60_001), hits(60_005), "they see different things");
    let output = browser::checks("service")
        .env("TRAWL_WEB_URL", format!("https://{}", gate.address))
        .env("TRAWL_WEB_TREE", site.text(""))
        .env("TRAWL_WEB_USERS", users.join("\n"))
        .output();
    let Some(printed) = browser::passed(test, output.expect("it runs")) else {
        return;
    };
    assert_eq!(
        printed
            .lines()
            .filter(|line| line.starts_with("ok "))
            .count(),
        2,
        "{printed}"
    );
}
