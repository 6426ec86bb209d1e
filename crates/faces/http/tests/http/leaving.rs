//! Clients that leave, and the end of the server: nothing that it started lives on.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::json;
use trawl_testkit::oracle::Identity;
use trawl_testkit::process::is_alive;
use trawl_testkit::site::{Site, StandIn};

use crate::client::{SERVER, Server, wait_until};

fn connection(server: &Server, query: &str) -> TcpStream {
    let mut stream = TcpStream::connect(&server.address).expect("it listens");
    let request = format!(
        "GET /api/v1/find?paths=/{query} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
        server.address, server.session
    );
    stream.write_all(request.as_bytes()).expect("it listens");
    stream
}

#[test]
fn a_client_that_leaves_ends_its_question() {
    let stand_in = StandIn::new("http-leave", "sleep 1000");
    let server = Server::with(&stand_in, &[]);
    for query in ["", "&format=jsonl"] {
        let stream = connection(&server, query);
        server.wait_for_a_command();
        drop(stream);
        server.wait_for_silence();
    }
    let text = String::from_utf8(server.curl("/metrics", &[]).body).expect("text");
    let line = "trawl_web_questions_total{question=\"find\",outcome=\"cancelled\"}";
    assert!(text.lines().any(|known| known.starts_with(line)), "{text}");
}

#[test]
fn a_client_that_leaves_in_the_middle_of_a_download_ends_it() {
    let stand_in = StandIn::new("http-middle", "echo '{\"n\":1}'; sleep 1000");
    let server = Server::with(&stand_in, &[]);
    let mut stream = connection(&server, "&format=jsonl");
    let mut first = [0; 16];
    stream.read_exact(&mut first).expect("it has begun");
    server.wait_for_a_command();
    drop(stream);
    server.wait_for_silence();
}

/// A client that does not read on makes the command wait, and not the server grow.
#[test]
fn a_download_that_nobody_reads_waits() {
    let stand_in = StandIn::new(
        "http-unread",
        "while :; do echo '{\"n\":1}'; echo x >> written; done",
    );
    let server = Server::with(&stand_in, &[]);
    let stream = connection(&server, "&format=jsonl");
    let written =
        || std::fs::metadata(stand_in.scratch.join("written")).map_or(0, |meta| meta.len());
    let mut before = None;
    loop {
        std::thread::sleep(std::time::Duration::from_millis(500));
        let now = written();
        if now > 0 && before == Some(now) {
            break;
        }
        before = Some(now);
    }
    assert_eq!(server.curl("/healthz", &[]).status, 200);
    drop(stream);
    server.wait_for_silence();
}

#[test]
fn an_answer_that_is_no_longer_wanted_is_dropped() {
    let Some(site) = Site::wide("http-drop", SERVER) else {
        return;
    };
    let server = Server::of(&site, &Identity::Ourselves);
    let page = server
        .post("find", &json!({"paths": [site.text("")], "limit": 1}))
        .json();
    let cursor = page["cursor"].as_str().expect("there is more");
    assert_eq!(
        server.commands().len(),
        1,
        "it waits for somebody to read on"
    );
    let path = format!("/api/v1/more?cursor={cursor}");
    assert_eq!(server.curl(&path, &["--request", "DELETE"]).status, 204);
    server.wait_for_silence();
    assert_eq!(server.curl(&path, &["--request", "DELETE"]).status, 409);
    assert_eq!(server.curl(&path, &[]).status, 409);
}

#[test]
fn a_signal_ends_the_server_and_what_it_started() {
    let stand_in = StandIn::new("http-signal", "sleep 1000");
    let server = Server::with(&stand_in, &[]);
    let _stream = connection(&server, "");
    server.wait_for_a_command();
    let commands = server.commands();
    let (rest, code) = server.end();
    assert_eq!((rest.as_str(), code), ("", Some(0)));
    for number in commands {
        wait_until("a command lives on", || !is_alive(number));
    }
}
