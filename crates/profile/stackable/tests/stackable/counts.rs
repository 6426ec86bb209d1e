//! Counts: what a workload is known to do, and what strace(1) sees of it.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;

use trawl_stackable::{Data, Options};
use trawl_testkit::oracle;
use trawl_testkit::skip::without_program;

use crate::support::{Stacked, entered};

#[test]
fn counts_are_those_of_the_workload() {
    let Some(mut stacked) = Stacked::new("counts", &Options::default()) else {
        return;
    };
    let top = stacked.above();
    for at in 0..20 {
        fs::create_dir(top.join(format!("d{at}"))).unwrap();
        let mut file = File::create_new(top.join(format!("d{at}/f"))).unwrap();
        (0..5).for_each(|_| file.write_all(&[7; 1000]).unwrap());
        file.sync_all().unwrap();
    }
    for at in 0..19 {
        let file = File::open(top.join(format!("d{at}/f"))).unwrap();
        (0..7).for_each(|part| file.read_exact_at(&mut [0; 100], part * 100).unwrap());
        fs::rename(top.join(format!("d{at}/f")), top.join(format!("r{at}"))).unwrap();
    }
    (0..18).for_each(|at| fs::remove_file(top.join(format!("r{at}"))).unwrap());
    (0..17).for_each(|at| fs::remove_dir(top.join(format!("d{at}"))).unwrap());
    fs::hard_link(top.join("r18"), top.join("linked")).unwrap();
    std::os::unix::fs::symlink("r18", top.join("soft")).unwrap();
    (0..4).for_each(|_| drop(fs::read_link(top.join("soft")).unwrap()));
    OpenOptions::new()
        .write(true)
        .open(top.join("r18"))
        .unwrap()
        .set_len(10)
        .unwrap();
    let profile = stacked.end();
    for (operation, expected) in [
        ("mkdir", 20),
        ("create", 20),
        ("write", 100),
        ("fsync", 20),
        // The last one is opened for writing.
        ("open", 20),
        ("read", 19 * 7),
        ("release", 40),
        ("rename", 19),
        ("unlink", 18),
        ("rmdir", 17),
        ("link", 1),
        ("symlink", 1),
        ("readlink", 4),
        ("setattr", 1),
        ("mknod", 0),
        ("readdir", 0),
    ] {
        assert_eq!(entered(&profile, operation), expected, "{operation}");
    }
    // A program that another test starts meanwhile closes copies of this process's descriptors.
    assert!(entered(&profile, "flush") >= 40);
}

#[test]
fn counts_are_those_that_strace_sees() {
    if let Some(skip) = without_program("counts of the stackable layer", "strace") {
        return skip.say();
    }
    let Some(mut stacked) = Stacked::new("strace", &Options::default()) else {
        return;
    };
    let log = stacked.scratch.join("log");
    let script = "
        mkdir a b c; mkdir -p a/x/y
        dd if=/dev/zero of=zero bs=4096 count=137 status=none
        dd if=zero of=copy bs=8192 status=none
        mv zero a/; ln copy b/hard; ln -s copy soft; mv b/hard c
        truncate -s 100 copy; rm a/zero soft; rmdir b
        cat copy c/hard > /dev/null";
    let mut strace = oracle::command("strace");
    strace.args(["-f", "-y", "-z", "-qq", "-o"]).arg(&log);
    strace
        .args(["sh", "-c", script])
        .current_dir(stacked.above());
    oracle::run(&mut strace).expect_code(0);
    let text = fs::read_to_string(log).unwrap();
    let above = stacked.above();
    let above = above.to_str().unwrap();
    let lines = |call: &str| {
        let call = format!(" {call}(");
        text.lines().filter(|line| line.contains(&call)).count() as u64
    };
    let on_files = |call: &str| {
        let call = format!(" {call}(");
        // The file's name begins behind the number of the descriptor.
        let is_ours = |line: &&str| {
            let (_, rest) = line.split_once(&call).unwrap_or_default();
            let first = rest.split([',', ')']).next().unwrap_or_default();
            first.contains(above)
        };
        text.lines().filter(is_ours).count() as u64
    };
    let profile = stacked.end();
    for (operation, expected) in [
        ("mkdir", lines("mkdir") + lines("mkdirat")),
        ("write", on_files("write")),
        ("read", on_files("read")),
        (
            "rename",
            lines("rename") + lines("renameat") + lines("renameat2"),
        ),
        ("link", lines("link") + lines("linkat")),
        ("symlink", lines("symlink") + lines("symlinkat")),
    ] {
        assert!(expected > 0, "{operation}: {text}");
        assert_eq!(
            entered(&profile, operation),
            expected,
            "{operation}: {text}"
        );
    }
    let removed = lines("unlink") + lines("unlinkat") + lines("rmdir");
    assert_eq!(
        entered(&profile, "unlink") + entered(&profile, "rmdir"),
        removed
    );
}

#[test]
fn data_that_the_kernel_passes_on_are_not_counted_but_everything_else_is() {
    let options = Options {
        data: Data::Kernel,
        ..Options::default()
    };
    let Some(mut stacked) = Stacked::new("kernel", &options) else {
        return;
    };
    fs::write(stacked.above().join("f"), vec![1; 100_000]).unwrap();
    assert_eq!(fs::read(stacked.above().join("f")).unwrap().len(), 100_000);
    let profile = stacked.end();
    assert_eq!(
        (entered(&profile, "create"), entered(&profile, "open")),
        (1, 1)
    );
    let data = entered(&profile, "read") + entered(&profile, "write");
    match data {
        0 => {}
        _ => trawl_testkit::skip::Skip::new(
            "data passed on by the kernel",
            "this kernel lacks FUSE_PASSTHROUGH (Linux 6.9)",
        )
        .say(),
    }
}
