//! The kernel is the oracle of path resolution: in random farms of links, each
//! path is resolved by stat(2) and from the index, by the superuser and by a
//! user who may not enter some directories. Both must find the same files, and
//! report the same errors.
//!
//! `TRAWL_RESOLVER_SEED` and `TRAWL_RESOLVER_FARMS` repeat or extend the test.

#![forbid(unsafe_code)]

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use trawl_find::resolve::{Follow, Remembered, Resolved, resolve};
use trawl_model::guard::Credentials;
use trawl_model::{ColumnSet, Gid, Timestamp, Uid};
use trawl_query::{Index, Located};
use trawl_scan::{ScanProgress, WalkOptions, walk};
use trawl_sys::become_user::{User, as_user};
use trawl_testkit::Scratch;
use trawl_testkit::prng::Prng;
use trawl_writer::{SnapshotWriter, WriterOptions};

/// ID of a user who owns nothing.
const STRANGER: u32 = 54_321;
/// Names in every directory of a farm, and components of link targets.
const NAMES: [&str; 6] = ["a", "b", "c", "l", "m", "n"];
/// The value of `ENAMETOOLONG`.
const NAME_TOO_LONG: i32 = 36;

/// The file found, as device and inode number, or the errno.
type Answer = Result<(u64, u64), i32>;

