//! What the record has of a question's arguments: all of their names, and long texts shortened, so that
//! nobody hides what was asked behind what means nothing.

use serde_json::Value;

/// Most bytes of a text that are recorded.
const TEXT_BYTES: usize = 1 << 10;
/// Most bytes of all arguments that are recorded.
const ALL_BYTES: usize = 8 << 10;

/// Returns the parameters of the address, and the body, as text.
pub fn recorded(query: &str, body: &[u8]) -> String {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let pairs: Vec<String> = pairs.map(|pair| cut(pair, TEXT_BYTES)).collect();
    let body = match serde_json::from_slice::<Value>(body) {
        Ok(mut body) => {
            shorten(&mut body);
            body.to_string()
        }
        // The question is refused.
        Err(_) => String::from_utf8_lossy(body).into_owned(),
    };
    let both = [pairs.join("&"), body];
    let both: Vec<String> = both
        .into_iter()
        .filter(|part| !part.trim().is_empty())
        .collect();
    cut(&both.join(" "), ALL_BYTES)
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > TEXT_BYTES => *text = cut(text, TEXT_BYTES),
        Value::Array(values) => values.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        _ => {}
    }
}

/// Returns the beginning of a text that is too long, and how long it is.
fn cut(text: &str, most_bytes: usize) -> String {
    if text.len() <= most_bytes {
        return text.to_owned();
    }
    let begin = (0..=most_bytes).rev().find_map(|at| text.get(..at));
    format!("{}… ({} bytes)", begin.unwrap_or_default(), text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_recorded_as_they_are() {
        assert_eq!(recorded("", b""), "");
        assert_eq!(recorded("paths=%2F&limit=1", b""), "paths=%2F&limit=1");
        assert_eq!(recorded("", br#"{"paths":["/"]}"#), r#"{"paths":["/"]}"#);
        assert_eq!(recorded("format=csv", b"{}"), "format=csv {}");
        assert_eq!(recorded("", b"no JSON \xff"), "no JSON \u{fffd}");
    }

    #[test]
    fn nothing_hides_them() {
        let query = format!("{}path=%2Fsecret", "&".repeat(20_000));
        assert_eq!(recorded(&query, b""), "path=%2Fsecret");
        let body = format!(r#"{}{{"path" : "/secret"}}"#, " ".repeat(20_000));
        assert_eq!(recorded("", body.as_bytes()), r#"{"path":"/secret"}"#);
        let long = "ä".repeat(20_000);
        let query = format!("name={long}&path=%2Fsecret");
        let text = recorded(&query, b"");
        assert!(text.ends_with("ä… (40005 bytes)&path=%2Fsecret"), "{text}");
        let body = format!(r#"{{"a":["{long}"],"path":"/secret"}}"#);
        let text = recorded("", body.as_bytes());
        let end = r#"ä… (40000 bytes)"],"path":"/secret"}"#;
        assert!(text.ends_with(end), "{text}");
    }

    #[test]
    fn a_line_is_bounded() {
        let pairs = vec!["paths=%2F"; 10_000].join("&");
        let text = recorded(&pairs, b"");
        assert!(text.len() < ALL_BYTES + 40, "{}", text.len());
        assert!(text.ends_with("… (99999 bytes)"), "{text}");
    }
}
