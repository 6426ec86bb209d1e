//! Changes that the kernel hides from a user leave everything that this user can see of the index
//! byte for byte unchanged: names, numbers, modes, sizes, contents.
//!
//! Each random tree is indexed twice, by the same steps: once unchanged, and once with changes
//! inside directories that the user can neither list nor traverse.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::buffer::spare_capacity;
use rustix::fs::{Access as Wanted, AtFlags, XattrFlags, accessat, llistxattr, lsetxattr};
use trawl_sys::become_user::{User, as_user};
use trawl_testkit::permissions::stage::{ALICE, MALLORY, Stage, cannot, identity};
use trawl_testkit::permissions::view::view_of;
use trawl_testkit::permissions::{Person, Plan, Site, people};
use trawl_testkit::prng::Prng;
use trawl_testkit::{Scratch, lines, oracle};

use super::kernel::number;

/// Default number of trees.
const TREES: u64 = 6;
/// Number of changes where nobody sees them.
const CHANGES: usize = 40;

/// Returns all directories of a tree.
fn directories(root: &Path) -> Vec<PathBuf> {
    let mut dirs = vec![root.to_owned()];
    let mut at = 0;
    while let Some(dir) = dirs.get(at).cloned() {
        at += 1;
        let entries = fs::read_dir(&dir).into_iter().flatten().flatten();
        let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        dirs.extend(below.map(|entry| entry.path()));
    }
    dirs
}

/// Returns the directories about which the kernel tells this person nothing, not even that they
/// exist: above each there is one that the person can neither list nor traverse.
pub(crate) fn hidden_from(person: &Person, root: &Path) -> Vec<PathBuf> {
    let user = User {
        uid: person.uid,
        gid: person.gid,
        groups: person.groups.clone(),
    };
    let dirs = directories(root);
    let look = || {
        let may =
            |path: &Path, what| accessat(rustix::fs::CWD, path, what, AtFlags::EACCESS).is_ok();
        let is_shut = |dir: &&PathBuf| !may(dir, Wanted::READ_OK) && !may(dir, Wanted::EXEC_OK);
        dirs.iter()
            .filter(is_shut)
            .cloned()
            .collect::<BTreeSet<_>>()
    };
    let shut = as_user(&user, look).expect("root may");
    let is_below = |dir: &PathBuf| dir.ancestors().skip(1).any(|above| shut.contains(above));
    dirs.into_iter().filter(is_below).collect()
}

/// Returns true if a file has attribute values that require read permission.
fn has_user_values(file: &PathBuf) -> bool {
    let mut names = Vec::with_capacity(64 << 10);
    let listed = llistxattr(file, spare_capacity(&mut names));
    listed.is_err()
        || names
            .split(|byte| *byte == 0)
            .any(|name| name.starts_with(b"user."))
}

/// Makes a change in a directory that is hidden; its own row is hidden, too.
///
/// The change never revokes a permission: then older snapshots are rewritten, which everybody sees
/// (docs/security.md, "Limits of the claim"). Removing a file with `user.*` values would be such a
/// change: older snapshots keep these values for the superuser only.
pub(crate) fn change(dir: &Path, prng: &mut Prng, number: usize) {
    let path = dir.join(format!("hidden-{number}"));
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let is_alone = |path: &PathBuf| {
        // Another name of the file may be seen elsewhere.
        fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file() && meta.nlink() == 1)
    };
    let files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_alone).collect();
    let is_plain = |file: &PathBuf| !has_user_values(file);
    let plain: Vec<PathBuf> = files
        .iter()
        .filter(|file| is_plain(file))
        .cloned()
        .collect();
    match prng.below(6) {
        0 => drop(fs::create_dir(&path)),
        1 if !plain.is_empty() => drop(fs::remove_file(prng.pick(&plain))),
        2 if !files.is_empty() => {
            let file = prng.pick(&files);
            let _ = lsetxattr(file, "user.hidden", b"value", XattrFlags::empty());
            // This only grants permissions.
            let mode = fs::metadata(file).map_or(0, |meta| meta.mode());
            let _ = fs::set_permissions(file, Permissions::from_mode(mode | 0o444));
        }
        3 if !files.is_empty() => {
            let file = OpenOptions::new().append(true).open(prng.pick(&files));
            drop(file.and_then(|mut file| file.write_all(b"more")));
        }
        4 => (0..200).for_each(|at| drop(fs::write(path.with_extension(at.to_string()), "x"))),
        _ => drop(fs::write(&path, "hidden")),
    }
}

/// Returns what a person sees of an index that is made of the tree and then renewed once, after
/// `between` ran.
fn seen(site: &Site, person: &Person, between: impl FnOnce()) -> String {
    oracle::run(oracle::command("rm").arg("-rf").arg(site.index_dir())).expect_code(0);
    site.index().expect_code(0);
    between();
    site.index().expect_code(0);
    view_of(&site.index_dir(), &person.identity())
}

