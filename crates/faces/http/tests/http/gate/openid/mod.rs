//! OpenID Connect: a provider that attacks, and a real one.

mod attacks;
mod provider;
mod real;
mod rules;

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::{Gate, Settings};
use crate::client::Answer as Response;
use provider::{Answer, CLIENT, Provider, secret, sha256};

/// Writes the file that names the provider, and the rules.
fn with_provider(settings: Settings, issuer: &str, redirect: &str, rules: &str) -> Settings {
    let path = settings.join("oidc");
    let (id, secret) = CLIENT;
    let text = format!(
        "issuer = {issuer}\nclient_id = {id}\nclient_secret = {secret}\nredirect = {redirect}\n\
         name = The Company\nscopes = profile\n"
    );
    std::fs::write(&path, text).expect("our own");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&path, mode).expect("our own");
    std::fs::write(settings.join("users"), rules).expect("our own");
    settings.word(format!("--oidc={}", path.display()))
}

/// A tab of a browser in which a login has begun.
struct Tab {
    secret: String,
    /// The address of the provider, with what the browser brings there.
    address: String,
}

impl Tab {
    /// Begins a login. Over the socket for proxies, attempts of one address need not wait.
    #[track_caller]
    fn begin(gate: &Gate) -> Tab {
        let secret = secret();
        let body = json!({"hash": sha256(&secret)}).to_string();
        let answer = gate.proxied("/api/v1/login", &["--json", &body]);
        assert_eq!(answer.status, 200, "{answer:?} {}", gate.said());
        let address = answer.json()["address"].as_str().expect("text").to_owned();
        Tab { secret, address }
    }

    /// Returns a parameter of the address; ours need no decoding.
    #[track_caller]
    fn parameter(&self, name: &str) -> &str {
        let (_, query) = self.address.split_once('?').expect("a query");
        let mut fields = query.split('&').filter_map(|field| field.split_once('='));
        let found = fields.find(|field| field.0 == name);
        found
            .unwrap_or_else(|| panic!("no {name}: {}", self.address))
            .1
    }

    /// Returns what a good token says.
    fn claims(&self, provider: &Provider) -> Value {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.expect("after 1970").as_secs();
        json!({"iss": provider.issuer, "sub": "s-1", "aud": CLIENT.0, "iat": now,
               "exp": now + 300, "nonce": self.parameter("nonce")})
    }

    /// Has the provider answer for a code, and returns the code.
    fn code(&self, provider: &Provider, answer: Answer) -> String {
        let code = secret();
        let challenge = self.parameter("code_challenge").to_owned();
        let mut state = provider.state();
        state.codes.insert(code.clone(), (challenge, answer));
        code
    }

    /// Has the provider answer with a token for these claims, and ends the login.
    #[track_caller]
    fn log_in_as(&self, gate: &Gate, provider: &Provider, claims: &Value) -> Response {
        let token = provider.state().key.sign(claims);
        self.finish(gate, &self.code(provider, Answer::Token(token)))
    }

    /// Ends the login with a code.
    #[track_caller]
    fn finish(&self, gate: &Gate, code: &str) -> Response {
        finish(gate, code, self.parameter("state"), &self.secret)
    }
}

#[track_caller]
fn finish(gate: &Gate, code: &str, state: &str, secret: &str) -> Response {
    let body = json!({"oidc": {"code": code, "state": state, "secret": secret}});
    gate.proxied("/api/v1/session", &["--json", &body.to_string()])
}

/// Returns claims with some of them changed; null removes one.
fn changed(mut claims: Value, changes: &Value) -> Value {
    let all = claims.as_object_mut().expect("an object");
    for (name, value) in changes.as_object().expect("an object") {
        match value {
            Value::Null => drop(all.remove(name)),
            value => drop(all.insert(name.clone(), value.clone())),
        }
    }
    claims
}
