//! Words of `trawl find` that GNU find does not have: beside bfs where bfs
//! has them, walking the file system and asking the index.

use trawl_testkit::skip::without_program;

use crate::find_actions::{Source, run};

const OURS: [Source; 2] = [Source::Live, Source::Index];

/// What a program prints for each line, sorted, behind the line.
fn answers(source: Source, lines: &[&str]) -> String {
    let each = lines.iter().map(|line| {
        let shown = line.replace('\'', "").replace('$', "");
        format!("echo '== {shown}'; ({line}; echo \"code $?\") | sort")
    });
    let script = each.collect::<Vec<_>>().join("\n");
    String::from_utf8(run(source, &script).1).unwrap()
}

/// Compares each line with what bfs prints.
fn compare_with_bfs(what: &str, lines: &[&str]) {
    if let Some(skip) = without_program(what, "bfs") {
        return skip.say();
    }
    let theirs = answers(Source::Bfs, lines);
    for source in OURS {
        assert_eq!(answers(source, lines), theirs, "{source:?}");
    }
}

#[test]
fn what_is_excluded_is_left_out_as_bfs_leaves_it_out() {
    compare_with_bfs(
        "what -exclude leaves out",
        &[
            "$FIND t -exclude -name d",
            "$FIND t -depth -exclude -name d",
            "$FIND t -depth -exclude -name e -type d",
            "$FIND t -mindepth 2 -exclude -name d",
            "$FIND t -mindepth 2 -depth -exclude -name d",
            "$FIND t -maxdepth 1 -exclude -name d",
            "$FIND t -exclude -name a -print",
            "$FIND t ! -exclude -name a",
            "$FIND t -exclude \\( -name a -o -name e \\)",
            "$FIND t -name d -exclude -name e -o -type f",
            "$FIND t -false -o -exclude -name d",
            "$FIND t -type f \\( -exclude -name d \\)",
            "$FIND t -exclude -name d -exclude -name a",
            "$FIND t -exclude ! -name t",
            "$FIND t -exclude -name t",
            "$FIND t -mindepth 1 -exclude -name t",
            "$FIND t -depth -exclude -name t",
            "$FIND t t/d -exclude -name d",
            "$FIND t -exclude -empty",
            "$FIND t -depth -exclude -empty",
            "$FIND t -exclude -type f -links 1",
            "$FIND t -mindepth 2 -exclude -path t/d -perm -500",
            "$FIND t -exclude -false , -name a",
            "$FIND t -type d -exclude -name e -prune",
            "$FIND -L t/ld t/d -exclude -name e",
            "$FIND -L t/ld t/d -depth -exclude -name e",
            "$FIND -L t/d t/ld -mindepth 1 -exclude -name ld",
            "$FIND t -exclude -name d -type f -exec echo {} \\;",
            "$FIND t -exclude -path t/d/e -depth -exec echo {} \\;",
        ],
    );
}

#[test]
fn nothing_excluded_is_deleted() {
    let lines = [
        "$FIND t -exclude -name d -type f -delete; find t",
        "$FIND t -exclude -name e -delete 2>/dev/null; find t",
        "$FIND t -depth -exclude -empty -type d -delete 2>/dev/null; find t",
    ];
    for line in lines {
        compare_with_bfs("what -delete leaves alone", &[line]);
    }
}
