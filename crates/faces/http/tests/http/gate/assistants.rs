//! Tools for assistants at the service for many users: who is answered what, and what is recorded.

use std::process::Stdio;

use serde_json::{Value, json};
use trawl_testkit::oracle::{self, Identity, gnu};
use trawl_testkit::site::{Site, StandIn};

use super::sessions::scoped;
use super::{Gate, Settings, bearer, cannot};
use crate::assistants::Assistant;
use crate::client::{Answer, SERVER, wait_until};

/// An assistant with a session or token.
pub(crate) struct Known<'a>(pub(crate) &'a Gate, pub(crate) &'a str);

impl Assistant for Known<'_> {
    #[track_caller]
    fn send(&self, words: &[&str]) -> Answer {
        let header = bearer(self.1);
        let mut all = vec!["--header", &header];
        all.extend(words);
        self.0.curl("/mcp", &all)
    }
}

/// An assistant without a secret, whose words of curl show who it is.
struct Shown<'a>(&'a Gate, &'a [String]);

impl Assistant for Shown<'_> {
    #[track_caller]
    fn send(&self, words: &[&str]) -> Answer {
        let mut all: Vec<&str> = self.1.iter().map(String::as_str).collect();
        all.extend(words);
        self.0.curl("/mcp", &all)
    }
}

/// Returns rows without the names of groups, which the namespace of the service alone knows.
fn nameless(mut rows: Vec<Value>) -> Vec<Value> {
    for row in rows.iter_mut().filter_map(Value::as_object_mut) {
        row.remove("group");
    }
    rows
}

/// Returns the rows that a command line prints for a user.
#[track_caller]
fn rows_of(site: &Site, who: &Identity, words: &[&str]) -> Vec<Value> {
    let ran = oracle::run(site.command(who).args(words));
    let text = ran.text();
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

#[test]
fn tools_of_the_service_answer_as_the_command_line_of_their_user() {
    if cannot("tools of the service") {
        return;
    }
    let Some(site) = Site::guarded("http-gate-tools", SERVER) else {
        return;
    };
    // One more file is open to a group.
    let path = site.path("closed");
    std::os::unix::fs::chown(&path, None, Some(60_101)).expect("we are root");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o750);
    std::fs::set_permissions(&path, mode).expect("our own");
    site.index();
    let settings = Settings::of(&site);
    let gate = settings.start();
    let tree = site.text("");
    let mut seen = Vec::new();
    for (user, uid, groups) in [
        ("u60001", 60_001, vec![]),
        ("u60005", 60_005, vec![60_101, 60_102, 60_103]),
    ] {
        let token = settings.whole_token(user);
        let assistant = Known(&gate, &token);
        let who = Identity::Other {
            uid,
            gid: uid,
            groups,
        };
        let (found, last) = assistant.all_rows("search", &json!({"paths": [tree], "limit": 2}));
        let expected = rows_of(&site, &who, &["find", "--json", &tree]);
        assert_eq!(nameless(found.clone()), nameless(expected), "{user}");
        let whole = gnu("find", [tree.as_str()], &site.tree(), &who).code == Some(0);
        assert_eq!(last["complete"], whole, "{user}: {last}");
        let arguments = json!({"paths": [tree], "max_depth": 1, "files": true});
        let (sizes, _) = assistant.all_rows("size", &arguments);
        let expected = rows_of(&site, &who, &["du", "--json", "-a", "-d", "1", &tree]);
        assert_eq!(sizes, expected, "{user}");
        let arguments = json!({"pattern": "needle", "paths": [tree]});
        let (hits, _) = assistant.all_rows("content", &arguments);
        let mut hits: Vec<&str> = hits.iter().filter_map(|hit| hit["path"].as_str()).collect();
        hits.sort_unstable();
        let ran = gnu("grep", ["-rl", "needle", tree.as_str()], &site.tree(), &who);
        let text = ran.text();
        let mut expected: Vec<&str> = text.lines().collect();
        expected.sort_unstable();
        assert_eq!(hits, expected, "{user}");
        for name in ["open/file", "closed/secret", "open/closed"] {
            let path = site.text(name);
            let ran = gnu("cat", [path.as_str()], &site.tree(), &who);
            let result = assistant.call("read", &json!({"path": path}));
            match ran.code {
                Some(0) => {
                    let content = &result["structuredContent"]["content"];
                    assert_eq!(*content, json!(ran.text()), "{user} {name}");
                }
                _ => assert_eq!(result["isError"], true, "{user} {name}: {result}"),
            }
        }
        seen.push(found.len());
    }
    assert_ne!(seen[0], seen[1], "the group opens something");
    // A certificate and a proxy stand for their users here, too.
    let shown = settings.certificate("somebody");
    let (found, _) = Shown(&gate, &shown).all_rows("search", &json!({"paths": [tree]}));
    assert_eq!(found.len(), seen[1]);
}

