//! Finds predicates by name; [`crate::predicates`] lists them.

use crate::predicate::Predicate;
use crate::predicates::{EVERY, newer_xy};

/// Returns all predicates.
pub fn registry() -> &'static [&'static Predicate] {
    EVERY
}

/// Returns the predicate with this name or alias.
pub fn find(word: &str) -> Option<&'static Predicate> {
    let named = |p: &&&Predicate| p.names().any(|name| name == word);
    EVERY.iter().find(named).copied().or_else(|| {
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
