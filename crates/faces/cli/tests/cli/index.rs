//! `trawl index`, `sources`, `verify` and `gc`.

use std::io::Read;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use trawl_testkit::oracle;

use crate::site::{Site, files_below, objects, with_default_signals};

fn small(label: &str) -> Site {
    let site = Site::empty(label);
    for name in ["d/one.c", "d/two.o", "e/three.c"] {
        let path = site.tree().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, name).unwrap();
    }
    site
}

#[test]
fn the_summary_says_what_was_read_and_written() {
    let site = small("summary");
    let tree = site.tree().display().to_string();
    let ran = site.run(&format!("index {tree}")).expect_code(0);
    assert!(
        ran.text()
            .starts_with(&format!("{tree}: 6 entries in 3 directories, 0 issues\n")),
        "{ran}"
    );
    assert!(ran.text().contains("bytes an entry"), "{ran}");
    let done = objects(
        &site
            .run(&format!("index --json --progress none {tree}"))
            .expect_code(0),
    )
    .remove(0);
    assert_eq!(
        (&done["root"], &done["entries"], &done["issues"]),
        (&tree.as_str().into(), &6.into(), &0.into())
    );
    assert_eq!(
        site.run(&format!("index --quiet {tree}"))
            .expect_code(0)
            .text(),
        ""
    );
    let sources = objects(&site.run("sources --json").expect_code(0));
    assert_eq!(sources.len(), 1);
    assert_eq!(sources[0]["root"], tree);
    let found = site.gnu(&format!("find {tree}")).expect_code(0);
    assert_eq!(found.text().lines().count(), 6, "what find counts");
    for count in ["entries", "directories", "size", "issues"] {
        assert_eq!(sources[0][count], done[count], "{count}");
    }
    assert_eq!(sources[0]["entries"], 6, "the root's own entry counts");
    assert!(
        site.run("sources")
            .expect_code(0)
            .text()
            .contains("as of 20")
    );
}

#[test]
fn options_leave_out_and_go_across() {
    let site = small("options");
    let listed = |options: &str| {
        site.run(&format!("index --quiet {options} ."))
            .expect_code(0);
        site.run("ls -R").expect_code(0).text()
    };
    assert!(listed("").contains("two.o"));
    assert!(!listed("--exclude *.o").contains("two.o"));
    let without = listed(&format!(
        "--exclude {}/e --exclude two.o",
        site.tree().display()
    ));
    assert_eq!(without, ".:\nd\n\n./d:\none.c\n");
    // Exclusions stay until other options are given.
    assert_eq!(listed("--threads 1 --no-xattr"), without);
    assert!(listed("--no-exclude --no-xattr --cross-file-systems").contains("two.o"));
    for mistake in [
        "--threads 0",
        "--threads x",
        "--keep 0",
        "--keep-for 1x",
        "--progress loud",
        "--root /x",
    ] {
        site.run(&format!("index {mistake} .")).expect_code(2);
    }
}

#[test]
fn invalid_exclusions_are_quoted_and_told_the_remedy() {
    let site = small("exclusions");
    for (pattern, shown) in [("", "‘’"), ("/", "‘/’"), ("d/e", "‘d/e’")] {
        let ran = site.trawl(&["index", "--exclude", pattern, "."]);
        assert_eq!(ran.code, Some(2), "{ran}");
        let says = format!(
            "--exclude {shown}: the pattern is invalid: give a name, or an absolute path, which \
             begins with / or a wildcard\n"
        );
        assert!(ran.errors().contains(&says), "{ran}");
    }
}