#[test]
fn without_a_proof_no_message_reaches_a_desk() {
    if cannot("messages without a proof") {
        return;
    }
    let stand_in = StandIn::new("http-gate-tool-none", "touch ran");
    let settings = Settings::with(&stand_in);
    let gate = settings.start();
    let call = json!({"name": "search", "arguments": {"paths": ["/"]}});
    for words in [
        &[][..],
        &["--header", "X-Remote-User: u60001"],
        &["--header", "Authorization: Bearer x"],
        &["--header", "Authorization: Basic dTYwMDAxOng="],
        &["--header", "Cookie: session=u60001"],
    ] {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let asked = ["tools/call", "tools/list", "initialize"];
        let asked = asked.map(|method| Shown(&gate, &words).request(method, &call));
        let garbled = Shown(&gate, &words).send(&["--json", "[{"]);
        for answer in asked.into_iter().chain([garbled]) {
            assert_eq!(answer.status, 401, "{words:?}: {answer:?}");
            assert_eq!(answer.header("www-authenticate"), ["Bearer"], "{words:?}");
        }
    }
    // A browser shows a certificate also for a page of another site.
    let certificate = settings.certificate("somebody");
    for header in [
        "Origin: https://evil.example",
        "Origin: null",
        "Sec-Fetch-Site: cross-site",
    ] {
        let mut words = certificate.clone();
        words.extend(["--header".to_owned(), header.to_owned()]);
        let answer = Shown(&gate, &words).request("tools/call", &call);
        assert_eq!(answer.status, 403, "{header}: {answer:?}");
    }
    let root = settings.whole_token("root");
    let answer = Known(&gate, &root).request("tools/call", &call);
    assert_eq!(answer.status, 403, "the superuser never asks: {answer:?}");
    let token = settings.whole_token("u60001");
    let large =
        json!({"name": "search", "arguments": {"paths": [format!("/{}", "x".repeat(100_000))]}});
    let body = settings.join("body");
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": large, "x": "x".repeat(60_000)});
    std::fs::write(&body, message.to_string()).expect("our own");
    let body = format!("@{}", body.display());
    let answer = Known(&gate, &token).send(&["--json", &body]);
    assert_eq!(answer.status, 413, "{answer:?}");
    // What two readers could understand in two ways is refused.
    let twice = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","name":"read","arguments":{"path":"/x"}}}"#;
    let answer = Known(&gate, &token).send(&["--json", twice]);
    assert_eq!(answer.status, 400, "{answer:?}");
    assert!(gate.those("--desk").is_empty(), "a desk was started");
    assert!(!stand_in.scratch.join("ran").exists(), "something ran");
}

#[test]
fn tokens_call_the_tools_that_they_are_for() {
    if cannot("scopes of tokens for tools") {
        return;
    }
    let Some(site) = Site::guarded("http-gate-tool-scopes", SERVER) else {
        return;
    };
    let settings = Settings::of(&site);
    let gate = settings.start();
    let calls = scoped(&site).map(|(name, arguments, needed)| {
        let question = trawl_questions::table::named(name).expect("a question");
        (question.tool, arguments, needed)
    });
    for scopes in ["names", "contents", "sql", "names,contents"] {
        let token = settings.token("u60001", scopes);
        let assistant = Known(&gate, &token);
        for (tool, arguments, needed) in &calls {
            let result = assistant.call(tool, arguments);
            let why = result["content"][0]["text"].as_str().unwrap_or_default();
            let is_refused = why.starts_with("this token is for");
            let is_allowed = scopes.split(',').any(|scope| scope == *needed);
            assert_eq!(
                is_refused, !is_allowed,
                "{scopes}: {tool} {arguments}: {result}"
            );
            let is_error = result["isError"] == true;
            assert!(is_error || !is_refused, "{scopes}: {tool}: {result}");
            assert!(
                !is_refused || !result.to_string().contains("needle\\n"),
                "{result}"
            );
        }
    }
    // Nor does a client choose its scopes.
    let token = settings.token("u60001", "sql");
    let message = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "search", "arguments": {"paths": [site.text("")]}},
    });
    let answer = Known(&gate, &token).send(&[
        "--header",
        "trawl-scopes: names,contents,sql",
        "--header",
        "Accept: application/json, text/event-stream",
        "--json",
        &message.to_string(),
    ]);
    assert_eq!(answer.json()["result"]["isError"], true, "{answer:?}");
}

