//! Help, made from the registry.

use crate::predicate::{Kind, Predicate};
use crate::registry::registry;

/// What `-help` prints.
pub fn text() -> String {
    let mut out = String::from(
        "Usage: find [-H] [-L] [-P] [PATH...] [EXPRESSION]\n\n\
         Searches PATHs, or else the current directory, for what EXPRESSION is true of.\n\
         Without an action, -print is done.\n\n\
         Before the paths:\n  \
         -P                             follow no symbolic link (the default)\n  \
         -H                             follow those that are paths or arguments\n  \
         -L                             follow all\n",
    );
    for (kind, title) in [
        (Kind::Operator, "Operators, tightest first"),
        (Kind::GlobalOption, "Options for the whole search"),
        (Kind::PositionalOption, "Options for what follows them"),
        (Kind::Test, "Tests (N may be +N for more, -N for less)"),
        (Kind::Action, "Actions"),
    ] {
        out.push_str(&format!("\n{title}:\n"));
        for predicate in registry().iter().filter(|p| p.kind == kind) {
            out.push_str(&line(predicate));
        }
    }
    out
}

fn line(predicate: &Predicate) -> String {
    let names: Vec<&str> = predicate.names().collect();
    let left = format!("{} {}", names.join(", "), predicate.args);
    format!("  {:<30} {}\n", left.trim_end(), predicate.help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_predicate_is_in_the_help() {
        let text = text();
        for predicate in registry() {
            assert!(text.contains(predicate.name), "{}", predicate.name);
        }
    }
}
