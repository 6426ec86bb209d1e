//! Output that is byte for byte the same as that of the command on the tree itself.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use trawl_testkit::oracle;

use crate::site::{Site, TRAWL, cannot};

/// Scripts whose output and exit code must be the same. `$1` is the directory at which the tree is
/// shown.
const SCRIPTS: &[&str] = &[
    // Everything that lstat(2) returns except the device and the access time.
    r"find $1 -printf '%p %y %i %m %n %U %G %s %b %T@ %C@ %l\n' | sort",
    "find $1 -depth -name '*a*' | sort; find $1 -type d -empty | sort",
    "ls -lRa $1",
    "ls -liR $1/odd | sort",
    "du -al $1 | sort; du -s --apparent-size $1",
    "tar -cf - --sort=name -C $1 . | sha256sum",
    "find $1 -type f -print0 | sort -z | xargs -0 sha256sum",
    "cat $1/big | sha256sum; tail -c 70000 $1/big | sha256sum; dd if=$1/big bs=7 skip=300000 count=9 status=none",
    "shopt -s globstar dotglob nullglob; printf '%q\\n' $1/**/*",
    "cd $1/odd && printf '%q\\n' */ .*",
    "PATH=$1/bin:$PATH; say found; say again; nosuch; echo $?",
    "PATH=$1/nosuch:$1/bin; say found; type say",
    "cd $1 && ./bin/say here && pwd && cd bin && pwd -P && ls ..",
    "stat -c '%n %A %s' $1 $1/bin/say $1/nosuch $1/big/x; echo $?",
    "test -r $1/big && echo r; test -x $1/big || echo no x; test -d $1/bin && echo d",
    "rm -r $1/bin/nosuch; cp -a $1/bin $1/../copy.$$ && ls $1/../copy.$$; rm -r $1/../copy.$$",
    "ls $1/nosuch; cat $1/bin; cat $1/bin/say/x; exit 7",
    "grep -c . $1/bin/say; diff -rq --no-dereference $1/bin $1/bin && echo same",
];

#[test]
fn commands_say_the_same() {
    if let Some(skip) = cannot("commands in a remote tree") {
        return skip.say();
    }
    let site = Site::odd("running-same");
    expect_the_same(&site, &[], SCRIPTS);
}

#[test]
fn commands_say_the_same_with_the_mount_alone() {
    if let Some(skip) = cannot("commands in a remote tree without tables") {
        return skip.say();
    }
    expect_the_same(&Site::odd("running-mount"), &["--no-preload"], SCRIPTS);
}

#[test]
fn commands_say_the_same_call_by_call() {
    if let Some(skip) = cannot("commands in a remote tree, call by call") {
        return skip.say();
    }
    expect_the_same(&Site::odd("running-each"), &["--call-by-call"], SCRIPTS);
}

