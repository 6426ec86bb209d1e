//! "Prefetching: once a file being read, fetch the related files that will be accessed later"
//! (Propeller, Table 1): the rest of a group is in the kernel's cache before it is opened. The oracle is fincore(1); dd(1) takes files out of the cache.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use trawl_testkit::oracle::{self, Identity};
use trawl_testkit::skip::{Skip, is_root, without_program};

use crate::site::Site;

/// As `docs/run.md` says.
const FILES_MAX: usize = 512;
const IN_FLIGHT: usize = 16;
const MEMBERS_MAX: usize = 4096;
const WHAT: &str = "files that are fetched";

/// Files that are not in memory.
struct Cold {
    site: Site,
    files: Vec<PathBuf>,
}

/// A command that waits, ended when dropped.
struct Waiting(Child);

impl Drop for Waiting {
    fn drop(&mut self) {
        let group = format!("-{}", self.0.id());
        let kill = oracle::command("kill")
            .args(["-KILL", "--", &group])
            .status();
        let _ = (kill, self.0.wait());
    }
}

impl Cold {
    /// Makes these files and the index; `None` if something is missing here.
    fn new(label: &str, names: &[String]) -> Option<Cold> {
        Cold::among(label, names, &[])
    }

    /// As [`Cold::new`], with other files that are not looked at.
    fn among(label: &str, names: &[String], others: &[String]) -> Option<Cold> {
        if let Some(skip) = without_program(WHAT, "fincore") {
            skip.say();
            return None;
        }
        let site = Site::new(label);
        let content = "line\n".repeat(2000);
        let files = names.iter().map(|name| {
            let path = site.write(name);
            fs::write(&path, &content).unwrap();
            path
        });
        let files = files.collect();
        for name in others {
            site.write(name);
        }
        site.index();
        let cold = Cold { site, files };
        cold.evict();
        if cold.resident("") > 0 {
            let why = "the directory for temporary files is in memory";
            Skip::new(WHAT, why).say();
            return None;
        }
        Some(cold)
    }

    fn evict(&self) {
        oracle::run(&mut oracle::command("sync")).expect_code(0);
        for file in &self.files {
            let mut input = std::ffi::OsString::from("if=");
            input.push(file);
            let mut dd = oracle::command("dd");
            dd.args(["iflag=nocache", "count=0", "status=none"])
                .arg(input);
            oracle::run(&mut dd).expect_code(0);
        }
    }

    /// Returns how many files with this in their paths are in memory.
    fn resident(&self, part: &str) -> usize {
        let is_meant = |file: &&PathBuf| file.to_str().unwrap().contains(part);
        let meant: Vec<&PathBuf> = self.files.iter().filter(is_meant).collect();
        let counts = meant.chunks(1000).map(|some| {
            let mut fincore = oracle::command("fincore");
            fincore.args(["--noheadings", "--bytes", "--output", "RES"]);
            let ran = oracle::run(fincore.args(some)).expect_code(0);
            let text = ran.text();
            text.lines().filter(|line| line.trim() != "0").count()
        });
        counts.sum()
    }

    fn command(&self, who: &Identity, options: &[&str], script: &str) -> Command {
        let words = [&["run"], options, &["--", "sh", "-c", script]].concat();
        self.site.command(who, &words)
    }

    /// Reads a byte of a file in a command that waits then.
    fn reading(&self, who: &Identity, options: &[&str], file: &str) -> Waiting {
        let script = format!("head -c1 {file} > /dev/null; sleep 600; :");
        let mut command = self.command(who, options, &script);
        Waiting(command.process_group(0).spawn().expect("it starts"))
    }

    /// Waits until this many files are in memory, and returns how many are a moment later.
    fn settles_at(&self, count: usize, part: &str) -> usize {
        let begun = Instant::now();
        while self.resident(part) < count && begun.elapsed() < Duration::from_secs(120) {
            std::thread::sleep(Duration::from_millis(50));
        }
        std::thread::sleep(Duration::from_millis(500));
        self.resident(part)
    }
}

