//! `top`, `duplicates` and `stats` of several kinds, compared with find and du, as root and as a
//! user with few rights.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::{PermissionsExt, chown};

use trawl_testkit::oracle::{self, Identity, Ran};
use trawl_testkit::skip::without_root;

use crate::site::{Site, objects};

const USER: u32 = 4711;

/// Returns the values in lines of numbers that find printed, each object once; a line has device,
/// inode number and a value.
fn once(ran: &Ran) -> Vec<i128> {
    let mut objects = BTreeSet::new();
    let text = ran.text();
    let lines = text.lines().filter_map(|line| {
        let (object, value) = line.split_once(' ').unwrap();
        objects
            .insert(object.to_owned())
            .then(|| nanos_of_find(value))
    });
    lines.collect()
}

/// Parses `1970-01-01T00:00:01.500000000Z` as nanoseconds since 1970, by the calendar of
/// <https://howardhinnant.github.io/date_algorithms.html#days_from_civil>.
fn nanos_of_rfc3339(text: &str) -> i128 {
    let numbers = text.trim_end_matches('Z').split(['-', 'T', ':', '.']);
    let numbers: Vec<i128> = numbers.map(|number| number.parse().unwrap()).collect();
    let [year, month, day, hour, minute, second, rest] = numbers[..] else {
        panic!("{text}");
    };
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year - era * 400;
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
    seconds * 1_000_000_000 + rest
}

/// Parses a time as find writes it: the decimals are added to whole seconds, before 1970 as after
/// it.
fn nanos_of_find(text: &str) -> i128 {
    let (secs, rest) = parts(text);
    secs + rest
}

/// Returns the number before the point, and the nanoseconds after it, if there is a point.
fn parts(text: &str) -> (i128, i128) {
    match text.split_once('.') {
        None => (text.parse().unwrap(), 0),
        Some((secs, rest)) => {
            let rest = format!("{rest:0<9}");
            let secs: i128 = secs.parse().unwrap();
            (secs * 1_000_000_000, rest[..9].parse().unwrap())
        }
    }
}

/// Returns the values of a key in objects as they are written: a JSON parser would round times.
fn values(ran: &Ran, key: &str) -> Vec<i128> {
    let text = ran.text();
    let key = format!("\"{key}\":");
    let value = |line: &str| {
        let (_, rest) = line.split_once(&key).unwrap();
        let value = rest.split([',', '}']).next().unwrap();
        match value.trim_matches('"') {
            time if time.ends_with('Z') => nanos_of_rfc3339(time),
            number => number.parse().unwrap(),
        }
    };
    text.lines().map(value).collect()
}

fn first(mut all: Vec<i128>, n: usize) -> Vec<i128> {
    all.sort_unstable_by(|a, b| b.cmp(a));
    all.truncate(n);
    all
}

#[test]
fn the_largest_and_the_newest_are_those_of_find() {
    let site = Site::odd("top-files");
    for (options, letter, key) in [
        ("", "%b", "blocks"),
        ("--apparent-size", "%s", "size"),
        ("--newest", "%T@", "mtime"),
        ("--newest=ctime", "%C@", "ctime"),
    ] {
        let listed = site.gnu(&format!("find . -type f -printf %D:%i\\040{letter}\\n"));
        let listed = once(&listed);
        let got = values(&site.run(&format!("top --json -n 9 {options}")), key);
        assert_eq!(got, first(listed, 9), "{options}");
    }
    let oldest = once(&site.gnu("find . -type f -printf %D:%i\\040%T@\\n"));
    let oldest: Vec<i128> = oldest.into_iter().map(|time| -time).collect();
    let got = values(&site.run("top --json -n 9 --oldest"), "mtime");
    let got: Vec<i128> = got.into_iter().map(|time| -time).collect();
    assert_eq!(got, first(oldest, 9));
    let named = site.gnu("find . -type f -name *a* -printf %D:%i\\040%s\\n");
    let got = site.run("top --json --apparent-size -n 5 . -- -name *a*");
    // The size of an object does not depend on which of its names is met first.
    assert_eq!(values(&got, "size"), first(once(&named), 5));
    let dirs = site
        .run("top --json --newest . -n 3 -- -type d")
        .expect_code(0);
    assert!(
        objects(&dirs).iter().all(|row| row["type"] == "d"),
        "{dirs}"
    );
}

/// Creates a tree without files that have names in several directories, because du would count each
/// in the first one that it meets.
fn plain(label: &str) -> Site {
    let site = Site::empty(label);
    for (dir, files) in [("a", 3), ("a/b", 40), ("a/b/c", 1), ("d", 7), ("e", 0)] {
        let dir = site.tree().join(dir);
        std::fs::create_dir_all(&dir).unwrap();
        for at in 0..files {
            std::fs::write(dir.join(format!("f{at}.dat")), vec![b'x'; at * 3000]).unwrap();
        }
    }
    let tree = site.tree();
    std::fs::hard_link(tree.join("d/f5.dat"), tree.join("d/again")).unwrap();
    site.index();
    site
}

