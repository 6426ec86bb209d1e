//! A provider, and others, that attack.

use serde_json::{Value, json};
use trawl_testkit::site::StandIn;

use super::provider::{Answer, CLIENT, Key, Provider, base64url, response, shared, unsigned};
use super::{Tab, changed, finish, with_provider};
use crate::gate::{Gate, Settings, cannot};

const REDIRECT: &str = "https://files.example.org/login/oidc";

/// Starts a service whose provider's user `s-1` is u60001.
fn service(label: &str) -> (Gate, Settings, Provider, StandIn) {
    let stand_in = StandIn::new(label, "echo '{}'");
    let provider = Provider::start();
    let rules = format!("oidc:{}#s-1 = u60001\n", provider.issuer);
    let settings = Settings::with(&stand_in);
    let settings = with_provider(settings, &provider.issuer, REDIRECT, &rules);
    let gate = settings.start();
    (gate, settings, provider, stand_in)
}

#[test]
fn tokens_that_are_not_for_this_login_begin_no_session() {
    if cannot("tokens of a hostile provider") {
        return;
    }
    let (gate, settings, provider, _stand_in) = service("http-oidc-tokens");
    let tab = Tab::begin(&gate);
    assert_eq!(tab.parameter("code_challenge_method"), "S256");
    assert_eq!(tab.parameter("response_type"), "code");
    assert_eq!(tab.parameter("scope"), "openid+profile");
    let answer = tab.log_in_as(&gate, &provider, &tab.claims(&provider));
    assert_eq!(answer.status, 200, "{answer:?} {}", gate.said());
    let session = answer.json()["session"].as_str().expect("text").to_owned();
    assert_eq!(gate.get(&session, "/api/v1/me").json()["user"], "u60001");
    let now = tab.claims(&provider)["iat"].as_u64().expect("a number");
    let wrong: [(&str, Value); 14] = [
        ("another nonce", json!({"nonce": "x"})),
        ("no nonce", json!({"nonce": null})),
        ("another audience", json!({"aud": "another"})),
        ("no audience", json!({"aud": null})),
        (
            "two audiences",
            json!({"aud": [CLIENT.0, "another"], "azp": CLIENT.0}),
        ),
        ("for another party", json!({"azp": "another"})),
        ("another issuer", json!({"iss": "https://evil.example"})),
        ("no issuer", json!({"iss": null})),
        ("expired", json!({"exp": now - 1})),
        ("no end", json!({"exp": null})),
        ("made long ago", json!({"iat": now - 3600})),
        ("made later", json!({"iat": now + 3600})),
        ("no user", json!({"sub": null})),
        ("a user that is no text", json!({"sub": ["s-1"]})),
    ];
    for (name, changes) in &wrong {
        let tab = Tab::begin(&gate);
        let claims = changed(tab.claims(&provider), changes);
        let answer = tab.log_in_as(&gate, &provider, &claims);
        assert_eq!(answer.status, 403, "{name}: {answer:?}");
    }
    let record = std::fs::read_to_string(settings.join("record")).expect("our own");
    let granted = record
        .lines()
        .filter(|line| line.contains("\"granted\":true"));
    assert_eq!(granted.count(), 1, "{record}");
}

/// Makes a token with these claims.
type Forge = fn(&Key, &Value) -> String;