#[test]
fn hidden_changes_leave_everything_that_a_user_sees_of_the_index_as_it_was() {
    if cannot("hidden changes") {
        return;
    }
    let scratch = Scratch::new("permissions-hidden");
    let trawl = scratch.install(Path::new(env!("CARGO_BIN_EXE_trawl")));
    let first = number("TRAWL_SEED", 1);
    let mut compared = 0;
    for seed in first..first + number("TRAWL_HIDDEN_TREES", TREES) {
        let plan = Plan::new(seed);
        if plan.is_deep {
            continue;
        }
        let site = Site::build(&plan, &trawl).expect("a tree");
        let mut prng = Prng::new(seed);
        for person in people::everybody().iter().filter(|person| person.uid != 0) {
            let dirs = hidden_from(person, &site.root());
            if dirs.is_empty() || !prng.once_in(3) {
                continue;
            }
            // Reading a link is an access, so the first scan changes what the next one finds.
            site.index().expect_code(0);
            let without = seen(&site, person, || {});
            let with = seen(&site, person, || {
                for number in 0..CHANGES {
                    let dir = prng.pick(&dirs);
                    change(dir, &mut prng, number);
                }
            });
            let what = format!("seed {seed}, {person}");
            lines::assert_same(
                &what,
                without.as_bytes(),
                with.as_bytes(),
                lines::Order::Exact,
                lines::Ending::Newline,
            );
            compared += without.lines().count();
        }
    }
    assert!(compared > 300, "{compared}");
}

/// Returns what Mallory sees of an index of two snapshots, with `between` run between them.
fn seen_around(stage: &Stage, between: impl FnOnce()) -> String {
    oracle::run(oracle::command("rm").arg("-rf").arg(stage.index_dir())).expect_code(0);
    stage.index(&[]).expect_code(0);
    between();
    stage.index(&[]).expect_code(0);
    view_of(&stage.index_dir(), &identity(MALLORY))
}

/// Returns a view without the signs that the older snapshot was rewritten: the word for it in its
/// description, the names of its manifests, and the fact that these are not files of the later
/// snapshot.
fn without_revision(view: &str) -> String {
    let lines = view.lines().filter(|line| !line.contains("\"revision\""));
    let renamed = lines.map(|line| line.replace("SNAPSHOT-0-SNAPSHOT-1.", "SNAPSHOT-0."));
    let mut lines: Vec<String> = renamed
        .map(|line| match line.rsplit_once(' ') {
            Some((name, _links)) if name.contains(".manifest ") => name.to_owned(),
            _ => line,
        })
        .collect();
    lines.sort_unstable();
    lines.join("\n")
}

/// A permission that is revoked: its name, how it is revoked, and how it is granted again.
type Taken<'a> = (&'a str, &'a dyn Fn(), &'a dyn Fn());

/// A hidden change can show only that an older snapshot was rewritten, and only a change that
/// revokes a permission does so (docs/security.md, "Limits of the claim").
#[test]
fn a_right_that_is_taken_away_out_of_sight_shows_that_one_was_and_nothing_else() {
    if cannot("rights that are taken away out of sight") {
        return;
    }
    let stage = Stage::unindexed(Path::new(env!("CARGO_BIN_EXE_trawl")));
    let note = "alice/deep/note";
    let write = || {
        stage.file(note, ALICE, 0o644);
        let set = lsetxattr(
            stage.path(note),
            "user.hidden",
            b"value",
            XattrFlags::empty(),
        );
        set.expect("an attribute");
    };
    let mode = |path: &str, mode| {
        fs::set_permissions(stage.path(path), Permissions::from_mode(mode)).expect("root may");
    };
    write();
    stage.folder("for-bob/passed", 0, 0o711);
    stage.folder("for-bob/passed/inner", 0, 0o755);
    // The scans before have read the tree's link, which is an access.
    stage.index(&[]).expect_code(0);
    let without = seen_around(&stage, || {});
    assert!(!without.contains("\"revision\""), "{without}");
    let cases: [Taken<'_>; 4] = [
        (
            "a file with a value goes",
            &|| fs::remove_file(stage.path(note)).expect("it is there"),
            &write,
        ),
        (
            "a directory goes whose name Bob had to know",
            &|| fs::remove_dir(stage.path("for-bob/passed/inner")).expect("it is empty"),
            &|| stage.folder("for-bob/passed/inner", 0, 0o755),
        ),
        ("a directory is closed", &|| mode("alice/deep", 0), &|| {
            mode("alice/deep", 0o755)
        }),
        ("a file with a value is closed", &|| mode(note, 0), &|| {
            mode(note, 0o644)
        }),
    ];
    for (what, take, restore) in cases {
        let with = seen_around(&stage, take);
        restore();
        assert_eq!(with.matches("\"revision\"").count(), 1, "{what}: {with}");
        lines::assert_same(
            what,
            without_revision(&without).as_bytes(),
            without_revision(&with).as_bytes(),
            lines::Order::Exact,
            lines::Ending::Newline,
        );
    }
    let with = seen_around(&stage, || {
        fs::write(stage.path("alice/deep/other"), "x").expect("root may");
        let held = fs::read_dir(stage.path("alice/deep")).expect("it is there");
        let mut held = held.flatten().map(|entry| entry.path());
        let plain = held.find(|path| !has_user_values(path));
        fs::remove_file(plain.expect("a letter")).expect("root may");
    });
    lines::assert_same(
        "a file without a value goes",
        without.as_bytes(),
        with.as_bytes(),
        lines::Order::Exact,
        lines::Ending::Newline,
    );
}
