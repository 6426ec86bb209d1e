//! The page in Chromium: `web/browser` walks through every view, as users do, with names that attack
//! the page, by keyboard, in narrow windows, and with axe.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use trawl_testkit::Skip;
use trawl_testkit::oracle::{self, Identity};
use trawl_testkit::site::Site;

use crate::client::{SERVER, Server};

/// Least version of Node.js.
const NODE: u32 = 20;

/// Returns the root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// Says that the test is skipped if something that it needs is missing.
pub(crate) fn cannot(test: &str) -> bool {
    let output = |program: &str| oracle::command(program).arg("--version").output();
    let version = output("node").ok().and_then(|output| {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.trim_start_matches('v')
            .split('.')
            .next()?
            .parse::<u32>()
            .ok()
    });
    let reason = match version {
        Some(NODE..) if output("chromium").is_err() => "chromium is not installed",
        Some(NODE..) => return false,
        Some(_) => "Node.js is older than 20",
        None => "Node.js is not installed",
    };
    Skip::new(test, reason).say();
    true
}

/// Runs a program of `web/`, which must succeed.
#[track_caller]
fn run(command: &mut Command) -> Output {
    let output = command.output().expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (printed, said) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{printed}\n{said}");
    output
}

/// Returns a command that runs checks in a browser.
pub(crate) fn checks(name: &str) -> Command {
    let mut checks = oracle::command(root().join("scripts/web.sh"));
    // Packages of Node.js are where `make test` puts them.
    for name in ["HOME", "XDG_CACHE_HOME"] {
        if let Some(value) = std::env::var_os(name) {
            checks.env(name, value);
        }
    }
    checks.arg(name);
    checks
}

/// Returns what checks in a browser have printed; `None` if they were skipped.
#[track_caller]
pub(crate) fn passed(test: &str, output: Output) -> Option<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (printed, said) = (text(&output.stdout), text(&output.stderr));
    if said.contains("skipped, because") {
        Skip::new(test, said.trim()).say();
        return None;
    }
    assert!(output.status.success(), "{printed}\n{said}");
    Some(printed)
}

#[test]
fn the_page_does_what_it_promises_in_a_browser() {
    let test = "the page in a browser";
    if cannot(test) {
        return;
    }
    let Some(site) = Site::empty("http-browser", SERVER) else {
        return;
    };
    let tree = site.tree();
    let make = || {
        let mut command = oracle::command("node");
        command.arg(root().join("web/browser/tree.mjs")).arg(&tree);
        command
    };
    run(&mut make());
    site.index();
    run(make().arg("--change"));
    site.index();
    let mut sql = site.command(&Identity::Ourselves);
    let has_sql = oracle::run(sql.args(["sql", "SELECT 1"])).code == Some(0);
    // The link is the browser's.
    let server = Server::silent(site.command(&Identity::Ourselves).arg("web"));
    let checks = checks("browser")
        .env("TRAWL_WEB_URL", format!("http://{}", server.address))
        .env("TRAWL_WEB_LOGIN", server.link())
        .env("TRAWL_WEB_TREE", &tree)
        .env("TRAWL_WEB_SQL", if has_sql { "1" } else { "0" })
        .output();
    let Some(printed) = passed(test, checks.expect("it runs")) else {
        return;
    };
    let passed = printed
        .lines()
        .filter(|line| line.starts_with("ok "))
        .count();
    assert!(passed > 20, "{printed}");
    server.wait_for_silence();
}
