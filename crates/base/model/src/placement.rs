//! Placement: decides which guard protects each directory's content. This is
//! the only place where that is decided.
//!
//! For a directory D with ancestors A₁ … Aₖ the guard is, in tree order, the
//! predicate *x on Aᵢ* of every ancestor, *x on D* and *r on D*. A predicate is
//! left out if it is trivial or implied by an earlier one.
//!
//! If some users who can reach an ancestor A may pass through it (*x*) but not
//! list it (*r*), they must know the name of its child on the way to D. The
//! guard therefore has an element for this child C: a **name barrier** or,
//! where no barrier is needed, the predicate *r on A*. It is a barrier if one
//! of these conditions holds:
//!
//! - Only the superuser may list A, but other users may list C. Anyone who
//!   works below C must have been told its name.
//! - The owner of C may not list A (such as home directories in a `/home` with
//!   mode 0711).
//! - C was **large and open** in the previous snapshot: it had at least
//!   [`BARRIER_ROWS`] rows that everyone who may pass through A can list.
//!
//! These conditions depend only on facts that anyone who knows C's name can
//! find out on the source. The existence of a barrier therefore reveals nothing
//! about hidden content. For this reason, only open rows are counted. The count
//! is that of the previous snapshot, so that placement never has to wait for a
//! count.
//!
//! The directories above a source's root guard the source as a whole
//! ([`Placer::root_guard`]); a name that they hide is always behind a barrier.

use crate::entry::DirAccess;
use crate::guard::{Bit, Credentials, Element, Guard, Predicate};
use crate::id::DirId;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Minimum number of rows of an open subtree that gets a name barrier because
/// of its size. For a smaller subtree, a walk of the file system costs less
/// than a shard.
pub const BARRIER_ROWS: u64 = 4096;

/// Maximum number of elements of a guard. Each file of the index names those of its guard, so that a
/// chain of directories, each with a list of its own, would take space that grows with the square of
/// its depth. Deeper directories are shown to the superuser only.
pub const ELEMENTS_MAX: usize = 128;

/// Maximum number of users and groups that the elements of a guard name together, for the same reason.
pub const GUARD_ENTRIES_MAX: usize = 1000;

/// An interned guard: an index into the placer's trie of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GuardId(u32);

impl GuardId {
    /// The guard that every user passes.
    pub const TRIVIAL: GuardId = GuardId(0);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct PredicateId(u32);

/// Id of the temporary directory that [`Placer::probe`] uses; no real directory
/// has this id.
const PROBE: DirId = DirId(u64::MAX);

/// A directory that has been entered and is not yet done.
struct Node {
    parent: Option<DirId>,
    /// Its name, or the whole path if the parent was not entered: paths of all directories of a deep
    /// chain would take memory that grows with the square of its depth.
    name: Vec<u8>,
    /// *r* on this directory, whether or not it is implied.
    read: PredicateId,
    /// The guard up to and including *x* on this directory.
    prefix: GuardId,
    /// `prefix` and *r* on this directory: the guard of its rows. It differs
    /// from `prefix` if some users may pass through the directory but not list
    /// it.
    listing: GuardId,
    /// This directory or the ancestor that is hidden by its parent (whose users
    /// may pass but not all may list) and from which everything down to here is
    /// open; `None` if there is none.
    open_from: Option<DirId>,
    /// If the directory itself is such a hidden child: its open rows so far.
    open_rows: u64,
}

/// Assigns guards to directories as a scan delivers them.
pub struct Placer {
    nodes: HashMap<DirId, Node>,
    predicates: Vec<Predicate>,
    predicate_ids: HashMap<Predicate, PredicateId>,
    access_ids: HashMap<DirAccess, (PredicateId, PredicateId)>,
    /// Trie of guards: parent and last element; index 0 is the empty guard.
    trie: Vec<(GuardId, Option<Element>)>,
    children: HashMap<(GuardId, Element), GuardId>,
    extensions: HashMap<(GuardId, PredicateId), GuardId>,
    hidden_lists: BTreeSet<(GuardId, PredicateId)>,
    above: GuardId,
    barrier_rows: u64,
    large_before: HashSet<Vec<u8>>,
    large: Vec<Vec<u8>>,
}

impl Placer {
    /// Makes a placer for a source with this root path (absolute, empty for
    /// `/`). `above` holds the permissions of the directories above the root,
    /// outermost first ([`crate::sink::SourceRoot::above`]).
    pub fn new(root: &[u8], above: &[DirAccess]) -> Placer {
        let mut placer = Placer {
            nodes: HashMap::new(),
            predicates: Vec::new(),
            predicate_ids: HashMap::new(),
            access_ids: HashMap::new(),
            trie: vec![(GuardId::TRIVIAL, None)],
            children: HashMap::new(),
            extensions: HashMap::new(),
            hidden_lists: BTreeSet::new(),
            above: GuardId::TRIVIAL,
            barrier_rows: BARRIER_ROWS,
            large_before: HashSet::new(),
            large: Vec::new(),
        };
        let mut path_end = 0;
        for access in above {
            path_end = root[path_end..]
                .iter()
                .skip(1)
                .position(|byte| *byte == b'/')
                .map_or(root.len(), |at| path_end + 1 + at);
            let (search, read) = placer.bits_of(access);
            let prefix = placer.extend(placer.above, search);
            placer.above = match placer.extend(prefix, read) == prefix {
                true => prefix,
                false => placer.barrier(prefix, read, &root[..path_end]),
            };
        }
        placer
    }

