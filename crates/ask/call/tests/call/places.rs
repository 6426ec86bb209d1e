//! Tests of resuming at a position, of ending a search early, and of waiting.

use std::path::Path;

use proptest::prelude::*;
use trawl_call::options::Flags;
use trawl_call::packed::encode;
use trawl_call::search::Rest;
use trawl_call::{
    Block, CallError, Cookie, Executor, LiveWalk, Outcome, RecordRef, Request, Search, ServedBy,
    Stream,
};

use super::support::{lines, make, records, request, tree};

fn cookies(pattern: &str, flags: u32, roots: &[&Path]) -> Vec<(String, Cookie)> {
    let mut search = Search::open(&LiveWalk::default(), request(pattern, flags, roots)).unwrap();
    let mut cookies = vec![(String::new(), search.cookie())];
    while let Some(record) = search.next_record().unwrap() {
        let line = super::support::line(&record);
        cookies.push((line, search.cookie()));
    }
    cookies
}

fn rest(pattern: &str, flags: u32, roots: &[&Path], cookie: &Cookie) -> Vec<String> {
    let cookie = Cookie::from_bytes(&cookie.to_bytes()).unwrap();
    let request = request(pattern, flags, roots).resume_at(cookie).unwrap();
    lines(&records(&LiveWalk::default(), request))
}

#[test]
fn from_every_place_the_rest_is_given() {
    let tree = tree(&[
        "one/a/x",
        "one/a-b/x",
        "one/b/c/x",
        "one/b/x",
        "one/x",
        "two/x",
        "two/z/x",
    ]);
    std::os::unix::fs::symlink("..", tree.join("one/b/up")).unwrap();
    let roots = ["one", "gone", "two"].map(|name| tree.join(name));
    let roots: Vec<&Path> = roots.iter().map(|root| &**root).collect();
    for (pattern, flags) in [
        ("x", 0),
        ("/.|*", Flags::FOLLOW),
        ("x|/.", Flags::INCLUDEROOT | Flags::METADATA),
        ("/x|/*/x", 0),
    ] {
        let all = cookies(pattern, flags, &roots);
        for (at, (_, cookie)) in all.iter().enumerate() {
            let expected: Vec<String> =
                all[at + 1..].iter().map(|(line, _)| line.clone()).collect();
            assert_eq!(
                rest(pattern, flags, &roots, cookie),
                expected,
                "{pattern} {cookie:?}"
            );
        }
    }
}

/// More roots than are begun together; most have few entries, some do not exist.
#[test]
fn many_roots_answer_in_the_order_of_the_list() {
    let tree = tree(&[]);
    let mut expected = Vec::new();
    let mut roots = Vec::new();
    for at in 0..200u32 {
        // An order that is neither that of names nor that of directory inodes.
        let name = format!("{:03}", at * 77 % 200);
        let root = tree.join(&name);
        let number = match at {
            0 => String::new(),
            at => format!("{at}:"),
        };
        match at % 20 {
            7 => expected.push(format!("!{number}open 2 .")),
            19 => {
                let deep: Vec<String> = (0..30).map(|below| format!("{below:02}/x")).collect();
                make(&root, &deep.iter().map(String::as_str).collect::<Vec<_>>());
                expected.extend(deep.iter().map(|path| format!("{number}{path}")));
            }
            _ => {
                make(&root, &["a/x", "x"]);
                expected.extend(["a/x", "x"].map(|path| format!("{number}{path}")));
            }
        }
        roots.push(root);
    }
    let roots: Vec<&Path> = roots.iter().map(|root| &**root).collect();
    let all = cookies("x", 0, &roots);
    let told: Vec<&String> = all[1..].iter().map(|(line, _)| line).collect();
    let by_path = |lines: &[&String]| {
        let mut lines: Vec<String> = lines.iter().map(|line| (*line).clone()).collect();
        lines.sort();
        lines
    };
    assert_eq!(
        by_path(&told),
        by_path(&expected.iter().collect::<Vec<_>>())
    );
    let number = |line: &&String| {
        let before = line.trim_start_matches('!').split_once(':');
        before.map_or(0, |(number, _)| number.parse::<u32>().unwrap())
    };
    assert!(told.is_sorted_by_key(number));
    for at in [1, 100, all.len() - 2] {
        let after: Vec<String> = all[at + 1..].iter().map(|(line, _)| line.clone()).collect();
        assert_eq!(rest("x", 0, &roots, &all[at].1), after);
    }
}

#[test]
fn what_changes_before_a_place_does_not_matter() {
    let tree = tree(&["b/b", "b/d", "c/x"]);
    let roots = [tree.path()];
    let all = cookies("*", 0, &roots);
    let at = all.iter().position(|(line, _)| line == "b/b").unwrap();
    make(tree.path(), &["a/new", "aa", "b/a", "b/c", "bb/new"]);
    std::fs::remove_file(tree.join("b/b")).unwrap();
    let expected = ["b/c", "b/d", "bb/new", "c/x"];
    assert_eq!(rest("*", 0, &roots, &all[at].1), expected);
    std::fs::remove_dir_all(tree.join("b")).unwrap();
    assert_eq!(rest("*", 0, &roots, &all[at].1), ["bb/new", "c/x"]);
}

