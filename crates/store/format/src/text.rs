//! Encodes byte strings in JSON.
//!
//! `{"text": "…"}` where the bytes are UTF-8. Otherwise `text` is the escaped form
//! ([`trawl_model::escape`]) for people, and `raw` holds the bytes in lower-case hex; readers use
//! only `raw`.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use trawl_model::escape;

#[derive(Serialize, Deserialize)]
struct Wire<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none", borrow)]
    raw: Option<Cow<'a, str>>,
}

/// For `#[serde(serialize_with)]` and `#[serde(with)]`.
pub(crate) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    let text = escape::escape(bytes);
    let raw = match &text {
        Cow::Borrowed(_) => None,
        Cow::Owned(_) => Some(Cow::Owned(to_hex(bytes))),
    };
    Wire { text, raw }.serialize(to)
}

/// For `#[serde(deserialize_with)]` and `#[serde(with)]`.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
    let wire = Wire::deserialize(from)?;
    match wire.raw {
        None => Ok(wire.text.into_owned().into_bytes()),
        Some(hex) => from_hex(&hex).ok_or_else(|| de::Error::custom("raw is not hex")),
    }
}

/// For `#[serde(with)]` on a list of byte strings.
pub(crate) mod list {
    use super::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Item(#[serde(with = "super")] Vec<u8>);

    pub(crate) fn serialize<S: Serializer>(list: &[Vec<u8>], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(list.iter().map(|bytes| Item(bytes.clone())))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<Vec<u8>>, D::Error> {
        let items = Vec::<Item>::deserialize(from)?;
        Ok(items.into_iter().map(|item| item.0).collect())
    }
}

pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |c: u8| {
        char::from(c)
            .to_digit(16)
            .and_then(|d| u8::try_from(d).ok())
    };
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Serialize, Deserialize)]
    struct Holder(#[serde(with = "super")] Vec<u8>);

    proptest! {
        #[test]
        fn bytes_survive_json(bytes: Vec<u8>) {
            let json = serde_json::to_string(&Holder(bytes.clone())).unwrap();
            prop_assert_eq!(serde_json::from_str::<Holder>(&json).unwrap().0, bytes);
        }
    }

    #[test]
    fn utf_8_stays_legible() {
        let json = serde_json::to_string(&Holder("/a\\é".into())).unwrap();
        assert_eq!(json, r#"{"text":"/a\\é"}"#);
        let json = serde_json::to_string(&Holder(b"/\xff".to_vec())).unwrap();
        assert_eq!(json, r#"{"text":"/\\xff","raw":"2fff"}"#);
    }
}
