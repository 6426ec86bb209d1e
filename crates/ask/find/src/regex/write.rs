//! Translates a tree to the syntax of the regex-automata engine.
//!
//! The translation matches characters in a UTF-8 locale, where a byte that is
//! not part of a character matches only itself, and bytes in other locales.

use std::fmt::Write as _;

use trawl_text::glob::Case;
use trawl_text::locale::Locale;

use super::tree::{Anchor, Node, Set, Unit, Word};

/// Splits a pattern into units.
pub(super) fn units(pattern: &[u8], locale: Locale) -> Vec<Unit> {
    if !locale.is_utf8() {
        let unit = |byte: &u8| match byte.is_ascii() {
            true => Unit::Char(char::from(*byte)),
            false => Unit::Byte(*byte),
        };
        return pattern.iter().map(unit).collect();
    }
    let mut units = Vec::with_capacity(pattern.len());
    for chunk in pattern.utf8_chunks() {
        units.extend(chunk.valid().chars().map(Unit::Char));
        units.extend(chunk.invalid().iter().copied().map(Unit::Byte));
    }
    units
}

/// Returns the tree in the engine's syntax.
pub(super) fn write(node: &Node, case: Case, locale: Locale) -> String {
    let mut out = String::new();
    Writer {
        out: &mut out,
        locale,
        beyond: match case == Case::Sensitive && is_plain(node) {
            true => format!("{BEYOND_UNICODE}|{SURROGATES}"),
            false => BEYOND_UNICODE.to_owned(),
        },
    }
    .node(node);
    out
}

/// Sequences that would encode characters beyond U+10FFFF; the C library
/// decodes them.
const BEYOND_UNICODE: &str =
    "(?-u:\\xf4[\\x90-\\xbf][\\x80-\\xbf]{2}|[\\xf5-\\xf7][\\x80-\\xbf]{3})";

/// Surrogates, which UTF-8 forbids. The C library's `.` matches them, too, if
/// the pattern is simple enough for the library to match bytes instead of
/// characters.
const SURROGATES: &str = "(?-u:\\xed[\\xa0-\\xbf][\\x80-\\xbf])";

/// Returns whether the C library can match the expression byte by byte.
fn is_plain(node: &Node) -> bool {
    match node {
        Node::Set(set) => {
            let ascii = |unit: &Unit| unit.ascii() != 0;
            let in_ascii = |(low, high): &(Unit, Unit)| ascii(low) && ascii(high);
            !set.negated && set.classes.is_empty() && set.ranges.iter().all(in_ascii)
        }
        Node::Word(_) | Node::Reference => false,
        Node::Anchor(anchor) => matches!(
            anchor,
            Anchor::LineStart | Anchor::LineEnd | Anchor::TextStart | Anchor::TextEnd
        ),
        Node::Concat(parts) | Node::Alternate(parts) => parts.iter().all(is_plain),
        Node::Group(inner) | Node::Repeat { inner, .. } => is_plain(inner),
        Node::Empty | Node::Literal(_) | Node::AnyButNewline | Node::Any => true,
    }
}

struct Writer<'a> {
    out: &'a mut String,
    locale: Locale,
    /// Byte sequences that are not characters but match like one.
    beyond: String,
}

