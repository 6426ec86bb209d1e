//! Names stay text: nothing that a user of the file system writes is markup, or hides anything.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use trawl_testkit::oracle::Identity;
use trawl_testkit::site::Site;

use crate::{TRAWL, page, report};

/// Names, and how they are shown.
const NAMES: &[(&[u8], &str)] = &[
    (
        b"<img src=x onerror=alert(1)>",
        "<img src=x onerror=alert(1)>",
    ),
    (b"\"><script>alert(1)<", "\"><script>alert(1)<"),
    (b"' onload='alert(1)", "' onload='alert(1)"),
    (b"&lt;b&gt;&#60;", "&lt;b&gt;&#60;"),
    (b"new\nline", "new\\nline"),
    (b"\r\nBcc: eve@example.org", "\\r\\nBcc: eve@example.org"),
    (b"escape\x1b]0;title\x07", "escape\\x1b]0;title\\x07"),
    (
        "exe\u{202e}fdp.\u{2066}txt".as_bytes(),
        "exe\\u202efdp.\\u2066txt",
    ),
    (
        "zero\u{200b}width\u{feff}".as_bytes(),
        "zero\\u200bwidth\\ufeff",
    ),
    (b"not\xfftext\xc3", "not\\xfftext\\xc3"),
    (b" space ", "␠space␠"),
    ("שלום 漢字 é".as_bytes(), "שלום 漢字 é"),
    (b"]]>-->", "]]>-->"),
    (b"--option", "--option"),
];

#[test]
fn names_are_shown_and_nothing_else() {
    let Some(site) = Site::empty("report-hostile", TRAWL) else {
        return;
    };
    for (name, _) in NAMES {
        let name = OsStr::from_bytes(name);
        // A file and a directory of that name, and a file of it as an extension; large enough for
        // duplicates.
        site.write(name, vec![b'x'; 1 << 20]);
        site.write(
            std::path::Path::new("dirs").join(name).join(name),
            vec![b'x'; 1 << 20],
        );
        let mut extension = std::ffi::OsString::from("a.");
        extension.push(name);
        site.write(std::path::Path::new("ext").join(extension), "x");
    }
    site.index();
    site.write("dirs/later", "");
    std::fs::remove_dir_all(site.path("ext")).expect("our own");
    site.index();
    let tree = site.text("");
    let ran = report(&site, &Identity::Ourselves, &["-n", "100", &tree]).expect_code(0);
    let text = ran.text();
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
    for hidden in ['\u{202e}', '\u{2066}', '\u{200b}', '\u{feff}', '\u{fffd}'] {
        assert!(!text.contains(hidden), "{hidden:?}");
    }
    let page = page::read(&text);
    for (name, shown) in NAMES {
        // The last spaces of a path are those of the name; the first are within it.
        let inner = shown.trim_start_matches('␠').trim_end_matches('␠');
        let files = page.section("files").rows("Largest files");
        let is_shown = files.iter().any(|row| row[0].contains(inner));
        assert!(is_shown, "{shown} in {files:?}");
        let rows = page.section("directories").rows("Largest directories");
        assert!(rows.iter().any(|row| row[0].contains(inner)), "{shown}");
        let rows = page.section("cold").rows("Directories with most cold data");
        assert_eq!(rows.len(), 2, "{:?}", String::from_utf8_lossy(name));
        let rows = page.section("duplicates").rows("Same size");
        assert!(rows.iter().any(|row| row[0].contains(inner)), "{shown}");
    }
}

#[test]
fn a_hostile_path_of_the_question_is_text() {
    let Some(site) = Site::empty("report-hostile-path", TRAWL) else {
        return;
    };
    for (name, _) in NAMES.iter().filter(|(name, _)| !name.contains(&b'\0')) {
        let name = OsStr::from_bytes(name);
        site.write(std::path::Path::new("top").join(name).join("sub/f"), "x");
    }
    site.index();
    site.index();
    for (name, shown) in NAMES {
        let mut command = site.command(&Identity::Ourselves);
        command.args(["report", "--"]).arg(OsStr::from_bytes(name));
        command.current_dir(site.path("top"));
        let ran = trawl_testkit::oracle::run(&mut command).expect_code(0);
        let page = page::read(&ran.text());
        let inner = shown.trim_start_matches('␠').trim_end_matches('␠');
        assert!(page.heading.contains(inner), "{}", page.heading);
        assert_eq!(page.title, page.heading);
        // The command line can be copied.
        let line = page.section("files").commands[0].replacen("trawl", "echo", 1);
        let mut command = Identity::Ourselves.command("bash");
        command.args([
            "-c",
            &format!("for last in {line}; do :; done; printf %s \"$last\""),
        ]);
        let echoed = trawl_testkit::oracle::run(&mut command).expect_code(0);
        let expected = match name.starts_with(b"-") {
            true => [b"./", *name].concat(),
            false => name.to_vec(),
        };
        assert_eq!(echoed.stdout, expected, "{line}");
    }
}
