//! The help text, generated from the registry.

use crate::predicate::{Kind, Predicate};
use crate::registry::registry;

/// Returns the text that `-help` prints.
pub fn text() -> String {
    let mut out = String::from(
        "Usage: find [-H] [-L] [-P] [PATH...] [EXPRESSION]\n\n\
         Evaluates EXPRESSION for each PATH and everything below it (default: the current directory).\n\
         Without an action in EXPRESSION, prints the path of each entry that it is true of.\n\n\
         Before the paths:\n  \
         -P                             never follow symbolic links (the default)\n  \
         -H                             follow symbolic links only if they are PATHs or arguments\n  \
         -L                             follow all symbolic links\n",
    );
    for (kind, title) in [
        (Kind::Operator, "Operators, by decreasing precedence"),
        (Kind::GlobalOption, "Options for the whole search"),
        (Kind::PositionalOption, "Options for the words that follow"),
        (
            Kind::Test,
            "Tests (N: exactly N, +N: more than N, -N: less than N)",
        ),
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
