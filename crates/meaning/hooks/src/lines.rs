//! Output of users' hooks: one JSON object a line.
//!
//! ```text
//! {"attribute": "exposure", "value": 0.01}
//! {"attribute": "taken", "time": "2026-01-02T03:04:05Z"}
//! {"text": "words to be found"}
//! {"relation": "derived-from", "target": "raw/m31.fits"}
//! {"problem": "the header ends early"}
//! ```

use jiff::Timestamp;
use serde::de::{DeserializeSeed, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::found::{Fault, Findings, Value, prefix};

/// A line. One of the first four keys says what it is.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    attribute: Option<String>,
    text: Option<String>,
    relation: Option<String>,
    problem: Option<String>,
    value: Option<Given>,
    time: Option<String>,
    target: Option<String>,
}

/// A value of an attribute.
struct Given(Value);

impl<'de> Deserialize<'de> for Given {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Given, D::Error> {
        from.deserialize_any(Reader { depth: 0 }).map(Given)
    }
}

/// Values of a list that are kept. Of a longer list, whose end is left out anyway, the rest is only
/// read: a list of a few bytes for each value takes ten times as much memory.
const KEPT_MAX: usize = 64 << 10;

/// Reads a value; a list in a list is read and has no values.
struct Reader {
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for Reader {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("a number, a text or a list of these")
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Integer(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(i64::try_from(number).map_or(Value::Real(number as f64), Value::Integer))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Real(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Value, A::Error> {
        let mut kept = Vec::new();
        while self.depth == 0
            && kept.len() < KEPT_MAX
            && let Some(value) = values.next_element_seed(Reader { depth: 1 })?
        {
            kept.push(value);
        }
        while values.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::List(kept))
    }
}

/// Adds what the lines say. A line that does not follow the format is a problem, and the last one that
/// is read.
pub fn read(output: &[u8], findings: &mut Findings) {
    for (number, line) in (1..).zip(output.split(|byte| *byte == b'\n')) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        if let Err(why) = read_line(line, findings) {
            let begin = String::from_utf8_lossy(&line[..line.len().min(80)]);
            let begin = prefix(&begin, 80).escape_debug();
            let message = format!("line {number} of the output: {why}: {begin}");
            return findings.problem(Fault::Nonsense, &message);
        }
    }
}

fn read_line(line: &[u8], findings: &mut Findings) -> Result<(), String> {
    let line: Line = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    match line {
        Line {
            attribute: Some(name),
            text: None,
            relation: None,
            problem: None,
            target: None,
            value,
            time,
        } => findings.attribute(&name, attribute(value, time)?),
        Line {
            text: Some(text),
            attribute: None,
            relation: None,
            problem: None,
            value: None,
            time: None,
            target: None,
        } => {
            findings.line(&text);
        }
        Line {
            relation: Some(kind),
            target: Some(target),
            attribute: None,
            text: None,
            problem: None,
            value: None,
            time: None,
        } => findings.relation(&kind, &target),
        Line {
            problem: Some(message),
            attribute: None,
            text: None,
            relation: None,
            value: None,
            time: None,
            target: None,
        } => findings.problem(Fault::Damaged, &message),
        _ => return Err("these keys do not belong together".to_owned()),
    }
    Ok(())
}

fn attribute(value: Option<Given>, time: Option<String>) -> Result<Value, String> {
    match (value, time) {
        (Some(Given(value)), None) => Ok(value),
        (None, Some(time)) => {
            let time: Timestamp = time
                .parse()
                .map_err(|_| "the time is not of the form 2026-01-02T03:04:05Z".to_owned())?;
            let ns = i64::try_from(time.as_nanosecond());
            ns.map(Value::Time)
                .map_err(|_| "the time is out of range".to_owned())
        }
        _ => Err("an attribute has either a value or a time".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::found::Extracted;
    use crate::limits::Limits;
    use proptest::prelude::*;

    fn found(output: &[u8]) -> Extracted {
        let mut findings = Findings::new("x", &Limits::default());
        read(output, &mut findings);
        findings.finish()
    }

    #[test]
    fn each_line_adds_something() {
        let found = found(
            br#"{"attribute": "exposure", "value": 0.01}
{"attribute": "n", "value": -3}

{"attribute": "tags", "value": ["a", 2, 0.5]}
{"attribute": "taken", "time": "1970-01-02T00:00:00.5Z"}
{"text": "words"}
{"relation": "derived-from", "target": "raw/m31.fits"}
{"problem": "short"}"#,
        );
        let list = [Value::Text("a".into()), Value::Integer(2), Value::Real(0.5)];
        let attributes = [
            ("exposure", Value::Real(0.01)),
            ("n", Value::Integer(-3)),
            ("tags", Value::List(list.into())),
            ("taken", Value::Time(86_400_500_000_000)),
        ];
        let attributes = attributes.map(|(name, value)| (name.to_owned(), value));
        assert_eq!(found.attributes, attributes);
        assert_eq!(found.text, "words\n");
        assert_eq!(found.relations[0].target, "raw/m31.fits");
        assert_eq!(found.problems[0].fault, Fault::Damaged);
    }

    #[test]
    fn a_long_list_takes_little_memory() {
        let list = vec!["0"; 4 << 20].join(",");
        let line = format!(r#"{{"attribute": "a", "value": [{list}]}}"#);
        let read: Line = serde_json::from_str(&line).unwrap();
        let Some(Given(Value::List(values))) = read.value else {
            panic!("a list");
        };
        assert_eq!(values.len(), KEPT_MAX);
        let found = found(line.as_bytes());
        assert_eq!(found.problems[0].fault, Fault::Limit);
        let nested = r#"{"attribute": "a", "value": [[1, 2], [[3]], 4, 18446744073709551615]}"#;
        let read: Line = serde_json::from_str(nested).unwrap();
        let list = |values: &[Value]| Value::List(values.to_vec());
        let expected = [
            list(&[]),
            list(&[]),
            Value::Integer(4),
            Value::Real(u64::MAX as f64),
        ];
        assert_eq!(read.value.unwrap().0, list(&expected));
    }

    #[test]
    fn nonsense_is_a_problem_and_earlier_lines_hold() {
        for line in [
            "x",
            "{}",
            "[]",
            r#"{"attribute": "a"}"#,
            r#"{"attribute": "a", "value": 1, "time": "1970-01-02T00:00:00Z"}"#,
            r#"{"attribute": "a", "value": {"b": 1}}"#,
            r#"{"attribute": "a", "value": null}"#,
            r#"{"attribute": "a", "time": "yesterday"}"#,
            r#"{"attribute": "A", "value": 1}"#,
            r#"{"text": "a", "target": "b"}"#,
            r#"{"relation": "links-to"}"#,
            r#"{"text": "a", "colour": 1}"#,
            r#"{"text": "\ud800"}"#,
        ] {
            let output = [br#"{"text": "before"}"#, &b"\n"[..], line.as_bytes()].concat();
            let found = found(&output);
            assert_eq!(found.text, "before\n", "{line}");
            let faults: Vec<Fault> = found.problems.iter().map(|one| one.fault).collect();
            assert_eq!(faults, [Fault::Nonsense], "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(output in proptest::collection::vec(any::<u8>(), 0..200)) {
            found(&output);
        }
    }
}
