//! Direct access to real files. The oracle is the kernel: its own answer for the path, as the user
//! in question, at that moment.

mod random;
mod site;

use std::fs::{File, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use trawl_direct::{DirectError, FileId, Table, Way};
use trawl_sys::Errno;
use trawl_testkit::Scratch;
use trawl_testkit::oracle;
use trawl_testkit::skip::without_root;

use site::{Site, as_user, content, row};

#[test]
fn a_file_is_opened_by_its_id() {
    for parent in [std::env::temp_dir().as_path(), Path::new("/dev/shm")] {
        if !parent.is_dir() {
            continue;
        }
        let site = Site::new_in(parent, &["a/b/one", "a/two"]);
        let mut table = Table::new();
        let ids = ["a/b/one", "a/two"].map(|name| site.add(&mut table, name));
        // The second time, the handle is known everywhere.
        for _ in 0..2 {
            for (id, name) in ids.iter().zip(["a/b/one", "a/two"]) {
                assert_eq!(content(table.open(id).unwrap()), name);
            }
        }
        let (_, way) = table.open_and_tell(&ids[0]).unwrap();
        println!("{}: {way:?}", parent.display());
        let strange = row(&site.path("a"));
        assert_eq!(
            table.open(&strange).unwrap_err(),
            DirectError::Unknown { ino: strange.ino() }
        );
    }
}

/// "Without having to issue multiple directory lookup operations" (paper, section 2.2): a file that
/// no path leads to any more is still opened by those who may use handles.
#[test]
fn handles_need_no_path() {
    if let Some(skip) = without_root("file handles") {
        return skip.say();
    }
    let site = Site::new(&["a/one"]);
    let mut table = Table::new();
    let id = site.add(&mut table, "a/one");
    site.rename("a/one", "moved");
    let (file, way) = table.open_and_tell(&id).unwrap();
    assert_eq!((content(file), way), ("a/one".into(), Way::Handle));
    // A user without the right gets what the path has: nothing.
    let error = as_user(|| table.open(&id)).unwrap_err();
    assert!(matches!(error, DirectError::Gone { .. }), "{error}");
    assert_eq!(error.errno(), Errno::STALE);
    site.rename("moved", "a/one");
    assert_eq!(content(as_user(|| table.open(&id)).unwrap()), "a/one");
}

#[test]
fn a_later_file_with_the_same_number_is_not_opened() {
    let site = Site::new(&["f"]);
    let path = site.path("f");
    let mut reused = 0;
    for round in 0..200 {
        std::fs::write(&path, "first").unwrap();
        let mut table = Table::new();
        // By the generation, as of now; and by a row whose file is older than a tick of the clock.
        let id = match round % 10 {
            0 => {
                std::thread::sleep(std::time::Duration::from_millis(20));
                site.add(&mut table, "f")
            }
            _ => table.enrol(path.as_os_str().as_bytes()).unwrap(),
        };
        let is_opened = round % 3 == 0;
        if is_opened {
            table.open(&id).unwrap();
        }
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "second").unwrap();
        reused += usize::from(std::fs::metadata(&path).unwrap().ino() == id.ino());
        let here = table.open(&id);
        if !trawl_testkit::skip::is_root() {
            continue;
        }
        assert!(
            matches!(here, Err(DirectError::Gone { .. })),
            "{round}: {here:?}"
        );
        std::fs::remove_file(&path).unwrap();
        let here = table.open(&id);
        assert!(
            matches!(here, Err(DirectError::Gone { .. })),
            "{round}: {here:?}"
        );
    }
    println!("{reused} of 200 numbers were given again");
}

/// "Never a way around a closed directory" (issue of this feature): closed between making the table
/// and opening the file, at each level, while the user holds what they opened before.
#[test]
fn a_directory_that_was_closed_is_closed() {
    if let Some(skip) = without_root("closed directories") {
        return skip.say();
    }
    let site = Site::new(&["a/b/c/f"]);
    let path = site.path("a/b/c/f");
    let mut table = as_user(Table::new);
    let id = as_user(|| table.enrol(path.as_os_str().as_bytes())).unwrap();
    assert!(as_user(|| table.open(&id)).is_ok());
    for level in ["a", "a/b", "a/b/c"] {
        for mode in [0o700, 0o755, 0o744, 0o711] {
            std::fs::set_permissions(site.path(level), Permissions::from_mode(mode)).unwrap();
            let kernel = as_user(|| File::open(&path));
            let ours = as_user(|| table.open_and_tell(&id));
            match (kernel, ours) {
                (Ok(_), Ok((file, way))) => {
                    assert_eq!((content(file), way), ("a/b/c/f".into(), Way::Path));
                }
                (Err(kernel), Err(ours)) => {
                    assert_eq!(
                        Some(ours.errno().0),
                        kernel.raw_os_error(),
                        "{level} {mode:o}"
                    );
                }
                (kernel, ours) => panic!("{level} {mode:o}: {kernel:?} {ours:?}"),
            }
        }
    }
    // The file itself.
    std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    assert_eq!(
        as_user(|| table.open(&id)).unwrap_err().errno(),
        Errno::ACCES
    );
    // A table that root made gives nobody else more.
    let mut ours = Table::new();
    let id = site.add(&mut ours, "a/b/c/f");
    ours.open(&id).unwrap();
    assert_eq!(
        as_user(|| ours.open(&id)).unwrap_err().errno(),
        Errno::ACCES
    );
}

