//! What a hook finds in a file, and the collector that holds it to the limits.

use serde::{Deserialize, Serialize};

use crate::limits::Limits;

/// What hooks found in a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Extracted {
    /// Text whose words are keywords.
    pub text: String,
    /// Named values. A name may occur once for each hook.
    pub attributes: Vec<(String, Value)>,
    /// References to other files.
    pub relations: Vec<Relation>,
    /// Problems. Everything else that was found remains valid.
    pub problems: Vec<Problem>,
}

/// Value of an attribute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Value {
    /// Text, not empty.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A finite number.
    Real(f64),
    /// A moment, in nanoseconds since the epoch.
    Time(i64),
    /// Several values, none of which is a list.
    List(Vec<Value>),
}

/// A reference to another file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relation {
    /// Kind of the reference, such as `includes` or `links-to`.
    pub kind: String,
    /// The target as the file names it: a path relative to the file, an absolute path or a URL. It
    /// is not resolved, and need not exist.
    pub target: String,
}

/// Something that went wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Name of the hook; `hooks` if no hook is to blame.
    pub hook: String,
    /// The kind.
    pub fault: Fault,
    /// The reason, in words.
    pub message: String,
}

/// Kinds of problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Fault {
    /// The file cannot be read.
    Unreadable,
    /// The file is damaged, or not what its name or its beginning says.
    Damaged,
    /// The file has more than the limits allow; the rest is left out.
    Limit,
    /// The hook ended without having finished.
    Crash,
    /// The hook took too long.
    Timeout,
    /// The hook's output does not follow the format.
    Nonsense,
    /// The hook cannot be run here.
    Unavailable,
}

impl Fault {
    /// Returns the kind's name, as in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Fault::Unreadable => "unreadable",
            Fault::Damaged => "damaged",
            Fault::Limit => "limit",
            Fault::Crash => "crash",
            Fault::Timeout => "timeout",
            Fault::Nonsense => "nonsense",
            Fault::Unavailable => "unavailable",
        }
    }
}

impl Value {
    /// Returns the type's name, as in JSON.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Text(_) => "text",
            Value::Integer(_) => "integer",
            Value::Real(_) => "real",
            Value::Time(_) => "time",
            Value::List(_) => "list",
        }
    }
}

/// Maximum length of the names of attributes and of kinds of relations, in bytes.
pub const NAME_BYTES_MAX: usize = 64;
/// Maximum number of problems of a hook with a file, and length of each message in bytes.
const PROBLEMS_MAX: usize = 16;
const MESSAGE_BYTES_MAX: usize = 512;

/// Beginning of the message of a limit.
const LIMIT_OF: &str = "the limit of the ";

impl Problem {
    /// Returns the limit that was exceeded, such as `text`; `None` if this is another problem, or
    /// something of the file as a whole.
    #[must_use]
    pub fn limit(&self) -> Option<&str> {
        let rest = self.message.strip_prefix(LIMIT_OF)?;
        let (what, _) = rest.split_once(" was reached")?;
        (self.fault == Fault::Limit).then_some(what)
    }
}

/// Returns whether a name is one for an attribute or a kind of relation: it begins with a lower-case
/// letter, and goes on with such letters, digits, `_`, `-` and `.`.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let is_inner =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-.".contains(&byte);
    name.len() <= NAME_BYTES_MAX
        && name.as_bytes().first().is_some_and(u8::is_ascii_lowercase)
        && name.bytes().all(is_inner)
}

/// Collects what a hook finds, within limits. What exceeds them is left out, and reported once.
#[derive(Debug)]
pub struct Findings {
    hook: String,
    limits: Limits,
    found: Extracted,
    /// The limits that were exceeded.
    full: Vec<&'static str>,
}

impl Findings {
    /// Begins for a hook.
    #[must_use]
    pub fn new(hook: &str, limits: &Limits) -> Findings {
        Findings {
            hook: hook.to_owned(),
            limits: *limits,
            found: Extracted::default(),
            full: Vec::new(),
        }
    }

    /// Adds text. Returns false once no more fits.
    pub fn text(&mut self, text: &str) -> bool {
        let room = self.limits.text_bytes.saturating_sub(self.found.text.len());
        let part = prefix(text, room);
        self.found.text.push_str(part);
        if part.len() < text.len() {
            self.exceeded("text");
            return false;
        }
        true
    }

    /// Adds text, and a line end after it.
    pub fn line(&mut self, text: &str) -> bool {
        text.is_empty() || (self.text(text) && self.text("\n"))
    }

    /// Adds an attribute. Empty texts and lists, and numbers that are not finite, are left out.
    pub fn attribute(&mut self, name: &str, value: Value) {
        if !is_name(name) {
            let message = format!("{:?} is no name for an attribute", prefix(name, 80));
            return self.problem(Fault::Nonsense, &message);
        }
        let Some(value) = self.bounded(value) else {
            return;
        };
        if self.found.attributes.len() >= self.limits.attributes {
            return self.exceeded("number of attributes");
        }
        self.found.attributes.push((name.to_owned(), value));
    }

    /// Adds an attribute of text, without white space around it.
    pub fn attribute_text(&mut self, name: &str, text: &str) {
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        self.attribute(name, Value::Text(text.to_owned()));
    }