#[test]
fn signatures_of_others_begin_no_session() {
    if cannot("signatures of a hostile provider") {
        return;
    }
    let (gate, _settings, provider, _stand_in) = service("http-oidc-signatures");
    let forge: [(&str, Forge); 8] = [
        ("none", |_, claims| {
            format!("{}.", unsigned(&json!({"alg": "none"}), claims))
        }),
        ("None", |key, claims| {
            format!(
                "{}.",
                unsigned(&json!({"alg": "None", "kid": key.id}), claims)
            )
        }),
        ("the public key as a secret", Key::sign_with_public_key),
        ("the client's secret", |key, claims| {
            shared(CLIENT.1.as_bytes(), &key.id, claims)
        }),
        ("another key with this id", |key, claims| {
            Key::new(&key.id).sign(claims)
        }),
        ("another key", |_, claims| Key::new("foreign").sign(claims)),
        ("other claims", |key, claims| {
            let other = changed(claims.clone(), &json!({"sub": "s-2"}));
            let signed = key.sign(&other);
            let mut parts: Vec<&str> = signed.split('.').collect();
            let own = base64url(claims.to_string().as_bytes());
            parts[1] = &own;
            parts.join(".")
        }),
        ("no token", |_, _| "x".to_owned()),
    ];
    for (name, forge) in forge {
        let tab = Tab::begin(&gate);
        let token = forge(&provider.state().key, &tab.claims(&provider));
        let code = tab.code(&provider, Answer::Token(token));
        let answer = tab.finish(&gate, &code);
        assert_eq!(answer.status, 403, "{name}: {answer:?}");
    }
    // A new key of the provider is found, and unknown keys make few requests.
    provider.state().key = Key::new("two");
    let tab = Tab::begin(&gate);
    let answer = tab.log_in_as(&gate, &provider, &tab.claims(&provider));
    assert_eq!(answer.status, 200, "{answer:?} {}", gate.said());
    for _ in 0..20 {
        let tab = Tab::begin(&gate);
        let token = Key::new("foreign").sign(&tab.claims(&provider));
        let code = tab.code(&provider, Answer::Token(token));
        assert!(matches!(tab.finish(&gate, &code).status, 403 | 503));
    }
    let most = trawl_http::gate::openid::provider::FETCHES_A_MINUTE;
    // The test may take longer than a minute.
    assert!(
        provider.count("/keys") <= 3 * most,
        "{}",
        provider.count("/keys")
    );
    let tab = Tab::begin(&gate);
    let answer = tab.log_in_as(&gate, &provider, &tab.claims(&provider));
    assert_eq!(answer.status, 200, "known keys hold: {answer:?}");
}

#[test]
fn a_login_ends_once_and_where_it_began() {
    if cannot("logins of other browsers") {
        return;
    }
    let (gate, _settings, provider, _stand_in) = service("http-oidc-tabs");
    let (own, other) = (Tab::begin(&gate), Tab::begin(&gate));
    for name in ["state", "nonce", "code_challenge"] {
        assert_ne!(own.parameter(name), other.parameter(name), "{name}");
    }
    let token = provider.state().key.sign(&own.claims(&provider));
    let code = own.code(&provider, Answer::Token(token));
    let state = own.parameter("state");
    // Whoever has only the address that the browser is sent to, or a tab of their own.
    for secret in ["", &other.secret, own.parameter("code_challenge")] {
        assert_eq!(finish(&gate, &code, state, secret).status, 403);
    }
    for state in ["", other.parameter("state"), "x"] {
        assert_eq!(finish(&gate, &code, state, &own.secret).status, 403);
    }
    let body = json!({"oidc": {"code": code, "state": state, "secret": own.secret,
                               "issuer": "https://evil.example"}});
    assert_eq!(provider.count("/token"), 0, "a code has left this machine");
    assert_eq!(finish(&gate, &code, state, &own.secret).status, 200);
    // Replayed: the provider is not even asked.
    assert_eq!(finish(&gate, &code, state, &own.secret).status, 403);
    assert_eq!(provider.count("/token"), 1);
    // A code of the other login: its verifier is another one.
    let token = provider.state().key.sign(&other.claims(&provider));
    let code = other.code(&provider, Answer::Token(token));
    let third = Tab::begin(&gate);
    assert_eq!(third.finish(&gate, &code).status, 403);
    let words = ["--json", &body.to_string()];
    assert_eq!(gate.proxied("/api/v1/session", &words).status, 403);
    // Another provider has sent the browser back.
    let mixed = Tab::begin(&gate);
    let body = json!({"oidc": {"code": "x", "state": mixed.parameter("state"),
                               "secret": mixed.secret, "issuer": "https://evil.example"}});
    let words = ["--json", &body.to_string()];
    assert_eq!(gate.proxied("/api/v1/session", &words).status, 403);
    assert_eq!(
        provider.count("/token"),
        2,
        "the code went to the wrong provider"
    );
}

