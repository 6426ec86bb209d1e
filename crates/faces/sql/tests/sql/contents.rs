//! Functions on the contents of files: the answers are those of reading every file and of
//! `trawl find`, for every user, wherever the call stands. The oracles are a naive evaluation, GNU
//! grep and wc, and `trawl find -keyword`.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use trawl_testkit::oracle::{self, Identity, Ran};
use trawl_testkit::skip::{without_program, without_root};

use crate::sets::{install, trawl};
use crate::site::{Site, sorted};

const NOBODY: u32 = 65534;
const OWNER: u32 = 4711;
/// Files that were changed less than 3 seconds before are not packed.
const SETTLED: Duration = Duration::from_millis(4500);
const FILES: usize = 64;
const WORDS: [&str; 6] = ["SSD", "flash", "NVMe", "tape", "solid state", "state solid"];

/// A test's own evaluation of a condition, on the words of a text.
type Naive = fn(&[&str]) -> bool;

/// Conditions in SQL and of find, with their naive evaluation on regular files.
const CONDITIONS: [(&str, &[&str], Naive); 8] = [
    ("keyword('ssd')", &["-keyword", "ssd"], |words| {
        words.contains(&"ssd")
    }),
    (
        "keyword('ssd AND (flash OR nvme)') AND type = 'f'",
        &["-keyword", "ssd AND (flash OR nvme)"],
        |words| words.contains(&"ssd") && (words.contains(&"flash") || words.contains(&"nvme")),
    ),
    (
        "keyword('tape') AND NOT keyword('ssd')",
        &["-keyword", "tape", "!", "-keyword", "ssd"],
        |words| words.contains(&"tape") && !words.contains(&"ssd"),
    ),
    (
        "type = 'f' AND NOT keyword('file')",
        &["-type", "f", "!", "-keyword", "file"],
        |words| !words.contains(&"file"),
    ),
    (
        "phrase('solid state')",
        &["-phrase", "solid state"],
        |words| words.windows(2).any(|two| two == ["solid", "state"]),
    ),
    (
        "phrase('tape') OR keyword('nvme')",
        &["(", "-phrase", "tape", "-o", "-keyword", "nvme", ")"],
        |words| words.contains(&"tape") || words.contains(&"nvme"),
    ),
    (
        "CASE WHEN keyword('ssd') THEN keyword('nvme') ELSE false END",
        &["-keyword", "ssd nvme"],
        |words| words.contains(&"ssd") && words.contains(&"nvme"),
    ),
    (
        "keyword('absent_everywhere')",
        &["-keyword", "absent_everywhere"],
        |_| false,
    ),
];

fn content(number: usize) -> String {
    let mut text = format!("file {number}\n");
    for (at, word) in WORDS.iter().enumerate() {
        if number >> at & 1 == 1 {
            text += &format!("the {word}, number {number}\n");
        }
    }
    text
}

fn tree(label: &str) -> Site {
    let site = Site::empty(label);
    for number in 0..FILES {
        let path = site.tree().join(format!("dir{}/f{number}.txt", number % 5));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content(number)).unwrap();
    }
    fs::write(site.tree().join("binary"), b"ssd\0flash file").unwrap();
    let odd: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"odd\xff\\name");
    fs::write(site.tree().join("dir0").join(odd), "an SSD file").unwrap();
    std::os::unix::fs::symlink("f0.txt", site.tree().join("dir0/link")).unwrap();
    site
}

/// Returns the regular files below the tree whose words a naive evaluation admits, by inode number:
/// every path has one.
fn expected(site: &Site, naive: Naive) -> Vec<String> {
    let mut found = Vec::new();
    for line in site.find(&["-type", "f", "-printf", "%i\\n"]) {
        let path = oracle::gnu(
            "find",
            [site.tree().as_os_str(), "-inum".as_ref(), line.as_ref()],
            Path::new("/"),
            &Identity::Ourselves,
        );
        let mut bytes = path.stdout.clone();
        bytes.pop();
        let path: PathBuf =
            <std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(bytes).into();
        let bytes = fs::read(path).unwrap();
        let text = match bytes.contains(&0) {
            true => String::new(),
            false => String::from_utf8(bytes).unwrap().to_lowercase(),
        };
        let words: Vec<&str> = text.split(|c: char| !c.is_ascii_alphanumeric()).collect();
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        if naive(&words) {
            found.push(line);
        }
    }
    sorted(found)
}

