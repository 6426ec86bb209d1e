//! Extended attributes and access control lists: programs print the same as on the tree itself.

use std::path::Path;
use std::sync::atomic::Ordering;

use trawl_testkit::oracle::{self, Ran};
use trawl_testkit::{Scratch, Skip};

use crate::faults::between;
use crate::same::expect_the_same;
use crate::site::{Site, TRAWL, cannot};

/// Scripts whose output must be the same.
pub(crate) const SCRIPTS: &[&str] = &[
    "find $1 -print0 | sort -z | xargs -0 getfattr -d -m - -h -e hex --absolute-names",
    "find $1 ! -type l -print0 | sort -z | xargs -0 getfacl -p",
    // In reverse order.
    "find $1 -print0 | sort -rz | xargs -0 getfattr -d -m - -h --absolute-names",
    "getfattr -R -P -h -d -m - --absolute-names $1 | sort; getfacl -R -P -p $1 | sort",
    "ls -lR $1; ls -l $1/attributes; ls -ld $1 $1/attributes",
    "getfattr -n user.long --only-values $1/attributes/long | sha256sum",
    "getfattr -n user.nosuch $1/attributes/long; echo $?",
    "getfattr -d -m - $1/attributes/nosuch; echo $?",
    "getfattr -d -m - $1/attributes/way/299 $1/attributes/shut/in/it; echo $?",
    "getcap -r $1; getfattr -n security.capability -e hex $1/attributes/few; echo $?",
    "cd $1/attributes; tar --xattrs --xattrs-include='*' --acls --sort=name \
     --pax-option=delete=atime,delete=ctime,exthdr.name=%d/x/%f -cf - . | sha256sum",
    "cp -a $1/attributes $1/../copy; cd $1/../copy && \
     getfattr -R -P -h -d -m - -e hex . | sort | sha256sum && getfacl -R -P . | sort | sha256sum; \
     rm -r $1/../copy",
];

/// Creates odd names, values, and types.
pub(crate) const PLANT: &str = r#"
    set -e; mkdir $1/attributes; cd $1/attributes
    touch long acl few none $'new\nline' $'\xff\xfe' $(printf %0255d 1); mkdir dir; ln -s few link
    mkfifo pipe; ln -s dir way; mkdir -p deep/a/b/c; touch deep/a/b/c/last; mkdir -p shut/in; touch shut/in/it
    setfattr -n user.long -v $(printf '%01500d' 7) long
    setfattr -n user.a -v 1 few; setfattr -n user.b -v 0x00ff00 few; setfattr -n user.empty few
    setfattr -n user.$(printf %0250d 2) -v 'long name' none
    for name in $'new\nline' $'\xff\xfe' $(printf %0255d 1) deep/a/b/c/last shut/in/it dir; do
        setfattr -n user.odd -v "of $name" "$name"
    done
    setfattr -h -n trusted.link -v 'of the link itself' link; setfattr -n trusted.pipe -v p pipe
    setfattr -n security.capability -v 0x0100000200040000000000000000000000000000 few
    setfacl -m u:1234:rw,g:4321:r acl; setfacl -d -m u:1234:rwx dir; setfacl -m u:1234:x dir
    setfattr -n user.top -v top ..
    touch dir/{1..300}; setfattr -n user.last -v x dir/299
    chmod 0 shut
"#;

#[test]
fn programs_say_the_same() {
    if let Some(skip) = cannot("attributes in a remote tree") {
        return skip.say();
    }
    let site = Site::odd("running-attributes");
    let made = site.bound(PLANT);
    if made.code != Some(0) {
        return Skip::new("attributes in a remote tree", made.errors()).say();
    }
    // There is something to see.
    let shown = site.bound("getfattr -R -P -h -d -m - $1/attributes; getfacl -R -P $1/attributes");
    for text in [
        "user.last",
        "trusted.link",
        "user:1234:rw-",
        "default:user:1234:rwx",
    ] {
        assert!(shown.text().contains(text), "{shown}");
    }
    expect_the_same(&site, &[], SCRIPTS);
    let site = Site::empty("running-attributes-each");
    site.bound(PLANT).expect_code(0);
    expect_the_same(&site, &["--call-by-call"], SCRIPTS);
    let never_twice = "cd $1/attributes; getfattr -d -m - few none; getfacl acl; ls -l few";
    expect_the_same(&site, &["--max-age=0s"], &[never_twice]);
}

