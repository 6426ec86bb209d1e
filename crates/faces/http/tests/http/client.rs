//! A running server, and requests to it.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trawl_testkit::oracle::{self, Identity};
use trawl_testkit::site::{Site, StandIn};

/// The server.
pub(crate) const SERVER: &str = env!("CARGO_BIN_EXE_trawl-http");

/// Time after which a test gives up.
const HANG: Duration = Duration::from_secs(300);

/// A server, which ends when it is dropped.
pub(crate) struct Server {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
    /// `127.0.0.1:PORT`
    pub(crate) address: String,
    /// The secret of the link.
    pub(crate) token: String,
    /// The secret of a session, if one has begun.
    pub(crate) session: String,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The head, with names of headers in lower case.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    /// The exit code of curl: 0 if the answer arrived whole.
    pub(crate) code: Option<i32>,
}

impl Answer {
    /// Returns the body, which must be JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the values of a header, or of a trailer.
    pub(crate) fn header(&self, name: &str) -> Vec<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .filter(|(known, _)| *known == name)
            .map(|(_, value)| value.trim())
            .collect()
    }
}

impl Server {
    /// Starts `trawl web` as this user, and begins a session.
    #[track_caller]
    pub(crate) fn of(site: &Site, who: &Identity) -> Server {
        let mut server = Server::silent(site.command(who).arg("web"));
        server.begin();
        server
    }

    /// Starts the server with a stand-in, and begins a session.
    #[track_caller]
    pub(crate) fn with(stand_in: &StandIn, options: &[&str]) -> Server {
        let mut server = Server::silent(&mut stand_in.command(SERVER, options));
        server.begin();
        server
    }

    /// Starts a server.
    #[track_caller]
    pub(crate) fn silent(command: &mut Command) -> Server {
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the server starts");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut link = String::new();
        output.read_line(&mut link).expect("a link");
        let rest = link.trim_end().strip_prefix("http://");
        let parts = rest.and_then(|rest| rest.split_once("/#token="));
        let (address, token) = parts.unwrap_or_else(|| panic!("no link: {link:?}"));
        Server {
            child,
            output,
            address: address.to_owned(),
            token: token.to_owned(),
            session: String::new(),
        }
    }

    /// Exchanges the link for a session.
    #[track_caller]
    pub(crate) fn begin(&mut self) {
        let answer = self.post("session", &json!({"token": self.token}));
        assert_eq!(answer.status, 200, "{answer:?}");
        let session = answer.json()["session"].as_str().map(str::to_owned);
        self.session = session.expect("a session");
    }

    /// Returns the link's first line, as a browser is given it.
    pub(crate) fn link(&self) -> String {
        format!("http://{}/#token={}", self.address, self.token)
    }

    /// Runs curl with the session; `path` begins with `/`.
    #[track_caller]
    pub(crate) fn curl(&self, path: &str, words: &[&str]) -> Answer {
        let mut command = oracle::command("curl");
        command.args(["--silent", "--show-error", "--include", "--max-time", "120"]);
        if !self.session.is_empty() {
            let header = format!("Authorization: Bearer {}", self.session);
            command.arg("--header").arg(header);
        }
        let url = format!("http://{}{path}", self.address);
        let ran = oracle::run(command.args(words).arg(url));
        Answer::of(&ran.stdout, ran.code)
    }

    /// Asks a question whose arguments are in the body.
    #[track_caller]
    pub(crate) fn post(&self, name: &str, arguments: &Value) -> Answer {
        let path = format!("/api/v1/{name}");
        let body = arguments.to_string();
        self.curl(&path, &["--json", &body])
    }

    /// Asks for all pages of an answer, and returns the rows with the last page.
    #[track_caller]
    pub(crate) fn all(&self, name: &str, arguments: &Value) -> (Vec<Value>, Value) {
        let mut page = self.post(name, arguments).json();
        let mut rows = Vec::new();
        loop {
            rows.extend(
                page["rows"]
                    .as_array()
                    .unwrap_or_else(|| panic!("{page}"))
                    .clone(),
            );
            match page["cursor"].as_str() {
                Some(cursor) => page = self.post("more", &json!({"cursor": cursor})).json(),
                None => return (rows, page),
            }
        }
    }

    /// Sends bytes, and returns what comes back until the server closes the connection.
    #[track_caller]
    pub(crate) fn raw(&self, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        let limit = Some(Duration::from_secs(120));
        stream.set_read_timeout(limit).expect("a socket");
        // It may answer and close before everything is sent.
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        // It may also close before it has read everything.
        if let Err(error) = stream.read_to_end(&mut answer) {
            assert_ne!(error.kind(), ErrorKind::WouldBlock, "it does not close");
        }
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Returns the numbers of the processes that the server has started, until it has heard of their
    /// ends.
    pub(crate) fn commands(&self) -> Vec<u32> {
        let tasks = format!("/proc/{}/task", self.child.id());
        let tasks = std::fs::read_dir(tasks).expect("the server runs");
        let tasks = tasks.filter_map(Result::ok);
        let lists =
            tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
        let lists: Vec<String> = lists.collect();
        let words = lists.iter().flat_map(|list| list.split_whitespace());
        words.filter_map(|word| word.parse().ok()).collect()
    }

    /// Waits until no command runs.
    #[track_caller]
    pub(crate) fn wait_for_silence(&self) {
        wait_until("the commands live on", || self.commands().is_empty());
    }

    /// Waits until a command runs.
    #[track_caller]
    pub(crate) fn wait_for_a_command(&self) {
        wait_until("no command runs", || !self.commands().is_empty());
    }

    /// Ends the server with a signal, and returns what else it printed, with its exit code.
    pub(crate) fn end(mut self) -> (String, Option<i32>) {
        oracle::run(oracle::command("kill").arg(self.child.id().to_string())).expect_code(0);
        let mut rest = String::new();
        let _ = self.output.read_to_string(&mut rest);
        let status = self.child.wait().expect("it ends");
        (rest, status.code())
    }
}

/// Waits until something holds. It takes milliseconds, even on a busy machine.
#[track_caller]
pub(crate) fn wait_until(otherwise: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < HANG, "{otherwise}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Answer {
    /// Reads what curl prints with `--include`: the head, the body, and trailers after it.
    #[track_caller]
    pub(crate) fn of(output: &[u8], code: Option<i32>) -> Answer {
        let end = output.windows(4).position(|four| four == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("no head: {} {code:?}", output.escape_ascii()));
        let head = String::from_utf8_lossy(&output[..end]).to_string();
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        let mut body = output[end + 4..].to_vec();
        let mut lines: Vec<String> = head.lines().map(lower).collect();
        // curl prints trailers as further lines of the head, after the body.
        if let Some(at) = find_last(&body, b"trawl-complete: ") {
            let trailers = String::from_utf8_lossy(&body[at..]).to_string();
            lines.extend(trailers.lines().map(lower));
            body.truncate(at);
        }
        Answer {
            status: status.unwrap_or_default(),
            head: lines.join("\n"),
            body,
            code,
        }
    }
}

fn lower(line: &str) -> String {
    match line.split_once(": ") {
        Some((name, value)) => format!("{}: {value}", name.to_ascii_lowercase()),
        None => line.to_owned(),
    }
}

fn find_last(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes
        .windows(wanted.len())
        .rposition(|window| window == wanted)
}
