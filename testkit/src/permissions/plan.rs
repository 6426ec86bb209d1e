//! A tree from a seed, as data: its objects with owners, permissions and attributes. Touches no
//! files.

use super::access::Access;
use super::names;
use crate::prng::Prng;

/// The kind of a planned object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A directory.
    Folder,
    /// A file.
    File {
        /// Its length; up to 8 KiB are written, the rest is a hole.
        size_bytes: u64,
    },
    /// A symbolic link with this target.
    Symlink(Vec<u8>),
    /// A symbolic link to a file beside the tree that only root may read.
    LinkOutside,
    /// Another name of the file with this number; a file of its own if that one was left out.
    HardLink(usize),
    /// A FIFO.
    Fifo,
    /// A socket.
    Socket,
}

/// A planned object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Stays the same when other objects are left out.
    pub number: usize,
    /// The number of its folder; `None` in the root.
    pub parent: Option<usize>,
    /// Its name.
    pub name: Vec<u8>,
    /// Its kind.
    pub kind: Kind,
    /// Its permissions.
    pub access: Access,
    /// Extended attributes: names and values.
    pub xattrs: Vec<(Vec<u8>, Vec<u8>)>,
}

/// A planned tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Determines everything else.
    pub seed: u64,
    /// The directory above the root.
    pub above: Access,
    /// The root.
    pub root: Access,
    /// The objects below, parents before their children.
    pub nodes: Vec<Node>,
    /// Whether paths are longer than the kernel accepts as an argument.
    pub is_deep: bool,
}

/// Number of rows above the usual size from which a subtree gets a name barrier.
const CROWD: u64 = 4_200;
/// Levels of long names that exceed `PATH_MAX`.
const DEEP_LEVELS: usize = 18;
/// Maximum depth of random subtrees.
const DEPTH: usize = 9;

impl Plan {
    /// Makes the tree of this seed.
    pub fn new(seed: u64) -> Plan {
        let mut prng = Prng::new(seed ^ 0x7065_726d);
        let above = match prng.below(6) {
            0 => Access::folder(&mut prng),
            1 => Access::passage(&mut prng),
            _ => Access::plain(0o755),
        };
        let root = match prng.below(5) {
            0 => Access::folder(&mut prng),
            1 => Access::passage(&mut prng),
            _ => Access::plain(0o755),
        };
        let mut planner = Planner {
            prng,
            nodes: Vec::new(),
            depths: Vec::new(),
        };
        planner.spread();
        let (is_crowded, is_deep) = (seed.is_multiple_of(6), seed % 12 == 5);
        if is_crowded {
            planner.crowd();
        }
        if is_deep {
            planner.deep_chain();
        }
        Plan {
            seed,
            above,
            root,
            nodes: planner.nodes,
            is_deep,
        }
    }

    /// Returns the plan without an object and everything below it.
    #[must_use]
    pub fn without(&self, number: usize) -> Plan {
        let mut gone = std::collections::BTreeSet::from([number]);
        let mut plan = self.clone();
        plan.nodes.retain(|node| {
            let goes = gone.contains(&node.number)
                || node.parent.is_some_and(|parent| gone.contains(&parent));
            if goes {
                gone.insert(node.number);
            }
            !goes
        });
        plan
    }

    /// Returns the path of an object, relative to the root; `None` if it was left out.
    pub fn path(&self, number: usize) -> Option<Vec<u8>> {
        let mut names = Vec::new();
        let mut at = Some(number);
        while let Some(number) = at {
            let place = self.nodes.binary_search_by_key(&number, |node| node.number);
            let node = &self.nodes[place.ok()?];
            names.push(node.name.as_slice());
            at = node.parent;
        }
        names.reverse();
        Some(names.join(&b'/'))
    }

    /// Returns true if the folder that holds this path is in the plan.
    pub fn has_holder_of(&self, path: &[u8]) -> bool {
        let Some(at) = path.iter().rposition(|byte| *byte == b'/') else {
            return true;
        };
        let is_it = |node: &Node| self.path(node.number).as_deref() == Some(&path[..at]);
        self.nodes.iter().any(is_it)
    }

    /// Draws start points relative to the root (empty: the root itself): folders, other objects,
    /// and names that do not exist.
    pub fn starts(&self, wanted: usize) -> Vec<Vec<u8>> {
        let mut prng = Prng::new(self.seed ^ 0x7374_6172);
        let is_folder = |node: &&Node| node.kind == Kind::Folder;
        let folders: Vec<&Node> = self.nodes.iter().filter(is_folder).collect();
        let mut starts = vec![Vec::new()];
        for at in 0..wanted {
            if folders.is_empty() {
                break;
            }
            let folder = prng.pick(&folders).number;
            let number = match at % 3 {
                1 => prng.pick(&self.nodes).number,
                _ => folder,
            };
            let mut path = self.path(number).expect("it is in the plan");
            if at % 6 == 5 {
                path.extend(b"/not there");
            }
            starts.push(path);
        }
        starts.retain(|path| path.len() < 3_500);
        starts.sort();
        starts.dedup();
        starts
    }
}

struct Planner {
    prng: Prng,
    nodes: Vec<Node>,
    /// The depth of each node.
    depths: Vec<usize>,
}

impl Planner {
    fn spread(&mut self) {
        let wanted = 50 + self.prng.below(60);
        let mut folders = vec![None];
        for _ in 0..wanted {
            // Recent folders are drawn more often; otherwise trees would be flat.
            let late = folders.len().saturating_sub(12);
            let parent = if self.prng.once_in(3) {
                *self.prng.pick(&folders)
            } else {
                *self.prng.pick(&folders[late..])
            };
            let depth = parent.map_or(0, |at: usize| self.depths[at]);
            let kind = self.kind(depth);
            let is_folder = kind == Kind::Folder;
            let number = self.add(parent, kind);
            if is_folder {
                folders.push(Some(number));
            }
        }
    }

