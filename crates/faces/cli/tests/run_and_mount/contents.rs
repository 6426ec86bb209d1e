//! Contents of files that change on the server: no older than promised, of a single version, and
//! never another file's.
//!
//! Each script writes to the tree itself and reads where the tree is shown.

use std::fs;
use std::time::Duration;

use trawl_testkit::oracle;
use trawl_testkit::skip::without_program;

use crate::site::{Site, cannot};

/// Common beginning of the scripts. `AGE` is the agreed age; `wait()` waits longer than that.
const HEAD: &str = r#"
import ctypes, errno, mmap, os, subprocess, sys, time
POINT, TREE, AGE = sys.argv[1], sys.argv[2], float(sys.argv[3])
def wait():
    time.sleep(AGE + 0.3)
def put(name, text, mode="wb"):
    with open(f"{TREE}/{name}", mode) as file:
        file.write(text)
def replace(name, text):
    put("replacing", text)
    os.rename(f"{TREE}/replacing", f"{TREE}/{name}")
def cat(name):
    return subprocess.run(["cat", f"{POINT}/{name}"], stdout=subprocess.PIPE, check=True).stdout
def size(name):
    return int(subprocess.run(["stat", "-c", "%s", f"{POINT}/{name}"], stdout=subprocess.PIPE, check=True).stdout)
def held(name):
    return os.open(f"{POINT}/{name}", os.O_RDONLY)
def same(what, is_, should_be):
    if is_ != should_be:
        sys.exit(f"{what}: {is_!r}, not {should_be!r}")
def stale(call):
    try:
        return call()
    except OSError as error:
        if error.errno not in (errno.ESTALE, errno.EIO):
            raise
        return "stale"
"#;

/// Runs a script with only the mount and with tables, at this age.
#[track_caller]
fn expect(label: &str, ages: &[Duration], options: &[&str], script: &str) {
    if let Some(skip) = cannot(label).or_else(|| without_program(label, "python3")) {
        return skip.say();
    }
    let site = Site::empty(&format!("running-{}", label.replace(' ', "-")));
    for age in ages {
        for way in site.ways() {
            let said = format!("--max-age={}ms", age.as_millis());
            let options = [&[&*said], *way, options].concat();
            run(&site, &options, *age, script);
            fs::remove_dir_all(site.tree()).expect("ours");
            fs::create_dir(site.tree()).expect("room");
        }
    }
    site.expect_nothing_left();
}

#[track_caller]
fn run(site: &Site, options: &[&str], age: Duration, script: &str) {
    let mut command = site.command_with(&site.server(), options);
    command.args(["python3", "-c", &format!("{HEAD}{script}")]);
    command.arg(site.point()).arg(site.tree());
    command.arg(age.as_secs_f64().to_string());
    let ran = oracle::run(&mut command);
    assert_eq!(ran.code, Some(0), "{options:?}: {ran}");
}

const SOON: Duration = Duration::from_millis(200);
const LONG: Duration = Duration::from_secs(3600);

/// A file that is held open grows, shrinks and is rewritten; other readers see the same.
const HELD: &str = r#"
put("log", b"first")
file = held("log")
same("begin", os.read(file, 100), b"first")
put("log", b"second", "ab")
wait()
same("size", size("log"), 11)
same("held", os.read(file, 100), b"second")
same("size after", size("log"), 11)
same("anybody", cat("log"), b"firstsecond")
# As long as before.
put("log", b"FIRSTSECOND", "r+b")
wait()
same("size again", size("log"), 11)
same("held again", os.pread(file, 100, 0), b"FIRSTSECOND")
same("anybody again", cat("log"), b"FIRSTSECOND")
# Nobody looks before it is read.
put("log", b"x" * 5_000_000)
wait()
same("larger", os.pread(file, 9, 4_999_990), b"x" * 9)
put("log", b"short")
wait()
same("shorter", os.pread(file, 100, 0), b"short")
same("its size", os.fstat(file).st_size, 5)
# With the old time.
times = os.stat(f"{TREE}/log")
put("log", b"other", "r+b")
os.utime(f"{TREE}/log", ns=(times.st_atime_ns, times.st_mtime_ns))
wait()
same("its time", os.fstat(file).st_mtime_ns, times.st_mtime_ns)
same("old time", os.pread(file, 100, 0), b"other")
same("anybody, old time", cat("log"), b"other")
"#;

#[test]
fn who_holds_a_file_sees_it_change() {
    expect("a held file", &[SOON, Duration::ZERO], &[], HELD);
}