#[test]
fn several_roots_are_several_sources_and_one_missing_does_not_stop_the_others() {
    let site = small("roots");
    let ran = site.run("index --quiet d nowhere e").expect_code(2);
    assert!(ran.errors().contains("nowhere"), "{ran}");
    let roots: Vec<String> = objects(&site.run("sources --json"))
        .iter()
        .map(|o| o["root"].to_string())
        .collect();
    assert_eq!(roots.len(), 2);
    assert_eq!(
        site.run("ls d e").expect_code(0).text(),
        "d:\none.c\ntwo.o\n\ne:\nthree.c\n"
    );
    site.run("index --quiet d/one.c").expect_code(2);
    site.run("sources remove d").expect_code(0);
    assert_eq!(site.run("sources").text().lines().count(), 1);
    site.run("sources remove d").expect_code(2);
    site.run("ls d").expect_code(2);
    site.run("ls e").expect_code(0);
}

#[test]
fn progress_is_for_people_or_programs() {
    let site = small("progress");
    let ran = site.run("index --progress json --json .").expect_code(0);
    let events: Vec<serde_json::Value> = ran
        .errors()
        .lines()
        .map(|line| serde_json::from_str(line).expect("an event"))
        .collect();
    assert_eq!(events.first().unwrap()["event"], "start");
    assert_eq!(events.last().unwrap()["event"], "done");
    assert_eq!(objects(&ran)[0]["event"], "done");
    assert_eq!(
        site.run("index --progress none .").expect_code(0).errors(),
        ""
    );
}

#[test]
fn snapshots_are_kept_as_told() {
    let site = small("retention");
    let kept = |options: &str| {
        site.run(&format!("index --quiet {options} ."))
            .expect_code(0);
        let files = files_below(&site.index_dir());
        files
            .iter()
            .filter(|file| {
                file.parent().is_some_and(|dir| dir.ends_with("snapshots"))
                    && file.extension().is_some_and(|e| e == "json")
            })
            .count()
    };
    for _ in 0..3 {
        kept("");
    }
    assert_eq!(
        kept(""),
        2,
        "the previous snapshot stays for those who read it"
    );
    // The current snapshot counts, as the help says.
    let help = site.run("index --help").expect_code(0).text();
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        help.contains("N keeps the N newest, counting the current one"),
        "{help}"
    );
    assert_eq!(kept("--keep 3"), 3);
    assert_eq!(kept("--keep-for 1h"), 4);
    assert_eq!(kept("--keep 1"), 1);
    let ran = site.run("gc --json").expect_code(0);
    assert_eq!(objects(&ran)[0]["snapshots"], 0);
    site.run("index --gc --verify").expect_code(0);
}

#[test]
fn damage_is_found_and_named() {
    let site = small("damage");
    site.index();
    assert!(site.run("verify").expect_code(0).text().contains("sound"));
    let victim = files_below(&site.index_dir())
        .into_iter()
        .find(|path| path.to_string_lossy().ends_with(".entries.parquet"))
        .unwrap();
    let mut bytes = std::fs::read(&victim).unwrap();
    let sound = bytes.clone();
    bytes[40] ^= 1;
    std::fs::write(&victim, &bytes).unwrap();
    let ran = site.run("verify").expect_code(2);
    assert!(ran.text().contains(&victim.display().to_string()), "{ran}");
    assert!(ran.text().contains("index the sources again"), "{ran}");
    let findings = objects(&site.run("index --verify --json").expect_code(2));
    assert_eq!(findings[0]["damage"], true);
    std::fs::write(&victim, &sound[..sound.len() - 9]).unwrap();
    let ran = site.run("ls -lR").expect_code(2);
    assert!(ran.errors().contains("is damaged"), "{ran}");
}

#[test]
fn traces_are_indexed_where_they_were_mounted() {
    let site = Site::empty("trace");
    let record = |fields: &[&str]| {
        let line = fields.join("\x1e");
        format!("{:04x}{line}", line.len())
    };
    // A damaged file is an error that names it, not a crash.
    let file = site.scratch.join("home.trace");
    std::fs::write(&file, record(&["nonsense", "d"])).unwrap();
    let ran = site.run(&format!(
        "index --from-trace {} --root /srv/home",
        file.display()
    ));
    assert_eq!(ran.code, Some(2), "{ran}");
    assert!(ran.errors().contains("home.trace"), "{ran}");
    site.run(&format!(
        "index --from-trace {} --root home",
        file.display()
    ))
    .expect_code(2);
    site.run(&format!("index --from-trace {} .", file.display()))
        .expect_code(2);
    site.run("index --from-trace /no/such/file").expect_code(2);
    // A pipe has no name from which the mount point follows.
    let ran = site.run("index --from-trace -");
    assert_eq!(ran.code, Some(2), "{ran}");
    assert!(ran.errors().contains("needs --root"), "{ran}");
}

