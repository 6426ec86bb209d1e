//! A tree with an index, and rules that look for packages in the tree only.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use trawl_testkit::Scratch;
use trawl_testkit::oracle::{self, Identity, Ran};

/// The rules that are shipped.
const RULES: &str = include_str!("../../../../meaning/groups/src/default.toml");

/// A path.
pub(crate) type Bytes = Vec<u8>;

/// A group, as the program lists it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Group {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) rule: String,
    pub(crate) place: Option<String>,
    pub(crate) fields: Value,
}

pub(crate) struct Site {
    pub(crate) scratch: Scratch,
    program: PathBuf,
}

impl Site {
    /// Makes a site with an empty tree.
    pub(crate) fn new(label: &str) -> Site {
        let scratch = Scratch::new(label);
        let program = scratch.install(Path::new(env!("CARGO_BIN_EXE_trawl")));
        for name in ["tree", "home"] {
            fs::create_dir(scratch.join(name)).expect("room");
        }
        let site = Site { scratch, program };
        site.rules(&site.tree().join("var/lib/dpkg"), &site.tree());
        site
    }

    /// Sets where packages are looked for.
    pub(crate) fn rules(&self, admin: &Path, root: &Path) {
        let admin = format!("admin = {:?}", admin.to_str().expect("UTF-8"));
        let root = format!("root = {:?}", root.to_str().expect("UTF-8"));
        let rules = RULES.replace("admin = \"/var/lib/dpkg\"", &admin);
        let rules = rules.replace("root = \"/\"", &root);
        let folder = self.scratch.join("home/.config/trawl");
        fs::create_dir_all(&folder).expect("room");
        fs::write(folder.join("groups.toml"), rules).expect("room");
    }

    pub(crate) fn tree(&self) -> PathBuf {
        self.scratch.join("tree")
    }

    /// Writes a file with its name as content.
    pub(crate) fn write(&self, name: &str) -> PathBuf {
        let path = self.tree().join(name);
        fs::create_dir_all(path.parent().expect("it has one")).expect("room");
        fs::write(&path, name).expect("room");
        path
    }

    /// Returns the program with these words.
    pub(crate) fn command(&self, identity: &Identity, words: &[&str]) -> Command {
        let mut command = identity.command(&self.program);
        command.env("HOME", self.scratch.join("home"));
        command.env("TRAWL_INDEX", self.scratch.join("index"));
        command.current_dir(self.tree()).args(words);
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        oracle::run(&mut self.command(&Identity::Ourselves, words))
    }

    /// Makes or updates the index of the tree.
    pub(crate) fn index(&self) {
        self.index_of(&self.tree());
    }

    pub(crate) fn index_of(&self, root: &Path) {
        let mut command = self.command(&Identity::Ourselves, &["index"]);
        oracle::run(command.arg(root)).expect_code(0);
    }

    /// Returns the groups that a user sees, by id.
    pub(crate) fn groups(&self, identity: &Identity, words: &[&str]) -> BTreeMap<String, Group> {
        let words = [&["groups", "list", "--json"], words].concat();
        let ran = oracle::run(&mut self.command(identity, &words));
        let lines = ran.text();
        let groups = lines.lines().map(|line| {
            let fields: Value = serde_json::from_str(line).expect("JSON");
            let text = |name: &str| fields[name].as_str().map(str::to_owned);
            let group = Group {
                id: text("group_id").expect("an id"),
                name: text("group_name").expect("a name"),
                rule: text("rule").expect("a rule"),
                place: text("place"),
                fields: fields.clone(),
            };
            (group.id.clone(), group)
        });
        groups.collect()
    }

    /// Returns the members of a group, in order.
    pub(crate) fn members(&self, identity: &Identity, group: &str) -> Vec<Bytes> {
        let mut command = self.command(identity, &["groups", "show", "-0", group]);
        let ran = oracle::run(&mut command);
        assert!(matches!(ran.code, Some(0 | 1)), "{ran}");
        paths(&ran.stdout)
    }

    /// Returns the group of each file that the user sees. Fails if a file is in two groups.
    pub(crate) fn assignment(&self, identity: &Identity) -> BTreeMap<Bytes, Group> {
        let mut all = BTreeMap::new();
        for (id, group) in self.groups(identity, &[]) {
            for path in self.members(identity, &id) {
                let before = all.insert(path.clone(), group.clone());
                assert_eq!(before, None, "{} is in two groups", path.escape_ascii());
            }
        }
        all
    }

    /// Returns the files that GNU find sees as a user: everything but directories.
    pub(crate) fn files(&self, identity: &Identity) -> Vec<Bytes> {
        let mut find = identity.command("find");
        find.arg(self.tree()).args(["!", "-type", "d", "-print0"]);
        let mut files = paths(&oracle::run(&mut find).stdout);
        files.sort();
        files
    }
}

/// Splits paths that end with a NUL byte.
pub(crate) fn paths(bytes: &[u8]) -> Vec<Bytes> {
    let paths = bytes.split(|byte| *byte == 0);
    paths
        .filter(|path| !path.is_empty())
        .map(<[u8]>::to_vec)
        .collect()
}

pub(crate) fn path_of(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

pub(crate) fn bytes(path: &Path) -> Bytes {
    path.as_os_str().as_bytes().to_vec()
}
