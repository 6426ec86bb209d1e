//! Directories that move out of sight while a daemon watches: no file of the index holds their
//! content that can be opened by users who no longer reach them.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rustix::fs::{CWD, RenameFlags, XattrFlags, lsetxattr, renameat_with};
use trawl_testkit::daemon::{Daemon, until_as_of_now};
use trawl_testkit::oracle::{command, run};
use trawl_testkit::permissions::stage::{ALICE, MALLORY, MARKER, Stage, identity};

use crate::{cannot, program};

/// Starts a daemon that watches the stage's tree.
#[track_caller]
pub(crate) fn watching(stage: &Stage) -> Daemon {
    let mut watch = command(&stage.trawl);
    watch.arg("-i").arg(stage.index_dir()).arg("watch");
    Daemon::start(watch.arg(stage.path("")))
}

/// Ends the daemon as a service manager does.
#[track_caller]
pub(crate) fn end(daemon: &mut Daemon) {
    let ended = daemon.end("-TERM");
    assert!(ended.success(), "{ended}");
}

/// Creates a tree in which everybody reaches `public/out/open/in`, and only Alice reaches what is
/// below `alice`.
fn site() -> Stage {
    let stage = Stage::unindexed(program());
    // The stage's own secrets are not looked for.
    for name in ["home", "alice/deep", "for-bob", "public/token"] {
        let path = stage.path(name);
        run(command("rm").arg("-rf").arg(path)).expect_code(0);
    }
    for name in [
        "public/out",
        "public/out/open",
        "public/out/open/in",
        "public/else",
    ] {
        stage.folder(name, 0, 0o755);
    }
    stage.folder("alice/open", ALICE, 0o755);
    stage.folder("alice/open/in", ALICE, 0o755);
    stage.file("alice/open/in/plain", ALICE, 0o644);
    stage
}

/// Puts a secret name and a secret value into a directory.
fn fill(stage: &Stage, dir: &str) {
    let secret = format!("{dir}/loot-{MARKER}");
    stage.file(&secret, 0, 0o644);
    let mut set = command("setfattr");
    set.args(["-n", "user.note", "-v", MARKER]);
    run(set.arg(stage.path(&secret))).expect_code(0);
}

fn rename(stage: &Stage, from: &str, to: &str) {
    fs::rename(stage.path(from), stage.path(to)).expect("root may");
}

fn mode(stage: &Stage, name: &str, mode: u32) {
    let permissions = fs::Permissions::from_mode(mode);
    fs::set_permissions(stage.path(name), permissions).expect("root may");
}

fn close(stage: &Stage, name: &str) {
    mode(stage, name, 0o700);
}

/// Asks as Mallory, who gets an up-to-date answer.
#[track_caller]
pub(crate) fn ask(stage: &Stage) {
    until_as_of_now(|| stage.ask(MALLORY, &["find", "--fresh=60s", ".", "-maxdepth", "0"]));
}

/// Returns true if the kernel shows Mallory the secret.
fn is_reached(stage: &Stage) -> bool {
    let mut find = identity(MALLORY).command("find");
    let found = run(find.arg(stage.path("")).args(["-name", "loot-*"]));
    !found.text().is_empty()
}

