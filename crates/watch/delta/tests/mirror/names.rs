//! In a directory with dirty names only these are looked at; the other rows stay as they were with
//! all their values, and no row stays that should not.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{chown, symlink};
use std::path::Path;

use trawl_sys::CWD;
use trawl_sys::file::{Existing, rename};
use trawl_testkit::FileSystem;
use trawl_testkit::folder::set_attribute;
use trawl_writer::live::Removal;

use crate::placed::{Watched, allow, give_value};
use crate::{Kept, compare, fresh};

const FILES: usize = 60;

/// Makes a directory with entries of every kind.
fn plant(tree: &Path) {
    let dir = tree.join("dir");
    fs::create_dir(&dir).expect("room");
    for number in 0..FILES {
        fs::write(dir.join(format!("f{number:02}")), "something").expect("room");
    }
    symlink("f00", dir.join("link")).expect("room");
    fs::create_dir(dir.join("below")).expect("room");
    fs::write(dir.join("below/file"), "").expect("room");
    give_value(&dir.join("below"), c"user.of-a-directory", b"5");
    // A barrier: its owner knows its name, since the directory above can be passed but not listed.
    chown(dir.join("below"), Some(4811), None).expect("root may");
    give_value(&dir.join("f10"), c"user.one", b"1");
    give_value(&dir.join("f10"), c"user.other", b"2");
    give_value(&dir.join("f10"), c"trusted.secret", b"3");
    give_value(&dir.join("f11"), c"user.private", b"4");
    allow(&dir.join("f11"), 0o600);
}

/// Applies the changes and returns the number of entries looked at; the index agrees with the
/// kernel.
fn looked_at(watched: &mut Watched, about: &str) -> u64 {
    watched.apply();
    compare(about, 0, &watched.kept);
    watched.kept.looked_at
}

fn on_both(work: impl Fn(&mut Watched)) {
    for (kind, size_bytes) in [(FileSystem::Ext4, 64 << 20), (FileSystem::Tmpfs, 16 << 20)] {
        if let Some(mut watched) = Watched::on(kind, size_bytes, plant) {
            work(&mut watched);
            watched.kept.checkpoint(Removal::WhenUnread);
            compare("a snapshot of it", 0, &watched.kept);
            fresh::compare("a scan", 0, &watched.kept.index, &watched.kept.root);
        }
    }
}

#[test]
fn what_is_dirty_is_looked_at_and_nothing_else() {
    on_both(|watched| {
        let dir = watched.tree.join("dir");
        fs::write(dir.join("f00"), "other").expect("room");
        assert_eq!(looked_at(watched, "written"), 1);
        // The directory's own row changes, too.
        fs::write(dir.join("new"), "").expect("room");
        fs::remove_file(dir.join("f01")).expect("it is there");
        assert_eq!(looked_at(watched, "one made, one removed"), 2);
        fs::rename(dir.join("f02"), dir.join("f02-as-well")).expect("it is there");
        assert_eq!(looked_at(watched, "renamed"), 2);
        give_value(&dir.join("f10"), c"user.one", b"another");
        assert_eq!(looked_at(watched, "a value"), 1);
        allow(&dir.join("f12"), 0o640);
        assert_eq!(looked_at(watched, "a mode"), 1);
        fs::remove_file(dir.join("link")).expect("it is there");
        fs::create_dir(dir.join("link")).expect("room");
        assert!(looked_at(watched, "a directory for a link") < 10);
        for number in 20..FILES {
            fs::write(dir.join(format!("f{number}")), "").expect("room");
        }
        let all = fs::read_dir(&dir).expect("it is there").count() as u64;
        assert_eq!(looked_at(watched, "most of them"), all);
    });
}

#[test]
fn rows_of_what_was_there_before_do_not_stay() {
    on_both(|watched| {
        let [dir, other] = ["dir", "other"].map(|name| watched.tree.join(name));
        // The same path and, while it lasts, the same inode number.
        for round in 0..6 {
            fs::remove_dir_all(&dir).expect("it is there");
            fs::create_dir(&dir).expect("room");
            if round % 2 == 1 {
                looked_at(watched, "empty");
            }
            for number in 0..FILES / 2 {
                fs::write(dir.join(format!("g{round}-{number}")), "").expect("room");
            }
            looked_at(watched, "another directory of that name");
        }
        fs::create_dir(&other).expect("room");
        for number in 0..FILES {
            fs::write(other.join(format!("h{number}")), "").expect("room");
        }
        looked_at(watched, "two of them");
        fs::write(other.join("h0"), "before").expect("room");
        let names = [&dir, &other].map(|path| {
            let bytes = std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str());
            std::ffi::CString::new(bytes).expect("no NUL")
        });
        rename(CWD, &names[0], CWD, &names[1], Existing::Exchange).expect("both are there");
        fs::write(dir.join("h1"), "after").expect("room");
        fs::write(other.join("g5-1"), "after").expect("room");
        looked_at(watched, "exchanged");
        fs::remove_dir_all(&dir).expect("it is there");
        fs::rename(&other, &dir).expect("it is there");
        fs::write(dir.join("g5-2"), "moved").expect("room");
        looked_at(watched, "moved into its place");
    });
}

#[test]
fn what_permissions_change_is_placed_with_the_rows_that_stay() {
    on_both(|watched| {
        let dir = watched.tree.join("dir");
        for (number, mode) in [0o700, 0o755, 0o711, 0o751].into_iter().enumerate() {
            allow(&dir, mode);
            fs::write(dir.join("f03"), format!("{number}")).expect("room");
            looked_at(watched, "a directory's mode");
            allow(&dir.join("below"), mode);
            looked_at(watched, "a subdirectory's mode");
            fs::write(dir.join("f04"), format!("{number}")).expect("room");
            assert_eq!(looked_at(watched, "a file"), 1);
            watched.kept.checkpoint(Removal::WhenUnread);
            let Kept { index, root, .. } = &watched.kept;
            fresh::compare(&format!("{mode:o}"), 0, index, root);
        }
        allow(&dir.join("f10"), 0o600);
        looked_at(watched, "its values are private");
        watched.compare("places");
    });
}

/// Opens a file under a name and takes the name from it; the file has another name.
fn opened_by_a_lost_name(watched: &Watched, name: &str, lose: impl Fn(&Path)) -> fs::File {
    let [by, other] = [Path::new("dir").join(name), Path::new("other").join(name)];
    fs::hard_link(watched.tree.join(&by), watched.tree.join(other)).expect("room");
    let file = fs::File::options()
        .append(true)
        .open(watched.tree.join(&by));
    lose(&watched.tree.join(by));
    file.expect("it is there")
}

#[test]
fn changes_reported_under_a_lost_name_are_looked_at_under_the_name_that_is_left() {
    on_both(|watched| {
        let spare = watched.tree.join("dir/f00");
        fs::create_dir(watched.tree.join("other")).expect("room");
        let removed = |path: &Path| fs::remove_file(path).expect("it is there");
        let replaced = |path: &Path| fs::rename(&spare, path).expect("it is there");
        let files = [
            opened_by_a_lost_name(watched, "f20", removed),
            opened_by_a_lost_name(watched, "f21", replaced),
        ];
        looked_at(watched, "the names are lost");
        for mut file in files {
            file.write_all(b"more").expect("room");
            looked_at(watched, "written");
            set_attribute(&file, c"user.one", b"1").expect("root may");
            looked_at(watched, "a value");
            drop(file);
            looked_at(watched, "closed");
        }
    });
}
