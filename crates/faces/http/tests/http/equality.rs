//! What the API answers is what the command line answers.

use serde_json::{Value, json};
use trawl_testkit::oracle::{self, Identity};
use trawl_testkit::site::{ASKED, Asked, Site, StandIn};

use crate::client::{SERVER, Server};

/// Returns the rows that a command line prints.
#[track_caller]
pub(crate) fn rows(site: &Site, words: &[String]) -> Vec<Value> {
    let ran = oracle::run(site.command(&Identity::Ourselves).args(words));
    let lines = ran
        .stdout
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    lines
        .map(|line| serde_json::from_slice(line).expect("JSON"))
        .collect()
}

#[test]
fn the_api_answers_as_the_command_line_does() {
    let Some(site) = Site::changed("http-equality", SERVER) else {
        return;
    };
    let server = Server::of(&site, &Identity::Ourselves);
    let tree = site.text("");
    for Asked {
        name,
        arguments,
        words,
        ..
    } in ASKED
    {
        let arguments = arguments.replace('@', &tree);
        let arguments: Value = serde_json::from_str(&arguments).expect("JSON");
        let words: Vec<String> = words.iter().map(|word| word.replace('@', &tree)).collect();
        let expected = rows(&site, &words);
        assert!(!expected.is_empty(), "{words:?}");
        let (found, last) = server.all(name, &arguments);
        assert_eq!(found, expected, "{name} {arguments}");
        assert_eq!(last["complete"], true, "{name}: {last}");
        assert_eq!(last["issues"], json!([]), "{name}: {last}");
        // The command line of the answer gives it again.
        let command: Vec<String> = serde_json::from_value(last["command"].clone()).expect("words");
        assert_eq!(command[0], "trawl");
        assert!(last.get("command_raw").is_none(), "{last}");
        assert_eq!(rows(&site, &command[1..]), expected, "{command:?}");
        // The same in the query of the URL, where lists are repeated parameters.
        let mut query: Vec<String> = Vec::new();
        for (argument, value) in arguments.as_object().expect("an object") {
            let values = value
                .as_array()
                .cloned()
                .unwrap_or_else(|| vec![value.clone()]);
            query.extend(values.iter().map(|value| match value {
                Value::String(text) => format!("{argument}={text}"),
                other => format!("{argument}={other}"),
            }));
        }
        let mut options = vec!["--get"];
        for parameter in &query {
            options.extend(["--data-urlencode", parameter]);
        }
        let answer = server.curl(&format!("/api/v1/{name}"), &options);
        assert_eq!(answer.json()["rows"], json!(expected), "{name} {query:?}");
    }
}

#[test]
fn contents_are_searched_and_read() {
    let Some(site) = Site::small("http-contents", SERVER) else {
        return;
    };
    let server = Server::of(&site, &Identity::Ourselves);
    let arguments = json!({"pattern": "TODO", "paths": [site.text("")], "name": "*.txt"});
    let (hits, last) = server.all("grep", &arguments);
    let lines: Vec<_> = hits
        .iter()
        .map(|hit| (hit["path"].as_str(), hit["line"].as_u64()))
        .collect();
    let (copy, guide) = (site.text("docs/copy.txt"), site.text("docs/guide.txt"));
    let expected = [(&copy, 2), (&copy, 3), (&guide, 2), (&guide, 3)];
    let expected: Vec<_> = expected
        .iter()
        .map(|(path, line)| (Some(path.as_str()), Some(*line)))
        .collect();
    assert_eq!(lines, expected, "{last}");
    let part = server
        .post("read", &json!({"path": guide, "offset": 4, "length": 2}))
        .json();
    assert_eq!(
        (&part["content"], &part["next_offset"]),
        (&json!("to"), &json!(6)),
        "{part}"
    );
}