#[test]
fn directories_are_those_of_du() {
    let site = plain("top-dirs");
    for (options, du) in [
        ("--by space", "du -B1 ."),
        ("--by entries", "du --inodes ."),
    ] {
        let ran = site
            .run(&format!("top --json --dirs -n 100 {options}"))
            .expect_code(0);
        let got: Vec<(u64, String)> = objects(&ran)
            .iter()
            .map(|row| {
                let value = match options {
                    // du counts the directory itself.
                    "--by entries" => row["entries"].as_u64().unwrap() + 1,
                    _ => row["disk_bytes"].as_u64().unwrap(),
                };
                (value, row["path"].as_str().unwrap().to_owned())
            })
            .collect();
        assert!(got.is_sorted_by(|a, b| a.0 >= b.0), "{got:?}");
        let text = site.gnu(du).expect_code(0).text();
        let wanted: BTreeSet<(u64, String)> = text
            .lines()
            .map(|line| line.split_once('\t').unwrap())
            .map(|(value, path)| (value.parse().unwrap(), path.to_owned()))
            .collect();
        assert_eq!(
            got.into_iter().collect::<BTreeSet<_>>(),
            wanted,
            "{options}"
        );
    }
    let fullest = site.run("top --fullest -n 2").expect_code(0).text();
    assert_eq!(fullest, "41\t./a/b\n8\t./d\n");
    assert_eq!(site.run("top --fullest -0 -n 1").stdout, b"./a/b\0");
    let csv = site.run("top --dirs --csv -n 1").text();
    assert!(
        csv.starts_with("path,path_raw,entries,size,disk_bytes\n.,,"),
        "{csv}"
    );
}

#[test]
fn owners_have_each_object_once() {
    let site = Site::odd("top-owners");
    let listed = site.gnu("find . -printf %D:%i\\040%U\\040%b\\n").text();
    let mut seen = BTreeSet::new();
    let mut wanted: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for line in listed.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        if seen.insert(words[0].to_owned()) {
            let sum = wanted.entry(words[1].parse().unwrap()).or_default();
            sum.0 += 1;
            sum.1 += words[2].parse::<u64>().unwrap() * 512;
        }
    }
    let sums = |line: &str| -> Vec<(u64, u64)> {
        let rows = objects(&site.run(line).expect_code(0));
        let number = |row: &serde_json::Value, key: &str| row[key].as_u64().unwrap();
        rows.iter()
            .map(|row| (number(row, "entries"), number(row, "disk_bytes")))
            .collect()
    };
    let mut wanted: Vec<(u64, u64)> = wanted.into_values().collect();
    wanted.sort_unstable_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    let mut by_space = sums("top --owners --json -n 1000");
    assert!(by_space.is_sorted_by(|a, b| a.1 >= b.1));
    by_space.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(by_space, wanted);
    assert!(sums("top --owners --by files --json").is_sorted_by(|a, b| a.0 >= b.0));
    assert!(sums("top --extensions --json").is_sorted_by(|a, b| a.1 >= b.1));
    for line in ["top --groups", "top --projects", "top --extensions -n 2"] {
        assert!(
            site.run(line).expect_code(0).text().lines().count() > 1,
            "{line}"
        );
    }
}

#[test]
fn several_kinds_are_counted_together() {
    let site = Site::odd("stats-together");
    let count = |line: &str| -> (usize, u64) {
        let rows = objects(&site.run(line).expect_code(0));
        let entries = rows.iter().map(|row| row["entries"].as_u64().unwrap());
        (rows.len(), entries.sum())
    };
    let all = site.gnu("find . -printf .").stdout.len() as u64;
    let (rows, entries) = count("stats --json --by owner,type");
    assert!(rows > 2 && entries == all, "{rows} {entries} {all}");
    assert_eq!(count("stats --json --by owner,type -n 1"), (2, all));
    for by in ["depth", "name-length", "project"] {
        assert_eq!(count(&format!("stats --json --by {by}")).1, all, "{by}");
    }
    let named = site.gnu("find . -name *a* -printf .").stdout.len() as u64;
    assert_eq!(count("stats --json --by type . -- -name *a*").1, named);
    let deep = site
        .gnu("find . -mindepth 2 -maxdepth 3 -printf .")
        .stdout
        .len() as u64;
    assert_eq!(
        count("stats --json --by type . -- -mindepth 2 -maxdepth 3").1,
        deep
    );
    let rows = objects(&site.run("stats --json --by fullness").expect_code(0));
    let dirs = rows.iter().map(|row| row["directories"].as_u64().unwrap());
    let listed = site.gnu("find . -type d -printf .").stdout.len() as u64;
    assert_eq!(dirs.sum::<u64>(), listed);
}