#[test]
fn a_search_for_the_first_is_over_with_it() {
    let tree = tree(&["a", "b"]);
    let all = cookies("*", Flags::STOPATFIRST, &[tree.path()]);
    assert_eq!(all.len(), 2);
    assert_eq!(
        rest("*", Flags::STOPATFIRST, &[tree.path()], &all[0].1),
        ["a"]
    );
    assert_eq!(
        rest("*", Flags::STOPATFIRST, &[tree.path()], &all[1].1),
        [""; 0]
    );
}

#[test]
fn a_cookie_is_of_one_question() {
    let tree = tree(&["a"]);
    let (_, cookie) = &cookies("a", 0, &[tree.path()])[1];
    let go_on = |pattern: &str, flags, root: &Path| {
        request(pattern, flags, &[root]).resume_at(cookie.clone())
    };
    assert!(go_on("a", 0, tree.path()).is_ok());
    for other in [
        go_on("b", 0, tree.path()),
        go_on("a", Flags::XDEV, tree.path()),
        go_on("a", Flags::FNMATCH, tree.path()),
        go_on("a", 0, Path::new("/")),
    ] {
        assert!(matches!(other, Err(CallError::Cookie { .. })));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_cookie_panics(bytes in proptest::collection::vec(any::<u8>(), 0..60), at: usize, value: u8) {
        let _ = Cookie::from_bytes(&bytes);
        let tree = tree(&["a"]);
        let (_, cookie) = &cookies("a", 0, &[tree.path()])[1];
        let mut bytes = cookie.to_bytes();
        let at = at % bytes.len();
        bytes[at] = value;
        if let Ok(cookie) = Cookie::from_bytes(&bytes)
            && let Ok(request) = request("a", 0, &[tree.path()]).resume_at(cookie)
        {
            records(&LiveWalk::default(), request);
        }
    }
}

fn wide_tree() -> trawl_testkit::Scratch {
    let names: Vec<String> = (0..600)
        .map(|number| format!("d{number:03}/e/f{number}"))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    tree(&names)
}

#[test]
fn a_search_can_be_cancelled() {
    let tree = wide_tree();
    let mut search = Search::open(&LiveWalk::default(), request("*", 0, &[tree.path()])).unwrap();
    // Records that are ready may still be returned.
    assert!(search.next_record().unwrap().is_some());
    search.cancel().cancel();
    let mut given = 1;
    let error = loop {
        match search.next_record() {
            Ok(Some(_)) => given += 1,
            Ok(None) => panic!("it ended as if it were whole"),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, CallError::Cancelled) && given < 1800);
    // Afterwards the search never reports a complete answer.
    assert!(matches!(search.next_record(), Err(CallError::Ended)));
    assert!(matches!(search.fill(&mut [0; 4096]), Err(CallError::Ended)));
}

/// An executor that fails after some records.
struct Failing;

impl Executor for Failing {
    fn begin(&self, _: Request) -> Result<Box<dyn Stream>, CallError> {
        Ok(Box::new(FailingStream(0)))
    }
}

struct FailingStream(usize);

impl Stream for FailingStream {
    fn next_block(&mut self) -> Result<Option<Block>, CallError> {
        self.0 += 1;
        let mut packed = Vec::new();
        let outcome = Outcome::Match(None);
        let (root, path) = (0, &b"x"[..]);
        encode(
            &RecordRef {
                root,
                path,
                outcome,
            },
            &mut packed,
        );
        let served_by = ServedBy::Remote;
        match self.0 {
            1 | 2 => Ok(Some(Block { served_by, packed })),
            3 => Err(CallError::Thread(std::io::Error::other("lost"))),
            _ => Ok(None),
        }
    }
}

#[test]
fn an_answer_that_ends_early_never_looks_whole() {
    let open = || Search::open(&Failing, request("x", 0, &[Path::new(".")])).unwrap();
    let mut search = open();
    let filled = search.fill(&mut [0; 4096]).unwrap();
    assert_eq!(
        (filled.records, filled.rest),
        (2, Rest::More { next_bytes: 0 })
    );
    assert!(matches!(
        search.fill(&mut [0; 4096]),
        Err(CallError::Thread(_))
    ));
    assert!(matches!(search.fill(&mut [0; 4096]), Err(CallError::Ended)));
    let mut search = open();
    assert!(search.next_record().unwrap().is_some() && search.next_record().unwrap().is_some());
    assert!(matches!(search.next_record(), Err(CallError::Thread(_))));
    assert!(matches!(search.next_record(), Err(CallError::Ended)));
}

#[test]
fn a_search_can_be_left() {
    let tree = wide_tree();
    for taken in [0, 1, 601, 900] {
        let mut search =
            Search::open(&LiveWalk::default(), request("*", 0, &[tree.path()])).unwrap();
        for _ in 0..taken {
            assert!(search.next_record().unwrap().is_some());
        }
    }
}

#[test]
fn one_thread_gives_the_same_as_many() {
    let tree = wide_tree();
    let answer = |threads: usize| {
        let threads = std::num::NonZeroUsize::new(threads);
        records(&LiveWalk { threads }, request("*", 0, &[tree.path()]))
    };
    let one = answer(1);
    assert_eq!(one.len(), 1800);
    assert!(one == answer(2) && one == answer(8));
}