#[test]
fn values_may_be_as_long_as_the_kernel_allows() {
    if let Some(skip) = cannot("long attributes in a remote tree") {
        return skip.say();
    }
    // Ordinary file systems have less space for attributes.
    let site = Site::empty_in(Scratch::new_in(Path::new("/dev/shm"), "running-long"));
    let made = site.bound(
        "set -e; cd $1; touch one two; setfattr -n user.few -v few one
         head -c 65536 /dev/urandom | base64 -w0 | sed 's/^/0s/' > ../value
         python3 -c 'import os,sys,base64; v=base64.b64decode(open(\"../value\").read()[2:]); os.setxattr(\"one\",\"user.full\",v)'",
    );
    if made.code != Some(0) {
        return Skip::new("long attributes in a remote tree", made.errors()).say();
    }
    expect_the_same(
        &site,
        &[],
        &[
            "getfattr -n user.full --only-values $1/one | sha256sum",
            "getfattr -d -m - -e hex --absolute-names $1/one $1/two",
            "cd $1; python3 -c 'import os
for room in (os.getxattr(\"one\", \"user.full\"), os.getxattr(\"one\", \"user.few\"), os.listxattr(\"one\"), os.listxattr(\"two\")): print(len(room))'",
            // Values that do not fit into the buffer, and their sizes.
            "cd $1; python3 -c 'import ctypes
libc = ctypes.CDLL(None, use_errno=True)
room = ctypes.create_string_buffer(70000)
for size in (0, 1, 2, 3, 4, 65535, 65536, 70000):
    for name in (b\"user.few\", b\"user.full\", b\"user.none\"):
        print(size, name, libc.getxattr(b\"one\", name, room, size), ctypes.get_errno())
for size in (0, 1, 8, 9, 10, 18, 19, 20, 70000):
    print(size, libc.listxattr(b\"one\", room, size), ctypes.get_errno(), libc.listxattr(b\"two\", room, size))'",
        ],
    );
}

#[test]
fn who_may_not_see_all_sees_the_same() {
    if let Some(skip) = cannot("attributes for an ordinary user of the server") {
        return skip.say();
    }
    let site = Site::empty("running-attributes-user");
    let made = site.bound(
        "set -e; cd $1; mkdir pass list shut shared; touch {.,pass,list,shut,shared}/{a,b} secret
         setfattr -n user.a -v x {.,pass,list,shut,shared}/{a,b} {pass,list,shut,shared} secret
         setfattr -n trusted.a -v x a; setfacl -m u:4711:r secret b; setfattr -n user.b -v y secret
         mkdir pass/below; touch pass/below/{a,b}; setfattr -n user.c -v z pass/below/{a,b}
         touch own; setfattr -n user.a -v x own; chmod 600 own secret
         chmod 711 pass; chmod 744 list; chmod 700 shut",
    );
    if made.code != Some(0) {
        return Skip::new("attributes for an ordinary user", made.errors()).say();
    }
    let user = "setpriv --reuid=4711 --regid=4711 --clear-groups --inh-caps=-all --";
    let program = site.scratch.install(Path::new(TRAWL));
    let server = format!("command:{user} {} serve --stdio", program.display());
    // The users on both sides are the same, so the kernel here does not restrict more.
    for script in [
        "getfattr -R -P -d -m - --absolute-names $1 2>&1 | sort",
        "getfattr -d -m - --absolute-names $1/{a,b,own,secret} $1/{pass,shut,shared}/{a,b}",
        "getfattr -d -m - --absolute-names $1/pass/below/{b,a} $1/pass/{b,a} $1/pass/below",
        "getfattr -n user.a --absolute-names $1/{a,own,secret} $1/{pass,list,shut,shared}; echo $?",
        "getfacl -p $1/{a,own,secret} $1/{pass,shared}/{a,b}; ls -l $1 $1/shared",
    ] {
        let inner = format!("exec {user} bash -c '{script}' bash $1");
        let native = site.bound(&inner);
        let mut command = site.command(&server);
        command
            .args(["bash", "-c", &inner, "bash"])
            .arg(site.point());
        let ours = oracle::run(&mut command);
        assert_eq!(ours.text(), native.text(), "{script}\n{ours}\n{native}");
        assert_eq!(ours.errors(), native.errors(), "{script}");
    }
    site.expect_nothing_left();
}

#[test]
fn what_is_mounted_in_the_tree_has_its_own() {
    if let Some(skip) = cannot("attributes of what is mounted in a tree") {
        return skip.say();
    }
    let site = Site::empty("running-attributes-mounted");
    for options in site.ways() {
        expect_its_own(&site, options);
    }
    site.expect_nothing_left();
}

fn expect_its_own(site: &Site, options: &[&str]) {
    // An answer about a whole tree ends where another file system begins.
    let script = "set -e; mkdir -p $1/deep/{other,zone}; mount -t tmpfs none $1/deep/other
        cd $1/deep; mkdir -p other/{a,b}/c; touch ../first {other{,/a,/b,/a/c,/b/c},zone}/{1..9}
        setfattr -n user.a -v x {other{,/a,/b,/a/c,/b/c},zone}/5 . other zone 2>/dev/null || exit 77
        cd $1; getfattr -R -P -d -m - . | sort; echo; find . -name 5 | sort -r | xargs getfattr -d
        echo; cd /; shift; exec \"$@\"";
    let mut command = oracle::command("unshare");
    command.args(["-m", "bash", "-c", script, "bash"]);
    command
        .arg(site.tree())
        .arg(site.installed().unwrap_or(Path::new(TRAWL)))
        .arg("run")
        .args(options)
        .arg("--remote");
    command.arg(site.remote(&site.server()));
    command.args(["--", "bash", "-c"]);
    command.arg(
        "cd $1; ls -lR >/dev/null; getfattr -R -P -d -m - . | sort; echo
         find . -name 5 | sort -r | xargs getfattr -d; echo",
    );
    let ran = oracle::run(command.arg("bash").arg(site.point()));
    if ran.code == Some(77) {
        return Skip::new("attributes of what is mounted", "tmpfs has none here").say();
    }
    let text = ran.text();
    let (wanted, found) = text.split_at(text.len() / 2);
    assert_eq!(
        (found, ran.errors().as_str(), ran.code),
        (wanted, "", Some(0))
    );
    // Six files and three directories, and the files once more.
    assert_eq!(wanted.matches("user.a=\"x\"").count(), 15, "{wanted}");
}

#[test]
fn what_changes_is_seen_after_a_while() {
    if let Some(skip) = cannot("attributes that change") {
        return skip.say();
    }
    let site = Site::empty("running-attributes-change");
    let made = site.bound("cd $1 && touch a b && setfattr -n user.a -v first a");
    if made.code != Some(0) {
        return Skip::new("attributes that change", made.errors()).say();
    }
    let script =
        "cd $1; getfattr -d a b; cd $2; setfattr -n user.a -v second a; setfacl -m u:99:r b
        cd $1; until getfattr -d a | grep second; do sleep 0.05; done
        until ls -l b | grep -o '^[^ ]*+'; do sleep 0.05; done";
    let mut command = oracle::command(TRAWL);
    command.args(["run", "--max-age=200ms", "--remote"]);
    command.arg(site.remote(&site.server()));
    command.args(["--", "timeout", "60", "bash", "-c", script, "bash"]);
    let ran = oracle::run(command.arg(site.point()).arg(site.tree())).expect_code(0);
    let wanted = "# file: a\nuser.a=\"first\"\n\nuser.a=\"second\"\n-rw-r--r--+\n";
    assert_eq!(ran.text(), wanted, "{ran}");
    site.expect_nothing_left();
}

fn run(site: &Site, server: &str, script: &str) -> Ran {
    let mut command = site.command(server);
    oracle::run(command.args(["bash", "-c", script]).arg(site.point()))
}

#[test]
fn trees_take_few_questions() {
    if let Some(skip) = cannot("questions about attributes") {
        return skip.say();
    }
    let site = Site::empty("running-attribute-questions");
    let made = site.bound(
        "set -e; cd $1; mkdir {1..300} wide; for dir in {1..300}; do touch $dir/{1..10}; done
         setfattr -n user.a -v x */7; setfacl -m u:1234:rw */3; touch wide/{1..6000}",
    );
    if made.code != Some(0) {
        return Skip::new("questions about attributes", made.errors()).say();
    }
    let path = site.tree().as_os_str().len();
    for (script, most) in [
        // A greeting, the top, one bulk answer; for attributes some longer answers.
        ("ls -lR $0 | sha256sum", 700),
        (
            "getfattr -R -d -m - --absolute-names $0 | sort | sha256sum",
            700,
        ),
        ("getfacl -R -p $0 | sort | sha256sum", 700),
        // Backwards: one answer for each directory, not for each name.
        (
            "find $0 | sort -r | xargs getfattr -d -m - --absolute-names | sha256sum",
            300 * 60,
        ),
    ] {
        let (server, line) = between(&site, usize::MAX);
        // However long it takes, nothing is watched, and nothing is asked for again.
        let options = ["--watched-age=0s", "--max-age=1h"];
        let mut command = site.command_with(&server, &options);
        let command = command.args(["bash", "-c", script]).arg(site.point());
        let ours = oracle::run(command).expect_code(0);
        let native = site.bound(&script.replace("$0", "$1")).expect_code(0);
        assert_eq!(ours.text(), native.text(), "{script}");
        let sent = line.sent_bytes.load(Ordering::Relaxed);
        assert!(
            sent < most + 12 * path,
            "{script}: {sent} bytes were asked with"
        );
    }
    site.expect_nothing_left();
}

#[test]
fn a_server_that_ends_is_an_error() {
    if let Some(skip) = cannot("attributes of a server that ends") {
        return skip.say();
    }
    let site = Site::empty("running-attributes-cut");
    let made = site.bound(
        "set -e; cd $1; touch {1..500}; value=$(printf %02000d 1)
         setfattr -n user.long -v $value {1..500}",
    );
    if made.code != Some(0) {
        return Skip::new("attributes of a server that ends", made.errors()).say();
    }
    let script = "for name in $0/*; do getfattr -n user.long --only-values $name && echo had
                  getfattr -d -m - $name && echo had; done; true";
    // All names are present; of a million bytes of values, the first ones.
    for options in site.ways() {
        let (server, line) = between(&site, 300_000);
        let mut command = site.command_with(&server, options);
        let ran = oracle::run(command.args(["bash", "-c", script]).arg(site.point()));
        assert!(line.is_cut.load(Ordering::Relaxed), "{ran}");
        assert_eq!((ran.text().as_str(), ran.code), ("", Some(125)), "{ran}");
        let errors = ran.errors();
        assert!(errors.contains("trawl: "), "{ran}");
        assert_eq!(errors.matches("Input/output error").count(), 1000, "{ran}");
    }
    site.expect_nothing_left();
}

#[test]
fn a_server_that_knows_no_such_question_has_none() {
    if let Some(skip) = cannot("attributes of an older server") {
        return skip.say();
    }
    let site = Site::empty("running-attributes-old");
    let made = site.bound("set -e; cd $1; touch a b; ln -s a link; setfattr -n user.a -v x a");
    if made.code != Some(0) {
        return Skip::new("attributes of an older server", made.errors()).say();
    }
    let (server, line) = between(&site, usize::MAX);
    line.is_old.store(true, Ordering::Relaxed);
    let ran = run(
        &site,
        &server,
        "ls -l $0 >/dev/null && getfattr -d -m - $0/a; getfattr -n user.a $0/a; getfattr -n user.a $0/b",
    );
    assert_eq!(
        ran.errors().matches("Operation not supported").count(),
        3,
        "{ran}"
    );
    assert_eq!((ran.text().as_str(), ran.code), ("", Some(1)), "{ran}");
    let ran = run(&site, &server, "readlink -v $0/link");
    assert!(ran.errors().contains("Operation not supported"), "{ran}");
    assert!(
        ran.errors().contains("a newer trawl is needed there"),
        "{ran}"
    );
    site.expect_nothing_left();
}
