//! Questions about older snapshots, and about differences between them, from the outside. GNU find
//! and du, run at each time, are the oracles.

#![forbid(unsafe_code)]

mod at;
mod diff;
mod growth;
mod history;
#[path = "../cli/site.rs"]
#[allow(dead_code, reason = "it belongs to other tests, which use more of it")]
mod site;
mod users;

use std::path::Path;

use trawl_testkit::Ran;

use crate::site::{Site, objects};

/// Indexes the tree and keeps older snapshots.
#[track_caller]
fn index(site: &Site) {
    let tree = site.tree().display().to_string();
    site.run(&format!("index --quiet --keep 20 {tree}"))
        .expect_code(0);
}

/// Returns the ids of all snapshots, oldest first.
#[track_caller]
fn snapshots(site: &Site) -> Vec<String> {
    let ran = site.run("sources --snapshots --json").expect_code(0);
    let text =
        |value: &serde_json::Value| value["snapshot"].as_str().unwrap_or_default().to_owned();
    objects(&ran).iter().map(text).collect()
}

fn write(path: impl AsRef<Path>, text: &str) {
    std::fs::write(path, text).expect("a file");
}

/// Returns sorted lines, for output in another order.
fn sorted(ran: &Ran) -> Vec<String> {
    let mut lines: Vec<String> = ran.text().lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}
