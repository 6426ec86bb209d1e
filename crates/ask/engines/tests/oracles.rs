//! Compares the engines with find(1) and with Python's sqlite3.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use trawl_call::request::Cancel;
use trawl_engines::{Settings, Sqlite, engines};
use trawl_sets::expand::Engine;
use trawl_testkit::oracle::command;
use trawl_testkit::scratch::Scratch;

/// Returns the names that the first engine that accepts the object gives, and the problems.
fn ask(prefix: &Path, query: &str) -> (BTreeSet<String>, Vec<String>) {
    let prefix = prefix.to_str().unwrap().as_bytes();
    let cancel = Cancel::default();
    let (mut names, mut problems) = (BTreeSet::new(), Vec::new());
    let all = engines(&Settings::default());
    let Some(engine) = all.iter().find(|engine| engine.accepts(prefix)) else {
        return (names, problems);
    };
    match engine.run(prefix, query.as_bytes(), &cancel) {
        Err(problem) => problems.push(problem.to_string()),
        Ok(mut found) => {
            while let Some(item) = found.next(&cancel) {
                match item {
                    Ok(found) => {
                        names.insert(String::from_utf8(found.name).unwrap());
                    }
                    Err(problem) => problems.push(problem.to_string()),
                }
            }
        }
    }
    (names, problems)
}

#[test]
fn find_expressions_select_what_find_selects() {
    let scratch = Scratch::new("engines");
    std::fs::create_dir(scratch.join("d")).unwrap();
    for name in ["a.c", "d/b.c", "d/x y"] {
        std::fs::write(scratch.join(name), "text").unwrap();
    }
    for query in ["", "-name '*.c'", "-type f -size +0 ! -name \"x y\""] {
        let script = format!("find . {query} -printf '%P\\n'");
        let mut find = command("sh");
        let find = find.current_dir(scratch.path()).arg("-c").arg(script);
        let expected = String::from_utf8(find.output().unwrap().stdout).unwrap();
        let line = |line: &str| if line.is_empty() { "." } else { line }.to_owned();
        let expected: BTreeSet<String> = expected.lines().map(line).collect();
        assert_eq!(ask(scratch.path(), query), (expected, vec![]), "{query}");
    }
    let printed = scratch.join("made");
    let query = format!("-fprint {}", printed.display());
    let (names, problems) = ask(scratch.path(), &query);
    assert!(names.is_empty() && problems[0].contains("-fprint"));
    assert!(!printed.exists());
    assert!(ask(&scratch.join("a.c"), "").0.is_empty());
}

#[test]
fn sqlite_files_answer_and_are_not_changed() {
    let scratch = Scratch::new("engines-sqlite");
    let path = scratch.join("t.db");
    let script = "import sqlite3,sys\nc=sqlite3.connect(sys.argv[1])\n\
                  c.execute('create table staff(name, home)')\n\
                  c.executemany('insert into staff values(?,?)',\
                  [('david','/h/d'),('eve','/h/e'),('adavidb','r')])\nc.commit()";
    let made = command("python3").arg("-c").arg(script).arg(&path).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("sqlite: skipped, because Python has no sqlite3");
        return;
    }
    let before = std::fs::read(&path).unwrap();
    let query = "select home from staff where name like \"%david%\"";
    let expected: BTreeSet<String> = ["/h/d", "r"].map(String::from).into();
    assert_eq!(ask(&path, query), (expected, vec![]));
    for bad in [
        "delete from staff",
        "attach '/tmp/x' as x",
        "pragma query_only=0",
        "select 1; select 2",
        "select load_extension('x')",
    ] {
        let (names, problems) = ask(&path, bad);
        assert!(
            names.is_empty() && problems.len() == 1,
            "{bad}: {names:?} {problems:?}"
        );
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_database_in_write_ahead_mode_gets_no_files_beside_it() {
    let scratch = Scratch::new("engines-wal");
    let path = scratch.join("50% of=it?.db");
    let script = "import sqlite3,sys\nc=sqlite3.connect(sys.argv[1])\n\
                  c.execute('pragma journal_mode=wal')\nc.execute('create table t(path)')\n\
                  c.execute(\"insert into t values('a')\")\nc.commit()\nc.close()";
    let made = command("python3").arg("-c").arg(script).arg(&path).status();
    assert!(made.unwrap().success());
    let query = "select t.path from t, json_each('[1]')";
    let names = Sqlite.run(
        path.as_os_str().as_bytes(),
        query.as_bytes(),
        &Cancel::default(),
    );
    let mut names = names.unwrap();
    let all: Vec<_> = std::iter::from_fn(|| names.next(&Cancel::default())).collect();
    assert!(
        matches!(&all[..], [Ok(found)] if found.name == b"a"),
        "{all:?}"
    );
    let files = std::fs::read_dir(scratch.path()).unwrap().count();
    assert_eq!(files, 1);
}
