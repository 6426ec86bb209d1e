//! Where nothing is mounted: the same bytes, statically linked programs' too.

use std::fs;
use std::process::Command;

use trawl_testkit::oracle::{self, Ran};
use trawl_testkit::skip::Skip;

use crate::site::{Site, cannot};

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
    let mut command = oracle::command(crate::site::TRAWL);
    command.args(["run", "--sandbox", "--remote"]);
    command
        .arg(site.remote(server))
        .args(["--", "bash", "-c", script, "bash"]);
    oracle::run(command.arg(site.point()).current_dir(site.scratch.path()))
}

#[test]
fn commands_say_the_same() {
    if let Some(skip) = cannot("commands whose calls are asked about") {
        return skip.say();
    }
    let site = Site::odd("running-sandbox");
    site.bound("ls -lR $1; du -a $1");
    for script in SCRIPTS {
        let native = site.bound(script);
        let ours = run(&site, &site.server(), script);
        if ours.code == Some(125) && ours.errors().contains("cannot be asked about") {
            let skip = Skip::new("commands whose calls are asked about", ours.errors());
            return skip.say();
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
    let mut compiler = Command::new("cc");
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
