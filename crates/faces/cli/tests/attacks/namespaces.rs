//! User namespaces, as in rootless containers, and superusers without capabilities: nothing is left
//! out silently, and the answer is the one that GNU find gives there.

use std::path::Path;
use std::process::Command;

use trawl_testkit::Scratch;
use trawl_testkit::oracle::{command, run};

use crate::{cannot, program};

const TREE: &str = r#"
umask 022
mkdir -p open/sub closed/in hers/x ours/y none/z empty xonly/k
echo a > open/f; echo b > hers/x/f; echo c > closed/in/f
ln -s ../closed/. open/dot; ln -s ../hers/x/f open/file; ln -s ../hers/x open/dir
chown -R 4242:4242 hers; chown 5555 closed; chmod 700 hers closed ours; chmod 0 none; chmod 711 xonly
"#;

/// Ways in which a process has other rights than its ids suggest.
const WAYS: &[&str] = &[
    "unshare -Ur",
    "unshare -U",
    "setpriv --bounding-set=-all --inh-caps=-all",
    "setpriv --reuid=4242 --regid=4242 --clear-groups unshare -Ur",
    "setpriv --reuid=4242 --regid=4242 --clear-groups unshare -U",
    "setpriv --reuid=77 --regid=77 --groups=4242 unshare -Ur",
];

const QUESTIONS: &[&str] = &[
    r"-printf %p\040%y\040%s\n",
    "-type l",
    r"-type f,l -printf %p\040%i\n",
    r"-inum +1 -printf %p\040%i\n",
    "-readable",
    "-type d -executable",
    "-type d -empty",
    "-maxdepth 1",
    "-depth",
];

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

fn in_way(way: &str, program: &Path) -> Command {
    let mut words = way.split(' ');
    let mut all = command(words.next().unwrap_or_default());
    all.args(words).arg(program);
    all
}

#[test]
fn a_user_namespace_is_told_what_may_not_be_read() {
    if cannot("user namespaces") {
        return;
    }
    let scratch = Scratch::new("namespaces");
    let (tree, index) = (scratch.join("tree"), scratch.join("index"));
    std::fs::create_dir(&tree).expect("a directory");
    run(command("sh").args(["-e", "-c", TREE]).current_dir(&tree)).expect_code(0);
    let trawl = scratch.install(program());
    let mut scan = command(&trawl);
    run(scan.arg("-i").arg(&index).args(["index", "-q"]).arg(&tree)).expect_code(0);
    for way in WAYS {
        if run(in_way(way, Path::new("true")).args([""; 0])).code != Some(0) {
            println!("skipped, because {way} does not work here");
            continue;
        }
        for (question, options) in QUESTIONS.iter().flat_map(|q| [(q, ""), (q, "-L ")]) {
            let line = format!("{options}{} {question}", tree.display());
            let words: Vec<&str> = line.split(' ').collect();
            let theirs = run(in_way(way, Path::new("find")).args(&words));
            let mut ours = in_way(way, &trawl);
            let ours = run(ours.arg("-i").arg(&index).arg("find").args(&words));
            assert_eq!(ours.code, theirs.code, "{way}: find {line}\n{ours}");
            assert_eq!(
                sorted(&ours.text()),
                sorted(&theirs.text()),
                "{way}: find {line}"
            );
            assert_eq!(
                sorted(&ours.errors()),
                sorted(&theirs.errors()),
                "{way}: find {line}"
            );
        }
        for question in ["du -s", "ls -laR"] {
            let mut ours = in_way(way, &trawl);
            let ours = run(ours
                .arg("-i")
                .arg(&index)
                .args(question.split(' '))
                .arg(&tree));
            assert_eq!(ours.code, Some(1), "{way}: {question}: {ours}");
        }
        // Names, which come from files of their own, are those that find prints.
        let mut theirs = in_way(way, Path::new("find"));
        let theirs = run(theirs.arg(&tree).args(["-mindepth", "1"]));
        for options in [&["--below"][..], &["--fuzzy", "-l999", "--below"]] {
            let mut ours = in_way(way, &trawl);
            ours.arg("-i").arg(&index).args(["locate", "tree"]);
            let ours = run(ours.args(options).arg(&tree));
            let (ours, theirs) = (ours.text(), theirs.text());
            assert_eq!(sorted(&ours), sorted(&theirs), "{way}: locate {options:?}");
        }
    }
}
