//! Tests of placement.

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

/// Checks a chain of directories, each of which denies `users` further users: only the superuser passes
/// the guards after the first `open`.
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
