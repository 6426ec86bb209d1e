//! A tree, an index and the program under test.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use trawl_testkit::oracle::{command, run};
use trawl_testkit::{Ran, Scratch};

/// The program under test.
pub(crate) const TRAWL: &str = env!("CARGO_BIN_EXE_trawl");

/// Number of seconds after which a question counts as hanging.
const HANG_SECS: &str = "30";

/// A temporary directory with an index in it.
#[derive(Debug)]
pub(crate) struct Site {
    /// Removed with everything in it.
    pub(crate) scratch: Scratch,
}

impl Site {
    /// Creates an empty site.
    pub(crate) fn new(label: &str) -> Site {
        Site {
            scratch: Scratch::new(label),
        }
    }

    /// Returns the directory of the index.
    pub(crate) fn index(&self) -> PathBuf {
        self.scratch.join("index")
    }

    /// Runs the program with these words about this site's index.
    #[track_caller]
    pub(crate) fn trawl<A: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = A>) -> Ran {
        ask(&self.index(), words)
    }
}

/// Returns the program's command line for an index; the program is killed if it hangs.
pub(crate) fn trawl_command<A: AsRef<OsStr>>(
    index: &Path,
    words: impl IntoIterator<Item = A>,
) -> Command {
    let mut line = command("timeout");
    line.args(["-s", "KILL", HANG_SECS, TRAWL, "-i"]).arg(index);
    line.args(words);
    line
}

/// Runs the program; a panic or a hang fails the test.
#[track_caller]
pub(crate) fn ask<A: AsRef<OsStr>>(index: &Path, words: impl IntoIterator<Item = A>) -> Ran {
    let ran = run(&mut trawl_command(index, words));
    assert!(ran.code != Some(137), "{ran}\nit hung or was killed");
    assert!(!ran.errors().contains("panicked"), "{ran}");
    ran
}

/// Fills `root` with `dirs` directories of `files` files each; a few are private, are linked twice,
/// or are links.
pub(crate) fn make_tree(root: &Path, dirs: usize, files: usize) {
    for dir in 0..dirs {
        let place = root.join(format!("dir{}/inner{dir}", dir % 7));
        fs::create_dir_all(&place).expect("a directory");
        for file in 0..files {
            let name = place.join(format!("file{file}.{}", ["c", "h", "txt"][file % 3]));
            fs::write(&name, vec![b'x'; file % 5 * 900]).expect("a file");
        }
        if dir % 4 == 0 {
            use std::os::unix::fs::PermissionsExt;
            let private = fs::Permissions::from_mode(0o700);
            fs::set_permissions(&place, private).expect("our own directory");
            let _ = fs::hard_link(place.join("file1.h"), place.join("again"));
            let _ = std::os::unix::fs::symlink("file1.h", place.join("link"));
        }
    }
}

/// Copies a directory with everything in it.
pub(crate) fn copy(from: &Path, to: &Path) {
    run(command("rm").arg("-rf").arg(to)).expect_code(0);
    run(command("cp").arg("-a").arg(from).arg(to)).expect_code(0);
}

/// Returns the files below a directory, relative to it, sorted.
pub(crate) fn files_below(top: &Path) -> Vec<PathBuf> {
    let list = run(command("find")
        .arg(top)
        .args(["-type", "f", "-printf", "%P\\n"]));
    let mut files: Vec<PathBuf> = list.text().lines().map(PathBuf::from).collect();
    files.sort();
    files
}

/// Returns by how much the usual number of repetitions is multiplied.
pub(crate) fn effort() -> usize {
    let asked = std::env::var("TRAWL_ROBUSTNESS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(1)
}
