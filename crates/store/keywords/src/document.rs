//! The text and the named attributes of a file.

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

/// What is known of a file's content.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// The text that is searched for keywords; empty if the file has none.
    pub text: String,
    /// Names and values of attributes.
    pub attributes: Vec<(String, Value)>,
    /// True if the file has more text than this.
    pub is_cut: bool,
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
