//! `trawl stat` compared with GNU stat, byte for byte.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use trawl_testkit::lines::{Ending, Order, assert_same};
use trawl_testkit::oracle;

use crate::site::{Site, objects};

/// Returns everything near the root of the tree: each oddity once.
fn things(site: &Site) -> Vec<OsString> {
    let found = site
        .gnu("find . -maxdepth 2 ! -path ./wide/* ! -path ./folders/* -print0")
        .expect_code(0);
    let paths = found
        .stdout
        .split(|b| *b == 0)
        .filter(|path| !path.is_empty());
    paths
        .map(|path| std::ffi::OsStr::from_bytes(path).to_owned())
        .collect()
}

#[track_caller]
fn same(site: &Site, options: &[&str], things: &[OsString]) {
    let words: Vec<OsString> = options
        .iter()
        .map(OsString::from)
        .chain(things.iter().cloned())
        .collect();
    let theirs = oracle::gnu(
        "stat",
        words.clone(),
        &site.tree(),
        &oracle::Identity::Ourselves,
    );
    let ours = site.trawl(&[vec![OsString::from("stat")], words].concat());
    let what = format!("stat {options:?}");
    assert_same(
        &what,
        &theirs.stdout,
        &ours.stdout,
        Order::Exact,
        Ending::Newline,
    );
    assert_eq!(ours.code, theirs.code, "{ours}");
}

#[test]
fn every_format_prints_what_gnu_stat_prints() {
    let site = Site::odd_with("stat", 0);
    let things = things(&site);
    assert!(things.len() > 100, "the tree is odd enough");
    same(&site, &[], &things);
    same(&site, &["-t"], &things);
    same(&site, &["-c", "%N"], &things);
    same(&site, &["-c", "%N %n"], &things);
    same(&site, &["-c=%s"], &things);
    // With flags, GNU stat 9.1 also prints memory after a link's target.
    for flags in [
        "", "20", "-20", "020", "+", " ", "#", "'", ".3", "20.5", "-20.5", "020.5", ".", "-.2",
        "1.0",
    ] {
        let fields = "aAbBdDfFgGhinorRstTuUwWxXyYzZQ".chars();
        let format: String = fields.map(|letter| format!("[%{flags}{letter}]")).collect();
        same(&site, &["-c", &format], &things);
    }
    for format in ["%Hd:%Ld %Hr,%Lr", "%5Hd|%-5Ld|", "100%", "a\\nb", "%-12A%U"] {
        same(&site, &["-c", format], &things);
    }
    for format in ["%n\\0", "\\x41\\101\\t\\\\\\e%s\\n", "\\\"%i\\\"\\n", "%n"] {
        same(&site, &["--printf", format], &things);
    }
}

#[test]
fn mistakes_are_found_before_anything_is_printed() {
    let site = Site::empty("stat-mistakes");
    std::fs::write(site.tree().join("f"), "").unwrap();
    site.index();
    for (line, problem) in [
        ("stat -c %5% f", "invalid directive"),
        ("stat -f -c %5% f", "invalid directive"),
        ("stat --cached=never f", "use stat itself"),
        ("stat", "required"),
    ] {
        let ran = site.run(line).expect_code(2);
        assert!(ran.errors().contains(problem), "{ran}");
        assert_eq!(ran.text(), "", "{line}");
    }
}

#[test]
fn what_is_missing_does_not_stop_the_others() {
    let site = Site::empty("stat-missing");
    std::fs::write(site.tree().join("f"), "").unwrap();
    site.index();
    for (path, problem) in [
        ("nowhere", "cannot access ‘nowhere’: no such file"),
        ("f/", "cannot access ‘f/’: not a directory"),
    ] {
        let line = format!("stat -c %i:%n {path} f");
        let theirs = site.gnu(&line).expect_code(1);
        let ours = site.run(&line).expect_code(1);
        assert_eq!(ours.text(), theirs.text(), "{line}");
        assert!(ours.errors().contains(problem), "{ours}");
    }
}

#[test]
fn json_has_every_attribute() {
    let site = Site::empty("stat-json");
    std::fs::write(site.tree().join("f"), "12345").unwrap();
    std::os::unix::fs::symlink("f", site.tree().join("l")).unwrap();
    std::fs::write(site.tree().join(std::ffi::OsStr::from_bytes(b"\xff\n")), "").unwrap();
    site.index();
    let theirs = site.gnu("stat -c %i:%a:%u:%f:%d:%y f").text();
    let object = objects(&site.run("stat --json f").expect_code(0)).remove(0);
    let ours = format!(
        "{}:{}:{}:{:x}:{}:{}\n",
        object["ino"],
        object["permissions"]
            .as_str()
            .unwrap()
            .trim_start_matches('0'),
        object["uid"],
        object["mode"].as_u64().unwrap(),
        object["dev"],
        object["mtime"]
            .as_str()
            .unwrap()
            .replace('T', " ")
            .replace('Z', " +0000"),
    );
    assert_eq!(ours, theirs);
    assert_eq!(objects(&site.run("stat --json l"))[0]["link_target"], "f");
    let odd = std::ffi::OsStr::from_bytes(b"\xff\n").to_owned();
    let ran = site
        .trawl(&[OsString::from("stat"), "--json".into(), odd])
        .expect_code(0);
    let object = objects(&ran).remove(0);
    assert_eq!(object["path"], "\\xff\n");
    assert_eq!(object["path_raw"], "ff0a");
}
