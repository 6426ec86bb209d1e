//! `-readable`, `-writable` and `-executable` on rows of the index, compared with the kernel's
//! answers to GNU find, for every user.

use std::path::Path;

use trawl_testkit::Scratch;
use trawl_testkit::skip::{without_program, without_root};

/// Creates files and directories with many modes, owners and lists.
fn build(root: &Path) {
    let script = r#"
        n=0
        for mode in 000 001 004 010 040 050 070 100 400 500 611 644 706 070 060 755; do
            for owner in 0:0 4711:0 0:4712 4711:4712; do
                n=$((n + 1))
                : > f$n; mkdir d$n
                chown $owner f$n d$n; chmod $mode f$n d$n
                cp -a f$n a$n; setfacl -m u:4711:r-x,g:4712:-w-,m::r-x a$n
                cp -a f$n b$n; setfacl -m g:4712:rw-,g:4713:--x b$n
                cp -a f$n c$n; setfacl -m u:4711:rwx,m::--- c$n
                ln -s f$n l$n
            done
        done
        ln -s nowhere broken; mkfifo p; ln -s / up"#;
    let made = trawl_testkit::oracle::command("sh")
        .args(["-ec", script])
        .current_dir(root)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
}

fn ask(program: &[&str], user: &[&str], test: &str, root: &Path) -> Vec<String> {
    let out = trawl_testkit::oracle::command("setpriv")
        .args(user)
        .args(program)
        .args([".", test, "-print"])
        .current_dir(root)
        .output()
        .unwrap();
    // The answer comes from the index, not from the file system behind it.
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(!said.contains("read from the file system"), "{said}");
    let text = String::from_utf8(out.stdout).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn access_is_what_the_kernel_says() {
    let what = "access of other users";
    let skip = without_root(what).or_else(|| without_program(what, "setfacl"));
    if let Some(skip) = skip {
        return skip.say();
    }
    let scratch = Scratch::new("find-access");
    let (root, index) = (scratch.join("w"), scratch.join("index"));
    std::fs::create_dir(&root).unwrap();
    build(&root);
    // Other users run the program, and traverse the scratch directory.
    let trawl = scratch.join("trawl");
    std::fs::copy(env!("CARGO_BIN_EXE_trawl"), &trawl).unwrap();
    let opened = trawl_testkit::oracle::command("chmod")
        .arg("755")
        .args([scratch.path(), &root, &trawl])
        .status();
    assert!(opened.unwrap().success());
    let made = trawl_testkit::oracle::command(&trawl)
        .arg("-i")
        .args([&index, Path::new("index"), &root])
        .output();
    assert!(made.unwrap().status.success());
    let (trawl, index) = (trawl.to_str().unwrap(), index.to_str().unwrap());
    let ours = [trawl, "-i", index, "find"];
    let mut passed = 0;
    for user in [
        &["--reuid=0"][..],
        &["--reuid=4711", "--regid=4710", "--clear-groups"],
        &["--reuid=4714", "--regid=4712", "--groups=4713"],
        &["--reuid=4714", "--regid=4713", "--clear-groups"],
        &["--reuid=4714", "--regid=4714", "--groups=0,4712"],
        &["--reuid=4715", "--regid=4715", "--clear-groups"],
    ] {
        for test in ["-readable", "-writable", "-executable"] {
            let theirs = ask(&["find"], user, test, &root);
            passed += theirs.len();
            assert_eq!(ask(&ours, user, test, &root), theirs, "{user:?} {test}");
        }
    }
    assert!(passed > 1000, "{passed}");
}

/// Directories that `-prune` keeps out in their turn may come in another order than that of paths:
/// those that may not be listed are complained of only where the search enters them, as by GNU
/// find. Here `b` is pruned before `a/inner/closed` is met.
#[test]
fn pruned_directories_are_not_complained_of() {
    let what = "complaints of an ordinary user";
    let skip = without_root(what).or_else(|| without_program(what, "setpriv"));
    if let Some(skip) = skip {
        return skip.say();
    }
    let scratch = Scratch::new("find-pruned");
    let (root, index) = (scratch.join("w"), scratch.join("index"));
    let script = "mkdir -p \"$1\"/a/inner/closed \"$1\"/a/shut \"$1\"/b/shut \"$1\"/c/shut
        chmod 0311 \"$1\"/a/inner/closed \"$1\"/?/shut";
    let mut sh = trawl_testkit::oracle::command("sh");
    sh.args(["-ec", script, "sh"]).arg(&root);
    trawl_testkit::oracle::run(&mut sh).expect_code(0);
    let program = scratch.install(Path::new(env!("CARGO_BIN_EXE_trawl")));
    let mut made = trawl_testkit::oracle::command(&program);
    made.arg("-i").arg(&index).args(["index", "-q"]).arg(&root);
    trawl_testkit::oracle::run(&mut made).expect_code(0);
    let asked = |find: &[&str], words: &[&str]| {
        let mut command = trawl_testkit::oracle::command("setpriv");
        command.args(["--reuid=4711", "--regid=4711", "--clear-groups"]);
        command.args(find).arg(".").args(words).current_dir(&root);
        let ran = trawl_testkit::oracle::run(&mut command);
        let lines = |bytes: &[u8]| {
            let mut lines: Vec<String> = String::from_utf8_lossy(bytes)
                .lines()
                .map(str::to_owned)
                .collect();
            lines.sort();
            lines
        };
        (ran.code, lines(&ran.stdout), lines(&ran.stderr))
    };
    let (program, index) = (program.to_str().unwrap(), index.to_str().unwrap());
    for pruned in [
        &["-name", "b"][..],
        &["-name", "b", "-o", "-name", "closed"],
    ] {
        for act in [&["-exec", "true", ";"][..], &[]] {
            let words = [&["("], pruned, &[")"], act, &["-prune", "-o", "-print"]].concat();
            let theirs = asked(&["find"], &words);
            assert!(!theirs.2.is_empty() && theirs.0 == Some(1), "{theirs:?}");
            let ours = asked(&[program, "-i", index, "find"], &words);
            assert_eq!(ours, theirs, "{words:?}");
        }
    }
}
