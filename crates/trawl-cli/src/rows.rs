//! Rows for programs: the same columns as JSON objects and as CSV lines.

use trawl_find::record;
use trawl_model::path::display;
use trawl_text::owners::Owners;

use crate::csv::Line;
use crate::ls::item::Item;
use crate::output::cells;
use trawl_text::json::Object;

pub use trawl_report::Form;

/// Header of the lines of [`csv`].
pub(crate) const CSV_HEADER: &str = "path,path_raw,type,size,blocks,mode,permissions,nlink,uid,\
                                     user,gid,group,ino,dev,rdev,atime,mtime,ctime,btime,\
                                     link_target,link_target_raw\n";

/// Returns an item as a JSON object; `path` is spelled as the user would spell it.
pub(crate) fn json(path: &[u8], item: &Item, owners: &Owners) -> Object {
    record::object(path, item.meta.as_ref(), &item.target, owners)
}

/// Returns an item as a line below [`CSV_HEADER`].
pub(crate) fn csv(path: &[u8], item: &Item, owners: &Owners) -> Vec<u8> {
    let line = Line::new(cells()).path(display(path));
    let Some(meta) = item.meta else {
        return (0..19).fold(line, |line, _| line.field("")).close();
    };
    line.value(char::from(meta.file_type().letter()))
        .value(meta.size)
        .value(meta.blocks)
        .value(meta.mode)
        .value(record::permissions(meta.mode))
        .value(meta.nlink)
        .value(meta.uid)
        .field(owners.user(meta.uid).as_deref().unwrap_or_default())
        .value(meta.gid)
        .field(owners.group(meta.gid).as_deref().unwrap_or_default())
        .value(meta.ino)
        .value(meta.dev.as_u64())
        .value(meta.rdev.as_u64())
        .time(Some(meta.atime))
        .time(Some(meta.mtime))
        .time(Some(meta.ctime))
        .time(meta.btime)
        .path(&item.target)
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
