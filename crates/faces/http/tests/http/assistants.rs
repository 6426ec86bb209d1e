//! Tools for assistants over HTTP: they answer as the command line does, to whoever may ask, and to
//! nobody else.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use trawl_testkit::Skip;
use trawl_testkit::oracle::{self, Identity};
use trawl_testkit::site::{ASKED, Asked, Site, StandIn};

use crate::client::{Answer, SERVER, Server};
use crate::clients::{node, python_with, tools};
use crate::equality::rows;

/// What clients of the protocol accept.
pub(crate) const ACCEPT: &str = "Accept: application/json, text/event-stream";

const CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../mcp/tests/mcp/client.py");

/// Somebody who can send messages.
pub(crate) trait Assistant {
    /// Sends words of curl to `/mcp`.
    fn send(&self, words: &[&str]) -> Answer;

    /// Sends a message.
    fn message(&self, message: &Value) -> Answer {
        self.send(&["--header", ACCEPT, "--json", &message.to_string()])
    }

    /// Sends a request.
    fn request(&self, method: &str, params: &Value) -> Answer {
        self.message(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
    }

    /// Calls a tool, and returns its result.
    #[track_caller]
    fn call(&self, tool: &str, arguments: &Value) -> Value {
        let answer = self.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        assert_eq!(answer.status, 200, "{tool} {arguments}: {answer:?}");
        assert_eq!(
            answer.header("content-type"),
            ["application/json"],
            "{tool}"
        );
        let message = answer.json();
        assert_eq!(message["id"], 1, "{tool}: {message}");
        assert!(message["result"].is_object(), "{tool}: {message}");
        message["result"].clone()
    }

    /// Calls a tool that answers.
    #[track_caller]
    fn ask_tool(&self, tool: &str, arguments: &Value) -> Value {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{tool} {arguments}: {result}");
        result["structuredContent"].clone()
    }

    /// Calls a tool that refuses or fails, and returns the reason.
    #[track_caller]
    fn refusal(&self, tool: &str, arguments: &Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{tool} {arguments}: {result}");
        let text = result["content"][0]["text"].as_str();
        text.expect("a text").to_owned()
    }

    /// Returns the rows of all pages, and the last page.
    #[track_caller]
    fn all_rows(&self, tool: &str, arguments: &Value) -> (Vec<Value>, Value) {
        self.follow(self.ask_tool(tool, arguments))
    }

    /// Returns the rows of a page and of those that follow it, and the last page.
    #[track_caller]
    fn follow(&self, mut page: Value) -> (Vec<Value>, Value) {
        let mut rows = Vec::new();
        loop {
            rows.extend(page["rows"].as_array().expect("rows").clone());
            match page["cursor"].as_str() {
                Some(cursor) => page = self.ask_tool("more", &json!({"cursor": cursor})),
                None => return (rows, page),
            }
        }
    }
}

impl Assistant for Server {
    #[track_caller]
    fn send(&self, words: &[&str]) -> Answer {
        self.curl("/mcp", words)
    }
}

#[test]
fn tools_over_http_answer_as_the_command_line_does() {
    let Some(site) = Site::changed("http-tools", SERVER) else {
        return;
    };
    let server = Server::of(&site, &Identity::Ourselves);
    let tree = site.text("");
    for Asked {
        tool,
        arguments,
        words,
        ..
    } in ASKED
    {
        let arguments: Value = serde_json::from_str(&arguments.replace('@', &tree)).expect("JSON");
        let words: Vec<String> = words.iter().map(|word| word.replace('@', &tree)).collect();
        let (found, last) = server.all_rows(tool, &arguments);
        assert!(!found.is_empty(), "{tool} {arguments}");
        assert_eq!(found, rows(&site, &words), "{tool} {arguments}");
        assert_eq!(last["complete"], true, "{tool}: {last}");
    }
    // Counts are those of the questions.
    let text = String::from_utf8(server.curl("/metrics", &[]).body).expect("text");
    let line = "trawl_web_questions_total{question=\"find\",outcome=\"complete\"}";
    assert!(text.lines().any(|known| known.starts_with(line)), "{text}");
}

#[test]
fn the_list_of_tools_is_that_of_the_program_for_assistants() {
    let program = Path::new(SERVER).with_file_name("trawl-mcp");
    if !program.exists() {
        let why = "trawl-mcp is not built: cargo build -p trawl-mcp";
        return Skip::new("the list of tools", why).say();
    }
    let stand_in = StandIn::new("http-tool-list", "exit 0");
    let server = Server::with(&stand_in, &[]);
    let hello = json!({
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
    });
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "resources/list"}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "trawl:///docs/sql.md"}}),
    ];
    let mut child = oracle::command(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut input = child.stdin.take().expect("a pipe");
    let mut printed = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    for message in &messages {
        writeln!(input, "{message}").expect("it listens");
        let answer = server.message(message);
        if message.get("id").is_none() {
            assert_eq!((answer.status, answer.body.as_slice()), (202, &b""[..]));
            continue;
        }
        let printed = printed.next().expect("an answer").expect("text");
        let printed: Value = serde_json::from_str(&printed).expect("JSON");
        assert_eq!(answer.json(), printed, "{message}");
    }
    drop(input);
    assert!(child.wait().expect("it ends").success());
}

