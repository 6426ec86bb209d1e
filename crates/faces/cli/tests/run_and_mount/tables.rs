//! Tables in front of a mount: to the byte the same answers as from the mount, including inode and
//! device numbers, for a small part of the calls.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use trawl_testkit::oracle::{self, Ran};
use trawl_testkit::skip::{Skip, without_program};

use crate::site::{Site, TRAWL, cannot};

/// Returns true, and reports why, if tables cannot be compared with the mount here.
pub(crate) fn cannot_compare(site: &Site, what: &str) -> bool {
    let skip = cannot(what).or_else(|| {
        let is_there = site.installed().is_some();
        (!is_there).then(|| Skip::new(what, "libtrawl-preload.so was not built"))
    });
    if let Some(skip) = &skip {
        skip.say();
    }
    skip.is_some()
}

/// Scripts that show everything that a program can see of a file, including the mount's device and
/// its mount number. `$1` is the directory at which the tree is shown.
const SCRIPTS: &[&str] = &[
    r"find $1 -printf '%p %y %Y %D %F %i %m %M %n %U %G %u %g %s %b %k %S %d %T@ %C@ %A@ %l\n'",
    "find $1 -ls",
    "ls -lRai $1",
    "ls -lRU --time-style=full-iso $1; ls -liU $1/odd",
    "du -a $1; du -sb $1",
    "stat $1 $1/bin $1/big $1/odd/* $1/nosuch $1/big/x; stat -L $1/odd/*; stat -f -c %T $1",
    "find $1 -print0 | xargs -0 stat -c '%n %d %D %i %f %t %T %B %o %r'",
    "cd $1/odd && find . -name '*a*' -newer ../big; ls -la .. . */",
    "test -e $1/nosuch || echo no; test -L $1/big || echo no link; [ -w $1/big ] || echo no write",
    "getfattr -d -m - $1/big; getfacl -n $1/bin $1/big",
];

const WALK: &str = "
import os, sys
NAMES = ('security.selinux', 'security.capability', 'system.posix_acl_access',
         'system.posix_acl_default', 'user.few')
def show(path, of):
    print(path, [getattr(of, name) for name in dir(of) if name.startswith('st_')])
    for name in NAMES:
        for follow in (False, True):
            try:
                print(name, os.getxattr(path, name, follow_symlinks=follow))
            except OSError as error:
                print(name, error)
def walk(top):
    with os.scandir(top) as entries:
        for entry in entries:
            kinds = entry.is_dir(follow_symlinks=False), entry.is_symlink()
            print(entry.name, entry.inode(), kinds)
            show(entry.path, entry.stat(follow_symlinks=False))
            if entry.is_symlink():
                print(os.readlink(entry.path))
show(sys.argv[1].encode(), os.stat(sys.argv[1]))
walk(sys.argv[1].encode())
for top, dirs, files in os.walk(sys.argv[1].encode()):
    walk(top)
    for name in (b'nosuch', b'big/x'):
        try:
            os.lstat(top + b'/' + name)
        except OSError as error:
            print(error)
";

#[test]
fn tables_say_what_the_mount_says() {
    let site = Site::odd("running-tables");
    if cannot_compare(&site, "tables of a mount") {
        return;
    }
    plant_attributes(&site);
    // The first look at a directory sets its access time.
    site.bound("ls -lR $1; du -a $1");
    for script in SCRIPTS {
        compare(&site, &["bash", "-c", script, "bash"]);
    }
    if let Some(skip) = without_program("Python in a remote tree", "python3") {
        return skip.say();
    }
    compare(&site, &["python3", "-c", WALK]);
    site.expect_nothing_left();
}

/// Sets attributes on a few of many entries, if the file system supports them.
fn plant_attributes(site: &Site) {
    let script = "cd $1 && mkdir -p many/deep && touch many/{1..2500} many/deep/{1..20} && \
                  ln -s 7 many/link && setfattr -n user.few -v x many/{7,2400} many/deep many/deep/20 && \
                  setfattr -n security.capability -v 0x0100000200040000000000000000000000000000 many/9 && \
                  setfacl -m u:4711:r many/10 && setfacl -d -m u:4711:rx many/deep";
    let ran = site.bound(script);
    if ran.code != Some(0) {
        Skip::new("attributes that few files have", ran.errors()).say();
    }
}

