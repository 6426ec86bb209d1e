//! From what a provider says to users of this machine.

use serde_json::{Value, json};
use trawl_testkit::site::StandIn;

use super::provider::Provider;
use super::{Tab, changed, with_provider};
use crate::gate::{Gate, Settings, cannot};

const REDIRECT: &str = "https://files.example.org/login/oidc";

/// Logs in with these claims; returns the session, or the status and what was said.
#[track_caller]
fn log_in(gate: &Gate, provider: &Provider, changes: &Value) -> Result<String, (u16, String)> {
    let tab = Tab::begin(gate);
    let answer = tab.log_in_as(gate, provider, &changed(tab.claims(provider), changes));
    let json = answer.json();
    let text = |name: &str| json[name].as_str().unwrap_or_default().to_owned();
    match answer.status {
        200 => Ok(text("session")),
        status => Err((status, text("detail"))),
    }
}

#[test]
fn rules_say_which_user_somebody_is() {
    if cannot("rules for users of a provider") {
        return;
    }
    let stand_in = StandIn::new("http-oidc-rules", "echo '{}'");
    let provider = Provider::start();
    let issuer = &provider.issuer;
    let rules = format!(
        "oidc:{issuer}#chief = root\n\
         oidc:{issuer}#front = front\n\
         oidc:{issuer}#nobody = no-such-user\n\
         oidc:{issuer}#s-1 = u60001\n\
         oidc:{issuer}#email=b@example.org = u60002\n\
         oidc:{issuer}#https://x.example/unix=u4 = u60004\n\
         oidc:https://other.example#s-9 = u60005\n\
         cn:s-8 = u60005\n"
    );
    let settings = with_provider(Settings::with(&stand_in), issuer, REDIRECT, &rules);
    let gate = settings.start();
    let is_user = |changes: &Value, user: &str| {
        let session = log_in(&gate, &provider, changes).expect("it begins");
        assert_eq!(gate.get(&session, "/api/v1/me").json()["user"], *user);
        session
    };
    let own = is_user(&json!({}), "u60001");
    let by_mail = json!({"sub": "x", "email": "b@example.org", "email_verified": true});
    let mail = is_user(&by_mail, "u60002");
    is_user(
        &json!({"sub": "x", "https://x.example/unix": "u4"}),
        "u60004",
    );
    let (_, why) = log_in(&gate, &provider, &json!({"sub": "new"})).expect_err("no rule");
    let line = format!(
        "oidc:{issuer}#sub=new=USER in {}",
        settings.join("users").display()
    );
    assert!(why.contains(&line), "{why}");
    let record = std::fs::read_to_string(settings.join("record")).expect("our own");
    let last = record.lines().last().expect("a line");
    assert!(
        last.contains("\"by\":\"oidc\"") && last.contains("#sub=new=USER"),
        "{last}"
    );
    let refused = [
        json!({"sub": "chief"}),
        json!({"sub": "front"}),
        json!({"sub": "nobody"}),
        // Rules of another provider, and of certificates.
        json!({"sub": "s-9"}),
        json!({"sub": "s-8"}),
        // No rule names these claims.
        json!({"sub": "x", "preferred_username": "s-1"}),
        json!({"sub": "x", "name": "u60001"}),
        // The provider has not checked the address.
        json!({"sub": "x", "email": "b@example.org"}),
        json!({"sub": "x", "email": "b@example.org", "email_verified": false}),
        json!({"sub": "x", "email": "b@example.org", "email_verified": "true"}),
        json!({"sub": "x", "email": "B@example.org", "email_verified": true}),
        // Claims that are no plain text.
        json!({"sub": "x", "https://x.example/unix": ["u4"]}),
        json!({"sub": "x", "https://x.example/unix": " u4"}),
        json!({"sub": "s-1\n"}),
        json!({"sub": "s".repeat(10_000)}),
    ];
    for changes in &refused {
        let (status, why) = log_in(&gate, &provider, changes).expect_err("it is refused");
        assert_eq!(status, 403, "{changes}: {why}");
    }
    ends_with_the_rule(&settings, gate, [own, mail], &rules);
}

/// Sessions survive a restart, and end with their line.
fn ends_with_the_rule(settings: &Settings, gate: Gate, sessions: [String; 2], rules: &str) {
    gate.end();
    let gate = settings.start();
    let status = |session: &String| gate.get(session, "/api/v1/me").status;
    let [own, mail] = &sessions;
    assert_eq!((status(own), status(mail)), (200, 200));
    let lines = rules.lines().filter(|line| !line.contains("#s-1"));
    let fewer: Vec<&str> = lines.collect();
    std::fs::write(settings.join("users"), fewer.join("\n")).expect("our own");
    assert_eq!((status(own), status(mail)), (401, 200));
    // The line comes back, and the session does not.
    std::fs::write(settings.join("users"), rules).expect("our own");
    assert_eq!((status(own), status(mail)), (401, 200));
    // Now the line names somebody else.
    std::fs::write(settings.join("users"), rules.replace("u60002", "u60006")).expect("our own");
    assert_eq!(status(mail), 401);
}

#[test]
fn guesses_have_to_wait_and_the_sessions_show_how_they_began() {
    if cannot("guesses at a provider's codes") {
        return;
    }
    let stand_in = StandIn::new("http-oidc-guesses", "echo '{}'");
    let provider = Provider::start();
    let rules = format!("oidc:{}#s-1 = u60001\n", provider.issuer);
    let settings = with_provider(
        Settings::with(&stand_in),
        &provider.issuer,
        REDIRECT,
        &rules,
    );
    let gate = settings.start();
    log_in(&gate, &provider, &json!({})).expect("it begins");
    let now = std::time::SystemTime::now();
    let grants = settings.credentials().list(now).expect("a list");
    assert_eq!(grants[0].note, format!("oidc:{}#sub=s-1", provider.issuer));
    let guess = || gate.log_in(&json!({"oidc": {"code": "x", "state": "y", "secret": "z"}}));
    let waits = (0..20).map(|_| guess()).find(|answer| answer.status == 429);
    assert!(waits.is_some(), "at some time it has to wait");
}
