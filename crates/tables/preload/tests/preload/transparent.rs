//! Programs have the same output and effects with and without the library.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use trawl_table_service::Haste;
use trawl_testkit::oracle::{self, Ran};
use trawl_testkit::random_tree::Plan;
use trawl_testkit::{OddTree, RandomTree, Scratch, odd_tree, skip};

use crate::site::{self, ALL, How};

/// Makes a tree with everything that ever broke a tree walker, and one with many directories.
fn tree(scratch: &Scratch) -> PathBuf {
    let top = scratch.join("tree");
    std::fs::create_dir(&top).unwrap();
    let odd = top.join("odd");
    std::fs::create_dir(&odd).unwrap();
    // Paths stay shorter than the kernel's limit; longer ones have a test of their own.
    let plan = odd_tree::Plan {
        deep_levels: 40,
        long_levels: 3,
        wide_files: 50,
        random_names: 20,
        ..odd_tree::Plan::default()
    };
    OddTree::build(&odd, &plan).unwrap();
    let random = top.join("random");
    std::fs::create_dir(&random).unwrap();
    let plan = Plan {
        entries: 150,
        ..Plan::new(11)
    };
    RandomTree::build(&random, &plan).unwrap();
    flat(&top);
    top.canonicalize().unwrap()
}

/// Makes a directory of plain files.
fn flat(top: &Path) {
    let flat = top.join("flat");
    std::fs::create_dir(&flat).unwrap();
    for number in 0..60 {
        std::fs::write(flat.join(format!("file {number}")), "x".repeat(number)).unwrap();
    }
}

/// Makes a small tree: names of every kind, links, a pipe, empty directories.
fn plain(scratch: &Scratch) -> PathBuf {
    let top = scratch.join("tree");
    let names: [&[u8]; 6] = [
        b"a",
        b"two words",
        b"\xff\xfe",
        b"new\nline",
        b".hidden",
        &[b'n'; 255],
    ];
    for one in names.map(OsStr::from_bytes) {
        for other in names.map(OsStr::from_bytes) {
            let place = top.join("plain").join(one).join(other);
            std::fs::create_dir_all(&place).unwrap();
            std::fs::write(place.join("file"), one.as_bytes()).unwrap();
            std::os::unix::fs::symlink("file", place.join(one)).unwrap();
        }
        std::fs::create_dir(top.join("plain").join(one).join("empty")).unwrap();
    }
    let from = top.join("plain/a/a/file");
    std::fs::hard_link(from, top.join("plain/hard link")).unwrap();
    flat(&top);
    top.canonicalize().unwrap()
}

fn same(what: &str, expected: &Ran, got: &Ran) {
    // The output is long: the first line that differs says most.
    let (one, other) = (got.text(), expected.text());
    let lines = one.lines().zip(other.lines()).enumerate();
    for (line, (one, other)) in lines {
        assert_eq!(one, other, "{what}: line {line}");
    }
    assert!(
        one == other,
        "{what}: {} bytes, {} bytes",
        one.len(),
        other.len()
    );
    assert_eq!(got.errors(), expected.errors(), "{what}");
    assert_eq!(got.code, expected.code, "{what}");
}

/// Compares the output of scripts; returns the total number of tables they were answered with.
fn compare(root: &Path, scripts: &[&str]) -> u64 {
    let mut tables = 0;
    for script in scripts {
        let (expected, _) = site::script(How::Without, root, script);
        for how in &ALL[1..] {
            let (got, answers) = site::script(*how, root, script);
            same(&format!("{script}, {how:?}"), &expected, &got);
            tables += answers;
        }
    }
    tables
}

#[test]
fn programs_that_look_print_the_same() {
    let scratch = Scratch::new("preload-look");
    let root = tree(&scratch);
    let tables = compare(
        &root,
        &[
            "find . -print0",
            "find . -printf '%p %i %D %y %Y %m %n %U %G %s %b %T@ %C@ %l\\0'",
            "find -L flat -printf '%p %i %y %s\\0'",
            "find . -depth -name '*a*' -ls",
            "find random odd flat -type d -execdir echo {} +",
            "find . -exec stat -c '%n %i %s' {} + ; find flat -name '*1*' -exec echo {} ';'",
            "ls -lR --time-style=full-iso",
            "ls -laiR --color=always --time-style=full-iso random odd; ls -U flat; ls -lL flat random",
            "ls -Z flat; ls -l flat; ls -l flat/file*; ls -ld flat/nothing flat/file*/x",
            "du -a . | sort; du -s --apparent-size -L flat",
            "stat flat/* random/* odd/* flat/nothing",
            "stat -L random/*; stat -f flat | head -n 1",
            "tar -cf - flat | tar -tvf -",
        ],
    );
    assert!(tables > 20, "{tables}: nothing was asked");
}

