//! Whole answers: the bytes of the command line, and broken off where something is missing.

use serde_json::{Value, json};
use trawl_testkit::oracle::{self, Identity};
use trawl_testkit::site::{ASKED, Asked, Site, StandIn};

use crate::client::{SERVER, Server};

/// What curl says of a transfer that ended early.
const BROKEN_OFF: [i32; 2] = [18, 56];

#[test]
fn downloads_are_what_the_command_line_writes() {
    let Some(site) = Site::wide("http-downloads", SERVER) else {
        return;
    };
    let server = Server::of(&site, &Identity::Ourselves);
    let tree = site.text("");
    for (name, format, media_type, words) in [
        (
            "find",
            "jsonl",
            "application/jsonl",
            &["find", "--json"][..],
        ),
        (
            "find",
            "csv",
            "text/csv; charset=utf-8; header=present",
            &["find", "--csv"],
        ),
        (
            "find",
            "arrow",
            "application/vnd.apache.arrow.stream",
            &["find", "--arrow"],
        ),
        (
            "du",
            "csv",
            "text/csv; charset=utf-8; header=present",
            &["du", "--csv", "--max-depth=0"],
        ),
    ] {
        let expected = oracle::run(site.command(&Identity::Ourselves).args(words).arg(&tree));
        let arguments = json!({"paths": [tree], "format": format});
        let answer = server.post(name, &arguments);
        assert_eq!((answer.status, answer.code), (200, Some(0)), "{arguments}");
        assert_eq!(answer.header("content-type"), [media_type]);
        let disposition = format!("attachment; filename=\"trawl-{name}.{format}\"");
        assert_eq!(answer.header("content-disposition"), [disposition]);
        assert!(
            answer.body == expected.stdout,
            "{name} {format}: {} bytes",
            answer.body.len()
        );
        let told = server.curl(
            &format!("/api/v1/{name}?paths={tree}&format={format}"),
            &["--header", "TE: trailers"],
        );
        assert_eq!(told.header("trawl-complete"), ["true"], "{told:?}");
        assert!(told.body == expected.stdout, "{name} {format}");
    }
}

/// The description names formats for each question: those of its command.
#[test]
fn every_question_has_the_formats_that_the_description_names() {
    let Some(site) = Site::changed("http-formats", SERVER) else {
        return;
    };
    let server = Server::of(&site, &Identity::Ourselves);
    let tree = site.text("");
    let description = server.curl("/api/v1/openapi.json", &[]).json();
    for Asked {
        name,
        arguments,
        words,
        ..
    } in ASKED
    {
        let pointer = format!("/paths/~1api~1v1~1{name}/get/parameters");
        let parameters = description.pointer(&pointer).and_then(Value::as_array);
        let mut parameters = parameters.expect("parameters").iter();
        let format = parameters.find(|parameter| parameter["name"] == "format");
        let named = &format.expect("a format")["schema"]["enum"];
        for (format, option) in [
            ("jsonl", "--json"),
            ("csv", "--csv"),
            ("arrow", "--arrow"),
            ("parquet", "--format=parquet"),
        ] {
            let mut arguments: Value =
                serde_json::from_str(&arguments.replace('@', &tree)).expect("JSON");
            arguments["format"] = format.into();
            let answer = server.post(name, &arguments);
            let is_sql = words.first() == Some(&"sql");
            let words = words.iter().map(|word| match *word {
                "--json" => option.to_owned(),
                other => other.replace('@', &tree),
            });
            let expected = oracle::run(site.command(&Identity::Ourselves).args(words));
            let is_named = named.as_array().expect("a list").contains(&format.into());
            // Wrong usage ends with 2: the command has no such option. Only `sql` takes it for a form of
            // rows; `--format` of `stat` is a text.
            let is_known = match format {
                "parquet" => is_sql,
                _ => expected.code != Some(2),
            };
            assert_eq!(is_named, is_known, "{name} {format}: {expected}");
            match is_named {
                true => assert!(
                    answer.body == expected.stdout,
                    "{name} {format}: {answer:?}"
                ),
                false => assert_eq!(answer.status, 400, "{name} {format}: {answer:?}"),
            }
        }
    }
}

/// There is no SQL engine beside these tests: what its command line is asked for is the answer here.
#[test]
fn an_answer_of_sql_is_had_as_parquet() {
    let stand_in = StandIn::new("http-parquet", "printf '%s\\n' \"$@\"");
    let server = Server::with(&stand_in, &[]);
    let answer = server.post("sql", &json!({"query": "SELECT 1", "format": "parquet"}));
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(
        answer.header("content-type"),
        ["application/vnd.apache.parquet"]
    );
    assert_eq!(
        answer.header("content-disposition"),
        ["attachment; filename=\"trawl-sql.parquet\""]
    );
    let words = String::from_utf8_lossy(&answer.body);
    let expected = ["sql", "--format=parquet", "--status", "--", "SELECT 1"];
    assert_eq!(words.lines().collect::<Vec<_>>(), expected);
    let refused = server.post("find", &json!({"paths": ["/"], "format": "parquet"}));
    assert_eq!(refused.status, 400, "{refused:?}");
}

