//! `trawl-shell` with arguments and variables that ask for anything else.

use std::io::Write;
use std::process::Stdio;

use trawl_call::options::Flags;
use trawl_remote::client::{CommandLine, Part};
use trawl_remote::{Address, Remote};
use trawl_testkit::{Scratch, skip};

use crate::support::{lines, request};

const SHELL: &str = env!("CARGO_BIN_EXE_trawl-shell");

#[test]
fn without_its_file_it_serves_nobody() {
    if std::path::Path::new("/etc/trawl/exports").exists() {
        skip::Skip::new("no exports", "this machine has some").say();
        return;
    }
    for words in [&[][..], &["-c", "id"], &["--help"], &["--export", "x=/"]] {
        let ran = trawl_testkit::oracle::command(SHELL)
            .args(words)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert_eq!(ran.status.code(), Some(2));
        assert!(ran.stdout.is_empty());
        let errors = String::from_utf8_lossy(&ran.stderr);
        assert!(errors.contains("cannot read the exports"), "{errors}");
    }
}

#[test]
fn whatever_it_is_asked_it_serves_its_exports() {
    let what = "a restricted server";
    if let Some(skip) = skip::without_root(what).or_else(|| skip::without_program(what, "unshare"))
    {
        skip.say();
        return;
    }
    let scratch = Scratch::new("shell");
    let tree = scratch.join("tree");
    std::fs::create_dir(&tree).unwrap();
    std::fs::write(tree.join("x.c"), "x").unwrap();
    std::fs::write(
        scratch.join("exports"),
        format!("tree={}\n", tree.display()),
    )
    .unwrap();
    let marker = scratch.join("marker");
    let hostile = [
        String::new(),
        format!("-c 'touch {}'", marker.display()),
        "--export everything=/".to_owned(),
        "-c 'trawl serve --stdio' --restrict=no".to_owned(),
        "-- /bin/sh -i".to_owned(),
    ];
    for (number, words) in hostile.iter().enumerate() {
        // A private /etc that contains only this file.
        let script = scratch.join(format!("run-{number}"));
        let mut file = std::fs::File::create(&script).unwrap();
        writeln!(file, "set -e").unwrap();
        writeln!(
            file,
            "cp {} /tmp/.exports-$$",
            scratch.join("exports").display()
        )
        .unwrap();
        writeln!(file, "mount -t tmpfs none /etc && mkdir /etc/trawl").unwrap();
        writeln!(file, "mv /tmp/.exports-$$ /etc/trawl/exports").unwrap();
        writeln!(file, "chmod 644 /etc/trawl/exports").unwrap();
        writeln!(
            file,
            "export SSH_ORIGINAL_COMMAND='touch {}'",
            marker.display()
        )
        .unwrap();
        writeln!(file, "export TRAWL_EXPORTS=/ TRAWL_INDEX=/ SHELL=/bin/sh").unwrap();
        writeln!(file, "exec -a -trawl-shell {SHELL} {words}").unwrap();
        drop(file);
        let words = ["unshare", "-m", "bash"].map(Into::into).into_iter();
        let command = words.chain([script.into_os_string()]).collect();
        let remote = Remote::new(Address::Command(command));
        let ask = |root: &[u8]| lines(&remote, request("/*", Flags::METADATA, &[root]));
        assert_eq!(ask(b"/tree"), ["x.c"], "{}", hostile[number]);
        assert_eq!(ask(b"/everything"), ["!2 ."]);
        assert_eq!(ask(b"/etc"), ["!2 ."]);
        assert!(!marker.exists());
    }
}

/// A login shell for people who may only ask: each command line is one of `trawl answer`, whatever
/// the words and variables are.
#[test]
fn where_everything_is_exported_it_starts_the_program_beside_it_with_the_word_answer() {
    let what = "a restricted server that exports everything";
    if let Some(skip) = skip::without_root(what).or_else(|| skip::without_program(what, "unshare"))
    {
        skip.say();
        return;
    }
    let scratch = Scratch::new("shell-commands");
    let shell = scratch.install(std::path::Path::new(SHELL));
    // In place of `trawl`: prints its words and its environment.
    let program = scratch.join("program").join("trawl");
    std::fs::create_dir(scratch.join("program")).unwrap();
    std::fs::write(&program, "#!/bin/sh\nprintf '<%s>' \"$@\"\n/usr/bin/env\n").unwrap();
    // What another test starts meanwhile has only the original open for writing.
    scratch.install(&program);
    let script = scratch.join("run");
    let text = format!(
        "set -e\nmount -t tmpfs none /etc && mkdir /etc/trawl\n\
         printf '# all\\n*\\n' > /etc/trawl/exports\nchmod 644 /etc/trawl/exports\n\
         export LD_PRELOAD= TRAWL_INDEX=/tmp/x SSH_ORIGINAL_COMMAND=id\n\
         exec -a -trawl-shell {} -c id\n",
        shell.display()
    );
    std::fs::write(&script, text).unwrap();
    let words = ["unshare", "-m", "bash"].map(Into::into).into_iter();
    let command = words.chain([script.into_os_string()]).collect();
    let mut command = Remote::new(Address::Command(command))
        .command(CommandLine {
            words: vec![b"find".to_vec(), b"; id".to_vec()],
            directory: b"/".to_vec(),
            variables: vec![b"LANG=C".to_vec()],
            ..CommandLine::default()
        })
        .unwrap();
    let mut printed = Vec::new();
    while let Part::Printed(_, bytes) = command.next_part(&|| true).unwrap() {
        printed.extend(bytes);
    }
    let printed = String::from_utf8(printed).unwrap();
    let environment = printed.strip_prefix("<answer><find><; id>").unwrap();
    let mut set: Vec<&str> = environment.lines().collect();
    set.retain(|line| {
        !["PWD=", "_=", "SHLVL=", "OLDPWD="]
            .iter()
            .any(|own| line.starts_with(own))
    });
    set.sort_unstable();
    assert_eq!(set, ["HOME=/nonexistent", "LANG=C", "PATH=/usr/bin:/bin"]);
}