/// Creates a tree with files that are alike in several ways.
fn alike(label: &str) -> Site {
    let site = Site::empty(label);
    let tree = site.tree();
    std::fs::create_dir_all(tree.join("x/y")).unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(tree.join(name), bytes).unwrap();
    let (long, other) = (vec![b'l'; 70_000], {
        let mut other = vec![b'l'; 70_000];
        other[35_000] = b'm';
        other
    });
    write("one", &long);
    write("x/two", &long);
    write("x/y/three", &other);
    write("same", b"12345");
    write("x/same", b"12345");
    write("x/y/five", b"54321");
    write("lonely", b"123456");
    write("empty", b"");
    write("x/empty", b"");
    std::fs::hard_link(tree.join("lonely"), tree.join("x/lonely")).unwrap();
    site.index();
    site
}

#[test]
fn duplicates_are_told_in_groups() {
    let site = alike("duplicates");
    let groups = |line: &str, code: i32| -> Vec<Vec<String>> {
        let ran = site.run(line).expect_code(code);
        let text = String::from_utf8(ran.stdout).unwrap();
        let groups = text.split("\0\0").filter(|group| !group.is_empty());
        let paths = |group: &str| group.split('\0').map(String::from).collect();
        groups.map(paths).collect()
    };
    let by_size = [
        vec!["./one", "./x/two", "./x/y/three"],
        vec!["./same", "./x/same", "./x/y/five"],
    ];
    assert_eq!(groups("duplicates -0", 0), by_size);
    assert_eq!(groups("duplicates -0 --min-size 1K", 0), by_size[..1]);
    assert_eq!(groups("duplicates -0 -n 1", 0), by_size[..1]);
    assert_eq!(groups("duplicates -0 --name", 0), [["./same", "./x/same"]]);
    let verified = [["./one", "./x/two"], ["./same", "./x/same"]];
    assert_eq!(groups("duplicates -0 --verify", 0), verified);
    let everything = groups("duplicates -0 --min-size 0", 0);
    assert_eq!(everything[2], ["./empty", "./x/empty"]);
    let rows = objects(&site.run("duplicates --json --verify"));
    assert_eq!(rows[0]["size"], 70_000);
    assert_eq!(rows[0]["files"][1]["path"], "./x/two");
    assert!(rows[0]["reclaimable_bytes"].as_u64().unwrap() >= 70_000);
    let csv = site.run("duplicates --csv").text();
    assert_eq!(csv.lines().count(), 7, "{csv}");
    let text = site.run("duplicates").expect_code(0).text();
    assert!(
        text.contains("3 files, ") && text.ends_with(" to gain\n"),
        "{text}"
    );
    // Changed files are left out, and so are files that were replaced by links.
    let tree = site.tree();
    std::fs::write(tree.join("x/same"), b"now it is longer").unwrap();
    assert_eq!(groups("duplicates -0 --verify", 1), [["./one", "./x/two"]]);
    std::fs::rename(tree.join("x"), tree.join("moved")).unwrap();
    std::os::unix::fs::symlink("moved", tree.join("x")).unwrap();
    assert_eq!(
        groups("duplicates -0 --verify", 1),
        Vec::<Vec<String>>::new()
    );
}

#[test]
fn verified_duplicates_are_those_of_sha256sum() {
    let site = Site::empty("duplicates-many");
    let sizes = [1, 4095, 4096, 4097, 8191, 8192, 8193, 20_000, 200_000];
    for at in 0..600_usize {
        let mut bytes = vec![b'x'; sizes[at % sizes.len()]];
        // The middle, the ends, or nothing tells files of one size apart.
        let (place, last) = (at / sizes.len() % 5, bytes.len() - 1);
        let differing = [0, last / 2, last, last.min(4096), last.min(5000)][place];
        bytes[differing] = b'a' + (at / 50) as u8;
        let dir = site.tree().join(format!("d{}", at % 7));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join(format!("f{at}")), bytes).unwrap();
    }
    site.index();
    let mut sums: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let told = site.gnu("find . -type f -exec sha256sum {} +").text();
    for line in told.lines() {
        let (sum, path) = line.split_once("  ").unwrap();
        sums.entry(sum.to_owned()).or_default().push(path.into());
    }
    let expected: BTreeSet<BTreeSet<String>> = sums
        .into_values()
        .filter(|paths| paths.len() > 1)
        .map(|paths| paths.into_iter().collect())
        .collect();
    let text = site.run("duplicates -0 --verify").expect_code(0).text();
    let groups = text.split("\0\0").filter(|group| !group.is_empty());
    let groups: Vec<Vec<&str>> = groups.map(|group| group.split('\0').collect()).collect();
    let found: BTreeSet<BTreeSet<String>> = groups
        .iter()
        .map(|paths| paths.iter().map(|path| (*path).to_owned()).collect())
        .collect();
    assert!(expected.len() > 20, "{}", expected.len());
    assert_eq!(found, expected);
    assert_eq!(groups.len(), found.len(), "each group once");
    let size = |group: &Vec<&str>| std::fs::metadata(site.tree().join(group[0])).unwrap().len();
    assert!(groups.iter().map(size).is_sorted_by(|a, b| a >= b));
    // A file that cannot be read as it was indexed counts for the groups that are shown, alone.
    let least = groups.last().unwrap()[0];
    std::fs::write(site.tree().join(least), "longer").unwrap();
    site.run("duplicates -0 --verify -n 1").expect_code(0);
    site.run("duplicates -0 --verify").expect_code(1);
}

