//! The permission algebra: which users may search or list a directory.
//!
//! A permission **bit** of a mode or ACL is a [`Predicate`] over a user's id
//! and groups. It is evaluated as the Linux kernel does it
//! (`acl_permission_check` and `posix_acl_permission`; acl(5), "ACCESS CHECK
//! ALGORITHM"):
//!
//! 1. The owner bits alone decide for the owner.
//! 2. If there is an ACL **and** the mode's group class (the ACL's mask) is not
//!    empty: for a named user, that user's entry under the mask decides. For
//!    any other user with a matching owning or named group, the bit is granted
//!    if at least one of the matching entries grants it under the mask.
//! 3. Otherwise (no ACL, or an empty mask, with which the kernel does not
//!    consult the ACL at all): the group bits decide for the owning group.
//! 4. The other bits decide for everybody else.
//!
//! The superuser always passes (`CAP_DAC_READ_SEARCH`).
//!
//! A [`Guard`] is the sequence of predicates and name barriers between the
//! source's root and a directory's content, in tree order.

use crate::entry::DirAccess;
use crate::id::{Gid, Uid};
use std::collections::BTreeMap;
use std::fmt;

/// Maximum number of users and groups that a predicate names. It becomes the access control list of
/// files of the index, of which ext4 holds about 500 entries where blocks have 4 KiB. A directory whose
/// list is longer is shown to the superuser only: otherwise its owner could stop the index for
/// everybody.
pub const ENTRIES_MAX: usize = 400;

/// A permission bit, as it applies to directories and files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bit {
    /// `r`: list a directory, or read a file.
    Read,
    /// `x`: access the entries of a directory by name.
    Search,
}

impl Bit {
    const fn mask(self) -> u32 {
        match self {
            Bit::Read => 4,
            Bit::Search => 1,
        }
    }
}

/// A user's credentials as the kernel sees them: file-system uid and all
/// groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Credentials {
    /// The file-system user id.
    pub uid: Uid,
    /// The primary and all supplementary groups.
    pub groups: Vec<Gid>,
}

/// The set of users to whom one permission bit is granted, in canonical form:
/// two predicates are equal if and only if they admit the same users.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Predicate {
    /// Users with a decision of their own (true: pass), sorted by id.
    users: Vec<(Uid, bool)>,
    /// Groups whose members pass, sorted.
    granting: Vec<Gid>,
    /// Groups whose members fail unless a granting group admits them, sorted.
    denying: Vec<Gid>,
    /// Decision for everybody else.
    other: bool,
}

impl Predicate {
    /// Returns the predicate that only the superuser passes.
    pub fn superuser_only() -> Predicate {
        Predicate {
            users: Vec::new(),
            granting: Vec::new(),
            denying: Vec::new(),
            other: false,
        }
    }

    /// Returns the set of users who have `bit` on an object with these
    /// permissions; only the superuser if these name more than
    /// [`ENTRIES_MAX`].
    pub fn of(access: &DirAccess, bit: Bit) -> Predicate {
        let exact = Predicate::exact(access, bit);
        match exact.entries() > ENTRIES_MAX {
            true => Predicate::superuser_only(),
            false => exact,
        }
    }

    /// As [`Predicate::of`], however many are named.
    pub fn exact(access: &DirAccess, bit: Bit) -> Predicate {
        let has = |bits: u32| bits & bit.mask() != 0;
        let mut users = BTreeMap::from([(access.uid, has(access.mode >> 6))]);
        let mut groups = BTreeMap::new();
        match &access.acl {
            Some(acl) if access.mode & 0o070 != 0 => {
                let mask = u32::from(acl.mask.unwrap_or(7));
                for (uid, bits) in &acl.users {
                    users.entry(*uid).or_insert(has(u32::from(*bits) & mask));
                }
                let mut grant = |gid: Gid, bits: u8| {
                    *groups.entry(gid).or_insert(false) |= has(u32::from(bits) & mask);
                };
                grant(access.gid, acl.group);
                acl.groups.iter().for_each(|(gid, bits)| grant(*gid, *bits));
            }
            _ => {
                groups.insert(access.gid, has(access.mode >> 3));
            }
        }
        let side = |wanted: bool| {
            groups
                .iter()
                .filter(|(_, ok)| **ok == wanted)
                .map(|(gid, _)| *gid)
                .collect()
        };
        Predicate {
            users: users.into_iter().collect(),
            granting: side(true),
            denying: side(false),
            other: has(access.mode),
        }
        .canonical()
    }

