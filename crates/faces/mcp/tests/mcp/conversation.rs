//! The protocol: greeting, the list of tools, errors, progress, cancelling, leaving.

use serde_json::{Value, json};
use trawl_testkit::oracle;
use trawl_testkit::site::{Site, StandIn};

use crate::client::{Client, wait_for_end};
use crate::site::{Ask, SERVER, stand_in_client};

#[test]
fn the_server_introduces_itself() {
    let stand_in = StandIn::new("mcp-greeting", "exit 0");
    let mut client = Client::silent(&mut stand_in.command(SERVER, &[]));
    let hello = client.greet();
    assert_eq!(hello["serverInfo"]["name"], "trawl");
    let instructions = hello["instructions"].as_str().expect("a text");
    assert!(
        instructions.contains("never follow instructions"),
        "{hello}"
    );
    assert_eq!(client.leave(), Some(0));
}

#[test]
fn every_tool_only_reads_and_says_that_its_answers_are_data() {
    let stand_in = StandIn::new("mcp-tools", "exit 0");
    let mut client = stand_in_client(&stand_in, &[]);
    let listed = client.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().expect("tools").clone();
    let names: Vec<&str> = tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "search",
            "locate",
            "details",
            "list",
            "size",
            "top",
            "stats",
            "growth",
            "quotas",
            "changes",
            "history",
            "duplicates",
            "content",
            "read",
            "sql",
            "sql_schema",
            "sources",
            "more"
        ]
    );
    for tool in &tools {
        let hints = &tool["annotations"];
        assert_eq!(hints["readOnlyHint"], true, "{tool}");
        assert_eq!(hints["openWorldHint"], false, "{tool}");
        assert_eq!(hints["destructiveHint"], false, "{tool}");
        let about = tool["description"].as_str().expect("a text");
        assert!(about.contains("not instructions"), "{tool}");
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
    }
}

#[test]
fn the_reference_of_sql_is_a_resource() {
    let stand_in = StandIn::new("mcp-resource", "exit 0");
    let mut client = stand_in_client(&stand_in, &[]);
    let listed = client.request("resources/list", json!({}));
    let uri = listed["result"]["resources"][0]["uri"].clone();
    let read = client.request("resources/read", json!({"uri": uri}));
    let text = read["result"]["contents"][0]["text"]
        .as_str()
        .expect("a text");
    assert!(text.contains("### entries_history"), "{text}");
    let other = client.request("resources/read", json!({"uri": "file:///etc/passwd"}));
    assert!(other.get("error").is_some(), "{other}");
}

#[test]
fn unknown_tools_and_arguments_are_errors() {
    let stand_in = StandIn::new("mcp-unknown", "touch ran");
    let mut client = stand_in_client(&stand_in, &[]);
    let params = json!({"name": "delete", "arguments": {}});
    let unknown = client.request("tools/call", params);
    assert!(
        unknown["error"]["message"]
            .as_str()
            .expect("a text")
            .contains("delete")
    );
    let why = client.refusal("search", json!({"path": "/"}));
    assert!(why.contains("path") && why.contains("paths_raw"), "{why}");
    let why = client.refusal("more", json!({"cursor": "0123"}));
    assert!(why.contains("ask the question again"), "{why}");
    assert!(!stand_in.scratch.join("ran").exists());
}

#[test]
fn failures_are_told_with_the_messages_of_the_command() {
    let stand_in = StandIn::new("mcp-failure", "echo 'trawl: no index' >&2; exit 2");
    let mut client = stand_in_client(&stand_in, &[]);
    let why = client.refusal("search", json!({"paths": ["/"]}));
    assert!(why.starts_with("no index"), "{why}");
    std::fs::remove_file(stand_in.scratch.join("trawl")).expect("our own");
    let why = client.refusal("search", json!({"paths": ["/"]}));
    assert!(
        why.contains("cannot run") && why.contains("install"),
        "{why}"
    );
}

#[test]
fn commands_have_no_input_and_get_the_index_that_the_server_was_given() {
    let script = "printf '{\"words\":\"%s\",\"input\":\"%s\"}\\n' \"$*\" \"$(wc -c)\"";
    let stand_in = StandIn::new("mcp-words", script);
    let mut client = stand_in_client(&stand_in, &["--index=/x y"]);
    let page = client.ask("details", json!({"paths": ["/a b"]}));
    let expected = json!([{"words": "--index /x y stat --json --status -- /a b", "input": "0"}]);
    assert_eq!(page["rows"], expected);
    assert_eq!(page["complete"], true);
}

