//! Several threads with random operations: the tree below is the one that the plain directory has, and
//! every operation that began has ended.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{CWD, RenameFlags, XattrFlags};
use trawl_stackable::{Data, Options};
use trawl_testkit::prng::Prng;

use crate::support::{Stacked, describe};

const THREADS: u64 = 4;
const STEPS: usize = 1500;

/// One random operation among few names, so that many meet. Errors are part of the game.
fn step(top: &Path, prng: &mut Prng) -> bool {
    let mut path = top.to_owned();
    for _ in 0..prng.below(3) {
        path.push(prng.word(&["d", "e"]));
    }
    let one = path.join(prng.word(&["a", "b", "c", "d", "e"]));
    let two = top.join(prng.word(&["a", "b", "d/a", "e/b", "d/e/c", "e"]));
    let bytes = vec![prng.bits() as u8; prng.below(20_000) as usize];
    let offset = prng.below(50_000);
    let write = |append| {
        let mut options = OpenOptions::new();
        options
            .write(true)
            .create(true)
            .append(append)
            .truncate(false);
        let file = options.open(&one)?;
        file.write_all_at(&bytes, offset)
    };
    match prng.below(13) {
        0 | 1 => write(false).is_ok(),
        2 => fs::create_dir(&one).is_ok(),
        3 => fs::remove_file(&one).is_ok(),
        4 => fs::remove_dir(&one).is_ok(),
        5 => fs::rename(&one, &two).is_ok(),
        6 => rustix::fs::renameat_with(CWD, &one, CWD, &two, RenameFlags::EXCHANGE).is_ok(),
        7 => fs::hard_link(&one, &two).is_ok(),
        8 => std::os::unix::fs::symlink("d/../a", &one).is_ok(),
        9 => rustix::fs::lsetxattr(
            &one,
            "user.k",
            &bytes[..bytes.len() / 100],
            XattrFlags::empty(),
        )
        .is_ok(),
        10 => fs::read(&one).is_ok(),
        11 => {
            let file = OpenOptions::new().write(true).open(&one);
            file.and_then(|file| file.set_len(offset)).is_ok()
        }
        _ => fs::read_dir(&path).is_ok_and(|entries| entries.flatten().count() > 0),
    }
}

fn run(top: &Path) -> Vec<Vec<bool>> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|seed| {
                scope.spawn(move || {
                    let top = top.join(seed.to_string());
                    fs::create_dir(&top).unwrap();
                    let mut prng = Prng::new(seed);
                    (0..STEPS).map(|_| step(&top, &mut prng)).collect()
                })
            })
            .collect();
        threads.into_iter().map(|one| one.join().unwrap()).collect()
    })
}

#[test]
fn random_operations_of_several_threads_end_in_the_same_tree() {
    let kernel = Options {
        data: Data::Kernel,
        ..Options::default()
    };
    for options in [Options::default(), kernel] {
        let Some(mut stacked) = Stacked::new("stress", &options) else {
            return;
        };
        let (plain, through) = (run(&stacked.plain()), run(&stacked.above()));
        assert_eq!(plain, through);
        stacked.end();
        assert_eq!(describe(&stacked.below()), describe(&stacked.plain()));
    }
}
