//! Locks that a user takes on every file that they can open: neither readers nor the writer wait
//! for them.

use std::process::{Child, Stdio};

use trawl_testkit::permissions::stage::{ALICE, MALLORY, Stage};

use crate::{cannot, program};

/// Takes exclusive locks on every file that opens, prints their number, then waits.
const LOCK_ALL: &str = r#"n=100
for f in $(find "$1" -readable 2>/dev/null); do
    [ $n -lt 400 ] && eval "exec $n<\"\$f\"" 2>/dev/null && flock -n -x $n && n=$((n+1))
done
echo $((n-100)); sleep 50"#;

/// Starts the script as a user; returns its process and the number of locks.
fn locked(stage: &Stage, index: &std::path::Path, uid: u32) -> (Child, usize) {
    let mut line = stage.shell_command(index, uid, LOCK_ALL.trim());
    let mut child = line
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a shell");
    let mut text = String::new();
    let stdout = child.stdout.as_mut().expect("it is piped");
    let mut byte = [0];
    while std::io::Read::read(stdout, &mut byte).expect("it says so") == 1 && byte[0] != b'\n' {
        text.push(char::from(byte[0]));
    }
    let locks = text.parse().expect("a number");
    (child, locks)
}

fn end(mut child: Child) {
    // `timeout` forwards the signal to the shell and its children.
    let _ = trawl_testkit::oracle::command("kill")
        .arg(child.id().to_string())
        .status();
    let _ = child.wait();
}

#[test]
fn locks_of_a_user_stop_neither_readers_nor_the_writer() {
    if cannot("locks") {
        return;
    }
    let stage = Stage::new(program());
    let index = stage.index_dir();
    let (child, locks) = locked(&stage, &index, MALLORY);
    assert!(locks >= 3, "{locks} files could be locked");
    for uid in [0, ALICE, MALLORY] {
        let ran = stage.ask(uid, &["find", "public"]);
        assert!(ran.text().contains("public/readme"), "user {uid}: {ran}");
    }
    stage.file("public/new", 0, 0o644);
    stage.index(&[]).expect_code(0);
    let ran = stage.ask(MALLORY, &["find", "public"]).expect_code(0);
    assert!(ran.text().contains("public/new"), "{ran}");
    for words in [&["index", "--gc"][..], &["index", "--verify"], &["sources"]] {
        stage.ask(0, words).expect_code(0);
    }
    end(child);
}

#[test]
fn a_writers_lock_that_users_can_open_would_stop_it() {
    if cannot("the writer's lock") {
        return;
    }
    let stage = Stage::new(program());
    let lax = stage.lax();
    let (child, _) = locked(&stage, &lax, MALLORY);
    let top = stage.path("").display().to_string();
    let ran = stage.ask_of(&lax, 0, &["index", "-q", &top]);
    end(child);
    assert_ne!(ran.code, Some(0), "a lax build cannot be renewed: {ran}");
}
