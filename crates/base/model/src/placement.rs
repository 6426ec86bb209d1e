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
/// its depth. What is deeper is shown to the superuser only.
pub const ELEMENTS_MAX: usize = 64;

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
        let extended = match self.is_full(guard, &wanted) {
            _ if implied => guard,
            true => self.child(guard, Element::Predicate(Predicate::superuser_only())),
            false => self.child(guard, Element::Predicate(wanted)),
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
mod tests {
    use super::*;
    use crate::guard::{Credentials, ENTRIES_MAX};
    use crate::id::{Gid, Uid};
    use proptest::prelude::*;

    #[derive(Debug)]
    struct Tree {
        parent: Vec<Option<usize>>,
        access: Vec<DirAccess>,
        rows: Vec<u64>,
        large_before: Vec<bool>,
    }

    impl Tree {
        fn path(&self, at: usize) -> Vec<u8> {
            let above = self.parent[at].map_or_else(Vec::new, |p| self.path(p));
            [&above[..], format!("/d{at}").as_bytes()].concat()
        }

        fn ancestors(&self, at: usize) -> Vec<usize> {
            let mut chain: Vec<usize> =
                std::iter::successors(Some(at), |at| self.parent[*at]).collect();
            chain.reverse();
            chain
        }

        fn has(&self, dir: usize, bit: Bit, who: &Credentials) -> bool {
            Predicate::of(&self.access[dir], bit).admits(who)
        }

        /// Whether the kernel lets a user list the directory: exact for a user
        /// who knows no path, and for one who knows every path as far as
        /// barriers represent that knowledge.
        fn may_list(&self, at: usize, who: &Credentials, known: bool) -> bool {
            let chain = self.ancestors(at);
            chain.iter().all(|dir| self.has(*dir, Bit::Search, who))
                && self.has(at, Bit::Read, who)
                && chain.windows(2).all(|pair| {
                    let told = known && self.needs_barrier(pair[0], pair[1]);
                    told || self.has(pair[0], Bit::Read, who)
                })
        }

        fn needs_barrier(&self, parent: usize, child: usize) -> bool {
            let user = |uid: Uid, groups: &[Gid]| Credentials {
                uid,
                groups: groups.to_vec(),
            };
            let lists = |who: &Credentials| self.has(parent, Bit::Read, who);
            let owner = user(self.access[child].uid, &[self.access[child].gid]);
            let anyone = |dir: usize| {
                let mut ordinary = everyone().into_iter().filter(|who| who.uid != Uid::ROOT);
                ordinary.any(|who| self.has(dir, Bit::Read, &who))
            };
            self.large_before[child] || !anyone(parent) && anyone(child) || !lists(&owner)
        }

        fn children(&self, at: usize) -> Vec<usize> {
            (0..self.parent.len())
                .filter(|c| self.parent[*c] == Some(at))
                .collect()
        }

        /// Rows below `top` that every user who reaches its parent in the index
        /// can list.
        fn open_rows(&self, top: usize) -> u64 {
            let Some(parent) = self.parent[top] else {
                return 0;
            };
            let everyone = everyone();
            // Users who can see whether there is a barrier; the others walk the
            // file system.
            let reach = |who: &&Credentials| {
                let chain = self.ancestors(parent);
                chain.iter().all(|dir| self.has(*dir, Bit::Search, who))
                    && chain.windows(2).all(|pair| {
                        self.needs_barrier(pair[0], pair[1]) || self.has(pair[0], Bit::Read, who)
                    })
            };
            let passers: Vec<&Credentials> = everyone.iter().filter(reach).collect();
            (top..self.parent.len())
                .filter(|at| self.ancestors(*at).contains(&top))
                .filter(|at| {
                    let below = self.ancestors(*at);
                    let from = below.iter().position(|dir| *dir == top).unwrap();
                    below[from..].iter().all(|dir| {
                        passers.iter().all(|who| {
                            self.has(*dir, Bit::Read, who) && self.has(*dir, Bit::Search, who)
                        })
                    })
                })
                .map(|at| self.rows[at])
                .sum()
        }
    }

    fn everyone() -> Vec<Credentials> {
        let groups = [vec![], vec![1], vec![2], vec![3], vec![1, 2], vec![2, 3]];
        let groups = groups.map(|list| list.into_iter().map(Gid).collect::<Vec<_>>());
        (0..6)
            .flat_map(|uid| {
                groups.iter().map(move |groups| Credentials {
                    uid: Uid(uid),
                    groups: groups.clone(),
                })
            })
            .collect()
    }

    fn any_tree() -> impl Strategy<Value = Tree> {
        let modes =
            proptest::sample::select(vec![0o755, 0o711, 0o700, 0o750, 0o710, 0o751, 0o705, 0o771]);
        let dir = (
            any::<prop::sample::Index>(),
            modes,
            0u32..4,
            1u32..4,
            0u64..8,
            proptest::bool::weighted(0.2),
        );
        proptest::collection::vec(dir, 1..14).prop_map(|dirs| {
            let mut tree = Tree {
                parent: vec![],
                access: vec![],
                rows: vec![],
                large_before: vec![],
            };
            for (at, (parent, mode, uid, gid, rows, large)) in dirs.into_iter().enumerate() {
                tree.parent.push((at > 0).then(|| parent.index(at)));
                tree.access.push(DirAccess {
                    mode,
                    uid: Uid(uid),
                    gid: Gid(gid),
                    acl: None,
                });
                tree.rows.push(rows);
                tree.large_before.push(large);
            }
            tree
        })
    }

    /// Delivers the tree depth-first, as a scan does.
    fn deliver(tree: &Tree, at: usize, placer: &mut Placer, guards: &mut Vec<GuardId>) {
        let id = DirId(at as u64);
        let parent = tree.parent[at].map(|p| DirId(p as u64));
        placer.enter(id, parent, &tree.path(at), &tree.access[at]);
        placer.add_rows(id, tree.rows[at]);
        guards[at] = placer.place(id);
        for child in tree.children(at) {
            deliver(tree, child, placer, guards);
        }
        placer.done(id);
    }

    fn deliver_all(tree: &Tree, barrier_rows: u64) -> (Placer, Vec<GuardId>) {
        let large = (0..tree.parent.len()).filter(|at| tree.large_before[*at]);
        let mut placer = Placer::new(b"/d0", &[]).with_large_open(large.map(|at| tree.path(at)));
        placer.barrier_rows = barrier_rows;
        let mut guards = vec![GuardId::TRIVIAL; tree.parent.len()];
        deliver(tree, 0, &mut placer, &mut guards);
        (placer, guards)
    }

    /// A directory whose list denies its content to some users, who are named.
    fn denied_to(uids: std::ops::Range<u32>) -> DirAccess {
        let acl = crate::acl::Acl {
            owner: 7,
            users: uids.map(|uid| (Uid(uid), 0)).collect(),
            group: 5,
            groups: Vec::new(),
            mask: Some(5),
            other: 5,
        };
        DirAccess {
            mode: 0o755,
            uid: Uid(1),
            gid: Gid(1),
            acl: Some(acl),
        }
    }

    #[test]
    fn a_list_that_no_file_of_the_index_can_have_is_for_the_superuser() {
        let mut placer = Placer::new(b"/d", &[]);
        let most = ENTRIES_MAX as u32;
        for (id, named, is_closed) in [(1, most, false), (2, most + 1, true), (3, 2, false)] {
            let access = denied_to(100..100 + named);
            placer.enter(DirId(id), None, b"/d", &access);
            let guard = placer.place(DirId(id));
            let nobody = Element::Predicate(Predicate::superuser_only());
            assert_eq!(
                placer.guard(guard).0.contains(&nobody),
                is_closed,
                "{named}"
            );
            placer.done(DirId(id));
        }
    }

    #[test]
    fn what_is_behind_too_many_conditions_is_for_the_superuser() {
        // In each, further users are denied.
        let most = GUARD_ENTRIES_MAX as u32 / ENTRIES_MAX as u32;
        for (users, open) in [(1, ELEMENTS_MAX), (ENTRIES_MAX as u32, most as usize)] {
            closes_after(users, open);
        }
    }

    /// Checks that the guards of a chain of directories, each with a list of `users` users of its own,
    /// close after so many.
    #[track_caller]
    fn closes_after(users: u32, open: usize) {
        let mut placer = Placer::new(b"/d", &[]);
        let (mut path, mut parent) = (b"/d".to_vec(), None);
        for depth in 0..3 * ELEMENTS_MAX {
            let id = DirId(depth as u64);
            let first = 100 + depth as u32 * users;
            placer.enter(id, parent, &path, &denied_to(first..first + users));
            let guard = placer.place(id);
            let elements = placer.guard(guard).0;
            assert!(elements.len() <= ELEMENTS_MAX + 1);
            let is_closed = elements
                .iter()
                .any(|element| matches!(element, Element::Predicate(p) if p.is_superuser_only()));
            assert_eq!(is_closed, depth >= open, "{depth}");
            parent = Some(id);
            path.extend_from_slice(b"/d");
        }
    }

    proptest! {
        #[test]
        fn guards_admit_whom_the_tree_admits(tree in any_tree()) {
            let (placer, guards) = deliver_all(&tree, BARRIER_ROWS);
            prop_assert!(placer.nodes.is_empty());
            for (at, guard) in guards.iter().enumerate() {
                let guard = placer.guard(*guard);
                for who in everyone() {
                    for known in [false, true] {
                        prop_assert_eq!(
                            guard.admits(&who, |_| known),
                            tree.may_list(at, &who, known),
                            "directory {} user {:?} known {} guard {:?}", at, who, known, guard
                        );
                    }
                }
            }
        }

        /// The count never exceeds the number of rows that a user who knows the
        /// name can count. If it is lower, that costs a barrier but reveals no
        /// secret.
        #[test]
        fn a_size_counts_open_rows_alone(tree in any_tree()) {
            let (placer, _) = deliver_all(&tree, 10);
            for path in placer.large_open() {
                let at = (0..tree.parent.len()).find(|at| tree.path(*at) == *path).unwrap();
                prop_assert!(tree.open_rows(at) >= 10, "{:?}", at);
            }
        }
    }

    #[test]
    fn the_path_of_a_deep_directory_is_put_together_from_names() {
        let access = |mode| DirAccess {
            mode,
            uid: Uid(5),
            gid: Gid(5),
            acl: None,
        };
        let mut placer = Placer::new(b"", &[]);
        placer.enter(DirId(0), None, b"", &access(0o755));
        let mut path = Vec::new();
        for at in 1..2000 {
            path.extend(b"/");
            path.extend(format!("{at:0>255}").bytes());
            let mode = if at % 2 == 0 { 0o755 } else { 0o711 };
            placer.enter(DirId(at), Some(DirId(at - 1)), &path, &access(mode));
        }
        // 2,000 paths would take 500 MB.
        let kept: usize = placer.nodes.values().map(|node| node.name.len()).sum();
        assert!(kept < 1 << 20, "{kept}");
        assert_eq!(placer.path_of(&placer.nodes[&DirId(1999)]), path);
        placer.enter(
            DirId(5000),
            Some(DirId(4000)),
            b"/of/an/unknown",
            &access(0o755),
        );
        assert_eq!(
            placer.path_of(&placer.nodes[&DirId(5000)]),
            b"/of/an/unknown"
        );
    }

    #[test]
    fn a_large_open_child_of_what_may_only_be_passed_is_found() {
        let access = |mode| DirAccess {
            mode,
            uid: Uid(5),
            gid: Gid(5),
            acl: None,
        };
        let tree = Tree {
            parent: vec![None, Some(0), Some(1), Some(1)],
            access: vec![access(0o711), access(0o755), access(0o755), access(0o700)],
            rows: vec![100, 4, 6, 1000],
            large_before: vec![false; 4],
        };
        let (placer, _) = deliver_all(&tree, 10);
        assert_eq!(placer.large_open(), [tree.path(1)]);
        let (placer, _) = deliver_all(&tree, 11);
        assert!(placer.large_open().is_empty());
    }

    #[test]
    fn an_unknown_directory_is_for_the_superuser_alone() {
        let mut placer = Placer::new(b"", &[]);
        let guard = placer.place(DirId(7));
        let who = Credentials {
            uid: Uid(1),
            groups: vec![],
        };
        assert!(!placer.guard(guard).admits(&who, |_| true));
    }

    #[test]
    fn what_is_above_the_root_guards_everything() {
        let private = DirAccess {
            mode: 0o700,
            uid: Uid(5),
            ..DirAccess::default()
        };
        let open = DirAccess {
            mode: 0o755,
            ..DirAccess::default()
        };
        let above = [open.clone(), open.clone(), private];
        let mut placer = Placer::new(b"/home/u/data", &above);
        placer.enter(DirId(0), None, b"/home/u/data", &open);
        assert_eq!(placer.place(DirId(0)), placer.root_guard());
        assert!(!placer.guard(placer.root_guard()).is_trivial());
    }

    #[test]
    fn names_above_the_root_are_hidden_from_those_who_may_not_list_them() {
        let with = |mode| DirAccess {
            mode,
            ..DirAccess::default()
        };
        let placer = Placer::new(b"/srv/deep/data", &[with(0o755), with(0o711), with(0o755)]);
        let list = Predicate::superuser_only();
        let path = b"/srv/deep".to_vec();
        let barrier = Element::Barrier { path, list };
        assert_eq!(placer.guard(placer.root_guard()), Guard(vec![barrier]));
    }
}
