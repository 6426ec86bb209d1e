//! The record of questions, and answers as a whole.

use serde_json::json;
use trawl_testkit::oracle::{self, Identity};
use trawl_testkit::site::Site;

use super::{Settings, bearer, cannot};
use crate::client::SERVER;

#[test]
fn the_record_says_who_asked_what_and_contains_no_answer() {
    if cannot("the record of questions") {
        return;
    }
    let Some(site) = Site::guarded("http-gate-record", SERVER) else {
        return;
    };
    let settings = Settings::of(&site);
    let gate = settings.start();
    let token = settings.whole_token("u60001");
    let session = gate.log_in(&json!({"token": token})).json();
    let session = session["session"].as_str().expect("a session");
    let tree = site.text("");
    let page = gate.ask(session, "find", &json!({"paths": [tree]})).json();
    let rows = page["rows"].as_array().expect("rows").len();
    assert!(rows > 2, "{page}");
    assert_eq!(gate.ask(&token, "find", &json!({"paths": 7})).status, 400);
    assert_eq!(gate.get("nonsense", "/api/v1/find?paths=/x").status, 401);
    let path = format!("/api/v1/ls?paths={tree}/open&format=csv&partial=true");
    let whole = gate.get(&token, &path);
    assert_eq!(whole.status, 200, "{whole:?}");
    let record = gate.record(5);
    let [login, find, refused, unknown, ls] = &record[..] else {
        panic!("{record:#?}");
    };
    assert_eq!(
        (&login["event"], &login["user"]),
        (&json!("login"), &json!("u60001"))
    );
    assert_eq!(
        (&login["granted"], &login["address"]),
        (&json!(true), &json!("127.0.0.1"))
    );
    assert_eq!(
        (&find["question"], &find["rows"]),
        (&json!("find"), &json!(rows))
    );
    assert_eq!(
        (&find["user"], &find["uid"]),
        (&json!("u60001"), &json!(60_001))
    );
    assert!(
        find["by"]
            .as_str()
            .is_some_and(|by| by.starts_with("session ")),
        "{find}"
    );
    assert!(
        find["arguments"]
            .as_str()
            .is_some_and(|text| text.contains(&tree)),
        "{find}"
    );
    // Some of the tree is closed to this user.
    assert_eq!(
        (&find["status"], &find["outcome"]),
        (&json!(200), &json!("partial"))
    );
    assert_eq!(
        (&refused["status"], &refused["outcome"]),
        (&json!(400), &json!("failed"))
    );
    assert_eq!(
        (&unknown["status"], &unknown["user"]),
        (&json!(401), &json!(null))
    );
    assert!(
        ls["by"].as_str().is_some_and(|by| by.starts_with("token ")),
        "{ls}"
    );
    assert_eq!(ls["bytes"], json!(whole.body.len()));
    let lines = whole.body.iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(
        (&ls["rows"], &ls["outcome"]),
        (&json!(lines - 1), &json!("complete"))
    );
    let text = std::fs::read_to_string(settings.join("record")).expect("our own");
    for secret in [session, &token, "needle", "open/file"] {
        assert!(!text.contains(secret), "{secret} is recorded");
    }
    // Counts are for everybody who may ask.
    let metrics = gate.get(&token, "/metrics");
    let metrics = String::from_utf8(metrics.body).expect("text");
    let line = "trawl_web_questions_total{question=\"find\",outcome=\"partial\"} 1";
    assert!(metrics.lines().any(|known| known == line), "{metrics}");
}

#[test]
fn downloads_equal_the_command_or_break_off() {
    if cannot("downloads of the service") {
        return;
    }
    let Some(site) = Site::guarded("http-gate-downloads", SERVER) else {
        return;
    };
    let settings = Settings::of(&site);
    let gate = settings.start();
    let token = settings.whole_token("u60001");
    let who = Identity::Other {
        uid: 60_001,
        gid: 60_001,
        groups: Vec::new(),
    };
    let open = site.text("open");
    for version in ["--http1.1", "--http2"] {
        for (format, option) in [("csv", "--csv"), ("jsonl", "--json"), ("arrow", "--arrow")] {
            let get = |path: &str, rest: &str| {
                let path = format!("/api/v1/find?paths={path}&format={format}{rest}");
                gate.curl(
                    &path,
                    &[
                        version,
                        "--header",
                        &bearer(&token),
                        "--header",
                        "TE: trailers",
                    ],
                )
            };
            let whole = get(&open, "");
            let mut command = site.command(&who);
            let ran = oracle::run(command.args(["find", option, &open]));
            let about = format!("{version} {format}: {whole:?}");
            assert_eq!((whole.code, whole.status), (Some(0), 200), "{about}");
            assert_eq!(whole.body, ran.stdout, "{about}");
            assert_eq!(whole.header("trawl-complete"), ["true"], "{about}");
            // Nobody takes a part for the whole.
            let part = get(&site.text(""), "");
            assert_ne!(part.code, Some(0), "{version} {format}: {part:?}");
            let wanted = get(&site.text(""), "&partial=true");
            assert_eq!(wanted.code, Some(0), "{version} {format}: {wanted:?}");
            assert_eq!(wanted.header("trawl-complete"), ["false"], "{format}");
        }
    }
}