#[test]
fn paths_that_are_longer_than_any_call_takes_are_gone_through() {
    let scratch = Scratch::new("preload-deep");
    let root = scratch.path().canonicalize().unwrap();
    let plan = odd_tree::Plan {
        deep_levels: 2_100,
        wide_files: 10,
        ..odd_tree::Plan::default()
    };
    OddTree::build(&root, &plan).unwrap();
    compare(&root, &["find . -printf '%i %y %f\\0'", "du -s ."]);
}

#[test]
fn shells_and_scripts_print_the_same() {
    let scratch = Scratch::new("preload-shell");
    let root = tree(&scratch);
    let tables = compare(
        &root,
        &[
            "echo *; echo */; echo */*; echo .*; echo random/*/*; shopt -s globstar; echo **",
            "for f in */*; do test -d $f -o -L $f && echo \"$f\"; test -e $f/x || echo no; done",
            "cd flat; for f in * nothing; do [ -f \"$f\" ] && wc -c < \"$f\"; cd ..; cd flat; done",
            "for f in flat/*; do readlink \"$f\"; test -x \"$f\" && echo x; test -w \"$f\" && echo w; done",
            "cd random; pwd; cd -P .; ls ..; ls ../flat/../flat; ls ./././; ls ..//flat//",
            "ls flat/; ls -l flat/.; ls flat/file*/; ls 'flat/file 1/.'; cat 'flat/file 1/..'; echo $?",
            "ls -d nothing/.. flat/nothing/.. flat/../flat; mkdir -p q/r && cd q/r && rmdir ../r && ls; ls .; cd ../..; rmdir q",
            "name=$(printf 'n%.0s' {1..255}); ls $name; ls x$name; ls -d flat/x$name; stat $(printf '%05000d' 1)",
        ],
    );
    assert!(tables > 8, "{tables}: nothing was asked");
}

#[test]
fn walks_by_the_c_library_tell_the_same() {
    let Some((_program_place, program)) = site::compiled("walks by the C library", "walks") else {
        return;
    };
    let scratch = Scratch::new("preload-walks");
    let root = tree(&scratch);
    std::os::unix::fs::symlink("random", root.join("flat/link")).unwrap();
    std::os::unix::fs::symlink("..", root.join("flat/up")).unwrap();
    std::os::unix::fs::symlink("nowhere", root.join("flat/dangling")).unwrap();
    std::os::unix::fs::symlink("loop", root.join("loop")).unwrap();
    let program = program.display();
    // Paths begin in many ways; the walk never goes by a directory's own stream.
    let scripts = [
        format!("{program} ."),
        format!("{program} {}", root.display()),
    ];
    let scripts: Vec<&str> = scripts.iter().map(String::as_str).collect();
    let tables = compare(&root, &scripts);
    assert!(tables > 3, "{tables}: nothing was asked");
    let (ran, _) = site::script(How::Without, &root, scripts[0]);
    assert!(ran.text().lines().count() > 10_000, "{}", ran.errors());
}

#[test]
fn walks_by_fts_tell_the_same() {
    let Some((_program_place, program)) = site::compiled("walks by fts", "fts") else {
        return;
    };
    let scratch = Scratch::new("preload-fts");
    // The walks follow links: none leads out of the tree.
    let root = plain(&scratch);
    std::os::unix::fs::symlink("../plain", root.join("flat/link")).unwrap();
    std::os::unix::fs::symlink("..", root.join("flat/up")).unwrap();
    std::os::unix::fs::symlink("nowhere", root.join("flat/dangling")).unwrap();
    std::os::unix::fs::symlink("loop", root.join("loop")).unwrap();
    let script = format!("{} {}", program.display(), root.display());
    let tables = compare(&root, &[&script]);
    assert!(tables > 3, "{tables}: nothing was asked");
    let (ran, _) = site::script(How::Without, &root, &script);
    assert!(ran.text().lines().count() > 10_000, "{}", ran.errors());
}

#[test]
fn walks_of_what_is_moved_meanwhile_tell_the_same() {
    std::thread::scope(|scope| {
        for name in ["fts", "walks"] {
            scope.spawn(move || moved_meanwhile(name));
        }
    });
}

