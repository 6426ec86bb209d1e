//! `--at` with every question: the answers that the tools gave at that time.

use trawl_testkit::oracle::{self, Identity};

use crate::site::Site;
use crate::{index, snapshots, sorted, write};

const QUESTIONS: [&str; 9] = [
    "find . -printf %p:%s:%m:%U:%i:%y\\n",
    "find a -type f",
    "find a/f -maxdepth 0 -printf %s\\n",
    "find . -newer a/f",
    "find . -size +2k",
    "du -a .",
    "du -s a",
    "ls -R",
    "stat -c %n:%s:%a a a/f",
];

/// Creates a tree that changes twice, and records the tools' answers each time.
fn changing(label: &str) -> (Site, Vec<Vec<Vec<String>>>) {
    let site = Site::empty(label);
    let tree = site.tree();
    std::fs::create_dir_all(tree.join("a/b")).unwrap();
    write(tree.join("a/f"), "one");
    write(tree.join("a/b/g"), &"x".repeat(5000));
    let mut said = Vec::new();
    let mut ask = |site: &Site| {
        let answers = QUESTIONS.map(|line| sorted(&site.gnu(line)));
        said.push(answers.to_vec());
        index(site);
    };
    ask(&site);
    write(tree.join("a/f"), "more than one");
    std::fs::remove_file(tree.join("a/b/g")).unwrap();
    write(tree.join("h"), "new");
    ask(&site);
    std::fs::rename(tree.join("a/b"), tree.join("b")).unwrap();
    write(tree.join("a/f"), &"y".repeat(9000));
    ask(&site);
    (site, said)
}

#[test]
fn every_question_is_answered_as_of_then() {
    let (site, said) = changing("at");
    let ids = snapshots(&site);
    assert_eq!(ids.len(), 3);
    for (at, answers) in said.iter().enumerate() {
        let back = format!("-{}", 2 - at);
        for (line, answer) in QUESTIONS.iter().zip(answers) {
            // The file that -newer compares with is looked at now.
            if line.contains("-newer") && at < 2 {
                continue;
            }
            let (command, words) = line.split_once(' ').unwrap_or((line, ""));
            for time in [&ids[at], &back] {
                let ran = site.run(&format!("{command} --at {time} {words}"));
                assert_eq!(&sorted(&ran), answer, "{line} at {time}: {ran}");
                let before = site.run(&format!("--at={time} {line}"));
                assert_eq!(sorted(&before), sorted(&ran), "{line}");
            }
        }
    }
    for line in ["stats", "getfattr -R ."] {
        let then = site.run(&format!("{line} --at -2")).expect_code(0);
        let now = site.run(line).expect_code(0);
        assert_eq!(then.text() == now.text(), line.starts_with("getfattr"));
    }
}

#[test]
fn a_time_is_that_of_a_snapshots_beginning() {
    let (site, said) = changing("at-times");
    let ran = site.run("sources --snapshots --json").expect_code(0);
    let started: Vec<String> = ran
        .text()
        .lines()
        .map(|line| {
            let (_, rest) = line.split_once("\"started\":\"").unwrap();
            rest.split('"').next().unwrap().to_owned()
        })
        .collect();
    let first = &said[1][0];
    let line = "find --at TIME . -printf %p:%s:%m:%U:%i:%y\\n";
    let exact = site.run(&line.replace("TIME", &started[1]));
    assert_eq!(&sorted(&exact), first, "{exact}");
    let now = site.run(&line.replace("TIME", "now"));
    assert_eq!(sorted(&now), said[2][0], "{now}");
    // Before the first snapshot there is nothing to answer from.
    for command in [
        "find --at yesterday .",
        "ls --at yesterday",
        "du --at yesterday",
    ] {
        let ran = site.run(command);
        assert_eq!(ran.text(), "", "{ran}");
        assert!(matches!(ran.code, Some(1 | 2)), "{ran}");
        assert!(
            ran.errors().contains("has no snapshot that began by"),
            "{ran}"
        );
        assert!(ran.errors().contains("the oldest of its 3 began"), "{ran}");
    }
    let ran = site.run("find --status --at yesterday .");
    assert!(ran.errors().contains("tree: it has no snapshot"), "{ran}");
    let ran = site.run("find --status --at -1 h").expect_code(0);
    assert!(ran.errors().contains(&snapshots(&site)[1]), "{ran}");
}