fn check(site: &Site, program: &Path) {
    let top = site.tree().display().to_string();
    for (condition, words, naive) in CONDITIONS {
        let query = format!("SELECT ino FROM entries WHERE {condition}");
        let rows = sorted(site.rows(&query));
        assert_eq!(rows, expected(site, naive), "{condition}");
        let words = [&["find", &top], words, &["-printf", "%i\\n"]].concat();
        let found = trawl(program, site, &Identity::Ourselves, &words);
        assert_eq!(found.code, Some(0), "{found}");
        assert_eq!(
            rows,
            sorted(found.text().lines().map(str::to_owned).collect())
        );
        let count = site.rows(&format!("SELECT count(*) FROM entries WHERE {condition}"));
        assert_eq!(count, [rows.len().to_string()], "{condition}");
        // The engine evaluates what is not in WHERE.
        let counted = format!("SELECT sum(CASE WHEN {condition} THEN 1 ELSE 0 END) FROM entries");
        assert_eq!(site.rows(&counted), count, "{condition}");
    }
}

#[test]
fn answers_are_those_of_reading_every_file() {
    let site = tree("sql-keywords");
    let program = install(&site);
    site.index();
    check(&site, &program);
    std::thread::sleep(SETTLED);
    site.index_with(&["--keywords"]);
    check(&site, &program);
    // A file that changed a moment ago is not packed, but read.
    fs::write(site.tree().join("dir1/f1.txt"), "tape state").unwrap();
    site.index();
    check(&site, &program);
}

#[test]
fn packed_files_are_not_opened() {
    if let Some(skip) = without_program("a count of opened files", "strace") {
        return skip.say();
    }
    let site = tree("sql-keywords-packed");
    let opened = |query: &str| {
        let mut command = oracle::command("strace");
        command.args(["-f", "-qq", "-e", "trace=openat", "-e", "signal=none"]);
        command
            .arg(env!("CARGO_BIN_EXE_trawl-sql"))
            .args(["--csv", query]);
        let ran = oracle::run(command.env("TRAWL_INDEX", site.index_dir()));
        assert_eq!(ran.code, Some(0), "{ran}");
        ran.errors().matches(".txt\"").count()
    };
    site.index();
    let query = "SELECT count(*) FROM entries WHERE keyword('ssd')";
    assert_eq!(opened(query), FILES);
    // Other conditions are evaluated first, in whatever order they are written.
    let first = "SELECT name FROM entries WHERE keyword('ssd') AND (keyword('tape') OR true) \
                 AND name LIKE 'f1%.txt' AND NOT name = 'f1.txt'";
    let others = site.find(&["-name", "f1?.txt"]).len();
    assert_eq!(opened(first), others);
    std::thread::sleep(SETTLED);
    site.index_with(&["--keywords"]);
    assert_eq!(opened(query), 0);
    let of_few = "SELECT attribute('words') FROM entries WHERE name IN ('f1.txt', 'f2.txt')";
    assert_eq!(opened(of_few), 0, "no hook knows the attribute words");
}

