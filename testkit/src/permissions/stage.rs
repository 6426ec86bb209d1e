//! One tree with secrets, its index, and users who try to learn them.
//!
//! Each secret name or value contains [`MARKER`], whose bytes do not compress, so that grep(1)
//! finds it in the index's files where the kernel allows it. [`Stage::lax`] is the same index as a
//! careless build would leave it: open to all.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::folder::Folder;
use crate::oracle::{Identity, Ran, command, run};
use crate::scratch::Scratch;
use crate::skip;

/// Part of each secret name and value.
pub const MARKER: &str = "q7Zx0Kp3Vw9Jt5Rb";
/// A user who owns private objects.
pub const ALICE: u32 = 60_001;
/// A user who owns a large home below a directory that may be passed but not listed.
pub const BOB: u32 = 60_002;
/// A user who owns nothing and is named nowhere.
pub const MALLORY: u32 = 60_009;
/// Number of files in Bob's home: enough for a name barrier.
const CROWD: usize = 4_200;
/// Seconds after which a command counts as hanging.
const HANG_SECS: &str = "60";

/// A tree, its index, and the program.
#[derive(Debug)]
pub struct Stage {
    /// The directory of everything, removed on drop.
    pub scratch: Scratch,
    /// The program, in a place where every user may run it.
    pub trawl: PathBuf,
}

impl Stage {
    /// Makes a tree without a crowd and indexes it.
    ///
    /// # Panics
    /// If it cannot be made.
    #[track_caller]
    pub fn new(program: &Path) -> Stage {
        let stage = Stage::unindexed(program);
        stage.index(&[]).expect_code(0);
        stage
    }

    /// Like [`Stage::new`], with a subtree that is large enough for a name barrier.
    ///
    /// # Panics
    /// If it cannot be made.
    #[track_caller]
    pub fn crowded(program: &Path) -> Stage {
        let stage = Stage::unindexed(program);
        for at in 0..CROWD {
            stage.file(&format!("home/bob-{MARKER}/f{at}"), BOB, 0o644);
        }
        stage.index(&[]).expect_code(0);
        stage
    }

    /// Makes the tree without an index.
    ///
    /// # Panics
    /// If it cannot be made.
    #[track_caller]
    pub fn unindexed(program: &Path) -> Stage {
        let scratch = Scratch::new("stage");
        let stage = Stage {
            trawl: scratch.install(program),
            scratch,
        };
        stage.folder("", 0, 0o755);
        stage.folder("public", 0, 0o755);
        stage.file("public/readme", 0, 0o644);
        stage.file("public/token", ALICE, 0o600);
        let holder = Folder::open(&stage.path("public")).expect("our own directory");
        let value = format!("value-{MARKER}");
        holder
            .set_xattr(b"token", b"user.secret", value.as_bytes())
            .expect("an attribute");
        stage.folder("home", 0, 0o711);
        stage.folder(&format!("home/bob-{MARKER}"), BOB, 0o755);
        stage.file(&format!("home/bob-{MARKER}/plain"), BOB, 0o644);
        stage.folder("alice", ALICE, 0o700);
        stage.folder("alice/deep", ALICE, 0o755);
        stage.file(&format!("alice/deep/letter-{MARKER}"), ALICE, 0o644);
        stage.folder("for-bob", 0, 0o700);
        stage.acl("for-bob", &format!("u:{BOB}:r-x"));
        stage.file(&format!("for-bob/note-{MARKER}"), 0, 0o644);
        stage.folder("not-for-bob", 0, 0o755);
        stage.acl("not-for-bob", &format!("u:{BOB}:---"));
        stage.file("not-for-bob/gossip", 0, 0o644);
        stage.own_place();
        stage
    }

    /// Makes a directory in which Mallory may write.
    fn own_place(&self) {
        fs::create_dir(self.own()).expect("a directory");
        chown(self.own(), Some(MALLORY), Some(MALLORY)).expect("root may");
    }

    /// Returns the directory in which Mallory may write.
    pub fn own(&self) -> PathBuf {
        self.scratch.join("mallory")
    }

    /// Returns a path below the tree's root.
    pub fn path(&self, relative: &str) -> PathBuf {
        let root = self.scratch.join("tree");
        if relative.is_empty() {
            root
        } else {
            root.join(relative)
        }
    }

    /// Returns the index's directory.
    pub fn index_dir(&self) -> PathBuf {
        self.scratch.join("index")
    }

