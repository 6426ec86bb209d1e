//! `trawl run --learn`.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};

use trawl_relations::groups::groups_of;
use trawl_testkit::oracle::{Identity, command, run};
use trawl_testkit::skip::{Skip, without_program, without_root};

use crate::site::{Site, dependencies};

const MAKEFILE: &str = "\
prog: main.o util.o
\tcc -o prog main.o util.o
main.o: main.c
\tcc -Iinclude -c main.c
util.o: util.c
\tcc -Iinclude -c -o util.o util.c
";

/// A small program of two files and three headers.
fn project(label: &str) -> Site {
    let site = Site::new(label);
    site.write("Makefile", MAKEFILE);
    site.write(
        "main.c",
        "#include <stdio.h>\n#include \"util.h\"\nint main(void) { return puts(name()) < 0; }\n",
    );
    site.write(
        "util.c",
        "#include \"util.h\"\n#include <deep.h>\nNAME name(void) { return DEEP; }\n",
    );
    site.write("util.h", "#include \"types.h\"\nNAME name(void);\n");
    site.write("types.h", "typedef const char *NAME;\n");
    site.write("include/deep.h", "#define DEEP \"deep\"\n");
    site
}

/// Returns the opened files of what was learnt.
fn opened(site: &Site) -> BTreeSet<PathBuf> {
    let graph = site.learnt();
    let files = graph
        .files()
        .iter()
        .map(|file| OsStr::from_bytes(&file.path));
    files.map(PathBuf::from).collect()
}

#[test]
fn objects_are_built_from_what_gcc_says() {
    for program in ["cc", "gcc", "make"] {
        if let Some(skip) = without_program("a build", program) {
            return skip.say();
        }
    }
    let site = project("learn-build");
    run(&mut site.trawl(&["run", "--learn", "--", "make"])).expect_code(0);
    for source in ["main", "util"] {
        let mut gcc = command("gcc");
        gcc.args(["-M", "-Iinclude", &format!("{source}.c")]);
        let wanted = run(gcc.current_dir(site.tree())).expect_code(0);
        let wanted = dependencies(&wanted, &site.tree());
        let object = format!("{source}.o");
        let words = ["--kind", "built-from", "--direction", "forward", &object];
        let found: BTreeSet<_> = site
            .related(&words)
            .into_iter()
            .map(|row| row.path)
            .collect();
        assert_eq!(found, wanted, "{object}");
    }
    let found = site.names(&["prog", "--kind", "built-from", "--direction", "forward"]);
    assert_eq!(found, site.paths(&["main.o", "util.o"]));
    let found = site.names(&[
        "prog",
        "--kind",
        "built-from",
        "--direction",
        "forward",
        "--depth",
        "2",
    ]);
    let all = [
        "main.o",
        "util.o",
        "main.c",
        "util.c",
        "util.h",
        "types.h",
        "include/deep.h",
    ];
    assert_eq!(found, site.paths(&all));
    let found = site.names(&["types.h", "--kind", "built-from", "--direction", "backward"]);
    assert_eq!(found, site.paths(&["main.o", "util.o"]));
    // Another build replaces what was known.
    site.write("util.c", "const char *name(void) { return \"x\"; }\n");
    site.learn("cc -Iinclude -c -o util.o util.c")
        .expect_code(0);
    let found = site.names(&["util.o", "--kind", "built-from", "--direction", "forward"]);
    assert_eq!(found, site.paths(&["util.c"]));
}

#[test]
fn files_of_a_build_are_a_group() {
    if let Some(skip) = without_program("a build", "cc") {
        return skip.say();
    }
    let site = project("learn-group");
    run(&mut site.trawl(&["run", "--learn", "--", "make"])).expect_code(0);
    let groups = groups_of(&site.learnt(), |path| {
        path.starts_with(site.tree().as_os_str().as_bytes())
    });
    let with = groups
        .iter()
        .find(|group| group.members.contains(&site.path("main.c")));
    let with = with.unwrap_or_else(|| panic!("{groups:?}"));
    for name in ["main.o", "util.h"] {
        assert!(with.members.contains(&site.path(name)), "{groups:?}");
    }
}

