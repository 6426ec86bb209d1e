//! Offsets of members in the running kernel's structures, from its own type information (BTF).
//!
//! The data is read in a single pass that keeps only the requested types. Lengths and references
//! are checked against the available bytes.
//!
//! Source: <https://docs.kernel.org/bpf/btf.html>

use std::collections::HashMap;

const MAGIC: u16 = 0xeb9f;
/// Maximum nesting depth of anonymous structures and unions.
const DEPTH_MOST: u32 = 8;

const KIND_INT: u32 = 1;
const KIND_ARRAY: u32 = 3;
const KIND_STRUCT: u32 = 4;
const KIND_UNION: u32 = 5;
const KIND_ENUM: u32 = 6;
const KIND_FUNC: u32 = 12;
const KIND_PROTO: u32 = 13;
const KIND_VAR: u32 = 14;
const KIND_SECTION: u32 = 15;
const KIND_TAG: u32 = 17;
const KIND_ENUM64: u32 = 19;

/// The requested structures and functions by name.
pub(super) struct Types<'b> {
    bytes: &'b [u8],
    strings: &'b [u8],
    /// Offset of each type; the first has number 1.
    starts: Vec<u32>,
    structures: HashMap<&'b [u8], u32>,
    functions: HashMap<&'b [u8], u32>,
}

/// The header with which every type begins.
struct Head {
    name: u32,
    kind: u32,
    /// Number of members or parameters.
    count: u32,
    /// Whether there are bit-field members.
    has_bits: bool,
}

impl<'b> Types<'b> {
    /// Parses the content of `/sys/kernel/btf/vmlinux`; returns `None` for anything else.
    pub(super) fn parse(bytes: &'b [u8], wanted: &[&str]) -> Option<Types<'b>> {
        let magic = u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?);
        let number = |at: usize| number(bytes, at);
        let head = number(4)? as usize;
        let section = |at: usize| {
            let start = head.checked_add(number(at)? as usize)?;
            bytes.get(start..start.checked_add(number(at + 4)? as usize)?)
        };
        if magic != MAGIC {
            return None;
        }
        let mut types = Types {
            bytes: section(8)?,
            strings: section(16)?,
            starts: Vec::new(),
            structures: HashMap::new(),
            functions: HashMap::new(),
        };
        let mut at = 0;
        while at < types.bytes.len() {
            types.starts.push(u32::try_from(at).ok()?);
            let head = types.head(at)?;
            types.keep(&head, wanted);
            at = at.checked_add(12 + head.tail_bytes()?)?;
        }
        Some(types)
    }

    fn keep(&mut self, head: &Head, wanted: &[&str]) {
        let kept = match head.kind {
            KIND_STRUCT if head.count > 0 => &mut self.structures,
            KIND_FUNC => &mut self.functions,
            _ => return,
        };
        let name = string(self.strings, head.name);
        if wanted.iter().any(|wanted| wanted.as_bytes() == name) {
            // If several have the same name, the first is used.
            let number = self.starts.len() as u32;
            kept.entry(name).or_insert(number);
        }
    }

    fn head(&self, at: usize) -> Option<Head> {
        let info = number(self.bytes, at + 4)?;
        Some(Head {
            name: number(self.bytes, at)?,
            kind: (info >> 24) & 0x1f,
            count: info & 0xffff,
            has_bits: info >> 31 != 0,
        })
    }

    /// Returns the number of a function.
    pub(super) fn function(&self, name: &str) -> Option<u32> {
        self.functions.get(name.as_bytes()).copied()
    }

    /// Returns the offset in bytes of a structure's member, which may be nested in anonymous
    /// structures or unions.
    pub(super) fn offset(&self, structure: &str, member: &str) -> Option<i16> {
        let number = *self.structures.get(structure.as_bytes())?;
        let bits = self.member(number, member.as_bytes(), DEPTH_MOST)?;
        i16::try_from(bits / 8).ok().filter(|_| bits % 8 == 0)
    }