/// Opening a file shows its content at that time, however old names may be.
const OPENED: &str = r#"
put("file", b"%06d" % 0)
same("at first", cat("file"), b"%06d" % 0)
times = os.stat(f"{TREE}/file")
for number in range(1, 60):
    text = b"%06d" % number + b"." * (number // 20)
    if number % 3 == 0:
        replace("file", text)
    elif number % 3 == 1:
        put("file", text)
        os.utime(f"{TREE}/file", ns=(times.st_atime_ns, times.st_mtime_ns))
    else:
        os.unlink(f"{TREE}/file")
        put("file", text)
    with open(f"{POINT}/file", "rb") as file:
        same("opened", file.read(), text)
        same("its size", os.fstat(file.fileno()).st_size, len(text))
"#;

#[test]
fn who_opens_a_file_sees_what_is_in_it() {
    let ages = [LONG, Duration::ZERO];
    expect("an opened file", &ages, &["--watched-age=0s"], OPENED);
}

/// A file that was replaced shows its own content or is gone; it never shows the other file.
const REPLACED: &str = r#"
put("file", b"old" * 3000)
file = held("file")
same("begin", os.read(file, 3), b"old")
replace("file", b"new" * 3000)
wait()
same("the name", cat("file"), b"new" * 3000)
for _ in range(3):
    if stale(lambda: os.pread(file, 9000, 0)) not in ("stale", b"old" * 3000):
        sys.exit("it is the other file")
    wait()
# Many file systems give its number to the next file.
put("other", b"old")
wait()
file = held("other")
same("begin", os.read(file, 3), b"old")
os.unlink(f"{TREE}/other")
put("other", b"NEW")
same("the name", cat("other"), b"NEW")
wait()
if stale(lambda: os.pread(file, 9000, 0)) not in ("stale", b"old"):
    sys.exit("it is the other file, with the number of the one before")
same("the name again", cat("other"), b"NEW")
# Where logs go.
put("log", b"first")
wait()
file = held("log")
same("begin", os.read(file, 100), b"first")
os.rename(f"{TREE}/log", f"{TREE}/log.1")
put("log.1", b"last", "ab")
put("log", b"anew")
wait()
same("renamed", os.read(file, 100), b"last")
same("anew", cat("log"), b"anew")
"#;

#[test]
fn a_replaced_file_is_itself_or_gone() {
    let options = ["--watched-age=0s"];
    expect(
        "a replaced file",
        &[SOON, Duration::ZERO],
        &options,
        REPLACED,
    );
}

/// A name that is gone never leads to another file that has its inode number by now, however old
/// names may be.
const REUSED: &str = r#"
put("before", b"before")
put("way", b"way")
same("at first", cat("before") + cat("way"), b"beforeway")
number = os.stat(f"{TREE}/before").st_ino
os.unlink(f"{TREE}/before")
put("after", b"after")
if os.stat(f"{TREE}/after").st_ino == number:
    # Who opens a file that was replaced hears of all names beside it.
    replace("way", b"another way")
    same("the way", cat("way"), b"another way")
    same("the new name", cat("after"), b"after")
    try:
        with open(f"{POINT}/before", "rb") as file:
            sys.exit(f"there is {file.read()!r} under the name before")
    except FileNotFoundError:
        pass
    same("the new name again", cat("after"), b"after")
"#;

#[test]
fn a_name_that_is_gone_leads_to_no_other_file() {
    let options = ["--watched-age=0s"];
    expect("a number of two files", &[LONG], &options, REUSED);
}

/// A mapping shows changes without a call, and a running program continues when its file is
/// replaced.
const MAPPED: &str = r#"
PAGES = 300
def text(number):
    return b"".join(b"%08d" % number + b"." * 4088 for _ in range(PAGES))
put("file", text(0))
file = held("file")
shown = mmap.mmap(file, 0, prot=mmap.PROT_READ, flags=mmap.MAP_SHARED)
# Two pages are there already, the others come of the same file.
same("begin", shown[:8] + shown[4096:4104], b"00000000" * 2)
for number in range(1, 4):
    put("file", text(number), "r+b")
    # A thread looks for changes: it has to get its turn.
    until = time.monotonic() + 60
    while int(shown[:8]) != number and time.monotonic() < until:
        time.sleep(0.02)
    for page in range(PAGES):
        same(f"page {page}", int(shown[page * 4096:][:8]), number)
"#;

#[test]
fn a_mapping_shows_what_changes() {
    expect("a mapped file", &[SOON, Duration::ZERO], &[], MAPPED);
}

/// tail(1) follows.
const FOLLOWED: &str = r#"
put("log", b"")
tail = subprocess.Popen(["tail", "-n+1", "-s0.05", "-f", f"{POINT}/log"], stdout=subprocess.PIPE)
for number in range(5):
    put("log", b"line %d\n" % number, "ab")
    same("followed", tail.stdout.readline(), b"line %d\n" % number)
tail.kill()
tail.wait()
"#;

#[test]
fn what_is_written_to_a_log_is_followed() {
    expect("a followed log", &[SOON, Duration::ZERO], &[], FOLLOWED);
}
