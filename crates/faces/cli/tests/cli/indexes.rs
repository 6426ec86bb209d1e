//! Several indexes that answer together: a user's own index hides nothing of the shared one.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use trawl_testkit::oracle::{self, Ran};
use trawl_testkit::skip::{without_program, without_root};

use crate::site::{Site, objects};

const USER: u32 = 4711;

/// A tree with `pub` and `other`; the shared index has all of it, the user's own only `pub`.
struct Two {
    site: Site,
}

impl Two {
    fn new(label: &str) -> Two {
        let site = Site::empty(label);
        for file in ["pub/mine.txt", "pub/deep/more.txt", "other/theirs.txt"] {
            let file = site.tree().join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, "some text").unwrap();
        }
        std::fs::create_dir(site.scratch.join("home")).unwrap();
        let two = Two { site };
        two.index("shared", ".");
        two.index("own", "pub");
        two
    }

    fn place(&self, name: &str) -> PathBuf {
        self.site.scratch.join(name)
    }

    fn index(&self, index: &str, path: &str) {
        let mut command = self.site.command();
        command.args(["-i".as_ref(), self.place(index).as_os_str()]);
        command.args(["index", "--quiet", path]);
        oracle::run(&mut command).expect_code(0);
    }

    /// Asks both indexes, the user's own first.
    fn ask(&self, line: &str) -> Ran {
        let both = [self.place("own"), self.place("shared")];
        let both = std::env::join_paths(both).unwrap();
        let mut command = self.site.command();
        command.env("TRAWL_INDEX", both).args(line.split(' '));
        oracle::run(&mut command)
    }

    fn path(&self, below: &str) -> String {
        self.site.tree().join(below).display().to_string()
    }
}

#[test]
fn names_come_from_every_index_once() {
    let two = Two::new("indexes-locate");
    let all = ["other/theirs.txt", "pub/deep/more.txt", "pub/mine.txt"];
    let all = all.map(|path| two.path(path) + "\n").concat();
    let mut found: Vec<String> = Vec::new();
    let ran = two.ask("locate .txt").expect_code(0);
    found.extend(ran.text().lines().map(|line| line.to_owned() + "\n"));
    found.sort();
    assert_eq!(found.concat(), all);
    assert_eq!(two.ask("locate -c .txt").expect_code(0).text(), "3\n");
    let ran = two.ask("locate --below other txt").expect_code(0);
    assert_eq!(ran.text(), two.path("other/theirs.txt") + "\n");
}

#[test]
fn what_the_own_index_lacks_the_other_one_answers() {
    let two = Two::new("indexes-all");
    for (line, gnu) in [
        ("find . -type f", "find . -type f"),
        ("find other pub", "find other pub"),
        ("du -a other pub", "du -a other pub"),
        ("ls -R other pub", "ls -R other pub"),
        (
            "stat -c %n:%s:%i other/theirs.txt pub/mine.txt",
            "stat -c %n:%s:%i other/theirs.txt pub/mine.txt",
        ),
    ] {
        let (ours, gnu) = (two.ask(line).expect_code(0), two.site.gnu(gnu));
        let sorted = |ran: &Ran| {
            let mut lines: Vec<String> = ran.text().lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(&ours), sorted(&gnu), "{line}");
        assert_eq!(ours.errors(), "", "{line}");
    }
    for line in [
        "stats other",
        "top other",
        "history other/theirs.txt",
        "growth other",
    ] {
        let ran = two.ask(line).expect_code(0);
        assert_ne!(ran.text(), "", "{line}");
    }
    let ran = two
        .ask("search --served-by index *.txt other")
        .expect_code(0);
    assert!(ran.text().contains("theirs.txt"), "{ran}");
}

