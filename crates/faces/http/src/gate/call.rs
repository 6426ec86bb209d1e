//! Which question a message of an assistant asks: for the counts and for the record. The process of the
//! user reads the message again, and answers it.

use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::Value;
use trawl_questions::table::{Named, tool};

use crate::problem::Problem;

/// The method that calls a tool.
const CALL: &str = "tools/call";

/// A message. A field that is given twice is an error, so that nobody else reads another one.
#[derive(Debug, Deserialize)]
struct Message {
    method: Option<String>,
    params: Option<Parameters>,
}

#[derive(Debug, Deserialize)]
struct Parameters {
    name: Option<Value>,
    arguments: Option<Value>,
}

/// A call of a tool.
#[derive(Debug)]
pub struct Call {
    /// The question that the tool stands for.
    pub question: &'static Named,
    /// The arguments, as JSON.
    pub arguments: String,
}

/// Returns the call in a message; `None` if it is another message, or there is no such tool.
///
/// # Errors
/// Fails if it is no message.
pub fn called(body: &[u8]) -> Result<Option<Call>, Problem> {
    let message: Message = serde_json::from_slice(body).map_err(|error| {
        let detail = format!("the body is no message of JSON-RPC: {error}");
        Problem::new(StatusCode::BAD_REQUEST, detail)
    })?;
    let parameters = match (message.method.as_deref(), message.params) {
        (Some(CALL), Some(parameters)) => parameters,
        _ => return Ok(None),
    };
    let name = parameters.name.as_ref().and_then(Value::as_str);
    Ok(name.and_then(tool).map(|question| Call {
        question,
        arguments: parameters
            .arguments
            .map_or_else(String::new, |arguments| arguments.to_string()),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(body: &str) -> Result<Option<(&'static str, String)>, Problem> {
        let call = called(body.as_bytes())?;
        Ok(call.map(|call| (call.question.name, call.arguments)))
    }

    #[test]
    fn calls_are_named_as_questions() {
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"paths":["/"]}}}"#;
        let expected = ("find", r#"{"paths":["/"]}"#.to_owned());
        assert_eq!(question(call), Ok(Some(expected)));
        let bare = r#"{"params":{"name":"sources"},"method":"tools/call"}"#;
        assert_eq!(question(bare), Ok(Some(("sources", String::new()))));
        for other in [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
            r#"{"method":"tools/list","params":{"name":"search"}}"#,
            r#"{"method":"tools/call","params":{"name":"find"}}"#,
            r#"{"method":"tools/call","params":{"name":7}}"#,
            r#"{"method":"tools/call"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        ] {
            assert_eq!(question(other), Ok(None), "{other}");
        }
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        for twice in [
            r#"{"method":"tools/list","method":"tools/call","params":{"name":"read"}}"#,
            r#"{"method":"tools/call","params":{"name":"search"},"params":{"name":"read"}}"#,
            r#"{"method":"tools/call","params":{"name":"search","name":"read"}}"#,
            r#"{"method":"tools/call","params":{"name":"search","arguments":{},"arguments":{}}}"#,
            r#"[{"method":"tools/call","params":{"name":"read"}}]"#,
            r#"{"method":7}"#,
            "",
        ] {
            let refused = question(twice).expect_err(twice);
            assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{twice}");
        }
    }
}