/// Pages are as short as those over standard input and output: an assistant's memory is short.
#[test]
fn pages_for_assistants_are_short_and_continued_once() {
    let Some(site) = Site::wide("http-tool-pages", SERVER) else {
        return;
    };
    let server = Server::of(&site, &Identity::Ourselves);
    let arguments = json!({"paths": [site.text("")], "limit": 10_000});
    let first = server.ask_tool("search", &arguments);
    let bytes = first["rows"].to_string().len();
    assert!(bytes <= (64 << 10) + 1_100, "{bytes}");
    assert!(first["cursor"].is_string(), "{first}");
    let (found, last) = server.follow(first.clone());
    let words = ["find", "--json", &site.text("")].map(str::to_owned);
    assert_eq!(found, rows(&site, &words));
    assert_eq!(last["complete"], true, "{last}");
    let used = server.refusal("more", &json!({"cursor": first["cursor"]}));
    assert!(used.contains("cursor"), "{used}");
    // The same question to the API has one page.
    let page = server.post("find", &arguments).json();
    assert_eq!(page["rows"].as_array().map(Vec::len), Some(found.len()));
}

#[test]
fn without_a_session_no_message_is_answered() {
    let stand_in = StandIn::new("http-tool-session", "touch ran");
    let mut server = Server::silent(&mut stand_in.command(SERVER, &[]));
    let call = json!({"name": "search", "arguments": {"paths": ["/"]}});
    let refused = |answer: Answer, about: &str| {
        assert_eq!(answer.status, 401, "{about}: {answer:?}");
        assert_eq!(answer.header("www-authenticate"), ["Bearer"], "{about}");
        assert_eq!(answer.header("cache-control"), ["no-store"], "{about}");
    };
    for (method, params) in [
        ("tools/call", &call),
        ("tools/list", &json!({})),
        ("initialize", &json!({})),
        ("ping", &json!({})),
    ] {
        refused(server.request(method, params), method);
    }
    for words in [&["--get"][..], &["--request", "DELETE"], &["--json", "x"]] {
        refused(server.send(words), &format!("{words:?}"));
    }
    server.session = server.token.clone();
    refused(server.request("tools/call", &call), "the secret of a link");
    // Clients that look for another way to log in are told that there is none.
    for path in [
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-authorization-server",
    ] {
        let answer = server.curl(path, &[]);
        assert_eq!(answer.status, 404, "{path}: {answer:?}");
        let media_type = answer.header("content-type");
        assert_eq!(media_type, ["application/problem+json"], "{path}");
    }
    assert!(!stand_in.scratch.join("ran").exists(), "something ran");
}

#[test]
fn messages_of_other_sites_and_for_other_hosts_are_refused() {
    let stand_in = StandIn::new("http-tool-sites", "touch ran");
    let server = Server::with(&stand_in, &[]);
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "search", "arguments": {"paths": ["/"]}},
    })
    .to_string();
    for header in [
        "Origin: https://evil.example",
        "Origin: null",
        "Origin: http://127.0.0.1:1",
        "Sec-Fetch-Site: cross-site",
    ] {
        let answer = server.send(&["--header", ACCEPT, "--header", header, "--json", &call]);
        assert_eq!(answer.status, 403, "{header}: {answer:?}");
    }
    for host in ["evil.example", "127.0.0.1.evil.example:80", ""] {
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {}\r\n{ACCEPT}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{call}",
            server.session,
            call.len()
        );
        let answer = server.raw(request.as_bytes());
        assert!(answer.starts_with("HTTP/1.1 421 "), "{host}: {answer}");
    }
    // What a form of another site can send without permission is no message.
    for media_type in ["text/plain", "application/x-www-form-urlencoded"] {
        let header = format!("Content-Type: {media_type}");
        let answer = server.send(&["--header", ACCEPT, "--header", &header, "--data", &call]);
        assert_eq!(answer.status, 415, "{media_type}: {answer:?}");
    }
    assert!(!stand_in.scratch.join("ran").exists(), "something ran");
}