fn moved_meanwhile(name: &str) {
    let Some((_program_place, program)) = site::compiled("walks of what is moved", name) else {
        return;
    };
    let scratch = Scratch::new(&format!("preload-moved-{name}"));
    let root = scratch.path().canonicalize().unwrap();
    let script = format!("{} {} damage", program.display(), root.display());
    let (expected, _) = site::script(How::Without, &root, &script);
    assert_eq!(expected.code, Some(0), "{expected}");
    assert!(expected.text().lines().count() > 1_000, "{expected}");
    let (got, tables) = site::script(How::With(Haste::Eager), &root, &script);
    same(&script, &expected, &got);
    assert!(tables > 100, "{tables}: nothing was asked");
}

/// Makes directories that may be listed but not passed, passed but not listed, or neither. Their
/// modes are set last.
const SHUT: &str = "mkdir -p plain/open/y/z plain/shut/x plain/pass/x plain/list/x plain/empty flat
    touch plain/open/f plain/open/y/g plain/shut/f plain/pass/f plain/list/f 'flat/file 1'
    ln -s ../plain flat/link; ln -s .. flat/up; ln -s nowhere flat/dangling; ln -s loop loop
    chmod 0 plain/shut plain/open/y; chmod 111 plain/pass; chmod 444 plain/list plain/empty";

#[test]
fn walks_of_what_may_not_be_entered_tell_the_same() {
    let what = "walks_of_what_may_not_be_entered_tell_the_same";
    let programs = ["fts", "walks"].map(|name| site::compiled(what, name));
    let [Some((_fts_place, fts)), Some((_walks_place, walks))] = programs else {
        return;
    };
    let scratch = Scratch::new("preload-user");
    // Root may do anything, and a service answers its own user.
    let mut command = match skip::is_root() {
        false => oracle::command(std::env::current_exe().unwrap()),
        true if !site::has(what, "setpriv") => return,
        true => {
            let [program, library] =
                [std::env::current_exe().unwrap(), site::library()].map(|from| {
                    let to = scratch.join(from.file_name().unwrap());
                    std::fs::copy(&from, &to).unwrap();
                    to
                });
            assert_eq!(library, program.with_file_name("libtrawl_preload.so"));
            let mut command = oracle::command("setpriv");
            let user = ["--reuid=60009", "--regid=60009", "--clear-groups"];
            command.args(user).arg(program);
            command
        }
    };
    let root = scratch.join("tree");
    std::fs::create_dir(&root).unwrap();
    for place in [scratch.path(), &root, &fts, &walks] {
        let all = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(place, all).unwrap();
    }
    for program in [&fts, &walks] {
        let above = program.parent().unwrap();
        let all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(above, all).unwrap();
    }
    command
        .env("WALK", &root)
        .env("WALK_FTS", &fts)
        .env("WALK_WALKS", &walks);
    command
        .env("TMPDIR", scratch.path())
        .env_remove("XDG_RUNTIME_DIR");
    let test = "transparent::walks_of_a_user_tell_the_same";
    let ran = oracle::run(
        command
            .args(["--ignored", "--exact", test])
            .current_dir(&root),
    );
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(ran.text().contains("1 passed"), "{ran}");
}

#[test]
#[ignore = "the one before runs it as a user"]
fn walks_of_a_user_tell_the_same() {
    let [root, fts, walks] = ["WALK", "WALK_FTS", "WALK_WALKS"].map(std::env::var);
    let (root, fts, walks) = (PathBuf::from(root.unwrap()), fts.unwrap(), walks.unwrap());
    let (made, _) = site::script(How::Without, &root, SHUT);
    assert_eq!(made.code, Some(0), "{made}");
    let at = root.display();
    let tables = compare(
        &root,
        &[
            &format!("{fts} {at}"),
            &format!("{walks} {at}"),
            &format!("{walks} ."),
        ],
    );
    site::script(How::Without, &root, "chmod -R u+rwx .");
    assert!(tables > 3, "{tables}: nothing was asked");
}