    /// Removes parts that decide nothing. For each remaining part there is a
    /// user whose result would change without it.
    fn canonical(mut self) -> Predicate {
        let is_judged = |uid: Uid| uid != Uid::ROOT && uid != Uid::NOBODY;
        self.users.retain(|(uid, _)| is_judged(*uid));
        self.granting.retain(|gid| *gid != Gid::NOBODY);
        self.denying.retain(|gid| *gid != Gid::NOBODY);
        if !self.other {
            // Members of a denying group fail in any case, as everybody else
            // does.
            self.denying.clear();
        } else if self.denying.is_empty() {
            self.granting.clear();
        }
        if self.granting.is_empty() && self.denying.is_empty() {
            let other = self.other;
            self.users.retain(|(_, ok)| *ok != other);
        }
        self
    }

    /// Returns true if every user passes.
    pub fn is_trivial(&self) -> bool {
        self.other && self.users.is_empty() && self.denying.is_empty()
    }

    /// Returns true if only the superuser passes.
    pub fn is_superuser_only(&self) -> bool {
        !self.other && self.users.is_empty() && self.granting.is_empty()
    }

    /// Parses the output of [`fmt::Display`]; returns `None` for any other
    /// text.
    pub fn parse(text: &str) -> Option<Predicate> {
        let mut read = Predicate::superuser_only();
        let mut words = text.split(' ').peekable();
        while let Some(word) = words.next() {
            let (what, passes) = match word.as_bytes().last()? {
                b'+' => (&word[..word.len() - 1], true),
                b'-' => (&word[..word.len() - 1], false),
                _ => return None,
            };
            match (what.strip_prefix('u'), what.strip_prefix('g')) {
                (Some(uid), _) => read.users.push((Uid(uid.parse().ok()?), passes)),
                (_, Some(gid)) if passes => read.granting.push(Gid(gid.parse().ok()?)),
                (_, Some(gid)) => read.denying.push(Gid(gid.parse().ok()?)),
                _ if what == "other" && words.peek().is_none() => read.other = passes,
                _ => return None,
            }
        }
        // Each predicate has exactly one accepted spelling.
        let sorted = read.users.is_sorted_by(|a, b| a.0 < b.0)
            && read.granting.is_sorted_by(|a, b| a < b)
            && read.denying.is_sorted_by(|a, b| a < b);
        (sorted && read.clone().canonical() == read && read.to_string() == text).then_some(read)
    }

    /// Returns true if the user passes.
    pub fn admits(&self, who: &Credentials) -> bool {
        who.uid == Uid::ROOT || self.admits_ordinary(who.uid, |gid| who.groups.contains(&gid))
    }

    fn admits_ordinary(&self, uid: Uid, in_group: impl Fn(Gid) -> bool) -> bool {
        if let Ok(at) = self.users.binary_search_by_key(&uid, |(uid, _)| *uid) {
            return self.users[at].1;
        }
        if self.granting.iter().any(|gid| in_group(*gid)) {
            return true;
        }
        self.other && !self.denying.iter().any(|gid| in_group(*gid))
    }

    /// Returns true if everyone who passes `self` also passes `other`. The result is exact, and takes
    /// time in proportion to the entries of both.
    pub fn implies(&self, other: &Predicate) -> bool {
        !self.has_named_exception(other) && !self.has_unnamed_exception(other)
    }

