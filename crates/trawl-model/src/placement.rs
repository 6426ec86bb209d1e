//! Which guard each directory's content gets: the one place that decides.
//!
//! For a directory D with ancestors A₁ … Aₖ the guard is, in tree order, the
//! predicate *x on Aᵢ* of every ancestor, *x on D* and *r on D*; each is left
//! out where it is trivial or implied by one before it. Where someone who
//! gets as far as an ancestor A may pass but not list it, the child of A on
//! the way to D is guarded further: by a **name barrier** if its subtree has
//! at least [`BARRIER_ROWS`] rows, else by *r on A*.
//!
//! Which of the two is known only when enough of the subtree has been seen
//! or it is done. Until then [`Placer::place`] answers [`Place::Later`] with
//! the [`Candidate`] that is being waited for; [`Placer::add_rows`] and
//! [`Placer::done`] say which candidates were decided. The state is bounded
//! by the directories that are open plus those that wait.

use crate::entry::DirAccess;
use crate::guard::{Bit, Element, Guard, Predicate};
use crate::id::DirId;
use std::collections::HashMap;

/// The smallest subtree, in rows, that gets shards of its own behind a name
/// barrier. A smaller one would be split into shards too small to pay.
pub const BARRIER_ROWS: u64 = 4096;

/// An interned guard: an index into the placer's trie of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GuardId(u32);

impl GuardId {
    /// The guard that everyone passes.
    pub const TRIVIAL: GuardId = GuardId(0);
}

/// A subtree of which it is not yet known whether it gets a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Candidate(u32);

/// Where a directory's rows go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Into the shard of this guard.
    Now(GuardId),
    /// Not known before this candidate is decided.
    Later(Candidate),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct PredicateId(u32);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Decision {
    Open,
    Barrier,
    Predicate,
}

struct CandidateState {
    /// The nearest candidate around this one.
    outer: Option<Candidate>,
    rows: u64,
    decision: Decision,
    path: Vec<u8>,
    /// Directories that are done but whose rows wait for this decision.
    waiting: Vec<DirId>,
}

struct Node {
    parent: Option<DirId>,
    search: PredicateId,
    read: PredicateId,
    /// The candidate that this very directory is, if it is one.
    own: Option<Candidate>,
    /// The innermost candidate at or above this directory.
    innermost: Option<Candidate>,
    /// The guard up to and including *x* here, once it is known.
    prefix: Option<GuardId>,
    /// Nothing below is still to come.
    done: bool,
    /// Directories right below that are still known: they ask for `prefix`.
    children: u32,
}

/// Assigns guards to directories as a scan delivers them.
pub struct Placer {
    nodes: HashMap<DirId, Node>,
    candidates: HashMap<Candidate, CandidateState>,
    next_candidate: u32,
    barrier_rows: u64,
    predicates: Vec<Predicate>,
    predicate_ids: HashMap<Predicate, PredicateId>,
    access_ids: HashMap<DirAccess, (PredicateId, PredicateId)>,
    /// Trie of guards: parent and last element; place 0 is the empty guard.
    trie: Vec<(GuardId, Option<Element>)>,
    children: HashMap<(GuardId, Element), GuardId>,
    extensions: HashMap<(GuardId, PredicateId), GuardId>,
    above: GuardId,
}

impl Placer {
    /// A placer for a source below directories with these permissions,
    /// outermost first ([`crate::sink::SourceRoot::above`]).
    pub fn new(above: &[DirAccess]) -> Placer {
        Placer::with_barrier_rows(above, BARRIER_ROWS)
    }

    /// As [`Placer::new`], with another threshold than [`BARRIER_ROWS`].
    pub fn with_barrier_rows(above: &[DirAccess], barrier_rows: u64) -> Placer {
        let mut placer = Placer {
            nodes: HashMap::new(),
            candidates: HashMap::new(),
            next_candidate: 0,
            barrier_rows,
            predicates: Vec::new(),
            predicate_ids: HashMap::new(),
            access_ids: HashMap::new(),
            trie: vec![(GuardId::TRIVIAL, None)],
            children: HashMap::new(),
            extensions: HashMap::new(),
            above: GuardId::TRIVIAL,
        };
        for access in above {
            let (search, _) = placer.bits_of(access);
            placer.above = placer.extend(placer.above, search);
        }
        placer
    }

    /// The guard of the source root's own row: search permission on all
    /// that is above it.
    pub fn root_guard(&self) -> GuardId {
        self.above
    }

