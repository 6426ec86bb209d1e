//! `trawl set` with SQL about directories and Parquet files: the real `trawl-sql` answers, as the
//! asking user.
//!
//! This package has no program `trawl`, so a test of this program, started again, stands for it.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryArray, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use trawl_testkit::oracle::{self, Identity, Ran};
use trawl_testkit::skip::without_root;

use crate::site::Site;

/// The variable that holds the words for the program, separated by newlines.
const WORDS: &str = "TRAWL_TEST_WORDS";
/// The line that precedes the program's own output.
const BEGIN: &str = "output begins here:";

/// Runs `trawl` with the words of the environment.
#[test]
#[ignore = "other tests start it"]
fn stands_for_trawl() {
    let words = std::env::var(WORDS).expect("words");
    let words = std::iter::once("trawl").chain(words.lines());
    print!("{BEGIN}");
    std::io::Write::flush(&mut std::io::stdout()).expect("a pipe");
    let exit = trawl_cli::run(words.map(Into::into).collect());
    std::process::exit(exit.code().into());
}

/// Puts the stand-in, and `trawl-sql` beside it, where every user may run them.
pub(crate) fn install(site: &Site) -> PathBuf {
    site.scratch
        .install(Path::new(env!("CARGO_BIN_EXE_trawl-sql")));
    let own = std::env::current_exe().expect("it runs");
    site.scratch.install(&own)
}

/// Returns what `trawl` answers to this user.
pub(crate) fn trawl(program: &Path, site: &Site, who: &Identity, words: &[&str]) -> Ran {
    ask(who.command(program), site, words)
}

/// Returns what `trawl` answers in this environment.
pub(crate) fn ask(mut command: Command, site: &Site, words: &[&str]) -> Ran {
    command.args([
        "--exact",
        "sets::stands_for_trawl",
        "--ignored",
        "--nocapture",
    ]);
    command
        .env(WORDS, words.join("\n"))
        .env("TRAWL_INDEX", site.index_dir());
    let mut ran = oracle::run(command.current_dir(site.tree()));
    let at = ran.text().find(BEGIN).map(|at| at + BEGIN.len());
    ran.stdout.drain(..at.unwrap_or(0));
    ran
}

fn names(ran: &Ran) -> BTreeSet<String> {
    ran.text()
        .split_terminator('\0')
        .map(str::to_owned)
        .collect()
}

