//! The clients for Python and TypeScript at the service for many users: tokens, passwords, sessions.

use serde_json::json;
use trawl_testkit::Skip;
use trawl_testkit::site::StandIn;

use super::passwords::with_passwords;
use super::{Settings, cannot};
use crate::clients::{node, python, steps};

#[test]
fn clients_log_in_by_tokens_and_passwords() {
    let test = "clients of the service";
    if cannot(test) {
        return;
    }
    let stand_in = StandIn::new("http-gate-clients", "echo '{}'");
    let settings = with_passwords(Settings::with(&stand_in));
    let gate = settings.start();
    let token = settings.token("u60001", "names");
    let base = format!("https://{}", gate.address);
    let authority = settings.join("ca.pem");
    let arguments = [&base[..], authority.to_str().expect("text"), &token];
    for (client, script) in [(python(), "service.py"), (node(), "service.mjs")] {
        let mut client = match client {
            Ok(client) => client,
            Err(skip) => {
                skip.say();
                continue;
            }
        };
        client.env("NODE_EXTRA_CA_CERTS", &authority);
        let mut found = steps(client, script, &arguments).remove(0);
        if found["wrong"] == 503 {
            Skip::new(test, "passwords cannot be checked here").say();
            found["wrong"] = json!(403);
            found["R1ght"] = json!("u60001");
        }
        let expected = json!({
            "token": "u60001", "scope": 403, "ways": ["password", "token", "certificate"], "session": "u60001",
            "wrong": 403, "R1ght": "u60001",
        });
        assert_eq!(found, expected, "{script}: {}", gate.said());
    }
}