#[test]
fn the_past_is_not_looked_for_on_the_live_system() {
    let (site, _) = changing("at-live");
    let outside = site.scratch.join("outside");
    std::fs::create_dir(&outside).unwrap();
    write(outside.join("x"), "x");
    for line in ["find", "ls", "du"] {
        let ran = site.trawl(&[line, "--at", "latest", outside.to_str().unwrap()]);
        assert_eq!(ran.text(), "", "{ran}");
        assert!(ran.errors().contains("is not indexed"), "{ran}");
    }
    // Exists now, but did not exist then.
    write(site.tree().join("after"), "x");
    let ran = site.run("find --at latest after").expect_code(1);
    assert!(ran.errors().contains("No such file"), "{ran}");
    for line in [
        "find --at latest . -delete",
        "find --at latest . -exec true ;",
        "find --live --at latest .",
        "find --at nonsense .",
        "--at latest index .",
        "--at latest sources",
        "ls --at nonsense",
    ] {
        let ran = site.run(line);
        assert!(
            matches!(ran.code, Some(1 | 2)) && ran.text().is_empty(),
            "{ran}"
        );
    }
    assert!(site.tree().join("after").exists());
}

#[test]
fn links_lead_where_they_led() {
    let site = Site::empty("at-links");
    let tree = site.tree();
    std::fs::create_dir_all(tree.join("d")).unwrap();
    write(tree.join("d/x"), "x");
    std::os::unix::fs::symlink("d", tree.join("in")).unwrap();
    std::os::unix::fs::symlink("/", tree.join("out")).unwrap();
    let then = sorted(&site.gnu("find -L in -printf %p:%y\\n"));
    index(&site);
    std::fs::remove_file(tree.join("in")).unwrap();
    std::os::unix::fs::symlink("out", tree.join("in")).unwrap();
    index(&site);
    let ran = site
        .run("find --at -1 -L in -printf %p:%y\\n")
        .expect_code(0);
    assert_eq!(sorted(&ran), then);
    // A link that leads out of the index stands for itself.
    let ran = site
        .run("find --at -1 -L . -name out -printf %p:%y\\n")
        .expect_code(0);
    assert_eq!(ran.text(), "./out:l\n");
    let ours = oracle::gnu("find", ["-L", "in/x"], &tree, &Identity::Ourselves);
    assert_eq!(ours.text(), "", "the live link leads elsewhere");
}

#[test]
fn a_time_that_is_shown_in_seconds_finds_its_snapshot() {
    let (site, _) = changing("at-seconds");
    let shown = site.run("growth --csv .").expect_code(0).text();
    // As `growth` shows it, and as people see it: without the fraction.
    let line = shown.lines().nth(3).unwrap();
    let started = line.split(',').nth(6).unwrap();
    let (seconds, _) = started.split_once('.').unwrap();
    let id = line.split(',').nth(7).unwrap();
    let ran = site.run(&format!("--at {seconds}Z --status du -s ."));
    assert!(
        ran.expect_code(0).errors().contains(id),
        "{id} at {seconds}"
    );
}

#[test]
fn before_the_first_snapshot_every_command_says_so() {
    let (site, _) = changing("at-before");
    for line in [
        "locate file",
        "locate -c file",
        "locate --fuzzy file",
        "locate --below . file",
        "find .",
        "du -s .",
        "ls .",
        "stat .",
        "stats .",
        "top .",
        "top --dirs .",
        "duplicates .",
        "getfattr -d .",
    ] {
        let ran = site.run(&format!("--at 1990-01-01 {line}"));
        assert!(matches!(ran.code, Some(1 | 2)), "{line}: {ran}");
        assert!(
            ran.errors().contains("it has no snapshot that began by"),
            "{line}: {ran}"
        );
    }
    site.run("--at 1990-01-01 locate file").expect_code(2);
    // A source that was added later is reported; the others answer.
    let later = site.scratch.join("later");
    std::fs::create_dir(&later).unwrap();
    write(later.join("unseen"), "x");
    let mut began = site.run("sources --snapshots --json").text();
    began = began
        .lines()
        .last()
        .unwrap()
        .split("\"started\":\"")
        .nth(1)
        .unwrap()
        .to_owned();
    let began = began.split('"').next().unwrap();
    let later = later.display().to_string();
    site.run(&format!("index --quiet {later}")).expect_code(0);
    let tree = site.tree().display().to_string();
    let ran = site
        .run(&format!("--at {began} locate {tree}"))
        .expect_code(0);
    assert!(ran.errors().contains("/later: it has no snapshot"), "{ran}");
    site.run("locate unseen").expect_code(0);
}