#[test]
fn a_call_is_about_the_rows_around_it() {
    let site = tree("sql-keywords-places");
    site.index();
    let direct =
        sorted(site.rows("SELECT name FROM entries WHERE keyword('ssd') AND ext(name) = 'txt'"));
    for query in [
        "SELECT name FROM (SELECT name, keyword('ssd') AS has FROM entries) WHERE has AND ext(name) = 'txt'",
        "WITH them AS (SELECT * FROM entries WHERE keyword('ssd')) SELECT name FROM them WHERE ext(name) = 'txt'",
        "SELECT e.name FROM entries e WHERE keyword(e.path, 'ssd') AND ext(name) = 'txt'",
        "SELECT e.name FROM entries e JOIN dirs d ON e.dir = d.path WHERE keyword('ssd') AND ext(e.name) = 'txt'",
        "SELECT a.name FROM entries a JOIN entries b ON a.path = b.path \
         WHERE keyword(a.path, 'ssd') AND keyword(b.path, 'ssd') AND ext(b.name) = 'txt'",
        "SELECT name FROM entries WHERE path IN (SELECT path FROM entries WHERE keyword('ssd')) AND ext(name) = 'txt'",
        "SELECT name FROM entries WHERE ext(name) = 'txt' AND keyword('ssd') GROUP BY name HAVING count(*) = 1",
        "SELECT name FROM entries WHERE (size < 0 OR keyword('ssd')) AND ext(name) = 'txt'",
        "SELECT name FROM entries WHERE keyword('ssd') IS TRUE AND ext(name) = 'txt'",
        "SELECT name FROM entries_history WHERE keyword('ssd') AND ext(name) = 'txt'",
    ] {
        assert_eq!(sorted(site.rows(query)), direct, "{query}");
    }
    let grouped = site.rows("SELECT keyword('ssd'), count(*) FROM entries WHERE ext(name) = 'txt' GROUP BY keyword('ssd') ORDER BY 2");
    assert_eq!(
        grouped,
        [
            format!("false,{}", FILES / 2),
            format!("true,{}", FILES / 2)
        ]
    );
    let limited = site.rows("SELECT name FROM entries WHERE keyword('ssd') LIMIT 3");
    assert_eq!(limited.len(), 3);
    let ran = site.run(&[
        "--format",
        "tsv",
        "EXPLAIN SELECT name FROM entries WHERE keyword('it''s')",
    ]);
    assert!(ran.text().contains("contents=[keyword('it''s')]"), "{ran}");
}

#[test]
fn a_call_without_rows_of_the_index_is_refused() {
    let site = tree("sql-keywords-refused");
    site.index();
    let nowhere = "there are none here: write it into the SELECT that reads entries itself, as in \
                   SELECT path FROM entries WHERE ";
    for (query, message) in [
        ("SELECT keyword('ssd')", nowhere),
        ("SELECT attribute('artist') FROM dirs", nowhere),
        ("SELECT path FROM dirs WHERE phrase('ssd')", nowhere),
        (
            "SELECT path FROM (SELECT path FROM entries) WHERE keyword('ssd')",
            nowhere,
        ),
        // No statement names a file to read.
        (
            "SELECT 1 FROM (SELECT '/etc/passwd' AS path, * EXCEPT (path) FROM entries) e WHERE keyword('root')",
            nowhere,
        ),
        (
            "SELECT 1 FROM entries WHERE keyword('/etc/passwd', 'root')",
            "must be the column path of entries",
        ),
        ("SELECT 1 FROM entries WHERE keyword(name, 'root')", nowhere),
        (
            "SELECT 1 FROM entries a JOIN entries b ON a.ino = b.ino WHERE attr('lines')",
            "attr() may be about rows of a or b: name one of them, as in attr(a.path, 'artist=Bach')",
        ),
        (
            "SELECT 1 FROM entries WHERE keyword(name)",
            "keyword() needs a constant text, as in keyword('ssd AND flash')",
        ),
        (
            "SELECT 1 FROM entries WHERE keyword('ssd AND')",
            "keyword(): invalid query `ssd AND': at character 8, a word is missing at the end",
        ),
        (
            "SELECT 1 FROM entries WHERE attr('=1')",
            "attr(): invalid condition `=1'",
        ),
    ] {
        let ran = site.run(&[query]);
        assert_eq!(ran.code, Some(2), "{query}: {ran}");
        assert!(ran.errors().contains(message), "{query}: {ran}");
        assert_eq!(ran.text(), "", "{query}");
    }
}

