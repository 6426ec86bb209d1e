//! The kernel's description of its own types (BTF): structures, their members, functions and their
//! arguments; of the kernel and, in addition, of one of its modules.
//!
//! Source: <https://docs.kernel.org/bpf/btf.html>
//!
//! Damaged type information yields `None` or fewer members, never a panic.

use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Where the kernel publishes its types.
pub(crate) const DIRECTORY: &str = "/sys/kernel/btf";

const MAGIC: u16 = 0xeb9f;
/// How many anonymous structures, type names or qualifiers may lie within each other.
const NESTED: u32 = 12;
/// Maximum number of members of a structure, with those within it.
const MEMBERS_MAX: u32 = 10_000;
const ARGUMENTS_MAX: usize = 64;

/// Kinds of types, with the kernel's numbers.
pub(crate) mod kind {
    pub(crate) const INT: u32 = 1;
    pub(crate) const POINTER: u32 = 2;
    pub(crate) const ARRAY: u32 = 3;
    pub(crate) const STRUCT: u32 = 4;
    pub(crate) const UNION: u32 = 5;
    pub(crate) const ENUM: u32 = 6;
    pub(crate) const TYPEDEF: u32 = 8;
    pub(crate) const RESTRICT: u32 = 11;
    pub(crate) const FUNCTION: u32 = 12;
    pub(crate) const PROTOTYPE: u32 = 13;
    pub(crate) const VARIABLE: u32 = 14;
    pub(crate) const SECTION: u32 = 15;
    pub(crate) const DECLARATION_TAG: u32 = 17;
    pub(crate) const TYPE_TAG: u32 = 18;
    pub(crate) const ENUM64: u32 = 19;
}

/// Types of the kernel, or of a module and the kernel.
pub(crate) struct Types<'k> {
    /// The kernel's, if these are a module's.
    base: Option<&'k Types<'k>>,
    bytes: Vec<u8>,
    /// Where each type begins.
    places: Vec<usize>,
    first_id: u32,
    /// Where the names begin, and the offset of the first.
    names: usize,
    first_name: u32,
    names_bytes: u32,
}

/// A member of a structure.
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) id: u32,
    pub(crate) offset: u32,
}

