//! Runs without mounts: the same bytes, also for statically linked programs.

use std::fs;
use std::path::Path;

use trawl_testkit::oracle::{self, Ran};
use trawl_testkit::skip::{self, Skip};

use crate::attributes;
use crate::site::{Site, TRAWL, cannot};

const SCRIPTS: &[&str] = &[
    r"find $1 -printf '%p %y %i %m %n %U %G %s %b %t %T@ %C@ %l\n' | sort",
    "find $1 -depth -name '*a*' | sort; find $1 -type d -empty | sort",
    "ls -lRa $1",
    "du -al $1 | sort; du -s --apparent-size $1",
    "tar -cf - --sort=name -C $1 . | sha256sum",
    "find $1 -type f -print0 | sort -z | xargs -0 sha256sum",
    "cat $1/big | sha256sum; tail -c 70000 $1/big | sha256sum",
    "shopt -s globstar dotglob nullglob; printf '%q\\n' $1/**/*",
    "PATH=$1/bin:$PATH; say found; say again; nosuch; echo $?",
    "cd $1 && ./bin/say here && pwd && cd bin && pwd -P && ls .. && cd .. && ls",
    "test -r $1/big && echo r; test -x $1/big || echo no x; test -d $1/bin && echo d",
    "ls $1/nosuch; cat $1/bin; cat $1/bin/say/x; exit 7",
    "cp -a $1/bin $1/../copy.$$ && ls -l $1/../copy.$$; rm -r $1/../copy.$$",
];

fn run(site: &Site, server: &str, script: &str) -> Ran {
    run_with(site, server, &[], script)
}

fn run_with(site: &Site, server: &str, options: &[&str], script: &str) -> Ran {
    let mut command = oracle::command(crate::site::TRAWL);
    command.args(["run", "--sandbox"]).args(options);
    command
        .arg("--remote")
        .arg(site.remote(server))
        .args(["--", "bash", "-c", script, "bash"]);
    oracle::run(command.arg(site.point()).current_dir(site.scratch.path()))
}

/// Checks that scripts print the same; returns the reason if none can be run.
#[track_caller]
fn expect_the_same(site: &Site, scripts: &[&str]) -> Option<Skip> {
    for script in scripts {
        let native = site.bound(script);
        let ours = run(site, &site.server(), script);
        if ours.code == Some(125) && ours.errors().contains("cannot be intercepted") {
            let skip = Skip::new("commands whose calls are asked about", ours.errors());
            return Some(skip);
        }
        assert_eq!(ours.code, native.code, "{script}\n{ours}\n{native}");
        if ours.stdout != native.stdout {
            let (a, b) = (native.text(), ours.text());
            let other = a.lines().zip(b.lines()).find(|(a, b)| a != b);
            panic!(
                "{script}: {other:?}\n{} and {} bytes\n{ours}",
                a.len(),
                b.len()
            );
        }
        assert_eq!(ours.errors(), native.errors(), "{script}");
    }
    None
}

#[test]
fn commands_say_the_same() {
    if let Some(skip) = cannot("commands whose calls are asked about") {
        return skip.say();
    }
    let site = Site::odd("running-sandbox");
    site.bound("ls -lR $1; du -a $1");
    if let Some(skip) = expect_the_same(&site, SCRIPTS) {
        return skip.say();
    }
    site.expect_nothing_left();
}

/// Access by descriptors, by their names, by the newest calls, with too little space and with bad
/// names.
const CALLS: &str = r#"cd $1/attributes; exec python3 -c '
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
room = ctypes.create_string_buffer(70000)
def said(*words):
    ctypes.set_errno(0)
    room[:8] = b"........"
    return libc.syscall(*words), ctypes.get_errno(), room.value[:40]
class Rest(ctypes.Structure):
    _fields_ = [("to", ctypes.c_uint64), ("room", ctypes.c_uint32), ("flags", ctypes.c_uint32)]
FGETXATTR, FLISTXATTR = {"x86_64": (193, 196), "aarch64": (10, 13)}[os.uname().machine]
for name in ("few", "none", "dir", "acl"):
    fd = os.open(name, os.O_RDONLY)
    print(name, sorted(os.listxattr(fd)), sorted(os.listxattr(f"/proc/self/fd/{fd}")),
          sorted(os.listxattr(f"/proc/{os.getpid()}/fd/{fd}")), sorted(os.listxattr(f"/dev/fd/{fd}")))
    for size in (0, 1, 2, 3, 70000):
        for attribute in (b"user.a", b"user.b", b"user.empty", b"user.none", b"nothing", b"",
                          b"user." + b"x" * 250, b"user." + b"x" * 251, b"x" * 5000,
                          b"system.posix_acl_default", b"trusted.link"):
            print(size, attribute[:30], said(FGETXATTR, fd, attribute, room, size))
        print(size, said(FLISTXATTR, fd, None, 0), said(FLISTXATTR, fd, room, size)[:2])
    print(said(FGETXATTR, fd, b"user.a", ctypes.c_void_p(8), 100), said(FGETXATTR, fd, ctypes.c_void_p(8), room, 1))
    os.close(fd)