#[test]
fn hostile_messages_are_refused_and_nothing_runs() {
    let stand_in = StandIn::new("http-tool-hostile", "touch ran");
    let server = Server::with(&stand_in, &[]);
    for (tool, arguments, reason) in [
        (
            "search",
            json!({"paths": ["/"], "expression": ["-delete"]}),
            "-delete",
        ),
        ("search", json!({"paths": ["--index=/x"]}), "absolute path"),
        (
            "search",
            json!({"paths": ["/"], "index": "/x"}),
            "no argument",
        ),
        ("more", json!({"cursor": "x"}), "cursor"),
    ] {
        let why = server.refusal(tool, &arguments);
        assert!(why.contains(reason), "{tool} {arguments}: {why}");
    }
    let unknown = server.request("tools/call", &json!({"name": "index", "arguments": {}}));
    assert_eq!(unknown.json()["error"]["code"], -32602, "{unknown:?}");
    let large = stand_in.scratch.join("body");
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": "x".repeat(200_000)}});
    std::fs::write(&large, body.to_string()).expect("our own");
    let large = format!("@{}", large.display());
    let answer = server.send(&["--header", ACCEPT, "--json", &large]);
    assert_eq!(answer.status, 413, "{answer:?}");
    for body in [
        "",
        "x",
        "[]",
        "{}",
        "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",
        &"[".repeat(100_000),
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
    ] {
        let answer = server.send(&["--header", ACCEPT, "--json", body]);
        assert!((400..500).contains(&answer.status), "{body}: {answer:?}");
    }
    for method in ["GET", "PUT", "DELETE"] {
        let answer = server.send(&["--header", ACCEPT, "--request", method]);
        assert_eq!(answer.status, 405, "{method}: {answer:?}");
    }
    assert_eq!(server.curl("/mcp/x", &[]).status, 404);
    assert_eq!(server.curl("/healthz", &[]).status, 200, "it lives on");
    assert!(!stand_in.scratch.join("ran").exists(), "something ran");
}

#[test]
fn an_assistant_that_leaves_ends_its_call() {
    let stand_in = StandIn::new("http-tool-leave", "echo '{\"n\":1}'; sleep 1000");
    let server = Server::with(&stand_in, &[]);
    for version in ["2025-06-18", "2026-07-28"] {
        let mut params = json!({"name": "search", "arguments": {"paths": ["/"]}});
        // A client that wants to hear of progress gets one answer, too.
        params["_meta"] = json!({"progressToken": 7});
        if version == "2026-07-28" {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(version);
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
            params["_meta"]["io.modelcontextprotocol/clientInfo"] =
                json!({"name": "test", "version": "1"});
        }
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let call = call.to_string();
        let mut stream = TcpStream::connect(&server.address).expect("it listens");
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n{ACCEPT}\r\n\
             Content-Type: application/json\r\nMCP-Protocol-Version: {version}\r\nMcp-Method: tools/call\r\n\
             Mcp-Name: search\r\nContent-Length: {}\r\n\r\n{call}",
            server.address,
            server.session,
            call.len()
        );
        stream.write_all(request.as_bytes()).expect("it listens");
        server.wait_for_a_command();
        drop(stream);
        server.wait_for_silence();
    }
    let text = String::from_utf8(server.curl("/metrics", &[]).body).expect("text");
    let line = "trawl_web_questions_total{question=\"find\",outcome=\"cancelled\"} 2";
    assert!(text.lines().any(|known| known == line), "{text}");
}

