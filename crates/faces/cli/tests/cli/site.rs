//! A scratch directory with a tree and an index of it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use trawl_testkit::oracle::{self, Ran};
use trawl_testkit::{OddTree, Scratch, odd_tree};

/// A tree, and the place of its index.
pub(crate) struct Site {
    /// Directory that holds both.
    pub(crate) scratch: Scratch,
}

impl Site {
    /// Creates an empty tree without an index.
    pub(crate) fn empty(label: &str) -> Site {
        let scratch = Scratch::new(label);
        std::fs::create_dir(scratch.join("tree")).expect("a directory");
        Site { scratch }
    }

    /// Creates an indexed tree with every oddity. It is smaller than the default one, so that the
    /// GNU tools do not take long.
    pub(crate) fn odd(label: &str) -> Site {
        let all = odd_tree::Plan::default().random_names;
        Site::odd_with(label, all)
    }

    /// Creates such a tree with this number of random names. The names contain unassigned code
    /// points; which of these the C library prints depends on its Unicode version.
    pub(crate) fn odd_with(label: &str, random_names: usize) -> Site {
        let site = Site::empty(label);
        let plan = odd_tree::Plan {
            random_names,
            wide_files: 200,
            deep_levels: 300,
            long_levels: 3,
            ..odd_tree::Plan::default()
        };
        OddTree::build(&site.tree(), &plan)
            .expect("a tree")
            .say_skipped();
        // Tools that list directories set their access times once, so this is done first.
        trawl_testkit::tick();
        oracle::gnu(
            "ls",
            ["-lR", "."],
            &site.tree(),
            &oracle::Identity::Ourselves,
        );
        oracle::gnu(
            "du",
            ["-a", "."],
            &site.tree(),
            &oracle::Identity::Ourselves,
        );
        site.index();
        site
    }

    /// Returns the root of the tree.
    pub(crate) fn tree(&self) -> PathBuf {
        self.scratch.join("tree")
    }

    /// Returns the directory of the index.
    pub(crate) fn index_dir(&self) -> PathBuf {
        self.scratch.join("index")
    }

    /// Indexes the tree.
    #[track_caller]
    pub(crate) fn index(&self) {
        let ran = self.trawl(&[
            OsString::from("index"),
            "--quiet".into(),
            self.tree().into(),
        ]);
        assert!(matches!(ran.code, Some(0 | 1)), "{ran}");
    }

    /// Returns a command for the program in the fixed environment, with the index, in the tree.
    pub(crate) fn command(&self) -> Command {
        let mut command = oracle::command(env!("CARGO_BIN_EXE_trawl"));
        command
            .env("TRAWL_INDEX", self.index_dir())
            .current_dir(self.tree());
        for variable in ["NO_COLOR", "XDG_DATA_HOME"] {
            command.env_remove(variable);
        }
        command
    }

    /// Runs the program in the tree.
    #[track_caller]
    pub(crate) fn trawl<A: Into<OsString> + Clone>(&self, arguments: &[A]) -> Ran {
        let mut command = self.command();
        command.args(arguments.iter().cloned().map(Into::into));
        oracle::run(&mut command)
    }

    /// Runs the program in the tree, with words split as by a shell.
    #[track_caller]
    pub(crate) fn run(&self, line: &str) -> Ran {
        self.trawl(&line.split_whitespace().collect::<Vec<_>>())
    }

    /// Runs a GNU tool in the tree.
    #[track_caller]
    pub(crate) fn gnu(&self, line: &str) -> Ran {
        let mut words = line.split_whitespace();
        let tool = words.next().unwrap_or_default();
        oracle::gnu(tool, words, &self.tree(), &oracle::Identity::Ourselves)
    }
}

/// Parses the objects on standard output.
#[track_caller]
pub(crate) fn objects(ran: &Ran) -> Vec<serde_json::Value> {
    let parse =
        |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    ran.text().lines().map(parse).collect()
}

/// Returns the names of everything below a directory, sorted.
pub(crate) fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(next) = pending.pop() {
        for entry in std::fs::read_dir(&next).expect("a directory").flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                pending.push(entry.path());
            }
            found.push(entry.path());
        }
    }
    found.sort();
    found
}

/// Returns the command with the usual effects of signals. The user who runs the tests may have some
/// ignored, as nohup(1) and background jobs of a shell do.
pub(crate) fn with_default_signals(command: &Command) -> Command {
    let mut wrapped = oracle::command("env");
    wrapped.arg("--default-signal=INT,TERM,HUP,PIPE");
    wrapped.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => wrapped.env(name, value),
            None => wrapped.env_remove(name),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        wrapped.current_dir(directory);
    }
    wrapped
}