fn number(name: &str, usual: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Creates directories, files and links at random; some directories are closed.
fn grow(rng: &mut Prng, dir: &Path, depth: u32, top: &Path) -> io::Result<()> {
    for name in NAMES {
        let path = dir.join(name);
        match rng.below(10) {
            0 | 1 => fs::write(&path, name)?,
            2 | 3 if depth > 0 => {
                fs::create_dir(&path)?;
                grow(rng, &path, depth - 1, top)?;
                let mode = rng.pick(&[0o755, 0o755, 0o755, 0o711, 0o700, 0o000]);
                fs::set_permissions(&path, fs::Permissions::from_mode(*mode))?;
            }
            9 => {}
            _ => symlink(target(rng, top), &path)?,
        }
    }
    Ok(())
}

/// Returns a random link target.
fn target(rng: &mut Prng, top: &Path) -> PathBuf {
    let mut text = match rng.below(5) {
        0 => format!("{}/", top.display()),
        _ => String::new(),
    };
    text.push_str(&spelling(rng));
    PathBuf::from(text)
}

fn spelling(rng: &mut Prng) -> String {
    let parts = 1 + rng.below(4);
    let mut text = String::new();
    for part in 0..parts {
        if part > 0 {
            text.push_str(rng.word(&["/", "/", "/", "//"]));
        }
        let odd = ["..", "..", ".", "gone"];
        match rng.below(4) {
            0 => text.push_str(rng.word(&odd)),
            _ => text.push_str(rng.word(&NAMES)),
        }
    }
    text.push_str(rng.word(&["", "", "", "/", "/.", "/..", "//"]));
    text
}

fn index(root: &Path, place: &Path) {
    let cancel = AtomicBool::new(false);
    let now = trawl_sys::process::now();
    let at = Timestamp {
        secs: now.secs,
        nanos: now.nanos,
    };
    let options = WriterOptions {
        memory_bytes: 1 << 20,
        started: at,
        version: "test".into(),
        options: Default::default(),
    };
    let root = root.as_os_str().as_bytes();
    let index = trawl_writer::create_index(place, None).expect("an index");
    let mut writer = SnapshotWriter::begin(&index, root, options).expect("a writer");
    let progress = ScanProgress::default();
    walk(root, &WalkOptions::new(&cancel), &progress, &mut writer).expect("a scan");
    writer.commit(at).expect("a snapshot");
}

fn of_kernel(path: &Path, follow: Follow) -> Answer {
    let meta = match follow {
        Follow::Never => path.symlink_metadata(),
        _ => path.metadata(),
    };
    match meta {
        Ok(meta) => Ok((meta.dev(), meta.ino())),
        Err(error) => Err(error.raw_os_error().expect("a number")),
    }
}

/// Resolves a path from the index. As callers do, asks the live file system
/// where only it can answer.
fn of_index(index: &Remembered<&Index>, path: &Path, follow: Follow) -> Answer {
    let given = path.as_os_str().as_bytes();
    let resolved = resolve(index, b"", given, follow).expect("a sound index");
    match resolved {
        Resolved::To(Located::Found(start), _) => {
            let row = start.own_row();
            Ok((row.dev().as_u64(), row.ino()))
        }
        Resolved::To(Located::Missing { .. }, _) => Err(2),
        Resolved::To(Located::Denied { .. }, _) => Err(13),
        Resolved::To(Located::NotDirectory { .. }, _) => Err(20),
        Resolved::To(Located::Hidden { .. } | Located::NotIndexed { .. }, end) => {
            let end = Path::new(OsStr::from_bytes(trawl_model::path::display(&end)));
            of_kernel(end, Follow::Never)
        }
        Resolved::To(other, _) => panic!("{other:?}"),
        Resolved::Loop => Err(40),
        Resolved::Unread(error) => Err(error.raw_os_error().expect("a number")),
    }
}

fn compare(place: &Path, who: &User, paths: &[PathBuf]) -> Vec<String> {
    let credentials = Credentials {
        uid: Uid(who.uid),
        groups: vec![Gid(who.gid)],
    };
    let index = Index::open(place, credentials).expect("an index");
    let known = Remembered::new(&index, ColumnSet::all());
    let given: Vec<(&[u8], &[u8])> = paths
        .iter()
        .map(|path| (&b""[..], path.as_os_str().as_bytes()))
        .collect();
    let mut wrong = Vec::new();
    for follow in [Follow::Last, Follow::Never] {
        known.prepare(&given, follow).expect("a sound index");
        for path in paths {
            let (theirs, ours) = (of_kernel(path, follow), of_index(&known, path, follow));
            if theirs != ours {
                let path = path.display();
                wrong.push(format!(
                    "{follow:?} {path}: kernel {theirs:?}, ours {ours:?}"
                ));
            }
        }
    }
    wrong
}

/// Returns the differences for the superuser and for a stranger.
fn differences(scratch: &Scratch, paths: &[PathBuf]) -> Vec<String> {
    let place = scratch.join("index");
    let own = User {
        uid: trawl_sys::identity::effective_uid(),
        gid: trawl_sys::identity::effective_gid(),
        groups: Vec::new(),
    };
    let mut wrong = compare(&place, &own, paths);
    if own.uid == 0 {
        let stranger = User {
            uid: STRANGER,
            gid: STRANGER,
            groups: Vec::new(),
        };
        wrong.extend(as_user(&stranger, || compare(&place, &stranger, paths)).expect("root may"));
    }
    wrong
}

fn scratch(name: &str) -> (Scratch, PathBuf) {
    let scratch = Scratch::new(name);
    let top = scratch.join("tree").canonicalize();
    let top = top.unwrap_or_else(|_| {
        fs::create_dir(scratch.join("tree")).expect("a directory");
        scratch.join("tree").canonicalize().expect("it is there")
    });
    (scratch, top)
}

#[test]
fn random_links_lead_where_the_kernel_goes() {
    let first = number("TRAWL_RESOLVER_SEED", 1);
    for seed in first..first + number("TRAWL_RESOLVER_FARMS", 12) {
        let mut rng = Prng::new(seed);
        let (scratch, top) = scratch("resolver");
        grow(&mut rng, &top, 3, &top).expect("a farm");
        index(&top, &scratch.join("index"));
        let paths: Vec<PathBuf> = (0..300).map(|_| top.join(spelling(&mut rng))).collect();
        let wrong = differences(&scratch, &paths);
        assert!(wrong.is_empty(), "seed {seed}\n{}", wrong.join("\n"));
    }
}

#[test]
fn links_are_counted_across_components() {
    let (scratch, top) = scratch("resolver-chains");
    fs::create_dir(top.join("d")).expect("a directory");
    fs::write(top.join("d/file"), "x").expect("a file");
    symlink("d", top.join("c0")).expect("a link");
    symlink("file", top.join("d/f0")).expect("a link");
    for at in 1..50 {
        let before = at - 1;
        symlink(format!("c{before}"), top.join(format!("c{at}"))).expect("a link");
        symlink(format!("f{before}"), top.join(format!("d/f{at}"))).expect("a link");
    }
    for length in [255, 256] {
        symlink("n".repeat(length), top.join(format!("long{length}"))).expect("a link");
    }
    index(&top, &scratch.join("index"));
    let chains = [
        (38, 0),
        (39, 0),
        (40, 0),
        (0, 38),
        (0, 39),
        (19, 19),
        (19, 20),
        (20, 20),
    ];
    let mut paths: Vec<PathBuf> = chains
        .iter()
        .map(|(dirs, files)| top.join(format!("c{dirs}/f{files}")))
        .collect();
    for text in [
        "c39",
        "c40",
        "c40/",
        "c39/.",
        "c40/.",
        "c38/../c0/file",
        "c38/../c1/file",
    ] {
        paths.push(top.join(text));
    }
    // Names of the maximum length that the kernel accepts, and one byte longer.
    for length in [255, 256] {
        paths.push(top.join("n".repeat(length)));
        paths.push(top.join("d/file").join("n".repeat(length)));
        paths.push(top.join("gone").join("n".repeat(length)));
    }
    paths.extend([top.join("long255"), top.join("long256")]);
    let wrong = differences(&scratch, &paths);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let far = of_kernel(&top.join("n".repeat(256)), Follow::Last);
    assert_eq!(far, Err(NAME_TOO_LONG), "the oracle knows such names");
}
