//! Commands that change an entry, and words behind them that observe the result.

use super::case::{CHANGE, Expr, Operator};
use crate::prng::Prng;

/// Excludes links, directories and files with several names: so the state of other entries does not
/// depend on the order of the commands.
const ALONE: &str = "[ -f \"$1\" ] && [ ! -L \"$1\" ] && [ \"$(stat -c %h -- \"$1\")\" = 1 ] || exit 0; set -- \"$1\"; ";
/// The changes.
const CHANGES: &[&str] = &[
    "chmod 4711 \"$1\"",
    "chmod 000 \"$1\"",
    "rm -f \"$1\"",
    "rm -f \"$1\"; mkdir \"$1\"",
    "rm -f \"$1\"; ln -s nowhere \"$1\"",
    "truncate -s 77 \"$1\"",
    "touch -d '2001-02-03 04:05:06 UTC' \"$1\"",
    "chown 7:8 \"$1\"",
    "mv \"$1\" \"$1.moved\"",
];
/// Formats printed behind a change; directories have a different size in each copy.
const CHANGED_FORMATS: &[&str] = &[
    "%p %m %y\\n",
    "%f %M %U %G\\n",
    "%p %l %y\\n",
    "%p %y\\n",
    "%P %u %g %d\\n",
];
/// Tests behind a change.
const CHANGED_TESTS: &[&[&str]] = &[
    &["-perm", "-4000"],
    &["-perm", "0"],
    &["-type", "f"],
    &["-type", "d"],
    &["-type", "f", "-size", "77c"],
    &["-type", "l"],
    &["-uid", "7"],
    &["-nouser"],
    &["-lname", "no*"],
    &["-newermt", "2001-01-01", "-not", "-newermt", "2001-03-01"],
    &["-type", "f", "-empty"],
    &["-not", "-type", "l", "-readable"],
    &["-prune"],
    &["-links", "1", "-type", "f"],
];

/// Tests whose answers differ between two copies of a tree, or after a part of it was deleted.
pub(super) const NOT_OF_COPIES: &[&str] = &[
    "-inum",
    "-ctime",
    "-cmin",
    "-cnewer",
    "-newermc",
    "-newerct",
    "-used",
    "-atime",
    "-amin",
    "-anewer",
    "-neweraa",
    "-neweram",
    "-newerma",
    "-newerat",
    "-newer",
    "-newermm",
    "-newermt",
    "-mtime",
    "-mmin",
    "-samefile",
    "-empty",
    "-links",
    "-size",
    "-follow",
    "-prune",
];

/// Tests of a link's target.
pub(super) const THROUGH_LINKS: &[&str] = &["-xtype", "-readable", "-writable", "-executable"];

/// Makes a command that changes the entry.
pub(super) fn change(prng: &mut Prng) -> Expr {
    let (word, end) = *prng.pick(&[
        ("-exec", ";"),
        ("-exec", ";"),
        ("-execdir", ";"),
        ("-exec", "+"),
    ]);
    let script = format!("{ALONE}{}", prng.word(CHANGES));
    match end {
        "+" => Expr::leaf(&[word, "sh", "-c", "exit 0", CHANGE, "{}", "+"]),
        _ => Expr::leaf(&[word, "sh", "-c", &script, CHANGE, "{}", end]),
    }
}

/// Makes the words that observe an entry behind a change.
pub(super) fn look_behind(prng: &mut Prng) -> Expr {
    let printed = *prng.pick(CHANGED_FORMATS);
    let print = Expr::leaf(&["-printf", printed]);
    if !prng.once_in(2) {
        return print;
    }
    let test = Expr::leaf(prng.pick::<&[&str]>(CHANGED_TESTS));
    let both = vec![test, print];
    match prng.below(3) {
        0 => Expr::Join(Operator::Or, b"-o".to_vec(), both),
        1 => Expr::Join(Operator::And, Vec::new(), both),
        _ => Expr::Join(Operator::Comma, b",".to_vec(), both),
    }
}
