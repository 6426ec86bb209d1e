//! The API against the kernel: random trees with many permissions, and a dozen users.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde_json::{Value, json};
use trawl_testkit::permissions::compare::Shown;
use trawl_testkit::permissions::{Person, Plan, Site, people};
use trawl_testkit::{Scratch, Skip, skip};

use crate::client::{Answer, SERVER, Server};

const TREES: u64 = 3;
/// Start points per tree.
const STARTS: usize = 5;

/// Returns the bytes of a path, as hexadecimal digits.
pub(crate) fn hex(path: &[u8]) -> String {
    path.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the path of a row, as hexadecimal digits.
fn path_of(row: &Value) -> String {
    let text = |field: &str| row[field].as_str().map(str::to_owned);
    let path = text("path_raw").or_else(|| text("path").map(|path| hex(path.as_bytes())));
    path.unwrap_or_else(|| panic!("a row without a path: {row}"))
}

/// Returns the paths that Trawl should show to a user, and the exit code of find. Trawl shows nothing
/// of a directory that the user may list and not search, so what find shows of it is left out, and the
/// code with it: this may be all that was wrong.
pub(crate) fn expected(person: &Person, start: &Path) -> (BTreeSet<String>, Option<i32>) {
    let shown = Shown::to(person, &[start.to_path_buf()]);
    let is_left_out = |path: &Path| {
        let parent = path.parent();
        parent.is_some_and(|parent| shown.listed_only.contains(parent))
    };
    let paths = shown.paths.iter().filter(|path| !is_left_out(path));
    let paths = paths.map(|path| hex(path.as_os_str().as_bytes()));
    let code = shown.code.filter(|_| shown.listed_only.is_empty());
    (paths.collect(), code)
}

/// Checks the answer to a question about a start point. Returns its rows, and whether something was
/// refused.
#[track_caller]
pub(crate) fn check_page(
    answer: &Answer,
    expected: &BTreeSet<String>,
    code: Option<i32>,
    about: &str,
) -> (usize, usize) {
    // A start that cannot even be looked at is an error.
    if answer.status == 422 {
        assert!(expected.is_empty(), "{about}: {answer:?}");
        return (0, 1);
    }
    let page = answer.json();
    let found = page["rows"]
        .as_array()
        .unwrap_or_else(|| panic!("{about}: {page}"));
    assert!(page["cursor"].is_null(), "{about}: the tree is small");
    check_rows(found, &page, expected, code, about);
    (found.len(), usize::from(code == Some(1)))
}

/// Checks all rows of an answer, and its last page.
#[track_caller]
pub(crate) fn check_rows(
    found: &[Value],
    last: &Value,
    expected: &BTreeSet<String>,
    code: Option<i32>,
    about: &str,
) {
    let paths: BTreeSet<String> = found.iter().map(path_of).collect();
    assert_eq!(paths.len(), found.len(), "{about}: a row comes twice");
    assert_eq!(paths, *expected, "{about}");
    if code == Some(1) {
        assert_eq!(last["complete"], false, "{about}: {}", last["issues"]);
    }
}

#[test]
fn every_user_sees_what_the_kernel_shows() {
    let test = "the API against the kernel";
    if let Some(skip) = skip::without_root(test) {
        return skip.say();
    }
    let trawl = Path::new(SERVER).with_file_name("trawl");
    if !trawl.exists() {
        return Skip::new(test, "trawl is not built: cargo build -p trawl-cli").say();
    }
    let scratch = Scratch::new("http-permissions");
    let trawl = scratch.install(&trawl);
    let program = scratch.install(Path::new(SERVER));
    let (mut rows, mut refusals) = (0, 0);
    for seed in 1..=TREES {
        let plan = Plan::new(seed);
        let site = Site::build(&plan, &trawl).expect("a tree");
        site.index();
        for person in people::everybody() {
            let who = person.identity();
            let mut command = who.command(&program);
            command
                .current_dir("/")
                .arg(format!("--program={}", trawl.display()));
            command.arg(format!("--index={}", site.index_dir().display()));
            let mut server = Server::silent(&mut command);
            server.begin();
            for start in plan.starts(STARTS) {
                let start = site.absolute(&start);
                let (expected, code) = expected(&person, &start);
                let raw = hex(start.as_os_str().as_bytes());
                let answer = server.post("find", &json!({"paths_raw": [raw], "limit": 10_000}));
                let about = format!("seed {seed}, {person}, {}: {code:?}", start.display());
                let (found, refused) = check_page(&answer, &expected, code, &about);
                rows += found;
                refusals += refused;
            }
        }
    }
    assert!(
        rows > 1_000 && refusals > 20,
        "{rows} rows, {refusals} refusals"
    );
}