impl<'k> Types<'k> {
    /// Reads the kernel's own types.
    pub(crate) fn of_kernel() -> Option<Types<'static>> {
        let bytes = std::fs::read(Path::new(DIRECTORY).join("vmlinux")).ok()?;
        Types::parse(bytes, None)
    }

    /// Reads the types of a module.
    pub(crate) fn of_module(&'k self, module: &str) -> Option<Types<'k>> {
        let bytes = std::fs::read(Path::new(DIRECTORY).join(module)).ok()?;
        Types::parse(bytes, Some(self))
    }

    fn parse(bytes: Vec<u8>, base: Option<&'k Types<'k>>) -> Option<Types<'k>> {
        let word = |at: usize| word(&bytes, at);
        let magic = word(0)? & 0xffff;
        if magic != u32::from(MAGIC) {
            return None;
        }
        let header = word(4)? as usize;
        let (begin, length) = (word(8)? as usize, word(12)? as usize);
        let (names, names_bytes) = (word(16)? as usize, word(20)?);
        let mut at = header.checked_add(begin)?;
        let end = at.checked_add(length)?;
        let mut places = Vec::new();
        while at < end {
            places.push(at);
            at = at.checked_add(12 + trailer(word(at + 4)?))?;
        }
        Some(Types {
            first_id: base.map_or(1, |base| base.first_id + base.places.len() as u32),
            first_name: base.map_or(0, |base| base.first_name + base.names_bytes),
            names: header.checked_add(names)?,
            names_bytes,
            base,
            places,
            bytes,
        })
    }

    /// Returns a word of a type's record: 0 its name, 1 its kind, 2 its type or size, then what
    /// follows.
    fn record(&self, id: u32, index: usize) -> Option<u32> {
        match id.checked_sub(self.first_id) {
            Some(own) => word(&self.bytes, self.places.get(own as usize)? + index * 4),
            None => self.base?.record(id, index),
        }
    }

    fn text(&self, offset: u32) -> Option<&str> {
        let Some(own) = offset.checked_sub(self.first_name) else {
            return self.base?.text(offset);
        };
        let rest = self.bytes.get(self.names + own as usize..)?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        std::str::from_utf8(rest.get(..end)?).ok()
    }

    pub(crate) fn name(&self, id: u32) -> Option<&str> {
        self.text(self.record(id, 0)?)
    }

    pub(crate) fn kind(&self, id: u32) -> Option<u32> {
        Some((self.record(id, 1)? >> 24) & 0x1f)
    }

    fn count(&self, id: u32) -> usize {
        self.record(id, 1).unwrap_or(0) as usize & 0xffff
    }

    /// Returns the size in bytes of a structure.
    pub(crate) fn size(&self, id: u32) -> Option<u32> {
        self.record(id, 2)
    }

    /// Returns the types of a kind that have one of these names; of several, the first.
    pub(crate) fn find<'n>(
        &self,
        wanted_kind: u32,
        wanted: &HashSet<&'n str>,
    ) -> HashMap<&'n str, u32> {
        let mut found = HashMap::new();
        for id in (self.first_id..).take(self.places.len()) {
            if self.kind(id) != Some(wanted_kind) {
                continue;
            }
            if let Some(name) = self.name(id).and_then(|name| wanted.get(name)) {
                found.entry(*name).or_insert(id);
            }
        }
        found
    }

    /// Returns a type without its type names and qualifiers.
    pub(crate) fn bare(&self, mut id: u32) -> Option<u32> {
        for _ in 0..NESTED {
            match self.kind(id)? {
                kind::TYPEDEF..=kind::RESTRICT | kind::TYPE_TAG => id = self.record(id, 2)?,
                _ => return Some(id),
            }
        }
        None
    }

    /// Returns what a pointer points to, without qualifiers; `None` if the type is no pointer.
    pub(crate) fn target(&self, id: u32) -> Option<u32> {
        let pointer = self.bare(id)?;
        (self.kind(pointer)? == kind::POINTER).then(|| self.bare(self.record(pointer, 2)?))?
    }

    /// Returns the members of a structure, with those of anonymous ones within it.
    pub(crate) fn members(&self, id: u32) -> Vec<Member> {
        let mut found = Vec::new();
        self.add_members(id, 0, NESTED, &mut found, &mut 0);
        found
    }

    /// Adds the members of a structure and of the anonymous structures in it. `visited` counts the
    /// members read so far; reading stops at [`MEMBERS_MAX`], which only damaged data reach.
    fn add_members(
        &self,
        id: u32,
        base: u32,
        depth: u32,
        found: &mut Vec<Member>,
        visited: &mut u32,
    ) {
        let has_bit_fields = self.record(id, 1).unwrap_or(0) >> 31 != 0;
        for at in 0..self.count(id) {
            let field = |index| self.record(id, 3 + at * 3 + index);
            let (Some(name), Some(member), Some(bits)) = (field(0), field(1), field(2)) else {
                return;
            };
            *visited += 1;
            if *visited > MEMBERS_MAX {
                return;
            }
            let bits = match has_bit_fields {
                true => bits & 0x00ff_ffff,
                false => bits,
            };
            let offset = base.saturating_add(bits / 8);
            let name = self.text(name).unwrap_or_default();
            if !name.is_empty() {
                found.push(Member {
                    name: name.to_owned(),
                    id: member,
                    offset,
                });
            } else if let Some(inner) = self.bare(member)
                && depth > 0
            {
                self.add_members(inner, offset, depth - 1, found, visited);
            }
        }
    }

    /// Returns the member of a structure at a path of names, such as `f_path.dentry`.
    pub(crate) fn member(&self, id: u32, path: &str) -> Option<Member> {
        let (first, rest) = match path.split_once('.') {
            Some((first, rest)) => (first, Some(rest)),
            None => (path, None),
        };
        let mut members = self.members(id).into_iter();
        let own = members.find(|member| member.name == first)?;
        let Some(rest) = rest else {
            return Some(own);
        };
        let inner = self.member(self.bare(own.id)?, rest)?;
        Some(Member {
            offset: own.offset + inner.offset,
            ..inner
        })
    }

    /// Returns the prototype of a function.
    pub(crate) fn prototype(&self, function: u32) -> Option<u32> {
        self.record(function, 2)
    }

    /// Returns the types of a prototype's arguments.
    pub(crate) fn arguments(&self, prototype: u32) -> Vec<u32> {
        let argument = |at| self.record(prototype, 3 + at * 2 + 1);
        let count = self.count(prototype).min(ARGUMENTS_MAX);
        (0..count).filter_map(argument).collect()
    }

    /// Returns a type as it would be written, without qualifiers.
    fn spelling(&self, id: u32, depth: u32) -> String {
        let Some(bare) = self.bare(id).filter(|_| depth > 0) else {
            return String::new();
        };
        match self.target(bare) {
            Some(0) => "void *".to_owned(),
            Some(target) if self.kind(target) == Some(kind::PROTOTYPE) => "function *".to_owned(),
            Some(target) => format!("{} *", self.spelling(target, depth - 1)),
            None => self.name(bare).unwrap_or_default().to_owned(),
        }
    }

    /// Returns a prototype's arguments as they would be written.
    pub(crate) fn signature(&self, prototype: u32) -> Vec<String> {
        let arguments = self.arguments(prototype).into_iter();
        arguments
            .map(|argument| self.spelling(argument, NESTED))
            .collect()
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(word.try_into().ok()?))
}