top = os.open("..", os.O_RDONLY)
print(sorted(os.listxattr(f"/proc/self/fd/{top}/attributes/few")), sorted(os.listxattr("/proc/self/cwd/few")))
print(said(FGETXATTR, 999, b"user.a", room, 9))
def at(where, path, flags, attribute, size, more=0):
    rest = Rest(ctypes.addressof(room), size, more)
    return said(464, where, path, flags, attribute, ctypes.byref(rest), ctypes.c_size_t(16))
# Linux 6.13; root has none, or no such call.
if at(-100, b"/", 0, b"user.none", 0)[1] != 38:
    print("at", at(top, b"attributes/few", 0, b"user.a", 0), at(top, b"attributes/few", 0, b"user.b", 2))
    print("at", at(top, b"attributes/few", 0, b"user.b", 9), at(top, b"attributes/few", 0, b"user.b", 9, 1))
    print("at", at(top, b"attributes/link", 0x100, b"trusted.link", 90), at(top, b"", 0x1000, b"user.top", 90))
    for size in (0, 5, 1000):
        print("at", said(465, top, b"attributes/few", 0, room, ctypes.c_size_t(size))[:2])
for link in ("link", "way", "pipe"):
    for attribute in ("user.a", "trusted.link", "trusted.pipe", "system.posix_acl_access"):
        for follow in (False, True):
            try:
                print(link, attribute, os.getxattr(link, attribute, follow_symlinks=follow))
            except OSError as error:
                print(link, attribute, error.errno)
'"#;

#[test]
fn attributes_are_the_same() {
    let what = "attributes where calls are asked about";
    if let Some(skip) = cannot(what) {
        return skip.say();
    }
    let site = Site::odd("running-sandbox-attributes");
    let made = site.bound(attributes::PLANT);
    if made.code != Some(0) {
        return Skip::new(what, made.errors()).say();
    }
    site.bound("ls -lR $1; du -a $1");
    let shown = site.bound("ls -l $1/attributes; getfacl -R $1/attributes");
    assert!(shown.text().contains("-rw-rw-r--+"), "{shown}");
    let scripts = [attributes::SCRIPTS, &[CALLS]].concat();
    if let Some(skip) = expect_the_same(&site, &scripts) {
        return skip.say();
    }
    site.expect_nothing_left();
}

#[test]
fn attributes_are_not_shown_to_other_users() {
    let what = "attributes for another user of a sandbox";
    if let Some(skip) = cannot(what) {
        return skip.say();
    }
    let site = Site::empty("running-sandbox-user");
    let made = site.bound(
        "set -e; cd $1; touch all none own group many; mkdir dir; ln -s all link; chmod 755 .
         for name in all none own group many dir; do
             setfattr -n user.a -v \"of $name\" $name; setfattr -n trusted.a -v x $name
         done
         setfattr -h -n trusted.link -v x link; setfacl -m u:77:r all
         chown 4711 own; chown :4712 group; chown :4713 many
         chmod 600 none; chmod 400 own; chmod 640 group many; chmod 711 dir",
    );
    if made.code != Some(0) {
        return Skip::new(what, made.errors()).say();
    }
    let inner =
        "cd $1; getfattr -h -d -m - *; getfattr -n user.a *; getfattr -n trusted.a all; ls -l";
    let setpriv = "setpriv --reuid=4711 --regid=4712 --groups=4713 --inh-caps=-all --";
    let script = format!("{setpriv} bash -c '{inner}' bash $1");
    if let Some(skip) = expect_the_same(&site, &[inner, &script]) {
        return skip.say();
    }
    let denied = site.bound(&script);
    let said = denied.errors();
    assert!(said.contains("none: user.a: Permission denied"), "{denied}");
    assert!(!said.contains("own: user.a: Permission denied"), "{denied}");
    site.expect_nothing_left();
}