#[test]
fn attributes_are_those_of_hooks_and_programs() {
    let site = tree("sql-attributes");
    site.index();
    let lines = site.rows("SELECT name, attribute('LINES') FROM entries WHERE ext(name) = 'txt'");
    let counted = lines.iter().map(|line| {
        let (name, lines) = line.split_once(',').unwrap();
        let number: usize = name[1..name.len() - 4].parse().unwrap();
        let path = site.tree().join(format!("dir{}/{name}", number % 5));
        let wc = oracle::run(oracle::command("wc").arg("-l").arg(path)).text();
        assert_eq!(wc.split(' ').next(), Some(lines), "{name}");
    });
    assert_eq!(counted.count(), FILES);
    let none = "SELECT count(*) FROM entries WHERE attribute('artist') IS NOT NULL";
    assert_eq!(site.rows(none), ["0"]);
    if let Some(skip) = without_program("pushed attributes", "setfattr") {
        return skip.say();
    }
    for (name, value) in [
        ("artist", "tBach"),
        ("tag", "l5:ttape5:tdisk"),
        ("rating", "i5"),
        ("exposure", "r0.01"),
        ("taken", "d2026-01-02T03:04:05Z"),
    ] {
        let mut command = oracle::command("setfattr");
        command.args(["-n", &format!("user.trawl.{name}"), "-v", value]);
        let ran = oracle::run(command.arg(site.tree().join("dir2/f2.txt")));
        if ran.code != Some(0) {
            return eprintln!("skipped, because extended attributes cannot be set here: {ran}");
        }
    }
    for packed in [false, true] {
        if packed {
            std::thread::sleep(SETTLED);
            site.index_with(&["--keywords"]);
        }
        let values = "SELECT attribute('artist'), attribute('Tag'), attribute('rating'), attribute('exposure'), \
                      attribute('taken') FROM entries WHERE attribute('artist') IS NOT NULL";
        assert_eq!(
            site.rows(values),
            ["Bach,\"tape, disk\",5,0.01,2026-01-02T03:04:05Z"]
        );
        for condition in [
            "artist=bach",
            "tag=disk",
            "rating>4",
            "exposure<0.1",
            "taken<2026-02-01",
        ] {
            let query = format!("SELECT name FROM entries WHERE attr('{condition}')");
            assert_eq!(site.rows(&query), ["f2.txt"], "{condition}");
        }
        assert_eq!(
            site.rows("SELECT name FROM entries WHERE attr('rating>5')"),
            [""; 0]
        );
    }
}

#[test]
fn the_table_of_attributes_has_what_the_function_returns() {
    let site = tree("sql-attributes-table");
    if let Some(skip) = without_program("pushed attributes", "setfattr") {
        return skip.say();
    }
    for (name, value) in [("f2.txt", "tBach"), ("f3.txt", "l5:tBach7:tHandel")] {
        let number = &name[1..2];
        let path = site.tree().join(format!("dir{number}/{name}"));
        let mut command = oracle::command("setfattr");
        command.args(["-n", "user.trawl.artist", "-v", value]);
        if oracle::run(command.arg(path)).code != Some(0) {
            return println!("skipped, because extended attributes cannot be set here");
        }
    }
    site.index();
    for is_packed in [false, true] {
        if is_packed {
            std::thread::sleep(SETTLED);
            site.index_with(&["--keywords"]);
        }
        let artists = "SELECT name, kind, text FROM attributes WHERE attr = 'artist' ORDER BY 1, 3";
        let expected = ["f2.txt,text,Bach", "f3.txt,text,Bach", "f3.txt,text,Handel"];
        assert_eq!(site.rows(artists), expected);
        // Of every text, `lines` is the number of lines, as the function says.
        let table = "SELECT path, text, CAST(number AS BIGINT) FROM attributes \
                     WHERE attr IN ('lines', 'absent') AND ext(name) = 'txt'";
        let function = "SELECT path, attribute('lines'), CAST(attribute('lines') AS BIGINT) AS n \
                        FROM entries WHERE ext(name) = 'txt' AND type = 'f'";
        assert_eq!(sorted(site.rows(table)), sorted(site.rows(function)));
        let joined = "SELECT sum(e.size) FROM attributes a JOIN entries e USING (path) \
                      WHERE a.attr = 'artist' AND a.text = 'Bach'";
        let sizes = site.find(&["-name", "f[23].txt", "-printf", "%s\\n"]);
        let sum: u64 = sizes.iter().map(|size| size.parse::<u64>().unwrap()).sum();
        assert_eq!(site.rows(joined), [sum.to_string()]);
        let dir = site.tree().join("dir4");
        let one = format!(
            "SELECT count(DISTINCT path) FROM attributes WHERE dir = '{}'",
            dir.display()
        );
        assert_eq!(
            site.rows(&one),
            [fs::read_dir(dir).unwrap().count().to_string()]
        );
    }
    let ran = site.run(&[
        "--format",
        "tsv",
        "EXPLAIN SELECT text FROM attributes WHERE attr = 'artist'",
    ]);
    assert!(ran.text().contains("attributes=[artist]"), "{ran}");
}

