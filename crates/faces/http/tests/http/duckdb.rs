//! DuckDB, which reads answers as tables through its extension httpfs: it asks for the head first, and
//! would take parts of files.

use std::process::Command;

use serde_json::{Value, json};
use trawl_testkit::oracle::{self, Identity};
use trawl_testkit::site::{Site, StandIn};
use trawl_testkit::{Skip, skip};

use crate::client::{SERVER, Server};
use crate::clients::{ROOT, steps, tools};
use crate::equality::rows;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// Names that a reader of CSV could take for something else.
const ODD_NAMES: [&str; 6] = [
    "a,b",
    "say \"this\"",
    "two\nlines",
    "semi;colon",
    "'quoted'",
    "1.5",
];

/// Returns the Python interpreter that has DuckDB with the extension.
fn python(test: &str) -> Option<Command> {
    let python = tools().join("httpfs/bin/python");
    let mut probe = oracle::command(&python);
    let found = probe
        .args(["-c", "import duckdb, duckdb_extension_httpfs"])
        .output();
    if found.is_ok_and(|output| output.status.success()) {
        let mut command = oracle::command(python);
        command.arg("-B");
        return Some(command);
    }
    let python = python.display();
    let why = format!("{python} has no DuckDB with httpfs: scripts/need.sh test installs it");
    Skip::new(test, why).say();
    None
}

/// Writes the token to a file that only this user can open, and returns the option that names it.
fn token_option(scratch: &trawl_testkit::Scratch, owner: Option<u32>) -> String {
    let file = scratch.join("token");
    std::fs::write(&file, TOKEN).expect("our own");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&file, mode).expect("our own");
    std::os::unix::fs::chown(&file, owner, owner).expect("our own");
    format!("--token-file={}", file.display())
}

/// Starts `trawl web` with the token.
fn serve(site: &Site, who: &Identity) -> Server {
    let owner = match who {
        Identity::Other { uid, .. } => Some(*uid),
        Identity::Ourselves => None,
    };
    let option = token_option(&site.scratch, owner);
    Server::silent(site.command(who).args(["web", &option]))
}

/// Runs statements after those that show the token, and returns what they give. `@` is the address of
/// the API.
#[track_caller]
fn results(python: Command, server: &Server, statements: &[&str]) -> Vec<Value> {
    let secret = format!("CREATE SECRET (TYPE http, BEARER_TOKEN '{TOKEN}', SCOPE 'http://@')");
    let all = [secret.as_str(), "SET http_retries = 0"].into_iter();
    let api = format!("http://{}/api/v1", server.address);
    let all = all.chain(statements.iter().copied());
    let all: Vec<String> = all
        .map(|text| text.replace("http://@", &format!("http://{}", server.address)))
        .map(|text| text.replace('@', &api))
        .collect();
    let mut all = steps(python, "duckdb_tables.py", &[&json!(all).to_string()]);
    let rest = all.split_off(2);
    assert!(all.iter().all(|set| set["rows"].is_array()), "{all:?}");
    rest
}

#[test]
fn duckdb_counts_and_sums_as_the_command_line_does() {
    let Some(python) = python("tables of DuckDB") else {
        return;
    };
    let Some(site) = Site::empty("http-duckdb", SERVER) else {
        return;
    };
    for number in 0..3000 {
        let content = "x".repeat(number % 97);
        site.write(format!("d{}/file-{number:04}", number % 7), content);
    }
    for name in ODD_NAMES {
        site.write(format!("odd/{name}"), name);
    }
    site.index();
    let server = serve(&site, &Identity::Ourselves);
    let tree = site.text("");
    let words = ["find", "--json", &tree, "-type", "f"].map(str::to_owned);
    let expected = rows(&site, &words);
    let sizes = expected.iter().map(|row| row["size"].as_u64());
    let size: u64 = sizes.map(|size| size.expect("a size")).sum();
    let expected = json!({"rows": [[expected.len(), size]]});
    let url = format!("@/find?paths={tree}&types=f");
    let ask = |from: &str| format!("SELECT count(*), sum(size) FROM {from}");
    let lines = format!("read_json('{url}&format=jsonl', format = 'newline_delimited')");
    let page =
        format!("(SELECT unnest(rows, recursive := true) FROM read_json('{url}&limit=10000'))");
    let asked = [
        ask(&format!("read_csv('{url}&format=csv')")),
        ask(&lines),
        ask(&page),
        format!("SELECT path FROM {lines} WHERE path LIKE '%/odd/%' ORDER BY path"),
        format!("SELECT size FROM read_csv('@/du?paths={tree}&max_depth=0&format=csv')"),
        "SET force_download = true".to_owned(),
        ask(&format!("read_csv('{url}&format=csv')")),
        ask(&page),
    ];
    let asked: Vec<&str> = asked.iter().map(String::as_str).collect();
    let found = results(python, &server, &asked);
    for at in [0, 1, 2, 6, 7] {
        assert_eq!(found[at], expected, "{}", asked[at]);
    }
    let mut names = ODD_NAMES.map(|name| json!([site.text(&format!("odd/{name}"))]));
    names.sort_by_key(ToString::to_string);
    let mut odd = found[3]["rows"].as_array().expect("rows").clone();
    odd.sort_by_key(ToString::to_string);
    assert_eq!(odd, names);
    let words = ["du", "--json", "--max-depth=0", &tree].map(str::to_owned);
    let du = rows(&site, &words);
    assert_eq!(found[4], json!({"rows": [[du[0]["size"]]]}));
}

