//! Who is believed to be whom.

use serde_json::json;
use trawl_testkit::site::{Site, StandIn};

use super::{Gate, Settings, bearer, cannot};
use crate::client::SERVER;

/// Returns the user that the service answers as, or the status.
#[track_caller]
fn user(answer: &crate::client::Answer) -> Result<String, u16> {
    match answer.status {
        200 => Ok(answer.json()["user"].as_str().expect("a name").to_owned()),
        status => Err(status),
    }
}

#[test]
fn without_a_proof_nothing_is_answered_but_the_page() {
    if cannot("the service without a proof") {
        return;
    }
    let stand_in = StandIn::new("http-gate-none", "touch ran");
    let gate = Settings::with(&stand_in).start();
    let guarded = [
        "/api/v1/find?paths=/",
        "/api/v1/me",
        "/api/v1/openapi.json",
        "/api/v1/no",
        "/metrics",
    ];
    let spoofed: [&[&str]; 6] = [
        &[],
        // From the network, the header of proxies says nothing.
        &["--header", "X-Remote-User: u60001"],
        &["--header", "Remote-User: u60001"],
        &["--header", "Authorization: Bearer x"],
        &["--header", "Authorization: Basic dTYwMDAxOng="],
        &["--header", "Cookie: session=u60001"],
    ];
    for path in guarded {
        for words in spoofed {
            let answer = gate.curl(path, words);
            assert_eq!(answer.status, 401, "{path} {words:?}: {answer:?}");
            assert_eq!(answer.header("www-authenticate"), ["Bearer"], "{path}");
        }
    }
    let none: [&str; 0] = [];
    assert_eq!(gate.curl("/healthz", &none).body, b"ok\n");
    let page = gate.curl("/", &none);
    assert_eq!(page.status, 200);
    assert_eq!(page.header("x-frame-options"), ["DENY"]);
    assert_eq!(page.header("strict-transport-security").len(), 1);
    let ways = gate.curl("/api/v1/login", &none).json();
    assert_eq!(ways, json!({"ways": ["token", "certificate"]}));
    // A refused body does not end the stream of HTTP/2 before its answer.
    for _ in 0..20 {
        let answer = gate.curl("/api/v1/find", &["--json", "{}"]);
        assert_eq!((answer.status, answer.code), (401, Some(0)), "{answer:?}");
    }
    let answer = gate.log_in(&json!({"user": "u60001"}));
    assert_eq!(answer.status, 400, "{answer:?}");
    // What fits into a request and into no message is refused, too.
    let long = "x".repeat(60_000);
    let answer = gate.curl("/api/v1/me", &["--header", &bearer(&long)]);
    assert_eq!(answer.status, 401, "{answer:?}");
    let quotes = |count| json!({"token": "\"".repeat(count)});
    let answer = gate.log_in(&quotes(8000));
    assert!(matches!(answer.status, 403 | 503), "{answer:?}");
    let answer = gate.log_in(&quotes(60_000));
    assert_eq!(answer.status, 413, "{answer:?}");
    assert!(gate.those("--desk").is_empty(), "a desk was started");
    let session = gate.log_in(&json!({"user": "u60001", "password": "x"}));
    assert_eq!(
        session.status, 403,
        "passwords are not checked: {session:?}"
    );
}

#[test]
fn each_proof_stands_for_its_user() {
    if cannot("the proofs of the service") {
        return;
    }
    let Some(site) = Site::guarded("http-gate-proofs", SERVER) else {
        return;
    };
    let settings = Settings::of(&site);
    let gate = settings.start();
    let token = settings.whole_token("u60001");
    assert_eq!(user(&gate.get(&token, "/api/v1/me")), Ok("u60001".into()));
    let somebody = settings.certificate("somebody");
    let shown = gate.curl("/api/v1/me", &somebody);
    assert_eq!(user(&shown), Ok("u60005".into()));
    // A token counts before a certificate.
    let both = [somebody, vec!["--header".into(), bearer(&token)]].concat();
    assert_eq!(user(&gate.curl("/api/v1/me", &both)), Ok("u60001".into()));
    for common in ["chief", "a stranger"] {
        let answer = gate.curl("/api/v1/me", &settings.certificate(common));
        assert_eq!(user(&answer), Err(403), "{common}");
    }
    // Of another authority, a certificate ends the connection.
    let other = crate::authority::Authority::new("another");
    let wish = crate::authority::GOOD;
    let mut command = trawl_testkit::oracle::command("curl");
    let words = settings.shown(&other.sign(&wish));
    command
        .args(["--silent", "--cacert"])
        .arg(settings.join("ca.pem"));
    command
        .args(words)
        .arg(format!("https://{}/healthz", gate.address));
    assert_ne!(trawl_testkit::oracle::run(&mut command).code, Some(0));
    proxies(&gate, &token);
}

#[track_caller]
fn proxies(gate: &Gate, token: &str) {
    let named = |name: &str| {
        let header = format!("X-Remote-User: {name}");
        user(&gate.proxied("/api/v1/me", &["--header", &header]))
    };
    assert_eq!(named("u60004"), Ok("u60004".into()));
    for name in ["root", "0", "60004", "nobody-of-this-name", "u60004,u60005"] {
        assert_eq!(named(name), Err(403), "{name}");
    }
    let twice = [
        "--header",
        "X-Remote-User: u60004",
        "--header",
        "x-remote-user: u60005",
    ];
    assert_eq!(user(&gate.proxied("/api/v1/me", &twice)), Err(400));
    let none: [&str; 0] = [];
    assert_eq!(user(&gate.proxied("/api/v1/me", &none)), Err(401));
    // A user behind a proxy may still use a token.
    let header = bearer(token);
    let own = [&twice[..2], &["--header", &header]].concat();
    assert_eq!(user(&gate.proxied("/api/v1/me", &own)), Ok("u60001".into()));
    let ways = gate.proxied("/api/v1/login", &twice[..2]).json();
    assert_eq!(ways, json!({"ways": ["proxy"]}));
}

#[test]
fn other_sites_may_not_ask() {
    if cannot("other sites and the service") {
        return;
    }
    let Some(site) = Site::guarded("http-gate-sites", SERVER) else {
        return;
    };
    let settings = Settings::of(&site);
    let gate = settings.start();
    let certificate = settings.certificate("somebody");
    let asks = |header: &str| {
        let words = [certificate.clone(), vec!["--header".into(), header.into()]].concat();
        gate.curl("/api/v1/me", &words).status
    };
    assert_eq!(asks(&format!("Origin: https://{}", gate.address)), 200);
    assert_eq!(asks("Sec-Fetch-Site: same-origin"), 200);
    let foreign = [
        "Origin: https://evil.example".to_owned(),
        "Origin: null".to_owned(),
        format!("Origin: http://{}", gate.address),
        format!("Origin: https://{}.evil.example", gate.address),
        "Sec-Fetch-Site: cross-site".to_owned(),
        "Sec-Fetch-Site: same-site".to_owned(),
    ];
    for header in foreign {
        assert_eq!(asks(&header), 403, "{header}");
    }
}
