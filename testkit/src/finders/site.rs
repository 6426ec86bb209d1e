//! A tree with its index, and every finder run over it.
//!
//! ```text
//! scratch/work      indexed; reading it changes no access times, if we may mount
//! scratch/work/tree the planned tree, in which every finder runs
//! scratch/work/beside  other entries visible through `..`
//! scratch/index     of `work`, made as the test's user
//! scratch/outside   targets of links, not indexed
//! scratch/out       files that actions write, and the list of start points
//! scratch/copy      a tree that is rebuilt before each deletion
//! ```

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::build::{self, Mounted, build};
use super::case::{Case, Word};
use super::grammar::{Vocabulary, probes};
use super::plan::{LEFT_OUT, Plan};
use super::values::Values;
use crate::oracle::{Identity, Ran, command, run};
use crate::scratch::Scratch;
use crate::skip::is_root;

/// The finder that answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// GNU find: the oracle.
    Gnu,
    /// bfs: a second opinion.
    Bfs,
    /// The program from its index.
    Index,
    /// The program from the live file system.
    Live,
}

impl Side {
    /// Returns how a person starts it; `$index` holds the index.
    pub fn shown(self) -> &'static str {
        match self {
            Side::Gnu => "find",
            Side::Bfs => "bfs",
            Side::Index => "trawl -i \"$index\" find",
            Side::Live => "trawl find --live",
        }
    }
}

/// The output of a finder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Output, messages, exit code.
    pub ran: Ran,
    /// Content that actions wrote to files, in the order of [`Site::files`].
    pub files: Vec<Option<Vec<u8>>>,
    /// Records of the tree's state after a deletion.
    pub left: Option<Vec<u8>>,
}

/// A tree, its index, and their directories.
#[derive(Debug)]
pub struct Site {
    /// The plan from which the tree was built.
    pub plan: Plan,
    /// Source of arguments.
    pub values: Values,
    /// Files that actions may write to, and, last, the list of start points.
    pub files: Vec<Word>,
    /// Whether reading leaves access times unchanged.
    pub is_noatime: bool,
    trawl: PathBuf,
    // Dropped in this order: unmounted before the directories are removed.
    mounted: Mounted,
    _bound: Bound,
    scratch: Scratch,
}

/// Seconds after which a finder counts as hanging.
const HANG_SECS: &str = "60";
/// Attributes that are compared after a deletion.
const LEFT: &str = "%P %y %m %U %G %l\\0";

/// A script that makes the entries beside the tree.
const BESIDE: &str = "umask 022; mkdir -p work/tree work/beside/inner
printf beside > work/beside/inner/file
mkdir -p outside/folder/inner outside/shut; printf out > outside/file; : > outside/folder/x
: > outside/shut/file; ln -s loop outside/loop; ln -s ../work/beside outside/back
chmod 700 outside/shut; cd work/tree\n";

/// A directory mounted on itself, so that mount options apply to it.
#[derive(Debug)]
struct Bound(Option<PathBuf>);

impl Bound {
    fn without_access_times(path: &Path) -> Bound {
        let mount = |words: &[&str]| run(command("mount").args(words).arg(path)).code == Some(0);
        let mut bind = command("mount");
        let is_bound = is_root() && run(bind.arg("--bind").arg(path).arg(path)).code == Some(0);
        if !is_bound {
            return Bound(None);
        }
        let bound = Bound(Some(path.to_path_buf()));
        if mount(&["-o", "remount,bind,noatime"]) {
            bound
        } else {
            Bound(None)
        }
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        if let Some(path) = self.0.take() {
            let mut umount = command("umount");
            let _ = umount.arg("-l").arg(path).status();
        }
    }
}

impl Site {
    /// Builds a tree and its index. Every user must be able to run the program `trawl`.
    pub fn build(plan: &Plan, trawl: &Path) -> io::Result<Site> {
        let scratch = Scratch::new("finders");
        for name in ["out", "copy"] {
            std::fs::create_dir(scratch.join(name))?;
        }
        let mut shell = command("sh");
        let shell = shell.args(["-e", "-c", BESIDE]).current_dir(scratch.path());
        run(shell).expect_code(0);
        let open = std::fs::Permissions::from_mode(0o1777);
        std::fs::set_permissions(scratch.join("out"), open)?;
        let bound = Bound::without_access_times(&scratch.join("work"));
        let file = |name: &str| scratch.join("out").join(name).into_os_string().into_vec();
        let mut site = Site {
            values: Values::read(
                Path::new("/nowhere"),
                &Plan {
                    nodes: Vec::new(),
                    ..*plan
                },
            ),
            files: ["one", "two", "starts"].map(file).to_vec(),
            plan: plan.clone(),
            is_noatime: bound.0.is_some(),
            trawl: trawl.to_path_buf(),
            mounted: Mounted::default(),
            _bound: bound,
            scratch,
        };
        site.rebuild(plan)?;
        Ok(site)
    }