    /// Sets the paths of the subtrees that were large and open in the previous
    /// snapshot ([`Placer::large_open`]).
    #[must_use]
    pub fn with_large_open(mut self, paths: impl IntoIterator<Item = Vec<u8>>) -> Placer {
        self.large_before = paths.into_iter().collect();
        self
    }

    /// Sets the initial result of [`Placer::large_open`].
    #[must_use]
    pub fn with_large_found(mut self, paths: Vec<Vec<u8>>) -> Placer {
        self.large = paths;
        self
    }

    /// Returns the guard of the source as a whole and of its root's own row:
    /// the conditions above the root. Every other guard begins with it.
    pub fn root_guard(&self) -> GuardId {
        self.above
    }

    /// Registers a directory. Call it once for each directory, parents first,
    /// and before [`Placer::add_rows`]. `path` is absolute.
    pub fn enter(&mut self, dir: DirId, parent: Option<DirId>, path: &[u8], access: &DirAccess) {
        let (search, read) = self.bits_of(access);
        let reached = match parent {
            None => self.above,
            // An unknown ancestor must not make a guard weaker.
            Some(parent) if !self.nodes.contains_key(&parent) => self.for_nobody(),
            Some(parent) => match self.barrier_to(parent, path, access) {
                Some(barrier) => barrier,
                None => self.place(parent),
            },
        };
        let prefix = self.extend(reached, search);
        let listing = self.extend(prefix, read);
        if listing != prefix {
            self.hidden_lists.insert((prefix, read));
        }
        let node = Node {
            parent,
            name: self.name_of(parent, path),
            read,
            prefix,
            listing,
            open_from: self.open_from(dir, parent, search, read),
            open_rows: 0,
        };
        self.nodes.insert(dir, node);
    }

    /// Adds `rows` to the number of rows in `dir`.
    pub fn add_rows(&mut self, dir: DirId, rows: u64) {
        let top = self.nodes.get(&dir).and_then(|node| node.open_from);
        if let Some(top) = top.and_then(|top| self.nodes.get_mut(&top)) {
            top.open_rows += rows;
        }
    }

    /// Removes `dir` when everything in and below it has been placed, and
    /// records it if its subtree is large and open.
    pub fn done(&mut self, dir: DirId) {
        if let Some(node) = self.nodes.remove(&dir)
            && node.open_rows >= self.barrier_rows
        {
            let path = self.path_of(&node);
            self.large.push(path);
        }
    }

    fn name_of(&self, parent: Option<DirId>, path: &[u8]) -> Vec<u8> {
        let is_below = parent.is_some_and(|parent| self.nodes.contains_key(&parent));
        let name = path.rsplit(|byte| *byte == b'/').next();
        name.filter(|_| is_below).unwrap_or(path).to_vec()
    }

    /// Returns the path of a directory whose ancestors are not yet done.
    fn path_of(&self, node: &Node) -> Vec<u8> {
        let next = |node: &&Node| self.nodes.get(&node.parent?);
        let chain = std::iter::successors(Some(node), next);
        let mut names: Vec<&[u8]> = chain.map(|node| &node.name[..]).collect();
        names.reverse();
        names.join(&b'/')
    }

