//! The official Python client, which checks each answer against the schema that the tool declares.

use std::path::PathBuf;

use serde_json::{Value, json};
use trawl_testkit::site::Site;
use trawl_testkit::{Identity, Skip, oracle};

use crate::site::{Ask, SERVER};

const CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/client.py");

/// Returns the Python interpreter with the client, as `make test` installs it.
fn python() -> Result<PathBuf, Skip> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = cache.or(home).unwrap_or_default();
    let python = cache.join("trawl/tools/mcp/bin/python");
    let found = oracle::command(&python).args(["-c", "import mcp"]).output();
    match found {
        Ok(output) if output.status.success() => Ok(python),
        _ => {
            let why = format!(
                "{} has no mcp: scripts/need.sh test installs it",
                python.display()
            );
            Err(Skip::new("the Python client", why))
        }
    }
}

#[test]
fn the_python_client_gets_the_answers_of_the_command_line() {
    let python = match python() {
        Ok(python) => python,
        Err(skip) => return skip.say(),
    };
    let Some(site) = Site::small("mcp-python", SERVER) else {
        return;
    };
    let tree = site.text("");
    for mode in ["legacy", "auto"] {
        let index = site.scratch.join("index");
        let mut command = oracle::command(&python);
        command
            .arg("-B")
            .arg(CLIENT)
            .args([mode, &tree])
            .arg(&site.trawl)
            .arg("mcp");
        let ran = oracle::run(command.env("TRAWL_INDEX", index)).expect_code(0);
        let text = ran.text();
        let steps: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        let rows_of = |tool: &str| -> Vec<Value> {
            let step = steps.iter().find(|step| step["tool"] == tool).expect(tool);
            step["answer"]["rows"].as_array().expect("rows").clone()
        };
        assert!(
            steps[0]["answer"]
                .as_array()
                .expect("names")
                .contains(&json!("search"))
        );
        let expected = site.rows(&["find", "--json", &tree, "-name", "*.c"]);
        assert_eq!(json!(rows_of("search")), json!(expected), "{mode}");
        let expected = site.rows(&["top", "--json", "-n", "2", &tree]);
        assert_eq!(json!(rows_of("top")), json!(expected), "{mode}");
        assert_eq!(rows_of("content").len(), 5, "{mode}: {text}");
        assert!(
            steps.iter().any(|step| step["tool"] == "more"),
            "{mode}: {text}"
        );
        let last = steps.last().expect("steps");
        let why = last["answer"]["error"].as_str().expect("a refusal");
        assert!(why.contains("-delete"), "{mode}: {why}");
    }
    // The index is left as it is.
    let mut verify = site.command(&Identity::Ourselves);
    oracle::run(verify.arg("verify")).expect_code(0);
}