#[test]
fn a_token_that_is_revoked_and_a_group_that_is_lost_hold_for_no_further_call() {
    if cannot("revoked tokens of assistants") {
        return;
    }
    let Some(site) = Site::guarded("http-gate-tool-revoked", SERVER) else {
        return;
    };
    let path = site.path("closed");
    std::os::unix::fs::chown(&path, None, Some(60_104)).expect("we are root");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o750);
    std::fs::set_permissions(&path, mode).expect("our own");
    site.index();
    let settings = Settings::of(&site);
    let gate = settings.start();
    let token = settings.whole_token("u60001");
    let assistant = Known(&gate, &token);
    let secret = json!({"path": site.text("closed/secret")});
    assert_eq!(assistant.call("read", &secret)["isError"], true);
    settings.change_groups(|text| {
        let lines = text.lines().filter(|line| !line.starts_with("g60104:"));
        let rest: String = lines.map(|line| format!("{line}\n")).collect();
        format!("{rest}g60104:x:60104:u60001\n")
    });
    assert_eq!(assistant.ask_tool("read", &secret)["content"], "needle\n");
    let pages = json!({"paths": [site.text("")], "limit": 1});
    let cursor = assistant.ask_tool("search", &pages)["cursor"].clone();
    assert!(cursor.is_string(), "{cursor}");
    settings.change_groups(|text| text.replace("g60104:x:60104:u60001", "g60104:x:60104:"));
    assert_eq!(assistant.call("read", &secret)["isError"], true);
    // The rest of an answer belongs to the process with the group.
    let why = assistant.refusal("more", &json!({"cursor": cursor}));
    assert!(why.contains("cursor"), "{why}");
    let credentials = settings.credentials();
    let now = std::time::SystemTime::now();
    let grant = credentials.find(&token, now).expect("our own");
    let grant = grant.expect("it holds");
    assert!(credentials.revoke(&grant.id).expect("our own"));
    for (method, params) in [
        ("tools/call", json!({"name": "sources", "arguments": {}})),
        ("tools/list", json!({})),
    ] {
        let answer = assistant.request(method, &params);
        assert_eq!(answer.status, 401, "{method}: {answer:?}");
        assert_eq!(answer.header("www-authenticate"), ["Bearer"], "{method}");
    }
}

#[test]
fn calls_are_recorded_as_the_questions_that_they_are() {
    if cannot("the record of calls") {
        return;
    }
    let Some(site) = Site::guarded("http-gate-tool-record", SERVER) else {
        return;
    };
    let settings = Settings::of(&site);
    let gate = settings.start();
    let token = settings.token("u60001", "names");
    let assistant = Known(&gate, &token);
    let open = site.text("open");
    assert_eq!(assistant.request("tools/list", &json!({})).status, 200);
    let page = assistant.ask_tool("search", &json!({"paths": [open]}));
    let rows = page["rows"].as_array().expect("rows").len();
    assert_eq!(page["complete"], true, "{page}");
    let tree = site.text("");
    assistant.ask_tool("search", &json!({"paths": [tree]}));
    assistant.refusal("read", &json!({"path": site.text("open/file")}));
    let unknown = Known(&gate, "nonsense").request(
        "tools/call",
        &json!({"name": "size", "arguments": {"paths": [tree]}}),
    );
    assert_eq!(unknown.status, 401, "{unknown:?}");
    let record = gate.record(4);
    let [whole, part, refused, stranger] = &record[..] else {
        panic!("{record:#?}");
    };
    for (line, question, outcome) in [
        (whole, "find", "complete"),
        (part, "find", "partial"),
        (refused, "read", "failed"),
        (stranger, "du", "failed"),
    ] {
        assert_eq!(line["event"], "question", "{line}");
        assert_eq!(line["question"], question, "{line}");
        assert_eq!(line["outcome"], outcome, "{line}");
    }
    assert_eq!(whole["rows"], json!(rows));
    assert_eq!(whole["user"], "u60001");
    assert_eq!(whole["status"], 200);
    assert_eq!(whole["arguments"], json!({"paths": [open]}).to_string());
    assert!(whole["bytes"].as_u64() > Some(0), "{whole}");
    let by = whole["by"].as_str().expect("text");
    assert!(by.starts_with("token "), "{by}");
    assert_eq!(
        (&stranger["user"], &stranger["arguments"]),
        (&json!(null), &json!(null))
    );
    let text = std::fs::read_to_string(settings.join("record")).expect("our own");
    for secret in [token.as_str(), "needle", "open/closed"] {
        assert!(!text.contains(secret), "{secret} is recorded");
    }
    let metrics = gate.get(&token, "/metrics");
    let metrics = String::from_utf8(metrics.body).expect("text");
    let line = "trawl_web_questions_total{question=\"find\",outcome=\"partial\"} 1";
    assert!(metrics.lines().any(|known| known == line), "{metrics}");
}

