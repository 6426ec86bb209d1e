//! Damaged recordings of trees.

use std::fs;

use crate::site::{Site, ask};

/// Returns a line of a trace, with its fields after the path.
fn line(path: &str, kind: char, mode: u32) -> String {
    let rs = '\u{1e}';
    let link = if kind == 'l' {
        "000fthe-link-target"
    } else {
        "0000"
    };
    let fields = format!(
        "{kind}|77|{mode}|1|0|0|5|4096|8|1700000000|1700000001|1700000002|{link}|00040000|0|0|0|0|0|0000|0000|1|\n"
    );
    format!(
        "{:04x}{path}{rs}{}",
        path.len(),
        fields.replace('|', &rs.to_string())
    )
}

fn trace() -> Vec<String> {
    vec![
        line("", 'd', 0o040755),
        line("one", 'f', 0o100644),
        line("two", 'f', 0o100644),
        line("sub", 'd', 0o040755),
        line("sub/three", 'f', 0o100644),
        line("sub/link", 'l', 0o120777),
    ]
}

#[test]
fn damaged_lines_are_issues_with_their_numbers() {
    let site = Site::new("traces");
    let file = site.scratch.join("home.trace");
    let file = file.to_str().expect("our own name");
    let scan = ["index", "--from-trace", file, "--root", "/home"];
    fs::write(file, trace().concat()).expect("a file");
    site.trawl(scan).expect_code(0);
    let whole = site.trawl(["find", "/home"]).expect_code(0).text();
    assert_eq!(whole.lines().count(), 6, "{whole}");
    type Damage = fn(&str) -> String;
    let damages: [(&str, Damage); 6] = [
        ("no length", |line| line[4..].to_owned()),
        ("a length that is no number", |line| {
            format!("zz{}", &line[2..])
        }),
        ("a length beyond the line", |line| {
            format!("7fff{}", &line[4..])
        }),
        ("cut", |line| line[..line.len() / 2].to_owned() + "\n"),
        ("a mode that is no number", |line| {
            line.replacen("\u{1e}33188\u{1e}", "\u{1e}rw-r--r--\u{1e}", 1)
        }),
        ("a number too large", |line| {
            line.replacen("\u{1e}77\u{1e}", "\u{1e}99999999999999999999999\u{1e}", 1)
        }),
    ];
    for (what, damage) in damages {
        let mut lines = trace();
        lines[2] = damage(&lines[2]);
        fs::write(file, lines.concat()).expect("our own");
        let scanned = site.trawl(scan);
        assert_eq!(scanned.code, Some(1), "{what}: {scanned}");
        assert!(scanned.errors().contains("line 3"), "{what}: {scanned}");
        let rest = site.trawl(["find", "/home"]).text();
        assert_eq!(rest, whole.replace("/home/two\n", ""), "{what}");
    }
}

#[test]
fn traces_that_hold_nothing_leave_the_previous_snapshot() {
    let site = Site::new("nothing");
    let file = site.scratch.join("home.trace");
    let file = file.to_str().expect("our own name");
    let scan = ["index", "--from-trace", file, "--root", "/home"];
    fs::write(file, trace().concat()).expect("a file");
    site.trawl(scan).expect_code(0);
    let whole = site.trawl(["find", "/home"]).expect_code(0).text();
    for bytes in [&b""[..], b"\n", b"\0\0\0\0", &[0xff; 5000], b"0000"] {
        fs::write(file, bytes).expect("our own");
        let scanned = site.trawl(scan).expect_code(2);
        assert!(scanned.errors().contains("home.trace"), "{scanned}");
        assert_eq!(site.trawl(["find", "/home"]).expect_code(0).text(), whole);
    }
    let absent = ask(&site.index(), ["index", "--from-trace", "/absent.trace"]).expect_code(2);
    assert!(absent.errors().contains("/absent.trace"), "{absent}");
}
