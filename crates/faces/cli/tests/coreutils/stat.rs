//! `trawl stat` compared with GNU stat.

use trawl_testkit::lines::{Ending, Order, assert_same};

use crate::case::{self, Deck};
use crate::tree;

const OPTIONS: &[&[&str]] = &[
    &["-L", "--dereference"],
    &["-t", "--terse"],
    &[
        "-c%n %a %A %b %B %d %D %Hd %Ld %f %F",
        "--format=%g %G %h %i %m %n %N %o %s",
    ],
    &[
        "--printf=%r %R %Hr %Lr %t %T %u %U\\n",
        "--printf=%w %W %x %X %y %Y %z %Z\\n",
    ],
    &[
        "-c[%10n][%-12a][%#a][%05u][%.3X][%+i][% g][%-20F]",
        "-c%20m|%.3m|%-9m|%d",
    ],
    &["--cached=always", "--cached=default"],
    &[
        "-c%.9X %018.3Y %-20.6Z| %'s %I d %Q %H %L %%",
        "-c%n",
        "--printf=\\x41\\t%n\\0",
    ],
    &["-c%N", "-c%N %i %n", "--printf=%N\\n"],
];

const VARIABLES: &[(&str, &[&str])] = &[
    ("LC_ALL", &["C", "C.UTF-8"]),
    ("TZ", &["America/New_York", "Asia/Kolkata", "XYZ-3:30"]),
    (
        "QUOTING_STYLE",
        &["shell", "c", "escape", "locale", "nonsense"],
    ),
    ("POSIXLY_CORRECT", &["1"]),
];

#[test]
fn any_options_print_what_gnu_stat_prints() {
    let site = tree::build("coreutils-stat", 4);
    let deck = Deck {
        tool: "stat",
        options: OPTIONS,
        variables: VARIABLES,
        arguments: tree::ARGUMENTS,
        order: |_| Order::Exact,
        left_out: |_| false,
    };
    case::run(&site, &deck);
}

/// Free space changes while others work: only the rest is compared.
#[test]
fn file_systems_are_those_of_gnu_stat() {
    let site = tree::build("coreutils-stat-f", 5);
    for line in [
        "stat -f -c %n:%b:%c:%i:%l:%s:%S:%t:%T . /proc /sys /dev plain/file links/to-dir",
        "stat -f -c [%10T][%-8i][%#t][%05s][%Q][%Hd] . /proc",
        "stat -f --printf %T\\n /proc /sys /dev/pts nowhere",
        "stat -f /proc /sys",
        "stat -ft /proc",
    ] {
        let (theirs, ours) = (site.gnu(line), site.run(line));
        let (theirs_out, ours_out) = (&theirs.stdout, &ours.stdout);
        assert_same(line, theirs_out, ours_out, Order::Exact, Ending::Newline);
        assert_eq!(theirs.code, ours.code, "{ours}");
    }
}

#[test]
fn contexts_are_question_marks_where_there_are_none() {
    let site = tree::build("coreutils-stat-context", 6);
    let line = "stat -c %C:%n plain links";
    let (theirs, ours) = (site.gnu(line), site.run(line));
    assert_eq!(theirs.text(), ours.text());
    assert_eq!(theirs.code, ours.code, "{ours}");
}
