//! Finds in the kernel's type information which structures point to operation vectors, at which
//! offsets, and which members of the vectors are functions.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::types::{Types, kind};

/// Structures that point to vectors, in the order of their numbers in `bpf/vectors.c`.
const ROOTS: [&str; 4] = ["inode", "super_block", "dentry", "address_space"];
/// How the kernel names its vectors.
const VECTOR_NAME: &str = "_operations";
/// `VECTORS` and `SLOTS` in `bpf/vectors.c`.
pub(super) const VECTORS: usize = 16;
const VECTOR_BYTES_MAX: u32 = 128 * 8;

/// The members to follow from an argument of each type to the super block, most direct first.
const WAYS: &[(&str, &[(&str, &str)])] = &[
    ("super_block", &[]),
    ("inode", &[I_SB]),
    ("address_space", &[HOST, I_SB]),
    ("dentry", &[("dentry", "d_sb")]),
    ("file", &[F_INODE, I_SB]),
    ("kiocb", &[("kiocb", "ki_filp"), F_INODE, I_SB]),
    ("path", &[("path", "dentry"), ("dentry", "d_sb")]),
    ("folio", &[("folio", "mapping"), HOST, I_SB]),
    ("page", &[("page", "mapping"), HOST, I_SB]),
    (
        "readahead_control",
        &[("readahead_control", "mapping"), HOST, I_SB],
    ),
    (
        "vm_area_struct",
        &[("vm_area_struct", "vm_file"), F_INODE, I_SB],
    ),
    (
        "vm_fault",
        &[
            ("vm_fault", "vma"),
            ("vm_area_struct", "vm_file"),
            F_INODE,
            I_SB,
        ],
    ),
];
/// The vector of a mapping of a file in memory. No file points to it: its file system sets it in the
/// mapping (`mmap`).
const OF_MAPPINGS: &str = "vm_operations_struct";
const I_SB: (&str, &str) = ("inode", "i_sb");
const HOST: (&str, &str) = ("address_space", "host");
const F_INODE: (&str, &str) = ("file", "f_inode");

/// Arguments that the programs can read: `super_block` in `bpf/file_systems.c`.
const ARGUMENTS: usize = 3;

/// A type of operation vector, and the structure that points to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Vector {
    /// Name of the structure, such as `inode_operations`.
    pub(super) name: String,
    pub(super) root: u32,
    pub(super) offset: u32,
    pub(super) bytes: u32,
    /// Members that point to functions, by offset.
    pub(super) slots: BTreeMap<u32, Slot>,
}

/// A member of a vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) name: String,
    /// Types of the arguments of its functions.
    pub(super) signature: Vec<String>,
}

/// The operation vectors, and the offsets of the members that lead to them.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) vectors: Vec<Vector>,
    /// The vector of mappings, which no root points to; `None` if the kernel does not describe it.
    pub(super) of_mappings: Option<Vector>,
    ways: HashMap<&'static str, Vec<u32>>,
    /// Offsets that `bpf/vectors.c` needs, by their names there.
    pub(super) offsets: Vec<(&'static str, u32)>,
    pub(super) type_of_super: u32,
    /// Size of a task's stack in the kernel.
    pub(super) stack_bytes: u32,
}

/// The way from a function's arguments to the super block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) argument: u32,
    /// Offsets of the pointers to follow.
    pub(super) steps: Vec<u32>,
}

impl Layout {
    /// Returns the layout; otherwise the name of the structure or member that is missing.
    pub(super) fn new(types: &Types<'_>) -> Result<Layout, &'static str> {
        let names = ROOTS.into_iter().chain(WAYS.iter().map(|way| way.0));
        let names: HashSet<&'static str> = names.chain(["file_system_type", OF_MAPPINGS]).collect();
        let structures = Structures {
            found: types.find(kind::STRUCT, &names),
            types,
        };
        let type_of_super = structures.offset("super_block", "s_type")?;
        Ok(Layout {
            vectors: structures.vectors(),
            of_mappings: structures.of_mappings(),
            ways: structures.ways(),
            offsets: vec![
                ("inode_of_file", structures.offset("file", "f_inode")?),
                ("super_of_inode", structures.offset("inode", "i_sb")?),
                (
                    "dentry_of_file",
                    structures.offset("file", "f_path.dentry")?,
                ),
                ("mapping_of_inode", structures.offset("inode", "i_mapping")?),
                ("type_of_super", type_of_super),
                (
                    "name_of_type",
                    structures.offset("file_system_type", "name")?,
                ),
            ],
            type_of_super,
            stack_bytes: stack_bytes(types),
        })
    }

    /// Returns the way to the super block from the arguments of a function.
    pub(super) fn way(&self, types: &Types<'_>, prototype: u32) -> Option<Way> {
        let arguments = types.arguments(prototype);
        let named = arguments.iter().take(ARGUMENTS).map(|argument| {
            let target = types.target(*argument)?;
            types.name(target)
        });
        let named: Vec<Option<&str>> = named.collect();
        WAYS.iter().find_map(|(structure, _)| {
            let steps = self.ways.get(structure)?;
            let argument = named.iter().position(|name| *name == Some(structure))?;
            Some(Way {
                argument: argument as u32,
                steps: steps.clone(),
            })
        })
    }
}

/// The size of a kernel stack, 16 KiB unless the kernel says otherwise.
fn stack_bytes(types: &Types<'_>) -> u32 {
    let union = types.find(kind::UNION, &HashSet::from(["thread_union"]));
    let size = union.get("thread_union").and_then(|id| types.size(*id));
    size.filter(|size| size.is_power_of_two())
        .unwrap_or(16 << 10)
}

struct Structures<'t> {
    found: HashMap<&'static str, u32>,
    types: &'t Types<'t>,
}