impl Writer<'_> {
    fn node(&mut self, node: &Node) {
        match node {
            Node::Empty | Node::Reference => {}
            Node::Literal(unit) => self.literal(*unit),
            Node::AnyButNewline => self.negated("\\n"),
            Node::Any => self.negated(""),
            Node::Set(set) => self.set(set),
            Node::Anchor(anchor) => self.out.push_str(anchor_text(*anchor)),
            Node::Word(word) => self.out.push_str(word_text(*word, self.locale)),
            Node::Concat(parts) => parts.iter().for_each(|part| self.wrapped(part)),
            Node::Alternate(parts) => {
                for (at, part) in parts.iter().enumerate() {
                    if at > 0 {
                        self.out.push('|');
                    }
                    self.node(part);
                }
            }
            Node::Group(inner) => self.group(inner),
            Node::Repeat { inner, least, most } => {
                self.group(inner);
                let _ = match (least, most) {
                    (0, None) => write!(self.out, "*"),
                    (1, None) => write!(self.out, "+"),
                    (least, None) => write!(self.out, "{{{least},}}"),
                    (least, Some(most)) => write!(self.out, "{{{least},{most}}}"),
                };
            }
        }
    }

    fn group(&mut self, inner: &Node) {
        self.out.push_str("(?:");
        self.node(inner);
        self.out.push(')');
    }

    /// Writes a part of a sequence; alternatives need a group.
    fn wrapped(&mut self, node: &Node) {
        match node {
            Node::Alternate(_) => self.group(node),
            other => self.node(other),
        }
    }

    fn literal(&mut self, unit: Unit) {
        match unit {
            Unit::Byte(byte) => {
                let _ = write!(self.out, "(?-u:\\x{byte:02x})");
            }
            Unit::Char(c) => self.character(c),
        }
    }

    fn character(&mut self, c: char) {
        if c.is_ascii_alphanumeric() || (!c.is_ascii() && !c.is_control()) {
            self.out.push(c);
        } else {
            let _ = write!(self.out, "\\x{{{:x}}}", u32::from(c));
        }
    }

    fn set(&mut self, set: &Set) {
        let mut inner = String::new();
        let mut writer = Writer {
            out: &mut inner,
            locale: self.locale,
            beyond: String::new(),
        };
        for (low, high) in &set.ranges {
            writer.range(*low, *high);
        }
        for class in &set.classes {
            writer.out.push_str(class_text(class, self.locale));
        }
        if set.negated && set.without_newline {
            inner.push_str("\\n");
        }
        match (inner.is_empty(), set.negated) {
            (_, true) => self.negated(&inner),
            // The set holds only ranges whose end precedes their start.
            (true, false) => self.out.push_str("[a&&b]"),
            (false, false) => {
                let _ = write!(self.out, "[{inner}]");
            }
        }
    }

    /// Writes any character except these.
    fn negated(&mut self, inner: &str) {
        let all_but = match inner {
            "" => "(?s:.)".to_owned(),
            inner => format!("[^{inner}]"),
        };
        let _ = match self.locale {
            Locale::Utf8 => write!(self.out, "(?:{all_but}|{})", self.beyond),
            Locale::Bytes => write!(self.out, "{all_but}"),
        };
    }

    fn range(&mut self, low: Unit, high: Unit) {
        match (low, high) {
            (Unit::Char(low), Unit::Char(high)) => {
                self.character(low);
                if low != high {
                    self.out.push('-');
                    self.character(high);
                }
            }
            // In a byte locale, bytes stand for themselves. A set of characters
            // holds no bytes.
            (low, high) if !self.locale.is_utf8() => {
                let byte = |unit: Unit| match unit {
                    Unit::Byte(byte) => byte,
                    Unit::Char(c) => c as u8,
                };
                let _ = write!(self.out, "\\x{:02x}-\\x{:02x}", byte(low), byte(high));
            }
            _ => {}
        }
    }
}

fn anchor_text(anchor: Anchor) -> &'static str {
    match anchor {
        Anchor::LineStart => "(?m:^)",
        Anchor::LineEnd => "(?m:$)",
        Anchor::TextStart => "\\A",
        Anchor::TextEnd => "\\z",
        Anchor::WordStart => "\\b{start}",
        Anchor::WordEnd => "\\b{end}",
        Anchor::WordBoundary => "\\b",
        Anchor::NotWordBoundary => "\\B",
    }
}

/// Letters and digits are those of iswalnum(3), which excludes marks.
fn word_text(word: Word, locale: Locale) -> &'static str {
    match (word, locale) {
        (Word::Letter, Locale::Utf8) => "[\\p{Alphabetic}\\p{N}_]",
        (Word::NotLetter, Locale::Utf8) => "[^\\p{Alphabetic}\\p{N}_]",
        (Word::Letter, Locale::Bytes) => "\\w",
        (Word::NotLetter, Locale::Bytes) => "\\W",
        (Word::Space, _) => "\\s",
        (Word::NotSpace, _) => "\\S",
    }
}

/// Returns a POSIX class in the engine's syntax, inside brackets.
fn class_text(name: &str, locale: Locale) -> &'static str {
    if !locale.is_utf8() {
        return match name {
            "alnum" => "[:alnum:]",
            "alpha" => "[:alpha:]",
            "blank" => "[:blank:]",
            "cntrl" => "[:cntrl:]",
            "digit" => "[:digit:]",
            "graph" => "[:graph:]",
            "lower" => "[:lower:]",
            "print" => "[:print:]",
            "punct" => "[:punct:]",
            "space" => "[:space:]",
            "upper" => "[:upper:]",
            _ => "[:xdigit:]",
        };
    }
    match name {
        "alnum" => "\\p{Alphabetic}\\p{N}",
        "alpha" => "\\p{Alphabetic}",
        "blank" => "\\t\\p{Zs}",
        "cntrl" => "\\p{Cc}\\p{Zl}\\p{Zp}",
        "digit" => "0-9",
        "graph" => "\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Cf}\\p{Co}",
        "lower" => "\\p{Lowercase}",
        "print" => "\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Cf}\\p{Co}\\p{Zs}",
        "punct" => "[\\p{M}\\p{P}\\p{S}\\p{Cf}\\p{Co}--\\p{Alphabetic}]",
        "space" => "\\s",
        "upper" => "\\p{Uppercase}",
        _ => "0-9A-Fa-f",
    }
}