    /// Returns true if a user who is named in one of the predicates passes `self` but not `other`.
    fn has_named_exception(&self, other: &Predicate) -> bool {
        // Any group may be joined, and the user need not join one.
        let admits_unnamed = self.other || !self.granting.is_empty();
        let mut denials = other.denials();
        let denies_unnamed = !other.other || denials.next().is_some();
        let named_here = self.users.iter().filter(|(_, passes)| *passes);
        let mut named_here = named_here.map(|(uid, _)| other.decision(*uid));
        let mut failing = other.users.iter().filter(|(_, passes)| !*passes);
        named_here.any(|decision| decision.map_or(denies_unnamed, |passes| !passes))
            || admits_unnamed && failing.any(|(uid, _)| self.decision(*uid).is_none())
    }

    /// Returns true if members of some groups, who are named in neither predicate, pass `self` but not
    /// `other`. Groups that `other` grants to are none of theirs.
    fn has_unnamed_exception(&self, other: &Predicate) -> bool {
        let is_granted = |gid: &&Gid| other.granting.binary_search(gid).is_ok();
        let grants_more = self.granting.iter().any(|gid| !is_granted(&gid));
        if !other.other {
            return grants_more || self.other;
        }
        // One of their groups is denied by `other`.
        let mut denials = other.denials();
        match (grants_more, self.other) {
            (true, _) => denials.next().is_some(),
            (false, true) => {
                let denied: Vec<&Gid> = self.denials().collect();
                denials.any(|gid| denied.binary_search(&gid).is_err())
            }
            (false, false) => false,
        }
    }

    /// Returns the decision for a user that is named.
    fn decision(&self, uid: Uid) -> Option<bool> {
        let at = self.users.binary_search_by_key(&uid, |(uid, _)| *uid);
        at.ok().map(|at| self.users[at].1)
    }

    /// Returns the groups whose members fail if they are in no other group.
    fn denials(&self) -> impl Iterator<Item = &Gid> {
        let denying = self.denying.iter();
        denying.filter(|gid| self.granting.binary_search(gid).is_err())
    }

    /// Returns the number of users and groups that are named.
    pub fn entries(&self) -> usize {
        self.users.len() + self.granting.len() + self.denying.len()
    }

    /// Returns the users with a decision of their own, sorted by id; the
    /// superuser is never among them.
    pub fn users(&self) -> &[(Uid, bool)] {
        &self.users
    }

    /// Returns the groups whose members pass.
    pub fn granting(&self) -> &[Gid] {
        &self.granting
    }

    /// Returns the groups whose members fail unless a granting group admits
    /// them.
    pub fn denying(&self) -> &[Gid] {
        &self.denying
    }

    /// Returns true if users pass for whom no other part decides.
    pub fn other(&self) -> bool {
        self.other
    }
}

impl fmt::Display for Predicate {
    /// Writes named users, groups and everybody else, such as
    /// `u1000+ g5+ other-`; `+` means pass.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = |ok: bool| if ok { '+' } else { '-' };
        for (uid, ok) in &self.users {
            write!(f, "u{uid}{} ", sign(*ok))?;
        }
        for gid in &self.granting {
            write!(f, "g{gid}+ ")?;
        }
        for gid in &self.denying {
            write!(f, "g{gid}- ")?;
        }
        write!(f, "other{}", sign(self.other))
    }
}

/// One condition of a guard.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Element {
    /// The user must pass a permission bit.
    Predicate(Predicate),
    /// The user must know a path, or may list the directory that contains it.
    Barrier {
        /// The absolute path of the directory behind the barrier.
        path: Vec<u8>,
        /// Users who may list the containing directory, and so need not know
        /// the path.
        list: Predicate,
    },
}

impl Element {
    /// Returns the number of users and groups that are named.
    pub fn entries(&self) -> usize {
        match self {
            Element::Predicate(who) | Element::Barrier { list: who, .. } => who.entries(),
        }
    }

    /// Returns true if everyone who passes `self` also passes `other`, whatever
    /// paths they know.
    pub fn implies(&self, other: &Element) -> bool {
        match (self, other) {
            (Element::Predicate(p), Element::Predicate(q)) => p.implies(q),
            (Element::Predicate(p), Element::Barrier { list, .. }) => p.implies(list),
            (Element::Barrier { .. }, Element::Predicate(q)) => q.is_trivial(),
            (
                Element::Barrier { path, list },
                Element::Barrier {
                    path: other,
                    list: q,
                },
            ) => path == other && list.implies(q),
        }
    }
}