#[test]
fn a_repository_is_as_clean_as_the_mount_says() {
    let site = Site::empty("running-repository");
    if cannot_compare(&site, "a repository in a remote tree") {
        return;
    }
    if let Some(skip) = without_program("a repository in a remote tree", "git") {
        return skip.say();
    }
    let make = "git init -q . && mkdir -p a/b c && echo 1 > a/b/x && echo 2 > c/y && \
                echo '*.o' > .gitignore && git add . && \
                git -c user.name=n -c user.email=e commit -qm first && \
                echo 3 >> c/y && touch new a/z.o && rm a/b/x && ln -s c link";
    let mut command = oracle::command("sh");
    command.args(["-c", make]).current_dir(site.tree());
    oracle::run(&mut command).expect_code(0);
    let script = "cd $1 && export GIT_OPTIONAL_LOCKS=0 && git status && git status --ignored -s && \
                  git diff --stat && git ls-files -s -m -d -o";
    compare(&site, &["bash", "-c", script, "bash"]);
    site.expect_nothing_left();
}

/// Runs a command twice in one mount, which has one device number and one mount number: first with
/// tables, then without. The output must be the same to the byte.
#[track_caller]
pub(crate) fn compare(site: &Site, words: &[&str]) {
    let script = "\"$@\" > $OUT/with 2>&1; echo $? >> $OUT/with; unset LD_PRELOAD; \
                  \"$@\" > $OUT/without 2>&1; echo $? >> $OUT/without";
    let mut command = site.command(&site.server());
    command.args(["bash", "-c", script, "bash"]).args(words);
    command.arg(site.point()).env("OUT", site.scratch.path());
    let ran = oracle::run(&mut command).expect_code(0);
    let read = |name: &str| fs::read(site.scratch.join(name)).expect("it was written");
    let (with, without) = (read("with"), read("without"));
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (a, b) = (shown(&with), shown(&without));
    let differs = a.lines().zip(b.lines()).find(|(a, b)| a != b);
    assert!(with == without, "{words:?}: {differs:?}\n{ran}");
    assert!(a.lines().count() > 1, "{words:?}\n{a}");
}

#[test]
fn few_calls_are_left_for_the_mount() {
    let site = Site::empty("running-calls-left");
    if cannot_compare(&site, "calls that are left for a mount") {
        return;
    }
    if let Some(skip) = without_program("calls that are left for a mount", "strace") {
        return skip.say();
    }
    for number in 0..200 {
        let dir = site.tree().join(format!("d{number:03}"));
        fs::create_dir(&dir).expect("room");
        fs::write(dir.join("file"), "x").expect("room");
    }
    let script = "library=$LD_PRELOAD; unset LD_PRELOAD; \
                  exec strace -f -o $OUT/trace env LD_PRELOAD=$library \"$@\"";
    let calls = |options: &[&str]| {
        let mut command = site.command_with(&site.server(), options);
        command.args(["bash", "-c", script, "bash"]);
        command
            .args(["env", "TZ=UTC", "ls", "-lR"])
            .arg(site.point());
        let ran = oracle::run(command.env("OUT", site.scratch.path())).expect_code(0);
        let trace = fs::read_to_string(site.scratch.join("trace")).expect("it was written");
        let of_files = ["stat", "open", "getdents", "xattr", "statx", "readlink"];
        let is_one = |line: &&str| of_files.iter().any(|name| line.contains(name));
        let of_attributes = trace.lines().filter(|line| line.contains("xattr"));
        let of_attributes = of_attributes.count();
        (
            ran.text(),
            trace.lines().filter(is_one).count(),
            of_attributes,
        )
    };
    let (with, few, few_of_attributes) = calls(&[]);
    let (without, many, many_of_attributes) = calls(&["--no-preload"]);
    assert_eq!(with, without);
    // At least four calls for each directory, and two about attributes for each file.
    assert!(many_of_attributes > 800, "{many_of_attributes}");
    assert!(
        many > 1600 && few < many - 1500,
        "{few} against {many}, of attributes {few_of_attributes}"
    );
    // The kernel is asked about the top, which is in no table.
    assert!(few_of_attributes < 8, "{few_of_attributes}");
    site.expect_nothing_left();
}