#[test]
fn a_shell_writes_through_its_programs() {
    let site = Site::new("learn-shell");
    site.write("a", "2\n1\n");
    site.write("b", "3\n");
    site.write("other", "x\n");
    site.learn(
        "cat other >/dev/null; sort a b > out.tmp; mv out.tmp out; cp out copy; echo x >> log",
    )
    .expect_code(0);
    let from = |name: &str| site.names(&[name, "--kind", "built-from", "--direction", "forward"]);
    assert_eq!(from("out"), site.paths(&["a", "b"]));
    assert_eq!(from("copy"), site.paths(&["out"]));
    assert_eq!(from("log"), site.paths(&[]));
}

/// What strace prints of successful calls: the paths of open files, and the programs.
fn traced(log: &str) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    // Programs of calls that another process interrupted in the log.
    let mut begun: BTreeMap<&str, &str> = BTreeMap::new();
    for line in log.lines() {
        let (process, call) = line.split_once(' ').expect("a process");
        let program = call
            .split("execve(\"")
            .nth(1)
            .and_then(|rest| rest.split('"').next());
        if let Some(program) = program {
            begun.insert(process, program);
        }
        let path = match call.rsplit_once(" = ") {
            Some((call, "0")) if call.contains("execve") => begun.get(process).copied(),
            Some((_, result)) => {
                let path = result
                    .split_once('<')
                    .and_then(|(_, rest)| rest.rsplit_once('>'));
                path.map(|(path, _)| path)
            }
            None => None,
        };
        let path = path.and_then(|path| Path::new(path).canonicalize().ok());
        let kernel = ["/proc", "/sys", "/dev"];
        let is_kernel = |path: &PathBuf| kernel.iter().any(|place| path.starts_with(place));
        found.extend(path.filter(|path| path.is_file() && !is_kernel(path)));
    }
    found
}

#[test]
fn what_is_recorded_is_what_strace_sees() {
    for program in ["strace", "cc", "python3"] {
        if let Some(skip) = without_program("the files that strace sees", program) {
            return skip.say();
        }
    }
    let site = project("learn-strace");
    site.write(
        "script",
        "import json, threading\n\
        t = threading.Thread(target=lambda: open('util.h').read())\n\
        t.start(); t.join()\n\
        json.dump(1, open('made.json', 'w'))\n",
    );
    let line = "make; python3 -B script; cat main.c util.h > joined; ./prog >/dev/null; \
        ls /nonexistent 2>/dev/null || true; (cd include && cat deep.h ../types.h >/dev/null)";
    let log = site.path("../strace.log");
    let mut strace = command("strace");
    strace.args([
        "-f",
        "-y",
        "-qq",
        "-e",
        "trace=open,openat,openat2,creat,execve",
        "-o",
    ]);
    strace
        .arg(&log)
        .args(["sh", "-ec", line])
        .current_dir(site.tree());
    let ran = run(&mut strace);
    if ran.errors().contains("ptrace") {
        return Skip::new("the files that strace sees", ran.errors()).say();
    }
    ran.expect_code(0);
    let wanted = traced(&fs::read_to_string(&log).expect("a log"));
    assert!(wanted.len() > 40, "{wanted:?}");
    for name in ["main.o", "util.o", "prog", "joined", "made.json"] {
        fs::remove_file(site.path(name)).expect("made");
    }
    site.learn(line).expect_code(0);
    let found = opened(&site);
    let missing: Vec<_> = wanted.difference(&found).collect();
    let more: Vec<_> = found.difference(&wanted).collect();
    assert!(
        missing.is_empty() && more.is_empty(),
        "missing {missing:?}, more {more:?}"
    );
}

#[test]
fn static_programs_are_seen() {
    if let Some(skip) = without_program("a static program", "cc") {
        return skip.say();
    }
    let site = Site::new("learn-static");
    site.write(
        "p.c",
        "#include <stdio.h>\nint main(void) { return fopen(\"data\", \"r\") == NULL; }\n",
    );
    site.write("data", "x");
    let mut cc = command("cc");
    let built = run(cc
        .args(["-static", "-o", "p", "p.c"])
        .current_dir(site.tree()));
    if built.code != Some(0) {
        return Skip::new("a static program", "there is no static C library").say();
    }
    run(&mut site.trawl(&["run", "--learn", "--", "./p"])).expect_code(0);
    assert!(site.paths(&["p", "data"]).is_subset(&opened(&site)));
    assert_eq!(
        site.names(&["data", "--kind", "opened-with"]),
        site.paths(&["p"])
    );
}

