//! What a named index is over, and the list of a source's definitions.
//!
//! The list is text, one definition a line: `NAME KIND ATTRIBUTE,ATTRIBUTE… PART`. The module `over`
//! has the attributes. PART is there for an index of a part of the source: the path below the root,
//! with `%` and two hexadecimal digits for other bytes than visible ASCII.

use std::fmt;
use std::str::FromStr;

use trawl_model::column::Column;
use xxhash_rust::xxh3::xxh3_64;

use crate::error::DefinitionError;
use crate::over::Over;

/// Maximum number of named indices of a source (Propeller, section 3.2: "up to 16 named indices
/// beyond the four basic indices").
pub const INDICES_MAX: usize = 16;
/// Maximum length of a name in bytes.
pub(crate) const NAME_BYTES_MAX: usize = 32;

/// How values are arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// By value, for ranges.
    Ordered,
    /// By the hash of the value, for single values.
    Hashed,
    /// By each value of a list and each word of a text. Only contents have lists and texts.
    Inverted,
    /// By the files at both ends of a relation.
    Graph,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 4] = [Kind::Ordered, Kind::Hashed, Kind::Inverted, Kind::Graph];

    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Ordered => "ordered",
            Kind::Hashed => "hashed",
            Kind::Inverted => "inverted",
            Kind::Graph => "graph",
        }
    }
}

/// Maximum length of the path of a part in bytes.
const PART_BYTES_MAX: usize = 4096;

/// A named index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    name: String,
    kind: Kind,
    over: Over,
    /// The directory below the source's root whose entries the index has; empty for the root.
    part: Vec<u8>,
}

impl Definition {
    /// Returns a definition. `attributes` are names of [`ATTRIBUTES`](crate::ATTRIBUTES), the first
    /// in order first; or one attribute of contents, `attr:NAME`; or one extended attribute,
    /// `xattr:NAME`; or relations, `relation:KIND`, or `relation:all`.
    ///
    /// # Errors
    /// If a name is invalid, or the kind does not suit the attributes.
    pub fn new<A: AsRef<str>>(
        name: &str,
        kind: Kind,
        attributes: &[A],
    ) -> Result<Definition, DefinitionError> {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let begins = name.bytes().next().is_some_and(|b| b.is_ascii_alphabetic());
        if !begins || name.len() > NAME_BYTES_MAX || !name.bytes().all(is_word) {
            return Err(DefinitionError::Name(name.to_owned()));
        }
        let over = Over::read(attributes)?;
        over.suits(kind)?;
        Ok(Definition {
            name: name.to_owned(),
            kind,
            over,
            part: Vec::new(),
        })
    }

    /// Limits an index over columns to what lies below a directory. `part` is the directory's path
    /// below the source's root; of the root itself, it is empty.
    ///
    /// # Errors
    /// If it is no such path, or the index is not over columns.
    pub fn below(self, part: &[u8]) -> Result<Definition, DefinitionError> {
        if part.is_empty() {
            return Ok(self);
        }
        if !self.is_over_columns() {
            return Err(DefinitionError::WholeOnly);
        }
        let is_name = |name: &[u8]| !matches!(name, b"" | b"." | b"..");
        let is_path = part.split(|byte| *byte == b'/').all(is_name) && !part.contains(&0);
        match is_path && part.len() <= PART_BYTES_MAX {
            true => Ok(Definition {
                part: part.to_vec(),
                ..self
            }),
            false => Err(DefinitionError::Part),
        }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns how values are arranged.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns whether the index is over columns. It then has files of its own.
    pub fn is_over_columns(&self) -> bool {
        matches!(self.over, Over::Columns(_))
    }

    /// Returns the columns, the first in order first; none if the index is over something else.
    pub fn attributes(&self) -> &[Column] {
        match &self.over {
            Over::Columns(columns) => columns,
            _ => &[],
        }
    }

    /// Returns the name of the attribute of contents that the index is over, in lower case.
    pub fn content(&self) -> Option<&str> {
        match &self.over {
            Over::Content(name) => Some(name),
            _ => None,
        }
    }

    /// Returns the full name of the extended attribute that the index is over.
    pub fn xattr(&self) -> Option<&str> {
        match &self.over {
            Over::Xattr(name) => Some(name),
            _ => None,
        }
    }

    /// Returns the kinds of relations that the index is over; an empty list stands for all.
    pub fn relations(&self) -> Option<&[String]> {
        match &self.over {
            Over::Relations(kinds) => Some(kinds),
            _ => None,
        }
    }

    /// Returns the path below the source's root of the directory whose entries the index has; empty
    /// for the root.
    pub fn part(&self) -> &[u8] {
        &self.part
    }

    /// Returns whether the index answers ranges.
    pub fn has_order(&self) -> bool {
        self.kind == Kind::Ordered
    }

    /// Returns the attributes as they are written, the first in order first.
    pub fn on(&self) -> String {
        self.over.to_string()
    }

    /// Returns a number that files made for this definition bear.
    pub fn id(&self) -> u64 {
        xxh3_64(self.to_string().as_bytes())
    }
}

impl fmt::Display for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.name, self.kind.name(), self.on())?;
        match self.part.is_empty() {
            true => Ok(()),
            false => write!(f, " {}", escape(&self.part)),
        }
    }
}