/// Where two relations are joined by all columns that a call reads, the engine may ask about the rows
/// of the other relation.
#[test]
fn an_equal_row_that_a_statement_makes_up_is_not_read() {
    let site = tree("sql-keywords-made-up");
    let outside = site.scratch.join("outside.txt");
    fs::write(&outside, "ssd").unwrap();
    std::os::unix::fs::symlink("..", site.tree().join("up")).unwrap();
    site.index();
    if let Some(skip) = without_program("a look for opened files", "strace") {
        return skip.say();
    }
    let tree = site.tree().display().to_string();
    for path in [
        outside.display().to_string(),
        format!("{tree}/../outside.txt"),
        format!("{tree}/up/outside.txt"),
    ] {
        let ran = ask_about(&site, &path);
        assert!(ran.text().contains("count(*)"), "{ran}");
        assert!(!ran.errors().contains("outside.txt\", O_"), "{ran}");
    }
    let inside = ask_about(&site, &format!("{tree}/dir1/f1.txt"));
    assert!(inside.errors().contains("f1.txt\", O_"), "{inside}");
}

/// Asks about rows like those of the index but with another path, and records which files are opened.
fn ask_about(site: &Site, path: &str) -> Ran {
    let others = [
        "type", "dev", "ino", "size", "mtime", "ctime", "source", "snapshot",
    ];
    let equal = others
        .map(|name| format!("e.{name} = f.{name}"))
        .join(" AND ");
    let query = format!(
        "SELECT count(*) FROM (SELECT arrow_cast('{path}', 'Utf8View') AS path, \
         arrow_cast('{path}', 'BinaryView') AS path_raw, {} FROM entries) f \
         JOIN entries e ON e.path = f.path AND e.path_raw = f.path_raw AND {equal} \
         WHERE keyword(e.path, 'ssd')",
        others.join(", ")
    );
    let mut command = oracle::command("strace");
    command.args(["-f", "-qq", "-s", "4096", "-e", "trace=openat"]);
    command.args(["-e", "signal=none", env!("CARGO_BIN_EXE_trawl-sql"), &query]);
    oracle::run(command.env("TRAWL_INDEX", site.index_dir()))
}