#[test]
fn mistakes_are_told() {
    let site = plain("top-usage");
    for line in [
        "top --by entries",
        "top --oldest=then",
        "top --dirs --files",
        "top --dirs . -- -name x",
        "top . -- -delete",
        "top . -- -print",
        "top . -- -name x -prune",
        "top . -- -nonsense",
        "top . -- -empty",
        "stats --by owner,depth",
        "stats --by owner,colour",
        "duplicates --min-size much",
        "top none",
        "duplicates none",
    ] {
        let ran = site.run(line).expect_code(2);
        assert_eq!(ran.text(), "", "{line}");
        assert!(!ran.errors().is_empty(), "{line}");
    }
    assert!(site.tree().join("d").exists());
    for line in ["top --status", "duplicates --status", "top --dirs --status"] {
        let ran = site.run(line).expect_code(0);
        assert!(ran.errors().contains("0 issues in scope"), "{ran}");
    }
}

#[test]
fn others_are_told_what_the_kernel_would_show() {
    if let Some(skip) = without_root("an index asked by others") {
        return skip.say();
    }
    let site = alike("top-others");
    let tree = site.tree();
    for (dir, mode) in [("closed", 0o700), ("pass", 0o711), ("own", 0o700)] {
        std::fs::create_dir_all(tree.join(dir).join("in")).unwrap();
        for name in ["big", "in/big.secret", "12345"] {
            std::fs::write(tree.join(dir).join(name), vec![b'l'; 200_000]).unwrap();
        }
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(tree.join(dir), mode).unwrap();
    }
    chown(tree.join("own"), Some(USER), Some(USER)).unwrap();
    site.index();
    site.scratch
        .install(std::path::Path::new(env!("CARGO_BIN_EXE_trawl")));
    let who = Identity::user(USER);
    let ask = |line: &str| {
        let mut command = who.command(site.scratch.join("trawl"));
        command
            .args(line.split(' '))
            .current_dir(&tree)
            .env("TRAWL_INDEX", site.index_dir());
        oracle::run(&mut command)
    };
    let listed = oracle::gnu(
        "find",
        [".", "-type", "f", "-printf", "%D:%i %s\\n"],
        &tree,
        &who,
    );
    let wanted = first(once(&listed), 1000);
    let ran = ask("top --json --apparent-size -n 1000").expect_code(1);
    assert_eq!(values(&ran, "size"), wanted);
    assert_eq!(wanted.iter().filter(|size| **size == 200_000).count(), 3);
    for line in [
        "top --dirs --json",
        "top --fullest --json",
        "top --extensions --json",
        "top --oldest --json",
        "duplicates --json",
        "stats --json --by extension,owner --by depth --by fullness",
    ] {
        let ran = ask(line).expect_code(1);
        let text = ran.text();
        for secret in ["closed/", "pass/in", "pass/big"] {
            assert!(!text.contains(secret), "{line}: {text}");
        }
        assert!(ran.errors().contains("permission denied"), "{ran}");
    }
    let text = ask("stats --json --by extension").expect_code(1).text();
    let secret = text.lines().find(|line| line.contains("secret")).unwrap();
    assert!(secret.contains("\"entries\":1,"), "{secret}");
    // Files that only others may read are left out of the verification.
    std::fs::set_permissions(tree.join("one"), std::fs::Permissions::from_mode(0o600)).unwrap();
    let ran = ask("duplicates --verify -0 --min-size 60000").expect_code(1);
    let text = ran.text();
    assert!(
        !text.contains("./one") && text.contains("./own/big"),
        "{ran}"
    );
}