/// Waits until the scan reports that it has begun, then interrupts it.
fn interrupt(site: &Site, signal: Signal) -> (Option<i32>, String) {
    let mut command = with_default_signals(&site.command());
    command.args(["index", "--progress", "json", "--threads", "1", "."]);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program");
    let mut errors = child.stderr.take().expect("a pipe");
    let mut first = [0u8; 10];
    errors.read_exact(&mut first).expect("an event");
    // Sent directly: a program that sends it would be too late on a busy machine.
    kill_process(Pid::from_child(&child), signal).expect("a process");
    let mut rest = String::new();
    let _ = errors.read_to_string(&mut rest);
    (child.wait().expect("an end").code(), rest)
}

#[test]
fn an_interrupt_leaves_the_previous_snapshot_and_nothing_else() {
    let site = small("interrupt");
    site.index();
    for dir in 0..300 {
        let path = site.tree().join(format!("many/{dir}"));
        std::fs::create_dir_all(&path).unwrap();
        for file in 0..60 {
            std::fs::write(path.join(file.to_string()), "").unwrap();
        }
    }
    let state = || {
        let answers = ["sources", "ls", "ls many"].map(|question| site.run(question).text());
        (files_below(&site.index_dir()), answers)
    };
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        // On a busy machine, a scan may end before the signal arrives: then it is repeated.
        let (before, code, errors) = (0..20)
            .find_map(|_| {
                let before = state();
                let (code, errors) = interrupt(&site, signal);
                (code != Some(0)).then_some((before, code, errors))
            })
            .expect("a scan that is still at it when the signal comes");
        assert_eq!(code, Some(130), "{signal:?}: {errors}");
        assert!(errors.contains("interrupted"), "{errors}");
        assert!(errors.contains("stays as of snapshot"), "{errors}");
        assert_eq!(state(), before);
    }
    assert!(site.run("verify").expect_code(0).text().contains("sound"));
}

#[test]
fn a_second_writer_is_told_to_wait() {
    let site = small("busy");
    site.index();
    let lock = files_below(&site.index_dir())
        .into_iter()
        .find(|path| path.ends_with("lock"))
        .expect("a lock file");
    if let Some(skip) = trawl_testkit::skip::without_program("second writer", "flock") {
        return skip.say();
    }
    let mut command = oracle::command("flock");
    command
        .arg(lock)
        .arg(env!("CARGO_BIN_EXE_trawl"))
        .args(["index", "--quiet", "."]);
    command
        .env("TRAWL_INDEX", site.index_dir())
        .current_dir(site.tree());
    let ran = oracle::run(&mut command).expect_code(2);
    assert!(ran.errors().contains("is being written"), "{ran}");
    site.index();
}