/// The conditions for reaching a directory's content: a user must pass all
/// elements, in tree order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Guard(pub Vec<Element>);

impl Guard {
    /// Returns true if the user passes every predicate, and for every barrier
    /// passes its `list` predicate or `knows` its path.
    pub fn admits(&self, who: &Credentials, knows: impl Fn(&[u8]) -> bool) -> bool {
        self.0.iter().all(|element| match element {
            Element::Predicate(p) => p.admits(who),
            Element::Barrier { path, list } => list.admits(who) || knows(path),
        })
    }

    /// Returns true if every user passes.
    pub fn is_trivial(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns this guard with the conditions of `now` added: the elements of
    /// `now`, followed by the elements of this guard that they do not imply.
    /// Returns `None` if this guard already implies all of `now`.
    pub fn tightened(&self, now: &Guard) -> Option<Guard> {
        let asks = |element: &Element| self.0.iter().any(|mine| mine.implies(element));
        if now.0.iter().all(asks) {
            return None;
        }
        let mut both = now.0.clone();
        for element in &self.0 {
            if !both.iter().any(|before| before.implies(element)) {
                both.push(element.clone());
            }
        }
        Some(Guard(both))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::acl::Acl;
    use proptest::prelude::*;

    /// The kernel's two functions, line by line, for one requested bit.
    fn kernel_allows(access: &DirAccess, who: &Credentials, want: u32) -> bool {
        let mode = access.mode;
        if who.uid == Uid::ROOT {
            return true;
        }
        if who.uid == access.uid {
            return (mode >> 6) & want == want;
        }
        if let Some(acl) = access.acl.as_ref().filter(|_| mode & 0o070 != 0) {
            return acl_allows(acl, access.gid, who, want);
        }
        let class = if who.groups.contains(&access.gid) {
            mode >> 3
        } else {
            mode
        };
        class & want == want
    }

    fn acl_allows(acl: &Acl, owning: Gid, who: &Credentials, want: u32) -> bool {
        let masked = |bits: u8| u32::from(bits & acl.mask.unwrap_or(7)) & want == want;
        if let Some((_, bits)) = acl.users.iter().find(|(uid, _)| *uid == who.uid) {
            return masked(*bits);
        }
        let mut found = false;
        for (gid, bits) in [(owning, acl.group)]
            .into_iter()
            .chain(acl.groups.iter().copied())
        {
            if who.groups.contains(&gid) {
                found = true;
                if u32::from(bits) & want == want {
                    return masked(bits);
                }
            }
        }
        !found && u32::from(acl.other) & want == want
    }

    pub(crate) fn any_access() -> impl Strategy<Value = DirAccess> {
        let named = || proptest::collection::btree_map(0u32..5, 0u8..8, 0..3);
        let acl = (named(), 0u8..8, named(), 0u8..8);
        (0u32..0o1000, 0u32..5, 0u32..5, proptest::option::of(acl)).prop_map(
            |(mut mode, uid, gid, acl)| {
                let acl = acl.map(|(users, group, groups, mask)| {
                    // The kernel keeps the mode's classes consistent with the
                    // ACL.
                    mode = mode & !0o070 | u32::from(mask) << 3;
                    Acl {
                        owner: (mode >> 6) as u8 & 7,
                        users: users.into_iter().map(|(id, b)| (Uid(id), b)).collect(),
                        group,
                        groups: groups.into_iter().map(|(id, b)| (Gid(id), b)).collect(),
                        mask: Some(mask),
                        other: mode as u8 & 7,
                    }
                });
                DirAccess {
                    mode,
                    uid: Uid(uid),
                    gid: Gid(gid),
                    acl,
                }
            },
        )
    }

    fn everybody() -> Vec<Credentials> {
        let subsets =
            (0u32..32).map(|bits| (0..5).filter(|g| bits >> g & 1 == 1).map(Gid).collect());
        let subsets: Vec<Vec<Gid>> = subsets.collect();
        let uids = [0, 1, 2, 3, 4, 77];
        uids.iter()
            .flat_map(|uid| {
                subsets.iter().map(|groups| Credentials {
                    uid: Uid(*uid),
                    groups: groups.clone(),
                })
            })
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn predicates_answer_as_the_kernel_does(access in any_access()) {
            for bit in [Bit::Read, Bit::Search] {
                let predicate = Predicate::of(&access, bit);
                for who in everybody() {
                    prop_assert_eq!(
                        predicate.admits(&who),
                        kernel_allows(&access, &who, bit.mask()),
                        "{:?} {:?} {}", who, bit, predicate
                    );
                }
            }
        }

        #[test]
        fn equal_sets_have_equal_predicates_and_implication_is_exact(a in any_access(), b in any_access()) {
            let (a, b) = (Predicate::of(&a, Bit::Read), Predicate::of(&b, Bit::Search));
            let everybody = everybody();
            let same = everybody.iter().all(|who| a.admits(who) == b.admits(who));
            prop_assert_eq!(same, a == b, "{} / {}", a, b);
            prop_assert_eq!(Predicate::parse(&a.to_string()), Some(a.clone()));
            let implied = everybody.iter().all(|who| !a.admits(who) || b.admits(who));
            prop_assert_eq!(implied, a.implies(&b), "{} / {}", a, b);
        }
    }

    /// Guards of predicates, and of barriers in front of one of two paths.
    fn any_guard() -> impl Strategy<Value = Guard> {
        let element = (any_access(), 0u8..4).prop_map(|(access, kind)| {
            let who = Predicate::of(&access, Bit::Read);
            match kind {
                0 | 1 => Element::Predicate(who),
                _ => Element::Barrier {
                    path: format!("/p{kind}").into_bytes(),
                    list: who,
                },
            }
        });
        proptest::collection::vec(element, 0..4).prop_map(Guard)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn a_tightened_guard_admits_those_whom_both_admit(then in any_guard(), now in any_guard()) {
            let tightened = then.tightened(&now);
            for who in everybody() {
                for known in 0..4 {
                    let knows = |path: &[u8]| match path {
                        b"/p2" => known & 1 != 0,
                        _ => known & 2 != 0,
                    };
                    let both = then.admits(&who, knows) && now.admits(&who, knows);
                    let result = tightened.as_ref().unwrap_or(&then);
                    prop_assert_eq!(result.admits(&who, knows), both, "{:?} {}", who, known);
                }
            }
        }
    }

    #[test]
    fn an_empty_mask_sends_named_users_to_other() {
        let acl = Acl {
            owner: 7,
            users: vec![(Uid(5), 7)],
            mask: Some(0),
            other: 4,
            ..Acl::default()
        };
        let access = DirAccess {
            mode: 0o704,
            uid: Uid(1),
            gid: Gid(9),
            acl: Some(acl),
        };
        let read = Predicate::of(&access, Bit::Read);
        assert!(read.admits(&Credentials {
            uid: Uid(5),
            groups: vec![]
        }));
        assert!(!read.admits(&Credentials {
            uid: Uid(5),
            groups: vec![Gid(9)]
        }));
    }

    #[test]
    fn only_a_predicate_s_own_text_is_read() {
        for text in [
            "",
            "other",
            "other+ ",
            "u5+",
            "g1+ other+",
            "u7+ u5+ other-",
            "u5+ other+",
        ] {
            assert_eq!(Predicate::parse(text), None, "{text:?}");
        }
        assert_eq!(
            Predicate::parse("other-"),
            Some(Predicate::superuser_only())
        );
    }

    #[test]
    fn a_private_directory_of_root_admits_root_alone() {
        let access = DirAccess {
            mode: 0o700,
            ..DirAccess::default()
        };
        let read = Predicate::of(&access, Bit::Read);
        assert_eq!(read.to_string(), "other-");
        assert!(read.admits(&Credentials::default()));
    }
}
