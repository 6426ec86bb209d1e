//! Actions of `trawl find` compared with those of GNU find: their output, messages, exit codes and
//! effects, on the live file system and with the index.

use std::path::Path;

use trawl_testkit::Scratch;

/// Result of a shell command: exit code, output, messages, the tree.
pub(crate) type Outcome = (Option<i32>, Vec<u8>, Vec<u8>, Vec<u8>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Gnu,
    Bfs,
    Live,
    Index,
}

fn build(root: &Path) {
    for dir in ["t/d/e", "t/empty"] {
        std::fs::create_dir_all(root.join(dir)).unwrap();
    }
    for file in ["t/a", "t/d/b", "t/d/e/c", "t/d/f", "t/z z"] {
        std::fs::write(root.join(file), "").unwrap();
    }
    for (link, target) in [("broken", "nowhere"), ("loop", "loop"), ("ld", "d")] {
        std::os::unix::fs::symlink(target, root.join("t").join(link)).unwrap();
    }
    for (list, text) in [
        ("l1", "t/a\0t/d\0"),
        ("l2", "t/a\0\0t/d"),
        ("l3", "t/a\0nosuch\0t/d/b\0"),
        ("l4", ""),
        ("l5", "\0"),
    ] {
        std::fs::write(root.join(list), text).unwrap();
    }
}

/// Runs `command`, in which `$FIND` stands for the program, in a new tree.
pub(crate) fn run(source: Source, command: &str) -> Outcome {
    let scratch = Scratch::new("find-actions");
    let (root, index) = (scratch.join("w"), scratch.join("index"));
    std::fs::create_dir(&root).unwrap();
    build(&root);
    let trawl = env!("CARGO_BIN_EXE_trawl");
    let find = match source {
        Source::Gnu => "find".to_owned(),
        Source::Bfs => "bfs".to_owned(),
        Source::Live => format!("{trawl} find --live"),
        Source::Index => {
            let made = trawl_testkit::oracle::command(trawl)
                .arg("-i")
                .args([&index, Path::new("index"), &root])
                .output()
                .unwrap();
            assert!(made.status.success(), "{made:?}");
            format!("{trawl} -i {} find", index.display())
        }
    };
    let shell = |text: &str| {
        trawl_testkit::oracle::command("bash")
            .args(["-c", text])
            .current_dir(&root)
            .env("FIND", &find)
            .env("LC_ALL", "C.UTF-8")
            .output()
            .unwrap()
    };
    let ran = shell(command);
    let left = shell("find . -printf '%p %s %y\\n' | sort").stdout;
    (ran.status.code(), ran.stdout, ran.stderr, left)
}

/// Sorts the output, because the index has its own order.
fn sorted(mut outcome: Outcome) -> Outcome {
    for stream in [&mut outcome.1, &mut outcome.2] {
        let mut lines: Vec<&[u8]> = stream.split_inclusive(|byte| *byte == b'\n').collect();
        lines.sort_unstable();
        *stream = lines.concat();
    }
    outcome
}

fn shown(outcome: &Outcome) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (code, out, err, left) = outcome;
    format!("{code:?}\n{}\n{}\n{}", text(out), text(err), text(left))
}

fn compare(commands: &[&str], sources: &[Source]) {
    for command in commands {
        let theirs = run(Source::Gnu, command);
        for source in sources {
            let ours = run(*source, command);
            let (a, b) = match source {
                Source::Index => (sorted(theirs.clone()), sorted(ours)),
                _ => (theirs.clone(), ours),
            };
            assert!(
                a == b,
                "{command} ({source:?})\n--- find\n{}\n--- trawl\n{}",
                shown(&a),
                shown(&b)
            );
        }
    }
}

const BOTH: &[Source] = &[Source::Live, Source::Index];

#[test]
fn commands_run_as_with_find() {
    compare(
        &[
            "$FIND t -exec",
            "$FIND t -exec echo x{} +",
            "$FIND t -maxdepth 0 -exec nosuch {} \\;",
            "$FIND t -maxdepth 0 -exec nosuch {} +",
            "$FIND t -maxdepth 0 -exec sh -c 'kill -9 $$' \\;",
            "$FIND t -maxdepth 0 -exec sh -c 'kill -9 $$' {} +",
            "$FIND t -exec sh -c 'exit 3' \\; -o -print",
            "$FIND t -exec sh -c 'exit 3' {} +",
            "$FIND t -execdir echo a{}b{} {} \\; -execdir sh -c 'echo ${PWD##*/w}' \\;",
            "$FIND t t/ t/d -maxdepth 0 -execdir echo {} + -execdir sh -c 'echo ${PWD##*/w}' \\;",
            "$FIND t/d/. t/d/.. t/d// -maxdepth 0 -execdir echo {} \\; -execdir sh -c 'echo ${PWD##*/w}' \\;",
            "echo hello | $FIND t -maxdepth 0 -exec cat \\;",
            "printf 'n\\nyes\\n' | $FIND t/a t/d -maxdepth 0 -okdir echo {} \\; -o -print",
            "PATH=:$PATH $FIND t -execdir echo {} \\;",
            "PATH=$PATH:foo/bar $FIND t -execdir echo {} +",
            "$FIND t -print -exec echo x {} \\; -print",
            "$FIND t -maxdepth 0 -exec bash -c 'yes | head -1; echo ${PIPESTATUS[0]}' \\;",
            "$FIND t -name d -prune -exec rm -r {} \\;",
        ],
        BOTH,
    );
}