#[test]
fn a_rule_of_retention_stays_with_the_source() {
    let site = small("rule");
    let scan = |options: &str| {
        site.run(&format!("index --quiet {options} ."))
            .expect_code(0);
        let ran = site.run("gc --dry-run --json").expect_code(0);
        let lines = objects(&ran);
        let (rule, snapshots) = lines.split_last().unwrap();
        assert!(snapshots.iter().all(|line| line["keep"] == true), "{ran}");
        (rule["rule"].as_str().unwrap().to_owned(), snapshots.len())
    };
    assert_eq!(scan(""), ("last=2".into(), 1));
    assert_eq!(scan("--keep last=3,daily=7"), ("last=3,daily=7".into(), 2));
    assert_eq!(scan(""), ("last=3,daily=7".into(), 3));
    assert_eq!(scan(""), ("last=3,daily=7".into(), 3));
    assert_eq!(
        scan("--keep 4 --keep-for 90m"),
        ("last=4,within=90m".into(), 4)
    );
    // Rules that are given to gc hold only for gc.
    let ran = site.run("index --gc --dry-run --keep 1").expect_code(0);
    let text = ran.text();
    assert_eq!(
        text.matches("no part of the rule keeps it").count(),
        3,
        "{ran}"
    );
    assert!(text.contains(": current, last 1\n"), "{ran}");
    assert!(
        text.contains("last=1 would remove 3 snapshots and free "),
        "{ran}"
    );
    assert_eq!(scan(""), ("last=4,within=90m".into(), 5));
    site.run("gc --keep 1").expect_code(0);
    assert_eq!(scan(""), ("last=4,within=90m".into(), 2));
    for wrong in ["daily", "daily=0", "fortnightly=2", "last=1,last=2"] {
        let ran = site.run(&format!("index --keep {wrong} .")).expect_code(2);
        assert!(
            ran.errors().contains(wrong.split(',').next_back().unwrap()),
            "{ran}"
        );
    }
    site.run("index --dry-run .").expect_code(2);
}

#[test]
fn what_did_not_change_is_not_written_again() {
    let site = small("shared");
    let scan = |options: &str| {
        let ran = site.run(&format!("index --json --progress none {options} ."));
        objects(&ran.expect_code(0)).remove(0)
    };
    let first = scan("");
    assert_eq!(first["new_bytes"], first["index_bytes"]);
    let list = || {
        site.run("ls -lR --time-style full-iso .")
            .expect_code(0)
            .text()
    };
    let listed = list();
    assert_eq!(scan("")["new_bytes"], 0);
    assert_eq!(scan("--trust-ctime")["new_bytes"], 0);
    assert_eq!(list(), listed);
    let full = scan("--full");
    assert_eq!(full["new_bytes"], full["index_bytes"]);
    assert_eq!(list(), listed);
    std::fs::write(site.tree().join("d/one.c"), "changed").unwrap();
    assert!(scan("")["new_bytes"].as_u64().unwrap() > 0);
    assert_ne!(list(), listed);
    let ran = site.run("index --full --trust-ctime .").expect_code(2);
    assert!(ran.errors().contains("cannot be used with"), "{ran}");
    site.run("verify").expect_code(0);
    // Removing the others leaves everything that the last one shares with them.
    site.run("gc --keep 1").expect_code(0);
    site.run("verify").expect_code(0);
}

#[test]
fn name_sidecars_that_are_gone_are_made_again() {
    let site = Site::empty("rebuild-names");
    for at in 0..1500 {
        std::fs::write(site.tree().join(format!("some name {at}")), "").unwrap();
    }
    site.index();
    let find = || {
        let mut find = oracle::command("find");
        find.arg(site.index_dir())
            .args(["-name", "*.names", "-size", "+0"]);
        let text = trawl_testkit::oracle::run(&mut find).expect_code(0).text();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let sidecars = find();
    assert_eq!(sidecars.len(), 1, "{sidecars:?}");
    let before = std::fs::read(&sidecars[0]).unwrap();
    std::fs::write(&sidecars[0], "").unwrap();
    let located = |site: &Site| site.run("locate -c -b *7").expect_code(0).text();
    assert_eq!(located(&site), "150\n");
    let ran = site.run("index --rebuild-names").expect_code(0);
    assert!(ran.text().contains("1 name sidecar written"), "{ran}");
    assert_eq!(std::fs::read(&sidecars[0]).unwrap(), before);
    assert_eq!(located(&site), "150\n");
    let ran = site.run("index --rebuild-names").expect_code(0);
    assert!(
        ran.text().contains("0 name sidecars written, 1 sound"),
        "{ran}"
    );
    site.run("verify").expect_code(0);
}
