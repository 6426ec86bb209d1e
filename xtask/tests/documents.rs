//! Checks documents against the tree: every path that `ARCHITECTURE.md` names exists, and so does
//! the target of every relative link in the documents.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

mod tree;

/// Suffixes that mark a name in backticks as a file of the repository.
const SOURCE_ENDINGS: &[&str] = &[".rs", ".md", ".toml", ".sh", ".py"];

fn read(path: &Path) -> String {
    fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
}

/// Returns the texts between single backticks, outside of code blocks.
fn quoted(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut in_block = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            names.extend(line.split('`').skip(1).step_by(2));
        }
    }
    names
}

/// Returns true if a quoted text can only be a path of this repository: it starts with a top-level
/// folder, or ends like a source file.
fn is_repository_path(name: &str, top: &BTreeSet<String>) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if name.is_empty() || name.starts_with('/') || !name.chars().all(plain) {
        return false;
    }
    let first = name.split('/').next().unwrap_or_default();
    (name.contains('/') && top.contains(first))
        || SOURCE_ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Returns true if a name is a path relative to the root, or the end of a file's path (`guard.rs`,
/// `src/guard.rs`).
fn exists(name: &str, root: &Path, files: &[PathBuf]) -> bool {
    root.join(name).exists() || files.iter().any(|file| file.ends_with(name))
}

fn top_folders(root: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(root)
        .expect("the root can be listed")
        .flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    folders
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

/// Most words of `ARCHITECTURE.md`, counted as wc(1) counts them.
const MOST_WORDS: usize = 1_500;

/// Returns the documents about the code, `ARCHITECTURE.md`, `CONTRIBUTING.md` and the pages of
/// `docs/internals`: every path that they name must exist.
fn documents_about_code(root: &Path, files: &[PathBuf]) -> Vec<PathBuf> {
    let mut documents = vec![root.join("ARCHITECTURE.md"), root.join("CONTRIBUTING.md")];
    let internals = root.join("docs/internals");
    documents.extend(
        files
            .iter()
            .filter(|file| {
                file.starts_with(&internals) && file.extension().is_some_and(|end| end == "md")
            })
            .cloned(),
    );
    documents
}

#[test]
fn paths_in_documents_about_code_exist() {
    let root = tree::root();
    let files = tree::files(&root);
    let top = top_folders(&root);
    let documents = documents_about_code(&root, &files);
    assert!(documents.len() > 2, "docs/internals has no page");
    let mut absent = Vec::new();
    for document in documents {
        let text = read(&document);
        let named: Vec<&str> = quoted(&text)
            .into_iter()
            .filter(|name| is_repository_path(name, &top))
            .collect();
        assert!(!named.is_empty(), "{} names no path", document.display());
        absent.extend(
            named
                .into_iter()
                .filter(|name| !exists(name, &root, &files))
                .map(|name| format!("{}: {name}", document.display())),
        );
    }
    assert!(
        absent.is_empty(),
        "documents name paths that do not exist:\n{}",
        absent.join("\n")
    );
}

#[test]
fn the_architecture_can_be_read_in_five_minutes() {
    let words = read(&tree::root().join("ARCHITECTURE.md"))
        .split_whitespace()
        .count();
    assert!(
        words <= MOST_WORDS,
        "ARCHITECTURE.md has {words} words, more than {MOST_WORDS}: move details to docs/internals"
    );
}

#[test]
fn relative_links_lead_somewhere() {
    let root = tree::root();
    let mut broken = Vec::new();
    for file in tree::files(&root)
        .iter()
        .filter(|file| file.extension().is_some_and(|end| end == "md"))
    {
        let folder = file.parent().unwrap_or(&root);
        for link in read(file)
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split([')', '#', ' ']).next())
        {
            if !link.is_empty() && !link.contains(':') && !folder.join(link).exists() {
                broken.push(format!("{}: {link}", file.display()));
            }
        }
    }
    assert!(
        broken.is_empty(),
        "links to files that do not exist:\n{}",
        broken.join("\n")
    );
}

#[test]
fn what_counts_as_a_path() {
    let top = BTreeSet::from(["crates".to_owned()]);
    for name in [
        "crates/base/model",
        "crates/a/src/b.rs",
        "guard.rs",
        "docs/format.md",
        "crates/",
    ] {
        assert!(is_repository_path(name, &top), "{name}");
    }
    for name in [
        "/etc/passwd",
        "r/x",
        "trawl-model",
        "a::b",
        "crates/*/src",
        "-name x.rs",
        "",
        "~/.rs",
    ] {
        assert!(!is_repository_path(name, &top), "{name}");
    }
    assert_eq!(
        quoted("a `b` c `d/e`\n```\n`no`\n```\n`f`"),
        ["b", "d/e", "f"]
    );
}
