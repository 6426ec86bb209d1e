//! The clients for Python and TypeScript: they get the rows that the command line prints, and say why
//! they do not.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use trawl_testkit::Skip;
use trawl_testkit::oracle::{self, Identity};
use trawl_testkit::site::{ASKED, Site};

use crate::client::{SERVER, Server};
use crate::equality::rows;

pub(crate) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");

/// Returns the directory of what `scripts/need.sh test` has put into the cache.
pub(crate) fn tools() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    cache.or(home).unwrap_or_default().join("trawl/tools")
}

/// Returns the Python interpreter of an environment, which `make test` makes, if it has a module.
pub(crate) fn python_with(test: &str, environment: &str, module: &str) -> Result<PathBuf, Skip> {
    let python = tools().join(format!("{environment}/bin/python"));
    let found = oracle::command(&python)
        .args(["-c", &format!("import {module}")])
        .output();
    match found {
        Ok(output) if output.status.success() => Ok(python),
        _ => {
            let python = python.display();
            let why = format!("{python} has no {module}: scripts/need.sh test installs it");
            Err(Skip::new(test, why))
        }
    }
}

/// Returns the Python interpreter that has what the client needs, as `make test` installs it.
pub(crate) fn python() -> Result<Command, Skip> {
    let python = python_with("the client for Python", "client", "httpx")?;
    let mut command = oracle::command(python);
    let sources = Path::new(ROOT).join("clients/python/src");
    command.arg("-B").env("PYTHONPATH", sources);
    Ok(command)
}

/// Returns Node.js, which the client for TypeScript needs.
pub(crate) fn node() -> Result<Command, Skip> {
    match oracle::command("node").arg("--version").output() {
        Ok(output) if output.status.success() => Ok(oracle::command("node")),
        _ => Err(Skip::new(
            "the client for TypeScript",
            "node is not installed",
        )),
    }
}

/// Runs a script that asks the questions in a file, and prints a line of JSON for each step.
#[track_caller]
pub(crate) fn steps(mut command: Command, script: &str, arguments: &[&str]) -> Vec<Value> {
    let script = Path::new(ROOT)
        .join("crates/faces/http/tests/clients")
        .join(script);
    let ran = oracle::run(command.arg(script).args(arguments));
    let text = ran.expect_code(0).text();
    let lines = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    lines.collect()
}

/// Asks everything through a client, and compares the rows with those of the command line.
#[track_caller]
fn answers_as_the_command_line(label: &str, client: Result<Command, Skip>, script: &str) {
    let client = match client {
        Ok(client) => client,
        Err(skip) => return skip.say(),
    };
    let Some(site) = Site::changed(label, SERVER) else {
        return;
    };
    let server = Server::silent(site.command(&Identity::Ourselves).arg("web"));
    let tree = site.text("");
    let questions: Vec<Value> = ASKED
        .iter()
        .map(|asked| {
            let arguments = asked.arguments.replace('@', &tree);
            let mut arguments: Value = serde_json::from_str(&arguments).expect("JSON");
            // Several pages, where the limit does not choose rows.
            if !["top", "stats", "growth"].contains(&asked.name) && arguments.get("limit").is_none()
            {
                arguments["limit"] = json!(1);
            }
            json!({"name": asked.name, "arguments": arguments})
        })
        .collect();
    let questions = json!({"questions": questions, "file": site.text("docs/guide.txt")});
    let steps = steps(client, script, &[&server.link(), &questions.to_string()]);
    assert_eq!(steps.len(), ASKED.len() + 1);
    for (asked, step) in ASKED.iter().zip(&steps) {
        let words: Vec<String> = asked
            .words
            .iter()
            .map(|word| word.replace('@', &tree))
            .collect();
        assert_eq!(*step, json!(rows(&site, &words)), "{words:?}");
    }
    let part = std::fs::read_to_string(site.path("docs/guide.txt")).expect("our own");
    let whole = oracle::run(
        site.command(&Identity::Ourselves)
            .args(["find", "--csv", &tree]),
    );
    assert_eq!(
        steps[ASKED.len()],
        json!({
            "uid": rustix::process::geteuid().as_raw(),
            "ways": ["link"],
            "content": part,
            "csv": whole.text(),
            "refused": [400, "Bad Request"],
            "incomplete": true,
            "again": 403,
            "ended": 401,
        })
    );
}

#[test]
fn the_python_client_answers_as_the_command_line_does() {
    answers_as_the_command_line("http-python", python(), "ask.py");
}

#[test]
fn the_typescript_client_answers_as_the_command_line_does() {
    answers_as_the_command_line("http-typescript", node(), "ask.mjs");
}

/// The examples of the document run, against a server with the token that they name.
#[test]
fn the_examples_of_the_document_run() {
    let page = std::fs::read_to_string(Path::new(ROOT).join("docs/web.md")).expect("our own");
    let Some(site) = Site::small("http-examples", SERVER) else {
        return;
    };
    let token = "0123456789abcdef0123456789abcdef";
    let file = site.scratch.join(".trawl-token");
    std::fs::write(&file, token).expect("our own");
    let mode = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&file, mode).expect("our own");
    let server = Server::silent(
        site.command(&Identity::Ourselves)
            .args(["web".into(), format!("--token-file={}", file.display())]),
    );
    for (client, language, name) in [
        (python(), "python", "example.py"),
        (node(), "typescript", "example.mjs"),
    ] {
        let mut client = match client {
            Ok(client) => client,
            Err(skip) => {
                skip.say();
                continue;
            }
        };
        let example = page
            .split(&format!("```{language}\n"))
            .nth(1)
            .expect(language);
        let example = example.split("```").next().expect("an end");
        let example = example
            .replace(
                "http://127.0.0.1:8300",
                &format!("http://{}", server.address),
            )
            .replace(
                "'trawl-client'",
                &format!("'{ROOT}/clients/typescript/dist/index.js'"),
            )
            .replace("/srv", &site.text(""));
        let script = site.scratch.join(name);
        std::fs::write(&script, example).expect("our own");
        let ran = oracle::run(client.arg(script).env("HOME", site.scratch.path()));
        let big = format!("{} 56\n", site.text("big.bin"));
        assert_eq!(ran.expect_code(0).text(), big, "{language}");
    }
}
