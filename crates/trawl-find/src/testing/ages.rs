//! The tests that predicates of times have in common. `ago` makes a row whose
//! time lies so many seconds back.

use super::{Spec, error_of, matches};

/// Each test has an argument, an age in seconds and the expected result.
fn check(name: &str, ago: impl Fn(i64) -> Spec, tests: &[(&str, i64, bool)]) {
    for (argument, age_secs, expected) in tests {
        let words = format!("{name} {argument}");
        assert_eq!(
            matches(&words, &ago(*age_secs)),
            *expected,
            "{words} {age_secs}"
        );
    }
    assert_eq!(
        error_of(&format!("{name} x")),
        format!("invalid argument `x' to `{name}'")
    );
    assert_eq!(error_of(name), format!("missing argument to `{name}'"));
}

/// Tests a predicate of ages in minutes.
pub(crate) fn are_rounded_up(name: &str, ago: impl Fn(i64) -> Spec) {
    let unit = 60;
    let tests = [
        ("0", unit - 1, false),
        ("1", unit - 1, true),
        ("1", unit + 1, false),
        ("2", unit + 1, true),
        ("+1", unit + 1, true),
        ("+1", unit - 1, false),
        ("-1", unit - 1, true),
        ("-1", unit + 1, false),
        ("-0.5", unit / 3, true),
    ];
    check(name, ago, &tests);
}

/// Tests a predicate of ages in days.
pub(crate) fn are_rounded_down(name: &str, ago: impl Fn(i64) -> Spec) {
    let unit = 86400;
    let tests = [
        ("0", unit - 1, true),
        ("0", unit, false),
        ("1", unit, true),
        ("1", 2 * unit - 1, true),
        ("+1", 2 * unit - 1, false),
        ("+1", 2 * unit + 1, true),
        ("-1", unit - 2, true),
        ("-1", unit + 2, false),
        ("1.5", 3 * unit / 2 + 2, true),
    ];
    check(name, ago, &tests);
}

/// Tests a predicate that compares with the file `here`, which was last
/// modified 100 seconds ago.
pub(crate) fn is_newer_than_here(name: &str, ago: impl Fn(i64) -> Spec) {
    let words = format!("{name} here");
    for (age_secs, expected) in [(99, true), (100, false), (101, false)] {
        assert_eq!(matches(&words, &ago(age_secs)), expected, "{age_secs}");
    }
    assert_eq!(
        error_of(&format!("{name} gone")),
        "‘gone’: No such file or directory"
    );
}
