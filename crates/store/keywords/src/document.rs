//! The text and the named attributes of a file.

use std::fmt;

use trawl_attributes::Value as Pushed;

/// Longest text of an attribute in bytes. The rest does not count.
const TEXT_MAX: usize = 1024;
/// Longest name of an attribute in bytes. The rest does not count.
const NAME_MAX: usize = 255;
/// Maximum number of values of a document. Others do not count.
const VALUES_MAX: usize = 1024;

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Text.
    Text(String),
    /// An integer.
    Integer(i64),
    /// A real number.
    Real(f64),
    /// Nanoseconds since 1970.
    Time(i64),
    /// Several values.
    List(Vec<Value>),
}

impl Value {
    fn pushed(&self) -> Pushed {
        match self {
            Value::Text(text) => Pushed::Text(text.clone()),
            Value::Integer(number) => Pushed::Integer(*number),
            Value::Real(number) => Pushed::Real(*number),
            Value::Time(time_ns) => Pushed::Time(*time_ns),
            Value::List(values) => Pushed::List(values.iter().map(Value::pushed).collect()),
        }
    }
}

impl fmt::Display for Value {
    /// Writes the value as `trawl attr` does; those of a list with `, ` between them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pushed().fmt(f)
    }
}

/// The content of a file, as far as it could be read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// The text that is searched for keywords; empty if the file has none.
    pub text: String,
    /// Names and values of attributes.
    pub attributes: Vec<(String, Value)>,
    /// References to other files.
    pub references: Vec<Reference>,
    /// What is missing.
    pub gaps: Gaps,
    /// Hash of all bytes of the file, if they were hashed ([`crate::content_hash`]).
    pub content_hash: Option<u128>,
    /// What went wrong, in words. Packs do not keep this.
    pub problems: Vec<String>,
}

/// A reference to another file, as the file itself names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    /// Kind of the reference, such as `includes` or `links-to`.
    pub kind: String,
    /// A path relative to the file, an absolute path or a URL. It is not resolved, and need not
    /// exist.
    pub target: String,
}

/// Why a part of a file's content is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// The file has more than is read.
    Limit,
    /// The file is damaged.
    Damaged,
    /// What reads the file crashed, or was ended.
    Crash,
    /// What reads the file took too long.
    Timeout,
    /// What reads the file answered nonsense.
    Nonsense,
    /// The file could not be read to its end.
    Unreadable,
}

impl Gap {
    const ALL: [Gap; 6] = [
        Gap::Limit,
        Gap::Damaged,
        Gap::Crash,
        Gap::Timeout,
        Gap::Nonsense,
        Gap::Unreadable,
    ];

    /// Returns the reason in words, after the file's name.
    pub fn reason(self) -> &'static str {
        match self {
            Gap::Limit => {
                "it exceeds the limits (16 MiB of text), and its beginning does not decide"
            }
            Gap::Damaged => "it is damaged, and what could be read does not decide",
            Gap::Crash => {
                "a hook crashed or was ended reading it, and what was found does not decide"
            }
            Gap::Timeout => "a hook took too long to read it, and what was found does not decide",
            Gap::Nonsense => "a hook answered nonsense, and what was found does not decide",
            Gap::Unreadable => "it could not be read to its end, and what was read does not decide",
        }
    }
}

/// What is missing in a document. If it is text that is missing, words that were not found may
/// still be in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// Why text is missing.
    pub text: Option<Gap>,
    /// Why attributes are missing.
    pub attributes: Option<Gap>,
}

impl Gaps {
    /// Returns that text and attributes are missing for the same reason.
    pub fn both(gap: Gap) -> Gaps {
        Gaps {
            text: Some(gap),
            attributes: Some(gap),
        }
    }

    /// Returns whether something went wrong. Files that are longer than what is read are no issues.
    pub fn are_issues(&self) -> bool {
        let is_issue = |gap: Option<Gap>| gap.is_some_and(|gap| gap != Gap::Limit);
        is_issue(self.text) || is_issue(self.attributes)
    }

    /// Returns a number for a pack: 0 if nothing is missing.
    pub(crate) fn to_bits(self) -> u64 {
        let code = |gap: Option<Gap>| {
            let at = gap.and_then(|gap| Gap::ALL.iter().position(|one| *one == gap));
            at.map_or(0, |at| at as u64 + 1)
        };
        code(self.text) | code(self.attributes) << 8
    }

    /// Reads a number of a pack. An unknown reason is a reason.
    pub(crate) fn of_bits(bits: u64) -> Gaps {
        let gap = |code: u64| match code as usize & 0xff {
            0 => None,
            code => Some(Gap::ALL.get(code - 1).copied().unwrap_or(Gap::Unreadable)),
        };
        Gaps {
            text: gap(bits),
            attributes: gap(bits >> 8),
        }
    }
}

/// A value that can be compared.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Single<'v> {
    Text(&'v str),
    Integer(i64),
    Real(f64),
    Time(i64),
}

impl Document {
    /// Returns the names and values that count, in their order, lists taken apart.
    pub fn values(&self) -> Vec<(String, Value)> {
        let mut values = Vec::new();
        self.each_value(&mut |name, value| {
            let value = match value {
                Single::Text(text) => Value::Text(text.to_owned()),
                Single::Integer(number) => Value::Integer(number),
                Single::Real(number) => Value::Real(number),
                Single::Time(time) => Value::Time(time),
            };
            values.push((name.to_owned(), value));
        });
        values
    }

    /// Calls `visit` with each name and value, lists taken apart.
    pub(crate) fn each_value(&self, visit: &mut dyn FnMut(&str, Single<'_>)) {
        let mut left = VALUES_MAX;
        for (name, value) in &self.attributes {
            let mut pending = vec![value];
            while let Some(value) = pending.pop() {
                let single = match value {
                    Value::List(values) => {
                        // In their order, and never more than count.
                        pending.extend(values.iter().take(left).rev());
                        continue;
                    }
                    Value::Text(text) => Single::Text(cut(text, TEXT_MAX)),
                    Value::Integer(number) => Single::Integer(*number),
                    Value::Real(number) => Single::Real(*number),
                    Value::Time(time) => Single::Time(*time),
                };
                if left == 0 {
                    return;
                }
                left -= 1;
                visit(cut(name, NAME_MAX), single);
            }
        }
    }
}

/// Returns the beginning of a text, at most `most` bytes.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}
