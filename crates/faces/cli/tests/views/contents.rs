//! Views of files' contents: words, phrases and attributes, beside grep and wc.

use std::fs;
use std::os::unix::fs::chown;
use std::path::Path;

use trawl_testkit::oracle::{self, Identity};

use crate::site::{Site, cannot, mode, sorted};

const ANNA: u32 = 60_001;
const BEN: u32 = 60_002;

/// Makes texts of which some have the words, some are Anna's and closed.
fn site(label: &str) -> Site {
    let site = Site::new(label, &[]);
    // It reads c.md.
    let hook = Path::new(env!("CARGO_BIN_EXE_trawl-hook"));
    site.scratch.install(hook);
    for (name, text) in [
        ("a.txt", "An SSD is fast.\n"),
        ("b.txt", "A disk\nand an ssd\nand tape\n"),
        ("c.md", "ssd and flash\n"),
        ("d.txt", "ssds are not the word\n"),
        ("e.txt", "tape\n"),
        ("sub/f.txt", "solid state, or ssd\n"),
        ("closed.txt", "a secret ssd\n"),
        ("shut/g.txt", "another secret ssd\n"),
    ] {
        site.write(name);
        fs::write(site.tree().join(name), text).unwrap();
    }
    chown(site.tree().join("closed.txt"), Some(ANNA), Some(ANNA)).unwrap();
    mode(&site.tree().join("closed.txt"), 0o600);
    chown(site.tree().join("shut"), Some(ANNA), Some(ANNA)).unwrap();
    mode(&site.tree().join("shut"), 0o700);
    site
}

/// Returns the files that grep finds, run as this user.
fn grepped(site: &Site, identity: &Identity, words: &[&str]) -> Vec<Vec<u8>> {
    let mut grep = identity.command("grep");
    grep.args(["-rlZ"]).args(words).arg("--").arg(site.tree());
    sorted(&oracle::run(&mut grep).stdout)
}

fn compare(site: &Site) {
    site.define("ssd", &["-keyword", "ssd", "-name", "*.txt"]);
    let mounted = site.mount();
    for identity in [
        Identity::Ourselves,
        Identity::user(ANNA),
        Identity::user(BEN),
    ] {
        let word = ["-iwe", "ssd", "--include=*.txt"];
        let theirs = grepped(site, &identity, &word);
        assert!(theirs.len() >= 3, "{theirs:?}");
        mounted.expect("ssd", &identity, &theirs);
        mounted.expect(&site.short("keyword:ssd&ext:txt"), &identity, &theirs);
        let theirs = grepped(site, &identity, &["-iwe", "flash", "-e", "tape"]);
        mounted.expect(&site.short("keyword:flash,tape"), &identity, &theirs);
        mounted.expect(&site.short("keyword:flash OR tape"), &identity, &theirs);
        let theirs = grepped(site, &identity, &["-iwe", "solid state"]);
        mounted.expect(&site.short("phrase:solid state"), &identity, &theirs);
        // What could not be searched is named, and that leaves the rest whole.
        let mut cat = identity.command("cat");
        let note = mounted.join(&site.short("keyword:flash,tape"));
        mounted.members(&site.short("keyword:flash,tape"), &identity);
        let ran = oracle::run(cat.arg(note.join("%incomplete")));
        let is_ben = identity == Identity::user(BEN);
        assert_eq!(ran.text().contains("closed.txt"), is_ben, "{ran}");
        assert!(!ran.text().contains("secret"), "{ran}");
    }
    // wc -l of the tree: two files of several lines at most.
    let theirs = vec![
        site.tree()
            .join("b.txt")
            .into_os_string()
            .into_encoded_bytes(),
    ];
    let lines = site.short("attr:lines>2");
    mounted.expect(&lines, &Identity::Ourselves, &theirs);
}

#[test]
fn words_and_attributes_are_questions() {
    if cannot("views of contents") {
        return;
    }
    compare(&site("views-contents"));
}

/// The index of contents answers for files that have not changed since, and only for these.
#[test]
fn an_index_of_contents_gives_the_same_views() {
    if cannot("views of indexed contents") {
        return;
    }
    let site = site("views-indexed-contents");
    // Contents are indexed of files that have been unchanged for some seconds.
    std::thread::sleep(std::time::Duration::from_millis(4500));
    let mut index = site.trawl(&Identity::Ourselves, &["index", "--quiet", "--keywords"]);
    oracle::run(index.arg(site.tree())).expect_code(0);
    compare(&site);
    fs::write(site.tree().join("a.txt"), "nothing of the kind\n").unwrap();
    fs::write(site.tree().join("e.txt"), "now an ssd\n").unwrap();
    compare(&site);
}
