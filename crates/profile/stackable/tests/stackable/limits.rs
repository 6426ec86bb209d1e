//! Limits: descriptors, file systems below the source, servers that end.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use trawl_stackable::{Options, enclose};
use trawl_testkit::oracle;

use crate::support::{Stacked, can_mount, entered};

/// What ends without further work ends within this time on a busy machine, too.
const LONG: Duration = Duration::from_secs(60);

/// Returns the number of this process's descriptors for a directory and what is below: other tests
/// have others.
fn descriptors(top: &Path) -> usize {
    let all = fs::read_dir("/proc/self/fd").unwrap().flatten();
    // Some are closed meanwhile.
    let files = all.filter_map(|one| fs::read_link(one.path()).ok());
    files.filter(|file| file.starts_with(top)).count()
}

#[test]
fn many_files_need_few_descriptors() {
    const FILES: usize = 6000;
    let options = Options {
        descriptors_max: 1000,
        ..Options::default()
    };
    let Some(mut stacked) = Stacked::new("descriptors", &options) else {
        return;
    };
    (0..FILES).for_each(|at| fs::write(stacked.below().join(at.to_string()), "x").unwrap());
    let (above, below) = (stacked.above(), stacked.below().canonicalize().unwrap());
    let before = descriptors(&below);
    for at in 0..FILES {
        assert_eq!(fs::metadata(above.join(at.to_string())).unwrap().len(), 1);
    }
    let until = Instant::now() + LONG;
    while descriptors(&below) > before + 600 && Instant::now() < until {
        fs::metadata(above.join("0")).unwrap();
        std::thread::sleep(Duration::from_millis(10));
    }
    let after = descriptors(&below);
    assert!(after <= before + 600, "{after} descriptors");
    // What was forgotten is found again.
    for at in 0..FILES {
        assert_eq!(fs::read(above.join(at.to_string())).unwrap(), b"x");
    }
    stacked.end();
}

#[test]
fn another_file_system_below_the_source_is_refused_and_not_shown() {
    let Some(mut stacked) = Stacked::new("mounts", &Options::default()) else {
        return;
    };
    let inner = stacked.below().join("inner");
    fs::create_dir(&inner).unwrap();
    fs::write(inner.join("covered"), "").unwrap();
    let mount = rustix::mount::mount(
        "none",
        &inner,
        "tmpfs",
        rustix::mount::MountFlags::empty(),
        None,
    );
    if let Err(error) = mount {
        trawl_testkit::skip::Skip::new("a mount below the source", error).say();
        return;
    }
    let seen = fs::read_dir(stacked.above().join("inner")).map(|_| ());
    rustix::mount::unmount(&inner, rustix::mount::UnmountFlags::DETACH).unwrap();
    assert_eq!(seen.unwrap_err().kind(), io::ErrorKind::CrossesDevices);
    assert!(fs::read_dir(stacked.above().join("inner")).is_ok());
    stacked.end();
}

#[test]
fn a_mount_inside_its_own_source_does_not_hang() {
    if !can_mount() {
        return;
    }
    let scratch = trawl_testkit::scratch::Scratch::new("inside");
    let (source, point) = (scratch.path().to_owned(), scratch.join("point"));
    fs::create_dir(&point).unwrap();
    let mut serving = trawl_stackable::mount(&source, &point, &Options::default()).unwrap();
    let inside = fs::metadata(point.join("point")).map(|_| ());
    assert_eq!(inside.unwrap_err().kind(), io::ErrorKind::CrossesDevices);
    serving.unmount().unwrap();
    serving.wait().unwrap();
}

#[test]
fn a_command_sees_its_mount_and_nobody_else_does() {
    if !can_mount() {
        return;
    }
    let scratch = trawl_testkit::scratch::Scratch::new("enclosed");
    fs::write(scratch.join("f"), "content").unwrap();
    let script = format!(
        "cd {0} && cat f && echo new > g && grep -c {0} /proc/self/mounts",
        scratch.path().display()
    );
    let mut command = oracle::command("sh");
    command.args(["-c", &script]);
    let serving = enclose(&mut command, scratch.path(), &Options::default()).unwrap();
    let ran = oracle::run(&mut command).expect_code(0);
    assert_eq!(ran.text(), "content1\n");
    assert_eq!(fs::read(scratch.join("g")).unwrap(), b"new\n");
    assert!(serving.wait_for(LONG));
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(!mounts.contains(scratch.path().to_str().unwrap()));
    serving.wait().unwrap();
}

#[test]
fn everything_that_a_command_does_is_recorded() {
    if !can_mount() {
        return;
    }
    let scratch = trawl_testkit::scratch::Scratch::new("enclosed-counts");
    let script = format!(
        "cd {} && for i in 1 2 3 4 5; do mkdir d$i; echo x > d$i/f; done; rm -r d1",
        scratch.path().display()
    );
    let mut command = oracle::command("sh");
    command.args(["-c", &script]);
    let serving = enclose(&mut command, scratch.path(), &Options::default()).unwrap();
    oracle::run(&mut command).expect_code(0);
    assert!(serving.wait_for(LONG));
    let profile = serving.wait().unwrap();
    for (operation, expected) in [
        ("mkdir", 5),
        ("create", 5),
        ("write", 5),
        ("rmdir", 1),
        ("unlink", 1),
    ] {
        assert_eq!(entered(&profile, operation), expected, "{operation}");
    }
    let released = entered(&profile, "open") + entered(&profile, "create");
    assert_eq!(entered(&profile, "release"), released);
    assert!(!Path::new(&scratch.join("d1")).exists());
}