    /// Adds an attribute that is a list of texts.
    pub fn attribute_texts(&mut self, name: &str, texts: impl IntoIterator<Item = String>) {
        let values = texts.into_iter().map(Value::Text);
        // One more than fits, so that the excess is noticed.
        let values = values.take(self.limits.attributes.saturating_add(1));
        self.attribute(name, Value::List(values.collect()));
    }

    /// Adds a relation.
    pub fn relation(&mut self, kind: &str, target: &str) {
        if !is_name(kind) {
            let message = format!("{:?} is no kind of relation", prefix(kind, 80));
            return self.problem(Fault::Nonsense, &message);
        }
        if target.is_empty() {
            return;
        }
        if self.found.relations.len() >= self.limits.relations {
            return self.exceeded("number of relations");
        }
        // A part of a target would be another target.
        if target.len() > self.limits.value_bytes {
            return self.exceeded("length of a target");
        }
        self.found.relations.push(Relation {
            kind: kind.to_owned(),
            target: target.to_owned(),
        });
    }

    /// Adds a problem.
    pub fn problem(&mut self, fault: Fault, message: &str) {
        if self.found.problems.len() < PROBLEMS_MAX {
            let message = prefix(message, MESSAGE_BYTES_MAX).to_owned();
            self.found.problems.push(Problem {
                hook: self.hook.clone(),
                fault,
                message,
            });
        }
    }

    /// Adds everything that was found elsewhere, held to the limits of this collector.
    pub fn absorb(&mut self, other: Extracted) {
        self.text(&other.text);
        for (name, value) in other.attributes {
            self.attribute(&name, value);
        }
        for relation in other.relations {
            self.relation(&relation.kind, &relation.target);
        }
        for problem in other.problems {
            self.problem(problem.fault, &problem.message);
        }
    }

    /// Returns what was found.
    #[must_use]
    pub fn finish(self) -> Extracted {
        self.found
    }

    /// Reports that something exceeds a limit, once.
    pub fn exceeded(&mut self, what: &'static str) {
        if !self.full.contains(&what) {
            self.full.push(what);
            let message = format!("{LIMIT_OF}{what} was reached; the rest is left out");
            self.problem(Fault::Limit, &message);
        }
    }

    fn bounded(&mut self, value: Value) -> Option<Value> {
        match value {
            Value::List(values) => {
                if values.len() > self.limits.attributes {
                    self.exceeded("length of a list");
                }
                let values = values.into_iter().take(self.limits.attributes);
                let values: Vec<Value> = values.filter_map(|one| self.single(one)).collect();
                (!values.is_empty()).then_some(Value::List(values))
            }
            single => self.single(single),
        }
    }

    fn single(&mut self, value: Value) -> Option<Value> {
        match value {
            Value::Text(text) if text.is_empty() => None,
            Value::Text(text) if text.len() > self.limits.value_bytes => {
                self.exceeded("length of a value");
                Some(Value::Text(
                    prefix(&text, self.limits.value_bytes).to_owned(),
                ))
            }
            Value::Real(number) if !number.is_finite() => None,
            Value::List(_) => {
                self.problem(Fault::Nonsense, "a list in a list");
                None
            }
            other => Some(other),
        }
    }
}

/// Returns the longest prefix of at most this many bytes that ends between characters.
#[must_use]
pub fn prefix(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Limits {
        Limits {
            text_bytes: 5,
            attributes: 2,
            value_bytes: 4,
            relations: 1,
            ..Limits::default()
        }
    }

    #[test]
    fn what_exceeds_a_limit_is_left_out_and_reported_once() {
        let mut findings = Findings::new("x", &small());
        assert!(findings.text("abc"));
        assert!(!findings.text("d€"), "the euro sign takes three bytes");
        assert!(!findings.text("efgh"));
        for name in ["a", "b", "c", "d"] {
            findings.attribute_text(name, "12345678");
        }
        findings.relation("links-to", "x");
        findings.relation("links-to", "y");
        let found = findings.finish();
        assert_eq!(found.text, "abcde", "what still fits is taken");
        assert_eq!(found.attributes.len(), 2);
        assert_eq!(found.attributes[0].1, Value::Text("1234".into()));
        assert_eq!(found.relations.len(), 1);
        let faults: Vec<Fault> = found.problems.iter().map(|one| one.fault).collect();
        assert_eq!(faults, [Fault::Limit; 4], "{:?}", found.problems);
    }

    #[test]
    fn values_that_say_nothing_are_left_out() {
        let mut findings = Findings::new("x", &Limits::default());
        findings.attribute_text("a", " \0\n");
        findings.attribute("b", Value::Real(f64::NAN));
        findings.attribute("c", Value::List(vec![]));
        assert_eq!(findings.finish(), Extracted::default());
    }

    #[test]
    fn hostile_names_and_nested_lists_are_nonsense() {
        for name in ["", "Title", "a b", "1a", "a\n", &"a".repeat(65), "ä"] {
            assert!(!is_name(name), "{name:?}");
            let mut findings = Findings::new("x", &Limits::default());
            findings.attribute(name, Value::Integer(1));
            let found = findings.finish();
            assert!(found.attributes.is_empty());
            assert_eq!(found.problems[0].fault, Fault::Nonsense);
        }
        let mut findings = Findings::new("x", &Limits::default());
        let nested = Value::List(vec![Value::List(vec![Value::Integer(1)])]);
        findings.attribute("a", nested);
        assert!(findings.finish().attributes.is_empty());
    }
}