#[test]
fn it_is_said_which_index_answers() {
    let two = Two::new("indexes-status");
    let (own, shared) = (two.place("own"), two.place("shared"));
    for (path, index) in [("pub", &own), ("other", &shared), (".", &shared)] {
        let ran = two.ask(&format!("du -s --status {path}")).expect_code(0);
        let text = format!(", index {}\n", index.display());
        assert!(ran.errors().contains(&text), "{path}: {ran}");
        assert_eq!(ran.errors().matches(", index ").count(), 1, "{ran}");
    }
    let found = objects(&two.ask("sources --json").expect_code(0));
    let mut pairs = found.iter().map(|object| {
        let text = |key: &str| object[key].as_str().unwrap().to_owned();
        (text("root"), text("index"))
    });
    assert_eq!(pairs.next().unwrap().1, shared.display().to_string());
    assert_eq!(pairs.next().unwrap().1, own.display().to_string());
    // A single index is not named.
    let mut command = two.site.command();
    command
        .env("TRAWL_INDEX", &own)
        .args(["du", "--status", "pub"]);
    assert!(!oracle::run(&mut command).errors().contains(", index "));
}

#[test]
fn of_two_with_the_same_root_the_freshest_answers() {
    let two = Two::new("indexes-fresh");
    std::fs::write(two.path("pub/new.txt"), "x").unwrap();
    two.index("shared", "pub");
    let ran = two.ask("locate --status new.txt").expect_code(0);
    assert_eq!(ran.text(), two.path("pub/new.txt") + "\n");
    let name = format!("index {}", two.place("own").display());
    assert!(!ran.errors().contains(&name), "{ran}");
    std::fs::remove_file(two.path("pub/new.txt")).unwrap();
    two.index("own", "pub");
    two.ask("locate new.txt").expect_code(1);
    // All snapshots of that root are part of its history.
    let found = objects(&two.ask("history --all --json pub").expect_code(0));
    assert_eq!(found.len(), 3, "{found:?}");
}

#[test]
fn an_index_that_is_named_and_not_there_is_an_error() {
    let two = Two::new("indexes-missing");
    let mut command = two.site.command();
    let both = std::env::join_paths([two.place("own"), two.place("none")]).unwrap();
    command.env("TRAWL_INDEX", both).args(["locate", "txt"]);
    let ran = oracle::run(&mut command).expect_code(2);
    assert!(ran.errors().contains("none"), "{ran}");
}

/// The user's own index is in their home, the administrator's at its place, which only this command
/// sees there.
#[test]
fn without_a_word_a_user_asks_their_own_and_the_administrators() {
    if let Some(skip) = without_root("a mount of one command") {
        return skip.say();
    }
    for program in ["unshare", "setpriv"] {
        if let Some(skip) = without_program("a mount of one command", program) {
            return skip.say();
        }
    }
    let two = Two::new("indexes-default");
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(two.site.scratch.join("."), open).unwrap();
    two.site
        .scratch
        .install(Path::new(env!("CARGO_BIN_EXE_trawl")));
    chown(two.place("home"), Some(USER), Some(USER)).unwrap();
    let run = |line: &str| {
        let script = "mount -t tmpfs none /var/lib && mkdir /var/lib/trawl && \
                      mount --bind \"$1\" /var/lib/trawl && shift && \
                      exec setpriv --reuid 4711 --regid 4711 --clear-groups \"$@\"";
        let mut command = oracle::command("unshare");
        command.args(["-m", "--propagation", "private", "sh", "-c", script, "sh"]);
        command
            .arg(two.place("shared"))
            .arg(two.site.scratch.join("trawl"));
        command.args(line.split(' ')).current_dir(two.site.tree());
        command.env("HOME", two.place("home"));
        for variable in ["TRAWL_INDEX", "XDG_DATA_HOME"] {
            command.env_remove(variable);
        }
        oracle::run(&mut command)
    };
    // Without an index of their own, users ask the administrator's.
    run("locate theirs.txt").expect_code(0);
    run("index --quiet pub").expect_code(0);
    for line in ["locate theirs.txt", "locate mine.txt", "du -s other"] {
        let ran = run(line).expect_code(0);
        assert_eq!(ran.errors(), "", "{line}");
        assert_eq!(ran.text().lines().count(), 1, "{line}: {ran}");
    }
    assert_eq!(run("sources").expect_code(0).text().lines().count(), 2);
}