/// Steps that change the tree. A question is asked after each.
type Steps<'a> = &'a [&'a dyn Fn(&Stage)];

/// Checks that after the steps neither the kernel nor the index's files show the secret to a
/// stranger.
#[track_caller]
fn check(what: &str, steps: Steps<'_>) {
    if cannot(what) {
        return;
    }
    let stage = site();
    fill(&stage, "public/out/open/in");
    let mut daemon = watching(&stage);
    follow(&stage, what, steps);
    end(&mut daemon);
    assert_eq!(
        stage.leaks(&stage.index_dir(), MALLORY),
        [""; 0],
        "{what}, ended"
    );
    verify(&stage);
}

#[track_caller]
fn follow(stage: &Stage, what: &str, steps: Steps<'_>) {
    ask(stage);
    assert!(is_reached(stage), "{what}: everybody reaches it at first");
    let index = stage.index_dir();
    assert!(
        !stage.leaks(&index, MALLORY).is_empty(),
        "{what}: so does the index"
    );
    for step in steps {
        step(stage);
        ask(stage);
    }
    assert!(!is_reached(stage), "{what}: the kernel hides it");
    assert_eq!(stage.leaks(&index, MALLORY), [""; 0], "{what}");
    assert!(!stage.leaks(&index, 0).is_empty(), "{what}: it is there");
}

/// Checks that the index is sound after all moves.
#[track_caller]
fn verify(stage: &Stage) {
    let verified = stage.ask(0, &["verify"]);
    verified.expect_code(0);
}

#[test]
fn a_directory_moved_into_a_closed_one_is_in_no_file_that_others_open() {
    check(
        "moving into a closed directory",
        &[&|stage| {
            rename(stage, "public/out/open", "alice/moved");
        }],
    );
}

#[test]
fn an_ancestor_moved_into_a_closed_directory_takes_all_below_along() {
    check(
        "moving an ancestor",
        &[&|stage| {
            rename(stage, "public/out", "alice/moved");
        }],
    );
}

#[test]
fn a_directory_moved_to_an_open_place_and_closed_there_is_closed() {
    check(
        "moving and closing at once",
        &[&|stage| {
            rename(stage, "public/out/open", "public/else/moved");
            close(stage, "public/else/moved");
        }],
    );
    check(
        "moving, asking, closing",
        &[
            &|stage| rename(stage, "public/out/open", "public/else/moved"),
            &|stage| close(stage, "public/else/moved"),
        ],
    );
    check(
        "moving, asking, closing what it lies in",
        &[
            &|stage| rename(stage, "public/out/open", "public/else/moved"),
            &|stage| close(stage, "public/else"),
        ],
    );
    check(
        "moving, and closing what it holds",
        &[
            &|stage| rename(stage, "public/out/open", "public/else/moved"),
            &|stage| close(stage, "public/else/moved/in"),
        ],
    );
    check(
        "moving twice",
        &[
            &|stage| rename(stage, "public/out/open", "public/else/moved"),
            &|stage| rename(stage, "public/else/moved", "alice/moved"),
        ],
    );
}

#[test]
fn what_takes_the_place_of_a_moved_directory_does_not_show_it() {
    check(
        "an open directory in its place",
        &[&|stage| {
            rename(stage, "public/out/open", "alice/moved");
            stage.folder("public/out/open", 0, 0o755);
            stage.folder("public/out/open/in", 0, 0o755);
            stage.file("public/out/open/in/plain", 0, 0o644);
        }],
    );
    check(
        "an exchange",
        &[&|stage| {
            let [one, other] = ["public/out/open", "alice/open"].map(|name| stage.path(name));
            renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).expect("root may");
        }],
    );
}

#[test]
fn what_moved_while_no_daemon_listened_is_found_out() {
    if cannot("moving while nobody listens") {
        return;
    }
    let stage = site();
    fill(&stage, "public/out/open/in");
    let daemon = watching(&stage);
    ask(&stage);
    drop(daemon);
    rename(&stage, "public/out/open", "alice/moved");
    let _daemon = watching(&stage);
    ask(&stage);
    assert!(!is_reached(&stage));
    assert_eq!(stage.leaks(&stage.index_dir(), MALLORY), [""; 0]);
}

#[test]
fn older_snapshots_that_scans_made_do_not_show_what_was_moved() {
    if cannot("moving between scans") {
        return;
    }
    let stage = site();
    fill(&stage, "public/out/open/in");
    let index = stage.index_dir();
    stage.index(&["--keep", "5"]).expect_code(0);
    assert!(!stage.leaks(&index, MALLORY).is_empty(), "it was open");
    rename(&stage, "public/out", "public/else/moved");
    stage.index(&[]).expect_code(0);
    assert!(!stage.leaks(&index, MALLORY).is_empty(), "it still is");
    // Two snapshots have the directory, at two different paths.
    rename(&stage, "public/else/moved", "alice/moved");
    stage.index(&[]).expect_code(0);
    assert_eq!(stage.leaks(&index, MALLORY), [""; 0]);
    // Alice moves it to where nobody else gets, and the directory there takes its place.
    let [one, other] = ["alice/moved/open", "alice/open"].map(|name| stage.path(name));
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).expect("root may");
    stage.index(&[]).expect_code(0);
    assert_eq!(stage.leaks(&index, MALLORY), [""; 0]);
    // The superuser still sees it in every snapshot.
    let listed = stage.ask(0, &["sources", "--snapshots"]).text();
    let times = listed.lines().filter(|line| line.starts_with("  "));
    let times: Vec<&str> = times
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(times.len(), 4, "{listed}");
    for time in times {
        let found = stage.ask(0, &["find", "--at", time, ".", "-name", "loot-*"]);
        assert_eq!(found.text().lines().count(), 1, "{time}: {found}");
    }
    verify(&stage);
}

