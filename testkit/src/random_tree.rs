//! Small trees from a seed: names that collide under globs, sizes and times around the limits where
//! `find` rounds, all kinds, hard links.
//!
//! The same seed and [`Plan`] make the same tree on every machine (except for device, inode and
//! change times).

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use crate::folder::{FileTime, Folder};
use crate::prng::Prng;
use crate::skip::is_root;

/// Which permission bits entries get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modes {
    /// Files 0644, folders 0755.
    Plain,
    /// Any bits; some folders may be inaccessible to everyone.
    Any,
}

/// What to build.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Determines everything else.
    pub seed: u64,
    /// Number of entries below the root.
    pub entries: usize,
    /// Permission bits.
    pub modes: Modes,
    /// The time around which times lie; use the present for tests of `-mtime`.
    pub around_seconds: i64,
}

impl Plan {
    /// Plans 200 entries with modes of every kind around a day in 2023.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            entries: 200,
            modes: Modes::Any,
            around_seconds: 1_700_000_000,
        }
    }
}

/// A tree that was built.
#[derive(Debug)]
pub struct RandomTree {
    /// Its root directory.
    pub root: PathBuf,
}

/// The kind of a planned entry. Its content is determined by the plan, too.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Folder(Vec<Node>),
    File { size_bytes: u64 },
    Symlink { target: Vec<u8> },
    HardLink,
    Fifo,
    Socket,
}

/// A planned entry.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Node {
    name: Vec<u8>,
    kind: Kind,
    mode: u32,
    owner: (u32, u32),
    accessed: FileTime,
    modified: FileTime,
}

const NAME_PARTS: &[&[u8]] = &[
    b"a",
    b"b",
    b"ab",
    b"A",
    b"x",
    b".",
    b"..",
    b".c",
    b".so",
    b".txt",
    b"lib",
    b"-",
    b"_",
    b" ",
    b"\n",
    b"*",
    b"?",
    b"[a]",
    b"\\",
    b"1",
    b"10",
    b"\xc3\xa9",
    b"\xff",
    b"%p",
];
const SIZES_BYTES: &[u64] = &[
    0,
    0,
    1,
    2,
    511,
    512,
    513,
    1_023,
    1_024,
    1_025,
    2_048,
    4_096,
    4_097,
    1 << 20,
    (1 << 20) + 1,
    3 << 30,
];
const USERS: &[u32] = &[0, 1, 1_000, 4_711, 65_534];
const NANOSECONDS: &[u32] = &[0, 0, 1, 500_000_000, 999_999_999];
/// Distances between times: minutes and days, which `-mmin` and `-mtime` count.
const STEPS_SECONDS: &[i64] = &[1, 60, 3_600, 86_400];
const MODES: &[u32] = &[
    0o000, 0o400, 0o644, 0o755, 0o711, 0o700, 0o750, 0o444, 0o1777, 0o2755, 0o4755, 0o333,
];

impl RandomTree {
    /// Builds the tree in an empty directory that exists.
    pub fn build(root: &Path, plan: &Plan) -> io::Result<Self> {
        let mut planner = Planner {
            prng: Prng::new(plan.seed),
            plan,
            left: plan.entries,
        };
        let mut nodes = Vec::new();
        while planner.left > 0 {
            planner.fill(&mut nodes, 0);
        }
        let mut builder = Builder {
            is_root: is_root(),
            last_file: None,
        };
        builder.make_all(&Folder::open(root)?, &nodes)?;
        Ok(Self {
            root: root.to_path_buf(),
        })
    }
}

/// Turns numbers into nodes; touches no files.
struct Planner<'a> {
    prng: Prng,
    plan: &'a Plan,
    left: usize,
}