    /// Returns the guard of the rows of `dir`. An unknown directory gets the
    /// strictest guard: only the superuser passes.
    pub fn place(&mut self, dir: DirId) -> GuardId {
        match self.nodes.get(&dir) {
            Some(node) => node.listing,
            None => self.for_nobody(),
        }
    }

    /// Returns true if some users may pass through `dir` but not list it, so
    /// that [`Placer::barrier_to`] must be called for its subdirectories.
    pub fn hides(&self, dir: DirId) -> bool {
        let node = self.nodes.get(&dir);
        node.is_some_and(|node| node.listing != node.prefix)
    }

    /// Returns the barrier in front of the directory at `path` in `parent`, if
    /// it gets one. It is the guard of the child's own row for users who know
    /// its name.
    pub fn barrier_to(
        &mut self,
        parent: DirId,
        path: &[u8],
        access: &DirAccess,
    ) -> Option<GuardId> {
        let node = self.nodes.get(&parent)?;
        if node.listing == node.prefix {
            return None;
        }
        let (prefix, read) = (node.prefix, node.read);
        let list = &self.predicates[read.0 as usize];
        let owner = Credentials {
            uid: access.uid,
            groups: vec![access.gid],
        };
        let for_others = || !Predicate::of(access, Bit::Read).is_superuser_only();
        let needed = list.is_superuser_only() && for_others()
            || !list.admits(&owner)
            || self.large_before.contains(path);
        needed.then(|| self.barrier(prefix, read, path))
    }

    /// Returns the guard of data that needs read permission on an object in a
    /// directory guarded by `guard`: the values of `user.*` attributes
    /// (xattr(7)).
    pub fn value_guard(&mut self, guard: GuardId, access: &DirAccess) -> GuardId {
        let (_, read) = self.bits_of(access);
        self.extend(guard, read)
    }

    /// Returns the guard of data behind `guard` that only the superuser may
    /// see: `trusted.*` attributes (xattr(7)).
    pub fn superuser_guard(&mut self, guard: GuardId) -> GuardId {
        let nobody = self.intern(Predicate::superuser_only());
        self.extend(guard, nobody)
    }

    /// Returns the two possible guards of the rows of the directory at `path`
    /// in `parent` with this access: if it was not large and open in the
    /// previous snapshot, and if it was. Does not change the placer's state.
    pub fn guards_of(&mut self, parent: DirId, path: &[u8], access: &DirAccess) -> [Guard; 2] {
        let hidden = self.hidden_lists.clone();
        let was_large = self.large_before.remove(path);
        let small = self.probe(parent, path, access);
        self.large_before.insert(path.to_vec());
        let large = self.probe(parent, path, access);
        if !was_large {
            self.large_before.remove(path);
        }
        self.hidden_lists = hidden;
        [small, large]
    }

    /// Returns true if everyone who passes the source's root guard may list
    /// `dir`, which must be registered.
    pub fn is_for_all(&self, dir: DirId) -> bool {
        let node = self.nodes.get(&dir);
        node.is_some_and(|node| node.listing == self.above)
    }

    fn probe(&mut self, parent: DirId, path: &[u8], access: &DirAccess) -> Guard {
        self.enter(PROBE, Some(parent), path, access);
        let guard = self.place(PROBE);
        self.nodes.remove(&PROBE);
        self.guard(guard)
    }

    /// Returns the elements of a guard, in tree order.
    pub fn guard(&self, mut id: GuardId) -> Guard {
        let mut elements = Vec::new();
        while let Some((parent, Some(element))) = self.trie.get(id.0 as usize) {
            elements.push(element.clone());
            id = *parent;
        }
        elements.reverse();
        Guard(elements)
    }

    /// Returns the id of the guard with these elements.
    pub fn guard_of(&mut self, guard: &Guard) -> GuardId {
        let elements = guard.0.iter().cloned();
        elements.fold(GuardId::TRIVIAL, |above, element| {
            self.child(above, element)
        })
    }

    /// Returns each guard below which directories exist that some users may
    /// pass through but not list, with the predicate of the users who may list
    /// them. Barriers exist, or may exist, in these places.
    pub fn hidden_lists(&self) -> impl Iterator<Item = (GuardId, &Predicate)> {
        let lists = self.hidden_lists.iter();
        lists.map(|(guard, list)| (*guard, &self.predicates[list.0 as usize]))
    }