impl FromStr for Definition {
    type Err = DefinitionError;

    fn from_str(line: &str) -> Result<Definition, DefinitionError> {
        let words: Vec<&str> = line.split(' ').collect();
        let (name, kind, attributes, part) = match words[..] {
            [name, kind, attributes] => (name, kind, attributes, Vec::new()),
            [name, kind, attributes, part] => {
                let part = unescape(part).filter(|part| !part.is_empty());
                (
                    name,
                    kind,
                    attributes,
                    part.ok_or(DefinitionError::Line(1))?,
                )
            }
            _ => return Err(DefinitionError::Line(1)),
        };
        let kind = Kind::ALL.into_iter().find(|one| one.name() == kind);
        let attributes: Vec<&str> = attributes.split(',').collect();
        let definition = Definition::new(name, kind.ok_or(DefinitionError::Line(1))?, &attributes)?;
        definition.below(&part)
    }
}

/// Writes a path as a word.
fn escape(path: &[u8]) -> String {
    let mut word = String::with_capacity(path.len());
    for byte in path {
        match byte {
            b'%' => word.push_str("%25"),
            b'!'..=b'~' => word.push(char::from(*byte)),
            _ => word.push_str(&format!("%{byte:02X}")),
        }
    }
    word
}

/// Reads what [`escape`] wrote, and nothing else.
fn unescape(word: &str) -> Option<Vec<u8>> {
    let (mut path, mut rest) = (Vec::new(), word.as_bytes());
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        if *byte != b'%' {
            path.push(*byte);
            continue;
        }
        let (digits, behind) = rest.split_at_checked(2)?;
        path.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        rest = behind;
    }
    (escape(&path) == word).then_some(path)
}

/// Reads a list of definitions.
///
/// # Errors
/// If a line is invalid, or there are too many or two of one name.
pub fn read_all(text: &[u8]) -> Result<Vec<Definition>, DefinitionError> {
    let text = std::str::from_utf8(text).map_err(|_| DefinitionError::Line(1))?;
    let mut all: Vec<Definition> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let one: Definition = line.parse().map_err(|_| DefinitionError::Line(at + 1))?;
        let is_known = all.iter().any(|known| known.name == one.name);
        if is_known || all.len() == INDICES_MAX {
            return Err(DefinitionError::Line(at + 1));
        }
        all.push(one);
    }
    Ok(all)
}

