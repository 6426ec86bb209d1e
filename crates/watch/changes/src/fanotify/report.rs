//! Interpretation of events.

use trawl_model::change::{
    Change, Doubt, FileSystemId, NameChange, ObjectRef, Reached, Receiver, SubtreeCause,
};
use trawl_sys::fanotify::{Event, Mask, Named};

/// Reports the changes that an event implies.
pub(crate) fn report(event: &Event<'_>, file_system: FileSystemId, into: &mut dyn Receiver) {
    if event.mask.has(Mask::QUEUE_OVERFLOW) {
        let cause = Doubt::QueueOverflow;
        return into.change(Change::Everything { file_system, cause });
    }
    let listing = Mask::CREATE.with(Mask::DELETE).with(Mask::RENAME);
    let what = if event.mask.has(listing) {
        NameChange::Listing
    } else {
        NameChange::Attributes
    };
    let mut reached = Reached::Unnamed;
    for place in [event.at, event.from, event.to].into_iter().flatten() {
        if report_place(place, what, into) {
            reached = Reached::ByName;
        }
    }
    let Some(object) = event.object.and_then(ObjectRef::parse) else {
        return;
    };
    into.change(Change::Object { object, reached });
    if event.to.is_some() && event.mask.has(Mask::ONDIR) {
        into.change(Change::Subtree {
            directory: object,
            cause: SubtreeCause::Moved,
        });
    }
}

/// Reports a name; returns false if it is the directory's own (`.`).
fn report_place(place: Named<'_>, what: NameChange, into: &mut dyn Receiver) -> bool {
    let Some(directory) = ObjectRef::parse(place.directory) else {
        return false;
    };
    if place.name == b"." {
        into.change(Change::Object {
            object: directory,
            reached: Reached::Unnamed,
        });
        return false;
    }
    into.change(Change::Name {
        directory,
        name: place.name,
        what,
    });
    true
}
