//! `-delete`: removes the entry. It turns on `-depth`, so that a directory's
//! contents are removed before the directory. The start point `.` is never
//! removed.

use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet, FileType};
use trawl_sys::file::{remove_directory, remove_file};
use trawl_sys::{Errno, SysError};
use trawl_text::quote;

use crate::context::{Context, Races};
use crate::leaf::{Effect, Facts, Leaf};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};
use crate::probe::NameInDirectory;
use crate::reference::error_text;

/// The `-delete` predicate.
pub(crate) static DELETE: Predicate = Predicate {
    name: "-delete",
    aliases: &[],
    args: "",
    kind: Kind::Action,
    help: "delete the file or empty directory; true if that succeeded; turns on -depth",
    cost: Cost::Output,
    columns: ColumnSet::of(&[Column::Name, Column::Mode]),
    standard: Standard::Gnu,
    parse: Parse::Leaf(|args| {
        args.settings.traversal.contents_first = true;
        Ok(Box::new(Delete))
    }),
};

#[derive(Debug)]
struct Delete;

impl Leaf for Delete {
    fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        let path = cx.path(row).to_vec();
        if cx.is_at_start() && path == b"." {
            return true;
        }
        cx.acted = true;
        let removed = match cx.probe.place(row, &path) {
            Some(place) => remove(row, &place),
            None => Err(SysError::new(trawl_sys::Op::Unlinkat, Errno::NOENT)),
        };
        match removed {
            Ok(()) => true,
            Err(error) if error.errno == Errno::NOENT && cx.world.races == Races::Ignored => true,
            Err(error) => {
                let quoted = quote::message(&path, cx.world.locale);
                let why = error_text(&error.into());
                cx.complain(&format!("cannot delete {quoted}: {why}"));
                false
            }
        }
    }

    fn effect(&self) -> Effect {
        Effect::Change
    }

    fn facts(&self) -> Option<Facts> {
        Some(Facts::Name)
    }
}

fn remove(row: &Row<'_>, place: &NameInDirectory<'_>) -> Result<(), SysError> {
    if row.file_type() == FileType::Directory {
        return remove_directory(place.dir, &place.name);
    }
    match remove_file(place.dir, &place.name) {
        // The row did not have the entry's type.
        Err(error) if error.errno == Errno::ISDIR => remove_directory(place.dir, &place.name),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{error_of, program};

    #[test]
    fn content_goes_first_and_nothing_is_printed() {
        let program = program("-delete");
        assert!(program.traversal.contents_first && !program.prints_by_default);
        assert!(error_of("-prune -o -delete").contains("automatically turns on -depth"));
    }
}