    /// Adds a folder that some users may pass but not list, with subtrees above and below the size
    /// from which on they get a name barrier.
    fn crowd(&mut self) {
        let passage = self.add(None, Kind::Folder);
        self.nodes[passage].access = Access::passage(&mut self.prng);
        for rows in [CROWD, 12] {
            let home = self.add(Some(passage), Kind::Folder);
            for _ in 0..3 {
                let inner = self.add(Some(home), Kind::Folder);
                for at in 0..rows / 3 {
                    let number = self.add(Some(inner), Kind::File { size_bytes: at % 3 });
                    self.nodes[number].access = Access::plain(0o644);
                    self.nodes[number].xattrs.clear();
                }
            }
        }
    }

    fn deep_chain(&mut self) {
        let mut at = None;
        for level in 0..DEEP_LEVELS {
            let number = self.add(at, Kind::Folder);
            self.nodes[number].name = names::long(number);
            // No mode has r without x: messages about such a folder need paths that fit.
            let mode = *self.prng.pick(&[0o755, 0o755, 0o755, 0o755, 0o750]);
            let gid = self.nodes[number].access.gid;
            self.nodes[number].access = Access {
                gid,
                ..Access::plain(mode)
            };
            self.add(Some(number), Kind::File { size_bytes: 1 });
            if level % 5 == 0 {
                self.add(Some(number), Kind::Fifo);
            }
            at = Some(number);
        }
    }

    fn add(&mut self, parent: Option<usize>, kind: Kind) -> usize {
        let number = self.nodes.len();
        let access = match kind {
            Kind::Folder => Access::folder(&mut self.prng),
            _ => Access::file(&mut self.prng),
        };
        let node = Node {
            number,
            parent,
            name: names::draw(&mut self.prng, number),
            xattrs: self.xattrs(&kind),
            access,
            kind,
        };
        self.nodes.push(node);
        let depth = parent.map_or(0, |at| self.depths[at]);
        self.depths.push(depth + 1);
        number
    }

    fn kind(&mut self, depth: usize) -> Kind {
        let sizes = [0, 1, 700, 4_096, 8_192, 8_193, 1 << 20];
        match self.prng.below(20) {
            0..=7 if depth < DEPTH => Kind::Folder,
            8 | 9 => self.symlink(),
            10 | 11 => self.link(),
            12 => Kind::Fifo,
            13 => Kind::Socket,
            _ => Kind::File {
                size_bytes: *self.prng.pick(&sizes),
            },
        }
    }

    /// Picks a file, most often one behind other permissions.
    fn link(&mut self) -> Kind {
        let is_file = |node: &&Node| matches!(node.kind, Kind::File { .. });
        let files: Vec<usize> = self
            .nodes
            .iter()
            .filter(is_file)
            .map(|n| n.number)
            .collect();
        if files.is_empty() {
            return Kind::File { size_bytes: 5 };
        }
        Kind::HardLink(*self.prng.pick(&files))
    }

    fn symlink(&mut self) -> Kind {
        Kind::Symlink(match self.prng.below(5) {
            0 => b"nowhere".to_vec(),
            1 => b".".to_vec(),
            2 => return Kind::LinkOutside,
            3 => b"../..".to_vec(),
            _ => self
                .nodes
                .last()
                .map_or(b"x".to_vec(), |node| node.name.clone()),
        })
    }

    fn xattrs(&mut self, kind: &Kind) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut list = Vec::new();
        let is_file = matches!(kind, Kind::File { .. });
        if !is_file && *kind != Kind::Folder {
            return list;
        }
        let values: [&[u8]; 6] = [
            b"plain",
            b"",
            b"\0\xff\n\x1b",
            b"a \"b\" \\c",
            b"it's",
            b"longer than most of them are",
        ];
        if self.prng.once_in(4) {
            for name in ["user.one", "user.two words", "user.three"] {
                if self.prng.once_in(2) {
                    list.push((name.into(), self.prng.pick(&values).to_vec()));
                }
            }
        }
        if is_file && self.prng.once_in(10) {
            list.push((b"security.capability".to_vec(), CAPABILITY.to_vec()));
        }
        if self.prng.once_in(12) {
            list.push((b"trusted.kept".to_vec(), b"for root alone".to_vec()));
        }
        list
    }
}

/// `cap_net_raw=ep` in revision 2: linux/capability.h, `vfs_cap_data`.
const CAPABILITY: [u8; 20] = [
    1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_says_everything() {
        assert_eq!(Plan::new(7), Plan::new(7));
        assert_ne!(Plan::new(7).nodes, Plan::new(8).nodes);
    }

    #[test]
    fn what_is_left_out_takes_its_content_along() {
        let plan = Plan::new(1);
        let folder = plan.nodes.iter().find(|node| node.parent.is_some());
        let top = folder
            .and_then(|node| node.parent)
            .expect("a folder with content");
        let less = plan.without(top);
        assert!(less.nodes.len() + 1 < plan.nodes.len());
        assert!(
            less.nodes
                .iter()
                .all(|node| less.path(node.number).is_some())
        );
    }

    #[test]
    fn crowds_and_chains_come_up() {
        assert!(Plan::new(6).nodes.len() > 4_200);
        assert!(Plan::new(5).is_deep);
        assert!(Plan::new(1).nodes.len() < 200);
    }
}
