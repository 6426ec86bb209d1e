//! Attempts to read other users' data: directly, by guessing, by hard link, through /proc, and
//! while the index is being made.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use trawl_testkit::permissions::stage::{ALICE, BOB, MALLORY, MARKER, Stage};

use crate::{cannot, program};

/// Returns the answer from a copy that Mallory made of an index, asked with full rights over the
/// copy.
fn copied(stage: &Stage, index: &Path) -> String {
    let script = "rm -rf $2/copy; cp -r --no-preserve=all \"$1\" $2/copy 2>/dev/null; \
                  chmod -R u+rwX $2/copy; true";
    stage.shell_about(index, MALLORY, script).expect_code(0);
    let copy = stage.own().join("copy");
    let top = stage.path("").display().to_string();
    stage.ask_of(&copy, MALLORY, &["find", &top]).text()
}

#[test]
fn anothers_shard_is_not_read_directly() {
    if cannot("reading another's shard") {
        return;
    }
    let stage = Stage::new(program());
    let index = stage.index_dir();
    assert!(
        stage.leaks(&index, 0).len() >= 2,
        "the secrets are in the index"
    );
    assert_eq!(stage.leaks(&index, MALLORY), [""; 0]);
    assert!(!copied(&stage, &index).contains(MARKER));

    let lax = stage.lax();
    assert!(
        stage.leaks(&lax, MALLORY).len() >= 2,
        "a lax build gives them away"
    );
    assert!(copied(&stage, &lax).contains(MARKER));
}

#[test]
fn each_reads_their_own_and_no_others() {
    if cannot("reading one's own") {
        return;
    }
    let stage = Stage::new(program());
    let names = |uid| stage.ask(uid, &["find", "."]).text();
    let secrets = ["letter-", "note-", "home/bob-"];
    let seen = |uid| secrets.map(|secret| names(uid).contains(secret));
    assert_eq!(seen(0), [true, true, true]);
    assert_eq!(seen(ALICE), [true, false, false]);
    assert_eq!(seen(BOB), [false, true, false], "he may not list home");
    assert_eq!(seen(MALLORY), [false, false, false]);
}

#[test]
fn what_lies_in_a_barrier_is_neither_listed_nor_guessed() {
    if cannot("guessing in a barrier") {
        return;
    }
    let stage = Stage::crowded(program());
    let index = stage.index_dir();
    // Entries of the barrier that Mallory's listing finds.
    let script = "find \"$1\" -regextype posix-extended \
                  -regex '.*/b[0-9a-f]{32}/[0-9a-f]+' 2>/dev/null; true";
    assert!(
        !stage.shell(0, script).text().is_empty(),
        "there is a barrier"
    );
    assert_eq!(stage.shell(MALLORY, script).text(), "");
    assert_eq!(stage.leaks(&index, MALLORY), [""; 0]);
    // Names similar to those there, and patterns that a shell would expand.
    let script = "b=$(find \"$1\" -regextype posix-extended -type d -regex '.*/b[0-9a-f]{32}' \
                  2>/dev/null | head -n 1); \
                  [ -n \"$b\" ] || exit 9; for n in 00000000000000000000000000000000 data bob home . ; do \
                  ls \"$b/$n\" ; cat \"$b/$n/data/\"*; done 2>/dev/null; ls \"$b\"/* 2>/dev/null; true";
    assert_eq!(stage.shell(MALLORY, script).expect_code(0).text(), "");
    for guess in ["home/bob", "home/*", "home/bob-", "home/."] {
        let ran = stage.ask(MALLORY, &["find", guess]);
        assert!(!ran.text().contains("plain"), "{ran}");
        assert_eq!(ran.text().contains(MARKER), guess.contains(MARKER), "{ran}");
    }
    // On the source, too, a user who knows the name gets in.
    let named = format!("home/bob-{MARKER}");
    let ran = stage
        .ask(MALLORY, &["find", &named, "-name", "f77"])
        .expect_code(0);
    assert_eq!(ran.text(), format!("{named}/f77\n"));
    assert!(!ran.errors().contains("read from the file system"), "{ran}");

    let lax = stage.lax();
    assert!(
        copied(&stage, &lax).contains(&named),
        "a lax build lists it"
    );
}

#[test]
fn no_hard_link_keeps_or_opens_anothers_shard() {
    if cannot("hard links to shards") {
        return;
    }
    let stage = Stage::new(program());
    // Mallory links every file of the index that root can name.
    let names = stage.shell(0, "find \"$1\" -type f").text();
    fs::write(stage.own().join("names"), &names).expect("root may");
    let script = "mkdir -p $2/links; n=0; while read -r f; do n=$((n+1)); \
                  ln \"$f\" \"$2/links/$n\" 2>/dev/null; done <$2/names; \
                  grep -rlaF MARKER $2/links; true"
        .replace("MARKER", MARKER);
    assert_eq!(stage.shell(MALLORY, &script).expect_code(0).text(), "");

    let lax = stage.lax();
    let of_lax = names.replace(
        &stage.index_dir().display().to_string(),
        &lax.display().to_string(),
    );
    fs::write(stage.own().join("names"), of_lax).expect("root may");
    let ran = stage.shell(MALLORY, &script);
    assert!(
        !ran.text().is_empty(),
        "a lax build's files can be linked: {ran}"
    );
}

