//! A tree for finders, as data: [`super::build`] makes it, arguments of tests are drawn from it,
//! and the shrinker removes parts of it.
//!
//! The same seed and [`Plan::present_seconds`] make the same plan on every machine.

use std::collections::{BTreeMap, BTreeSet};

use super::names;
use crate::folder::FileTime;
use crate::permissions::access::Access;
use crate::prng::Prng;

/// The kind of a planned entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A directory.
    Folder,
    /// A directory on which a file system in memory is mounted.
    Mount,
    /// A file or directory on which the entry with this number is mounted.
    Bound(usize),
    /// A regular file, of which only the first bytes are written.
    File {
        /// Its size.
        size_bytes: u64,
    },
    /// A symbolic link with this target.
    Symlink(Vec<u8>),
    /// Another name of the file with this number.
    HardLink(usize),
    /// A pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A block device.
    Block(u32, u32),
    /// A character device.
    Character(u32, u32),
}

/// A planned entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its index in the original plan, even if entries were removed since.
    pub number: usize,
    /// The folder it is in; the root if `None`.
    pub parent: Option<usize>,
    /// Its name.
    pub name: Vec<u8>,
    /// Its kind.
    pub kind: Kind,
    /// Owner, mode, access control lists.
    pub access: Access,
    /// Access and modification times; if `None`, those of its creation.
    pub times: Option<(FileTime, FileTime)>,
    /// The value of a user attribute, if it has one.
    pub xattr: Option<Vec<u8>>,
}

/// Prefix of the names of entries that are left out of the index.
pub const LEFT_OUT: &str = "left-out";

/// A tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Determines everything else.
    pub seed: u64,
    /// The time around which times lie.
    pub present_seconds: i64,
    /// Parents before their children.
    pub nodes: Vec<Node>,
}

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
    4_096,
    4_097,
    (1 << 20) - 1,
    1 << 20,
    (1 << 20) + 1,
    (1 << 30) + 1,
    3 << 30,
];
/// Times (in seconds since 1970) at which something wraps.
const EDGES_SECONDS: &[i64] = &[
    -2_147_483_648,
    -1_000_000_000,
    -86_400,
    -1,
    0,
    1,
    86_399,
    2_147_483_647,
    2_147_483_648,
    4_107_542_399,
    4_294_967_296,
    9_224_318_016,
    10_000_000_000,
    15_032_385_535,
];
const NANOSECONDS: &[u32] = &[0, 0, 1, 500_000_000, 999_999_999];
/// Distances between times: minutes and days, which `-mmin` and `-mtime` count.
const STEPS_SECONDS: &[i64] = &[1, 60, 3_600, 86_400];
const FILE_MODES: &[u32] = &[
    0o644, 0o644, 0o755, 0o600, 0o640, 0o000, 0o444, 0o111, 0o222, 0o4755, 0o2755, 0o1644, 0o6711,
    0o7777,
];
const FOLDER_MODES: &[u32] = &[
    0o755, 0o755, 0o700, 0o711, 0o750, 0o1777, 0o2755, 0o000, 0o311,
];
/// Modes that allow others to list but not to search.
const LISTED_ONLY: &[u32] = &[0o744, 0o444, 0o754, 0o766];
const OWNERS: &[u32] = &[
    0,
    0,
    1,
    1_000,
    60_004,
    60_101,
    77_777,
    65_534,
    3_000_000_000,
];

/// Special properties of a tree.
#[derive(Clone, Copy, Debug, Default)]
struct Flavour {
    mounts: usize,
    /// Number of files and directories that are mounted on others.
    bounds: u64,
    /// Number of parts that are left out of the index.
    left_out: u64,
    listed_only: bool,
    /// Number of links to directories, each of which may multiply the output of `-L`.
    folder_links: usize,
}

impl Plan {
    /// Makes the plan of a seed.
    pub fn new(seed: u64, present_seconds: i64) -> Plan {
        let mut prng = Prng::new(seed ^ 0x7265_6469_6e66);
        let flavour = Flavour {
            mounts: usize::from(prng.once_in(5)),
            bounds: u64::from(prng.once_in(6)) * (1 + prng.below(3)),
            left_out: u64::from(prng.once_in(5)) * (1 + prng.below(3)),
            listed_only: prng.once_in(6),
            folder_links: 4,
        };
        let entries = 20 + prng.below(45);
        let mut planner = Planner {
            present_seconds,
            flavour,
            nodes: Vec::new(),
            folders: vec![None],
            taken: BTreeMap::new(),
            prng,
        };
        for _ in 0..entries {
            planner.add_any();
        }
        match planner.prng.below(24) {
            0..3 => planner.add_chain(40, 1),
            3 => planner.add_chain(20, 250),
            4..7 => planner.add_crowd(200),
            _ => {}
        }
        (0..flavour.bounds).for_each(|_| planner.add_bound());
        (0..flavour.left_out).for_each(|_| planner.add_left_out());
        Plan {
            seed,
            present_seconds,
            nodes: planner.nodes,
        }
    }

