//! What the record has of a question's arguments: all of their names, and long texts shortened, so that
//! nobody hides what was asked behind what means nothing.

use serde_json::Value;

/// Most bytes of a text that are recorded, and the fewest if there are many texts.
const TEXT_BYTES: usize = 1 << 10;
const TEXT_BYTES_LEAST: usize = 64;
/// Most bytes of all arguments that are recorded.
const ALL_BYTES: usize = 8 << 10;

/// Returns the parameters of the address, and the body, as text.
pub fn recorded(query: &str, body: &[u8]) -> String {
    let parsed = serde_json::from_slice::<Value>(body).ok();
    let mut most_bytes = TEXT_BYTES;
    loop {
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let pairs: Vec<String> = pairs.map(|pair| cut(pair, most_bytes)).collect();
        let body = match &parsed {
            Some(body) => shortened(body, most_bytes).to_string(),
            // The question is refused.
            None => String::from_utf8_lossy(body).into_owned(),
        };
        let mut both = vec![pairs.join("&"), body];
        both.retain(|part| !part.trim().is_empty());
        let text = both.join(" ");
        if text.len() <= ALL_BYTES || most_bytes <= TEXT_BYTES_LEAST {
            return cut(&text, ALL_BYTES);
        }
        most_bytes /= 2;
    }
}

fn shortened(value: &Value, most_bytes: usize) -> Value {
    let short = |value| shortened(value, most_bytes);
    match value {
        Value::String(text) => Value::String(cut(text, most_bytes)),
        Value::Array(values) => values.iter().map(short).collect(),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| (name.clone(), short(value)));
            Value::Object(fields.collect())
        }
        other => other.clone(),
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
    fn many_long_texts_are_shorter() {
        let long = format!("format={}&", "x".repeat(2000)).repeat(40);
        let text = recorded(&format!("{long}paths=%2Fsecret"), b"");
        assert!(text.ends_with("&paths=%2Fsecret"), "{text}");
        let texts = vec![format!("\"{}\"", "x".repeat(2000)); 40].join(",");
        let body = format!(r#"{{"a":[{texts}],"path":"/secret"}}"#);
        let text = recorded("", body.as_bytes());
        assert!(text.ends_with(r#""path":"/secret"}"#), "{text}");
    }

    #[test]
    fn a_line_is_bounded() {
        let pairs = vec!["paths=%2F"; 10_000].join("&");
        let text = recorded(&pairs, b"");
        assert!(text.len() < ALL_BYTES + 40, "{}", text.len());
        assert!(text.ends_with("… (99999 bytes)"), "{text}");
    }
}
