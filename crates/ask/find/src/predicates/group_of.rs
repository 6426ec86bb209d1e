//! `-group-of` and `-in-group`: belongs to the group of a named file, or to a named group.

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::Arc;

use trawl_model::filter::Filter;
use trawl_model::path::display;
use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet, Regions};

use crate::context::Context;
use crate::error::FindError;
use crate::grouping::Members;
use crate::leaf::Leaf;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-group-of` predicate.
pub(crate) static GROUP_OF: Predicate = Predicate {
    name: "-group-of",
    aliases: &[],
    args: "FILE",
    kind: Kind::Test,
    help: "belongs to the same group as FILE: its package, project, album, event or directory",
    cost: Cost::Path,
    columns: ColumnSet::of(&[Column::Name]),
    standard: Standard::Trawl,
    parse: Parse::Leaf(|args| {
        let file = args.value()?;
        let members = args.env.grouping.members_with(file);
        let members = members.map_err(|why| FindError::bad("-group-of", why))?;
        Ok(Box::new(Among::new(members)))
    }),
};

/// The `-in-group` predicate.
pub(crate) static IN_GROUP: Predicate = Predicate {
    name: "-in-group",
    aliases: &[],
    args: "GROUP",
    kind: Kind::Test,
    help: "belongs to the group with this id or name, as trawl groups lists it",
    cost: Cost::Path,
    columns: ColumnSet::of(&[Column::Name]),
    standard: Standard::Trawl,
    parse: Parse::Leaf(|args| {
        let group = args.value()?;
        let members = args.env.grouping.members_of(group);
        let members = members.map_err(|why| FindError::bad("-in-group", why))?;
        Ok(Box::new(Among::new(members)))
    }),
};

/// Is one of these files.
#[derive(Debug)]
pub(super) struct Among {
    members: Members,
    /// The directories that they are in.
    dirs: Arc<Regions>,
}

impl Among {
    pub(super) fn new(members: Members) -> Among {
        Among {
            dirs: Arc::new(members.directories()),
            members,
        }
    }
}

impl Leaf for Among {
    fn filter(&self) -> Filter {
        Filter {
            dirs: Some(Arc::clone(&self.dirs)),
            ..Filter::default()
        }
    }

    fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        let dirs = self.members.directories_with(row.name());
        if dirs.is_empty() {
            return false;
        }
        if !row.dir.is_empty() {
            return dirs.iter().any(|dir| dir == row.dir);
        }
        // The row is from the live file system, or lies in `/`.
        let real = real_directory(cx.path(row));
        real.is_some_and(|real| dirs.iter().any(|dir| display(dir) == real))
    }
}

/// Returns the path of the directory that contains an entry, without links.
fn real_directory(path: &[u8]) -> Option<Vec<u8>> {
    let slash = path.iter().rposition(|byte| *byte == b'/');
    let dir = match slash {
        None => &b"."[..],
        Some(0) => b"/",
        Some(at) => &path[..at],
    };
    let real = Path::new(OsStr::from_bytes(dir)).canonicalize().ok()?;
    Some(real.into_os_string().into_vec())
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, error_of, matches};

    /// The group of `here` has `/w/top/name` and `/w/other`.
    #[test]
    fn names_and_directories_must_agree() {
        for test in ["-group-of here", "-in-group ours"] {
            for (name, expected) in [("name", true), ("other", false), ("else", false)] {
                let spec = Spec::named(name);
                assert_eq!(matches(test, &spec), expected, "{test} {name}");
                let opposite = format!("! {test}");
                assert_eq!(matches(&opposite, &spec), !expected, "{opposite} {name}");
            }
        }
        assert_eq!(error_of("-group-of gone"), "there is no file gone");
        assert_eq!(error_of("-in-group gone"), "there is no group gone");
    }
}
