//! Random changes of a tree: after each, the table answers as the kernel does for the path.

use std::fs::{File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};

use trawl_direct::{FileId, Table};
use trawl_testkit::skip::without_root;

use super::site::{Site, USER, as_user, row};

const DIRECTORIES: [&str; 5] = ["a", "a/b", "a/b/c", "d", "d/e"];
const STEPS: u64 = 400;

/// A sequence of numbers that look random (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

/// Changes something; what the kernel refuses, such as a rename into itself, changes nothing.
fn change(site: &Site, names: &[String], numbers: &mut Numbers) {
    let name = &names[numbers.below(names.len())];
    let other = &names[numbers.below(names.len())];
    let directory = DIRECTORIES[numbers.below(DIRECTORIES.len())];
    let another = DIRECTORIES[numbers.below(DIRECTORIES.len())];
    let mode = [0o755, 0o700, 0o711, 0o744, 0o000][numbers.below(5)];
    let path = site.path(name);
    let _ = match numbers.below(9) {
        0..=2 => std::fs::set_permissions(site.path(directory), Permissions::from_mode(mode)),
        3 => std::fs::set_permissions(&path, Permissions::from_mode(mode)),
        4 => std::fs::rename(&path, site.path(other)),
        5 => std::fs::rename(site.path(directory), site.path(another)),
        6 => std::fs::remove_file(&path).and_then(|()| std::fs::write(&path, "again")),
        7 => std::fs::remove_file(&path).and_then(|()| symlink(site.path(other), &path)),
        _ => chown(
            site.path(directory),
            Some(if mode == 0o700 { USER } else { 0 }),
            None,
        ),
    };
}

/// Returns whether the kernel opens the path, without following a link at its end, as the file of
/// this id.
fn kernel(site: &Site, name: &str, id: FileId) -> bool {
    let path = site.path(name);
    let is_real = std::fs::canonicalize(&path).is_ok_and(|real| real == path);
    is_real
        && File::open(&path).is_ok_and(|file| file.metadata().unwrap().ino() == id.ino())
        && row(&path) == id
}

#[test]
fn answers_are_the_kernels_whatever_changes() {
    if let Some(skip) = without_root("another user") {
        return skip.say();
    }
    for seed in 1..4 {
        let names: Vec<String> = DIRECTORIES
            .iter()
            .flat_map(|directory| (0..3).map(move |number| format!("{directory}/f{number}")))
            .collect();
        let words: Vec<&str> = names.iter().map(String::as_str).collect();
        let site = Site::new(&words);
        let mut table = Table::new();
        let ids: Vec<FileId> = names
            .iter()
            .map(|name| site.add(&mut table, name))
            .collect();
        // Otherwise a new file could have the number and the time of birth of an old one.
        std::thread::sleep(std::time::Duration::from_millis(20));
        let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed));
        let (mut opened, mut refused) = (0, 0);
        for step in 0..STEPS {
            change(&site, &names, &mut numbers);
            as_user(|| {
                for (name, id) in names.iter().zip(&ids) {
                    let ours = table.open(id);
                    assert_eq!(
                        ours.is_ok(),
                        kernel(&site, name, *id),
                        "{seed} {step} {name}: {ours:?}"
                    );
                    opened += usize::from(ours.is_ok());
                    refused += usize::from(ours.is_err());
                }
            });
        }
        assert!(opened > 100 && refused > 100, "{opened} {refused}");
    }
}