    /// Makes a directory known; call it once per directory, before
    /// [`Placer::add_rows`], parents first. `path` is absolute.
    pub fn enter(&mut self, dir: DirId, parent: Option<DirId>, path: &[u8], access: &DirAccess) {
        let (search, read) = self.bits_of(access);
        let outer = parent
            .and_then(|p| self.nodes.get(&p))
            .and_then(|n| n.innermost);
        let own = parent
            .filter(|p| self.hides_children(*p))
            .map(|_| self.add_candidate(path, outer));
        if let Some(parent) = parent.and_then(|p| self.nodes.get_mut(&p)) {
            parent.children += 1;
        }
        let innermost = own.or(outer);
        let node = Node {
            parent,
            search,
            read,
            own,
            innermost,
            prefix: None,
            done: false,
            children: 0,
        };
        self.nodes.insert(dir, node);
    }

    /// Counts `rows` more rows in `dir`. Returns the candidates that this
    /// decided.
    pub fn add_rows(&mut self, dir: DirId, rows: u64) -> Vec<Candidate> {
        let mut decided = Vec::new();
        let mut at = self.nodes.get(&dir).and_then(|n| n.innermost);
        while let Some((candidate, state)) =
            at.and_then(|c| Some((c, self.candidates.get_mut(&c)?)))
        {
            if state.decision == Decision::Barrier {
                // All around it are at least as large.
                break;
            }
            state.rows += rows;
            if state.decision == Decision::Open && state.rows >= self.barrier_rows {
                state.decision = Decision::Barrier;
                decided.push(candidate);
            }
            at = state.outer;
        }
        decided
    }

    /// Everything below `dir` has been counted. Returns the candidate that
    /// this decided, if any.
    pub fn done(&mut self, dir: DirId) -> Option<Candidate> {
        let node = self.nodes.get_mut(&dir)?;
        node.done = true;
        if let Some(candidate) = node.own
            && let Some(state) = self.candidates.get_mut(&candidate)
            && state.decision == Decision::Open
        {
            state.decision = Decision::Predicate;
            // Its rows are placed before it is released.
            state.waiting.push(dir);
            return Some(candidate);
        }
        self.forget_or_wait(dir);
        None
    }

    /// The rows that waited for `candidate` have been placed: forget the
    /// directories that are done.
    pub fn release(&mut self, candidate: Candidate) {
        let Some(state) = self.candidates.get_mut(&candidate) else {
            return;
        };
        for dir in std::mem::take(&mut state.waiting) {
            self.forget_or_wait(dir);
        }
    }

    /// Where the rows of `dir` go. A directory that was never entered is
    /// placed behind the strictest guard there is: for the superuser alone.
    pub fn place(&mut self, dir: DirId) -> Place {
        let prefix = match self.prefix_of(dir) {
            Ok(prefix) => prefix,
            Err(candidate) => return Place::Later(candidate),
        };
        let read = self.nodes.get(&dir).map(|node| node.read);
        Place::Now(read.map_or(prefix, |read| self.extend(prefix, read)))
    }

    /// The guard of what needs read permission on an object in a directory
    /// guarded by `guard`: the values of its extended attributes.
    pub fn value_guard(&mut self, guard: GuardId, access: &DirAccess) -> GuardId {
        let (_, read) = self.bits_of(access);
        self.extend(guard, read)
    }

    /// The guard of what only the superuser may know of objects in a
    /// directory guarded by `guard`: attributes named `trusted.…`.
    pub fn superuser_guard(&mut self, guard: GuardId) -> GuardId {
        let superuser = self.intern(Predicate::of(&DirAccess::default(), Bit::Read));
        self.extend(guard, superuser)
    }

    /// The elements of a guard, in tree order.
    pub fn guard(&self, mut id: GuardId) -> Guard {
        let mut elements = Vec::new();
        while let Some((parent, Some(element))) = self.trie.get(id.0 as usize) {
            elements.push(element.clone());
            id = *parent;
        }
        elements.reverse();
        Guard(elements)
    }

    /// True if someone may pass `dir` and not list it, as far as is known.
    fn hides_children(&mut self, dir: DirId) -> bool {
        let Some(node) = self.nodes.get(&dir) else {
            return false;
        };
        let (search, read) = (node.search, node.read);
        match self.prefix_of(dir) {
            Ok(prefix) => self.extend(prefix, read) != prefix,
            Err(_) => {
                let of = |id: PredicateId| &self.predicates[id.0 as usize];
                !of(read).is_trivial() && !of(search).implies(of(read))
            }
        }
    }