#[track_caller]
pub(crate) fn expect_the_same(site: &Site, options: &[&str], scripts: &[&str]) {
    // The first look at a directory sets its access time.
    site.bound("ls -lR $1; du -a $1");
    for script in scripts {
        let native = site.bound(script);
        let ours = site.run_with(options, script);
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
    site.expect_nothing_left();
}

#[test]
fn a_tree_may_be_behind_a_link_and_several_may_be_shown() {
    if let Some(skip) = cannot("several remote trees") {
        return skip.say();
    }
    let site = Site::empty("running-several");
    fs::write(site.tree().join("a"), "first").expect("room");
    let other = site.scratch.join("other");
    fs::create_dir(&other).expect("room");
    fs::write(other.join("b"), "second").expect("room");
    symlink(&other, site.scratch.join("link")).expect("room");
    let second = site.scratch.join("second");
    fs::create_dir(&second).expect("room");
    let mut command = oracle::command(TRAWL);
    command
        .args(["run", "--remote"])
        .arg(site.remote(&site.server()));
    let link = site.scratch.join("link");
    let text = format!("{}:{}={}", site.server(), link.display(), second.display());
    command.args([
        "--remote",
        &text,
        "--",
        "sh",
        "-c",
        "cat $0/a $1/b; ls $0 $1",
    ]);
    // The directory in which it works is looked up again in there.
    command.arg(site.point()).arg(".").current_dir(&second);
    let ran = oracle::run(&mut command).expect_code(0);
    let listed = format!("firstsecond.:\nb\n\n{}:\na\n", site.point().display());
    assert_eq!(ran.text(), listed);
    site.expect_nothing_left();
}

#[test]
fn what_changes_is_seen_after_a_while() {
    if let Some(skip) = cannot("a remote tree that changes") {
        return skip.say();
    }
    let site = Site::empty("running-changes");
    let tree = site.tree();
    fs::write(tree.join("old"), "1").expect("room");
    let script = "ls $1; cat $1/*; touch $2/new; echo longer > $2/old; ln -s old $2/link; \
                  while ! test -e $1/new; do sleep 0.05; done; ls $1; cat $1/old; readlink $1/link";
    // With tables, too, if their library was built.
    let mut command = site.command_with(&site.server(), &["--max-age=200ms"]);
    command
        .args(["sh", "-c", script, "sh"])
        .arg(site.point())
        .arg(&tree);
    let ran = oracle::run(&mut command).expect_code(0);
    assert_eq!(ran.text(), "old\n1link\nnew\nold\nlonger\nold\n");
    // Nothing is cached.
    let mut command = oracle::command(TRAWL);
    command
        .args(["run", "--max-age=0s", "--remote"])
        .arg(site.remote(&site.server()));
    command.args(["--", "sh", "-c", "ls $1; rm $2/new; ls $1", "sh"]);
    let ran = oracle::run(command.arg(site.point()).arg(&tree)).expect_code(0);
    assert_eq!(ran.text(), "link\nnew\nold\nlink\nold\n");
}

#[test]
fn ordinary_users_need_no_privilege() {
    if let Some(skip) = cannot("a remote tree for an ordinary user") {
        return skip.say();
    }
    let site = Site::empty("running-user");
    let mode = |path: &std::path::Path, bits| {
        fs::set_permissions(path, fs::Permissions::from_mode(bits)).expect("our own");
    };
    mode(site.scratch.path(), 0o755);
    let program = site.scratch.install(std::path::Path::new(TRAWL));
    fs::write(site.tree().join("a"), "shown").expect("room");
    fs::write(site.tree().join("secret"), "x").expect("room");
    mode(&site.tree().join("secret"), 0o600);
    // A device that all users may use, as on other machines.
    let script = "mknod -m 666 $0/fuse c 10 229 && mount --bind $0/fuse /dev/fuse && \
                  exec setpriv --reuid=4711 --regid=4711 --clear-groups --inh-caps=-all -- \"$@\"";
    let mut command = oracle::command("unshare");
    command
        .args(["-m", "sh", "-c", script])
        .arg(site.scratch.path())
        .arg(&program);
    command.args(["run", "--remote"]);
    let server = format!("command:{} serve --stdio", program.display());
    command.arg(site.remote(&server)).args(["--", "sh", "-c"]);
    command.arg("id -u; cat $0/a; ls $0; cat $0/secret; grep CapEff /proc/self/status");
    command.arg(site.point()).current_dir("/");
    let ran = oracle::run(&mut command);
    if ran.errors().contains("not allowed here") || ran.errors().contains("/dev/fuse") {
        let skip = trawl_testkit::skip::Skip::new("a tree for an ordinary user", ran.errors());
        return skip.say();
    }
    assert_eq!(
        ran.text(),
        "4711\nshowna\nsecret\nCapEff:\t0000000000000000\n",
        "{ran}"
    );
    assert!(ran.errors().contains("Permission denied"), "{ran}");
    site.expect_nothing_left();
}
