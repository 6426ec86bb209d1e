//! Extended attributes in an answer, item by item.
//!
//! An item is its kind (1 byte) and
//!
//! | kind | content |
//! |---|---|
//! | 1 an object | path below the top (bytes; empty for the top itself), errno (4), if that is 0 the number of its attributes (4), for each the name (bytes), an errno (4) and the value (bytes; empty if the errno is not 0) |
//! | 2 a directory that was left out, with everything below it | path (bytes) |
//! | 3 the end of the whole answer | errno (4) |
//! | 4 a pause | errno (4), path (bytes) |
//!
//! An object that the answer does not name has no attributes, or, if the end has an errno, reading
//! its attributes fails with that errno. A pause lies after the object with this path, in the order
//! of a search.
//!
//! Invariants: bytes are untrusted; exactly the bytes that [`Item::encode`] writes are accepted.

use trawl_sys::Errno;
use trawl_sys::xattr::SIZE_MAX_BYTES;

use crate::wire::BadFrame;
use crate::wire::fields::{Fields, Reader};

/// The kernel's limit on the length of a name (`XATTR_NAME_MAX`).
const NAME_MAX_BYTES: usize = 255;

/// Names of extended attributes, each with its value or the errno of reading it.
pub type ExtendedAttributes = Vec<(Vec<u8>, Result<Vec<u8>, Errno>)>;

/// An item of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// The attributes of an object.
    Object {
        /// Path below the top.
        path: Vec<u8>,
        /// The attributes, or the errno of listing them.
        found: Result<ExtendedAttributes, Errno>,
    },
    /// A directory that was not examined: it cannot be listed, or it is on another file system.
    LeftOut {
        /// Path below the top.
        dir: Vec<u8>,
    },
    /// The last item.
    End {
        /// Path of the last object of this part of the answer, if there is more.
        behind: Option<Vec<u8>>,
        /// The result for all objects that the answer does not name.
        others: Result<(), Errno>,
    },
}

fn errno_of<T>(found: &Result<T, Errno>) -> u32 {
    found
        .as_ref()
        .map_or_else(|errno| errno.0.cast_unsigned(), |_| 0)
}

fn errno(body: &mut Reader<'_>) -> Result<Result<(), Errno>, BadFrame> {
    match body.u32("errno")?.cast_signed() {
        0 => Ok(Ok(())),
        errno @ 1.. => Ok(Err(Errno(errno))),
        _ => Err(BadFrame::Field("errno")),
    }
}

impl Item {
    /// Appends the encoded item.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        let mut out = Fields(std::mem::take(bytes));
        match self {
            Item::Object { path, found } => {
                out.put(&[1]).bytes(path).u32(errno_of(found));
                if let Ok(all) = found {
                    out.count(all.len());
                    for (name, value) in all {
                        out.bytes(name).u32(errno_of(value));
                        out.bytes(value.as_deref().unwrap_or_default());
                    }
                }
            }
            Item::LeftOut { dir } => {
                out.put(&[2]).bytes(dir);
            }
            Item::End { behind, others } => {
                let kind = if behind.is_some() { 4 } else { 3 };
                out.put(&[kind]).u32(errno_of(others));
                if let Some(path) = behind {
                    out.bytes(path);
                }
            }
        }
        *bytes = out.0;
    }

    /// Decodes the first item, and returns it with its length in bytes.
    ///
    /// # Errors
    /// Fails for anything that [`Item::encode`] does not write, and for invalid attributes.
    pub fn decode(bytes: &[u8]) -> Result<(Item, usize), BadFrame> {
        let mut body = Reader::new(bytes);
        let item = match body.u8("item")? {
            1 => {
                let path = body.bytes("path")?.to_vec();
                let found = match errno(&mut body)? {
                    Ok(()) => Ok(attributes(&mut body)?),
                    Err(errno) => Err(errno),
                };
                Item::Object { path, found }
            }
            2 => Item::LeftOut {
                dir: body.bytes("path")?.to_vec(),
            },
            kind @ (3 | 4) => {
                let others = errno(&mut body)?;
                let behind = match kind {
                    3 => None,
                    _ => Some(body.bytes("path")?.to_vec()),
                };
                Item::End { behind, others }
            }
            _ => return Err(BadFrame::Field("item")),
        };
        Ok((item, bytes.len() - body.left()))
    }
}

