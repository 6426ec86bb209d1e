//! `trawl hooks`.

use serde_json::Value;
use trawl_testkit::oracle::{Ran, command, run};

use crate::site::{Site, allow};

fn trawl(site: &Site, words: &[&str]) -> Ran {
    let mut trawl = command(env!("CARGO_BIN_EXE_trawl"));
    run(trawl.arg("hooks").args(words).current_dir(site.path("")))
}

fn rows(ran: &Ran) -> Vec<Value> {
    let text = ran.text();
    text.lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

#[test]
fn hooks_are_listed_with_what_they_accept() {
    let mut site = Site::new();
    site.user_hook("#!/bin/sh\n", "");
    let listed = trawl(&site, &["list", "--json", "--hooks", "hooks"]).expect_code(0);
    let rows = rows(&listed);
    let names: Vec<&str> = rows.iter().filter_map(|row| row["hook"].as_str()).collect();
    let built_in = [
        "text", "source", "document", "markup", "mail", "picture", "audio", "archive", "data",
    ];
    assert_eq!(names[..9], built_in);
    assert_eq!(names[9..], ["mine"]);
    assert_eq!(rows[9]["globs"], serde_json::json!(["*.dat"]));
    assert_eq!(rows[9]["built_in"], serde_json::json!(false));
    let text = trawl(&site, &["list"]).expect_code(0).text();
    assert!(text.contains("application/pdf"), "{text}");
}

#[test]
fn what_hooks_find_is_shown() {
    let site = Site::new();
    site.write("a.md", "# A title\n\nSee [b](b.md).\n");
    let ran = trawl(&site, &["run", "--json", "a.md"]).expect_code(0);
    let rows = rows(&ran);
    assert_eq!(rows[0]["path"], serde_json::json!("a.md"));
    assert_eq!(rows[0]["mime_type"], serde_json::json!("text/markdown"));
    assert_eq!(
        rows[0]["attributes"],
        serde_json::json!([{"name": "title", "type": "text", "values": ["A title"]}])
    );
    let relation = serde_json::json!([{"kind": "links-to", "target": "b.md"}]);
    assert_eq!(rows[0]["relations"], relation);
    let text = trawl(&site, &["run", "a.md"]).expect_code(0).text();
    assert!(text.contains("title = A title"), "{text}");
}

#[test]
fn problems_end_with_exit_code_1() {
    let site = Site::new();
    site.write("a.pdf", "%PDF-1.4\nnothing\n");
    let ran = trawl(&site, &["run", "a.pdf", "gone"]).expect_code(1);
    assert!(ran.errors().contains("a.pdf: document: "), "{ran}");
    assert!(
        ran.errors().contains("cannot read gone: no such file"),
        "{ran}"
    );
    trawl(&site, &["run"]).expect_code(2);
    let ran = trawl(&site, &["list", "--hooks", "gone"]).expect_code(2);
    assert!(ran.errors().contains("gone"), "{ran}");
}

/// The example of docs/hooks.md, as printed.
#[test]
fn the_example_of_the_documentation_works() {
    let page = include_str!("../../../../../docs/hooks.md");
    let block = |begin: &str| {
        let (_, rest) = page.split_once(begin).expect("a block");
        rest.split_once("```")
            .expect("an end")
            .0
            .trim_start_matches('\n')
    };
    let site = Site::new();
    let folder = site.path("hooks");
    std::fs::create_dir(&folder).expect("a folder");
    let program = block("```python");
    let manifest = block("```toml");
    std::fs::write(folder.join("subtitles.py"), program).expect("a program");
    std::fs::write(folder.join("subtitles.toml"), manifest).expect("a manifest");
    for path in [
        &folder,
        &folder.join("subtitles.py"),
        &folder.join("subtitles.toml"),
    ] {
        allow(path);
    }
    let film = "1\n00:00:01,000 --> 00:00:02,500\nHello\n\n2\n00:01:00,000 --> 00:01:04,000\n- Who is there?\n";
    site.write("film.srt", film);
    let ran = trawl(&site, &["run", "--json", "--hooks", "hooks", "film.srt"]).expect_code(0);
    let rows = rows(&ran);
    let attributes = rows[0]["attributes"].as_array().expect("a list");
    let mine = serde_json::json!({"name": "duration", "type": "real", "values": ["64"]});
    assert!(attributes.contains(&mine), "{attributes:?}");
    assert!(
        rows[0]["text"]
            .as_str()
            .expect("text")
            .contains("Who is there?")
    );
}