/// The protocol answers such messages without the tool.
#[test]
fn a_call_that_no_tool_answers_is_recorded_as_failed() {
    if cannot("the record of wrong calls") {
        return;
    }
    let stand_in = StandIn::new("http-gate-tool-wrong", "touch ran");
    let settings = Settings::with(&stand_in);
    let gate = settings.start();
    let token = settings.whole_token("u60001");
    let assistant = Known(&gate, &token);
    let call = json!({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "search", "arguments": {"paths": ["/"]}}});
    let mut list = call.clone();
    list["id"] = json!(1);
    list["params"]["arguments"] = json!(["/"]);
    for wrong in [call, list] {
        let answer = assistant.message(&wrong);
        assert!((200..300).contains(&answer.status), "{answer:?}");
    }
    for line in gate.record(2) {
        assert_eq!(
            (&line["question"], &line["outcome"]),
            (&json!("find"), &json!("failed")),
            "{line}"
        );
    }
    assert!(!stand_in.scratch.join("ran").exists(), "something ran");
}

#[test]
fn an_assistant_of_the_service_that_leaves_ends_its_call() {
    if cannot("assistants of the service that leave") {
        return;
    }
    let stand_in = StandIn::new("http-gate-tool-leave", "echo '{\"n\":1}'; exec sleep 1000");
    let settings = Settings::with(&stand_in);
    let gate = settings.start();
    let token = bearer(&settings.whole_token("u60001"));
    let message = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "search", "arguments": {"paths": ["/"]}, "_meta": {"progressToken": 1}},
    });
    let start = |version: &str| {
        let mut command = oracle::command("curl");
        command.args(["--silent", "--output", "/dev/null", version, "--cacert"]);
        command.arg(settings.join("ca.pem"));
        command.args(["--write-out", "%{http_code}", "--header", &token]);
        command.args(["--header", "Accept: application/json, text/event-stream"]);
        command.args(["--json", &message.to_string()]);
        command.arg(format!("https://{}/mcp", gate.address));
        let started = command.stdout(Stdio::piped()).spawn();
        started.expect("curl starts")
    };
    let sleeps = || gate.those("1000").len();
    for version in ["--http1.1", "--http2"] {
        let mut client = start(version);
        wait_until("no call runs", || sleeps() == 1);
        client.kill().expect("it runs");
        client.wait().expect("it ends");
        wait_until("the call runs on", || sleeps() == 0);
    }
    let outcomes: Vec<Value> = gate
        .record(2)
        .iter()
        .map(|line| line["outcome"].clone())
        .collect();
    assert_eq!(outcomes, vec![json!("cancelled"); 2]);
    // A user has so many calls at a time, as questions.
    let clients: Vec<_> = (0..40).map(|_| start("--http1.1")).collect();
    wait_until("no call is refused", || gate.record(0).len() >= 10);
    let refused = gate.record(10);
    assert!(
        refused[2..].iter().all(|line| line["status"] == 429),
        "{refused:?}"
    );
    for mut client in clients {
        client.kill().expect("our own");
        client.wait().expect("it ends");
    }
    wait_until("calls run on", || sleeps() == 0);
}