/// "`-sort score`: best matches of -keyword first". The order is that of `trawl find`, and of how often a
/// word occurs in texts of one length.
#[test]
fn scores_are_those_of_find() {
    let site = Site::empty("sql-scores");
    for (name, text) in [
        ("once", "ssd a a a a a"),
        ("twice", "ssd ssd a a a a"),
        ("four", "ssd ssd ssd ssd a a"),
        ("flash", "flash a a a a a"),
        ("none", "a a a a a a"),
    ] {
        fs::write(site.tree().join(name), text).unwrap();
    }
    let program = install(&site);
    let top = site.tree().display().to_string();
    site.index();
    for is_packed in [false, true] {
        if is_packed {
            std::thread::sleep(SETTLED);
            site.index_with(&["--keywords"]);
        }
        for query in ["ssd", "ssd OR flash", "ssd AND a", "flash", "\"ssd a\""] {
            let words = [
                "find", &top, "-keyword", query, "-sort", "score", "-printf", "%f\\n",
            ];
            let found = trawl(&program, &site, &Identity::Ourselves, &words);
            let found: Vec<String> = found.text().lines().map(str::to_owned).collect();
            for sql in [
                "SELECT name FROM entries WHERE keyword('Q') ORDER BY score('Q') DESC, path",
                "SELECT name FROM (SELECT name, path, score('Q') AS s FROM entries) WHERE s > 0 ORDER BY s DESC, path",
                "SELECT name FROM entries e WHERE keyword(e.path, 'Q') ORDER BY score(e.path, 'Q') DESC, path LIMIT 9",
            ] {
                assert_eq!(site.rows(&sql.replace('Q', query)), found, "{sql} {query}");
            }
        }
        let ordered = site.rows(
            "SELECT name, score('ssd') FROM entries WHERE type = 'f' ORDER BY score('ssd') DESC, name",
        );
        let names: Vec<&str> = ordered
            .iter()
            .map(|row| row.split(',').next().unwrap())
            .collect();
        assert_eq!(names, ["four", "twice", "once", "flash", "none"]);
        assert!(ordered[4].ends_with(",0.0"), "{ordered:?}");
        let none = site.rows("SELECT score('ssd') FROM entries WHERE type = 'd'");
        assert_eq!(none, ["0.0"]);
    }
    let ran = site.run(&["SELECT score('ssd') FROM dirs"]);
    assert_eq!(ran.code, Some(2), "{ran}");
    assert!(
        ran.errors()
            .contains("ORDER BY score('ssd AND flash') DESC"),
        "{ran}"
    );
}

/// Makes files that some may not read; the unreadable ones have words of their own.
fn guarded() -> Site {
    let site = Site::empty("sql-keywords-users");
    for (name, text, mode, owner) in [
        ("open/all", "ssd public", 0o644, 0),
        ("open/closed", "ssd secretword", 0o600, 0),
        ("open/theirs", "ssd ownword", 0o600, OWNER),
        ("shut/within", "ssd hiddenword", 0o644, 0),
    ] {
        let path = site.tree().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        chown(&path, Some(owner), Some(owner)).unwrap();
    }
    fs::set_permissions(site.tree().join("shut"), Permissions::from_mode(0o700)).unwrap();
    site.scratch
        .install(Path::new(env!("CARGO_BIN_EXE_trawl-sql")));
    std::thread::sleep(SETTLED);
    site.index_with(&["--keywords"]);
    site
}

#[test]
fn nobody_learns_of_files_that_they_may_not_read() {
    if let Some(skip) = without_root("questions by other users") {
        return skip.say();
    }
    let site = guarded();
    let tree = site.tree().display().to_string();
    for who in [
        Identity::Ourselves,
        Identity::user(NOBODY),
        Identity::user(OWNER),
    ] {
        let ask = |query: &str| {
            let ran = oracle::run(site.command(&who).args(["--csv", query]));
            (
                sorted(ran.text().lines().skip(1).map(str::to_owned).collect()),
                ran,
            )
        };
        let hidden = oracle::gnu(
            "find",
            [&tree, "-type", "f", "!", "-readable"],
            Path::new("/"),
            &who,
        );
        let hidden = sorted(hidden.text().lines().map(str::to_owned).collect());
        for word in [
            "ssd",
            "public",
            "secretword",
            "ownword",
            "hiddenword",
            "absent",
        ] {
            let grep = oracle::gnu("grep", ["-rlwi", word, &tree], Path::new("/"), &who);
            let expected = sorted(grep.text().lines().map(str::to_owned).collect());
            let (rows, ran) = ask(&format!("SELECT path FROM entries WHERE keyword('{word}')"));
            assert_eq!(rows, expected, "{who:?} {word}: {ran}");
            check_remarks(&ran, &hidden);
            // Neither true nor false of a file that cannot be read.
            let (rows, ran) = ask(&format!(
                "SELECT path FROM entries WHERE type = 'f' AND NOT keyword('{word}')"
            ));
            assert!(rows.iter().all(|row| !hidden.contains(row)), "{ran}");
            check_remarks(&ran, &hidden);
            let (rows, _) = ask(&format!(
                "SELECT count(*) FROM entries WHERE keyword('{word}')"
            ));
            assert_eq!(rows, [expected.len().to_string()]);
            // Not asked where another condition decides.
            let (rows, ran) = ask(&format!(
                "SELECT path FROM entries WHERE keyword('{word}') AND size > 99999"
            ));
            assert_eq!(
                (rows.len(), ran.code, ran.errors()),
                (0, Some(0), String::new())
            );
        }
        // `lines` is an attribute of every text that can be read.
        let all = oracle::gnu(
            "find",
            [&tree, "-type", "f", "-readable"],
            Path::new("/"),
            &who,
        );
        let all = sorted(all.text().lines().map(str::to_owned).collect());
        let (rows, ran) = ask("SELECT path FROM attributes WHERE attr = 'lines'");
        assert_eq!(rows, all, "{ran}");
        check_remarks(&ran, &hidden);
        same_as_absent(&who, &ask);
    }
}

