//! A provider of OpenID Connect that does what a test tells it to.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};

use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use ring::{hmac, rand};
use serde_json::{Value, json};

/// The client's name and secret, and both as the client sends them.
pub(super) const CLIENT: (&str, &str) = ("trawl", "a-secret");
const BASIC: &str = "Basic dHJhd2w6YS1zZWNyZXQ=";

/// Returns bytes in base64url, without padding (RFC 4648).
pub(super) fn base64url(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let digit = |bits: u32| char::from(DIGITS[(bits & 63) as usize]);
    let mut text = String::new();
    for part in bytes.chunks(3) {
        let byte = |at: usize| u32::from(part.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        let digits = [bits >> 18, bits >> 12, bits >> 6, bits].map(digit);
        text.extend(&digits[..=part.len()]);
    }
    text
}

pub(super) fn sha256(text: &str) -> String {
    base64url(digest(&SHA256, text.as_bytes()).as_ref())
}

/// A key that signs tokens, with its id.
pub(super) struct Key {
    pub(super) id: String,
    pair: EcdsaKeyPair,
}

impl Key {
    pub(super) fn new(id: &str) -> Key {
        let random = SystemRandom::new();
        let way = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let bytes = EcdsaKeyPair::generate_pkcs8(way, &random).expect("a key");
        Key {
            id: id.to_owned(),
            pair: EcdsaKeyPair::from_pkcs8(way, bytes.as_ref(), &random).expect("our own"),
        }
    }

    fn described(&self) -> Value {
        let point = self.pair.public_key().as_ref();
        json!({"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": self.id,
               "x": base64url(&point[1..33]), "y": base64url(&point[33..])})
    }

    /// Signs claims as ES256.
    pub(super) fn sign(&self, claims: &Value) -> String {
        let head = json!({"alg": "ES256", "typ": "JWT", "kid": self.id});
        let text = unsigned(&head, claims);
        let random = SystemRandom::new();
        let signature = self.pair.sign(&random, text.as_bytes()).expect("signed");
        format!("{text}.{}", base64url(signature.as_ref()))
    }

    /// Signs claims as HS256, with the public key as the secret.
    pub(super) fn sign_with_public_key(&self, claims: &Value) -> String {
        shared(self.pair.public_key().as_ref(), &self.id, claims)
    }
}

/// Signs claims as HS256.
pub(super) fn shared(secret: &[u8], id: &str, claims: &Value) -> String {
    let text = unsigned(&json!({"alg": "HS256", "typ": "JWT", "kid": id}), claims);
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    let signature = hmac::sign(&key, text.as_bytes());
    format!("{text}.{}", base64url(signature.as_ref()))
}

pub(super) fn unsigned(head: &Value, claims: &Value) -> String {
    let part = |value: &Value| base64url(value.to_string().as_bytes());
    format!("{}.{}", part(head), part(claims))
}

/// Returns 43 random digits.
pub(super) fn secret() -> String {
    let bytes: rand::Random<[u8; 32]> = rand::generate(&SystemRandom::new()).expect("random");
    base64url(&bytes.expose())
}

/// How the provider answers for a code.
pub(super) enum Answer {
    /// With this ID token.
    Token(String),
    /// With these bytes of HTTP.
    Bytes(Vec<u8>),
    /// Not at all; the connection stays open.
    Silence,
}

/// What the provider is told, and what it has seen.
pub(super) struct State {
    pub(super) key: Key,
    /// Members of its description that are other than they should be.
    pub(super) described: Value,
    /// How it answers for codes: the challenge of the login, and the answer.
    pub(super) codes: HashMap<String, (String, Answer)>,
    /// Paths of requests.
    pub(super) seen: Vec<String>,
    silent: Vec<TcpStream>,
}

pub(super) struct Provider {
    pub(super) issuer: String,
    state: Arc<Mutex<State>>,
}

impl Provider {
    pub(super) fn start() -> Provider {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let issuer = format!("http://{}", listener.local_addr().expect("an address"));
        let state = Arc::new(Mutex::new(State {
            key: Key::new("one"),
            described: json!({}),
            codes: HashMap::new(),
            seen: Vec::new(),
            silent: Vec::new(),
        }));
        let (own, shared) = (issuer.clone(), Arc::clone(&state));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (own, shared) = (own.clone(), Arc::clone(&shared));
                std::thread::spawn(move || answer(stream, &own, &shared));
            }
        });
        Provider { issuer, state }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic")
    }

    /// Returns how often a path was asked for.
    pub(super) fn count(&self, path: &str) -> usize {
        self.state()
            .seen
            .iter()
            .filter(|seen| *seen == path)
            .count()
    }
}

/// Answers one request.
fn answer(mut stream: TcpStream, issuer: &str, state: &Mutex<State>) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?);
    let mut first = String::new();
    lines.read_line(&mut first).ok()?;
    let path = first.split(' ').nth(1)?.to_owned();
    let (mut length, mut is_client) = (0, false);
    loop {
        let mut line = String::new();
        lines.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().ok()?,
            "authorization" => is_client = value == BASIC,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    lines.read_exact(&mut body).ok()?;
    let body = String::from_utf8(body).ok()?;
    let mut state = state.lock().ok()?;
    state.seen.push(path.clone());
    let value = match path.as_str() {
        "/.well-known/openid-configuration" => described(issuer, &state.described),
        "/keys" => json!({"keys": [state.key.described()]}),
        "/token" => {
            let of = |name: &str| {
                let mut fields = body.split('&').filter_map(|field| field.split_once('='));
                fields.find(|field| field.0 == name).map(|field| field.1)
            };
            // A code holds once, and only for whoever began the login.
            let found = of("code").and_then(|code| state.codes.remove(code));
            let verifier = of("code_verifier").unwrap_or_default();
            match found.filter(|found| is_client && sha256(verifier) == found.0) {
                Some((_, Answer::Token(token))) => {
                    json!({"access_token": "x", "token_type": "Bearer", "id_token": token})
                }
                Some((_, Answer::Bytes(bytes))) => {
                    drop(state);
                    return stream.write_all(&bytes).ok();
                }
                Some((_, Answer::Silence)) => {
                    state.silent.push(stream);
                    return None;
                }
                None => {
                    let error = br#"{"error":"invalid_grant"}"#;
                    return stream.write_all(&response("400 Bad Request", error)).ok();
                }
            }
        }
        _ => json!({}),
    };
    stream
        .write_all(&response("200 OK", value.to_string().as_bytes()))
        .ok()
}

/// Returns an answer of HTTP.
pub(super) fn response(status: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn described(issuer: &str, changes: &Value) -> Value {
    let mut all = json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/auth"),
        "token_endpoint": format!("{issuer}/token"),
        "jwks_uri": format!("{issuer}/keys"),
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256", "HS256", "none"],
    });
    for (name, value) in changes.as_object().expect("an object") {
        all[name] = value.clone();
    }
    all
}
