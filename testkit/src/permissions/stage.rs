//! One tree with secrets, its index, and the users who would like to know.
//!
//! Whatever is secret carries [`MARKER`] in its name or value, in bytes that
//! do not compress, so that grep(1) over the index's files finds it where
//! the kernel lets it. [`Stage::lax`] is the same index as a careless build
//! would leave it: open to all.

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
/// Owns private things.
pub const ALICE: u32 = 60_001;
/// Owns a large home below a directory that may be passed and not listed.
pub const BOB: u32 = 60_002;
/// Owns nothing and is named nowhere.
pub const MALLORY: u32 = 60_009;
/// Files in Bob's home: enough for a name barrier.
const CROWD: usize = 4_200;
/// After so many seconds a command counts as hanging.
const HANG_SECS: &str = "60";

/// The tree, the index, the program.
#[derive(Debug)]
pub struct Stage {
    /// Goes away with everything in it.
    pub scratch: Scratch,
    /// The program, where every user may run it.
    pub trawl: PathBuf,
}

impl Stage {
    /// A tree without a crowd, indexed.
    ///
    /// # Panics
    /// If it cannot be made.
    #[track_caller]
    pub fn new(program: &Path) -> Stage {
        let stage = Stage::unindexed(program);
        stage.index(&[]).expect_code(0);
        stage
    }

    /// The same with a subtree that is large enough for a name barrier.
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

    /// The tree alone.
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

    /// A directory in which Mallory may write.
    fn own_place(&self) {
        fs::create_dir(self.own()).expect("a directory");
        chown(self.own(), Some(MALLORY), Some(MALLORY)).expect("root may");
    }

    /// Where Mallory may write.
    pub fn own(&self) -> PathBuf {
        self.scratch.join("mallory")
    }

    /// A path below the tree's root.
    pub fn path(&self, relative: &str) -> PathBuf {
        let root = self.scratch.join("tree");
        if relative.is_empty() {
            root
        } else {
            root.join(relative)
        }
    }

    /// The index.
    pub fn index_dir(&self) -> PathBuf {
        self.scratch.join("index")
    }

    /// Makes a directory in the tree.
    ///
    /// # Panics
    /// If it cannot be made; so do the others here.
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

    /// Changes an ACL in the tree, as setfacl -m takes it.
    #[track_caller]
    pub fn acl(&self, relative: &str, entries: &str) {
        let mut line = command("setfacl");
        run(line.args(["-m", entries]).arg(self.path(relative))).expect_code(0);
    }

    /// Makes or renews the index, as root, with more options.
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

    /// The program as a user, in the tree's root; 0 is root.
    pub fn ask(&self, uid: u32, words: &[&str]) -> Ran {
        self.ask_of(&self.index_dir(), uid, words)
    }

    /// The same of another index.
    pub fn ask_of(&self, index: &Path, uid: u32, words: &[&str]) -> Ran {
        let mut line = identity(uid).command("timeout");
        line.args(["-s", "KILL", HANG_SECS]).arg(&self.trawl);
        line.arg("-i").arg(index).args(words);
        run(line.current_dir(self.path("")))
    }

    /// A script for bash (more than ten descriptors) as a user; `$1` is the index, `$2` a place of Mallory's.
    pub fn shell(&self, uid: u32, script: &str) -> Ran {
        self.shell_about(&self.index_dir(), uid, script)
    }

    /// The same about another index.
    pub fn shell_about(&self, index: &Path, uid: u32, script: &str) -> Ran {
        run(&mut self.shell_command(index, uid, script))
    }

    /// That script's command, to be run beside something else.
    pub fn shell_command(&self, index: &Path, uid: u32, script: &str) -> Command {
        let mut line = identity(uid).command("timeout");
        line.args(["-s", "KILL", HANG_SECS, "bash", "-c", script, "bash"]);
        line.arg(index).arg(self.own()).current_dir("/");
        line
    }

    /// A copy of the index as a careless build would leave it: everything
    /// may be read, written and planted by everybody.
    pub fn lax(&self) -> PathBuf {
        let copy = self.scratch.join("lax");
        run(command("rm").arg("-rf").arg(&copy)).expect_code(0);
        run(command("cp").arg("-a").arg(self.index_dir()).arg(&copy)).expect_code(0);
        run(command("setfacl").args(["-R", "-b", "--"]).arg(&copy)).expect_code(0);
        run(command("chmod").args(["-R", "a+rwX", "--"]).arg(&copy)).expect_code(0);
        copy
    }

    /// Files of an index that a user can read and that hold [`MARKER`].
    pub fn leaks(&self, index: &Path, uid: u32) -> Vec<String> {
        let script = format!("grep -rlaF {MARKER} \"$1\" 2>/dev/null");
        let ran = self.shell_about(index, uid, &script);
        ran.text().lines().map(String::from).collect()
    }
}

/// Root, or a user with one group of the same number.
pub fn identity(uid: u32) -> Identity {
    if uid == 0 {
        Identity::Ourselves
    } else {
        Identity::user(uid)
    }
}

/// Why nobody else can be let loose on an index here, if so; said aloud.
pub fn cannot(what: &str) -> bool {
    let programs = ["bash", "setpriv", "setfacl", "getfattr", "timeout"];
    let skips = programs.map(|program| skip::without_program(what, program));
    let skip = skip::without_root(what).or_else(|| skips.into_iter().flatten().next());
    skip.inspect(skip::Skip::say).is_some()
}