    /// Clears the result of [`Placer::hidden_lists`]: directories may have
    /// changed since they were registered.
    pub fn forget_hidden_lists(&mut self) {
        self.hidden_lists.clear();
    }

    /// Returns the subtrees found to be large and open so far, for the next
    /// snapshot.
    pub fn large_open(&self) -> &[Vec<u8>] {
        &self.large
    }

    /// Returns the hidden directory whose open rows include those of `dir`.
    /// Everyone who may pass through the parent of that directory can reach and
    /// list all directories from it down to `dir`. `None` if there is none.
    fn open_from(
        &mut self,
        dir: DirId,
        parent: Option<DirId>,
        search: PredicateId,
        read: PredicateId,
    ) -> Option<DirId> {
        let above = self.nodes.get(&parent?)?;
        let top = match above.listing != above.prefix {
            true => dir,
            false => above.open_from?,
        };
        let prefix = self.prefix_around(parent?, top)?;
        let adds = self.extend(prefix, search) != prefix || self.extend(prefix, read) != prefix;
        (!adds).then_some(top)
    }

    /// Returns the prefix of the directory that contains `top`; `from` is that
    /// directory or lies below it.
    fn prefix_around(&self, from: DirId, top: DirId) -> Option<GuardId> {
        let mut at = self.nodes.get(&from)?;
        if let Some(node) = self.nodes.get(&top) {
            at = self.nodes.get(&node.parent?)?;
        }
        Some(at.prefix)
    }

    /// Returns a guard that only the superuser passes.
    fn for_nobody(&mut self) -> GuardId {
        self.superuser_guard(self.above)
    }

    fn barrier(&mut self, prefix: GuardId, list: PredicateId, path: &[u8]) -> GuardId {
        self.hidden_lists.insert((prefix, list));
        let list = self.predicates[list.0 as usize].clone();
        if self.is_full(prefix, &list) {
            return self.superuser_guard(prefix);
        }
        let element = Element::Barrier {
            path: path.to_vec(),
            list,
        };
        self.child(prefix, element)
    }

    /// Returns true if a guard cannot have a further element with this predicate.
    fn is_full(&self, mut id: GuardId, further: &Predicate) -> bool {
        let (mut elements, mut entries) = (1, further.entries());
        while let Some((parent, Some(element))) = self.trie.get(id.0 as usize) {
            elements += 1;
            entries += element.entries();
            id = *parent;
        }
        elements > ELEMENTS_MAX || entries > GUARD_ENTRIES_MAX
    }

    /// Appends `predicate` to `guard`, unless an element of `guard` implies it.
    fn extend(&mut self, guard: GuardId, predicate: PredicateId) -> GuardId {
        if let Some(known) = self.extensions.get(&(guard, predicate)) {
            return *known;
        }
        let wanted = self.predicates[predicate.0 as usize].clone();
        let implied = wanted.is_trivial()
            || self
                .guard(guard)
                .0
                .iter()
                .any(|element| matches!(element, Element::Predicate(p) if p.implies(&wanted)));
        let extended = if implied {
            guard
        } else if self.is_full(guard, &wanted) {
            self.child(guard, Element::Predicate(Predicate::superuser_only()))
        } else {
            self.child(guard, Element::Predicate(wanted))
        };
        self.extensions.insert((guard, predicate), extended);
        extended
    }

    fn child(&mut self, guard: GuardId, element: Element) -> GuardId {
        let next = GuardId(self.trie.len() as u32);
        let id = *self
            .children
            .entry((guard, element.clone()))
            .or_insert(next);
        if id == next {
            self.trie.push((guard, Some(element)));
        }
        id
    }

    fn bits_of(&mut self, access: &DirAccess) -> (PredicateId, PredicateId) {
        let key = DirAccess {
            mode: access.mode & 0o777,
            ..access.clone()
        };
        if let Some(known) = self.access_ids.get(&key) {
            return *known;
        }
        let search = self.intern(Predicate::of(&key, Bit::Search));
        let read = self.intern(Predicate::of(&key, Bit::Read));
        self.access_ids.insert(key, (search, read));
        (search, read)
    }

    fn intern(&mut self, predicate: Predicate) -> PredicateId {
        let next = PredicateId(self.predicates.len() as u32);
        let id = *self.predicate_ids.entry(predicate.clone()).or_insert(next);
        if id == next {
            self.predicates.push(predicate);
        }
        id
    }
}

#[cfg(test)]
mod tests;
