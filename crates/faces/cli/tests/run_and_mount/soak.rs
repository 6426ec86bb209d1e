//! Writers on the server, readers in the run: no content that is read is older than promised.
//!
//! The oracle is the writers' own record of the contents of each file over time. `soak.py` does the
//! work; this file sets the way in which the tree is shown. `TRAWL_SOAK_OPERATIONS` makes it
//! longer.

use std::path::Path;

use trawl_testkit::oracle;
use trawl_testkit::skip::{Skip, without_program};

use crate::site::{Site, TRAWL, cannot};

const SCRIPT: &str = include_str!("soak.py");

fn number(name: &str, usual: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.map_or(usual, |text| text.parse().expect("a number"))
}

/// Runs it with the tree shown in this way, with this age in milliseconds.
#[track_caller]
fn expect(label: &str, way: &str, age_ms: u64, options: &[&str]) {
    let what = format!("a soak of {label}");
    if let Some(skip) = cannot(&what).or_else(|| without_program(&what, "python3")) {
        return skip.say();
    }
    let site = Site::empty(&format!("running-soak-{label}"));
    let is_installed = site.installed().is_some() && way != "sandbox";
    let program = site.installed().filter(|_| is_installed);
    let mut command = oracle::command(program.unwrap_or(Path::new(TRAWL)));
    command
        .arg("run")
        .arg(format!("--max-age={age_ms}ms"))
        .args(options);
    command.arg("--remote").arg(site.remote(&site.server()));
    command.args(["--", "python3", "-c", SCRIPT]);
    command.arg(site.point()).arg(site.tree()).arg(way);
    let operations = number("TRAWL_SOAK_OPERATIONS", 3000);
    let seed = number("TRAWL_SEED", 1);
    for number in [age_ms, operations, seed] {
        command.arg(number.to_string());
    }
    let ran = oracle::run(command.current_dir(site.scratch.path()));
    if ran.code == Some(125) && ran.errors().contains("cannot be intercepted") {
        return Skip::new(&what, ran.errors()).say();
    }
    assert_eq!(ran.code, Some(0), "{label}: {ran}");
    println!("{label}: {}", ran.text());
    site.expect_nothing_left();
}

#[test]
fn a_mount_is_as_new_as_promised() {
    let options = ["--no-preload", "--watched-age=0s"];
    expect("mount", "asked", 500, &options);
}

#[test]
fn a_mount_of_no_age_is_as_new_as_the_tree() {
    expect("mount-now", "asked", 0, &["--no-preload"]);
}

#[test]
fn a_watched_mount_is_as_new_as_promised() {
    expect("watched", "watched", 2000, &["--no-preload"]);
}

#[test]
fn a_mount_behind_tables_is_as_new_as_promised() {
    expect("tables", "asked", 500, &["--watched-age=0s"]);
}

#[test]
fn a_sandbox_is_as_new_as_promised() {
    expect("sandbox", "sandbox", 300, &["--sandbox"]);
}