#[test]
fn ordinary_users_learn_for_themselves_alone() {
    if let Some(skip) = without_root("learning as another user") {
        return skip.say();
    }
    const ANNA: u32 = 60_001;
    let mut site = Site::new("learn-user");
    site.write("a", "1\n");
    for path in [site.tree(), site.state()] {
        fs::create_dir_all(&path).expect("room");
        chown(&path, Some(ANNA), Some(ANNA)).expect("root");
    }
    site.who = Identity::user(ANNA);
    let ran = site.learn("id -u; sort a > b").expect_code(0);
    assert_eq!(ran.text(), format!("{ANNA}\n"));
    assert_eq!(
        site.names(&["b", "--kind", "built-from"]),
        site.paths(&["a"])
    );
    let path = site.state().join("trawl/accesses");
    let found = fs::metadata(&path).expect("it is there");
    assert_eq!((found.uid(), found.mode() & 0o777), (ANNA, 0o600));
    // Nobody else uses it, not even root.
    site.who = Identity::user(60_002);
    let ran = run(&mut site.trawl(&["related", "b", "--kind", "built-from"]));
    assert!(ran.expect_code(2).errors().contains("permission denied"));
    site.who = Identity::Ourselves;
    let ran = run(&mut site.trawl(&["related", "b", "--kind", "built-from"]));
    assert!(ran.expect_code(2).errors().contains("others may use it"));
}

#[test]
fn commands_end_as_they_would() {
    let site = Site::new("learn-ends");
    let code = |words: &[&str]| run(site.trawl(&["run", "--learn", "--"]).args(words)).code;
    assert_eq!(code(&["sh", "-c", "exit 3"]), Some(3));
    assert_eq!(code(&["sh", "-c", "kill -9 $$"]), Some(137));
    assert_eq!(code(&["./no-such-program"]), Some(127));
    site.write("text", "x");
    assert_eq!(code(&["./text"]), Some(126));
    let ran = run(&mut site.trawl(&["run", "--learn", "--cover", "/", "--", "true"]));
    ran.expect_code(2);
    // What the command leaves running is waited for, and seen.
    site.write("a", "1\n");
    site.learn("(sleep 0.3; sort a > late) &").expect_code(0);
    assert_eq!(
        site.names(&["late", "--kind", "built-from"]),
        site.paths(&["a"])
    );
    // Without a place for the record nothing is run.
    let mut trawl = site.trawl(&["run", "--learn", "--", "touch", "made"]);
    trawl.env_remove("XDG_STATE_HOME").env_remove("HOME");
    run(&mut trawl).expect_code(125);
    assert!(!Path::exists(&site.path("made")));
}

/// A program that serves a file system reads files to answer, and so does the thread that records
/// what is opened in it: neither waits for the other.
#[test]
fn commands_may_use_file_systems_that_they_serve() {
    if let Some(skip) = without_root("a mount in a recorded command") {
        return skip.say();
    }
    if !Path::new("/dev/fuse").exists() {
        return Skip::new("a mount in a recorded command", "there is no /dev/fuse").say();
    }
    let site = Site::new("learn-mount");
    site.write("a.txt", "a\n");
    site.write("sub/b.txt", "b\n");
    fs::create_dir(site.path("../point")).expect("room");
    let tree = site.tree().display().to_string().replace('/', "%2F");
    let line = format!(
        "\"$TRAWL\" mount --foreground --ready --views ../point >../ready &\n\
        until grep -q ready ../ready; do sleep 0.1; done\n\
        trap 'umount ../point; wait' EXIT\n\
        find '../point/?in:{tree}&ext:txt' -mindepth 1 -exec cat {{}} + >../joined\n"
    );
    let mut timeout = site.who.command(Path::new("timeout"));
    timeout.args([
        "60",
        "sh",
        "-ec",
        r#""$TRAWL" run --learn -- sh -ec "$0""#,
        &line,
    ]);
    timeout.env("TRAWL", site.program());
    timeout.env("HOME", site.state());
    timeout.env("XDG_STATE_HOME", site.state());
    run(timeout.current_dir(site.tree())).expect_code(0);
    let joined = fs::read_to_string(site.path("../joined")).expect("it is there");
    let lines: BTreeSet<&str> = joined.lines().collect();
    assert_eq!(lines, BTreeSet::from(["a", "b"]));
}