    /// Builds another tree in the place of this one.
    pub fn rebuild(&mut self, plan: &Plan) -> io::Result<()> {
        self.mounted = Mounted::default();
        let tree = self.tree();
        empty(&tree)?;
        self.mounted = build(&tree, plan)?;
        self.plan = plan.clone();
        self.values = Values::read(&tree, plan);
        let index = self.scratch.join("index");
        self.index(&index, &self.scratch.join("work"))
    }

    fn index(&self, index: &Path, root: &Path) -> io::Result<()> {
        if index.exists() {
            std::fs::remove_dir_all(index)?;
        }
        let mut line = command(&self.trawl);
        line.arg("-i")
            .arg(index)
            .args(["index", "-q", "--issues", "none", "--cross-file-systems"]);
        if self.plan.leaves_out() {
            line.arg("--exclude").arg(left_out());
        }
        let ran = run(line.arg(root));
        // 1: parts could not be read.
        match ran.code {
            Some(0 | 1) => Ok(()),
            _ => Err(io::Error::other(ran.to_string())),
        }
    }

    /// Returns the tree that finders run in.
    pub fn tree(&self) -> PathBuf {
        self.scratch.join("work/tree")
    }

    /// Returns directories that this user may list but not search: the index shows nothing of their
    /// content.
    pub fn listed_only(&self, identity: &Identity) -> BTreeSet<PathBuf> {
        self.directories(identity, &["-readable", "!", "-executable"])
    }

    /// Returns directories that this user may search but not list.
    pub fn searched_only(&self, identity: &Identity) -> BTreeSet<PathBuf> {
        self.directories(identity, &["-executable", "!", "-readable"])
    }

    /// Returns directories for which these tests hold for this user, including those below
    /// directories that they may not list: a command line can name them.
    fn directories(&self, identity: &Identity, tests: &[&str]) -> BTreeSet<PathBuf> {
        let mut all = command("find");
        all.arg(self.scratch.join("work"));
        let all = run(all.args(["-type", "d", "-print0"])).stdout;
        let list = self.scratch.join("directories");
        std::fs::write(&list, all).expect("our own directory");
        let list = std::fs::File::open(&list).expect("it was written");
        let mut line = identity.command("find");
        line.args(["-files0-from", "-", "-maxdepth", "0"])
            .stdin(list);
        let ran = run(line.args(tests).arg("-print0"));
        let paths = ran
            .stdout
            .split(|byte| *byte == 0)
            .filter(|path| !path.is_empty());
        paths
            .map(|path| PathBuf::from(std::ffi::OsStr::from_bytes(path)))
            .collect()
    }

    /// Runs a command line through a finder.
    pub fn ask(&self, side: Side, case: &Case, identity: &Identity) -> Answer {
        for file in &self.files {
            let _ = std::fs::remove_file(path_of(file));
        }
        if let (Some(starts), Some(file)) = (&case.starts_file, self.files.last()) {
            let mut text = starts.join(&0);
            text.push(0);
            std::fs::write(path_of(file), text).expect("our own directory");
        }
        let deletes = case.changes();
        let (place, index) = if deletes {
            self.fresh_copy(side)
        } else {
            self.place()
        };
        let mut line = self.command(side, case, &index, identity);
        line.args(case.words().into_iter().map(OsString::from_vec));
        line.envs(case.env.iter().map(|(name, value)| (name, value)));
        let ran = run(line.current_dir(&place));
        let written = self
            .files
            .split_last()
            .map_or(&[][..], |(_, written)| written);
        Answer {
            ran,
            files: written
                .iter()
                .map(|file| std::fs::read(path_of(file)).ok())
                .collect(),
            left: deletes.then(|| what_is_left(&place)),
        }
    }

    /// Returns the command line with which GNU find is the oracle for a side: the index shows no
    /// entries that were left out of it.
    pub fn as_asked(&self, side: Side, case: &Case) -> Case {
        match side {
            Side::Index if self.plan.leaves_out() => case.without_paths(LEFT_OUT),
            _ => case.clone(),
        }
    }

    fn place(&self) -> (PathBuf, PathBuf) {
        (self.tree(), self.scratch.join("index"))
    }