/// The text of such a word may be that of another file, so its bytes are told, too.
#[test]
fn command_lines_have_the_bytes_of_names_that_are_not_text() {
    let stand_in = StandIn::new("http-command-raw", "echo '{\"path\":\"/srv\"}'");
    let server = Server::with(&stand_in, &[]);
    let raw = "2f7372762f626164ff";
    let page = server.post("find", &json!({"paths_raw": [raw]})).json();
    let words = |name: &str| page[name].as_array().cloned().expect("words");
    let (command, bytes) = (words("command"), words("command_raw"));
    assert_eq!(command.len(), bytes.len(), "{page}");
    for (word, bytes) in command.iter().zip(&bytes) {
        let expected = match word.as_str() == Some("/srv/bad\\xff") {
            true => json!(raw),
            false => Value::Null,
        };
        assert_eq!(*bytes, expected, "{page}");
    }
    assert!(bytes.contains(&json!(raw)), "{page}");
}

/// There may be no quotas here, so a stand-in has some; it gets the command line.
#[test]
fn quotas_are_asked_for() {
    let row = r#"{"mount":"/srv","kind":"user","id":7,"used_bytes":1}"#;
    let script = format!("printf '%s\\n' \"$*\" > words; echo '{row}'");
    let stand_in = StandIn::new("http-quota", &script);
    let server = Server::with(&stand_in, &[]);
    let (found, last) = server.all("quota", &json!({"paths": ["/srv"]}));
    let expected: Value = serde_json::from_str(row).expect("JSON");
    assert_eq!(found, [expected], "{last}");
    let words = std::fs::read_to_string(stand_in.scratch.join("words")).expect("it was run");
    assert!(words.ends_with("quota --json -- /srv\n"), "{words}");
    if !trawl_sys::quota::is_supported() {
        let why = "the kernel has no quotactl_fd, or it is not allowed here";
        trawl_testkit::Skip::new("file systems without quotas", why).say();
        return;
    }
    let Some(site) = Site::small("http-no-quota", SERVER) else {
        return;
    };
    let server = Server::of(&site, &Identity::Ourselves);
    let (found, last) = server.all("quota", &json!({"paths": ["/proc"]}));
    assert_eq!(
        (found.len(), &last["complete"]),
        (0, &json!(true)),
        "{last}"
    );
    let issue = last["issues"][0].as_str().expect("the reason");
    assert!(issue.contains("/proc keeps no quotas"), "{last}");
}

/// The description is one that typed clients can be made from: every question is in it, and every
/// reference leads somewhere.
#[test]
fn the_description_names_every_question() {
    let stand_in = StandIn::new("http-openapi", "exit 0");
    let server = Server::with(&stand_in, &[]);
    let description = server.curl("/api/v1/openapi.json", &[]).json();
    assert_eq!(description["openapi"], "3.1.0");
    let names: Vec<&str> = ASKED.iter().map(|asked| asked.name).collect();
    for name in names
        .iter()
        .chain(&["quota", "grep", "read", "sql", "schema", "more", "me"])
    {
        let get = &description["paths"][format!("/api/v1/{name}")]["get"];
        assert!(get["responses"]["200"].is_object(), "{name}: {get}");
    }
    let mut references = Vec::new();
    collect_references(&description, &mut references);
    assert!(!references.is_empty());
    for reference in references {
        let pointer = reference.strip_prefix('#').expect("within the description");
        assert!(description.pointer(pointer).is_some(), "{reference}");
    }
}

fn collect_references(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| match value {
            Value::String(reference) if name == "$ref" => into.push(reference.clone()),
            other => collect_references(other, into),
        }),
        Value::Array(list) => list
            .iter()
            .for_each(|value| collect_references(value, into)),
        _ => {}
    }
}

#[test]
fn the_server_says_as_whom_it_answers() {
    let stand_in = StandIn::new("http-me", "exit 0");
    let server = Server::with(&stand_in, &[]);
    let me = server.curl("/api/v1/me", &[]).json();
    let printed = |words: &[&str]| {
        let (program, options) = words.split_first().expect("words");
        oracle::run(oracle::command(program).args(options))
            .text()
            .trim_end()
            .to_owned()
    };
    assert_eq!(me["uid"].to_string(), printed(&["id", "-u"]));
    assert_eq!(me["user"], printed(&["id", "-un"]));
    assert_eq!(me["host"], printed(&["uname", "-n"]));
}