#[test]
fn answers_are_bounded_and_nobody_is_sent_elsewhere() {
    if cannot("answers of a hostile provider") {
        return;
    }
    let (gate, _settings, provider, _stand_in) = service("http-oidc-answers");
    let elsewhere = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nLocation: {}/elsewhere\r\nContent-Length: 0\r\n\r\n",
        provider.issuer
    );
    let long = format!("{{\"access_token\":\"{}\"}}", "x".repeat(300 << 10));
    let answers = [
        ("long", Answer::Bytes(response("200 OK", long.as_bytes()))),
        ("elsewhere", Answer::Bytes(elsewhere.into_bytes())),
        (
            "broken",
            Answer::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{".to_vec()),
        ),
        ("silence", Answer::Silence),
    ];
    for (name, answer) in answers {
        let tab = Tab::begin(&gate);
        let code = tab.code(&provider, answer);
        let answer = tab.finish(&gate, &code);
        assert!(matches!(answer.status, 403 | 503), "{name}: {answer:?}");
    }
    assert_eq!(provider.count("/elsewhere"), 0);
    // The page at which the browser comes back sends nobody on, and other sites begin nothing.
    let back = "/login/oidc?code=x&state=y&to=https://evil.example&redirect=//evil.example";
    let none: [&str; 0] = [];
    let answer = gate.curl(back, &none);
    assert_eq!((answer.status, answer.header("location").len()), (200, 0));
    assert_eq!(answer.header("set-cookie").len(), 0);
    let policy = answer.header("content-security-policy").concat();
    assert!(policy.contains("form-action 'none'") && policy.contains("connect-src 'self'"));
    let body = json!({"hash": "x".repeat(43)}).to_string();
    let words = ["--json", &body, "--header", "Origin: https://evil.example"];
    assert_eq!(gate.curl("/api/v1/login", &words).status, 403);
    for hash in ["", "x", &"x".repeat(44), &"é".repeat(43)] {
        let body = json!({"hash": hash}).to_string();
        assert_eq!(
            gate.curl("/api/v1/login", &["--json", &body]).status,
            403,
            "{hash}"
        );
    }
    let ways = gate.curl("/api/v1/login", &none).json();
    assert_eq!(ways["provider"], "The Company");
    assert_eq!(ways["ways"][0], "oidc");
}

#[test]
fn a_provider_that_describes_itself_wrongly_is_not_asked() {
    if cannot("descriptions of a hostile provider") {
        return;
    }
    let stand_in = StandIn::new("http-oidc-described", "echo '{}'");
    let provider = Provider::start();
    let settings = Settings::with(&stand_in);
    let settings = with_provider(settings, &provider.issuer, REDIRECT, "");
    let body = json!({"hash": "x".repeat(43)}).to_string();
    let wrong = [
        json!({"issuer": "https://evil.example"}),
        json!({"authorization_endpoint": "http://evil.example/auth"}),
        json!({"authorization_endpoint": "javascript:alert(1)"}),
        json!({"jwks_uri": "http://evil.example/keys"}),
        json!({"jwks_uri": "file:///etc/passwd"}),
    ];
    for described in wrong {
        provider.state().described = described.clone();
        let gate = settings.start();
        let answer = gate.proxied("/api/v1/login", &["--json", &body]);
        assert_eq!(answer.status, 503, "{described}: {answer:?}");
        crate::client::wait_until("the administrator is told nothing", || {
            gate.said().contains("OpenID Connect")
        });
        gate.end();
    }
}

#[test]
fn the_process_that_speaks_with_the_provider_has_no_rights() {
    if cannot("the process that speaks with a provider") {
        return;
    }
    let (gate, settings, _provider, _stand_in) = service("http-oidc-process");
    assert!(
        gate.those("--openid").is_empty(),
        "it starts when it is needed"
    );
    let _tab = Tab::begin(&gate);
    let [number] = gate.those("--openid")[..] else {
        panic!("{:?}", gate.processes());
    };
    let status = std::fs::read_to_string(format!("/proc/{number}/status")).expect("it runs");
    let line = |name: &str| {
        let found = status.lines().find_map(|line| line.strip_prefix(name));
        let words = found.unwrap_or_default().split_whitespace();
        words.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(line("Uid:"), ["59999"; 4]);
    assert_eq!(line("Gid:"), ["59999"; 4]);
    assert!(
        line("Groups:").iter().all(|group| group == "59999"),
        "{status}"
    );
    assert_eq!(line("NoNewPrivs:"), ["1"]);
    // Processes of its user can neither trace it nor read its memory.
    let owner = std::fs::metadata(format!("/proc/{number}/mem")).expect("it runs");
    assert_eq!(std::os::unix::fs::MetadataExt::uid(&owner), 0);
    let words = std::fs::read(format!("/proc/{number}/cmdline")).expect("it runs");
    let text = String::from_utf8_lossy(&words).into_owned();
    assert!(!text.contains(CLIENT.1), "{text}");
    gate.end();
    // A file that others may read is refused, with what to do.
    let path = settings.join("oidc");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(&path, mode).expect("our own");
    let said = settings.refused();
    assert!(
        said.contains(&format!("chmod 600 {}", path.display())),
        "{said}"
    );
}