/// As with a mount: lists name users who have no ids in a user namespace, and would not be copied.
#[test]
fn who_is_in_a_user_namespace_is_shown_no_lists() {
    let what = "attributes in a sandbox in a user namespace";
    let missing = cannot(what).or_else(|| skip::without_program(what, "setpriv"));
    if let Some(skip) = missing {
        return skip.say();
    }
    let site = Site::empty("running-sandbox-inside");
    let made = site.bound(
        "set -e; cd $1; touch a b; setfattr -n user.x -v hello a; setfacl -m u:99:rw a b
         mkdir ../home; chown -R 60009:60009 . ../home ../point; chmod 755 ..",
    );
    if made.code != Some(0) {
        return Skip::new(what, made.errors()).say();
    }
    let program = site.scratch.install(Path::new(TRAWL));
    let server = format!("command:{} serve --stdio", program.display());
    let mut command = oracle::command("setpriv");
    command.args(["--reuid=60009", "--regid=60009", "--clear-groups", "--"]);
    command.arg(program).args(["run", "--sandbox", "--remote"]);
    command.arg(site.remote(&server));
    command.args(["--", "bash", "-c"]);
    command.arg(
        "cd $1 && getfattr -d -m - a b; getfattr -n system.posix_acl_access b; getfacl b
         cp -a a b $HOME/; echo $?; cd $HOME && getfattr -d -m - a b",
    );
    command.arg("bash").arg(site.point());
    let home = site.scratch.join("home");
    let ran = oracle::run(command.env("HOME", home).current_dir(site.scratch.path()));
    if ran.code == Some(125) && !ran.errors().contains("getfattr") {
        return Skip::new(what, ran.errors()).say();
    }
    let shown = "# file: a\nuser.x=\"hello\"\n\n";
    let list = "# file: b\n# owner: 60009\n# group: 60009\nuser::rw-\ngroup::rw-\nother::r--\n\n";
    assert_eq!(ran.text(), format!("{shown}{list}0\n{shown}"), "{ran}");
    let wanted = "b: system.posix_acl_access: Operation not supported\n";
    assert_eq!(ran.errors(), wanted, "{ran}");
    site.expect_nothing_left();
}

#[test]
fn programs_without_a_loader_are_shown_it_too() {
    let what = "a statically linked program whose calls are asked about";
    if let Some(skip) = cannot(what) {
        return skip.say();
    }
    let site = Site::empty("running-static");
    fs::write(site.tree().join("a"), "shown\n").expect("room");
    let (source, program) = (site.scratch.join("p.c"), site.tree().join("p"));
    let text = "#include <stdio.h>\n#include <sys/stat.h>\n\
                int main(int n, char **v) { struct stat s; char b[99]; FILE *f = fopen(v[1], \"r\");\n\
                if (!f || stat(v[1], &s) || !fgets(b, 99, f)) return 9;\n\
                printf(\"%ld %s\", (long)s.st_size, b); return 4; }\n";
    fs::write(&source, text).expect("room");
    let mut compiler = oracle::command("cc");
    let made = compiler
        .args(["-static", "-o"])
        .arg(&program)
        .arg(&source)
        .status();
    if !made.is_ok_and(|status| status.success()) {
        return Skip::new(what, "cc cannot link one").say();
    }
    let ran = run(&site, &site.server(), "$1/p $1/a");
    assert_eq!(
        (ran.text().as_str(), ran.code),
        ("6 shown\n", Some(4)),
        "{ran}"
    );
    site.expect_nothing_left();
}

#[test]
fn contents_take_no_more_memory_than_was_agreed_on() {
    let what = "contents in bounded memory";
    if let Some(skip) = cannot(what) {
        return skip.say();
    }
    let site = Site::empty("running-memory");
    let hole = fs::File::create(site.tree().join("hole")).expect("room");
    if hole.set_len(1 << 40).is_err() {
        return Skip::new(what, "no file of 1 TiB can be made here").say();
    }
    for (name, bytes) in [("a", 600_000), ("b", 500_000), ("c", 400_000)] {
        fs::write(site.tree().join(name), vec![b'x'; bytes]).expect("room");
    }
    fs::hard_link(site.tree().join("a"), site.tree().join("again")).expect("room");
    let memory = ["--sandbox-memory", "1M"];
    // The file is looked at, and not opened.
    let looks = "stat -c '%s %b %i' $1/hole; find $1 -size +1G -printf '%P\\n'; ls -l $1";
    let (native, ours) = (
        site.bound(looks),
        run_with(&site, &site.server(), &memory, looks),
    );
    if ours.code == Some(125) && ours.errors().contains("cannot be intercepted") {
        return Skip::new(what, ours.errors()).say();
    }
    assert_eq!(ours.text(), native.text(), "{ours}");
    assert!(ours.text().starts_with("1099511627776 "), "{ours}");
    // Commands that open it fail immediately and report why; no wrong content is read.
    let ours = run_with(&site, &site.server(), &memory, "head -c 4 $1/hole; echo $?");
    assert_eq!(ours.text(), "1\n", "{ours}");
    let said = ours.errors();
    assert!(said.contains("File too large"), "{said}");
    assert!(said.contains("/hole: it has 1099511627776 bytes"), "{said}");
    assert!(said.contains("--sandbox-memory"), "{said}");
    assert_eq!(ours.code, Some(125), "the command did not say so: {ours}");
    // Files that fit are complete; two names of a file count once; files that no longer fit are
    // refused.
    let script = "cd $1; for f in a again c a b c; do wc -c < $f || echo no $f; done";
    let ours = run_with(&site, &site.server(), &memory, script);
    assert_eq!(
        ours.text(),
        "600000\n600000\n400000\n600000\nno b\n400000\n",
        "{ours}"
    );
    assert!(ours.errors().contains("are full"), "{ours}");
    site.expect_nothing_left();
}

