//! Source codes: "All source files, document files and generated files belonging to the same project"
//! (the paper's Table 4). The oracle for repositories is `git rev-parse --show-toplevel`.

use std::path::PathBuf;

use trawl_testkit::oracle::{self, Identity};
use trawl_testkit::prng::Prng;
use trawl_testkit::skip::without_program;

use crate::site::{Site, path_of};

/// Returns the top of the repository that git finds for a file.
fn top(path: &[u8]) -> Option<PathBuf> {
    let mut git = oracle::command("git");
    git.args(["-c", "safe.directory=*", "-C"])
        .arg(path_of(path).parent()?);
    let ran = oracle::run(git.args(["rev-parse", "--show-toplevel"]));
    (ran.code == Some(0)).then(|| PathBuf::from(ran.text().trim_end()))
}

#[test]
fn repositories_are_those_of_git() {
    if let Some(skip) = without_program("repositories of git", "git") {
        return skip.say();
    }
    let site = Site::new("groups-git");
    let mut prng = Prng::new(22);
    let mut folders = vec!["a".to_owned(), "b".to_owned()];
    for _ in 0..40 {
        let within = prng.pick(&folders).clone();
        let folder = format!("{within}/{}", prng.word(&["a", "b", "c", "d"]));
        folders.push(folder);
    }
    for folder in &folders {
        site.write(&format!("{folder}/main.c"));
        if prng.once_in(5) {
            let mut git = oracle::command("git");
            git.args(["init", "--quiet"]).arg(site.tree().join(folder));
            oracle::run(&mut git).expect_code(0);
        }
    }
    site.index();
    let mut found = 0;
    for (path, group) in site.assignment(&Identity::Ourselves) {
        // git itself does not look for work trees from inside its own directory.
        if path.windows(6).any(|part| part == b"/.git/") {
            continue;
        }
        let expected = top(&path);
        found += usize::from(expected.is_some());
        let ours = (group.rule == "projects").then(|| PathBuf::from(group.place.unwrap()));
        assert_eq!(ours, expected, "{}", path.escape_ascii());
    }
    assert!(found > 10, "only {found} files are in repositories");
}

#[test]
fn the_outermost_marker_counts() {
    let site = Site::new("groups-markers");
    for name in [
        "prog/Makefile",
        "prog/main.c",
        "prog/lib/Makefile",
        "prog/lib/x.c",
        "prog/doc/index.html",
        "deb/debian/control",
        "deb/src/x.c",
        "net/App.sln",
        "net/App/Program.cs",
        "plain/notes/Cargo.toml/not-a-file",
        "plain/x",
    ] {
        site.write(name);
    }
    site.index();
    let found = site.assignment(&Identity::Ourselves);
    for (path, group) in found {
        let name = path_of(&path).strip_prefix(site.tree()).unwrap();
        let first = name.iter().next().unwrap().to_str().unwrap();
        let expected = match first {
            "plain" => ("directories", None),
            top => ("projects", Some(site.tree().join(top))),
        };
        assert_eq!(group.rule, expected.0, "{}", name.display());
        if let Some(top) = expected.1 {
            assert_eq!(group.place.as_deref(), top.to_str());
            assert_eq!(group.name, first);
        }
    }
}
