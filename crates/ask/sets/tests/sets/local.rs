//! Local files: cold and warm, and objects that are no plain files.

use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

use trawl_sets::{Local, Opened, Options, Problem, Set};

fn set_of(top: &Path, names: &[&str]) -> Set {
    let names: Vec<Vec<u8>> = names
        .iter()
        .map(|name| top.join(name).as_os_str().as_bytes().to_vec())
        .collect();
    Set::open(
        Box::new(names.into_iter()),
        vec![Arc::new(Local::default())],
        Options::default(),
    )
    .unwrap()
}

fn content(opened: Result<Opened, Problem>) -> Result<String, (String, i32)> {
    match opened {
        Ok(mut opened) => {
            let mut text = String::new();
            opened.file.read_to_string(&mut text).unwrap();
            Ok(text)
        }
        Err(problem) => {
            let errno = problem.source.raw_os_error().unwrap_or(0);
            let name = String::from_utf8_lossy(&problem.name).into_owned();
            Err((name, errno))
        }
    }
}

#[test]
fn members_are_whole_files_and_others_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let top = directory.path();
    std::fs::write(top.join("a"), "first").unwrap();
    std::fs::write(top.join("empty"), "").unwrap();
    std::fs::create_dir(top.join("folder")).unwrap();
    symlink("a", top.join("link")).unwrap();
    symlink("nowhere", top.join("dangling")).unwrap();
    let set = set_of(top, &["a", "empty", "folder", "link", "dangling", "a"]);
    let all = std::iter::from_fn(|| set.iterate()).map(content);
    let (good, bad): (Vec<_>, Vec<_>) = all.partition(Result::is_ok);
    let mut good: Vec<String> = good.into_iter().flatten().collect();
    good.sort();
    assert_eq!(good, ["", "first", "first"]);
    let mut bad: Vec<_> = bad.into_iter().filter_map(Result::err).collect();
    bad.sort();
    let name = |name: &str| top.join(name).to_str().unwrap().to_owned();
    assert_eq!(bad, [(name("dangling"), 2), (name("folder"), 21)]);
    // A member that vanishes stays a member, and is a problem when it is looked at again.
    std::fs::remove_file(top.join("a")).unwrap();
    set.rewind_iterator();
    let again = std::iter::from_fn(|| set.iterate()).map(content);
    assert_eq!(again.filter(Result::is_err).count(), 4);
    assert!(set.member(top.join("a").as_os_str().as_bytes()));
    assert_eq!(set.size(), 5);
}

#[test]
fn a_fifo_without_a_writer_holds_nobody_up() {
    let directory = tempfile::tempdir().unwrap();
    let fifo = directory.path().join("fifo");
    let made = trawl_testkit::oracle::command("mkfifo").arg(&fifo).status();
    assert!(made.unwrap().success());
    let set = set_of(directory.path(), &["fifo"]);
    let opened = set.iterate().unwrap().unwrap();
    assert!(opened.is_stream);
    assert!(set.iterate().is_none());
}
