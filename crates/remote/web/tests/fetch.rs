//! Fetches from servers that answer, break off, redirect or stall.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use trawl_call::request::Cancel;
use trawl_sets::expand::Engine;
use trawl_sets::{Found, Opener};
use trawl_web::{Client, Limits, Pages, Web};

/// Answers each connection with these bytes, and closes it.
fn server(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(answer);
        }
    });
    format!("http://{address}/x")
}

/// A client that waits this long for a server.
fn client(patience: Duration) -> Client {
    Client::without_proxy(Limits {
        silence: patience,
        answer: patience,
        ..Limits::default()
    })
}

/// Longer than any answer takes in these tests.
const LONG: Duration = Duration::from_secs(60);

fn fetched(url: &str, ahead_bytes: u64) -> Result<(Vec<u8>, bool), String> {
    fetched_by(client(LONG), url, ahead_bytes)
}

fn fetched_by(client: Client, url: &str, ahead_bytes: u64) -> Result<(Vec<u8>, bool), String> {
    let opener = Web::new(client);
    let fetched = opener.fetch(&Found::named(url), ahead_bytes);
    let mut fetched = fetched.map_err(|problem| problem.to_string())?;
    let mut bytes = Vec::new();
    let read = fetched.file.read_to_end(&mut bytes);
    read.map_err(|error| format!("stream: {error}"))?;
    Ok((bytes, fetched.is_stream))
}

#[test]
fn small_bodies_are_files_and_large_ones_streams() {
    let url = server(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
    assert_eq!(fetched(&url, 0), Ok((b"hi".to_vec(), false)));
    let mut answer = b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n".to_vec();
    answer.extend(std::iter::repeat_n(b'x', 300_000));
    let url = server(answer.leak());
    let (bytes, is_stream) = fetched(&url, 0).unwrap();
    assert!(bytes.len() == 300_000 && is_stream);
}

#[test]
fn a_body_that_breaks_off_is_an_error() {
    let url = server(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi");
    let error = fetched(&url, 0).unwrap_err();
    assert!(error.contains(&url), "{error}");
    let mut answer = b"HTTP/1.1 200 OK\r\nContent-Length: 400000\r\n\r\n".to_vec();
    answer.extend(std::iter::repeat_n(b'x', 300_000));
    let error = fetched(&server(answer.leak()), 0).unwrap_err();
    assert!(error.starts_with("stream: "), "{error}");
}

#[test]
fn statuses_loops_and_silence_are_errors() {
    let error = fetched(&server(b"HTTP/1.1 404 N\r\nContent-Length: 0\r\n\r\n"), 0);
    assert!(error.unwrap_err().contains("404, not found"));
    let looping = b"HTTP/1.1 302 F\r\nLocation: /y\r\nContent-Length: 0\r\n\r\n";
    assert!(
        fetched(&server(looping), 0)
            .unwrap_err()
            .contains("redirects")
    );
    let out = b"HTTP/1.1 302 F\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n";
    assert!(
        fetched(&server(out), 0)
            .unwrap_err()
            .contains("neither http")
    );
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let impatient = client(Duration::from_millis(500));
    let error = fetched_by(impatient, &url, 0).unwrap_err();
    assert!(error.contains("in time"), "{error}");
}

#[test]
fn pages_link_to_documents() {
    let page = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n\
                 <a href=a.txt><a href=file:///etc/passwd><a href=b.c>";
    let url = server(page);
    let names = |query: &[u8]| {
        let cancel = Cancel::default();
        let mut names = Pages::new(client(LONG))
            .run(url.as_bytes(), query, &cancel)
            .unwrap();
        let mut all = Vec::new();
        while let Some(found) = names.next(&cancel) {
            all.push(String::from_utf8(found.unwrap().name).unwrap());
        }
        all
    };
    let at = |name: &str| url.replace("/x", &format!("/{name}"));
    assert_eq!(names(b""), [at("a.txt"), at("b.c")]);
    assert_eq!(names(b"*.c"), [at("b.c")]);
}
