//! Many connections that stay open: more than a process has descriptors at first.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use trawl_testkit::site::StandIn;

use super::{Settings, cannot};

/// Longer than an answer takes.
const LONG: Duration = Duration::from_secs(60);
/// Longer than the service waits for the head of a stranger's request.
const BETWEEN: Duration = Duration::from_secs(12);

/// Asks on a connection that stays open, and returns the first line of the answer.
fn ask(connection: &mut BufReader<UnixStream>) -> String {
    let request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    connection.get_mut().write_all(request).expect("it is open");
    let (mut first, mut line, mut length) = (String::new(), String::new(), 0);
    connection.read_line(&mut first).expect("an answer");
    while connection.read_line(&mut line).expect("an answer") > 2 {
        let (name, value) = line.split_once(':').expect("a header");
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().expect("a number");
        }
        line.clear();
    }
    let mut body = vec![0; length];
    std::io::Read::read_exact(connection, &mut body).expect("an answer");
    first
}

#[test]
fn the_service_raises_its_limit_on_descriptors_and_keeps_the_connections_of_proxies() {
    if cannot("descriptors of the service") {
        return;
    }
    let stand_in = StandIn::new("http-gate-crowd", "exit 1");
    let settings = Settings::with(&stand_in);
    let _gate = settings.start();
    let connect = |_| {
        let stream = UnixStream::connect(settings.join("proxy")).expect("it listens");
        stream.set_read_timeout(Some(LONG)).expect("a socket");
        BufReader::new(stream)
    };
    // The service is started with a limit of 256.
    let mut connections: Vec<_> = (0..600).map(connect).collect();
    let mut ask_all = || {
        for connection in &mut connections {
            assert_eq!(ask(connection), "HTTP/1.1 200 OK\r\n");
        }
    };
    ask_all();
    // A proxy keeps its connections.
    std::thread::sleep(BETWEEN);
    ask_all();
}

/// Otherwise the bodies of strangers could fill the memory.
#[test]
fn long_bodies_of_strangers_are_refused_before_they_have_come() {
    if cannot("long bodies of strangers") {
        return;
    }
    let stand_in = StandIn::new("http-gate-bodies", "exit 1");
    let settings = Settings::with(&stand_in);
    let _gate = settings.start();
    let begin = |path: &str, sent: usize| {
        let stream = UnixStream::connect(settings.join("proxy")).expect("it listens");
        stream.set_read_timeout(Some(LONG)).expect("a socket");
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer wrong\r\n\
             Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n"
        );
        let mut connection = BufReader::new(stream);
        let part = " ".repeat(sent);
        let written = connection.get_mut().write_all((head + &part).as_bytes());
        written.expect("it listens");
        connection
    };
    let begun = [
        (begin("/api/v1/find", 0), "401"),
        (begin("/mcp", 0), "401"),
        // A login needs no proof, and no long body.
        (begin("/api/v1/session", 17_000), "413"),
        (begin("/api/v1/login", 17_000), "413"),
    ];
    for (mut connection, status) in begun {
        let mut first = String::new();
        connection.read_line(&mut first).expect("an answer");
        assert_eq!(first.split(' ').nth(1), Some(status), "{first}");
    }
}
