//! The list of all predicates.

use crate::predicate::Predicate;
use crate::predicates::*;

/// Every word of the language, in the order in which help shows them.
static REGISTRY: &[&Predicate] = &[
    // Operators.
    &operators::OPEN,
    &operators::CLOSE,
    &operators::NOT,
    &exclude::EXCLUDE,
    &operators::AND,
    &operators::OR,
    &operators::COMMA,
    // Options.
    &depth::DEPTH,
    &depth::D,
    &files0_from::FILES0_FROM,
    &ignore_readdir_race::IGNORE_READDIR_RACE,
    &ignore_readdir_race::NOIGNORE_READDIR_RACE,
    &maxdepth::MAXDEPTH,
    &mindepth::MINDEPTH,
    &noleaf::NOLEAF,
    &xdev::XDEV,
    &daystart::DAYSTART,
    &follow::FOLLOW,
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
    &context::CONTEXT,
    &ctime::CTIME,
    &empty::EMPTY,
    &executable::EXECUTABLE,
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
    &readable::READABLE,
    &regex::REGEX,
    &samefile::SAMEFILE,
    &size::SIZE,
    &constant::TRUE,
    &file_type::TYPE,
    &uid::UID,
    &unique::UNIQUE,
    &used::USED,
    &user::USER,
    &writable::WRITABLE,
    &xattr::XATTR,
    &xattrname::XATTRNAME,
    &xtype::XTYPE,
    // Actions.
    &delete::DELETE,
    &exec::EXEC,
    &execdir::EXECDIR,
    &fls::FLS,
    &fprint::FPRINT,
    &fprint0::FPRINT0,
    &fprintf::FPRINTF,
    &json::JSON,
    &limit::LIMIT,
    &ls::LS,
    &ok::OK,
    &okdir::OKDIR,
    &print::PRINT,
    &print0::PRINT0,
    &printf::PRINTF,
    &prune::PRUNE,
    &quit::QUIT,
    &sort::SORT,
];

/// Returns all predicates.
pub fn registry() -> &'static [&'static Predicate] {
    REGISTRY
}

/// Returns the predicate with this name or alias.
pub fn find(word: &str) -> Option<&'static Predicate> {
    let named = |p: &&&Predicate| p.names().any(|name| name == word);
    REGISTRY.iter().find(named).copied().or_else(|| {
        // `-newerXY` stands for every pair of letters.
        let letters = word.strip_prefix("-newer")?;
        (letters.len() == 2).then_some(&newer_xy::NEWER_XY)
    })
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
                assert!(find(name).is_some_and(|p| p.name == predicate.name));
            }
            assert!(!predicate.help.is_empty() && !predicate.help.ends_with('.'));
        }
        assert!(seen.len() > 60);
    }
}