    /// Returns the entry with this number.
    pub fn node(&self, number: usize) -> Option<&Node> {
        self.nodes.iter().find(|node| node.number == number)
    }

    /// Returns whether something is left out of the index.
    pub fn leaves_out(&self) -> bool {
        let is_left_out = |node: &Node| node.name.starts_with(LEFT_OUT.as_bytes());
        self.nodes.iter().any(is_left_out)
    }

    /// Returns the plan without mounts.
    #[must_use]
    pub fn unmounted(&self) -> Plan {
        let mut plan = self.clone();
        for node in &mut plan.nodes {
            node.kind = match node.kind {
                Kind::Mount => Kind::Folder,
                Kind::Bound(of) if self.is_folder(of) => Kind::Folder,
                Kind::Bound(_) => Kind::File { size_bytes: 0 },
                _ => continue,
            };
        }
        plan
    }

    /// Returns whether this number is that of a directory.
    pub fn is_folder(&self, number: usize) -> bool {
        let node = self.node(number);
        node.is_some_and(|node| matches!(node.kind, Kind::Folder | Kind::Mount))
    }

    /// Returns the path of an entry relative to the root.
    pub fn path(&self, node: &Node) -> Vec<u8> {
        let mut path = node.name.clone();
        let mut parent = node.parent;
        while let Some(holder) = parent.and_then(|number| self.node(number)) {
            path = [&holder.name[..], b"/", &path].concat();
            parent = holder.parent;
        }
        path
    }

    /// Returns the plan with this entry's special attributes removed; `None` if it has none.
    pub fn plainer(&self, number: usize) -> Option<Plan> {
        let mut smaller = self.clone();
        let node = smaller
            .nodes
            .iter_mut()
            .find(|node| node.number == number)?;
        let is_folder = matches!(node.kind, Kind::Folder | Kind::Mount);
        node.access = Access::plain(if is_folder { 0o755 } else { 0o644 });
        (node.times, node.xattr) = (None, None);
        match &mut node.kind {
            Kind::File { size_bytes } => *size_bytes = 0,
            kind @ Kind::Mount => *kind = Kind::Folder,
            kind @ Kind::Bound(_) => *kind = Kind::Folder,
            _ => {}
        }
        (smaller != *self).then_some(smaller)
    }

    /// Returns the plan without some entries and everything below them.
    pub fn without(&self, numbers: &[usize]) -> Plan {
        let mut gone: BTreeSet<usize> = numbers.iter().copied().collect();
        let mut smaller = self.clone();
        smaller.nodes.retain(|node| {
            let goes = gone.contains(&node.number)
                || node.parent.is_some_and(|parent| gone.contains(&parent));
            if goes {
                gone.insert(node.number);
            }
            !goes
        });
        smaller
    }
}

struct Planner {
    prng: Prng,
    present_seconds: i64,
    flavour: Flavour,
    nodes: Vec<Node>,
    /// The folders made so far; `None` is the root.
    folders: Vec<Option<usize>>,
    taken: BTreeMap<Option<usize>, BTreeSet<Vec<u8>>>,
}

impl Planner {
    fn add_any(&mut self) {
        // Half of the entries go into recent folders, which makes trees deep.
        let recent = self.folders.len().saturating_sub(4);
        let from = if self.prng.once_in(2) { 0 } else { recent };
        let parent = *self.prng.pick(&self.folders[from..]);
        let number = self.nodes.len();
        let name = names::draw(&mut self.prng, number);
        let kind = self.kind(parent, &name);
        self.add(parent, name, kind);
    }

    /// Adds nested folders, with a file at the end.
    fn add_chain(&mut self, levels: usize, name_bytes: usize) {
        let mut parent = None;
        for level in 0..levels {
            let name = format!("{level:x<name_bytes$}").into_bytes();
            parent = Some(self.add(parent, name, Kind::Folder));
        }
        self.add(parent, b"end".to_vec(), Kind::File { size_bytes: 3 });
    }

    /// Adds a folder with many files.
    fn add_crowd(&mut self, files: usize) {
        let parent = Some(self.add(None, b"crowd".to_vec(), Kind::Folder));
        for file in 0..files {
            let name = format!("c{file}").into_bytes();
            let size_bytes = *self.prng.pick(SIZES_BYTES);
            self.add(parent, name, Kind::File { size_bytes });
        }
    }

