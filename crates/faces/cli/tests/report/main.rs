//! `trawl report` from the outside. The GNU tools are the oracles of what it says; an HTML tokenizer
//! and mail readers, of which none is ours, read what it writes.

#![forbid(unsafe_code)]

mod contents;
mod files;
mod hostile;
mod mail;
mod page;
mod users;
mod when;

use trawl_testkit::oracle::{Identity, Ran, run};
use trawl_testkit::site::Site;

/// The program, beside which others lie.
const TRAWL: &str = env!("CARGO_BIN_EXE_trawl");

/// Runs `trawl report` in the directory of the tree.
fn report(site: &Site, who: &Identity, words: &[&str]) -> Ran {
    let mut command = site.command(who);
    command.arg("report").args(words).current_dir("/");
    run(&mut command)
}

/// Returns the page about the tree as its owner sees it.
fn page(site: &Site, words: &[&str], code: i32) -> page::Page {
    let ran = report(site, &Identity::Ourselves, words).expect_code(code);
    page::read(&ran.text())
}