/// Waits for a command's first line, which reports that it is ready.
fn until_ready(child: &mut std::process::Child) {
    let mut byte = [0];
    let stdout = child.stdout.as_mut().expect("it is piped");
    std::io::Read::read_exact(stdout, &mut byte).expect("it says so");
}

#[test]
fn proc_shows_nothing_of_what_root_has_open() {
    if cannot("reading through /proc") {
        return;
    }
    let stage = Stage::new(program());
    let secret = stage.leaks(&stage.index_dir(), 0).remove(0);
    // Root reads the index slowly.
    let script = "exec 9<\"$3\"; echo; sleep 50";
    let mut reader = trawl_testkit::oracle::command("sh");
    reader.args(["-c", script, "sh", "", ""]).arg(&secret);
    let mut reader = reader.stdout(Stdio::piped()).spawn().expect("a shell");
    until_ready(&mut reader);
    let pid = reader.id();
    let paths = format!(
        "/proc/{pid}/fd/9 /proc/{pid}/root{secret} /proc/{pid}/cwd{secret} /proc/{pid}/map_files/*"
    );
    let script = format!("cat {paths} 2>/dev/null | grep -caF {MARKER}");
    let count = |uid| stage.shell(uid, &script).text().trim().to_string();
    let (root, mallory) = (count(0), count(MALLORY));
    let descriptors = stage.shell(MALLORY, &format!("ls /proc/{pid}/fd"));
    let _ = reader.kill();
    let _ = reader.wait();
    assert_ne!(root, "0", "the descriptor leads there");
    assert_eq!(mallory, "0");
    assert_eq!(descriptors.text(), "", "{descriptors}");

    // A helper that opened files for its users would do this: the descriptor is all that is needed.
    // Therefore no process of ours opens files for another.
    let mut given = trawl_testkit::oracle::command("setpriv");
    given.args([
        "--reuid=60009",
        "--regid=60009",
        "--clear-groups",
        "grep",
        "-caF",
        MARKER,
    ]);
    let file = fs::File::open(&secret).expect("root may");
    let output = given.stdin(file).output().expect("it runs");
    assert_ne!(output.stdout, b"0\n");
}

#[test]
fn a_descriptor_from_before_does_not_open_what_comes_after() {
    if cannot("keeping descriptors") {
        return;
    }
    let stage = Stage::unindexed(program());
    stage.index(&[]).expect_code(0);
    // Mallory opens every directory of the index that may be opened; then public data is made
    // private and indexed again.
    let marked = format!("public/late-{MARKER}");
    let script = "cd \"$1\"; n=100; exec 3<.; for d in $(find . -type d 2>/dev/null); do \
                  [ $n -lt 400 ] && eval \"exec $n<\\$d\" 2>/dev/null; n=$((n+1)); done; echo; \
                  until [ -e $2/go ]; do sleep 0.05; done; \
                  for f in /proc/self/fd/*; do grep -rlaF MARKER $f/ 2>/dev/null; done; true"
        .replace("MARKER", MARKER);
    let mut holder = stage.shell_command(&stage.index_dir(), MALLORY, &script);
    let mut holder = holder.stdout(Stdio::piped()).spawn().expect("a shell");
    until_ready(&mut holder);
    stage.shell(0, &format!("chmod 700 {}", stage.path("public").display()));
    stage.file(&marked, 0, 0o644);
    stage.index(&[]).expect_code(0);
    assert!(!stage.leaks(&stage.index_dir(), 0).is_empty());
    fs::write(stage.own().join("go"), "").expect("root may");
    let output = holder.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
}

#[test]
fn a_umask_of_zero_opens_no_window_while_the_index_is_made() {
    if cannot("a umask of zero") {
        return;
    }
    let stage = Stage::crowded(program());
    // Mallory continuously reads every file that opens.
    let script = "echo; until [ -e $2/stop ]; do grep -rlaF MARKER \"$1\" 2>/dev/null; \
                  find \"$1\" ! -type l -writable 2>/dev/null; done"
        .replace("MARKER", MARKER);
    let mut grabber = stage.shell_command(&stage.index_dir(), MALLORY, &script);
    let mut grabber = grabber.stdout(Stdio::piped()).spawn().expect("a shell");
    until_ready(&mut grabber);
    let index = stage.index_dir().display().to_string();
    let (top, trawl) = (stage.path(""), &stage.trawl);
    for round in 0..8 {
        let fresh = if round % 2 == 0 { "rm -rf \"$1\";" } else { "" };
        let script = format!(
            "umask 0; {fresh} exec {} -i {index} index -q {}",
            trawl.display(),
            top.display()
        );
        stage.shell(0, &script).expect_code(0);
    }
    fs::write(stage.own().join("stop"), "").expect("root may");
    let output = grabber.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    let loose = stage.shell(0, "find \"$1\" -perm /022 ! -type l");
    // The group's bits are the mask of an ACL; the users who may write are what counts.
    for uid in [ALICE, BOB, MALLORY] {
        let writable = stage.shell(uid, "find \"$1\" -writable 2>/dev/null");
        assert_eq!(writable.text(), "", "{loose}");
    }

    // The same reader catches a build that tightens its modes afterwards.
    let lax = stage.lax();
    let script = script.replace("until [ -e $2/stop ]; do", "for once in 1; do");
    let ran = stage.shell_about(&lax, MALLORY, &script);
    assert!(ran.text().lines().count() > 2, "{ran}");
}