#[test]
fn what_is_mounted_in_the_tree_is_seen() {
    let site = Site::empty("running-mounted-in");
    if cannot_compare(&site, "mounts in a mount with tables") {
        return;
    }
    for name in ["a/in", "b/in", "c"] {
        fs::create_dir_all(site.tree().join(name)).expect("room");
    }
    let other = site.scratch.join("other");
    fs::create_dir(&other).expect("room");
    fs::write(other.join("mine"), "x").expect("room");
    // In the run's own mounts, and in mounts of the program's own.
    let script = "find $1 -ls >/dev/null; sleep 0.1; mount --bind $2 $1/b/in; sleep 0.1; \
                  find $1 -name mine; unshare -m sh -c 'mount --bind $2 $1/c; sleep 0.1; \
                  find $1 -name mine' sh $1 $2; sleep 0.1; find $1 -name mine; ls $1/b/in; \
                  mount -t tmpfs none $1; sleep 0.1; find $1 | wc -l";
    let mut command = site.command(&site.server());
    command.args(["bash", "-c", script, "bash"]);
    let ran = oracle::run(command.arg(site.point()).arg(&other)).expect_code(0);
    let point = site.point().display().to_string();
    let [b, c] = ["b/in", "c"].map(|name| format!("{point}/{name}/mine\n"));
    assert_eq!(ran.text(), format!("{b}{b}{c}{b}mine\n1\n"), "{ran}");
    site.expect_nothing_left();
}

#[test]
fn what_the_kernel_would_refuse_is_in_no_table() {
    let site = Site::empty("running-refused");
    if cannot_compare(&site, "tables for an ordinary user") {
        return;
    }
    let mode = |path: &Path, bits| {
        fs::set_permissions(path, fs::Permissions::from_mode(bits)).expect("our own");
    };
    mode(site.scratch.path(), 0o755);
    for (name, bits) in [
        ("open", 0o755),
        ("pass", 0o711),
        ("list", 0o744),
        ("shut", 0o700),
    ] {
        let dir = site.tree().join(name);
        fs::create_dir_all(dir.join("below")).expect("room");
        fs::write(dir.join("file"), name).expect("room");
        mode(&dir, bits);
    }
    for name in ["bin/trawl", "lib/trawl/libtrawl-preload.so"] {
        mode(&site.scratch.join(name), 0o755);
    }
    // The server runs as the superuser and sees everything; the kernel here checks modes.
    let serve = format!("{TRAWL} serve --stdio");
    let run = |options: &[&str]| -> Ran {
        let server = format!("command:{serve}");
        let mut command = site.command_with(&server, options);
        let script = "cd $0; for d in open pass list shut; do ls -ln $d; ls -ld $d/file; \
                      cat $d/file; ls $d/below; done; find . -printf '%p %i %U %G\\n'; id -u";
        let user = "exec setpriv --reuid=4711 --regid=4711 --clear-groups --inh-caps=-all \
                    -- sh -c \"$0\" \"$1\"";
        command.args(["sh", "-c", user, script]);
        oracle::run(command.arg(site.point()))
    };
    let (with, without) = (run(&[]), run(&["--no-preload"]));
    assert_eq!(with.text(), without.text());
    assert_eq!(with.errors(), without.errors());
    assert!(with.errors().contains("Permission denied"), "{with}");
    site.expect_nothing_left();
}