/// Returns the text of a list.
pub fn write_all(all: &[Definition]) -> Vec<u8> {
    all.iter()
        .flat_map(|one| format!("{one}\n").into_bytes())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_written_is_read() {
        let all = [
            Definition::new("big", Kind::Ordered, &["size"]).unwrap(),
            Definition::new("by-owner", Kind::Hashed, &["uid", "gid"]).unwrap(),
        ];
        assert_eq!(
            write_all(&all),
            b"big ordered size\nby-owner hashed uid,gid\n"
        );
        assert_eq!(read_all(&write_all(&all)), Ok(all.to_vec()));
        assert_ne!(all[0].id(), all[1].id());
    }

    #[test]
    fn invalid_definitions_are_refused() {
        for name in ["", "1a", "a b", "a/b", "é", "-a", &"a".repeat(33)] {
            let made = Definition::new(name, Kind::Ordered, &["size"]);
            assert_eq!(made, Err(DefinitionError::Name(name.to_owned())));
        }
        let none: [&str; 0] = [];
        let made = |names: &[&str]| Definition::new("a", Kind::Ordered, names);
        assert_eq!(made(&none), Err(DefinitionError::Count));
        assert_eq!(
            made(&["size"; 2]),
            Err(DefinitionError::Twice("size".into()))
        );
        assert!(matches!(
            made(&["colour"]),
            Err(DefinitionError::Attribute { .. })
        ));
        for served in [
            "name",
            "path",
            "xattr:system.posix_acl_access",
            "relation:same-content",
        ] {
            let refused = made(&[served]);
            assert!(
                matches!(refused, Err(DefinitionError::Elsewhere { .. })),
                "{served}"
            );
        }
        let inverted = Definition::new("a", Kind::Inverted, &["size"]);
        assert_eq!(inverted, Err(DefinitionError::Inverted));
        let five = ["size", "uid", "gid", "ino", "dev"];
        assert_eq!(made(&five), Err(DefinitionError::Count));
        for text in [
            "a ordered",
            "a sorted size",
            "a ordered size\na hashed uid",
            "\n",
            "a  b",
        ] {
            assert!(read_all(text.as_bytes()).is_err(), "{text:?}");
        }
    }

    #[test]
    fn an_attribute_of_contents_stands_alone() {
        let made = |names: &[&str]| Definition::new("a", Kind::Inverted, names);
        let tags = made(&["attr:Tags"]).unwrap();
        assert_eq!(tags.content(), Some("tags"));
        assert_eq!((tags.attributes(), &tags.on()[..]), (&[][..], "attr:tags"));
        assert_eq!(
            write_all(std::slice::from_ref(&tags)),
            b"a inverted attr:tags\n"
        );
        assert_eq!(read_all(b"a inverted attr:tags\n"), Ok(vec![tags]));
        for name in ["", "a b", "a,b", "1", "\u{e4}", "a/b", &"a".repeat(65)] {
            let refused = made(&[&format!("attr:{name}")[..]]);
            assert_eq!(refused, Err(DefinitionError::Content(name.to_owned())));
        }
        for two in [["attr:a", "attr:b"], ["attr:a", "size"], ["size", "attr:a"]] {
            let refused = made(&two);
            assert_eq!(refused, Err(DefinitionError::Alone("attr:a".into())));
        }
    }

    #[test]
    fn an_extended_attribute_stands_alone() {
        let made = |kind, names: &[&str]| Definition::new("a", kind, names);
        let comment = made(Kind::Ordered, &["xattr:user.My%Comment"]).unwrap();
        assert_eq!(comment.xattr(), Some("user.My%Comment"));
        assert!(!comment.is_over_columns() && comment.content().is_none());
        let line = "a ordered xattr:user.My%Comment";
        assert_eq!(comment.to_string(), line);
        assert_eq!(read_all(line.as_bytes()), Ok(vec![comment]));
        let long = format!("user.{}", "a".repeat(251));
        for name in ["", "user", "user.", ".a", "user.a b", "user.\u{e4}", &long] {
            let refused = made(Kind::Hashed, &[&format!("xattr:{name}")[..]]);
            assert_eq!(refused, Err(DefinitionError::Xattr(name.to_owned())));
        }
        let two = made(Kind::Ordered, &["size", "xattr:user.a"]);
        assert_eq!(two, Err(DefinitionError::Alone("xattr:user.a".into())));
        let words = made(Kind::Inverted, &["xattr:user.a"]);
        assert_eq!(words, Err(DefinitionError::Inverted));
    }

    #[test]
    fn relations_are_a_graph() {
        let made = |kind, names: &[&str]| Definition::new("a", kind, names);
        let (includes, links) = ("relation:includes", "relation:links-to");
        let two = made(Kind::Graph, &[includes, links]).unwrap();
        let kinds = ["includes".to_owned(), "links-to".to_owned()];
        assert_eq!(two.relations(), Some(&kinds[..]));
        assert_eq!(
            two.to_string(),
            "a graph relation:includes,relation:links-to"
        );
        let all = made(Kind::Graph, &["relation:all"]).unwrap();
        assert_eq!(
            (all.relations(), &all.on()[..]),
            (Some(&[][..]), "relation:all")
        );
        for one in [two, all] {
            assert_eq!(
                read_all(&write_all(std::slice::from_ref(&one))),
                Ok(vec![one])
            );
        }
        for kind in [Kind::Ordered, Kind::Hashed, Kind::Inverted] {
            assert_eq!(made(kind, &[includes]), Err(DefinitionError::OnlyGraph));
        }
        for other in ["size", "attr:a", "xattr:user.a"] {
            assert_eq!(made(Kind::Graph, &[other]), Err(DefinitionError::Graph));
        }
        for wrong in ["", "Includes", "a b", "9", &"a".repeat(65)] {
            let refused = made(Kind::Graph, &[&format!("relation:{wrong}")[..]]);
            assert_eq!(refused, Err(DefinitionError::Relation(wrong.to_owned())));
        }
        let beside_all = made(Kind::Graph, &["relation:all", includes]);
        assert_eq!(beside_all, Err(DefinitionError::Relation("all".to_owned())));
        for mixed in [[includes, "size"], ["size", includes]] {
            let refused = made(Kind::Graph, &mixed);
            assert_eq!(refused, Err(DefinitionError::Mixed(includes.to_owned())));
        }
        let twice = made(Kind::Graph, &[includes; 2]);
        assert_eq!(twice, Err(DefinitionError::Twice(includes.to_owned())));
    }

    #[test]
    fn a_part_is_a_path_below_the_root() {
        let of = |part: &[u8]| {
            let index = Definition::new("a", Kind::Ordered, &["size"]).unwrap();
            index.below(part)
        };
        assert_eq!(of(b"").unwrap().to_string(), "a ordered size");
        assert_eq!(of(b"b/c").unwrap().to_string(), "a ordered size b/c");
        let odd = of(b"My Music/100%\n\xff").unwrap();
        assert_eq!(odd.to_string(), "a ordered size My%20Music/100%25%0A%FF");
        assert_eq!(
            read_all(&write_all(std::slice::from_ref(&odd))),
            Ok(vec![odd.clone()])
        );
        assert_ne!(odd.id(), of(b"b").unwrap().id());
        for part in [
            &b"/b"[..],
            b"b/",
            b"b//c",
            b".",
            b"b/../c",
            b"a\0",
            &[b'a'; 4097],
        ] {
            assert_eq!(of(part), Err(DefinitionError::Part));
        }
        for (kind, on) in [
            (Kind::Ordered, "attr:b"),
            (Kind::Ordered, "xattr:user.b"),
            (Kind::Graph, "relation:b"),
        ] {
            let whole = Definition::new("a", kind, &[on]).unwrap();
            assert_eq!(whole.clone().below(b""), Ok(whole.clone()));
            assert_eq!(whole.below(b"c"), Err(DefinitionError::WholeOnly));
        }
        for line in ["", "%2", "%zz", "%2f", "%41", "%25%", "a b", "../x"] {
            let text = format!("a ordered size {line}\n");
            assert!(read_all(text.as_bytes()).is_err(), "{line}");
        }
    }

    proptest! {
        #[test]
        fn parts_are_read_as_they_were(part in proptest::collection::vec(any::<u8>(), 1..20)) {
            let index = Definition::new("a", Kind::Hashed, &["uid"]).unwrap();
            if let Ok(index) = index.below(&part) {
                prop_assert_eq!(read_all(&write_all(std::slice::from_ref(&index))), Ok(vec![index]));
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read_all(&bytes);
        }

        #[test]
        fn what_is_read_is_written(line in "[a-z]{1,3} (ordered|hashed|inverted|graph) (x?attr:[a-zA-Z.]{1,4}|size|uid,gid|relation:[a-z]{1,3}(,relation:[a-z]{1,3})?)( [a-z%/]{1,5})?") {
            if let Ok(all) = read_all(line.as_bytes()) {
                prop_assert_eq!(read_all(&write_all(&all)), Ok(all));
            }
        }
    }
}
