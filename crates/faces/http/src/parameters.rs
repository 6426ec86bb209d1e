//! Arguments of a question from the query of a URL. The schema of the question says of which type each
//! argument is: lists are given by repeating the parameter, booleans as `true` or `false`.

use percent_encoding::percent_decode_str;
use serde_json::Value;
use trawl_questions::table::{Named, Object};
use trawl_questions::words::Refused;

/// Type of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    List,
    Number,
    Boolean,
    Text,
}

/// Returns the arguments in a query, without the parameter `format`, whose value is returned beside
/// them.
///
/// # Errors
/// Says which value has the wrong type, is given twice or is not UTF-8.
pub fn arguments(named: &Named, query: &str) -> Result<(Object, Option<String>), Refused> {
    let schema = named.schema();
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut arguments = Object::new();
    let mut format = None;
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let (name, value) = (decoded(name)?, decoded(value)?);
        if name == "format" {
            format = Some(value);
            continue;
        }
        let property = properties.and_then(|properties| properties.get(&name));
        add(
            &mut arguments,
            &name,
            value,
            property.map_or(Type::Text, type_of),
        )?;
    }
    Ok((arguments, format))
}

/// Decodes a name or a value, as forms encode them.
fn decoded(text: &str) -> Result<String, Refused> {
    let text = text.replace('+', " ");
    let decoded = percent_decode_str(&text).decode_utf8();
    decoded.map(String::from).map_err(|_| Refused::Invalid {
        why: "the query is not UTF-8: give such paths as hexadecimal digits in paths_raw".into(),
    })
}

fn add(to: &mut Object, name: &str, value: String, kind: Type) -> Result<(), Refused> {
    let invalid = |what: &str| Refused::Invalid {
        why: format!("{name}: {what}"),
    };
    if kind == Type::List {
        let list = to.entry(name).or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(list) = list {
            list.push(value.into());
        }
        return Ok(());
    }
    let value: Value = match kind {
        Type::Number => match value.parse::<u64>() {
            Ok(number) => number.into(),
            Err(_) => return Err(invalid("it must be a number")),
        },
        Type::Boolean => match value.as_str() {
            "true" => true.into(),
            "false" => false.into(),
            _ => return Err(invalid("it must be true or false")),
        },
        _ => value.into(),
    };
    match to.insert(name.into(), value) {
        None => Ok(()),
        Some(_) => Err(invalid("it is given twice")),
    }
}

/// Returns the type that the schema of an argument names.
fn type_of(property: &Value) -> Type {
    let is = |name: &str| match &property["type"] {
        Value::String(one) => one == name,
        Value::Array(several) => several.iter().any(|one| one == name),
        _ => false,
    };
    if is("array") {
        Type::List
    } else if is("integer") {
        Type::Number
    } else if is("boolean") {
        Type::Boolean
    } else {
        Type::Text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use trawl_questions::table::{QUESTIONS, named};

    fn given(name: &str, query: &str) -> Result<Value, Refused> {
        let question = named(name).expect("a question");
        arguments(question, query).map(|(arguments, _)| Value::Object(arguments))
    }

    #[test]
    fn values_have_the_types_of_the_schema() {
        let query = "paths=/a%20b&paths=%2Fc&name=1&min_size=2&ignore_case=true&format=csv";
        assert_eq!(
            given("find", query),
            Ok(json!({"paths": ["/a b", "/c"], "name": "1", "min_size": 2, "ignore_case": true}))
        );
        let question = named("find").expect("a question");
        let (_, format) = arguments(question, query).expect("they are valid");
        assert_eq!(format.as_deref(), Some("csv"));
        assert_eq!(
            given("top", "subject=owners&by_entries=false"),
            Ok(json!({"subject": "owners", "by_entries": false}))
        );
    }

    #[test]
    fn wrong_values_are_refused() {
        for query in [
            "min_size=x",
            "min_size=-1",
            "ignore_case=1",
            "name=a&name=b",
            "paths=%ff",
            "name=%C3",
        ] {
            assert!(
                matches!(given("find", query), Err(Refused::Invalid { .. })),
                "{query}"
            );
        }
    }

    /// A type that this module does not know would be taken as text, and refused later.
    #[test]
    fn every_argument_has_a_type() {
        for question in QUESTIONS {
            let schema = question.schema();
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                let text = property.to_string();
                let is_text = type_of(property) == Type::Text;
                let says_so = text.contains("\"string\"")
                    || text.contains("\"enum\"")
                    || text.contains("\"const\"");
                assert!(!is_text || says_so, "{}: {name}: {text}", question.name);
            }
        }
    }
}