#[test]
fn an_ordinary_users_own_namespace_shows_the_same() {
    let site = Site::odd("running-own-namespace");
    if cannot_compare(&site, "tables in a user namespace") {
        return;
    }
    open_for_others(&site);
    let chown = oracle::command("chown")
        .arg("4711:4712")
        .arg(site.tree().join("big"))
        .status();
    assert!(chown.is_ok_and(|status| status.success()));
    // The server respects these lists; the kernel here checks only modes.
    let acls = "cd $1; mkdir granted denied masked; touch {granted,denied,masked}/file; \
                chmod 700 granted; setfacl -m u:4711:rwx granted; setfacl -m u:4711:- denied; \
                chmod 777 masked; setfacl -m m::- masked";
    let ran = site.bound(acls);
    if ran.code != Some(0) {
        Skip::new("directories with ACLs", ran.errors()).say();
    }
    let script = r"find $0 -printf '%p %y %i %m %n %U %G %s %b %T@ %C@ %l\n'; ls -lnRa $0";
    let run = |options: &[&str]| as_user(&site, options, script);
    let (with, without) = (run(&[]), run(&["--no-preload"]));
    if without.errors().contains("not allowed here") || without.errors().contains("/dev/fuse") {
        let skip = Skip::new("a tree for an ordinary user", without.errors());
        return skip.say();
    }
    assert!(
        with.text().contains(" 65534 65534 "),
        "others are nobody: {with}"
    );
    let (a, b) = (with.text(), without.text());
    let differs = a.lines().zip(b.lines()).find(|(a, b)| a != b);
    assert!(a == b, "{differs:?}");
    assert_eq!(with.errors(), without.errors());
    site.expect_nothing_left();
}

/// Lets an ordinary user run the installed program.
fn open_for_others(site: &Site) {
    let names = [
        ".",
        "bin",
        "lib",
        "lib/trawl",
        "bin/trawl",
        "lib/trawl/libtrawl-preload.so",
    ];
    for name in names {
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(site.scratch.join(name), mode).expect("our own");
    }
}

/// Runs a shell script as a user who needs a user namespace to mount; the server runs as this user,
/// too.
fn as_user(site: &Site, options: &[&str], script: &str) -> Ran {
    // A device that all users may use, as on other machines.
    let setup = "mknod -m 666 $0/fuse c 10 229 && mount --bind $0/fuse /dev/fuse && \
                 exec setpriv --reuid=4711 --regid=4711 --groups=4711,4712 --inh-caps=-all -- \"$@\"";
    let program = site.installed().expect("it was looked for");
    let mut command = oracle::command("unshare");
    command
        .args(["-m", "sh", "-c", setup])
        .arg(site.scratch.path())
        .arg(program)
        .arg("run")
        .args(options)
        .arg("--remote");
    let server = format!("command:{} serve --stdio", program.display());
    command.arg(site.remote(&server)).args(["--", "sh", "-c"]);
    command.arg(script).arg(site.point()).current_dir("/");
    let ran = oracle::run(&mut command);
    let _ = fs::remove_file(site.scratch.join("fuse"));
    ran
}

#[test]
fn an_ordinary_user_is_answered_from_tables() {
    let site = Site::empty("running-own-tables");
    let what = "tables of an ordinary user";
    if cannot_compare(&site, what) {
        return;
    }
    if let Some(skip) = without_program(what, "strace") {
        return skip.say();
    }
    open_for_others(&site);
    for number in 0..200 {
        fs::create_dir(site.tree().join(format!("d{number:03}"))).expect("room");
    }
    let traces = site.scratch.join("traces");
    fs::create_dir(&traces).expect("room");
    fs::set_permissions(&traces, fs::Permissions::from_mode(0o777)).expect("our own");
    let calls = |name: &str, options: &[&str]| {
        let trace = traces.join(name);
        let script = format!(
            "library=$LD_PRELOAD; unset LD_PRELOAD; exec strace -f -o {} \
             env LD_PRELOAD=$library find $0 -printf '%p %i\\n'",
            trace.display()
        );
        let ran = as_user(&site, options, &script);
        let trace = fs::read_to_string(&trace).unwrap_or_default();
        (ran, trace.matches("getdents").count())
    };
    let (without, many) = calls("without", &["--no-preload"]);
    if without.errors().contains("not allowed here") || without.errors().contains("/dev/fuse") {
        return Skip::new(what, without.errors()).say();
    }
    let (with, few) = calls("with", &[]);
    assert_eq!(with.text(), without.text());
    assert_eq!(with.text().lines().count(), 201, "{with}\n{without}");
    assert!(many > 200 && few < 20, "{few} against {many}");
    site.expect_nothing_left();
}