fn attributes(body: &mut Reader<'_>) -> Result<ExtendedAttributes, BadFrame> {
    let count = body.count(12, "number of attributes")?;
    let mut all = Vec::with_capacity(count.min(64));
    for _ in 0..count {
        let name = body.bytes("name of an attribute")?;
        let errno = errno(body)?;
        let value = body.bytes("value of an attribute")?;
        let is_name = (1..=NAME_MAX_BYTES).contains(&name.len()) && !name.contains(&0);
        let is_value = value.len() <= SIZE_MAX_BYTES && (errno.is_ok() || value.is_empty());
        if !is_name || !is_value {
            return Err(BadFrame::Field("attribute"));
        }
        all.push((name.to_vec(), errno.map(|()| value.to_vec())));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn errno() -> impl Strategy<Value = Errno> {
        (1..i32::MAX).prop_map(Errno)
    }

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        vec(any::<u8>(), 0..12)
    }

    fn item() -> impl Strategy<Value = Item> {
        let value = prop_oneof![bytes().prop_map(Ok), errno().prop_map(Err)];
        let one = (vec(1u8.., 1..9), value);
        let found = prop_oneof![vec(one, 0..4).prop_map(Ok), errno().prop_map(Err)];
        let others = prop_oneof![Just(Ok(())), errno().prop_map(Err)];
        prop_oneof![
            (bytes(), found).prop_map(|(path, found)| Item::Object { path, found }),
            bytes().prop_map(|dir| Item::LeftOut { dir }),
            (proptest::option::of(bytes()), others)
                .prop_map(|(behind, others)| Item::End { behind, others }),
        ]
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(items in vec(item(), 1..5)) {
            let mut all = Vec::new();
            items.iter().for_each(|item| item.encode(&mut all));
            let mut rest = &all[..];
            for item in items {
                let (read, length) = Item::decode(rest).unwrap();
                prop_assert_eq!(read, item);
                // No shorter prefix is an item.
                prop_assert!(Item::decode(&rest[..length - 1]).is_err());
                rest = &rest[length..];
            }
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn nothing_else_is_read(item in item(), at: usize, value: u8) {
            let mut bytes = Vec::new();
            item.encode(&mut bytes);
            let at = at % bytes.len();
            bytes[at] = value;
            if let Ok((item, length)) = Item::decode(&bytes) {
                let mut again = Vec::new();
                item.encode(&mut again);
                prop_assert_eq!(&again[..], &bytes[..length]);
            }
        }

        #[test]
        fn no_bytes_panic(bytes in vec(any::<u8>(), 0..300)) {
            let _ = Item::decode(&bytes);
        }
    }

    #[test]
    fn what_no_attribute_can_be_is_refused() {
        let refused = |name: Vec<u8>, value: Vec<u8>| {
            let (path, found) = (b"x".to_vec(), Ok(vec![(name, Ok(value))]));
            let mut bytes = Vec::new();
            Item::Object { path, found }.encode(&mut bytes);
            Item::decode(&bytes).is_err()
        };
        assert!(!refused(vec![b'n'; 255], vec![0; SIZE_MAX_BYTES]));
        assert!(refused(vec![b'n'; 256], Vec::new()));
        assert!(refused(b"user.\0a".to_vec(), Vec::new()));
        assert!(refused(Vec::new(), Vec::new()));
        assert!(refused(b"user.a".to_vec(), vec![0; SIZE_MAX_BYTES + 1]));
    }
}