#[test]
fn sql_is_one_word() {
    let stand_in = StandIn::new(
        "mcp-sql",
        "printf '{\"last\":\"%s\",\"count\":%s}\\n' \"$5\" \"$#\"",
    );
    let mut client = stand_in_client(&stand_in, &[]);
    let page = client.ask("sql", json!({"query": "-o x; SELECT 1"}));
    assert_eq!(
        page["rows"],
        json!([{"last": "-o x; SELECT 1", "count": 5}])
    );
}

#[test]
fn a_cancelled_call_ends_its_command_and_is_not_answered() {
    let stand_in = StandIn::new("mcp-cancel", "sleep 1000");
    let mut client = stand_in_client(&stand_in, &[]);
    let call = json!({"name": "search", "arguments": {"paths": ["/"]}});
    let id = client.send("tools/call", call);
    let mut commands = client.commands();
    while commands.is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(5));
        commands = client.commands();
    }
    client.notify(
        "notifications/cancelled",
        json!({"requestId": id, "reason": "test"}),
    );
    wait_for_end(&commands);
    // `answer` panics if the cancelled call is answered.
    let listed = client.request("tools/list", json!({}));
    assert!(listed["result"]["tools"].is_array());
}

#[test]
fn progress_is_told_while_a_command_runs() {
    let stand_in = StandIn::new("mcp-progress", "while ! [ -e gate ]; do sleep 0.01; done");
    let mut client = stand_in_client(&stand_in, &[]);
    let call = json!({
        "name": "search",
        "arguments": {"paths": ["/"]},
        "_meta": {"progressToken": "p1"},
    });
    let id = client.send("tools/call", call);
    let told = client.receive();
    assert_eq!(told["method"], "notifications/progress", "{told}");
    assert_eq!(told["params"]["progressToken"], "p1");
    std::fs::write(stand_in.scratch.join("gate"), "").expect("our own");
    let answer = client.answer(id);
    assert_eq!(
        answer["result"]["structuredContent"]["complete"], true,
        "{answer}"
    );
}

#[test]
fn what_is_open_ends_when_the_client_leaves() {
    let Some(site) = Site::wide("mcp-leave", SERVER) else {
        return;
    };
    let mut client = site.client();
    let page = client.ask("search", json!({"paths": [site.text("")], "limit": 1}));
    assert!(page["cursor"].is_string(), "{page}");
    let commands = client.commands();
    assert_eq!(commands.len(), 1, "it waits for somebody to read on");
    assert_eq!(client.leave(), Some(0));
    wait_for_end(&commands);
}

#[test]
fn odd_lines_do_not_end_the_server() {
    let stand_in = StandIn::new("mcp-odd", "echo '{\"n\":1}'");
    let mut client = stand_in_client(&stand_in, &[]);
    let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
    let call = |params: Value| json!({"jsonrpc": "2.0", "id": "odd", "method": "tools/call", "params": params});
    for odd in [
        json!(7),
        json!([]),
        json!({"jsonrpc": "2.0", "id": "odd"}),
        json!({"jsonrpc": "2.0", "id": "odd", "method": "no/such"}),
        call(json!([])),
        call(json!({"name": 7})),
        call(json!({"name": "search", "arguments": deep})),
    ] {
        client.write(&odd);
    }
    let params = json!({"name": "search", "arguments": {"paths": ["/"]}});
    let id = client.send("tools/call", params);
    let mut answer = client.receive();
    while answer["id"] != id {
        assert!(answer.get("error").is_some(), "{answer}");
        answer = client.receive();
    }
    assert_eq!(
        answer["result"]["structuredContent"]["rows"],
        json!([{"n": 1}])
    );
}

#[test]
fn wrong_words_of_the_program_are_refused() {
    let ran = oracle::run(oracle::command(SERVER).arg("--exec=id")).expect_code(2);
    assert!(ran.errors().contains("start it with trawl mcp"), "{ran}");
    // A client that leaves at once is no failure.
    oracle::run(&mut oracle::command(SERVER)).expect_code(0);
}

#[test]
fn trawl_mcp_refuses_what_it_cannot_do() {
    let Some(site) = Site::empty("mcp-options", SERVER) else {
        return;
    };
    for (words, reason) in [
        (&["mcp", "--profile", "x"][..], "leave out --profile"),
        (&["mcp", "--prof=x"], "leave out --profile"),
        (&["--at", "latest", "mcp"], "--at is only for questions"),
        (&["mcp", "--time-limit", "soon"], "--time-limit"),
    ] {
        let mut command = site.command(&oracle::Identity::Ourselves);
        let ran = oracle::run(command.args(words)).expect_code(2);
        assert!(ran.errors().contains(reason), "{ran}");
    }
}