    /// Makes a directory in the tree.
    ///
    /// # Panics
    /// If it cannot be made, like the other functions here.
    #[track_caller]
    pub fn folder(&self, relative: &str, owner: u32, mode: u32) {
        let path = self.path(relative);
        fs::create_dir(&path).expect("a new directory");
        self.dress(&path, owner, mode);
    }

    /// Makes a file in the tree.
    #[track_caller]
    pub fn file(&self, relative: &str, owner: u32, mode: u32) {
        let path = self.path(relative);
        fs::write(&path, "content").expect("a new file");
        self.dress(&path, owner, mode);
    }

    fn dress(&self, path: &Path, owner: u32, mode: u32) {
        chown(path, Some(owner), Some(owner)).expect("root may");
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("root may");
    }

    /// Changes an ACL in the tree, with entries in the form of `setfacl -m`.
    #[track_caller]
    pub fn acl(&self, relative: &str, entries: &str) {
        let mut line = command("setfacl");
        run(line.args(["-m", entries]).arg(self.path(relative))).expect_code(0);
    }

    /// Makes or renews the index, as root, with further options.
    pub fn index(&self, options: &[&str]) -> Ran {
        let mut line = self.index_command();
        run(line.args(options).arg(self.path("")))
    }

    fn index_command(&self) -> Command {
        let mut line = command("timeout");
        line.args(["-s", "KILL", HANG_SECS]).arg(&self.trawl);
        line.arg("-i").arg(self.index_dir()).args(["index", "-q"]);
        line
    }

    /// Runs the program as a user, in the tree's root; 0 is root.
    pub fn ask(&self, uid: u32, words: &[&str]) -> Ran {
        self.ask_of(&self.index_dir(), uid, words)
    }

    /// Like [`Stage::ask`], on another index.
    pub fn ask_of(&self, index: &Path, uid: u32, words: &[&str]) -> Ran {
        let mut line = identity(uid).command("timeout");
        line.args(["-s", "KILL", HANG_SECS]).arg(&self.trawl);
        line.arg("-i").arg(index).args(words);
        run(line.current_dir(self.path("")))
    }

    /// Runs a bash script as a user (bash, because it uses more than ten descriptors); `$1` is the
    /// index, `$2` Mallory's directory.
    pub fn shell(&self, uid: u32, script: &str) -> Ran {
        self.shell_about(&self.index_dir(), uid, script)
    }

    /// Like [`Stage::shell`], on another index.
    pub fn shell_about(&self, index: &Path, uid: u32, script: &str) -> Ran {
        run(&mut self.shell_command(index, uid, script))
    }

    /// Returns the command of such a script, to run it concurrently.
    pub fn shell_command(&self, index: &Path, uid: u32, script: &str) -> Command {
        let mut line = identity(uid).command("timeout");
        line.args(["-s", "KILL", HANG_SECS, "bash", "-c", script, "bash"]);
        line.arg(index).arg(self.own()).current_dir("/");
        line
    }

    /// Makes a copy of the index as a careless build would leave it: everybody may read, write and
    /// add everything.
    pub fn lax(&self) -> PathBuf {
        let copy = self.scratch.join("lax");
        run(command("rm").arg("-rf").arg(&copy)).expect_code(0);
        run(command("cp").arg("-a").arg(self.index_dir()).arg(&copy)).expect_code(0);
        run(command("setfacl").args(["-R", "-b", "--"]).arg(&copy)).expect_code(0);
        run(command("chmod").args(["-R", "a+rwX", "--"]).arg(&copy)).expect_code(0);
        copy
    }

    /// Returns the files of an index that a user can read and that contain [`MARKER`].
    pub fn leaks(&self, index: &Path, uid: u32) -> Vec<String> {
        let script = format!("grep -rlaF {MARKER} \"$1\" 2>/dev/null");
        let ran = self.shell_about(index, uid, &script);
        ran.text().lines().map(String::from).collect()
    }
}

/// Returns root, or a user with one group of the same number.
pub fn identity(uid: u32) -> Identity {
    if uid == 0 {
        Identity::Ourselves
    } else {
        Identity::user(uid)
    }
}

/// Returns true, and says why, if other users cannot be tried on an index here.
pub fn cannot(what: &str) -> bool {
    let programs = ["bash", "setpriv", "setfacl", "getfattr", "timeout"];
    let skips = programs.map(|program| skip::without_program(what, program));
    let skip = skip::without_root(what).or_else(|| skips.into_iter().flatten().next());
    skip.inspect(skip::Skip::say).is_some()
}