    /// Adds a name on which another file or directory is mounted; a directory above it makes a
    /// loop.
    fn add_bound(&mut self) {
        let may = |node: &&Node| matches!(node.kind, Kind::File { .. } | Kind::Folder);
        let sources: Vec<usize> = self.nodes.iter().filter(may).map(|n| n.number).collect();
        if sources.is_empty() {
            return;
        }
        let of = *self.prng.pick(&sources);
        let parent = *self.prng.pick(&self.folders);
        let name = names::draw(&mut self.prng, self.nodes.len());
        self.add(parent, name, Kind::Bound(of));
    }

    /// Adds a file or a folder that is left out of the index, with content that is open to all, and
    /// perhaps a link to it.
    fn add_left_out(&mut self) {
        let parent = *self.prng.pick(&self.folders);
        let number = self.nodes.len();
        let name = format!("{LEFT_OUT}{number}").into_bytes();
        if self.prng.once_in(3) {
            let link = Kind::Symlink(name.clone());
            self.add(parent, format!("to{number}").into_bytes(), link);
        }
        let first = self.nodes.len();
        if self.prng.once_in(3) {
            self.add(parent, name, Kind::File { size_bytes: 7 });
        } else {
            let top = Some(self.add(parent, name, Kind::Folder));
            let inner = Some(self.add(top, b"ab".to_vec(), Kind::Folder));
            self.add(inner, b"x".to_vec(), Kind::File { size_bytes: 1 });
            self.add(top, b"_.txt".to_vec(), Kind::File { size_bytes: 512 });
        }
        for node in &mut self.nodes[first..] {
            let is_folder = node.kind == Kind::Folder;
            node.access = Access::plain(if is_folder { 0o755 } else { 0o644 });
        }
    }

    fn add(&mut self, parent: Option<usize>, mut name: Vec<u8>, kind: Kind) -> usize {
        let number = self.nodes.len();
        let taken = self.taken.entry(parent).or_default();
        while !taken.insert(name.clone()) {
            name.truncate(names::LONGEST_BYTES - 1);
            name.push(b'0' + (number % 10) as u8);
            if name.len() == names::LONGEST_BYTES && taken.contains(&name) {
                name = format!("again{number}").into_bytes();
            }
        }
        if matches!(kind, Kind::Folder | Kind::Mount) {
            self.folders.push(Some(number));
        }
        let node = Node {
            access: self.access(&kind),
            times: (!self.prng.once_in(8)).then(|| (self.time(), self.time())),
            xattr: self.xattr(&kind),
            number,
            parent,
            name,
            kind,
        };
        self.nodes.push(node);
        number
    }

    fn kind(&mut self, parent: Option<usize>, name: &[u8]) -> Kind {
        match self.prng.below(24) {
            0 if self.flavour.mounts > 0 && parent.is_none() => {
                self.flavour.mounts -= 1;
                Kind::Mount
            }
            0..7 => Kind::Folder,
            7..10 => Kind::Symlink(self.target(parent, name)),
            10 => self.hard_link(),
            11 => Kind::Fifo,
            12 => Kind::Socket,
            13 if self.prng.once_in(2) => Kind::Block(7, 90 + self.prng.below(300) as u32),
            13 => Kind::Character(
                1 + self.prng.below(300) as u32,
                self.prng.below(1 << 20) as u32,
            ),
            _ => Kind::File {
                size_bytes: *self.prng.pick(SIZES_BYTES),
            },
        }
    }

    /// Picks a file that is not on another file system, since hard links cannot cross file systems.
    fn hard_link(&mut self) -> Kind {
        let is_file = |node: &&Node| matches!(node.kind, Kind::File { .. });
        let files: Vec<usize> = self
            .nodes
            .iter()
            .filter(is_file)
            .map(|n| n.number)
            .collect();
        match files.last() {
            Some(_) => Kind::HardLink(*self.prng.pick(&files)),
            None => Kind::Fifo,
        }
    }