fn named(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn the_rest_of_a_group_is_fetched_once_a_member_is_read() {
    let names = named(&[
        "one/Makefile",
        "one/src/a.c",
        "one/src/b.c",
        "one/doc/c.txt",
        "two/Makefile",
        "two/src/d.c",
        "music/Blue/01.flac",
        "music/Blue/02.flac",
        "music/Blue/cover.jpg",
        "music/notes",
    ]);
    let Some(cold) = Cold::new("groups-fetched", &names) else {
        return;
    };
    let us = Identity::Ourselves;
    // Without the option, only what is read is there.
    let waiting = cold.reading(&us, &["--fetch-ahead=0"], "one/src/a.c");
    assert_eq!(cold.settles_at(1, ""), 1);
    drop(waiting);
    for (file, group, count) in [
        ("one/src/a.c", "/one/", 4),
        ("music/Blue/02.flac", "/Blue/", 3),
    ] {
        cold.evict();
        let _waiting = cold.reading(&us, &["--fetch-groups"], file);
        assert_eq!(cold.settles_at(count, group), count, "{file}");
        assert_eq!(cold.resident(""), count, "{file}: nothing else is fetched");
    }
}

#[test]
fn a_large_group_stays_within_the_bound() {
    let large = (0..700).map(|at| format!("large/{at:04}"));
    let huge = |at: usize| format!("huge/{at:04}");
    let names: Vec<String> = large.chain((290..310).map(huge)).collect();
    let others: Vec<String> = (0..290).chain(310..=MEMBERS_MAX).map(huge).collect();
    let Some(cold) = Cold::among("groups-bound", &names, &others) else {
        return;
    };
    let us = Identity::Ourselves;
    let waiting = cold.reading(&us, &["--fetch-groups"], "large/0300");
    let found = cold.settles_at(FILES_MAX, "/large/");
    assert!(
        (FILES_MAX..=FILES_MAX + IN_FLIGHT + 1).contains(&found),
        "{found}"
    );
    drop(waiting);
    cold.evict();
    let _waiting = cold.reading(&us, &["--fetch-groups"], "huge/0300");
    cold.settles_at(1, "/huge/");
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(cold.resident("/huge/"), 1);
}

#[test]
fn what_a_user_may_not_read_is_not_fetched() {
    if !is_root() {
        return Skip::new(WHAT, "only root can be another user").say();
    }
    let names = named(&[
        "one/Makefile",
        "one/a.c",
        "one/secret.c",
        "one/closed/b.c",
        "one/open/c.c",
    ]);
    let Some(cold) = Cold::new("groups-unreadable", &names) else {
        return;
    };
    let mode = |name: &str, mode: u32| {
        let permissions = fs::Permissions::from_mode(mode);
        fs::set_permissions(cold.site.tree().join(name), permissions).unwrap();
    };
    mode("one/secret.c", 0o600);
    mode("one/closed", 0o700);
    let _waiting = cold.reading(&Identity::user(60_001), &["--fetch-groups"], "one/a.c");
    assert_eq!(cold.settles_at(3, ""), 3);
    for (part, count) in [
        ("Makefile", 1),
        ("/a.c", 1),
        ("/open/", 1),
        ("secret", 0),
        ("/closed/", 0),
    ] {
        assert_eq!(cold.resident(part), count, "{part}");
    }
}

#[test]
fn commands_end_as_they_do_otherwise() {
    let names = named(&["one/Makefile", "one/a.c"]);
    let Some(cold) = Cold::new("groups-ends", &names) else {
        return;
    };
    for script in [
        "cat one/a.c | wc -l",
        "exit 3",
        "kill -9 $$",
        "cat gone",
        "nonsense-command",
    ] {
        let said = |mut command: Command| {
            let ran = oracle::run(&mut command);
            // 128 plus the signal's number.
            (ran.code.unwrap_or(137), ran.stdout.clone(), ran.errors())
        };
        let ours = cold.command(&Identity::Ourselves, &["--fetch-groups"], script);
        let mut plain = oracle::command("sh");
        plain.args(["-c", script]).current_dir(cold.site.tree());
        assert_eq!(said(ours), said(plain), "{script}");
    }
    // Without an index the command runs, and the reason is said once.
    fs::remove_dir_all(cold.site.scratch.join("index")).unwrap();
    let script = "cat one/a.c one/Makefile > /dev/null; sleep 1";
    let mut command = cold.command(&Identity::Ourselves, &["--fetch-groups"], script);
    let ran = oracle::run(&mut command).expect_code(0);
    assert_eq!(
        ran.errors().matches("no groups are fetched: ").count(),
        1,
        "{ran}"
    );
}
