//! Indexes with changed, missing and foreign files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use trawl_testkit::oracle::{command, run};
use trawl_testkit::{Prng, Ran};

use crate::site::{Site, ask, copy, effort, files_below, make_tree};

/// An index, a copy of it to damage, and the expected answers.
struct Victim {
    site: Site,
    whole: PathBuf,
    questions: Vec<Vec<String>>,
    right: Vec<Ran>,
}

impl Victim {
    fn new() -> Victim {
        let site = Site::new("damage");
        let tree = site.scratch.join("tree");
        make_tree(&tree, 40, 30);
        run(command("setfattr")
            .args(["-n", "user.a", "-v", "b"])
            .arg(&tree));
        let tree = tree.to_str().expect("our own name");
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let questions: Vec<Vec<String>> = vec![
            words(&["ls", "-lR", "--full-time", tree]),
            words(&["du", "-a", tree]),
            words(&["find", tree, "-name", "*.c", "-size", "+1", "-ls"]),
            words(&["stat", &format!("{tree}/dir0/inner0/file1.h")]),
        ];
        site.trawl(["index", "-q", tree]).expect_code(0);
        let whole = site.scratch.join("whole");
        copy(&site.index(), &whole);
        let right = questions
            .iter()
            .map(|words| site.trawl(words).expect_code(0))
            .collect();
        Victim {
            site,
            whole,
            questions,
            right,
        }
    }

    /// Checks that every question gets the right answer or an error about the file, and that a
    /// check of the index finds the file.
    fn check(&self, what: &str, file: &Path) {
        let name = file
            .file_name()
            .and_then(|name| name.to_str())
            .expect("a name of the format");
        for (question, right) in self.questions.iter().zip(&self.right) {
            let answer = self.site.trawl(question);
            if (&answer.stdout, &answer.stderr, answer.code)
                == (&right.stdout, &right.stderr, right.code)
            {
                continue;
            }
            let fatal = if question[0] == "find" { 1 } else { 2 };
            assert!(answer.code == Some(fatal), "{what} {file:?}: {answer}");
            assert!(answer.errors().contains(name), "{what} {file:?}: {answer}");
        }
        let found = self.site.trawl(["index", "--verify"]);
        assert_eq!(found.code, Some(2), "{what} {file:?}: {}", found.text());
        assert!(
            (found.text() + &found.errors()).contains(name),
            "{what} {file:?}: {}",
            found.text()
        );
    }
}

#[test]
fn damaged_files_are_named_and_never_believed() {
    let victim = Victim::new();
    let mut random = Prng::new(3);
    let files = files_below(&victim.whole);
    let aside = victim.site.scratch.join("aside");
    for file in files.iter().filter(|file| !file.ends_with("lock")) {
        let path = victim.site.index().join(file);
        let whole = fs::read(&path).expect("it is there");
        let length = whole.len() as u64;
        for _ in 0..3 * effort() {
            let at = random.below(length);
            let mut bytes = whole.clone();
            bytes[at as usize] ^= 1 << random.below(8);
            fs::write(&path, &bytes).expect("our own");
            victim.check(&format!("bit flipped at {at} of {length}:"), file);
        }
        for at in [0, random.below(length), length - 1] {
            fs::write(&path, &whole[..at as usize]).expect("our own");
            victim.check(&format!("cut at {at} of {length}:"), file);
        }
        fs::remove_file(&path).expect("our own");
        victim.check("removed:", file);
        fs::create_dir(&path).expect("a directory");
        victim.check("a directory:", file);
        fs::remove_dir(&path).expect("our own");
        run(command("mkfifo").arg(&path)).expect_code(0);
        victim.check("a FIFO:", file);
        for target in [Path::new("/dev/zero"), &aside] {
            fs::write(&aside, &whole).expect("our own");
            fs::remove_file(&path).expect("our own");
            symlink(target, &path).expect("a link");
            victim.check("a symbolic link:", file);
        }
        fs::remove_file(&path).expect("our own");
        let twin = |other: &&PathBuf| *other != file && other.extension() == file.extension();
        if let Some(other) = files
            .iter()
            .find(twin)
            .filter(|_| file.extension().is_some())
        {
            fs::copy(victim.whole.join(other), &path).expect("our own");
            victim.check(&format!("replaced by {other:?}:"), file);
        }
        fs::write(&path, &whole).expect("our own");
    }
    for (question, right) in victim.questions.iter().zip(&victim.right) {
        assert!(victim.site.trawl(question).stdout == right.stdout);
    }
}

/// Indexing again, or removing the source and indexing again, repairs everything except another
/// format.
#[test]
fn damage_is_repaired_by_indexing_again() {
    let victim = Victim::new();
    let tree = victim.questions[0].last().expect("the tree");
    for file in files_below(&victim.whole) {
        let path = victim.site.index().join(&file);
        fs::write(&path, "damaged").expect("our own");
        let again = victim.site.trawl(["index", "-q", tree]);
        if again.code != Some(0) {
            assert!(again.errors().contains("damaged"), "{file:?}: {again}");
            fs::remove_file(&path).expect("our own");
            victim.site.trawl(["index", "-q", tree]).expect_code(0);
        }
        let answer = victim.site.trawl(&victim.questions[0]).expect_code(0);
        assert!(answer.stdout == victim.right[0].stdout, "{file:?}");
        victim
            .site
            .trawl(["index", "-q", "--keep", "1", tree])
            .expect_code(0);
        let found = victim.site.trawl(["index", "--verify"]);
        assert!(
            matches!(found.code, Some(0 | 1)),
            "{file:?}: {}",
            found.text()
        );
        copy(&victim.whole, &victim.site.index());
    }
}

#[test]
fn foreign_files_are_told_of_and_left_alone() {
    let victim = Victim::new();
    let index = victim.site.index();
    let foreign = ["notes", "sources/readme", "sources/0000000000000000.bak"];
    for name in foreign {
        fs::write(index.join(name), "mine").expect("our own");
    }
    let found = ask(&index, ["index", "--verify"]).expect_code(1);
    for (name, line) in foreign.iter().zip(found.text().lines()) {
        assert!(line.contains("foreign"), "{name}: {line}");
    }
    ask(&index, ["gc"]).expect_code(0);
    assert!(foreign.iter().all(|name| index.join(name).exists()));
    assert!(victim.site.trawl(&victim.questions[0]).stdout == victim.right[0].stdout);
}