impl Planner<'_> {
    /// Adds some entries to a folder, recursively.
    fn fill(&mut self, nodes: &mut Vec<Node>, depth: u32) {
        let mut taken: BTreeSet<Vec<u8>> = nodes.iter().map(|node| node.name.clone()).collect();
        for _ in 0..self.prng.below(12) {
            if self.left == 0 {
                return;
            }
            self.left -= 1;
            let name = self.name(&taken);
            taken.insert(name.clone());
            let kind = self.kind(depth);
            nodes.push(self.node(name, kind));
        }
    }

    fn name(&mut self, taken: &BTreeSet<Vec<u8>>) -> Vec<u8> {
        let parts = 1 + self.prng.below(4);
        let mut name: Vec<u8> = (0..parts)
            .flat_map(|_| self.prng.pick(NAME_PARTS).to_vec())
            .collect();
        while name == b"." || name == b".." || taken.contains(&name) {
            name.push(b'0' + self.prng.bits().to_le_bytes()[0] % 10);
        }
        name
    }

    fn kind(&mut self, depth: u32) -> Kind {
        match self.prng.below(20) {
            0..=5 if depth < 12 => {
                let mut nodes = Vec::new();
                self.fill(&mut nodes, depth + 1);
                Kind::Folder(nodes)
            }
            6..=7 => Kind::Symlink {
                target: self.prng.pick(NAME_PARTS).to_vec(),
            },
            8..=9 => Kind::HardLink,
            10 => Kind::Fifo,
            11 => Kind::Socket,
            _ => Kind::File {
                size_bytes: *self.prng.pick(SIZES_BYTES),
            },
        }
    }

    fn node(&mut self, name: Vec<u8>, kind: Kind) -> Node {
        let plain = if matches!(kind, Kind::Folder(_)) {
            0o755
        } else {
            0o644
        };
        let drawn = *self.prng.pick(MODES);
        Node {
            name,
            mode: if self.plan.modes == Modes::Any {
                drawn
            } else {
                plain
            },
            owner: (*self.prng.pick(USERS), *self.prng.pick(USERS)),
            accessed: self.time(),
            modified: self.time(),
            kind,
        }
    }

    fn time(&mut self) -> FileTime {
        let steps = i64::try_from(self.prng.below(80)).expect("small") - 60;
        let seconds = self.plan.around_seconds + steps * self.prng.pick(STEPS_SECONDS);
        FileTime::new(seconds, *self.prng.pick(NANOSECONDS))
    }
}

/// Makes planned nodes.
struct Builder {
    is_root: bool,
    /// Target of the next hard link: the file made last, here or above.
    last_file: Option<(Folder, Vec<u8>)>,
}

impl Builder {
    fn make_all(&mut self, folder: &Folder, nodes: &[Node]) -> io::Result<()> {
        for node in nodes {
            self.make(folder, node)?;
        }
        Ok(())
    }

    fn make(&mut self, folder: &Folder, node: &Node) -> io::Result<()> {
        let name = &node.name;
        match &node.kind {
            Kind::Folder(nodes) => {
                let inner = folder.make_folder(name)?;
                self.make_all(&inner, nodes)?;
                // Once the folder has its permissions, only root may reach a file in it.
                self.last_file = None;
            }
            Kind::File { size_bytes } => {
                folder.make_sparse_file(name, *size_bytes)?;
                self.last_file = Some((folder.try_clone()?, name.clone()));
            }
            Kind::Symlink { target } => folder.make_symlink(name, target)?,
            Kind::HardLink => match &self.last_file {
                // Mode, owner and times stay those of the linked file.
                Some((there, file)) => return there.make_hard_link(file, folder, name),
                None => folder.make_file(name, b"no file to link to yet")?,
            },
            Kind::Fifo => folder.make_fifo(name)?,
            Kind::Socket => folder.make_socket(name)?,
        }
        self.dress(folder, node)
    }

    /// Sets owner before mode (a new owner clears setuid), and mode after the content.
    fn dress(&self, folder: &Folder, node: &Node) -> io::Result<()> {
        if self.is_root {
            folder.set_owner(&node.name, node.owner.0, node.owner.1)?;
        }
        if !matches!(node.kind, Kind::Symlink { .. }) {
            folder.set_mode(&node.name, node.mode)?;
        }
        folder.set_times(&node.name, node.accessed, node.modified)
    }
}
