//! A workload gives the same results through the mount as on the plain directory.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use rustix::fs::{
    AtFlags, CWD, FallocateFlags, FileType, Mode, RenameFlags, XattrFlags, fallocate, mkdirat,
    mknodat, renameat_with, setxattr,
};
use trawl_stackable::{Data, Options};

use crate::support::{Stacked, describe};

/// The results of a workload.
#[derive(Default)]
struct Log(Vec<String>);

impl Log {
    fn note<T: std::fmt::Debug, E: Into<io::Error>>(&mut self, what: &str, result: Result<T, E>) {
        let text = match result {
            Ok(value) => format!("{value:?}"),
            Err(error) => format!("errno {:?}", error.into().raw_os_error()),
        };
        self.0.push(format!("{what}: {text}"));
    }

    fn say(&mut self, what: &str, value: impl std::fmt::Debug) {
        self.0.push(format!("{what}: {value:?}"));
    }
}

fn workload(top: &Path) -> Vec<String> {
    let mut log = Log::default();
    names(top, &mut log);
    data(top, &mut log);
    attributes(top, &mut log);
    open_and_gone(top, &mut log);
    mapped(top, &mut log);
    log.0
}

fn names(top: &Path, log: &mut Log) {
    let at = |name: &str| top.join(name);
    log.note("mkdir", fs::create_dir(at("d")));
    log.note("mkdir again", fs::create_dir(at("d")));
    log.note("write", fs::write(at("d/a"), "first"));
    log.note("link", fs::hard_link(at("d/a"), at("b")));
    log.note("link again", fs::hard_link(at("d/a"), at("b")));
    log.say("links", fs::metadata(at("b")).unwrap().nlink());
    log.note("symlink", symlink("../d/./a", at("d/up")));
    log.note("through it", fs::read(at("d/up")));
    log.note("symlink out", symlink("/etc/hostname", at("out")));
    log.note("link to a symlink", fs::hard_link(at("out"), at("out2")));
    log.note("dangling", symlink("nowhere", at("nowhere-link")));
    log.note("through nothing", fs::read(at("nowhere-link")));
    log.note("loop", symlink("loop", at("loop")));
    log.note("through a loop", fs::read(at("loop")));
    log.note("rename", fs::rename(at("b"), at("d/c")));
    log.note("rename missing", fs::rename(at("b"), at("d/e")));
    fs::write(at("x"), "x").unwrap();
    fs::write(at("y"), "y").unwrap();
    let rename = |from: &str, to: &str, flags| renameat_with(CWD, at(from), CWD, at(to), flags);
    log.note("no replace", rename("x", "y", RenameFlags::NOREPLACE));
    log.note("exchange", rename("x", "y", RenameFlags::EXCHANGE));
    log.note("exchanged", fs::read(at("x")));
    log.note("onto a directory", fs::rename(at("x"), at("d")));
    log.note("into itself", fs::rename(at("d"), at("d/d")));
    log.note("rmdir", fs::remove_dir(at("d")));
    log.note("unlink a directory", fs::remove_file(at("d")));
    log.note("through a file", fs::read(at("x/y")));
    log.note("long name", fs::write(at(&"n".repeat(256)), ""));
    log.note("longest name", fs::write(at(&"n".repeat(255)), ""));
    let make = |name: &str, kind, device| {
        mknodat(CWD, at(name), kind, Mode::from_bits_truncate(0o644), device)
    };
    log.note("fifo", make("fifo", FileType::Fifo, 0));
    log.note("socket", make("socket", FileType::Socket, 0));
    let null = rustix::fs::makedev(1, 3);
    log.note("device", make("null", FileType::CharacterDevice, null));
    let far = rustix::fs::makedev(259, 70_000);
    log.note("block device", make("block", FileType::BlockDevice, far));
    log.note("plain node", make("node", FileType::RegularFile, 0));
    log.note("write to the device", fs::write(at("null"), "gone"));
    log.note(
        "sticky",
        mkdirat(CWD, at("t"), Mode::from_bits_truncate(0o1777)),
    );
    for number in 0..3000 {
        fs::write(at(&format!("t/{number}")), "").unwrap();
    }
    let mut seen: Vec<_> = fs::read_dir(at("t"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    seen.sort();
    seen.dedup();
    log.say("names", seen.len());
    let inodes = fs::read_dir(at("d")).unwrap().map(|entry| {
        let entry = entry.unwrap();
        std::os::unix::fs::DirEntryExt::ino(&entry) == entry.metadata().unwrap().ino()
    });
    log.say("inodes agree", inodes.collect::<Vec<_>>());
    // Removing while reading, as rm -r does.
    for entry in fs::read_dir(at("t")).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    log.note("rmdir empty", fs::remove_dir(at("t")));
}

fn data(top: &Path, log: &mut Log) {
    let path = top.join("data");
    let mut open = OpenOptions::new();
    let file = open.read(true).write(true).create_new(true).open(&path);
    log.say("create", file.is_ok());
    log.note("create again", File::create_new(&path).map(|_| ()));
    let mut file = file.unwrap();
    let pattern: Vec<u8> = (0..3_000_000_u32).map(|at| (at % 251) as u8).collect();
    log.note("write", file.write_all(&pattern));
    log.note("write ahead", file.write_at(b"far", 5_000_000));
    log.note(
        "data",
        rustix::fs::seek(&file, rustix::fs::SeekFrom::Hole(0)).map(|_| ()),
    );
    log.note("end", file.seek(SeekFrom::End(-3)));
    let mut text = String::new();
    log.note("read", file.read_to_string(&mut text));
    log.say("text", text);
    log.note("read behind", file.read_at(&mut [0; 9], 9_000_000));
    log.note("truncate", file.set_len(4321));
    log.say("size", fs::metadata(&path).unwrap().len());
    log.note(
        "reserve",
        fallocate(&file, FallocateFlags::KEEP_SIZE, 0, 1 << 20),
    );
    log.say("size after", fs::metadata(&path).unwrap().len());
    let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    log.note("punch", fallocate(&file, punch, 0, 4096));
    log.note("sync", file.sync_all());
    log.note("sync data", file.sync_data());
    let mut appending = OpenOptions::new().append(true).open(&path).unwrap();
    log.note("append", appending.write_all(b"tail"));
    // The offset of another writer does not matter.
    log.note("meanwhile", file.write_at(b"more", 4325));
    log.note("append", appending.write_all(b"end"));
    log.note("where", appending.stream_position());
    let flags = rustix::fs::OFlags::APPEND;
    log.note("append from now on", rustix::fs::fcntl_setfl(&file, flags));
    log.note(
        "appended",
        file.seek(SeekFrom::Start(0)).and_then(|_| file.write(b"!")),
    );
    let other = File::create(top.join("copy")).unwrap();
    let (mut from, mut to) = (100, 7);
    let copied = rustix::fs::copy_file_range(&file, Some(&mut from), &other, Some(&mut to), 1000);
    log.note("copy", copied);
    log.say("offsets", (from, to));
    log.note("read what is only written", (&other).read(&mut [0; 9]));
    log.note(
        "write what is only read",
        File::open(&path).unwrap().write(b"x"),
    );
    log.note(
        "truncate by name",
        rustix::fs::open(
            &path,
            rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::TRUNC,
            Mode::empty(),
        )
        .map(|_| ()),
    );
    log.note(
        "open a directory",
        OpenOptions::new().write(true).open(top).map(|_| ()),
    );
    log.note(
        "no follow",
        OpenOptions::new()
            .read(true)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
            .open(top.join("out"))
            .map(|_| ()),
    );
    let (first, second) = (File::open(&path).unwrap(), File::open(&path).unwrap());
    log.note(
        "lock",
        rustix::fs::flock(&first, rustix::fs::FlockOperation::LockExclusive),
    );
    let again = rustix::fs::FlockOperation::NonBlockingLockExclusive;
    log.note("locked", rustix::fs::flock(&second, again));
    drop(first);
    log.note("unlocked", rustix::fs::flock(&second, again));
}

fn attributes(top: &Path, log: &mut Log) {
    let path = top.join("attributes");
    fs::write(&path, "").unwrap();
    log.note(
        "chmod",
        fs::set_permissions(&path, Permissions::from_mode(0o4751)),
    );
    log.note("chown", std::os::unix::fs::chown(&path, Some(77), Some(88)));
    log.say("suid is cleared", fs::metadata(&path).unwrap().mode());
    let name = top.join("out");
    log.note(
        "chown a symlink",
        std::os::unix::fs::lchown(&name, Some(5), None),
    );
    for (what, seconds) in [("1970", 1), ("2001", 999_999_999)] {
        let time = UNIX_EPOCH + Duration::new(seconds, 123_456_789);
        let times = fs::FileTimes::new().set_modified(time).set_accessed(time);
        log.note(what, File::open(&path).unwrap().set_times(times));
        let data = fs::metadata(&path).unwrap();
        log.say("times", (data.mtime(), data.mtime_nsec(), data.atime()));
    }
    let none = XattrFlags::empty();
    log.note("set", setxattr(&path, "user.key", b"value\0x", none));
    log.note(
        "set new",
        setxattr(&path, "user.key", b"", XattrFlags::CREATE),
    );
    log.note(
        "set old",
        setxattr(&path, "user.other", b"", XattrFlags::REPLACE),
    );
    log.note("set trusted", setxattr(&path, "trusted.key", b"t", none));
    log.note("set bad", setxattr(&path, "nothing.key", b"t", none));
    log.note(
        "set on a symlink",
        rustix::fs::lsetxattr(&name, "user.k", b"v", none),
    );
    log.note(
        "trusted on a symlink",
        rustix::fs::lsetxattr(&name, "trusted.k", b"v", none),
    );
    log.note("size", rustix::fs::getxattr_query(&path, "user.key"));
    log.note(
        "too small",
        rustix::fs::getxattr(&path, "user.key", &mut [0; 3][..]),
    );
    log.note("missing", rustix::fs::getxattr_query(&path, "user.missing"));
    log.note("list", rustix::fs::listxattr_query(&path));
    log.note(
        "remove missing",
        rustix::fs::removexattr(&path, "user.missing"),
    );
    log.note(
        "acl",
        setxattr(&path, "system.posix_acl_access", &acl(), none),
    );
    log.say("mode of an acl", fs::metadata(&path).unwrap().mode());
    let directory = top.join("inheriting");
    fs::create_dir(&directory).unwrap();
    log.note(
        "default acl",
        setxattr(&directory, "system.posix_acl_default", &acl(), none),
    );
    let sgid = Permissions::from_mode(0o2775);
    std::os::unix::fs::chown(&directory, None, Some(99)).unwrap();
    log.note("sgid", fs::set_permissions(&directory, sgid));
    fs::write(directory.join("file"), "").unwrap();
    fs::create_dir(directory.join("sub")).unwrap();
    log.say(
        "inherited",
        fs::metadata(directory.join("file")).unwrap().gid(),
    );
    let whole = rustix::fs::statvfs(top).unwrap();
    log.say(
        "statvfs",
        (
            whole.f_bsize,
            whole.f_frsize,
            whole.f_blocks,
            whole.f_files,
            whole.f_namemax,
        ),
    );
    log.note(
        "access",
        rustix::fs::accessat(CWD, &path, rustix::fs::Access::EXEC_OK, AtFlags::empty()),
    );
}

/// Owner rw, user 1234 r, group r, mask r, others nothing: the kernel's format (version 2).
fn acl() -> Vec<u8> {
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    let none = u32::MAX;
    for (tag, bits, id) in [
        (1, 6, none),
        (2, 4, 1234),
        (4, 4, none),
        (16, 4, none),
        (32, 0, none),
    ] {
        bytes.extend((tag as u16).to_le_bytes());
        bytes.extend((bits as u16).to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

fn open_and_gone(top: &Path, log: &mut Log) {
    let path = top.join("gone");
    let mut open = OpenOptions::new();
    open.read(true).write(true).create(true).truncate(true);
    let mut file = open.open(&path).unwrap();
    file.write_all(b"still here").unwrap();
    log.note("unlink", fs::remove_file(&path));
    log.note("write", file.write(b", and more"));
    log.say(
        "stat",
        (
            file.metadata().unwrap().nlink(),
            file.metadata().unwrap().len(),
        ),
    );
    log.note("truncate", file.set_len(12));
    log.note("chmod", file.set_permissions(Permissions::from_mode(0o600)));
    let mut text = String::new();
    file.seek(SeekFrom::Start(0)).unwrap();
    log.note("read", file.read_to_string(&mut text));
    log.say("text", text);
    fs::create_dir(top.join("dir-gone")).unwrap();
    let directory = File::open(top.join("dir-gone")).unwrap();
    log.note("rmdir", fs::remove_dir(top.join("dir-gone")));
    log.note("in it", rustix::fs::mkdirat(&directory, "x", Mode::empty()));
}

/// Programs map files: they run from there, and a mapping that is written reaches the file.
fn mapped(top: &Path, log: &mut Log) {
    let program = top.join("true");
    // Copied by another process: what another test starts meanwhile would have the copy open for
    // writing, and nobody could run it.
    let mut copy = trawl_testkit::oracle::command("cp");
    let copied = copy.arg("/bin/true").arg(&program).status();
    assert!(copied.unwrap().success());
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let ran = trawl_testkit::oracle::command(&program).status();
    log.note("run", ran.map(|status| status.code()));
    fs::set_permissions(&program, Permissions::from_mode(0o644)).unwrap();
    let ran = trawl_testkit::oracle::command(&program).status();
    log.note("run without permission", ran.map(|status| status.code()));
    let path = top.join("shared");
    fs::write(&path, vec![0; 64]).unwrap();
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&path)
        .unwrap();
    match trawl_sys::shared_words::SharedWords::of(&file, 8) {
        Ok(words) => {
            words.words()[1].store(u64::MAX, std::sync::atomic::Ordering::SeqCst);
            drop(words);
            log.note("sync", file.sync_all());
        }
        Err(error) => log.note::<(), _>("map", Err(io::Error::from(error))),
    }
    log.note("mapped", fs::read(&path));
}

fn compare(label: &str, options: &Options) {
    let Some(mut stacked) = Stacked::new(label, options) else {
        return;
    };
    let plain = workload(&stacked.plain());
    let through = workload(&stacked.above());
    for (plain, through) in plain.iter().zip(&through) {
        assert_eq!(plain, through);
    }
    assert_eq!(plain.len(), through.len());
    let expected = describe(&stacked.plain());
    assert_eq!(describe(&stacked.above()), expected);
    stacked.end();
    assert_eq!(describe(&stacked.below()), expected);
}

#[test]
fn a_workload_has_the_same_results_through_the_server() {
    compare("same", &Options::default());
}

#[test]
fn a_workload_has_the_same_results_with_cached_names() {
    let options = Options {
        cache: Duration::from_secs(3600),
        ..Options::default()
    };
    compare("same-cached", &options);
}

#[test]
fn a_workload_has_the_same_results_with_data_passed_on_by_the_kernel() {
    let options = Options {
        data: Data::Kernel,
        ..Options::default()
    };
    compare("same-kernel", &options);
}
