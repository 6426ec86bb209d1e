//! Reads and writes small text files that end with a checksum line.
//!
//! A file is `BODY` + `xxh3-128 <32 hex digits>\n`. The hash covers BODY, which ends with a
//! newline. Nothing may follow. A JSON body is one object.

use crate::error::{IndexError, Result};
use crate::id::Hash;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;

const LABEL: &str = "xxh3-128 ";
/// Label, digits, newline.
const LINE_BYTES: usize = LABEL.len() + 32 + 1;

/// Returns the file for `body`, adding a final newline if there is none.
pub fn seal(body: &str) -> Vec<u8> {
    let mut out = body.trim_end_matches('\n').as_bytes().to_vec();
    out.push(b'\n');
    let hash = Hash::of(&out);
    out.extend_from_slice(format!("{LABEL}{hash}\n").as_bytes());
    out
}

/// Checks a sealed file and returns its body. `path` is for the error.
pub(crate) fn unseal<'a>(bytes: &'a [u8], path: &Path) -> Result<&'a str> {
    let problem = |what: &str| IndexError::damaged(path, what);
    let split = bytes
        .len()
        .checked_sub(LINE_BYTES)
        .ok_or_else(|| problem("it ends before its checksum"))?;
    let (body, line) = bytes.split_at(split);
    let hash = std::str::from_utf8(line)
        .ok()
        .and_then(|line| line.strip_prefix(LABEL)?.strip_suffix('\n'))
        .and_then(|digits| digits.parse::<Hash>().ok())
        .ok_or_else(|| problem("it does not end with a checksum line"))?;
    if Hash::of(body) != hash {
        return Err(problem("its checksum does not match"));
    }
    std::str::from_utf8(body).map_err(|_| problem("it is not UTF-8"))
}

/// Encodes a value as JSON in a sealed file.
pub fn seal_json(value: &impl Serialize, path: &Path) -> Result<Vec<u8>> {
    let text = serde_json::to_string_pretty(value).map_err(|error| IndexError::Encode {
        path: path.to_owned(),
        problem: error.to_string(),
    })?;
    Ok(seal(&text))
}

/// Decodes a file made by [`seal_json`].
pub(crate) fn unseal_json<T: DeserializeOwned>(bytes: &[u8], path: &Path) -> Result<T> {
    let body = unseal(bytes, path)?;
    serde_json::from_str(body)
        .map_err(|error| IndexError::damaged(path, format!("its JSON is invalid: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sealed_text_opens(body in "[a-z\n]{0,40}[a-z]") {
            let sealed = seal(&body);
            prop_assert_eq!(unseal(&sealed, Path::new("f")).unwrap(), format!("{body}\n"));
        }

        #[test]
        fn any_flipped_or_missing_byte_is_found(body in "[a-z]{0,40}", at: usize, bit in 0u8..8) {
            let mut sealed = seal(&body);
            let at = at % sealed.len();
            sealed[at] ^= 1 << bit;
            prop_assert!(unseal(&sealed, Path::new("f")).is_err());
            sealed[at] ^= 1 << bit;
            sealed.truncate(at);
            prop_assert!(unseal(&sealed, Path::new("f")).is_err());
        }

        #[test]
        fn hostile_bytes_never_panic(bytes: Vec<u8>) {
            let _ = unseal(&bytes, Path::new("f"));
        }
    }
}