    fn add_candidate(&mut self, path: &[u8], outer: Option<Candidate>) -> Candidate {
        let id = Candidate(self.next_candidate);
        self.next_candidate += 1;
        let state = CandidateState {
            outer,
            rows: 0,
            decision: Decision::Open,
            path: path.to_vec(),
            waiting: Vec::new(),
        };
        self.candidates.insert(id, state);
        id
    }

    /// The guard up to and including *x* on `dir`, or the candidate that it
    /// waits for. Walks up to the nearest ancestor whose prefix is known.
    fn prefix_of(&mut self, dir: DirId) -> Result<GuardId, Candidate> {
        let mut unknown = Vec::new();
        let mut at = Some(dir);
        let mut prefix = self.above;
        while let Some(id) = at {
            let Some(node) = self.nodes.get(&id) else {
                // An unknown ancestor must not make a guard weaker.
                return Ok(self.for_nobody());
            };
            if let Some(known) = node.prefix {
                prefix = known;
                break;
            }
            unknown.push(id);
            at = node.parent;
        }
        for id in unknown.into_iter().rev() {
            prefix = self.step(prefix, id)?;
        }
        Ok(prefix)
    }

    /// A guard that only the superuser passes.
    fn for_nobody(&mut self) -> GuardId {
        self.superuser_guard(self.above)
    }

    /// The prefix of `dir`, given its parent's.
    fn step(&mut self, parent_prefix: GuardId, dir: DirId) -> Result<GuardId, Candidate> {
        let Some(node) = self.nodes.get(&dir) else {
            return Ok(parent_prefix);
        };
        let (search, own) = (node.search, node.own);
        let parent_read = node.parent.and_then(|p| self.nodes.get(&p)).map(|p| p.read);
        let mut prefix = parent_prefix;
        if let (Some(candidate), Some(read)) = (own, parent_read) {
            let listed = self.extend(prefix, read);
            if listed != prefix {
                let state = self.candidates.get(&candidate);
                prefix = match state.map(|s| (s.decision, &s.path)) {
                    Some((Decision::Open, _)) => return Err(candidate),
                    Some((Decision::Barrier, path)) => {
                        let list = self.predicates[read.0 as usize].clone();
                        let element = Element::Barrier {
                            path: path.clone(),
                            list,
                        };
                        self.child(prefix, element)
                    }
                    Some((Decision::Predicate, _)) | None => listed,
                };
            }
        }
        let prefix = self.extend(prefix, search);
        if let Some(node) = self.nodes.get_mut(&dir) {
            node.prefix = Some(prefix);
        }
        Ok(prefix)
    }

    /// `guard` and then `predicate`, unless something in it implies that.
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

    /// Forgets a directory that is done once its guard is known and no
    /// directory below it will ask for it; then its parent, likewise.
    fn forget_or_wait(&mut self, dir: DirId) {
        let mut at = Some(dir);
        while let Some((id, node)) = at.and_then(|d| Some((d, self.nodes.get(&d)?))) {
            if !node.done || node.children > 0 {
                return;
            }
            if let Err(candidate) = self.prefix_of(id) {
                if let Some(state) = self.candidates.get_mut(&candidate) {
                    state.waiting.push(id);
                }
                return;
            }
            at = self.forget(id);
        }
    }

