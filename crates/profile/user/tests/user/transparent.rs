//! Programs print and return the same with the probe and without it.

use std::os::unix::fs::symlink;

use trawl_testkit::{Scratch, oracle};
use trawl_user_profile::Options;

use crate::site;

/// Scripts, each with a program that it needs.
const SCRIPTS: &[(&str, &str)] = &[
    ("cat", "cat file missing link dir/many"),
    ("ls", "ls -lR --time-style=full-iso ."),
    ("find", "find . -printf '%p %y %s %l %m\\n' | sort"),
    ("tar", "tar -cf - --sort=name . | tar -tvf - --full-time"),
    (
        "sort",
        "sort -S 64K --parallel=4 -T . dir/many | uniq -c | tail -n 50",
    ),
    (
        "python3",
        "python3 -c 'import os,subprocess,threading\nfor d,_,f in sorted(os.walk(\".\")): print(d,sorted(f))\nprint(subprocess.run([\"cat\",\"file\"],capture_output=True).stdout)\nt=[threading.Thread(target=lambda:open(\"file\").read()) for _ in range(9)]\n[x.start() for x in t]; [x.join() for x in t]\nr=os.fork()\nif r==0: os._exit(len(os.listdir(\".\")))\nprint(os.waitpid(r,0)[1])'",
    ),
    (
        "sh",
        "for i in 1 2 3; do (echo $i; cat file) & wait; done; exec 3<file; read x <&3; echo $x; nosuch; exit 7",
    ),
    (
        "bash",
        "bash -c 'while read -r x; do echo \"$x\"; done < <(cat file; echo <(true) | cut -c1-8); exec cat <<< here'",
    ),
    (
        "cp",
        "cp -a dir copied && diff -r dir copied && mv copied moved && rm -r moved && echo done",
    ),
    ("grep", "grep -rc line . | sort"),
    ("sed", "sed -i.old s/line/LINE/ file && cat file file.old"),
    ("env", "env -i /bin/cat file"),
    (
        "cc",
        "echo 'int main(void) { return 5; }' > a.c; cc -o a a.c; ./a; echo $?",
    ),
    (
        "git",
        "git init -q .; git add .; git -c user.email=a@b -c user.name=c commit -qm x; git log --stat --format=%s",
    ),
    (
        "perl",
        "perl -e 'open F,\"<\",\"file\" or die; print while <F>; print -s \"file\"; fork && wait; print \"x\\n\"'",
    ),
];

fn tree(scratch: &Scratch) {
    let at = |name: &str| scratch.join(name);
    std::fs::write(at("file"), "line\nlast").expect("written");
    std::fs::create_dir(at("dir")).expect("made");
    let many: String = (0..20_000)
        .map(|number| format!("{}\n", number * 7919 % 5003))
        .collect();
    std::fs::write(at("dir/many"), many).expect("written");
    symlink("file", at("link")).expect("made");
}

#[test]
fn programs_print_the_same() {
    for (program, script) in SCRIPTS {
        if !site::has(&format!("output of {program}"), program) {
            continue;
        }
        let run = |session: Option<&trawl_user_profile::Session>| {
            // The name of the directory is the same for both.
            let scratch = Scratch::new("user-profile-tree");
            let root = scratch.join("tree");
            std::fs::create_dir(&root).expect("made");
            tree(&scratch);
            for name in ["file", "dir", "link"] {
                std::fs::rename(scratch.join(name), root.join(name)).expect("moved");
            }
            let mut command = match session {
                Some(session) => site::profiled(session, "sh"),
                None => oracle::command("sh"),
            };
            let mut times = oracle::command("find");
            times.args([".", "-exec", "touch", "-hd", "@1000000000", "{}", "+"]);
            oracle::run(times.current_dir(&root)).expect_code(0);
            let ran = oracle::run(command.args(["-c", script]).current_dir(&root));
            (ran.stdout, ran.stderr, ran.code)
        };
        let session = site::session(&Options::default());
        let (without, with) = (run(None), run(Some(&session)));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(text(&with.0), text(&without.0), "{script}");
        assert_eq!(text(&with.1), text(&without.1), "{script}");
        assert_eq!(with.2, without.2, "{script}");
        assert!(!site::read(&session).whole.is_empty(), "{script}");
    }
}