impl Structures<'_> {
    fn offset(&self, structure: &'static str, path: &'static str) -> Result<u32, &'static str> {
        let id = self.found.get(structure).ok_or(structure)?;
        let member = self.types.member(*id, path);
        member.map(|member| member.offset).ok_or(path)
    }

    fn ways(&self) -> HashMap<&'static str, Vec<u32>> {
        let way = |steps: &[(&'static str, &'static str)]| -> Option<Vec<u32>> {
            let steps = steps.iter();
            steps
                .map(|(from, member)| self.offset(from, member).ok())
                .collect()
        };
        let ways = WAYS.iter();
        ways.filter_map(|(structure, steps)| Some((*structure, way(steps)?)))
            .collect()
    }

    fn vectors(&self) -> Vec<Vector> {
        let mut vectors = Vec::new();
        for (root, name) in (0..).zip(ROOTS) {
            let Some(id) = self.found.get(name) else {
                continue;
            };
            for member in self.types.members(*id) {
                vectors.extend(self.vector(root, member.offset, member.id));
            }
        }
        vectors.truncate(VECTORS);
        vectors
    }

    fn vector(&self, root: u32, offset: u32, id: u32) -> Option<Vector> {
        let structure = self.types.target(id)?;
        let name = self.types.name(structure)?;
        if self.types.kind(structure)? != kind::STRUCT || !name.ends_with(VECTOR_NAME) {
            return None;
        }
        let bytes = self.types.size(structure)?;
        (bytes <= VECTOR_BYTES_MAX).then(|| Vector {
            name: name.to_owned(),
            root,
            offset,
            bytes,
            slots: self.slots(structure),
        })
    }

    fn of_mappings(&self) -> Option<Vector> {
        let structure = *self.found.get(OF_MAPPINGS)?;
        Some(Vector {
            name: OF_MAPPINGS.to_owned(),
            root: 0,
            offset: 0,
            bytes: self.types.size(structure)?,
            slots: self.slots(structure),
        })
    }

    fn slots(&self, structure: u32) -> BTreeMap<u32, Slot> {
        let members = self.types.members(structure).into_iter();
        let slots = members.filter_map(|member| {
            let prototype = self.types.target(member.id)?;
            let is_function = self.types.kind(prototype)? == kind::PROTOTYPE;
            is_function.then(|| {
                let signature = self.types.signature(prototype);
                let name = member.name;
                (member.offset, Slot { name, signature })
            })
        });
        slots.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "file_operations, inode_operations, address_space_operations, super_operations,
    /// dentry_operations" are found, with operations that every file system has.
    #[test]
    fn the_vectors_are_found_in_the_running_kernel() {
        let Some(types) = Types::of_kernel() else {
            eprintln!("skipped, because this kernel does not describe its types");
            return;
        };
        let layout = Layout::new(&types).unwrap();
        for (name, slot) in [
            ("file_operations", "read_iter"),
            ("inode_operations", "lookup"),
            ("address_space_operations", "writepages"),
            ("super_operations", "statfs"),
            ("dentry_operations", "d_revalidate"),
        ] {
            let vector = layout.vectors.iter().find(|vector| vector.name == name);
            let slots = &vector.expect(name).slots;
            assert!(slots.values().any(|found| found.name == slot), "{slot}");
            assert!(slots.values().all(|found| found.name != "owner"));
        }
        let of_mappings = layout.of_mappings.as_ref().unwrap();
        for slot in ["fault", "map_pages", "page_mkwrite"] {
            let mut slots = of_mappings.slots.values();
            assert!(slots.any(|found| found.name == slot), "{slot}");
        }
        let functions = [
            "generic_file_read_iter",
            "vfs_fsync",
            "iput",
            "filemap_fault",
        ];
        let functions = HashSet::from(functions);
        let found = types.find(kind::FUNCTION, &functions);
        let way = |name| layout.way(&types, types.prototype(found[name])?);
        assert_eq!(way("generic_file_read_iter").unwrap().steps.len(), 3);
        assert_eq!(way("vfs_fsync").unwrap().steps.len(), 2);
        assert_eq!(way("iput").unwrap().argument, 0);
        assert_eq!(way("filemap_fault").unwrap().steps.len(), 4);
    }
}
