//! How many bytes a user is sent in an hour.

use serde_json::json;
use trawl_testkit::site::StandIn;

use super::{Settings, bearer, cannot};

#[test]
fn a_user_who_was_sent_too_much_waits_and_others_do_not() {
    if cannot("bytes of a user") {
        return;
    }
    // 70 bytes a row: a page of 100 rows fits into the allowance, and the whole answer does not.
    let script = "i=0; while [ $i -lt 20000 ]; do echo \
                  '{\"path\":\"/a-name-with-some-length-so-that-rows-are-long-enough\"}'; \
                  i=$((i+1)); done";
    let stand_in = StandIn::new("http-gate-amounts", script);
    let settings = Settings::with(&stand_in).word("--hourly-bytes=100000");
    let gate = settings.start();
    let (one, other) = (
        settings.whole_token("u60001"),
        settings.whole_token("u60002"),
    );
    let page = json!({"paths": ["/"]});
    let first = gate.ask(&one, "find", &page).json();
    let cursor = first["cursor"].as_str().expect("a cursor");
    let lines = "/api/v1/find?paths=/&format=jsonl&partial=true";
    let broken = gate.get(&one, lines);
    assert_ne!(broken.code, Some(0), "{broken:?}");
    assert!(broken.body.len() < 200_000, "{}", broken.body.len());
    let header = bearer(&one);
    let refused = gate.curl("/api/v1/find?paths=/", &["--header", &header]);
    assert_eq!(refused.status, 429, "{refused:?}");
    let wait = refused.header("retry-after").concat();
    let wait: u64 = wait.parse().expect("a number of seconds");
    assert!((1..=3600).contains(&wait), "{wait}");
    // An answer can still be dropped.
    let dropped = gate.curl(
        &format!("/api/v1/more?cursor={cursor}"),
        &["--header", &header, "--request", "DELETE"],
    );
    assert_eq!(dropped.status, 204, "{dropped:?}");
    assert_eq!(gate.ask(&other, "find", &page).status, 200);
    let outcomes: Vec<_> = gate
        .record(5)
        .iter()
        .map(|line| {
            (
                line["uid"].clone(),
                line["outcome"].clone(),
                line["status"].clone(),
            )
        })
        .collect();
    assert_eq!(
        outcomes,
        [
            (json!(60_001), json!("partial"), json!(200)),
            (json!(60_001), json!("failed"), json!(200)),
            (json!(60_001), json!("failed"), json!(429)),
            (json!(60_001), json!("complete"), json!(204)),
            (json!(60_002), json!("partial"), json!(200)),
        ]
    );
}