    fn member(&self, number_of: u32, name: &[u8], depth: u32) -> Option<u32> {
        let at = *self.starts.get(number_of.checked_sub(1)? as usize)? as usize;
        let head = self.head(at)?;
        if !matches!(head.kind, KIND_STRUCT | KIND_UNION) || depth == 0 {
            return None;
        }
        (0..head.count as usize).find_map(|index| {
            let at = at + 12 + 12 * index;
            let [own, kind, offset] = [at, at + 4, at + 8].map(|at| number(self.bytes, at));
            let offset = match head.has_bits {
                true => offset? & 0x00ff_ffff,
                false => offset?,
            };
            match string(self.strings, own?) {
                found if found == name => Some(offset),
                b"" => offset.checked_add(self.member(kind?, name, depth - 1)?),
                _ => None,
            }
        })
    }
}

impl Head {
    /// Returns the size in bytes of a type after its header; `None` for an unknown kind.
    fn tail_bytes(&self) -> Option<usize> {
        let count = self.count as usize;
        Some(match self.kind {
            KIND_INT | KIND_VAR | KIND_TAG => 4,
            KIND_ARRAY => 12,
            KIND_STRUCT | KIND_UNION | KIND_SECTION | KIND_ENUM64 => 12 * count,
            KIND_ENUM | KIND_PROTO => 8 * count,
            // Pointers, type names, qualifiers, floating-point numbers.
            2 | 7..=12 | 16 | 18 => 0,
            _ => return None,
        })
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let found = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(found.try_into().ok()?))
}

fn string(strings: &[u8], at: u32) -> &[u8] {
    let from = strings.get(at as usize..).unwrap_or_default();
    from.split(|byte| *byte == 0).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `struct outer { int a; union { struct { int b; int c; }; int d; }; };`
    fn described() -> Vec<u8> {
        let strings = b"\0outer\0a\0b\0c\0d\0int\0call\0";
        let name = |wanted: &[u8]| {
            let whole = [b"\0", wanted, b"\0"].concat();
            let found = strings.windows(whole.len()).position(|part| part == whole);
            found.map_or(0, |at| at as u32 + 1)
        };
        let info = |kind: u32, count: u32| kind << 24 | count;
        let types: Vec<u32> = [
            vec![name(b"int"), info(KIND_INT, 0), 4, 32],
            vec![
                0,
                info(KIND_STRUCT, 2),
                8,
                name(b"b"),
                1,
                0,
                name(b"c"),
                1,
                32,
            ],
            vec![0, info(KIND_UNION, 2), 8, 0, 2, 0, name(b"d"), 1, 0],
            vec![
                name(b"outer"),
                info(KIND_STRUCT, 2),
                12,
                name(b"a"),
                1,
                0,
                0,
                3,
                32,
            ],
            vec![name(b"call"), info(KIND_FUNC, 0), 1],
        ]
        .concat();
        let types: Vec<u8> = types.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let mut bytes = MAGIC.to_ne_bytes().to_vec();
        bytes.extend([1, 0]);
        let lengths = [24, 0, types.len(), types.len(), strings.len()];
        bytes.extend(lengths.iter().flat_map(|n| (*n as u32).to_ne_bytes()));
        [&bytes[..], &types, strings].concat()
    }

    #[test]
    fn members_are_found_where_they_lie() {
        let bytes = described();
        let types = Types::parse(&bytes, &["outer", "call"]).unwrap();
        let offset = |member| types.offset("outer", member);
        assert_eq!(["a", "b", "c", "d"].map(offset), [0, 4, 8, 4].map(Some));
        assert_eq!((offset("e"), types.offset("inner", "a")), (None, None));
        assert_eq!(
            (types.function("call"), types.function("outer")),
            (Some(5), None)
        );
    }

    #[test]
    fn nonsense_is_none() {
        let bytes = described();
        for length in 0..bytes.len() {
            let _ = Types::parse(&bytes[..length], &["outer"]);
        }
        for at in 0..bytes.len() {
            for wrong in [0, 1, 0x7f, 0xff] {
                let mut bytes = bytes.clone();
                bytes[at] = wrong;
                if let Some(types) = Types::parse(&bytes, &["outer", "call"]) {
                    let _ = types.offset("outer", "c");
                }
            }
        }
        assert!(Types::parse(b"something else", &[]).is_none());
    }
}
