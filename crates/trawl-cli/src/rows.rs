//! Rows for machines: the same columns as JSON objects and as CSV lines.

use trawl_find::record;
use trawl_model::path::display;
use trawl_text::owners::Owners;

use crate::csv::Line;
use crate::ls::item::Item;
use trawl_text::json::{Object, decimal};

/// What an answer is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
    /// Comma-separated values below a header.
    Csv,
}

impl Form {
    /// What the options ask for; clap lets only one of them be set.
    pub(crate) fn new(json: bool, csv: bool) -> Form {
        match (json, csv) {
            (true, _) => Form::Json,
            (_, true) => Form::Csv,
            _ => Form::Text,
        }
    }
}

/// The header of [`csv`].
pub(crate) const CSV_HEADER: &str = "path,type,size,blocks,mode,nlink,uid,user,gid,group,inode,\
                                     device,rdev,atime,mtime,ctime,btime,target\n";

/// An item as an object; `path` is how the user would name it.
pub(crate) fn json(path: &[u8], item: &Item, owners: &Owners) -> Object {
    record::object(path, item.meta.as_ref(), &item.target, owners)
}

/// An item as a line under [`CSV_HEADER`].
pub(crate) fn csv(path: &[u8], item: &Item, owners: &Owners) -> Vec<u8> {
    let line = Line::new().field(display(path));
    let Some(meta) = item.meta else {
        return (0..17).fold(line, |line, _| line.field("")).close();
    };
    line.value(char::from(meta.file_type().letter()))
        .value(meta.size)
        .value(meta.blocks)
        .value(format_args!("{:04o}", meta.mode & 0o7777))
        .value(meta.nlink)
        .value(meta.uid)
        .field(owners.user(meta.uid).as_deref().unwrap_or_default())
        .value(meta.gid)
        .field(owners.group(meta.gid).as_deref().unwrap_or_default())
        .value(meta.ino)
        .field(record::device(meta.dev))
        .field(record::device(meta.rdev))
        .field(decimal(meta.atime))
        .field(decimal(meta.mtime))
        .field(decimal(meta.ctime))
        .field(meta.btime.map(decimal).unwrap_or_default())
        .field(&item.target)
        .close()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_model::Meta;

    #[test]
    fn lines_have_as_many_fields_as_the_header() {
        let fields = |line: &[u8]| line.iter().filter(|b| **b == b',').count();
        let known = Item {
            meta: Some(Meta::default()),
            ..Item::unknown(b"a")
        };
        for item in [Item::unknown(b"a"), known] {
            let line = csv(b"/a", &item, &Owners::default());
            assert_eq!(fields(&line), fields(CSV_HEADER.as_bytes()), "{item:?}");
            let text = json(b"/a", &item, &Owners::default()).close();
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(value["path"], "/a");
        }
    }
}
