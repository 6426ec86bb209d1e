//! Tests of times, over files whose times lie on, just before and just after
//! every limit, and at the ends of the range that a file system stores.

use std::fs::{File, FileTimes};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::site::Site;

const DAY_NS: i128 = 86_400_000_000_000;
const MINUTE_NS: i128 = 60_000_000_000;
const SECOND_NS: i128 = 1_000_000_000;

/// `nan` is left out, since GNU find fails an assertion at it.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "0.5",
    ".5",
    "1.5",
    "2.25",
    "1.",
    "1e0",
    "1e-9",
    "0x1",
    "0x1.8",
    "0x1p-1",
    "0X2",
    "0x.8",
    "0x.",
    "0x1p",
    "-0x1p1",
    "--0xA",
    "0x1P2",
    "+0",
    "+1",
    "+2",
    "+0.5",
    "+1.5",
    "+.000001",
    "-0",
    "-1",
    "-2",
    "-3",
    "-0.5",
    "-1.5",
    "--1",
    "-+1",
    "+-1",
    "++1",
    "--0.5",
    "20000",
    "+20000",
    "-20000",
    "1e300",
    "-1e300",
    "+1e300",
    "inf",
    "+inf",
    "-inf",
    "infinity",
    "99999999999",
    "-99999999999",
    "1e18",
    "",
    "+",
    "-",
    "x",
    "1d",
    " 1",
    "1 ",
    "1e",
    "0x",
    "1_0",
    "1,5",
    "٣",
    "1e+0",
    "1E1",
    "+ 1",
    "- 1",
];

/// The modification times of the files, in nanoseconds since 1970.
fn moments(now: i128) -> Vec<i128> {
    let midnight = now - now.rem_euclid(DAY_NS);
    let around = [-SECOND_NS, -1, 0, 1, SECOND_NS / 2, SECOND_NS];
    let mut moments = Vec::new();
    for days in -3..=3 {
        moments.extend(around.map(|off| midnight + days * DAY_NS + off));
        moments.push(midnight + days * DAY_NS + DAY_NS / 2);
        moments.push(now + days * DAY_NS + 30 * SECOND_NS);
    }
    for minutes in -3..=3 {
        let end = midnight + DAY_NS + minutes * MINUTE_NS;
        moments.extend(around.map(|off| end + off));
        moments.push(end + MINUTE_NS / 2);
        moments.push(now + minutes * MINUTE_NS + 30 * SECOND_NS);
    }
    let far = [
        -5.5,
        -1.0,
        0.0,
        0.5,
        1.0,
        2e9,
        2_147_483_647.0,
        2_147_483_648.0,
        9_223_372_036.5,
        9_223_372_037.5,
        15_032_385_535.0,
        -2_147_483_648.0,
        1e11,
        1e12,
        -1e12,
        4e17,
        -4e17,
        -1e11,
    ];
    moments.extend(far.map(|secs: f64| (secs * 1e9) as i128));
    moments
}

fn time(nanos: i128) -> SystemTime {
    let off = Duration::new(
        (nanos.unsigned_abs() / SECOND_NS.unsigned_abs()) as u64,
        (nanos.unsigned_abs() % SECOND_NS.unsigned_abs()) as u32,
    );
    match nanos < 0 {
        true => UNIX_EPOCH - off,
        false => UNIX_EPOCH + off,
    }
}

/// Creates files whose access and modification times lie around the limits.
fn build(root: &Path) -> io::Result<()> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = since.map_err(io::Error::other)?.as_nanos() as i128;
    for (at, moment) in moments(now).into_iter().enumerate() {
        let file = File::create(root.join(format!("f{at}")))?;
        // Accessed from just before the modification to just over a day after
        // it.
        let read = moment + [0, DAY_NS / 2, DAY_NS, DAY_NS + 1, -1][at % 5];
        let times = FileTimes::new().set_modified(time(moment));
        file.set_times(times.set_accessed(time(read)))?;
    }
    // Equal to the nanosecond, and off by one.
    for (name, nanos) in [("a", 5), ("b", 5), ("c", 6), ("d", 4)] {
        let file = File::create(root.join(name))?;
        let moment = time(now - 3 * DAY_NS / 2 + nanos);
        file.set_times(FileTimes::new().set_modified(moment).set_accessed(moment))?;
    }
    // Accessed after the last status change, by about a limit or by exactly a
    // limit.
    for hours in [-1, 1, 23, 24, 25, 47, 48, 49] {
        let path = root.join(format!("used{hours}"));
        let file = File::create(&path)?;
        let read = time(now + i128::from(hours) * 60 * MINUTE_NS);
        file.set_times(FileTimes::new().set_accessed(read).set_modified(read))?;
        let changed = changed_at(&path)?;
        let exactly = root.join(format!("exactly{hours}"));
        let other = File::create(&exactly)?;
        let read = time(changed + i128::from(hours) * 60 * MINUTE_NS);
        other.set_times(FileTimes::new().set_accessed(read))?;
    }
    Ok(())
}

fn changed_at(path: &Path) -> io::Result<i128> {
    use std::os::unix::fs::MetadataExt;
    let meta = std::fs::symlink_metadata(path)?;
    Ok(i128::from(meta.ctime()) * SECOND_NS + i128::from(meta.ctime_nsec()))
}

#[test]
fn ages_are_what_they_are_for_find() {
    let site = Site::build(build);
    let mut differences = Vec::new();
    let mut check = |words: &[&str]| {
        let words: Vec<Vec<u8>> = words.iter().map(|w| w.as_bytes().to_vec()).collect();
        differences.extend(site.difference(&words));
    };
    for test in [
        "-mtime", "-atime", "-ctime", "-mmin", "-amin", "-cmin", "-used",
    ] {
        for number in NUMBERS {
            check(&["tree", test, number, "-print0"]);
            check(&["tree", "-daystart", test, number, "-print0"]);
        }
    }
    for number in ["0", "1", "-1", "+1", "1.5"] {
        check(&["tree", "-mtime", number, "-daystart", "-print0"]);
        check(&[
            "tree",
            "-mtime",
            number,
            "-daystart",
            "-mmin",
            "-3000",
            "-print0",
        ]);
        check(&[
            "tree",
            "-daystart",
            "-daystart",
            "!",
            "-mmin",
            number,
            "-print0",
        ]);
    }
    for test in [
        "-newer", "-anewer", "-cnewer", "-newermm", "-neweram", "-newerma", "-newercm",
    ] {
        for file in ["a", "b", "c", "d", "f0", "f5", "f90", "f91", "f92", "f100"] {
            check(&["tree", test, &format!("tree/{file}"), "-print0"]);
        }
    }
    for date in [
        "@0",
        "@-1",
        "@-5.5",
        "@-6",
        "@0.5",
        "@1",
        "@2147483647",
        "@9223372036.5",
        "@1e9",
        "@-",
        "@15032385535",
        "@99999999999",
        "yesterday",
        "today",
        "tomorrow",
        "00:00",
        "1970-01-01",
        "1969-12-31 23:59:54.5",
        "2262-04-11",
        "2262-04-12",
        "2446-05-10",
        "1901-12-13",
        "foo",
        "",
    ] {
        for test in ["-newermt", "-newerat", "-newerct"] {
            check(&["tree", test, date, "-print0"]);
        }
    }
    let many = differences.len();
    assert!(many == 0, "{many} differ\n{}", differences.join("\n"));
}
