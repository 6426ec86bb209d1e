//! The one list of predicates.

use crate::predicate::Predicate;
use crate::predicates::*;

/// Every word of the language, in the order in which help shows them.
static REGISTRY: &[&Predicate] = &[
    // Operators.
    &operators::OPEN,
    &operators::CLOSE,
    &operators::NOT,
    &operators::AND,
    &operators::OR,
    &operators::COMMA,
    // Options.
    &depth::DEPTH,
    &depth::D,
    &ignore_readdir_race::IGNORE_READDIR_RACE,
    &ignore_readdir_race::NOIGNORE_READDIR_RACE,
    &maxdepth::MAXDEPTH,
    &mindepth::MINDEPTH,
    &noleaf::NOLEAF,
    &xdev::XDEV,
    &daystart::DAYSTART,
    &regextype::REGEXTYPE,
    &warn::WARN,
    &warn::NOWARN,
    // Tests.
    &acl::ACL,
    &amin::AMIN,
    &anewer::ANEWER,
    &atime::ATIME,
    &cmin::CMIN,
    &cnewer::CNEWER,
    &ctime::CTIME,
    &empty::EMPTY,
    &constant::FALSE,
    &fstype::FSTYPE,
    &gid::GID,
    &group::GROUP,
    &ilname::ILNAME,
    &iname::INAME,
    &inum::INUM,
    &ipath::IPATH,
    &iregex::IREGEX,
    &links::LINKS,
    &lname::LNAME,
    &mmin::MMIN,
    &mtime::MTIME,
    &name::NAME,
    &newer::NEWER,
    &newer_xy::NEWER_XY,
    &nogroup::NOGROUP,
    &nouser::NOUSER,
    &path::PATH,
    &perm::PERM,
    &regex::REGEX,
    &samefile::SAMEFILE,
    &size::SIZE,
    &constant::TRUE,
    &file_type::TYPE,
    &uid::UID,
    &used::USED,
    &user::USER,
    &xattr::XATTR,
    &xattrname::XATTRNAME,
    // Actions.
    &delete::DELETE,
    &exec::EXEC,
    &execdir::EXECDIR,
    &fls::FLS,
    &fprint::FPRINT,
    &fprint0::FPRINT0,
    &fprintf::FPRINTF,
    &ls::LS,
    &ok::OK,
    &okdir::OKDIR,
    &print::PRINT,
    &print0::PRINT0,
    &printf::PRINTF,
    &prune::PRUNE,
    &quit::QUIT,
];

/// Predicates of GNU find that are still to come, and what to do meanwhile.
static NOT_YET: &[(&[&str], &str)] = &[
    (
        &["-readable", "-writable", "-executable"],
        "use -perm, -user and -group",
    ),
    (
        &["-follow", "-xtype"],
        "symbolic links are not followed; use -type l and -lname",
    ),
    (&["-files0-from"], "give the start points as arguments"),
    (&["-context"], "security contexts are not kept in the index"),
];

/// Every predicate there is.
pub fn registry() -> &'static [&'static Predicate] {
    REGISTRY
}

/// The predicate that is spelled so.
pub fn find(word: &str) -> Option<&'static Predicate> {
    let named = |p: &&&Predicate| p.names().any(|name| name == word);
    REGISTRY.iter().find(named).copied().or_else(|| {
        // `-newerXY` stands for all its letters.
        let letters = word.strip_prefix("-newer")?;
        (letters.len() == 2).then_some(&newer_xy::NEWER_XY)
    })
}

/// What to do instead of a predicate that is still to come.
pub fn not_yet(word: &str) -> Option<&'static str> {
    let row = NOT_YET.iter().find(|(names, _)| names.contains(&word))?;
    Some(row.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_described() {
        let mut seen = HashSet::new();
        for predicate in registry() {
            for name in predicate.names() {
                assert!(seen.insert(name), "{name} is there twice");
                assert!(not_yet(name).is_none(), "{name} is there already");
                assert!(find(name).is_some_and(|p| p.name == predicate.name));
            }
            assert!(!predicate.help.is_empty() && !predicate.help.ends_with('.'));
        }
        assert!(seen.len() > 60);
    }
}