/// What a user is told of a word in a file that they may not read is what they are told of a word in
/// no file.
fn same_as_absent(who: &Identity, ask: &dyn Fn(&str) -> (Vec<String>, Ran)) {
    if matches!(who, Identity::Ourselves) {
        return;
    }
    for query in [
        "SELECT path, keyword('WORD') FROM entries ORDER BY path",
        "SELECT count(*) FROM entries WHERE keyword('WORD OR public')",
        "SELECT path, attribute('WORD') FROM entries ORDER BY path",
        "SELECT path, score('WORD OR public') FROM entries ORDER BY path",
        "SELECT path FROM entries WHERE keyword('ssd') ORDER BY score('ssd OR WORD') DESC, path",
        "SELECT path, text FROM attributes WHERE attr = 'WORD' OR text LIKE '%WORD%' ORDER BY path",
        "SELECT count(*) FROM attributes WHERE attr = 'lines'",
        "EXPLAIN SELECT path FROM entries WHERE keyword('WORD')",
    ] {
        let told = |word: &str| {
            let (_, ran) = ask(&query.replace("WORD", word));
            (ran.text() + &ran.errors()).replace(word, "WORD")
        };
        assert_eq!(told("secretword"), told("absentword"), "{who:?} {query}");
        assert_eq!(told("hiddenword"), told("absentword"), "{who:?} {query}");
    }
}

#[track_caller]
fn check_remarks(ran: &Ran, hidden: &[String]) {
    let told = hidden
        .iter()
        .map(|path| format!("trawl: cannot search the content of '{path}': Permission denied"));
    let errors = sorted(ran.errors().lines().map(str::to_owned).collect());
    assert_eq!(errors, told.collect::<Vec<_>>(), "{ran}");
    assert_eq!(ran.code, Some(i32::from(!hidden.is_empty())), "{ran}");
}

#[test]
fn contents_of_the_past_are_not_made_up() {
    let site = tree("sql-keywords-past");
    std::thread::sleep(SETTLED);
    site.index_with(&["--keywords", "--keep", "5"]);
    fs::write(site.tree().join("dir3/f3.txt"), "another text").unwrap();
    site.index_with(&["--keywords", "--keep", "5"]);
    let id = site
        .rows("SELECT snapshot FROM snapshots ORDER BY as_of LIMIT 1")
        .remove(0);
    let query = format!(
        "SELECT name, keyword('another') FROM entries_history WHERE snapshot = '{id}' AND name IN ('f3.txt', 'f4.txt') ORDER BY name"
    );
    let ran = site.run(&["--csv", &query]);
    assert_eq!(ran.code, Some(1), "{ran}");
    let rows: Vec<String> = ran.text().lines().skip(1).map(str::to_owned).collect();
    assert_eq!(rows, ["f3.txt,", "f4.txt,false"], "{ran}");
    let expected = "dir3/f3.txt': its content at that time is not known";
    assert!(ran.errors().contains(expected), "{ran}");
}