/// A call that takes long is answered by one document, also if the client wants to hear of progress.
#[test]
fn progress_over_http_is_not_told() {
    let stand_in = StandIn::new("http-tool-progress", "sleep 3; echo '{\"n\":1}'");
    let server = Server::with(&stand_in, &[]);
    let params = json!({
        "name": "search", "arguments": {"paths": ["/"]}, "_meta": {"progressToken": "p"},
    });
    let answer = server.request("tools/call", &params);
    assert_eq!(answer.header("content-type"), ["application/json"]);
    let result = &answer.json()["result"];
    assert_eq!(result["structuredContent"]["rows"], json!([{"n": 1}]));
}

#[test]
fn the_official_python_client_is_answered_over_http() {
    let test = "the Python client for assistants over HTTP";
    let python = match python_with(test, "mcp", "mcp") {
        Ok(python) => python,
        Err(skip) => return skip.say(),
    };
    let Some(site) = Site::small("http-tool-python", SERVER) else {
        return;
    };
    let server = Server::of(&site, &Identity::Ourselves);
    let tree = site.text("");
    let url = format!("http://{}/mcp", server.address);
    for mode in ["legacy", "auto"] {
        let mut command = oracle::command(&python);
        command.args(["-B", CLIENT, mode, &tree, &url, &server.session]);
        let text = oracle::run(&mut command).expect_code(0).text();
        let steps: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        let answer_of = |tool: &str| {
            let step = steps.iter().find(|step| step["tool"] == tool);
            step.expect(tool)["answer"].clone()
        };
        let names = answer_of("tools/list");
        assert!(names.as_array().expect("names").contains(&json!("search")));
        let words = ["find", "--json", &tree, "-name", "*.c"].map(str::to_owned);
        assert_eq!(
            answer_of("search")["rows"],
            json!(rows(&site, &words)),
            "{mode}"
        );
        let words = ["top", "--json", "-n", "2", &tree].map(str::to_owned);
        assert_eq!(
            answer_of("top")["rows"],
            json!(rows(&site, &words)),
            "{mode}"
        );
        assert!(answer_of("more")["rows"].is_array(), "{mode}: {text}");
        let last = steps.last().expect("steps");
        let why = last["answer"]["error"].as_str().expect("a refusal");
        assert!(why.contains("-delete"), "{mode}: {why}");
    }
}

/// Returns the inspector of the protocol, as `make test` installs it.
fn inspector(test: &str) -> Result<Command, Skip> {
    let program = tools().join("inspector/node_modules/.bin/inspector");
    let mut node = node()?;
    match program.exists() {
        true => {
            node.arg(program).arg("--cli");
            Ok(node)
        }
        false => {
            let program = program.display();
            let why = format!("there is no {program}: scripts/need.sh test installs it");
            Err(Skip::new(test, why))
        }
    }
}

/// The inspector, which is written in another language than the server, also checks the schemas of the
/// tools.
#[test]
fn the_inspector_is_answered_over_http() {
    let test = "the inspector of the protocol";
    if let Err(skip) = inspector(test) {
        return skip.say();
    }
    let Some(site) = Site::small("http-tool-inspector", SERVER) else {
        return;
    };
    let server = Server::of(&site, &Identity::Ourselves);
    let url = format!("http://{}/mcp", server.address);
    let ask = |secret: &str, words: &[&str]| {
        let mut command = inspector(test).expect("it is there");
        command
            .env("HOME", site.scratch.path())
            .args([&url, "--transport", "http", "--header"])
            .arg(format!("Authorization: Bearer {secret}"))
            .args(words);
        oracle::run(&mut command)
    };
    let list = ask(&server.session, &["--method", "tools/list", "--strict"]).expect_code(0);
    let list: Value = serde_json::from_str(&list.text()).expect("JSON");
    let tools = list["tools"].as_array().expect("tools");
    assert!(tools.iter().any(|tool| tool["name"] == "search"), "{list}");
    let tree = site.text("");
    let words = [
        "--method",
        "tools/call",
        "--tool-name",
        "search",
        "--tool-arg",
        &format!("paths=[\"{tree}\"]"),
        "name=*.c",
    ];
    let called = ask(&server.session, &words).expect_code(0);
    let called: Value = serde_json::from_str(&called.text()).expect("JSON");
    let words_of_find = ["find", "--json", &tree, "-name", "*.c"].map(str::to_owned);
    let expected = json!(rows(&site, &words_of_find));
    assert_eq!(called["structuredContent"]["rows"], expected, "{called}");
    let refused = ask("nonsense", &words);
    assert_ne!(refused.code, Some(0), "{refused}");
}
