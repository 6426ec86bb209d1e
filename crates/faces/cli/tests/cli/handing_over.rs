//! Commands that run a program beside `trawl` do so with the same words, and advise what to do if it is
//! missing.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use trawl_testkit::oracle;

use crate::site::Site;

#[test]
fn the_program_beside_it_gets_all_words() {
    let site = Site::empty("handing-over");
    let trawl = site.scratch.install(Path::new(env!("CARGO_BIN_EXE_trawl")));
    let ask = |words: &[&str]| {
        let mut command = oracle::command(&trawl);
        oracle::run(command.args(words).env("PATH", "/nonexistent"))
    };
    let missing = ask(&["sql", "SELECT 1"]);
    assert_eq!(missing.code, Some(2), "{missing}");
    assert!(
        missing.errors().contains("cannot run trawl-sql"),
        "{missing}"
    );
    assert!(missing.errors().contains("install it"), "{missing}");

    let program = site.scratch.join("trawl-sql");
    std::fs::write(&program, "#!/bin/sh\nprintf '%s|' \"$@\"\nexit 7\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let ran = ask(&["-i", "x", "--status", "sql", "--csv", "SELECT 1"]);
    assert_eq!(ran.text(), "-i|x|--status|sql|--csv|SELECT 1|", "{ran}");
    assert_eq!(ran.code, Some(7), "{ran}");
    let ran = ask(&["export", "--parquet", "out", "/usr"]);
    assert_eq!(ran.text(), "export|--parquet|out|/usr|", "{ran}");

    // Usage errors are reported before.
    let wrong = ask(&["sql", "--nonsense"]);
    assert_eq!(
        (wrong.code, wrong.text()),
        (Some(2), String::new()),
        "{wrong}"
    );
    let help = ask(&["sql", "--help"]);
    assert!(help.text().contains("Tables: entries"), "{help}");
}

/// docs/internals/command-line.md: "`trawl-more` is `trawl` with what takes longer to start"
#[test]
fn what_takes_longer_to_start_is_in_a_program_of_its_own() {
    let site = Site::empty("handing-over-more");
    let trawl = site.scratch.install(Path::new(env!("CARGO_BIN_EXE_trawl")));
    let ask = |words: &[&str]| {
        let mut command = oracle::command(&trawl);
        oracle::run(command.args(words).env("PATH", "/nonexistent"))
    };
    std::fs::remove_file(site.scratch.join("trawl-more")).unwrap();
    let handed_over: [&[&str]; 6] = [
        &["find", "--arrow", "/"],
        &["profile", "layers"],
        &["set", r"/srv/\-name x\"],
        &["set", "--allow-commands", "/srv/%cat list%"],
        &["grep", "-e", "x", "{http://localhost/a,b}"],
        &["-i", "index", "grep", "x", r"/srv/links.html/\\"],
    ];
    for words in handed_over {
        let missing = ask(words);
        assert_eq!(missing.code, Some(2), "{words:?}: {missing}");
        let errors = missing.errors();
        assert!(errors.contains("cannot run trawl-more"), "{missing}");
    }

    let program = site.scratch.join("trawl-more");
    std::fs::write(&program, "#!/bin/sh\nprintf '%s|' \"$@\"\nexit 7\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    for words in handed_over {
        let ran = ask(words);
        assert_eq!(ran.text(), format!("{}|", words.join("|")), "{ran}");
        assert_eq!(ran.code, Some(7), "{ran}");
    }

    // Other names of sets stay here, and so does a mistake.
    let set = ask(&["set", "{a,b}"]);
    assert_eq!((set.text(), set.code), ("a\nb\n".into(), Some(0)), "{set}");
    let wrong = ask(&["profile", "--nonsense"]);
    assert_eq!(
        (wrong.code, wrong.text()),
        (Some(2), String::new()),
        "{wrong}"
    );
}
