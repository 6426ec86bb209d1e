//! Sessions and tokens: what begins them, what they are for, and what ends them.

use serde_json::{Value, json};
use trawl_identity::credentials::Kind;
use trawl_testkit::site::Site;

use super::{Gate, Settings, bearer, cannot};
use crate::client::SERVER;

#[track_caller]
fn session(gate: &Gate, token: &str) -> String {
    let answer = gate.log_in(&json!({"token": token}));
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["session"]
        .as_str()
        .expect("a session")
        .to_owned()
}

#[test]
fn a_session_holds_over_a_restart_until_it_is_ended() {
    if cannot("sessions of the service") {
        return;
    }
    let Some(site) = Site::guarded("http-gate-sessions", SERVER) else {
        return;
    };
    let settings = Settings::of(&site);
    let gate = settings.start();
    let token = settings.whole_token("u60001");
    let (one, two) = (session(&gate, &token), session(&gate, &token));
    let asks = |gate: &Gate, secret: &str| gate.get(secret, "/api/v1/me").status;
    assert_eq!((asks(&gate, &one), asks(&gate, &two)), (200, 200));
    // A session begins no other one, and ends by itself alone.
    assert_eq!(gate.log_in(&json!({"token": one})).status, 403);
    gate.end();
    let gate = settings.start();
    assert_eq!((asks(&gate, &one), asks(&gate, &two)), (200, 200));
    let words = ["--header", &bearer(&one), "--request", "DELETE"];
    assert_eq!(gate.curl("/api/v1/session", &words).status, 204);
    assert_eq!((asks(&gate, &one), asks(&gate, &two)), (401, 200));
    // Ending a token's session is not possible by the token: it stays.
    let words = ["--header", &bearer(&token), "--request", "DELETE"];
    assert_eq!(gate.curl("/api/v1/session", &words).status, 204);
    assert_eq!(asks(&gate, &token), 200);
    // A session ends with the token that began it.
    let other = settings.whole_token("u60002");
    let third = session(&gate, &other);
    assert_eq!(asks(&gate, &third), 200);
    let credentials = settings.credentials();
    let now = std::time::SystemTime::now();
    let grant = credentials
        .find(&other, now)
        .expect("our own")
        .expect("it holds");
    assert!(credentials.revoke(&grant.id).expect("our own"));
    assert_eq!((asks(&gate, &third), asks(&gate, &other)), (401, 401));
    // The administrator ends a session: it holds for no further question.
    let all = credentials
        .list(std::time::SystemTime::now())
        .expect("a list");
    for grant in all.iter().filter(|grant| grant.kind == Kind::Session) {
        assert!(credentials.revoke(&grant.id).expect("our own"));
    }
    assert_eq!((asks(&gate, &two), asks(&gate, &token)), (401, 200));
    let state = std::fs::read_to_string(settings.join("state/credentials")).expect("our own");
    for secret in [&one, &two, &token] {
        assert!(!state.contains(secret.as_str()), "a secret is stored");
    }
}

/// Returns questions, by their names in the API, with the scopes that they need.
pub(crate) fn scoped(site: &Site) -> [(&'static str, Value, &'static str); 11] {
    let tree = site.text("");
    let file = site.text("open/file");
    [
        ("find", json!({"paths": [tree], "name": "f*"}), "names"),
        (
            "find",
            json!({"paths": [tree], "expression": ["-keyword", "needle"]}),
            "contents",
        ),
        (
            "find",
            json!({"paths": [tree], "expression": []}),
            "contents",
        ),
        (
            "find",
            json!({"paths": [tree], "keyword": "needle"}),
            "contents",
        ),
        (
            "stats",
            json!({"paths": [tree], "keyword": "needle"}),
            "contents",
        ),
        (
            "duplicates",
            json!({"paths": [tree], "verify": true}),
            "contents",
        ),
        ("du", json!({"paths": [tree]}), "names"),
        (
            "grep",
            json!({"paths": [tree], "pattern": "needle"}),
            "contents",
        ),
        ("read", json!({"path": file}), "contents"),
        ("sql", json!({"query": "SELECT 1"}), "sql"),
        ("schema", json!({}), "sql"),
    ]
}

#[test]
fn tokens_ask_what_they_are_for() {
    if cannot("scopes of tokens") {
        return;
    }
    let Some(site) = Site::guarded("http-gate-scopes", SERVER) else {
        return;
    };
    let settings = Settings::of(&site);
    let gate = settings.start();
    let questions = scoped(&site);
    for scopes in ["names", "contents", "sql", "names,contents"] {
        let token = settings.token("u60001", scopes);
        // A session has no more rights than the token that began it.
        let secrets = [token.clone(), session(&gate, &token)];
        for (name, arguments, needed) in &questions {
            for secret in &secrets {
                let answer = gate.ask(secret, name, arguments);
                let is_allowed = scopes.split(',').any(|scope| scope == *needed);
                let about = format!("{scopes}: {name} {arguments}: {answer:?}");
                assert_eq!(answer.status != 403, is_allowed, "{about}");
            }
        }
    }
    // Nor does a client choose its scopes.
    let token = settings.token("u60001", "sql");
    let words = [
        "--header",
        &bearer(&token),
        "--header",
        "trawl-scopes: names,contents,sql",
    ];
    let answer = gate.curl("/api/v1/find?paths=/&limit=1", &words);
    assert_eq!(answer.status, 403, "{answer:?}");
}

#[test]
fn guesses_have_to_wait() {
    if cannot("guesses at the service") {
        return;
    }
    let Some(site) = Site::guarded("http-gate-guesses", SERVER) else {
        return;
    };
    let settings = Settings::of(&site);
    let gate = settings.start();
    let guess = || gate.log_in(&json!({"token": "a guess"}));
    let refused = (0..20).map(|_| guess()).find(|answer| answer.status == 429);
    let refused = refused.expect("at some time it has to wait");
    let wait = refused.header("retry-after");
    let wait: u64 = wait
        .first()
        .and_then(|wait| wait.parse().ok())
        .expect("a number");
    assert!((1..=301).contains(&wait), "{wait}");
    // Whoever has a session is not held up by others who guess.
    let token = settings.whole_token("u60001");
    assert_eq!(gate.get(&token, "/api/v1/me").status, 200);
}
