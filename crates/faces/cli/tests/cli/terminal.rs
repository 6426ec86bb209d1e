//! Names, targets and values that contain escape sequences, with output on a terminal: no such byte
//! reaches the terminal, from any command.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use trawl_testkit::oracle;
use trawl_testkit::skip;

use crate::site::Site;

/// ESC, and C1 controls as a character and as a byte.
const ODD: &[u8] = b"e\x1b[31m\xc2\x9b32m\x9b33m";

const QUESTIONS: &[&str] = &[
    "ls -la",
    "ls -laR .",
    "ls gone*",
    "du -a",
    "du --total gone*",
    "find",
    "find -L",
    "find . -ls",
    "find . -ok true {} \\; < /dev/null",
    "find . -printf '%p %l %f %h\\n'",
    "find gone*",
    "locate 31m",
    "locate -0 31m",
    "getfattr -d -m - -R .",
    "getfattr -h -d -m - -R .",
    "getfattr -n user.none -R .",
    "getfattr -L -R .",
    "top files",
    "stats",
    "stat e* d",
    "stat -L e* l*",
    "stat -c '%n %N %m' e* l*",
    "stat gone*",
    "stat --acl e*",
    "search . '*31m*'",
    "sources",
    "gone*",
    "--gone*",
    "ls --gone*",
    "find . -gone*",
    "stats --gone*",
    "index gone*",
    "sql --gone*",
];

#[test]
fn nothing_in_a_tree_speaks_to_the_terminal() {
    if let Some(skip) = skip::without_program("a terminal", "script") {
        return skip.say();
    }
    let site = Site::empty("terminal");
    let odd = std::ffi::OsStr::from_bytes(ODD);
    let tree = site.tree();
    std::fs::create_dir_all(tree.join("d").join(odd)).expect("a directory");
    std::fs::write(tree.join(odd), "x").expect("a file");
    std::fs::write(tree.join("plain"), "x").expect("a file");
    symlink(odd, tree.join("l1")).expect("a link");
    let gone = [&b"gone"[..], ODD].concat();
    symlink(std::ffi::OsStr::from_bytes(&gone), tree.join("l2")).expect("a link");
    let value = rustix::fs::XattrFlags::empty();
    let _ = rustix::fs::setxattr(tree.join("plain"), "user.odd", ODD, value);
    let _ = rustix::fs::setxattr(tree.join(odd), "user.x", ODD, value);
    site.index();
    for question in QUESTIONS {
        let gone = "gone$(printf 'e\\033[31m\\302\\2332m\\2333m')";
        let program = env!("CARGO_BIN_EXE_trawl");
        let index = site.index_dir();
        let words = question.replace("gone*", gone);
        let line = format!("{program} -i {} {words}", index.display());
        let mut shell = oracle::command("script");
        shell
            .args(["-qec", &line, "/dev/null"])
            .env("NO_COLOR", "1");
        shell.env("SHELL", "/bin/sh").env("LC_ALL", "C.UTF-8");
        let ran = oracle::run(shell.current_dir(&tree));
        let shown = &ran.stdout;
        assert!(!shown.is_empty(), "{question}: {ran}");
        let c1 = String::from_utf8_lossy(shown);
        let speaks = shown.contains(&0x1b)
            || c1.chars().any(|c| ('\u{80}'..'\u{a0}').contains(&c))
            || shown
                .utf8_chunks()
                .any(|chunk| chunk.invalid().iter().any(|b| matches!(b, 0x80..=0x9f)));
        assert!(
            !speaks,
            "{question}: {:?}",
            shown.escape_ascii().to_string()
        );
    }
}

/// Quoted, a name keeps what tells it from others.
#[test]
fn stat_quotes_for_a_terminal_as_gnu_stat_does() {
    if let Some(skip) = skip::without_program("a terminal", "script") {
        return skip.say();
    }
    let site = Site::empty("terminal-stat");
    let tree = site.tree();
    for name in ["a\nb", "a?b", "\x1b[31m", "plain", "it's", "\u{e9}"] {
        std::fs::write(tree.join(name), "x").expect("a file");
        symlink(name, tree.join(format!("to {name}"))).expect("a link");
    }
    site.index();
    let shown = |program: &str| {
        let line = format!("{program} -c %N *");
        let mut shell = oracle::command("script");
        shell.args(["-qec", &line, "/dev/null"]);
        shell.env("SHELL", "/bin/sh").env("LC_ALL", "C.UTF-8");
        oracle::run(shell.current_dir(&tree)).expect_code(0).text()
    };
    let (program, index) = (env!("CARGO_BIN_EXE_trawl"), site.index_dir());
    let ours = shown(&format!("{program} -i {} stat", index.display()));
    assert_eq!(ours, shown("stat"));
}
