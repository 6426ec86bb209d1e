//! Words of `trawl find` that GNU find does not have: compared with bfs where bfs has them, on the
//! live file system and with the index.

use trawl_testkit::prng::Prng;
use trawl_testkit::skip::without_program;

use crate::find_actions::{Source, run};

const OURS: [Source; 2] = [Source::Live, Source::Index];

/// Returns what a program prints for each line, sorted, after the line.
fn answers(source: Source, lines: &[&str]) -> String {
    let each = lines.iter().map(|line| {
        let shown = line.replace(['\'', '$'], "");
        format!("echo '== {shown}'; ({line}; echo \"code $?\") | sort")
    });
    let script = each.collect::<Vec<_>>().join("\n");
    String::from_utf8(run(source, &script).1).unwrap()
}

/// Compares the output for each line with that of bfs.
fn compare_with_bfs(what: &str, lines: &[&str]) {
    if let Some(skip) = without_program(what, "bfs") {
        return skip.say();
    }
    let theirs = answers(Source::Bfs, lines);
    for source in OURS {
        let ours = answers(source, lines);
        for (ours, theirs) in ours.split("== ").zip(theirs.split("== ")) {
            assert_eq!(ours, theirs, "{source:?}");
        }
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
                  sed -i 's/\"atime\":\"[^\"]*\",//' live index; cmp live index && cat live; \
                  $FIND --live odd -type f -json; \
                  find t odd/* -printf '%p %y %s %b %04m %n %U %u %G %g %i %TY-%Tm-%TdT%TH:%TM:%TS %l\\n' > theirs";
    let script = format!("{script}; echo; cat theirs");
    // Reading a link changes its access time.
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

/// Returns what find would print for an object's entry.
fn in_words_of_find(line: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(line).unwrap();
    let text = |key: &str| match &value[key] {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Null => String::new(),
        other => other.to_string(),
    };
    let keys = [
        "type",
        "size",
        "blocks",
        "permissions",
        "nlink",
        "uid",
        "user",
        "gid",
        "group",
        "ino",
    ];
    let mtime = text("mtime");
    let mtime = mtime.trim_end_matches('Z');
    let rest = keys.map(text).join(" ");
    let path = match &value["path_raw"] {
        serde_json::Value::String(_) => "odd/\u{fffd}\"".to_owned(),
        _ => text("path"),
    };
    format!("{path} {rest} {mtime}0 {}", text("link_target"))
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

#[test]
fn output_is_sorted_as_sort_sorts_it() {
    // The argument of -sort, find's format, and the keys of sort(1).
    let orders = [
        ("name", "%f", "-k1,1"),
        ("-name", "%f", "-k1,1r"),
        ("path", "%p", "-k1,1"),
        ("-path", "%p", "-k1,1r"),
        ("size", "%s", "-k1,1n"),
        ("-size", "%s", "-k1,1nr"),
        ("ino", "%i", "-k1,1n"),
        ("type,-size", "%y", "-k1,1 -k2,2nr"),
        ("-nlink,name", "%n\t%f", "-k1,1nr -k2,2"),
        ("-uid,-ino", "%U\t%i", "-k1,1nr -k2,2nr"),
        ("link_target,-size", "%l", "-k1,1 -k2,2nr"),
        ("-mtime", "%T@", "-k1,1nr"),
        ("blocks", "%b", "-k1,1n"),
    ];
    let of_two = |format: &str| match format {
        "%y" | "%l" => format!("{format}\t%s"),
        other => other.to_owned(),
    };
    let script = orders.map(|(order, format, keys)| {
        let format = of_two(format);
        let path = format.split('\t').count() + 1;
        format!(
            "$FIND t -sort {order} > ours; $FIND t t/d -sort {order} -limit 5 > first; \
             printf '%s: ' {order}; \
             find t -printf '{format}\t%p\\n' | sort -s -t '\t' {keys} -k{path},{path} | \
             cut -f{path} > theirs; cmp ours theirs && printf 'same '; \
             find t t/d -printf '{format}\t%p\\n' | sort -s -t '\t' {keys} -k{path},{path} | \
             cut -f{path} | head -n 5 | cmp first - && echo 'too'"
        )
    });
    let script = script.join("\n");
    for source in OURS {
        let (_, out, err, _) = run(source, &format!("export LC_ALL=C\n{script}"));
        let out = String::from_utf8(out).unwrap();
        assert_eq!(String::from_utf8_lossy(&err), "", "{source:?}");
        for (line, (order, ..)) in out.lines().zip(orders) {
            assert_eq!(line, format!("{order}: same too"), "{source:?}");
        }
        assert_eq!(out.lines().count(), orders.len());
    }
}

#[test]
fn what_is_sorted_is_all_that_was_printed_and_nothing_twice() {
    let lines = [
        "$FIND t -name d -print -prune -o -print",
        "$FIND t -name d -prune -o -print",
        "$FIND t -depth",
        "$FIND t -depth -exclude -name e",
        "$FIND t -mindepth 2 -exclude -name e",
        "$FIND -L t -type f",
        "$FIND t -printf 'x%p\\n' -name a -printf 'x%py\\n'",
        "$FIND t/d t -unique",
        "$FIND t -false",
        "$FIND -L t/ld t -unique -type f",
    ];
    let script: Vec<String> = lines
        .iter()
        .map(|line| {
            format!(
                "{line} 2>err1 | LC_ALL=C sort > plain; {line} -sort path 2>err2 > sorted; \
                 cmp plain sorted && cmp err1 err2 && echo same"
            )
        })
        .collect();
    for source in OURS {
        let (_, out, err, _) = run(source, &script.join("\n"));
        assert_eq!(String::from_utf8_lossy(&err), "", "{source:?}");
        let same = "same\n".repeat(lines.len());
        assert_eq!(String::from_utf8(out).unwrap(), same, "{source:?}");
    }
}

#[test]
fn sorted_output_keeps_its_form() {
    for source in OURS {
        let script = "$FIND --json t -sort -name -limit 1; $FIND -0 t -sort name -limit 1; echo; \
                      $FIND --csv t -sort -name -limit 1 | wc -l; \
                      $FIND t -sort -size,name -ls | wc -l; $FIND t -sort name -quit; \
                      $FIND t -sort nothing; $FIND t -sort";
        let (code, out, err, _) = run(source, script);
        let out = String::from_utf8(out).unwrap();
        let begins = r#"{"path":"t/z z","type":"f","#;
        assert!(out.starts_with(begins), "{source:?} {out}");
        assert!(out.ends_with("}\nt/a\0\n2\n12\n"), "{source:?} {out}");
        let err = String::from_utf8(err).unwrap();
        let expected = [
            "only what is printed to standard output can be sorted",
            "invalid argument `nothing' to `-sort'",
            "missing argument to `-sort'",
        ];
        assert_eq!(code, Some(1));
        for (line, words) in err.lines().zip(expected) {
            assert!(line.contains(words), "{source:?} {line}");
        }
    }
}

const TESTS: &[&str] = &[
    "-name d",
    "-name e",
    "-name '[a-c]'",
    "-name t",
    "-type d",
    "-type f",
    "-type l",
    "-empty",
    "-size 0",
    "-path '*/e*'",
    "-perm -100",
    "-true",
    "-false",
];

/// Returns a random expression without actions.
fn expression(prng: &mut Prng, deepest: usize) -> String {
    match prng.below(if deepest == 0 { 2 } else { 4 }) {
        0 => (*prng.pick(TESTS)).to_owned(),
        1 => format!("! {}", prng.pick(TESTS)),
        joined => {
            let (left, right) = (expression(prng, deepest - 1), expression(prng, deepest - 1));
            let or = if joined == 2 { "-o " } else { "" };
            format!("\\( {left} {or}{right} \\)")
        }
    }
}

/// Returns a random search with exclusions.
fn search(prng: &mut Prng) -> String {
    let mut words = vec!["$FIND".to_owned()];
    if prng.once_in(4) {
        words.push("-L".into());
    }
    words.push((*prng.pick(&["t", "t t/d", "t/ld t/a t"])).to_owned());
    for option in ["-depth", "-mindepth 1", "-mindepth 2", "-maxdepth 2"] {
        if prng.once_in(4) {
            words.push(option.into());
        }
    }
    if prng.once_in(4) {
        words.push("-name e -prune -o".into());
    }
    words.push(format!("-exclude {}", expression(prng, 2)));
    words.push(expression(prng, 2));
    if prng.once_in(3) {
        words.push(format!("-exclude {}", expression(prng, 1)));
    }
    // Errors have other words and other exit codes.
    words.join(" ") + " 2>/dev/null | cat"
}

#[test]
fn random_exclusions_are_those_of_bfs() {
    let mut prng = Prng::new(4);
    let lines: Vec<String> = (0..150).map(|_| search(&mut prng)).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    compare_with_bfs("random exclusions", &lines);
}

#[test]
fn our_options_behind_the_paths_are_refused_with_where_they_belong() {
    let told = answers(
        Source::Index,
        &[
            "$FIND --no-wait t 2>&1",
            "$FIND t --no-wait 2>&1",
            "$FIND t --nonsense 2>&1",
            "$FIND --remote unix:/x t 2>&1",
            "$FIND t --remote=unix:/x 2>&1",
        ],
    );
    let lines: Vec<&str> = told.split("== ").collect();
    let hint = "find: options of trawl come before the paths\n";
    assert!(lines[1].contains("code 0"), "{told}");
    assert!(
        lines[2].contains("code 1") && lines[2].contains(hint),
        "{told}"
    );
    assert!(
        lines[3].contains("code 1") && !lines[3].contains(hint),
        "{told}"
    );
    for line in &lines[4..6] {
        let hint = "find: --remote must come before the command: trawl --remote ADDRESS find ...\n";
        assert!(line.contains("code 1") && line.contains(hint), "{told}");
    }
}
