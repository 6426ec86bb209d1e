//! The server's own profile: what its processes did, in a file for Prometheus.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use trawl_testkit::oracle;

use crate::site::{LONG, Site};

/// Returns how often an operation has begun.
fn entered(text: &str, name: &str) -> u64 {
    let start = format!("trawl_calls_entered_total{{layer=\"trawl\",operation=\"{name}\"}} ");
    let value = text.lines().find_map(|line| line.strip_prefix(&start));
    value.map_or(0, |value| value.parse().expect("a number"))
}

/// Returns true if this many searches are counted, and the directories of each: tree, open, open/deep,
/// shut.
fn is_whole(text: &str, searches: u64) -> bool {
    entered(text, "begin-search") == searches && entered(text, "read-directory") == 4 * searches
}

#[test]
fn searches_of_all_clients_are_counted_in_a_file_that_others_cannot_read() {
    const SEARCHES: u64 = 5;
    let site = Site::new("server-metrics");
    let file = site.scratch.join("trawl.prom");
    let option = format!("--metrics-file={}", file.display());
    let (server, socket) = site.at_socket(&[&option]);
    assert_eq!(
        fs::metadata(&file).expect("it is there").mode() & 0o777,
        0o600
    );
    for _ in 0..SEARCHES {
        let mut command = oracle::command(&site.program);
        command
            .args(["search", "--remote"])
            .arg(format!("unix:{}", socket.display()));
        command.args(["**.c"]).arg(site.tree());
        let ran = oracle::run(&mut command).expect_code(0);
        assert_eq!(ran.text().lines().count(), 2, "{ran}");
    }
    // The processes report once a second, and the file is written every 15 s.
    let begun = Instant::now();
    let read = || fs::read_to_string(&file).expect("it is there");
    while !is_whole(&read(), SEARCHES) && begun.elapsed() < LONG {
        std::thread::sleep(Duration::from_millis(50));
    }
    // It is written at the end, too.
    fs::write(&file, "").expect("room");
    let process = server.child.id().to_string();
    oracle::run(oracle::command("kill").args(["-TERM", &process])).expect_code(0);
    server.end();
    let text = read();
    assert!(is_whole(&text, SEARCHES), "{text}");
}