#[test]
fn holes_take_no_memory() {
    let what = "holes that take no memory";
    if let Some(skip) = cannot(what) {
        return skip.say();
    }
    let site = Site::empty("running-holes");
    let path = site.tree().join("hole");
    fs::write(&path, "begins").expect("room");
    let file = fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .expect("ours");
    file.set_len(40 << 20).expect("room");
    let script = "sha256sum < $1/hole; df --output=used $1 | tail -n 1";
    let ours = run(&site, &site.server(), script);
    if ours.code == Some(125) && ours.errors().contains("cannot be intercepted") {
        return Skip::new(what, ours.errors()).say();
    }
    let native = site.bound("sha256sum < $1/hole");
    let text = ours.text();
    let (sum, used) = text.trim_end().split_once('\n').expect("two lines");
    assert_eq!(sum, native.text().trim_end(), "{ours}");
    // One chunk of 1 MiB, not forty; in KiB.
    let used: u64 = used.trim().parse().expect("a number");
    assert!((1..=1024).contains(&used), "{ours}");
    site.expect_nothing_left();
}

/// Files are replaced in directories that may not be written, and directories are closed and
/// opened.
const RIGHTS: &str = r#"
import os, sys, time
point, tree = sys.argv[1] + "/d", sys.argv[2] + "/d"
def put(text):
    os.chmod(tree, 0o755)
    with open(tree + "/new", "w") as file:
        file.write(text)
    os.rename(tree + "/new", tree + "/a")
    os.chmod(tree, 0o555)
def read():
    with open(point + "/a") as file:
        return file.read()
os.mkdir(tree)
put("one")
print(read())
held = os.open(point + "/a", os.O_RDONLY)
put("two!")
print(read(), os.pread(held, 10, 0), os.fstat(held).st_size, os.stat(point + "/a").st_size)
os.chmod(tree, 0)
time.sleep(0.3)
try:
    print(os.listdir(point))
except OSError as error:
    print(error.strerror)
os.chmod(tree, 0o555)
time.sleep(0.3)
print(os.listdir(point), read())
os.chmod(tree, 0o755)
"#;

#[test]
fn an_ordinary_user_sees_what_becomes_of_rights() {
    let test = "an ordinary user whose calls are asked about";
    let missing = |program| skip::without_program(test, program);
    if let Some(skip) = cannot(test)
        .or_else(|| missing("setpriv"))
        .or_else(|| missing("python3"))
    {
        return skip.say();
    }
    let site = Site::empty("running-sandbox-rights");
    let program = site.scratch.install(Path::new(TRAWL));
    for dir in [site.tree(), site.point()] {
        std::os::unix::fs::chown(dir, Some(54321), Some(54321)).expect("root may");
    }
    let server = format!("command:{} serve --stdio", program.display());
    let mut command = oracle::command("setpriv");
    command.args(["--reuid=54321", "--regid=54321", "--clear-groups"]);
    command
        .arg(program)
        .args(["run", "--sandbox", "--max-age=100ms", "--remote"]);
    command
        .arg(site.remote(&server))
        .args(["--", "python3", "-c", RIGHTS]);
    command
        .arg(site.point())
        .arg(site.tree())
        .current_dir(site.scratch.path());
    let ran = oracle::run(&mut command);
    if ran.code == Some(125) && ran.errors().contains("cannot be intercepted") {
        return Skip::new(test, ran.errors()).say();
    }
    let wanted = "one\ntwo! b'one' 3 4\nPermission denied\n['a'] two!\n";
    assert_eq!((ran.code, &*ran.text()), (Some(0), wanted), "{ran}");
    site.expect_nothing_left();
}
