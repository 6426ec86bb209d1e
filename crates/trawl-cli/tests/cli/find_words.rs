//! Words of `trawl find` that GNU find does not have: beside bfs where bfs
//! has them, walking the file system and asking the index.

use trawl_testkit::skip::without_program;

use crate::find_actions::{Source, run};

const OURS: [Source; 2] = [Source::Live, Source::Index];

/// What a program prints for each line, sorted, behind the line.
fn answers(source: Source, lines: &[&str]) -> String {
    let each = lines.iter().map(|line| {
        let shown = line.replace(['\'', '$'], "");
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

#[test]
fn objects_are_the_same_from_everywhere_and_say_what_find_says() {
    let script = "mkdir odd; touch $'odd/\\xff\"'; $FIND --live t -json | sort > live; \
                  $FIND t -json | sort > index; $FIND --json t | sort > option; \
                  $FIND --live t -json -name a -json | wc -l; \
                  cmp index option; \
                  sed -i 's/\"atime\":[0-9.-]*,//' live index; cmp live index && cat live; \
                  $FIND --live odd -type f -json; \
                  find t odd/* -printf '%p %y %s %b %04m %n %U %u %G %g %i %T@ %l\\n' > theirs";
    let script = format!("{script}; echo; cat theirs");
    // To read a link changes its access time.
    let (_, out, err, _) = run(Source::Index, &script);
    assert_eq!(String::from_utf8_lossy(&err), "");
    let out = String::from_utf8_lossy(&out).into_owned();
    let (ours, theirs) = out.split_once("\n\n").unwrap();
    let mut lines = ours.lines();
    assert_eq!(lines.next().unwrap().trim(), "13");
    let mut said: Vec<String> = lines.map(in_words_of_find).collect();
    said.sort();
    let mut theirs: Vec<String> = theirs.lines().map(str::to_owned).collect();
    theirs.sort();
    assert_eq!(said, theirs);
}

/// What find would print of an object's entry.
fn in_words_of_find(line: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(line).unwrap();
    let text = |key: &str| match &value[key] {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Null => String::new(),
        other => other.to_string(),
    };
    let keys = [
        "type", "size", "blocks", "mode", "nlink", "uid", "user", "gid", "group", "inode",
    ];
    // A parser may round numbers.
    let (_, mtime) = line.split_once("\"mtime\":").unwrap();
    let (mtime, _) = mtime.split_once(',').unwrap();
    let rest = keys.map(text).join(" ");
    let path = match &value["path_raw"] {
        serde_json::Value::String(_) => "odd/\u{fffd}\"".to_owned(),
        _ => text("path"),
    };
    format!("{path} {rest} {mtime}0 {}", text("target"))
}

#[test]
fn what_was_seen_is_not_gone_into_again() {
    compare_with_bfs(
        "what -unique passes over",
        &[
            "$FIND t -unique",
            "$FIND t/d t/d/b t -unique",
            "$FIND t/d t/d -unique",
            "$FIND t/d t/d -unique -o -type f",
            "$FIND t/d t/d -depth -unique",
            "$FIND -L t/d t/ld -unique 2>/dev/null",
            "$FIND -L t/ld t -type d -unique 2>/dev/null",
            "$FIND -L t/d/e t/ld -unique -o -print",
            "$FIND t/d t/d ! -unique -o -false",
            "$FIND t/d t -mindepth 1 -unique",
            "$FIND t/d t -mindepth 2 -unique -depth",
            "$FIND t/d t -unique -exclude -name b -type f",
            "$FIND t/d t -maxdepth 1 -unique",
            "$FIND t/a t/a t/z* t/ld -unique",
        ],
    );
}

#[test]
fn a_limit_counts_what_is_printed() {
    let lines = [
        ("$FIND t -limit 3 | wc -l", "3"),
        ("$FIND t -limit 1", "t"),
        ("$FIND t -limit 99 | wc -l", "12"),
        ("$FIND t -type f -limit 2 | wc -l", "2"),
        ("$FIND t -limit 2 -type f | wc -l", "2"),
        ("$FIND t -name nothing -limit 2 | wc -l", "0"),
        ("$FIND t/a t/d/b t/d/f -limit 2", "t/a\nt/d/b"),
        ("$FIND t -print -limit 3 | wc -l", "3"),
        ("$FIND t -limit 3 -print | wc -l", "2"),
        ("$FIND --json t -limit 3 | wc -l", "3"),
        ("$FIND -0 t -limit 3 | tr -cd '\\0' | wc -c", "3"),
        ("$FIND t -depth -limit 3 | wc -l", "3"),
        ("$FIND -L t -limit 3 | wc -l", "3"),
    ];
    for source in OURS {
        for (line, expected) in lines {
            let (_, out, _, _) = run(source, line);
            let out = String::from_utf8(out).unwrap();
            assert_eq!(out.trim_end(), expected, "{source:?} {line}");
        }
    }
}