#[test]
fn exceptions_leave_walks_by_the_c_library() {
    if !site::has("exceptions_leave_walks_by_the_c_library", "c++") {
        return;
    }
    let scratch = Scratch::new("preload-throws");
    let root = tree(&scratch);
    let source = format!("{}/tests/preload/c/throws.cc", env!("CARGO_MANIFEST_DIR"));
    let program = scratch.join("throws");
    let ran = oracle::run(oracle::command("c++").arg("-o").arg(&program).arg(source));
    assert_eq!(ran.code, Some(0), "{}", ran.errors());
    let script = format!("{} {}", program.display(), root.display());
    let (expected, _) = site::script(How::Without, &root, &script);
    assert_eq!(
        expected.text(),
        "enough 50 50\nenough 50 50\nenough 50 50\n5\n1\n"
    );
    compare(&root, &[&script]);
}

const WALK: &str = r#"
import os, glob
def told(of):
    # Not when it was read last: that is now.
    return of.st_mode, of.st_ino, of.st_dev, of.st_nlink, of.st_size, of.st_mtime_ns, of.st_ctime_ns
for top, dirs, files in os.walk(b'.'):
    dirs.sort()
    print(top, sorted(dirs), sorted(files))
    for entry in os.scandir(top):
        print(entry.name, entry.inode(), entry.is_dir(), entry.is_file(), entry.is_symlink())
        print(told(entry.stat(follow_symlinks=False)))
        print(os.path.lexists(entry.path), os.path.exists(entry.path), os.access(entry.path, os.R_OK))
for top, dirs, files, fd in os.fwalk(b'random'):
    print(top, sorted(dirs), sorted(files), sorted(os.listdir(fd)), os.stat(fd).st_ino)
    for name in files:
        print(told(os.stat(name, dir_fd=fd, follow_symlinks=False)))
print(sorted(glob.glob('**/*', recursive=True)))
for name in sorted(os.listdir('flat')):
    for attribute in ('user.x', 'system.posix_acl_access', 'security.capability'):
        try:
            print(os.getxattr('flat/' + name, attribute))
        except OSError as error:
            print(error.errno)
"#;

#[test]
fn python_prints_the_same() {
    if !site::has("python_prints_the_same", "python3") {
        return;
    }
    let scratch = Scratch::new("preload-python");
    let root = tree(&scratch);
    std::fs::write(scratch.join("walk.py"), WALK).unwrap();
    let tables = compare(&root, &["python3 ../walk.py"]);
    assert!(tables > 2, "{tables}: nothing was asked");
}

/// Describes a tree, without values that differ from run to run.
fn state(root: &Path) -> String {
    let format = "%P %y %m %n %U %G %l %s\\0";
    let mut find = oracle::command("find");
    find.arg(root).args([
        "!",
        "-type",
        "d",
        "-printf",
        format,
        "-o",
        "-printf",
        "%P %y %m\\0",
    ]);
    let printed = oracle::run(&mut find).text();
    let mut lines: Vec<&str> = printed.split("\\0").collect();
    lines.sort_unstable();
    lines.join("\n")
}

/// Runs scripts that change a tree, each in a new one at the same place.
fn compare_changes(scripts: &[&str]) {
    let scratch = Scratch::new("preload-change");
    for script in scripts {
        let mut expected: Option<(Ran, String)> = None;
        for how in ALL {
            let place = Scratch::new_in(scratch.path(), "run");
            let root = plain(&place);
            let (ran, _) = site::script(how, &root, script);
            let shown = |text: String| text.replace(&*place.path().to_string_lossy(), "PLACE");
            let state = state(&root);
            match &expected {
                None => expected = Some((ran, state)),
                Some((other, other_state)) => {
                    assert_eq!(shown(ran.text()), shown(other.text()), "{script}, {how:?}");
                    assert_eq!(ran.code, other.code, "{script}, {how:?}: {}", ran.errors());
                    assert_eq!(&state, other_state, "{script}, {how:?}");
                }
            }
        }
    }
}

#[test]
fn programs_that_change_leave_the_same() {
    compare_changes(&[
        "cp -a plain copy; cp -r flat copy/; diff -r flat copy/flat | head -n 5; ls copy | wc -l",
        "rm -r plain; ls; find . | wc -l; rm -rf plain/a; find . | wc -l; rmdir flat; echo $?",
        "find flat -type f -delete; find . -name '*n*' -exec rm -rf {} + ; find . | wc -l",
        "for i in 1 2 3 4 5 6 7 8 9; do mkdir d$i; ls -d d*; test -d d$i || echo lost; done; ls",
        "for f in flat/*; do mv \"$f\" \"$f.new\"; test -e \"$f\" && echo stale; stat -c %n \"$f.new\"; done",
        "chmod -R u+rwX,go= flat plain 2>&1; ls -lR flat | awk '{print $1, $9, $10}'; chown -R 0:0 flat",
        "tar -cf x.tar flat plain; mkdir out; tar -xf x.tar -C out; diff -r flat out/flat; ls out; rm x.tar",
        "ls -l flat > listing; wc -l < listing; echo more >> listing; stat -c %s listing > size; cat size",
    ]);
}

