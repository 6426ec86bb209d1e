//! A file of rules for groups, or lists of packages: an error, or one claim for each file.

#![no_main]

use std::path::PathBuf;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use trawl_groups::source::Look;
use trawl_groups::{Directory, Edits, Entry, Grouper, GroupsError, Rules};

static ADMIN: OnceLock<PathBuf> = OnceLock::new();

struct Nothing;

impl Look for Nothing {
    fn is_file(&self, _: &[u8]) -> Result<bool, GroupsError> {
        Ok(false)
    }
}

/// Directories and their entries; names that end with a slash are directories.
const TREE: [(&[u8], &[&str]); 4] = [
    (b"", &["a", "etc/", "usr/"]),
    (b"/usr", &["Makefile", "bin/", "x.jpg", "y.jpg"]),
    (b"/usr/bin", &[".git/", "cover.mp3", "ls", "song.mp3"]),
    (b"/etc", &["README", "b.pdf", "passwd"]),
];

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else {
        return;
    };
    if first & 1 == 0 {
        let text = String::from_utf8_lossy(rest).into_owned();
        // Rules may name any directory of the machine.
        if !text.contains("admin") && !text.contains("packages") {
            if let Ok(rules) = Rules::parse(text, None) {
                grouped(&rules);
            }
        }
        return;
    }
    let admin = ADMIN.get_or_init(|| {
        let admin = trawl_fuzz::scratch("groups");
        std::fs::create_dir(admin.join("info")).expect("our own");
        admin
    });
    let mut parts = rest.splitn(3, |byte| *byte == 0);
    for name in ["diversions", "info/one:amd64.list", "info/two.list"] {
        let bytes = parts.next().unwrap_or_default();
        std::fs::write(admin.join(name), bytes).expect("our own");
    }
    let path = admin.display();
    let text = format!(
        "[[rule]]\nkind = \"packages\"\nname = \"p\"\nadmin = \"{path}\"\nroot = \"{path}\"\n"
    );
    grouped(&Rules::parse(text, None).expect("rules"));
});

fn grouped(rules: &Rules) {
    let Ok(mut grouper) = Grouper::new(rules, Edits::default()) else {
        return;
    };
    grouper.begin();
    for (path, names) in TREE {
        let entry = |name: &&str| Entry {
            name: name.trim_end_matches('/').as_bytes().to_vec(),
            is_dir: name.ends_with('/'),
            ..Entry::default()
        };
        let entries: Vec<Entry> = names.iter().map(entry).collect();
        let directory = Directory {
            path,
            entries: &entries,
        };
        grouper.enter(&directory, &Nothing).expect("nothing fails");
        let claims = grouper.claims(&directory);
        assert_eq!(claims.len(), entries.len());
        for (claim, entry) in claims.iter().zip(&entries) {
            assert_eq!(claim.is_none(), entry.is_dir);
        }
    }
}