#[test]
fn each_link_to_a_file_is_a_way_to_it() {
    if let Some(skip) = without_root("hard links") {
        return skip.say();
    }
    let site = Site::new(&["closed/f", "open/g"]);
    std::fs::hard_link(site.path("closed/f"), site.path("open/f")).unwrap();
    std::fs::set_permissions(site.path("closed"), Permissions::from_mode(0o700)).unwrap();
    let mut table = Table::new();
    let id = site.add(&mut table, "closed/f");
    assert_eq!(
        as_user(|| table.open(&id)).unwrap_err().errno(),
        Errno::ACCES
    );
    assert_eq!(site.add(&mut table, "open/f"), id);
    assert_eq!(table.len(), 1);
    assert_eq!(content(as_user(|| table.open(&id)).unwrap()), "closed/f");
    // Another file at the one path that is open: the other is still closed.
    std::fs::remove_file(site.path("open/f")).unwrap();
    site.rename("open/g", "open/f");
    assert_eq!(
        as_user(|| table.open(&id)).unwrap_err().errno(),
        Errno::ACCES
    );
}

#[test]
fn links_and_pipes_in_the_place_of_names_are_not_followed() {
    if let Some(skip) = without_root("links in paths") {
        return skip.say();
    }
    let site = Site::new(&["a/f", "a/g", "b/f"]);
    let mut table = Table::new();
    let ids = ["a/f", "a/g"].map(|name| site.add(&mut table, name));
    let check = |what: &str| {
        let user = as_user(|| table.open(&ids[0]));
        assert!(
            matches!(user, Err(DirectError::Gone { .. })),
            "{what}: {user:?}"
        );
        let root = content(table.open(&ids[0]).unwrap());
        assert_eq!(root, "a/f", "{what}");
    };
    // A link that leads to the very file is none of the paths that were asked for.
    site.rename("a/f", "a/other");
    symlink("other", site.path("a/f")).unwrap();
    check("a link at the end");
    std::fs::remove_file(site.path("a/f")).unwrap();
    site.rename("a/other", "a/f");
    site.rename("a", "elsewhere");
    symlink("elsewhere", site.path("a")).unwrap();
    check("a link in the middle");
    std::fs::remove_file(site.path("a")).unwrap();
    symlink("b", site.path("a")).unwrap();
    check("a link to another directory");
    std::fs::remove_file(site.path("a")).unwrap();
    std::fs::write(site.path("a"), "").unwrap();
    check("a file in the place of a directory");
    std::fs::remove_file(site.path("a")).unwrap();
    std::fs::create_dir(site.path("a")).unwrap();
    oracle::run(oracle::command("mkfifo").arg(site.path("a/f"))).expect_code(0);
    // Nobody writes to it: an open that waited would never end.
    std::fs::set_permissions(site.path("a/f"), Permissions::from_mode(0o666)).unwrap();
    check("a pipe");
}

#[test]
fn a_mount_on_top_hides_the_file_from_paths() {
    if let Some(skip) = without_root("mounts") {
        return skip.say();
    }
    let site = Site::new(&["a/f"]);
    let mut table = Table::new();
    let id = site.add(&mut table, "a/f");
    let mut mount = oracle::command("mount");
    let mount = oracle::run(
        mount
            .args(["-t", "tmpfs", "-o", "mode=755", "none"])
            .arg(site.path("a")),
    );
    if mount.code != Some(0) {
        return trawl_testkit::Skip::new("mounts", mount.errors()).say();
    }
    let user = |what: &str| {
        let user = as_user(|| table.open(&id));
        assert!(
            matches!(user, Err(DirectError::Gone { .. })),
            "{what}: {user:?}"
        );
    };
    user("nothing there");
    std::fs::write(site.path("a/f"), "another").unwrap();
    user("another file");
    let root = table.open(&id).map(content);
    oracle::run(oracle::command("umount").arg(site.path("a"))).expect_code(0);
    assert_eq!(root.unwrap(), "a/f");
    assert_eq!(content(as_user(|| table.open(&id)).unwrap()), "a/f");
}

#[test]
fn only_regular_files_at_absolute_paths_are_taken() {
    let scratch = Scratch::new("direct-paths");
    std::fs::write(scratch.join("f"), "").unwrap();
    symlink("f", scratch.join("link")).unwrap();
    let mut table = Table::new();
    let mut enrol = |path: &Path| table.enrol(path.as_os_str().as_bytes());
    assert!(matches!(
        enrol(scratch.path()),
        Err(DirectError::NotRegular { .. })
    ));
    // openat2(2): a link at the end "will be returned" as itself with these flags.
    assert!(matches!(
        enrol(&scratch.join("link")),
        Err(DirectError::NotRegular { .. })
    ));
    std::fs::create_dir(scratch.join("dir")).unwrap();
    std::fs::write(scratch.join("dir/f"), "").unwrap();
    symlink("dir", scratch.join("dirlink")).unwrap();
    assert_eq!(
        enrol(&scratch.join("dirlink/f")).unwrap_err().errno(),
        Errno::LOOP
    );
    assert_eq!(
        enrol(&scratch.join("none")).unwrap_err().errno(),
        Errno::NOENT
    );
    assert_eq!(enrol(Path::new("f")).unwrap_err().errno(), Errno::INVAL);
    assert!(table.is_empty());
    let id: FileId = row(&scratch.join("f"));
    assert!(table.add(b"/a\0b", id).is_err());
}