/// Returns the number of bytes behind the three words of a type's record.
fn trailer(kind_and_count: u32) -> usize {
    let count = kind_and_count as usize & 0xffff;
    match (kind_and_count >> 24) & 0x1f {
        kind::INT | kind::VARIABLE | kind::DECLARATION_TAG => 4,
        kind::ARRAY => 12,
        kind::STRUCT | kind::UNION | kind::SECTION | kind::ENUM64 => count * 12,
        kind::ENUM | kind::PROTOTYPE => count * 8,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The offsets that `bpftool btf dump` prints, if it is installed.
    #[test]
    fn members_lie_where_bpftool_says() {
        let Some(types) = Types::of_kernel() else {
            eprintln!("skipped, because this kernel does not describe its types");
            return;
        };
        let found = types.find(kind::STRUCT, &HashSet::from(["inode", "file_operations"]));
        let dump = trawl_testkit::oracle::command("bpftool")
            .args(["btf", "dump", "file", "/sys/kernel/btf/vmlinux"])
            .output();
        let Ok(dump) = dump else {
            eprintln!("skipped, because bpftool is not installed");
            return;
        };
        let dump = String::from_utf8_lossy(&dump.stdout).into_owned();
        for (name, id) in found {
            let head = format!("[{id}] STRUCT '{name}' size={}", types.size(id).unwrap());
            let mut lines = dump.lines().skip_while(|line| !line.starts_with(&head));
            assert!(lines.next().is_some(), "{head}");
            let own = types.members(id);
            let mut compared = 0;
            for line in lines.take_while(|line| line.starts_with('\t')) {
                let mut words = line.split_whitespace();
                let label = words.next().unwrap().trim_matches('\'');
                let bits = line.rsplit_once("bits_offset=").unwrap().1;
                let bits = bits.split_whitespace().next().unwrap();
                let Some(member) = own.iter().find(|member| member.name == label) else {
                    assert_eq!(label, "(anon)", "{name}");
                    continue;
                };
                assert_eq!(member.offset, bits.parse::<u32>().unwrap() / 8, "{line}");
                compared += 1;
            }
            assert!(compared > 20, "{name}: {compared}");
        }
    }

    #[test]
    fn damaged_descriptions_are_refused_or_read_as_less() {
        let Ok(bytes) = std::fs::read(Path::new(DIRECTORY).join("vmlinux")) else {
            eprintln!("skipped, because this kernel does not describe its types");
            return;
        };
        assert!(Types::parse(vec![0; 100], None).is_none());
        assert!(Types::parse(bytes[..1000].to_vec(), None).is_none());
        let mut odd = bytes;
        for at in (24..200_000).step_by(97) {
            odd[at] ^= 0x55;
        }
        if let Some(types) = Types::parse(odd, None) {
            for id in 1..2000 {
                drop((types.members(id), types.signature(id), types.target(id)));
            }
        }
    }
}