    /// Drops a directory's state; returns its parent.
    fn forget(&mut self, dir: DirId) -> Option<DirId> {
        let node = self.nodes.remove(&dir)?;
        if let Some(own) = node.own {
            self.candidates.remove(&own);
        }
        let parent = self.nodes.get_mut(&node.parent?)?;
        parent.children = parent.children.saturating_sub(1);
        node.parent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::Credentials;
    use crate::id::{Gid, Uid};
    use proptest::prelude::*;

    #[derive(Debug)]
    struct Tree {
        parent: Vec<Option<usize>>,
        access: Vec<DirAccess>,
        rows: Vec<u64>,
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

        fn subtree_rows(&self, top: usize) -> u64 {
            (0..self.rows.len())
                .filter(|at| self.ancestors(*at).contains(&top))
                .map(|at| self.rows[at])
                .sum()
        }

        /// What the kernel asks of someone who was told the paths in `known`
        /// (with the small subtrees' stricter rule, as documented).
        fn may_list(&self, at: usize, who: &Credentials, known: bool) -> bool {
            let has = |dir: usize, bit| Predicate::of(&self.access[dir], bit).admits(who);
            let chain = self.ancestors(at);
            chain.iter().all(|dir| has(*dir, Bit::Search))
                && has(at, Bit::Read)
                && chain.windows(2).all(|pair| {
                    let told = known && self.subtree_rows(pair[1]) >= 10;
                    told || has(pair[0], Bit::Read)
                })
        }

        fn children(&self, at: usize) -> Vec<usize> {
            (0..self.parent.len())
                .filter(|c| self.parent[*c] == Some(at))
                .collect()
        }
    }

    fn any_tree() -> impl Strategy<Value = Tree> {
        let modes =
            proptest::sample::select(vec![0o755, 0o711, 0o700, 0o750, 0o710, 0o751, 0o705, 0o771]);
        let dir = (
            any::<prop::sample::Index>(),
            modes,
            1u32..4,
            1u32..4,
            0u64..8,
        );
        proptest::collection::vec(dir, 1..14).prop_map(|dirs| {
            let mut tree = Tree {
                parent: vec![],
                access: vec![],
                rows: vec![],
            };
            for (at, (parent, mode, uid, gid, rows)) in dirs.into_iter().enumerate() {
                tree.parent.push((at > 0).then(|| parent.index(at)));
                tree.access.push(DirAccess {
                    mode,
                    uid: Uid(uid),
                    gid: Gid(gid),
                    acl: None,
                });
                tree.rows.push(rows);
            }
            tree
        })
    }

    fn settle(
        placer: &mut Placer,
        id: DirId,
        guards: &mut HashMap<DirId, GuardId>,
        held: &mut Vec<DirId>,
    ) {
        match placer.place(id) {
            Place::Now(guard) => drop(guards.insert(id, guard)),
            Place::Later(_) => held.push(id),
        }
    }

    fn after(
        placer: &mut Placer,
        decided: &[Candidate],
        guards: &mut HashMap<DirId, GuardId>,
        held: &mut Vec<DirId>,
    ) {
        for candidate in decided {
            for id in std::mem::take(held) {
                settle(placer, id, guards, held);
            }
            placer.release(*candidate);
        }
    }

    /// Delivers the tree depth-first as a scan would.
    fn deliver(
        tree: &Tree,
        at: usize,
        placer: &mut Placer,
        guards: &mut HashMap<DirId, GuardId>,
        held: &mut Vec<DirId>,
    ) {
        let id = DirId(at as u64);
        let parent = tree.parent[at].map(|p| DirId(p as u64));
        placer.enter(id, parent, &tree.path(at), &tree.access[at]);
        let decided = placer.add_rows(id, tree.rows[at]);
        settle(placer, id, guards, held);
        after(placer, &decided, guards, held);
        for child in tree.children(at) {
            deliver(tree, child, placer, guards, held);
        }
        let decided: Vec<_> = placer.done(id).into_iter().collect();
        after(placer, &decided, guards, held);
    }

    proptest! {
        #[test]
        fn guards_admit_whom_the_tree_admits(tree in any_tree()) {
            let mut placer = Placer::with_barrier_rows(&[], 10);
            let (mut guards, mut held) = (HashMap::new(), Vec::new());
            deliver(&tree, 0, &mut placer, &mut guards, &mut held);
            prop_assert!(held.is_empty());
            prop_assert!(placer.nodes.is_empty() && placer.candidates.is_empty());
            for at in 0..tree.parent.len() {
                let guard = placer.guard(guards[&DirId(at as u64)]);
                for uid in 0..5 {
                    for groups in [vec![], vec![Gid(1)], vec![Gid(2), Gid(3)]] {
                        let who = Credentials { uid: Uid(uid), groups };
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
        }
    }

    #[test]
    fn an_unknown_directory_is_for_the_superuser_alone() {
        let mut placer = Placer::new(&[]);
        let Place::Now(guard) = placer.place(DirId(7)) else {
            panic!("nothing to wait for")
        };
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
        let mut placer = Placer::new(&[private]);
        let open = DirAccess {
            mode: 0o755,
            ..DirAccess::default()
        };
        placer.enter(DirId(0), None, b"/home/u/data", &open);
        assert_eq!(placer.place(DirId(0)), Place::Now(placer.root_guard()));
        assert!(!placer.guard(placer.root_guard()).is_trivial());
    }
}