    /// Draws a link's target: a missing path, itself, a loop, a file, a folder beside or above it,
    /// another link, or a path through a file.
    fn target(&mut self, parent: Option<usize>, name: &[u8]) -> Vec<u8> {
        let beside: Vec<&Node> = self.nodes.iter().filter(|n| n.parent == parent).collect();
        let folder = |node: &&&Node| matches!(node.kind, Kind::Folder | Kind::Mount);
        let (folders, others): (Vec<&Node>, Vec<&Node>) =
            beside.into_iter().partition(|node| folder(&node));
        if self.prng.once_in(10) {
            return self.target_elsewhere(parent);
        }
        let choice = self.prng.below(12);
        if choice < 4 && self.flavour.folder_links > 0 {
            self.flavour.folder_links -= 1;
            return match folders.last() {
                Some(_) if choice < 3 => {
                    let name = self.prng.pick(&folders).name.clone();
                    if choice == 2 {
                        [&name[..], b"/"].concat()
                    } else {
                        name
                    }
                }
                // Not above the root of the tree.
                _ if parent.is_some() => b"..".to_vec(),
                _ => b".".to_vec(),
            };
        }
        match choice {
            4..9 if !others.is_empty() => {
                let name = self.prng.pick(&others).name.clone();
                if choice == 8 {
                    [&name[..], b"/x"].concat()
                } else {
                    name
                }
            }
            9 => name.to_vec(),
            10 => b"/dev/null".to_vec(),
            _ => names::draw(&mut self.prng, 0),
        }
    }

    /// Draws a target outside the tree: in another indexed part, or in one that is not indexed.
    fn target_elsewhere(&mut self, parent: Option<usize>) -> Vec<u8> {
        let mut ups = 1;
        let mut above = parent;
        while let Some(number) = above {
            ups += 1;
            above = self.nodes[number].parent;
        }
        let (more, rest) = *self.prng.pick(&[
            (0, "beside/inner"),
            (0, "beside/inner/file"),
            (1, "outside"),
            (1, "outside/"),
            (1, "outside/file"),
            (1, "outside/folder"),
            (1, "outside/folder/.."),
            (1, "outside/none"),
            (1, "outside/back"),
            (1, "outside/shut"),
            (1, "outside/shut/file"),
            (1, "outside/loop"),
        ]);
        ["../".repeat(ups + more).as_bytes(), rest.as_bytes()].concat()
    }

    fn access(&mut self, kind: &Kind) -> Access {
        let is_folder = matches!(kind, Kind::Folder | Kind::Mount);
        let mode = match kind {
            Kind::Folder if self.flavour.listed_only && self.prng.once_in(3) => {
                *self.prng.pick(LISTED_ONLY)
            }
            Kind::Folder if self.prng.once_in(3) => *self.prng.pick(FOLDER_MODES),
            Kind::Folder | Kind::Mount | Kind::Bound(_) => 0o755,
            _ => *self.prng.pick(FILE_MODES),
        };
        let mut access = Access::plain(mode);
        access.uid = *self.prng.pick(OWNERS);
        access.gid = *self.prng.pick(OWNERS);
        // Folders whose ACL denies only the search belong to the known deviation, too.
        let may_have_list =
            matches!(kind, Kind::File { .. }) || is_folder && self.flavour.listed_only;
        if may_have_list && self.prng.once_in(6) {
            let drawn = Access::folder(&mut self.prng);
            access.acl = drawn.acl;
        }
        access
    }

    fn xattr(&mut self, kind: &Kind) -> Option<Vec<u8>> {
        let may = matches!(kind, Kind::File { .. } | Kind::Folder);
        (may && self.prng.once_in(8)).then(|| b"value".to_vec())
    }

    fn time(&mut self) -> FileTime {
        let nanoseconds = *self.prng.pick(NANOSECONDS);
        if self.prng.once_in(5) {
            let seconds = *self.prng.pick(EDGES_SECONDS);
            // Times that no file system stores exactly are left out.
            let whole = seconds == -2_147_483_648;
            return FileTime::new(seconds, if whole { 0 } else { nanoseconds });
        }
        let steps = i64::try_from(self.prng.below(80)).expect("small") - 60;
        let seconds = self.present_seconds + steps * self.prng.pick(STEPS_SECONDS);
        FileTime::new(seconds, nanoseconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_makes_one_plan_and_names_are_unique() {
        for seed in 0..50 {
            let plan = Plan::new(seed, 1_700_000_000);
            assert_eq!(plan, Plan::new(seed, 1_700_000_000));
            let paths: BTreeSet<Vec<u8>> = plan.nodes.iter().map(|n| plan.path(n)).collect();
            assert_eq!(paths.len(), plan.nodes.len(), "seed {seed}");
            for node in &plan.nodes {
                assert!(node.name.len() <= names::LONGEST_BYTES && !node.name.contains(&b'/'));
            }
        }
    }

    #[test]
    fn a_folder_goes_with_its_content() {
        let plan = Plan::new(3, 0);
        let inner = plan.nodes.iter().find(|n| n.parent.is_some());
        let parent = inner
            .and_then(|n| n.parent)
            .expect("a folder with something in it");
        let smaller = plan.without(&[parent]);
        assert!(smaller.nodes.len() + 2 <= plan.nodes.len());
        assert!(smaller.nodes.iter().all(|n| n.parent != Some(parent)));
    }
}
