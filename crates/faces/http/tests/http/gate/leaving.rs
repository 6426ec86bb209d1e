//! Clients that leave, and questions at the same time.

use std::process::{Child, Stdio};

use serde_json::json;
use trawl_testkit::oracle;
use trawl_testkit::process::is_alive;
use trawl_testkit::site::StandIn;

use super::{Gate, Settings, bearer, cannot};
use crate::client::wait_until;

/// Starts curl, which asks a question and prints the status of its answer.
fn client(gate: &Gate, settings: &Settings, query: &str, words: &[&str]) -> Child {
    let mut command = oracle::command("curl");
    command.args(["--silent", "--output", "/dev/null"]);
    command.args(["--write-out", "%{http_code}", "--cacert"]);
    command.arg(settings.join("ca.pem")).args(words);
    command.arg(format!(
        "https://{}/api/v1/find?paths=/{query}",
        gate.address
    ));
    let started = command.stdout(Stdio::piped()).spawn();
    started.expect("curl starts")
}

#[test]
fn a_client_of_the_service_that_leaves_ends_its_question() {
    if cannot("clients of the service that leave") {
        return;
    }
    let stand_in = StandIn::new("http-gate-leave", "echo '{\"n\":1}'; exec sleep 1000");
    let settings = Settings::with(&stand_in);
    let gate = settings.start();
    let token = bearer(&settings.whole_token("u60001"));
    for version in ["--http1.1", "--http2"] {
        for format in ["json", "jsonl"] {
            let query = format!("&format={format}");
            let mut client = client(&gate, &settings, &query, &[version, "--header", &token]);
            let sleeps = |gate: &Gate| gate.those("1000").len();
            wait_until("no question runs", || sleeps(&gate) == 1);
            client.kill().expect("it runs");
            client.wait().expect("it ends");
            wait_until("the question runs on", || sleeps(&gate) == 0);
        }
    }
    let outcomes: Vec<_> = gate
        .record(4)
        .iter()
        .map(|line| line["outcome"].clone())
        .collect();
    assert_eq!(outcomes, vec![json!("cancelled"); 4]);
}

#[test]
fn a_user_asks_so_much_at_a_time() {
    if cannot("questions of one user at a time") {
        return;
    }
    let stand_in = StandIn::new("http-gate-many", "exec sleep 1000");
    let settings = Settings::with(&stand_in);
    let gate = settings.start();
    let token = bearer(&settings.whole_token("u60001"));
    let start = |_| client(&gate, &settings, "", &["--header", &token]);
    let clients: Vec<Child> = (0..40).map(start).collect();
    wait_until("no question is refused", || gate.record(0).len() >= 8);
    let refused = gate.record(8);
    assert!(
        refused.iter().all(|line| line["status"] == 429),
        "{refused:?}"
    );
    // Others are not held up.
    let other = settings.whole_token("u60002");
    assert_eq!(gate.get(&other, "/api/v1/me").status, 200);
    for mut client in clients {
        client.kill().expect("our own");
        client.wait().expect("it ends");
    }
    wait_until("questions run on", || gate.those("1000").is_empty());
}

#[test]
fn a_desk_that_is_killed_ends_its_questions() {
    if cannot("desks that are killed") {
        return;
    }
    let stand_in = StandIn::new("http-gate-kill", "exec sleep 1000");
    let settings = Settings::with(&stand_in);
    let gate = settings.start();
    let token = bearer(&settings.whole_token("u60001"));
    let client = client(&gate, &settings, "", &["--header", &token]);
    wait_until("no question runs", || gate.those("1000").len() == 1);
    let sleep = gate.those("1000");
    for desk in gate.those("--desk") {
        let mut kill = oracle::command("kill");
        oracle::run(kill.args(["-KILL", &desk.to_string()])).expect_code(0);
    }
    wait_until("the question runs on", || {
        !sleep.iter().any(|one| is_alive(*one))
    });
    let told = client.wait_with_output().expect("it ends");
    assert_eq!(told.stdout, b"502", "{told:?}");
}

#[test]
fn the_end_of_the_service_ends_its_questions() {
    if cannot("the end of the service") {
        return;
    }
    let stand_in = StandIn::new("http-gate-end", "exec sleep 1000");
    let settings = Settings::with(&stand_in);
    let gate = settings.start();
    let token = bearer(&settings.whole_token("u60001"));
    let mut client = client(&gate, &settings, "", &["--header", &token]);
    wait_until("no question runs", || gate.those("1000").len() == 1);
    let sleep = gate.those("1000");
    gate.end();
    wait_until("the question runs on", || {
        !sleep.iter().any(|one| is_alive(*one))
    });
    assert_ne!(client.wait().expect("it ends").code(), Some(0));
}

#[test]
fn slow_clients_are_not_waited_for() {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    if cannot("slow clients of the service") {
        return;
    }
    let stand_in = StandIn::new("http-gate-slow", "echo '{}'");
    let settings = Settings::with(&stand_in);
    let gate = settings.start();
    let address = gate.address.replace("localhost", "127.0.0.1");
    // Clients that say nothing, half a greeting, or nonsense.
    let silent: Vec<TcpStream> = [&b""[..], b"\x16\x03\x01", b"GET / HTTP/1.1\r\n\r\n"]
        .iter()
        .map(|bytes| {
            let mut stream = TcpStream::connect(&address).expect("it listens");
            stream.write_all(bytes).expect("it listens");
            stream
        })
        .collect();
    let token = settings.whole_token("u60001");
    assert_eq!(gate.get(&token, "/api/v1/me").status, 200);
    for mut stream in silent {
        let limit = Some(std::time::Duration::from_secs(120));
        stream.set_read_timeout(limit).expect("a socket");
        let mut rest = Vec::new();
        // The connection is closed, with an alert of TLS or without.
        if let Err(error) = stream.read_to_end(&mut rest) {
            assert_ne!(
                error.kind(),
                std::io::ErrorKind::WouldBlock,
                "it stays open"
            );
        }
    }
}