#[test]
fn what_came_after_the_snapshot_moves_out_of_sight_as_well() {
    let what = "moving what came later";
    if cannot(what) {
        return;
    }
    let stage = site();
    let _daemon = watching(&stage);
    fill(&stage, "public/out/open/in");
    follow(
        &stage,
        what,
        &[&|stage| {
            rename(stage, "public/out/open", "alice/moved");
        }],
    );
    // Created, asked about, moved to where everybody reaches it, and closed there.
    let stage = site();
    let _daemon = watching(&stage);
    stage.folder("public/new", 0, 0o755);
    fill(&stage, "public/new");
    follow(
        &stage,
        what,
        &[
            &|stage| rename(stage, "public/new", "public/else/new"),
            &|stage| close(stage, "public/else/new"),
        ],
    );
}

/// Returns the index files with the secret that a user can open by path.
fn opened_by_path(stage: &Stage, uid: u32) -> Vec<String> {
    let mut files = stage.leaks(&stage.index_dir(), 0);
    let can_open = |file: &String| {
        let mut opens = identity(uid).command("head");
        run(opens.args(["-c", "1"]).arg(file).current_dir("/")).code == Some(0)
    };
    files.retain(can_open);
    files
}

#[test]
fn rows_of_a_moved_directory_do_not_go_behind_barriers_of_what_took_its_place() {
    if cannot("barriers in the place of a moved directory") {
        return;
    }
    let stage = site();
    let inner = stage.path("public/out/open/in");
    let name = format!("user.{MARKER}");
    lsetxattr(inner, &name, b"", XattrFlags::empty()).expect("an attribute");
    stage.index(&["--keep", "5"]).expect_code(0);
    assert!(!opened_by_path(&stage, MALLORY).is_empty(), "it was open");
    rename(&stage, "public/out/open", "alice/moved");
    // Others know its content by name only.
    stage.folder("public/out/open", 0, 0o711);
    stage.folder("public/out/open/in", 0, 0o755);
    stage.index(&[]).expect_code(0);
    assert_eq!(opened_by_path(&stage, MALLORY), [""; 0]);
    assert!(!opened_by_path(&stage, ALICE).is_empty(), "Alice sees both");
    verify(&stage);
}

#[test]
fn rows_behind_barriers_of_a_moved_directory_move_out_of_sight_with_it() {
    if cannot("moving what is behind barriers") {
        return;
    }
    for scans in [true, false] {
        let stage = site();
        mode(&stage, "public/out/open", 0o711);
        let inner = stage.path("public/out/open/in");
        let name = format!("user.{MARKER}");
        lsetxattr(&inner, &name, b"", XattrFlags::empty()).expect("an attribute");
        stage.index(&["--keep", "5"]).expect_code(0);
        let daemon = (!scans).then(|| watching(&stage));
        if daemon.is_some() {
            ask(&stage);
            stage.file("public/out/open/in/plain", 0, 0o644);
            ask(&stage);
        }
        assert!(!opened_by_path(&stage, MALLORY).is_empty(), "it was open");
        rename(&stage, "public/out/open", "alice/moved");
        match scans {
            true => drop(stage.index(&[]).expect_code(0)),
            false => ask(&stage),
        }
        assert_eq!(opened_by_path(&stage, MALLORY), [""; 0], "scans: {scans}");
        drop(daemon);
        verify(&stage);
    }
}

#[test]
fn rows_behind_barriers_that_came_after_the_snapshot_move_out_of_sight_as_well() {
    if cannot("moving what is behind barriers and came later") {
        return;
    }
    let stage = site();
    let _daemon = watching(&stage);
    stage.folder("public/new", 0, 0o711);
    stage.folder("public/new/in", 0, 0o755);
    stage.file("public/new/in/plain", 0, 0o644);
    ask(&stage);
    // Its own row is written anew; the rows of its entries are not.
    let name = format!("user.{MARKER}");
    let inner = stage.path("public/new/in");
    lsetxattr(&inner, &name, b"", XattrFlags::empty()).expect("an attribute");
    ask(&stage);
    assert!(!opened_by_path(&stage, MALLORY).is_empty(), "it was open");
    rename(&stage, "public/new", "alice/moved");
    ask(&stage);
    assert_eq!(opened_by_path(&stage, MALLORY), [""; 0]);
    verify(&stage);
}
