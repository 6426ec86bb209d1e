//! What tools answer is what the command line answers.

use serde_json::{Value, json};
use trawl_testkit::oracle::{self, Identity, gnu};
use trawl_testkit::site::{ASKED, Asked, Site};

use crate::client::Client;
use crate::site::{Ask, SERVER};

fn with_tree(value: &Value, tree: &str) -> Value {
    match value {
        Value::String(text) => text.replace('@', tree).into(),
        Value::Array(list) => list.iter().map(|one| with_tree(one, tree)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter();
            fields
                .map(|(name, one)| (name.clone(), with_tree(one, tree)))
                .collect()
        }
        other => other.clone(),
    }
}

#[test]
fn tools_answer_as_the_command_line_does() {
    let Some(site) = Site::changed("mcp-equality", SERVER) else {
        return;
    };
    let tree = site.text("");
    let mut client = site.client();
    for Asked {
        tool,
        arguments,
        words,
        ..
    } in ASKED
    {
        let given = serde_json::from_str(arguments).expect("JSON");
        let (rows, last) = client.all(tool, with_tree(&given, &tree));
        let words: Vec<String> = words.iter().map(|word| word.replace('@', &tree)).collect();
        assert_eq!(rows, site.rows(&words), "{tool} {arguments}");
        assert!(!rows.is_empty(), "{tool} {arguments}");
        assert_eq!(last["complete"], true, "{tool}: {last}");
        assert_eq!(last["issues"], json!([]), "{tool}: {last}");
        if !["sources", "growth", "changes", "history"].contains(tool) {
            assert_eq!(last["as_of"][0]["place"], tree.as_str(), "{tool}: {last}");
        }
    }
}

#[test]
fn searches_find_what_gnu_find_finds() {
    let Some(site) = Site::small("mcp-find", SERVER) else {
        return;
    };
    let (rows, _) = site
        .client()
        .all("search", json!({"paths": [site.text("")], "types": "f,l"}));
    let mut found: Vec<&str> = rows.iter().filter_map(|row| row["path"].as_str()).collect();
    found.sort_unstable();
    let tree = site.text("");
    let ran = gnu(
        "find",
        [tree.as_str(), "-type", "f,l"],
        &site.tree(),
        &Identity::Ourselves,
    );
    let text = ran.text();
    let mut expected: Vec<&str> = text.lines().collect();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn contents_are_those_that_gnu_grep_finds() {
    let Some(site) = Site::small("mcp-grep", SERVER) else {
        return;
    };
    let mut client = site.client();
    let tree = site.text("");
    let (rows, last) = client.all("content", json!({"pattern": "TODO", "paths": [tree]}));
    let field =
        |row: &serde_json::Map<String, Value>, name: &str| row[name].as_str().map(str::to_owned);
    let shown = rows.iter().filter_map(|row| {
        let (path, text) = (field(row, "path")?, field(row, "text")?);
        Some(format!("{path}:{}:{text}", row["line"]))
    });
    let mut found: Vec<String> = shown.collect();
    found.sort();
    let ran = gnu(
        "grep",
        ["-rn", "TODO", &site.text("")],
        &site.tree(),
        &Identity::Ourselves,
    );
    let text = ran.text();
    let mut expected: Vec<&str> = text.lines().collect();
    expected.sort_unstable();
    assert_eq!(found, expected);
    assert_eq!(last["complete"], true, "{last}");

    let arguments = json!({"pattern": "todo", "any_case": true, "paths": [site.text("docs")], "names_only": true});
    let (rows, _) = client.all("content", arguments);
    let expected = ["copy.txt", "guide.txt"].map(|name| site.text(&format!("docs/{name}")));
    let found: Vec<&str> = rows.iter().filter_map(|row| row["path"].as_str()).collect();
    assert_eq!(found, expected);

    let nothing = client.ask(
        "content",
        json!({"pattern": "nowhere", "paths": [site.text("")]}),
    );
    assert_eq!(
        (&nothing["rows"], &nothing["complete"]),
        (&json!([]), &json!(true)),
        "{nothing}"
    );
    let wrong = client.refusal("content", json!({"pattern": "(", "paths": [site.text("")]}));
    assert!(
        wrong.contains("regex") || wrong.contains("pattern"),
        "{wrong}"
    );
}

#[test]
fn files_are_read_in_parts() {
    let Some(site) = Site::small("mcp-read", SERVER) else {
        return;
    };
    let mut client = site.client();
    let part = client.ask(
        "read",
        json!({"path": site.text("docs/guide.txt"), "offset": 7, "length": 4}),
    );
    assert_eq!(part["content"], "TODO");
    assert_eq!((&part["length"], &part["size"]), (&json!(4), &json!(23)));
    assert_eq!(part["next_offset"], 11);
    let why = client.refusal("read", json!({"path": site.text("link")}));
    assert!(why.contains("symbolic link"), "{why}");
}

#[test]
fn the_index_is_the_one_that_the_command_was_given() {
    let Some(site) = Site::small("mcp-index", SERVER) else {
        return;
    };
    let mut command = oracle::command(&site.trawl);
    command.arg("-i").arg(site.scratch.join("index")).arg("mcp");
    let (rows, _) = Client::start(&mut command).all("sources", json!({}));
    assert_eq!(rows, site.rows(&["sources", "--json"]));
    assert_eq!(rows[0]["root"], site.text(""));
}

/// A tool whose answer cannot be whole says so, with the message of the command.
#[test]
fn missing_parts_are_told() {
    let Some(site) = Site::small("mcp-missing", SERVER) else {
        return;
    };
    let paths = json!([site.text("src"), site.text("nowhere")]);
    let page = site.client().ask("size", json!({"paths": paths}));
    assert_eq!(page["rows"].as_array().map(Vec::len), Some(1), "{page}");
    assert_eq!(page["complete"], false);
    assert!(
        page["issues"][0]
            .as_str()
            .expect("a text")
            .contains("nowhere"),
        "{page}"
    );
}

/// `trawl-sql` is compiled apart.
#[test]
fn sql_answers_as_the_command_line_does() {
    let Some(site) = Site::small("mcp-sql", SERVER) else {
        return;
    };
    let ran =
        trawl_testkit::oracle::run(site.command(&Identity::Ourselves).args(["sql", "SELECT 1"]));
    if ran.errors().contains("cannot run trawl-sql") {
        trawl_testkit::Skip::new("SQL", "trawl-sql is not built: make build-sql").say();
        return;
    }
    let mut client = site.client();
    let query = "SELECT path, size FROM entries WHERE type = 'f' ORDER BY size DESC, path";
    let (rows, last) = client.all("sql", json!({"query": query, "limit": 2}));
    assert_eq!(rows, site.rows(&["sql", "--json", query]));
    assert_eq!(last["complete"], true, "{last}");
    let (columns, _) = client.all("sql_schema", json!({}));
    let has = |table: &str, column: &str| {
        let mut rows = columns.iter();
        rows.any(|row| row["table"] == table && row["column"] == column)
    };
    assert!(
        has("entries", "path") && has("relations", "weight"),
        "{columns:?}"
    );
    let why = client.refusal("sql", json!({"query": "COPY entries TO '/tmp/x'"}));
    assert!(why.contains("COPY"), "{why}");
}
