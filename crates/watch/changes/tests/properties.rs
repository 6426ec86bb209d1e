//! Properties: every change put into a dirty set is covered by its contents, however small the set;
//! no bytes make a parser panic.

#[path = "support/covers.rs"]
mod covers;

use std::collections::HashMap;

use covers::Covers as _;
use proptest::prelude::*;
use trawl_changes::{
    Change, Dirty, DirtySet, Doubt, FileSystemId, KeyResolver, Limits, NameChange, Names,
    ObjectKey, ObjectRef, Reached, Receiver, ResolvedDirectory, SubtreeCause,
};
use trawl_sys::fanotify::Events;

/// A change that owns its names and keys, given as small numbers.
#[derive(Clone, Debug)]
enum Put {
    Name(u8, u8, NameChange),
    Object(u8, Reached),
    Listing(u8),
    Subtree(u8),
    Everything(u8),
    Shrink,
    /// Taken and merged back.
    Merge,
}

fn put() -> impl Strategy<Value = Put> {
    let what = prop_oneof![Just(NameChange::Attributes), Just(NameChange::Listing)];
    let reached = prop_oneof![Just(Reached::ByName), Just(Reached::Unnamed)];
    prop_oneof![
        30 => (any::<u8>(), 0u8..20, what).prop_map(|(d, n, w)| Put::Name(d, n, w)),
        10 => (any::<u8>(), reached).prop_map(|(o, r)| Put::Object(o, r)),
        2 => any::<u8>().prop_map(Put::Listing),
        2 => any::<u8>().prop_map(Put::Subtree),
        1 => any::<u8>().prop_map(Put::Everything),
        3 => Just(Put::Shrink),
        1 => Just(Put::Merge),
    ]
}

/// Two file systems; directories are numbered as in a heap, so that each has a parent.
fn key(number: u8) -> ObjectKey {
    let file_system = FileSystemId([number % 2; 8]);
    ObjectKey::new(file_system, 1, &[number / 2])
}

fn parent(number: u8) -> Option<u8> {
    let place = number / 2;
    (place > 0).then(|| ((place - 1) / 2) * 2 + number % 2)
}

fn number(key: ObjectRef<'_>) -> u8 {
    key.handle()[0] * 2 + key.file_system().0[0]
}

/// Objects, whose numbers modulo three determine how many names they have: several, one, none.
struct Heap;

/// Returns the directory and the name of an object that has one.
fn only_name(object: u8) -> (u8, u8) {
    (object % 8, object % 20)
}

impl KeyResolver for Heap {
    fn place(&mut self, _: ObjectRef<'_>) -> trawl_changes::Result<ResolvedDirectory> {
        Ok(ResolvedDirectory::Gone)
    }

    fn parent(&mut self, directory: ObjectRef<'_>) -> Option<ObjectKey> {
        parent(number(directory)).map(key)
    }

    fn names_of(&mut self, object: ObjectRef<'_>) -> Names {
        let object = number(object);
        let (directory, name) = only_name(object);
        match object % 3 {
            0 => Names::Several,
            1 => Names::One {
                directory: key(directory),
                name: [name].into(),
            },
            _ => Names::None,
        }
    }
}

fn is_below_dirty_subtree(dirty: &Dirty, directory: u8) -> bool {
    let above = std::iter::successors(Some(directory), |number| parent(*number));
    above
        .into_iter()
        .any(|number| dirty.covers_subtree(key(number).as_ref()))
}

