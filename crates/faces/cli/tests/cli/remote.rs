//! `trawl search --remote`: over standard input and output and at a socket, as other users.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use trawl_testkit::oracle::{self, Identity};
use trawl_testkit::{Scratch, skip};

use crate::site::Site;

const TRAWL: &str = env!("CARGO_BIN_EXE_trawl");

#[test]
fn a_server_prints_what_the_walk_does() {
    let site = Site::empty("remote");
    for name in ["a/x.c", "a/b/y.c", "z"] {
        let path = site.tree().join(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("room");
        fs::write(path, name).expect("room");
    }
    let tree = site.tree().display().to_string();
    for words in ["*", "-m x.c", "-f -r *.c"] {
        let ask = |how: &str| site.run(&format!("search --status {how} {words} {tree}"));
        let live = ask("--served-by live").expect_code(0);
        let mut command = site.command();
        command.args(["search", "--status", "--remote"]);
        command.arg(format!("command:{TRAWL} serve --stdio"));
        let ran = oracle::run(command.args(words.split(' ')).arg(&tree)).expect_code(0);
        assert_eq!(ran.text(), live.text());
        assert!(ran.errors().contains("answered by: remote"), "{ran}");
    }
    // Called as the daemon, with an export.
    let daemon = site.scratch.join("trawld");
    std::os::unix::fs::symlink(TRAWL, &daemon).expect("room");
    let server = format!("command:{} --stdio --export t={tree}", daemon.display());
    let ask = |path: &str| {
        oracle::run(
            site.command()
                .args(["search", "--remote", &server, "x.c", path]),
        )
    };
    assert_eq!(ask("/t").expect_code(0).text(), "a/x.c\n");
    assert_eq!(ask(&tree).expect_code(1).text(), "");
    let ran = site.run("search --remote command:true x /").expect_code(2);
    assert!(
        ran.errors()
            .contains("ended before its answer was complete"),
        "{ran}"
    );
    let ran = site.run("search --remote nowhere x /").expect_code(2);
    assert!(ran.errors().contains("unix:PATH"), "{ran}");
}

/// A server that ends with the test.
pub(crate) struct Listening(Child);

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn listen(program: &Path, socket: &Path) -> Listening {
    let address = format!("--listen=unix:{}", socket.display());
    let child = oracle::command(program).args(["serve", &address]).spawn();
    let server = Listening(child.expect("it starts"));
    let until = Instant::now() + Duration::from_secs(60);
    while !socket.exists() {
        assert!(Instant::now() < until, "it does not listen");
        std::thread::sleep(Duration::from_millis(5));
    }
    server
}

#[test]
fn each_user_is_shown_what_the_kernel_shows_them() {
    if let Some(skip) = skip::without_root("searches of other users at a socket") {
        skip.say();
        return;
    }
    let scratch = Scratch::new("remote-users");
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("our own")
    };
    mode(scratch.path(), 0o755);
    let program: PathBuf = scratch.install(Path::new(TRAWL));
    let tree = scratch.join("tree");
    for (name, bits, group) in [
        ("open", 0o755, 0),
        ("shut", 0o700, 0),
        ("group", 0o750, 4720),
        ("passed", 0o711, 0),
    ] {
        let dir = tree.join(name);
        fs::create_dir_all(&dir).expect("room");
        fs::write(dir.join("file"), "x").expect("room");
        std::os::unix::fs::chown(&dir, Some(0), Some(group)).expect("root may");
        mode(&dir, bits);
    }
    let socket = scratch.join("socket");
    let _server = listen(&program, &socket);
    let address = format!("unix:{}", socket.display());
    let member = Identity::Other {
        uid: 4711,
        gid: 4711,
        groups: vec![4720],
    };
    let mut shown = Vec::new();
    for who in [Identity::Ourselves, Identity::user(4711), member] {
        let find = oracle::gnu(
            "find",
            [".", "-name", "file", "-printf", "%P\\n"],
            &tree,
            &who,
        );
        let mut command = who.command(&program);
        command
            .args(["search", "--remote", &address, "file"])
            .arg(&tree);
        let ran = oracle::run(&mut command);
        let sorted = |text: String| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        // A directory that may be traversed has the name that is searched for.
        let mut wanted = sorted(find.text());
        if !wanted.contains(&"passed/file".to_owned()) {
            wanted.push("passed/file".into());
            wanted.sort();
        }
        let mut found = sorted(ran.text());
        if !found.contains(&"passed/file".to_owned()) {
            found.push("passed/file".into());
            found.sort();
        }
        assert_eq!(found, wanted, "{ran}");
        shown.push(found.len());
    }
    assert_eq!(shown, [4, 2, 3]);
}
