//! Checks the promises of the header with a C program that makes its own checks; also built with
//! the compiler's address sanitizer.

use std::path::Path;

use trawl_model::Timestamp;
use trawl_scan::{ScanProgress, WalkOptions, walk};
use trawl_testkit::Scratch;
use trawl_testkit::lines::{Ending, Order, assert_same};
use trawl_testkit::oracle;
use trawl_writer::{SnapshotWriter, WriterOptions};

use super::site::{Site, files, random, skipped};

/// Runs one part of the C program.
fn behave(what: &str, top: &Path, size: Option<usize>) -> Option<Vec<u8>> {
    let site = Site::get(what)?;
    let size = size.map(|size| size.to_string());
    let mut program = site.program("behaviour");
    program.arg(what).arg(top).args(size);
    Some(oracle::run(&mut program).expect_code(0).stdout)
}

/// Returns the output of find with this format, in the order of the call.
fn found(top: &Path, format: &str) -> Vec<u8> {
    let mut find = oracle::command("find");
    find.arg(top).args(["-mindepth", "1", "-printf", format]);
    oracle::run(&mut find).expect_code(0).stdout
}

/// Makes a tree of plain files and directories, with names of many lengths.
fn plain(count: usize) -> Scratch {
    files((0..count).map(|number| {
        let name = "x".repeat(number % 200);
        format!("d{}/e{}/f{number}{name}", number % 7, number % 3)
    }))
}

#[test]
fn nonsense_is_an_error() {
    behave("arguments", plain(10).path(), None);
}

#[test]
fn options_may_grow() {
    behave("options", plain(10).path(), None);
}

#[test]
fn buffers_get_whole_records_and_nothing_is_dropped() {
    let tree = plain(3000);
    let expected = found(tree.path(), "%p\\0");
    for size in [0, 24, 160, 1000, 65_536, 1 << 20] {
        for what in ["fill", "call"] {
            // Each buffer is a search of its own.
            if what == "call" && size < 65_536 {
                continue;
            }
            let Some(answer) = behave(what, tree.path(), Some(size)) else {
                return;
            };
            let about = format!("{what} {size}");
            assert_same(&about, &expected, &answer, Order::Any, Ending::Zero);
        }
    }
    let few = plain(20);
    let answer = behave("call", few.path(), Some(0)).unwrap();
    let expected = found(few.path(), "%p\\0");
    assert_same("call 0", &expected, &answer, Order::Any, Ending::Zero);
}

#[test]
fn searches_go_on_from_cookies() {
    let tree = random(3, 300);
    let top = tree.join("tree");
    let Some(answer) = behave("resume", &top, None) else {
        return;
    };
    let expected = found(&top, "%P\\0");
    assert_same("resumed", &expected, &answer, Order::Any, Ending::Zero);
}

#[test]
fn eight_threads_with_searches_of_their_own() {
    behave("threads", plain(500).path(), None);
}

#[test]
fn eight_threads_on_one_search_are_refused_or_served() {
    behave("busy", plain(5000).path(), None);
}

#[test]
fn cancelled_from_another_thread() {
    behave("cancel", plain(1500).path(), None);
}

#[test]
fn the_descriptor_says_when_to_read() {
    let tree = plain(3000);
    let Some(answer) = behave("polled", tree.path(), None) else {
        return;
    };
    let expected = found(tree.path(), "%P\\0");
    assert_same("polled", &expected, &answer, Order::Any, Ending::Zero);
    let answer = behave("polled-fill", tree.path(), Some(1 << 20)).unwrap();
    let expected = found(tree.path(), "%p\\0");
    assert_same("polled", &expected, &answer, Order::Any, Ending::Zero);
}

#[test]
fn a_search_belongs_to_its_process() {
    behave("forked", plain(500).path(), None);
}

#[test]
fn signals_end_waits_and_handlers_end_searches() {
    behave("interrupted", plain(1).path(), None);
    let tree = plain(3000);
    if let Some(answer) = behave("ticking", tree.path(), None) {
        let expected = found(tree.path(), "%P\\0");
        assert_same("ticking", &expected, &answer, Order::Any, Ending::Zero);
    }
}

#[test]
fn the_papers_bound_of_the_depth_ends_a_search() {
    behave("bounded", plain(1).path(), None);
}

#[test]
fn a_search_closed_early_leaves_nothing_behind() {
    behave("closed-early", plain(300).path(), None);
}

#[test]
fn the_same_with_the_address_sanitizer() {
    let test = "the C side with the address sanitizer";
    let Some(site) = Site::get(test) else { return };
    let flags = [
        "-std=gnu11",
        "-pthread",
        "-g",
        "-fsanitize=address,undefined",
    ];
    if let Err(ran) = site.compile("behaviour", "behaviour-asan", &flags) {
        let why = ran.errors();
        let why = why.lines().last().unwrap_or_default();
        return skipped(test, format_args!("gcc has no such library: {why}"));
    }
    let tree = plain(300);
    for what in [
        "arguments",
        "options",
        "fill",
        "call",
        "resume",
        "threads",
        "busy",
        "cancel",
        "polled",
        "polled-fill",
        "forked",
        "closed-early",
        "interrupted",
        "ticking",
        "bounded",
    ] {
        let mut program = site.program("behaviour-asan");
        program.arg(what).arg(tree.path()).arg("4000");
        oracle::run(&mut program).expect_code(0);
    }
}

#[test]
fn the_index_answers_where_it_is_asked_for() {
    let Some(site) = Site::get("served by the index") else {
        return;
    };
    let tree = plain(100);
    let place = Scratch::new("capi-index");
    let index = place.join("index");
    index_of(tree.path(), &index);
    // Made after the indexing, so it is not in the index.
    std::fs::write(tree.join("newer"), "").unwrap();
    let ask = |who: &str| {
        let mut program = site.program("behaviour");
        program.arg("served").arg(tree.path()).arg(who).arg(&index);
        oracle::run(&mut program).expect_code(0).stdout
    };
    let (auto, live, indexed) = (ask("0"), ask("1"), ask("2"));
    let now = found(tree.path(), "%P\\0");
    assert_same("live", &now, &live, Order::Any, Ending::Zero);
    // No daemon says that the index is as of now.
    assert_same("auto", &live, &auto, Order::Exact, Ending::Zero);
    let with_newer = [&indexed[..], b"newer\0"].concat();
    assert_same("index", &live, &with_newer, Order::Any, Ending::Zero);
}

fn index_of(top: &Path, into: &Path) {
    use std::os::unix::ffi::OsStrExt;
    let cancel = std::sync::atomic::AtomicBool::new(false);
    let now = trawl_sys::process::now();
    let at = Timestamp {
        secs: now.secs,
        nanos: now.nanos,
    };
    let options = WriterOptions {
        memory_bytes: 1 << 20,
        started: at,
        version: "test".into(),
        options: Default::default(),
    };
    let index = trawl_writer::create_index(into, None).unwrap();
    let root = top.canonicalize().unwrap();
    let root = root.as_os_str().as_bytes();
    let mut writer = SnapshotWriter::begin(&index, root, options).unwrap();
    walk(
        root,
        &WalkOptions::new(&cancel),
        &ScanProgress::default(),
        &mut writer,
    )
    .unwrap();
    writer.commit(at).unwrap();
}