fn is_covered(dirty: &Dirty, put: &Put) -> bool {
    match put {
        Put::Name(directory, name, what) => {
            dirty.covers_name(key(*directory).as_ref(), &[*name], *what)
                || is_below_dirty_subtree(dirty, *directory)
        }
        Put::Object(object, reached) => {
            let (directory, name) = only_name(*object);
            let is_name_covered = || {
                let what = NameChange::Attributes;
                dirty.covers_name(key(directory).as_ref(), &[name], what)
                    || is_below_dirty_subtree(dirty, directory)
            };
            dirty.covers_object(key(*object).as_ref())
                || match object % 3 {
                    1 => *reached == Reached::ByName && is_name_covered(),
                    2 => true,
                    _ => false,
                }
        }
        Put::Listing(directory) => {
            dirty.covers_listing(key(*directory).as_ref())
                || is_below_dirty_subtree(dirty, *directory)
        }
        Put::Subtree(directory) => is_below_dirty_subtree(dirty, *directory),
        Put::Everything(of) => dirty
            .everything
            .contains_key(&key(*of).as_ref().file_system()),
        Put::Shrink | Put::Merge => true,
    }
}

fn apply(set: &mut DirtySet, put: &Put) {
    match put {
        Put::Name(directory, name, what) => set.change(Change::Name {
            directory: key(*directory).as_ref(),
            name: &[*name],
            what: *what,
        }),
        Put::Object(object, reached) => set.change(Change::Object {
            object: key(*object).as_ref(),
            reached: *reached,
        }),
        Put::Listing(directory) => set.change(Change::Listing {
            directory: key(*directory).as_ref(),
        }),
        Put::Subtree(directory) => set.change(Change::Subtree {
            directory: key(*directory).as_ref(),
            cause: SubtreeCause::New,
        }),
        Put::Everything(of) => set.change(Change::Everything {
            file_system: key(*of).as_ref().file_system(),
            cause: Doubt::QueueOverflow,
        }),
        Put::Shrink => set.shrink(&mut Heap),
        Put::Merge => {
            let taken = set.take();
            assert_eq!(set.bytes(), 0);
            set.merge(&taken);
        }
    }
}

/// The result of putting in names repeatedly: the stronger change of each.
fn strongest(puts: &[Put]) -> HashMap<(u8, u8), NameChange> {
    let mut names = HashMap::new();
    for put in puts {
        if let Put::Name(directory, name, what) = put {
            let known = names.entry((*directory, *name)).or_insert(*what);
            *known = (*known).max(*what);
        }
    }
    names
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_was_put_is_covered_by_what_is_taken(
        puts in prop::collection::vec(put(), 0..300),
        names_a_directory in 1usize..20,
        crowded_bytes in 500usize..20_000,
    ) {
        let max_bytes = crowded_bytes * 2;
        let mut set = DirtySet::new(Limits { names_a_directory, crowded_bytes, max_bytes });
        for put in &puts {
            apply(&mut set, put);
            prop_assert!(set.bytes() <= max_bytes);
            if matches!(put, Put::Shrink) {
                prop_assert!(!set.is_crowded());
            }
        }
        let dirty = set.take();
        prop_assert!(set.dirty().is_empty());
        for put in &puts {
            prop_assert!(is_covered(&dirty, put), "{:?} is not in {:?}", put, dirty);
        }
        // Nothing else is dirty: without limits, a set holds exactly what was put in.
        let mut roomy = DirtySet::default();
        let plain = |put: &&Put| matches!(put, Put::Name(..));
        puts.iter().filter(plain).for_each(|put| apply(&mut roomy, put));
        prop_assert_eq!(roomy.take().len(), strongest(&puts).len());
    }

    #[test]
    fn hostile_events_end(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        // Correct lengths and version at the front lead further into the parser.
        let mut likely = bytes.clone();
        for (at, byte) in [(0, 200), (1, 0), (2, 0), (3, 0), (4, 3), (6, 24), (7, 0)] {
            if let Some(place) = likely.get_mut(at) {
                *place = byte;
            }
        }
        for bytes in [&bytes, &likely] {
            prop_assert!(Events::new(bytes).count() <= bytes.len() / 24 + 1);
        }
    }

    #[test]
    fn hostile_keys_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        if let Some(key) = ObjectRef::parse(&bytes) {
            prop_assert_eq!(key.handle().len() + 16, bytes.len());
        }
    }
}