/// Returns the members of a set, and checks that nothing is missing.
#[track_caller]
fn members(program: &Path, site: &Site, name: &str) -> BTreeSet<String> {
    let ran = trawl(program, site, &Identity::Ourselves, &["set", "-0", name]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(ran.stderr.is_empty(), "{ran}");
    names(&ran)
}

#[test]
fn a_query_about_a_directory_sees_only_the_directory() {
    let site = Site::server("sql-sets");
    let program = install(&site);
    let src = site.tree().join("projects/alpha/src").display().to_string();
    let of = |query: &str| members(&program, &site, &format!("{src}/\\{query}\\"));
    // Larger files lie elsewhere: a limit must not count them.
    let found = of("select path where type = 'f' order by size desc limit 3");
    let sizes = |words: &[&str]| {
        let mut find = oracle::command("find");
        let ran = oracle::run(find.arg(&src).args(words).args(["-printf", "%s %p\\n"]));
        let mut rows: Vec<(u64, String)> = Vec::new();
        for line in ran.text().lines() {
            let (size, path) = line.split_once(' ').expect("two fields");
            rows.push((size.parse().expect("a number"), path.to_owned()));
        }
        rows.sort();
        rows
    };
    let files = sizes(&["-type", "f"]);
    let largest: BTreeSet<String> = files
        .iter()
        .rev()
        .take(3)
        .map(|row| row.1.clone())
        .collect();
    assert_eq!(found, largest);
    let all = of("select path, count(*) over () from entries where type = 'f'");
    assert_eq!(all.len(), files.len());
    // Every table is about the directory: a sum over all rows is one over its own.
    let total: u64 = files.iter().map(|row| row.0).sum();
    let name = format!(
        "select path from entries where (select sum(size) from entries where type = 'f') = {total} limit 1"
    );
    assert_eq!(of(&name).len(), 1);
    for table in [
        "dirs",
        "xattrs",
        "issues",
        "entries_history",
        "dirs_history",
    ] {
        let other = format!("select path from {table} where path not like '{src}%'");
        assert_eq!(of(&other).len(), 0, "{table}");
        let outside = format!(
            "select e.path from entries e where (select count(*) from {table} where path not like '{src}%') > 0"
        );
        assert_eq!(of(&outside).len(), 0, "{table}");
    }
    assert_eq!(
        of("select source from sources").len(),
        0,
        "a root above is no member"
    );
    let whole = members(
        &program,
        &site,
        &format!("{}/\\select path from entries\\", site.tree().display()),
    );
    let found: BTreeSet<String> = site
        .find(&[])
        .into_iter()
        .filter(|line| line.starts_with('/'))
        .collect();
    assert!(
        whole.len() > 100 && whole.len() <= found.len() + 2,
        "{}",
        whole.len()
    );
}

#[test]
fn the_option_below_restricts_every_table() {
    let site = Site::server("sql-below");
    let dir = site.tree().join("home");
    let below = |query: &str| {
        let dir = dir.display().to_string();
        let ran = site.run(&["--csv", "--below", &dir, query]);
        assert_eq!(ran.code, Some(0), "{ran}");
        ran.text()
            .lines()
            .skip(1)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let find = oracle::run(oracle::command("find").arg(&dir).args(["-printf", "x"]));
    assert_eq!(
        below("select count(*) from entries"),
        [find.stdout.len().to_string()]
    );
    // Conditions meet the directory, from outside, from inside and across its edge.
    let tree = site.tree().display().to_string();
    for (condition, expected) in [
        (format!("dir = '{tree}'"), 1),
        (format!("path = '{tree}/home/bob'"), 1),
        (format!("path = '{tree}/scratch'"), 0),
        (
            format!("dir = '{tree}' or path = '{tree}/scratch' or path = '{tree}/home/bob'"),
            2,
        ),
        (format!("under(path, '{tree}/projects')"), 0),
    ] {
        let query = format!("select count(*) from entries where {condition}");
        assert_eq!(below(&query), [expected.to_string()], "{condition}");
    }
    let ran = site.run(&["--below", "/nonexistent/x", "select 1"]);
    assert_eq!(ran.code, Some(2), "{ran}");
    assert!(ran.errors().contains("/nonexistent/x"), "{ran}");
}

/// Writes a Parquet file of paths, bytes and numbers.
fn write_file(path: &Path) {
    let paths = StringArray::from(vec![
        Some("a.txt"),
        None,
        Some("/etc/passwd"),
        Some("d/b c"),
    ]);
    let raw = BinaryArray::from(vec![Some(&b"a\xff"[..]), Some(b"x"), None, Some(b"nul\0")]);
    let rank = Int64Array::from(vec![4, 3, 2, 1]);
    let columns: [(&str, ArrayRef); 3] = [
        ("rank", Arc::new(rank)),
        ("path", Arc::new(paths)),
        ("raw", Arc::new(raw)),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.map(|(n, c)| (n, c, true)))
        .expect("columns");
    let file = fs::File::create_new(path).expect("a new file");
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).expect("a writer");
    writer.write(&batch).expect("rows");
    writer.close().expect("a footer");
}

#[test]
fn rows_of_a_parquet_file_are_members() {
    // There is no index, and none is needed.
    let site = Site::empty("sql-parquet");
    let program = install(&site);
    let file = site.scratch.join("rows=1.parquet");
    write_file(&file);
    let before = fs::read(&file).expect("it is there");
    let top = site.scratch.join("").display().to_string();
    let of = |query: &str| members(&program, &site, &format!("{}/\\{query}\\", file.display()));
    let expected = [
        format!("{top}a.txt"),
        "/etc/passwd".into(),
        format!("{top}d/b c"),
    ];
    assert_eq!(
        of("select * order by rank"),
        BTreeSet::from(expected.clone())
    );
    let two = BTreeSet::from([expected[1].clone(), expected[2].clone()]);
    assert_eq!(of("select path where rank < 4 limit 3"), two);
    assert_eq!(
        of("select path from file f where f.path like \"%b c%\""),
        BTreeSet::from([expected[2].clone()])
    );
    assert_eq!(
        of("with t as (select path p from file) select p from t where p like 'a%'"),
        BTreeSet::from([expected[0].clone()])
    );
    assert_eq!(fs::read(&file).expect("it is there"), before);
    // Row paths are followed further, as members of any set are.
    fs::write(site.scratch.join("a.txt"), "text").expect("a file");
    fs::create_dir(site.scratch.join("d")).expect("a directory");
    fs::create_dir(site.scratch.join("d/b c")).expect("a directory");
    fs::write(site.scratch.join("d/b c/in"), "text").expect("a file");
    let below = format!("{}/\\select path\\/i*", file.display());
    let ran = trawl(
        &program,
        &site,
        &Identity::Ourselves,
        &["set", "-0", &below],
    );
    assert_eq!(
        names(&ran),
        BTreeSet::from([format!("{top}d/b c/in")]),
        "{ran}"
    );
}

#[test]
fn what_is_wrong_with_a_parquet_file_or_a_query_is_told() {
    let site = Site::empty("sql-parquet-wrong");
    let program = install(&site);
    let file = site.scratch.join("t.parquet");
    write_file(&file);
    let refused = |file: &Path, query: &str, why: &str| {
        let name = format!("{}/\\{query}\\", file.display());
        let ran = trawl(&program, &site, &Identity::Ourselves, &["set", "-0", &name]);
        assert_eq!(
            (ran.code, ran.text().as_str()),
            (Some(1), ""),
            "{query}: {ran}"
        );
        assert!(
            ran.errors().contains(why) && ran.errors().contains(".parquet"),
            "{query}: {ran}"
        );
    };
    for (query, why) in [
        ("select rank", "select the path first"),
        (
            "select rank, raw from file where rank > 1",
            "select the path first",
        ),
        ("select raw from file where rank = 1", "NUL"),
        ("select nothing", "nothing"),
        ("select path from entries", "entries"),
        ("select path from '/etc/passwd'", "not"),
        ("select path from file; drop table file", "one statement"),
        (
            "with t as (select 1) insert into file select * from t",
            "INSERT",
        ),
    ] {
        refused(&file, query, why);
    }
    // Damage anywhere is an error or another answer, never a crash or a hang.
    let good = fs::read(&file).expect("it is there");
    let bad = site.scratch.join("bad.parquet");
    let garbage = [&b"PAR1"[..], &[0xff; 4096], b"PAR1"].concat();
    for content in [
        b"PAR1".to_vec(),
        b"PAR1PAR1".to_vec(),
        garbage,
        good[..good.len() / 2].to_vec(),
    ] {
        fs::write(&bad, content).expect("a file");
        refused(&bad, "select path", "Parquet");
    }
    for at in (4..good.len()).step_by(good.len() / 40) {
        let mut content = good.clone();
        content[at] ^= 0x5a;
        fs::write(&bad, content).expect("a file");
        let ran = site.run(&[
            "--paths",
            "--table",
            &format!("t={}", bad.display()),
            "select path from t",
        ]);
        assert!(matches!(ran.code, Some(0 | 2)), "{at}: {ran}");
        assert!(!ran.errors().contains("stack backtrace"), "{at}: {ran}");
    }
    let fifo = site.scratch.join("fifo");
    oracle::run(oracle::command("mkfifo").arg(&fifo)).expect_code(0);
    let ran = site.run(&[
        "--table",
        &format!("t={}", fifo.display()),
        "select 1 from t",
    ]);
    assert_eq!(ran.code, Some(2), "{ran}");
}

#[test]
fn without_the_program_the_remedy_is_named() {
    let site = Site::empty("sql-parquet-missing");
    let program = install(&site);
    let file = site.scratch.join("t.parquet");
    write_file(&file);
    fs::remove_file(site.scratch.join("trawl-sql")).expect("it was installed");
    let name = format!("{}/\\select path\\", file.display());
    let ran = trawl(&program, &site, &Identity::Ourselves, &["set", "-0", &name]);
    assert_eq!((ran.code, ran.text().as_str()), (Some(1), ""), "{ran}");
    assert!(
        ran.errors().contains("install it, or build it with make"),
        "{ran}"
    );
}

#[test]
fn others_get_the_members_that_find_shows_them() {
    if let Some(skip) = without_root("sets of other users by SQL") {
        return skip.say();
    }
    let site = Site::empty("sql-sets-users");
    let (tree, program) = (site.tree(), install(&site));
    for dir in ["pub/a", "closed/deep", "own/docs", "pass/known"] {
        fs::create_dir_all(tree.join(dir)).expect("a directory");
        fs::write(tree.join(dir).join("file"), vec![b'x'; 1000]).expect("a file");
    }
    write_file(&tree.join("closed/rows.parquet"));
    write_file(&tree.join("pub/shut.parquet"));
    chown(tree.join("own"), Some(4711), Some(4711)).expect("root may");
    for (path, mode) in [
        ("closed", 0o700),
        ("own", 0o700),
        ("pass", 0o711),
        ("pub/shut.parquet", 0o600),
    ] {
        fs::set_permissions(tree.join(path), fs::Permissions::from_mode(mode)).expect("root may");
    }
    site.index();
    for who in [
        Identity::user(65_534),
        Identity::user(4711),
        Identity::Ourselves,
    ] {
        for start in ["", "/closed", "/own", "/pass", "/pub"] {
            let start = format!("{}{start}", tree.display());
            let find = oracle::run(
                who.command("find")
                    .arg(&start)
                    .arg("-print0")
                    .current_dir("/"),
            );
            let shown: BTreeSet<String> = names(&find);
            let name = format!("{start}/\\select path from entries\\");
            let ours = trawl(&program, &site, &who, &["set", "-0", &name]);
            let told: BTreeSet<String> = names(&ours)
                .into_iter()
                .map(|name| name.trim_end_matches("/.").to_owned())
                .collect();
            assert_eq!(told, shown, "{who:?}: {ours}");
            let name = format!(
                "{start}/\\select path, (select count(*) from entries) c from entries where c <> {}\\",
                shown.len()
            );
            let count = trawl(&program, &site, &who, &["set", "-0", &name]);
            assert_eq!(names(&count), BTreeSet::new(), "{who:?}: {count}");
        }
    }
    for file in [
        "closed/rows.parquet",
        "pub/shut.parquet",
        "closed/none.parquet",
    ] {
        let name = format!("{}/{file}/\\select path\\", tree.display());
        let ran = trawl(
            &program,
            &site,
            &Identity::user(65_534),
            &["set", "-0", &name],
        );
        assert_eq!(ran.text(), "", "{ran}");
        let table = format!("t={}/{file}", tree.display());
        let ran = oracle::run(site.command(&Identity::user(65_534)).args([
            "--table",
            &table,
            "select 1 from t",
        ]));
        assert_eq!((ran.code, ran.text().as_str()), (Some(2), ""), "{ran}");
        assert!(ran.errors().contains("ermission denied"), "{ran}");
    }
}
