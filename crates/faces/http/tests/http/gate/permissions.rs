//! Every face of the service against the kernel: random trees, and a dozen users.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde_json::json;
use trawl_testkit::permissions::{Plan, Site, people};
use trawl_testkit::{Scratch, Skip};

use super::assistants::Known;
use super::{Settings, cannot, name_of};
use crate::assistants::Assistant;
use crate::client::SERVER;
use crate::permissions::{check_page, check_rows, expected, hex};

const TREES: u64 = 3;
/// Start points per tree.
const STARTS: usize = 4;

#[test]
fn every_user_sees_what_the_kernel_shows_through_the_service() {
    let test = "the service for many users against the kernel";
    if cannot(test) {
        return;
    }
    let trawl = Path::new(SERVER).with_file_name("trawl");
    if !trawl.exists() {
        return Skip::new(test, "trawl is not built: cargo build -p trawl-cli").say();
    }
    let scratch = Scratch::new("http-gate-permissions");
    let trawl = scratch.install(&trawl);
    let (mut rows, mut calls, mut refusals) = (0, 0, 0);
    for seed in 101..=100 + TREES {
        let plan = Plan::new(seed);
        let site = Site::build(&plan, &trawl).expect("a tree");
        site.index();
        let settings = Settings::new("http-gate", &trawl, Some(&site.index_dir()));
        let gate = settings.start();
        for person in people::everybody() {
            let secret = settings.whole_token(&name_of(&person));
            if person.uid == 0 {
                let answer = gate.ask(&secret, "find", &json!({"paths": ["/"]}));
                assert_eq!(answer.status, 403, "the superuser never asks: {answer:?}");
                continue;
            }
            for start in plan.starts(STARTS) {
                let start = site.absolute(&start);
                let (paths, code) = expected(&person, &start);
                let raw = hex(start.as_os_str().as_bytes());
                let answer = gate.ask(
                    &secret,
                    "find",
                    &json!({"paths_raw": [raw], "limit": 10_000}),
                );
                let about = format!("seed {seed}, {person}, {}: {code:?}", start.display());
                let (found, refused) = check_page(&answer, &paths, code, &about);
                rows += found;
                refusals += refused;
                // An assistant of this user sees the same.
                let result = Known(&gate, &secret).call("search", &json!({"paths_raw": [raw]}));
                if result["isError"] == true {
                    assert!(paths.is_empty(), "{about}: {result}");
                    continue;
                }
                let page = result["structuredContent"].clone();
                let (found, last) = Known(&gate, &secret).follow(page);
                check_rows(&found, &last, &paths, code, &about);
                calls += found.len();
            }
        }
    }
    assert!(
        rows > 500 && calls == rows && refusals > 10,
        "{rows} rows, {calls} of them by calls, {refusals} refusals"
    );
}