#[test]
fn version_control_and_copies_are_the_same() {
    let mut scripts = Vec::new();
    if site::has("git", "git") {
        scripts.push(
            "export HOME=$PWD GIT_CONFIG_NOSYSTEM=1; git init -q .; git config user.email a@b.c; \
             git config user.name n; git add flat; git commit -qm one; echo x >> 'flat/file 3'; \
             rm 'flat/file 4'; echo new > flat/new; git status --porcelain; git add -A flat; \
             git status --porcelain; git stash -q; git status --porcelain; git clean -fdxq flat; \
             ls flat | wc -l; git diff --stat; rm -rf .git .gitconfig",
        );
    }
    if site::has("rsync", "rsync") {
        scripts.push(
            "rsync -a flat plain copy/; rsync -ain flat plain copy/; echo x > 'flat/file 7'; \
             rm 'flat/file 8'; rsync -a --delete --checksum flat plain copy/; diff -r flat copy/flat",
        );
    }
    compare_changes(&scripts);
}

const MAKEFILE: &str = "all: prog\n\
    objects := $(patsubst src/%.c,obj/%.o,$(wildcard src/*.c))\n\
    prog: $(objects)\n\tcc -o $@ $^\n\
    obj/%.o: src/%.c src/all.h | obj\n\tcc -c -o $@ $<\n\
    obj:\n\tmkdir -p obj\n";

#[test]
fn a_build_is_the_same() {
    if !site::has("a_build_is_the_same", "make") || !site::has("a_build_is_the_same", "cc") {
        return;
    }
    std::thread::scope(|scope| {
        for how in ALL {
            scope.spawn(move || build(how));
        }
    });
}

fn build(how: How) {
    let scratch = Scratch::new("preload-make");
    let root = scratch.path().canonicalize().unwrap();
    std::fs::create_dir(root.join("src")).unwrap();
    std::fs::write(root.join("Makefile"), MAKEFILE).unwrap();
    std::fs::write(root.join("src/all.h"), "int one(void);\n").unwrap();
    std::fs::write(
        root.join("src/one.c"),
        "#include \"all.h\"\nint one(void) { return 3; }\n",
    )
    .unwrap();
    let main = "#include \"all.h\"\nint main(void) { return one() - VALUE; }\n";
    std::fs::write(root.join("src/main.c"), main.replace("VALUE", "3")).unwrap();
    let script = "make -s && ./prog && echo built && make -s && make -q && echo nothing to do; \
        sed -i 's/return 3/return 5/' src/one.c; make -q; echo $?; make -s; ./prog; echo $?; \
        echo 'int two(void) { return 2; }' > src/two.c; make -s; ls obj src; make -q && echo done; \
        touch src/all.h; make -n | wc -l; rm -r obj; make -s; make -q && echo done again";
    let (ran, _) = site::script(how, &root, script);
    let expected = "built\nnothing to do\n1\n2\nobj:\nmain.o\none.o\ntwo.o\n\nsrc:\nall.h\nmain.c\n\
        one.c\ntwo.c\ndone\n4\ndone again\n";
    assert_eq!(ran.text(), expected, "{how:?}: {}", ran.errors());
}

/// The answers of another preloaded library are the ones that a program gets.
#[test]
fn a_library_behind_is_asked() {
    let flags = ["-shared", "-fPIC"];
    let compiled = site::compiled_with("a_library_behind_is_asked", "other", &flags);
    let Some((_library_place, other)) = compiled else {
        return;
    };
    let scratch = Scratch::new("preload-behind");
    let root = scratch.path().canonicalize().unwrap();
    for name in ["a", "old", "z"] {
        std::fs::create_dir(root.join(name)).unwrap();
    }
    let (ours, other) = (site::library(), other.display().to_string());
    for libraries in [other.clone(), format!("{} {other}", ours.display())] {
        let service = site::service(&root, Haste::Eager);
        let mut command = site::with(&service, "ls");
        let ran = oracle::run(command.env("LD_PRELOAD", &libraries).current_dir(&root));
        assert_eq!(ran.text(), "a\nnew\nz\n", "{libraries}: {}", ran.errors());
    }
}
