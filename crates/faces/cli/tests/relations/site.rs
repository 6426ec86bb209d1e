//! A directory of files, a place for what is learnt, and the programs.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use trawl_relations::{AccessGraph, Place};
use trawl_testkit::Scratch;
use trawl_testkit::oracle::{Identity, Ran, run};

/// A row of `trawl related`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Row {
    pub(crate) kind: String,
    pub(crate) direction: String,
    pub(crate) path: PathBuf,
    pub(crate) depth: u64,
    pub(crate) is_replaced: bool,
}

pub(crate) struct Site {
    scratch: Scratch,
    program: PathBuf,
    /// Who runs the program.
    pub(crate) who: Identity,
}

impl Site {
    pub(crate) fn new(label: &str) -> Site {
        let scratch = Scratch::new(label);
        let program = scratch.install(Path::new(env!("CARGO_BIN_EXE_trawl")));
        scratch.install(Path::new(env!("CARGO_BIN_EXE_trawl-hook")));
        fs::create_dir(scratch.join("tree")).expect("room");
        Site {
            scratch,
            program,
            who: Identity::Ourselves,
        }
    }

    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    pub(crate) fn tree(&self) -> PathBuf {
        self.scratch.join("tree")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.tree().join(name)
    }

    /// Returns paths of files in the tree.
    pub(crate) fn paths(&self, names: &[&str]) -> BTreeSet<PathBuf> {
        names.iter().map(|name| self.path(name)).collect()
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("room");
        fs::write(&path, text).expect("room");
        path
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.scratch.join("state")
    }

    /// Returns what was learnt, if this process may read it.
    pub(crate) fn learnt(&self) -> AccessGraph {
        let place = Place::new(self.state().join("trawl"));
        place.read().expect("an access graph")
    }

    /// Returns the program with a command, run in the tree.
    pub(crate) fn trawl(&self, words: &[&str]) -> Command {
        let mut trawl = self.who.command(&self.program);
        trawl.env("XDG_STATE_HOME", self.state());
        trawl.args(words).current_dir(self.tree());
        trawl
    }

    /// Runs a shell's command line and learns from it.
    pub(crate) fn learn(&self, line: &str) -> Ran {
        run(&mut self.trawl(&["run", "--learn", "--", "sh", "-ec", line]))
    }

    pub(crate) fn related(&self, words: &[&str]) -> Vec<Row> {
        let ran = run(self.trawl(&["related", "--json"]).args(words)).expect_code(0);
        rows(&ran)
    }

    /// Returns the paths of related files, below the tree alone.
    pub(crate) fn names(&self, words: &[&str]) -> BTreeSet<PathBuf> {
        let rows = self.related(words).into_iter().map(|row| row.path);
        rows.filter(|path| path.starts_with(self.tree())).collect()
    }
}

pub(crate) fn rows(ran: &Ran) -> Vec<Row> {
    let text = ran.text();
    let row = |line: &str| {
        let row: Value = serde_json::from_str(line).expect("JSON");
        let text = |key: &str| row[key].as_str().expect("text").to_owned();
        Row {
            kind: text("kind"),
            direction: text("direction"),
            path: text("path").into(),
            depth: row["depth"].as_u64().expect("a number"),
            is_replaced: row["replaced"].as_bool().expect("yes or no"),
        }
    };
    text.lines().map(row).collect()
}

/// Sets permission bits.
pub(crate) fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("our own");
}

/// Reads the files that a rule of make names, such as gcc -M prints.
pub(crate) fn dependencies(ran: &Ran, directory: &Path) -> BTreeSet<PathBuf> {
    let text = ran.text().replace("\\\n", " ");
    let (_, files) = text.split_once(':').expect("a rule");
    let files = files.split_whitespace().map(|file| directory.join(file));
    files
        .map(|file| file.canonicalize().expect("there is one"))
        .collect()
}