/// A name must be no formula of the spreadsheet that somebody opens the file with.
#[test]
fn formulas_are_protected_where_that_is_wanted() {
    let Some(site) = Site::empty("http-formulas", SERVER) else {
        return;
    };
    site.write("plain", "");
    std::fs::create_dir(site.path("=1+1")).expect("our own");
    site.index();
    let server = Server::of(&site, &Identity::Ourselves);
    for (query, options) in [("", &[][..]), ("&spreadsheet=true", &["--spreadsheet"])] {
        let mut command = site.command(&Identity::Ourselves);
        command
            .args(["ls", "--csv", "-A"])
            .args(options)
            .arg(site.tree());
        let expected = oracle::run(&mut command).expect_code(0);
        let path = format!("/api/v1/ls?paths={}&format=csv{query}", site.text(""));
        assert_eq!(
            server.curl(&path, &[]).body.escape_ascii().to_string(),
            expected.stdout.escape_ascii().to_string()
        );
    }
    let answer = server.curl("/api/v1/ls?paths=/&format=csv&spreadsheet=1", &[]);
    assert_eq!(answer.status, 400, "{answer:?}");
}

/// No client takes a part of an answer for the whole.
#[test]
fn an_incomplete_download_is_broken_off() {
    let script = "echo '{\"n\":1}'; echo 'trawl: /x: permission denied' >&2; exit 1";
    let stand_in = StandIn::new("http-broken", script);
    let server = Server::with(&stand_in, &[]);
    let broken = server.curl("/api/v1/find?paths=/&format=jsonl", &[]);
    assert!(
        broken.code.is_some_and(|code| BROKEN_OFF.contains(&code)),
        "{broken:?}"
    );
    let partial = server.curl(
        "/api/v1/find?paths=/&format=jsonl&partial=true",
        &["--header", "TE: trailers"],
    );
    assert_eq!(
        (partial.code, &partial.body[..]),
        (Some(0), &b"{\"n\":1}\n"[..]),
        "{partial:?}"
    );
    assert_eq!(partial.header("trawl-complete"), ["false"], "{partial:?}");
}

#[test]
fn a_command_that_is_killed_breaks_the_download_off() {
    let stand_in = StandIn::new("http-killed", "echo '{\"n\":1}'; kill -9 $$");
    let server = Server::with(&stand_in, &[]);
    for query in ["", "&partial=true"] {
        let broken = server.curl(&format!("/api/v1/find?paths=/&format=jsonl{query}"), &[]);
        assert!(
            broken.code.is_some_and(|code| BROKEN_OFF.contains(&code)),
            "{broken:?}"
        );
    }
}

#[test]
fn a_command_that_fails_at_once_is_an_error() {
    let stand_in = StandIn::new("http-failed", "echo 'trawl: no index' >&2; exit 2");
    let server = Server::with(&stand_in, &[]);
    for query in ["", "&format=jsonl", "&format=csv&partial=true"] {
        let answer = server.curl(&format!("/api/v1/find?paths=/{query}"), &[]);
        assert_eq!(answer.status, 422, "{answer:?}");
        assert!(
            answer.json()["detail"].to_string().contains("no index"),
            "{answer:?}"
        );
    }
    let text = String::from_utf8(server.curl("/metrics", &[]).body).expect("text");
    let line = "trawl_web_questions_total{question=\"find\",outcome=\"failed\"} 3";
    assert!(text.lines().any(|known| known == line), "{text}");
}

/// Programs ask for the head of a file before they read it.
#[test]
fn asking_for_the_head_runs_nothing() {
    let stand_in = StandIn::new("http-head", "touch ran");
    let server = Server::with(&stand_in, &[]);
    for (query, media_type) in [
        ("&format=csv", "text/csv; charset=utf-8; header=present"),
        ("", "application/json"),
    ] {
        let answer = server.curl(&format!("/api/v1/find?paths=/{query}"), &["--head"]);
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.header("content-type"), [media_type]);
        // A length would be that of an answer that nobody has made.
        assert_eq!(answer.header("content-length"), [""; 0], "{answer:?}");
        assert_eq!(answer.header("accept-ranges"), ["none"], "{answer:?}");
    }
    // A document that is the same for each request has a length.
    let whole = server.curl("/api/v1/openapi.json", &[]).body.len();
    let head = server.curl("/api/v1/openapi.json", &["--head"]);
    assert_eq!(head.header("content-length"), [whole.to_string()]);
    assert_eq!(server.curl("/api/v1/find?paths=x", &["--head"]).status, 400);
    assert!(!stand_in.scratch.join("ran").exists());
}