/// Something that cannot be read is an error, and no short table.
#[test]
fn duckdb_takes_no_part_for_the_whole() {
    let test = "incomplete answers in DuckDB";
    if let Some(skip) = skip::without_root(test) {
        return skip.say();
    }
    let Some(python) = python(test) else {
        return;
    };
    let Some(site) = Site::guarded("http-duckdb-guarded", SERVER) else {
        return;
    };
    let server = serve(&site, &Identity::user(60_001));
    let (tree, open) = (site.text(""), site.text("open"));
    let ask = |paths: &str, format: &str| {
        let read = match format {
            "csv" => "read_csv",
            _ => "read_json",
        };
        format!("SELECT count(*) FROM {read}('@/find?paths={paths}&format={format}')")
    };
    let asked = [
        ask(&tree, "csv"),
        ask(&tree, "jsonl"),
        ask(&tree, "jsonl&partial=true"),
        ask(&open, "csv"),
    ];
    let asked: Vec<&str> = asked.iter().map(String::as_str).collect();
    let found = results(python, &server, &asked);
    for at in [0, 1] {
        assert!(found[at]["error"].is_string(), "{}: {found:?}", asked[at]);
    }
    // Who wants a part gets it: all but `closed/secret`.
    assert_eq!(found[2], json!({"rows": [[5]]}), "{found:?}");
    assert_eq!(found[3], json!({"rows": [[3]]}), "{found:?}");
}

/// A command that fails, is killed, or says that something is missing.
#[test]
fn duckdb_fails_as_the_command_does() {
    let test = "failing commands in DuckDB";
    for (label, script) in [
        ("missing", "echo 'trawl: /x: permission denied' >&2; exit 1"),
        ("killed", "kill -9 $$"),
        ("fatal", "exit 2"),
    ] {
        let Some(python) = python(test) else {
            return;
        };
        let script = format!("echo >> \"$0.ran\"; printf 'path,size\\n/a,1\\n/b,2\\n'; {script}");
        let stand_in = StandIn::new("http-duckdb-failing", &script);
        let option = token_option(&stand_in.scratch, None);
        let server = Server::silent(&mut stand_in.command(SERVER, &[&option]));
        let ask = "SELECT count(*) FROM read_csv('@/find?paths=/&format=csv')";
        let found = results(python, &server, &[ask]);
        assert!(found[0]["error"].is_string(), "{label}: {found:?}");
        // The head runs nothing, and without retries each query asks once.
        let ran = std::fs::read_to_string(stand_in.scratch.join("trawl.ran")).expect("it ran");
        assert_eq!(ran, "\n", "{label}");
    }
}

/// The example of the document, with another address, token and directory.
#[test]
fn the_example_of_the_document_runs_in_duckdb() {
    let Some(python) = python("the example for DuckDB") else {
        return;
    };
    let Some(site) = Site::small("http-duckdb-example", SERVER) else {
        return;
    };
    let server = serve(&site, &Identity::Ourselves);
    let page = std::fs::read_to_string(format!("{ROOT}/docs/web.md")).expect("our own");
    let example = page.split("```sql\n").nth(1).expect("an example");
    let example = example.split("```").next().expect("an end");
    let example = example
        .replace(
            "http://127.0.0.1:8300",
            &format!("http://{}", server.address),
        )
        .replace("5b1c9a0f6d2e4b7f8a3c1d5e9f0b2a46", TOKEN)
        .replace("/srv", &site.text(""));
    let statements = example.split(';').map(str::trim);
    // The extension is there.
    let statements = statements.filter(|text| !text.is_empty() && !text.starts_with("INSTALL"));
    let statements: Vec<&str> = statements.collect();
    let refused = statements.last().expect("a question");
    let all = [&[*refused], &statements[..]].concat();
    let found = steps(python, "duckdb_tables.py", &[&json!(all).to_string()]);
    // Without the token.
    assert!(found[0]["error"].is_string(), "{found:?}");
    let words = ["find", "--json", &site.text(""), "-name", "*.bin"].map(str::to_owned);
    let owner = rows(&site, &words)[0]["user"].clone();
    let last = &found[statements.len()];
    assert_eq!(*last, json!({"rows": [[owner, 1, 56]]}), "{found:?}");
}
