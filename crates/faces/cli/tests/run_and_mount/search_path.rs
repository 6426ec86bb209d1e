//! Programs that are searched for in directories of a remote tree: the results are those of the
//! mount, and few files are looked at in vain.

use std::fs;

use trawl_testkit::oracle;
use trawl_testkit::skip::without_program;

use crate::site::Site;
use crate::tables::{cannot_compare, compare};

/// Creates thirty directories with a program in the last one, a file that is not a program before
/// it, links, and missing entries; `$1` is the directory at which the tree is shown.
const PLANT: &str = r#"
    set -e; cd $1; mkdir -p path/{01..30} usr/bin path/shut way
    printf '#!/bin/sh\necho found "$0" "$@"\n' > path/30/prog; chmod 755 path/30/prog
    cp path/30/prog usr/bin/other; cp path/30/prog usr/bin/twice; cp path/30/prog path/20/twice
    echo 'echo no interpreter' > path/25/plain; chmod 755 path/25/plain
    echo data > path/07/prog; mkdir path/08/prog; ln -s nowhere path/09/prog
    ln -s ../30/prog path/26/linked; cp path/30/prog path/shut/hidden; chmod 700 path/shut
    ln -s usr/bin bin; ln -s ../usr/./bin/ way/up; ln -s ../../../../../../../usr/bin way/out
    ln -s /usr/bin absolute; ln -s loop loop; touch file"#;

/// Value of `PATH` for these directories.
const PATH: &str = "for n in {01..29}; do path=$path:$1/path/$n; done; \
    path=$1/nosuch:$1/nosuch/below${path}:$1/file:$1/file/x:$1/way/out:$1/bin:$1/way/up:\
$1/absolute:$1/path/shut:$1/path/30:$1/path/30:/usr/bin:/bin; ";

const SCRIPTS: &[&str] = &[
    "env PATH=$path prog a; env PATH=$path other b; env PATH=$path plain c; env PATH=$path linked",
    "env PATH=$1/loop:$path prog; env PATH=$1/loop:$path sh -c prog; env PATH=$path nosuch; echo $?; env PATH=$path hidden; env PATH=$path/ prog; echo $?",
    "env PATH=$path bash -c 'command -v prog other linked nosuch; type -a twice hidden; prog; nosuch; echo $?'",
    "env PATH=$path sh -c 'prog; other; plain; twice; nosuch; command -v sh cat linked; hidden'",
    "env PATH=$path python3 -c 'import shutil, subprocess
for name in (\"prog\", \"other\", \"twice\", \"linked\", \"plain\", \"nosuch\", \"hidden\"):
    print(name, shutil.which(name))
    try:
        print(subprocess.run([name, \"x\"], capture_output=True).stdout)
    except OSError as error:
        print(error)'",
    "env PATH=$path sh -c 'for n in 1 2 3; do env prog; env other; done; find . -maxdepth 0 -exec twice {} +'",
    "cd $1/usr; env PATH=bin:$path other; env PATH=:$path prog; env PATH=$1/path/../path/30:$1//bin twice",
];

#[test]
fn what_is_found_is_what_the_mount_says() {
    let site = Site::empty("running-search-path");
    if cannot_compare(&site, "programs that are looked for in a remote tree") {
        return;
    }
    site.bound(PLANT).expect_code(0);
    for script in SCRIPTS {
        compare(&site, &["bash", "-c", &format!("{PATH}{script}"), "bash"]);
    }
    site.expect_nothing_left();
}

#[test]
fn few_files_are_looked_at_in_vain() {
    let site = Site::empty("running-search-calls");
    let what = "calls of programs that are looked for in a remote tree";
    if cannot_compare(&site, what) {
        return;
    }
    if let Some(skip) = without_program(what, "strace") {
        return skip.say();
    }
    site.bound(PLANT).expect_code(0);
    let calls = |options: &[&str], words: &str| {
        let script = format!(
            "{PATH}library=$LD_PRELOAD; unset LD_PRELOAD; exec strace -f -o $OUT/trace \
             env LD_PRELOAD=$library PATH=$path {words}"
        );
        let mut command = site.command_with(&site.server(), options);
        command.args(["bash", "-c", &script, "bash"]);
        let command = command.arg(site.point()).env("OUT", site.scratch.path());
        let ran = oracle::run(command).expect_code(0);
        let trace = fs::read_to_string(site.scratch.join("trace")).expect("it was written");
        let in_vain = trace
            .lines()
            .filter(|line| line.contains("/prog\"") && line.contains("ENOENT"));
        let in_vain = in_vain.count();
        (ran.text(), in_vain, trace.matches("TBQ1").count())
    };
    for words in [
        "/usr/bin/env prog",
        "/bin/sh -c prog",
        "/bin/bash -c 'prog; prog'",
    ] {
        let (with, few, _) = calls(&[], words);
        let (without, many, _) = calls(&["--no-preload"], words);
        assert_eq!(with, without, "{words}");
        // The kernel follows links that lead out of the tree or nowhere.
        assert!(many >= 30 && few <= 6, "{words}: {few} against {many}");
    }
    // Neither causes repeated questions: one, and one about a file.
    let words = "/bin/bash -c 'for n in 1 2 3 4 5 6; do type -a nosuch$n; done; type prog'";
    let (_, _, questions) = calls(&[], words);
    assert!((1..=3).contains(&questions), "{questions} questions");
    site.expect_nothing_left();
}

#[test]
fn a_program_that_comes_is_found_when_it_may_be() {
    let site = Site::empty("running-search-new");
    if cannot_compare(&site, "programs that come to a remote tree") {
        return;
    }
    site.bound(PLANT).expect_code(0);
    // Changes by others are seen after the requested age at the latest.
    let script = format!(
        "{PATH}export PATH=$path; sh -c 'new' 2>/dev/null; cp $2/path/30/prog $2/path/15/new; \
         until sh -c 'new' 2>/dev/null; do sleep 0.05; done; rm $2/path/15/new; \
         while sh -c 'new' >/dev/null 2>&1; do sleep 0.05; done; echo gone"
    );
    let mut command = site.command_with(&site.server(), &["--max-age=300ms"]);
    command.args(["timeout", "60", "bash", "-c", &script, "bash"]);
    let ran = oracle::run(command.arg(site.point()).arg(site.tree())).expect_code(0);
    let point = site.point();
    let wanted = format!("found {}/path/15/new\ngone\n", point.display());
    assert_eq!(ran.text(), wanted, "{ran}");
    site.expect_nothing_left();
}