#[test]
fn commands_for_many_are_cut_as_with_find() {
    let long = "x=$(printf 'n%.0s' {1..200}); for i in {1..3000}; do : > t/d/$x$i; done; ";
    let many = format!("{long}$FIND t -exec sh -c 'echo $# ${{#*}}' x {{}} +");
    let low = format!("ulimit -s 700; {many}");
    let beside = format!("{long}$FIND t -execdir sh -c 'echo $# ${{#*}}' x {{}} +");
    compare(
        &[
            &many,
            &low,
            &beside,
            "$FIND t -execdir echo {} +",
            "$FIND t -name '[bc]' -execdir echo {} + -print",
            "$FIND t -depth -execdir echo {} + -print",
            "$FIND t -type f -execdir echo {} + -exec echo {} + -print",
            "$FIND t -name a -exec echo {} + -quit -o -print",
            "$FIND t -exec false {} + -exec nosuch2 {} +",
            "$FIND t -exec echo {} + -print -quit",
        ],
        &[Source::Live],
    );
}

#[test]
fn files_go_as_with_find() {
    compare(
        &[
            "$FIND t/a -delete -print",
            "$FIND t/. -maxdepth 0 -delete",
            "$FIND t -delete",
            "$FIND t -type f -delete -print",
            "$FIND t/d -maxdepth 0 -delete",
            "$FIND t -prune -o -delete",
            "$FIND t -depth -prune -o -delete",
            "cd t; $FIND . -delete",
            "cd t/empty; $FIND ./ -delete",
            "$FIND t/ld -delete",
            "$FIND t -name a -exec rm t/a \\; -delete",
            "$FIND t -ignore_readdir_race -name a -exec rm t/a \\; -delete",
        ],
        BOTH,
    );
}

#[test]
fn files_are_written_as_with_find() {
    compare(
        &[
            "$FIND t/d/e -fprint o1 -fprintf ./o1 '%f|'; cat o1",
            "$FIND t -fls o1 -fls o1; sort o1 | wc -l",
            "$FIND t -fprint t",
            "$FIND t -fprintf o1",
            "$FIND t -fls /dev/full -print",
            "$FIND t -maxdepth 0 -fprint /dev/stderr -print",
            "$FIND t -maxdepth 0 -fprint o1 -quit; cat o1",
        ],
        BOTH,
    );
}

#[test]
fn links_and_lists_are_taken_as_with_find() {
    compare(
        &[
            "$FIND t -xtype l",
            "$FIND -L t -xtype l",
            "$FIND -H t/ld t/loop t/broken -xtype l",
            "$FIND t -xtype f,",
            "$FIND t -follow -type d",
            "$FIND t -context x",
            "$FIND -files0-from l1 -maxdepth 0",
            "$FIND -files0-from l2",
            "$FIND -files0-from l3",
            "$FIND -files0-from l4",
            "$FIND -files0-from l5",
            "$FIND t -files0-from l1",
            "$FIND -files0-from nosuch",
            "$FIND -files0-from t",
            "$FIND -files0-from - < l2",
            "$FIND -files0-from - -ok echo {} \\; < l1",
            "$FIND -files0-from /dev/stdin -ok echo {} \\; < l1",
            "$FIND t -readable",
            "$FIND t -executable",
        ],
        BOTH,
    );
}

#[test]
fn a_file_counts_once_and_a_limit_ends_the_search() {
    for source in BOTH {
        let (code, out, _, _) = run(
            *source,
            "ln t/a t/aa; $FIND t -samefile t/a -limit 1 -print",
        );
        assert_eq!((code, out.len()), (Some(0), 0));
        let (_, out, _, _) = run(*source, "$FIND t -print -limit 3");
        assert_eq!(
            out.split(|byte| *byte == b'\n').count() - 1,
            3,
            "{source:?}"
        );
    }
    let (_, out, _, _) = run(
        Source::Live,
        "ln t/a t/aa; $FIND t -type f -name 'a*' -unique",
    );
    assert_eq!(out.split(|byte| *byte == b'\n').count() - 1, 1);
}