    /// Makes a copy of the tree, and its index if this side needs one.
    fn fresh_copy(&self, side: Side) -> (PathBuf, PathBuf) {
        let (copy, index) = (self.scratch.join("copy"), self.scratch.join("copy-index"));
        empty(&copy).expect("our own directory");
        // Copies contain no mounts: no finder deletes a mount point.
        build(&copy, &self.plan.unmounted())
            .map(drop)
            .expect("what could be built before");
        if side == Side::Index {
            self.index(&index, &copy).expect("an index of a copy");
        }
        (copy, index)
    }

    fn command(&self, side: Side, case: &Case, index: &Path, identity: &Identity) -> Command {
        let mut line = identity.command("timeout");
        line.args(["-s", "KILL", HANG_SECS]);
        if let Some(script) = case.start.script() {
            line.args(["bash", "-c", script, "_"]);
        }
        match side {
            Side::Gnu => line.arg("find"),
            Side::Bfs => line.arg("bfs"),
            Side::Index => line.arg(&self.trawl).arg("-i").arg(index).arg("find"),
            Side::Live => line.arg(&self.trawl).args(["find", "--live"]),
        };
        line
    }

    /// Returns a bash script that repeats a question, as root, in an empty directory.
    pub fn reproduction(&self, side: Side, case: &Case, identity: &Identity) -> String {
        let user = match identity {
            Identity::Ourselves => String::new(),
            Identity::Other { uid, gid, groups } => {
                let groups: Vec<String> = groups.iter().map(u32::to_string).collect();
                let groups = groups.join(",");
                format!("setpriv --reuid={uid} --regid={gid} --groups={groups} --inh-caps=-all -- ")
            }
        };
        let asked = |side: Side| case.shown(&format!("{user}{}", side.shown()));
        let mut text = String::from(BESIDE);
        text += &build::script(&self.plan);
        if side == Side::Index {
            text += "index=$PWD/../../index; trawl -i \"$index\" index -q --cross-file-systems ";
            if self.plan.leaves_out() {
                text += &format!("--exclude '{}' ", left_out());
            }
            text += "..\n";
        }
        if let (Some(starts), Some(file)) = (&case.starts_file, self.files.last()) {
            let list: Vec<String> = starts.iter().map(|start| build::quoted(start)).collect();
            text += &format!(
                "printf '%s\\0' {} > {}\n",
                list.join(" "),
                build::quoted(file)
            );
        }
        let gnu = self.as_asked(side, case).shown(&format!("{user}find"));
        text + &gnu + "\n" + &asked(side) + "\n"
    }
}

/// Returns the pattern of entries that are left out of the index.
fn left_out() -> String {
    format!("{LEFT_OUT}*")
}

/// Returns the words that a build knows, on the index and live; `None` if it cannot read the live
/// file system at all.
pub fn vocabularies(trawl: &Path) -> (Vocabulary, Option<Vocabulary>) {
    let nowhere = Scratch::new("finders-probe");
    let refuses = |live: bool, words: &[Word]| {
        let mut line = command(trawl);
        line.arg("-i").arg(nowhere.join("index")).arg("find");
        if live {
            line.arg("--live");
        }
        line.args(words.iter().map(|word| OsString::from_vec(word.clone())));
        let errors = run(line.current_dir(nowhere.path())).errors();
        let signs = [
            "not supported",
            "unknown predicate",
            "are not kept",
            "Unknown regular expression type",
            "cannot figure out how to interpret",
        ];
        signs.iter().any(|sign| errors.contains(sign))
    };
    let known = |live: bool| {
        let unknown = probes()
            .into_iter()
            .filter(|(_, words)| refuses(live, words));
        Vocabulary {
            unknown: unknown.map(|(name, _)| name).collect(),
        }
    };
    let is_live = !refuses(true, &[b".".to_vec()]);
    (known(false), is_live.then(|| known(true)))
}

fn path_of(bytes: &[u8]) -> &Path {
    Path::new(std::ffi::OsStr::from_bytes(bytes))
}

/// Removes a directory's content, however deep and odd it is.
fn empty(directory: &Path) -> io::Result<()> {
    let mut rm = command("find");
    rm.arg(directory).args(["-mindepth", "1", "-delete"]);
    if !is_root() {
        run(command("chmod").args(["-R", "u+rwX", "--"]).arg(directory));
    }
    let ran = run(&mut rm);
    match ran.code {
        Some(0) => Ok(()),
        _ => Err(io::Error::other(ran.to_string())),
    }
}

fn what_is_left(place: &Path) -> Vec<u8> {
    let mut line = command("find");
    line.args([".", "-printf", LEFT]).current_dir(place);
    let ran = run(&mut line);
    let mut records: Vec<&[u8]> = ran.stdout.split(|byte| *byte == 0).collect();
    records.sort_unstable();
    records.join(&0)
}
