//! Queries, commands, homes and literal names.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use trawl_call::request::Cancel;
use trawl_sets::expand::{Attribute, Commands, Engine, Expander, Program, Records};
use trawl_sets::member::Op;
use trawl_sets::{Found, Names, Problem, SetName};

use crate::support::{Recorder, bytes, expand, expand_whole, walking};

/// Evaluates queries on files called `db` and on URLs: the words of the query are the names.
struct Words;

impl Engine for Words {
    fn accepts(&self, prefix: &[u8]) -> bool {
        prefix.starts_with(b"https://") || prefix.ends_with(b"db") && prefix.len() > 2
    }

    fn run(&self, prefix: &[u8], query: &[u8], _: &Cancel) -> Result<Box<dyn Names>, Problem> {
        if query == b"wrong" {
            return Err(Problem {
                name: prefix.to_vec(),
                op: Op::Expand,
                source: io::Error::other("a wrong query"),
            });
        }
        let words: Vec<Vec<u8>> = query.split(|byte| *byte == b' ').map(Vec::from).collect();
        Ok(Box::new(words.into_iter()))
    }
}

fn tree() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for dir in ["cmu/staff", "mit", "home/david", "home/dana"] {
        std::fs::create_dir_all(folder.path().join(dir)).unwrap();
    }
    for file in [
        "db",
        "cmu/db",
        "cmu/staff/x.c",
        "home/david/a.c",
        "home/david/b.c",
    ] {
        std::fs::write(folder.path().join(file), "12345").unwrap();
    }
    std::os::unix::fs::symlink("home", folder.path().join("link")).unwrap();
    folder
}

fn with_words() -> Expander {
    let mut expander = walking();
    expander.engines = vec![Arc::new(Words)];
    expander
}

fn with_commands(records: Records) -> Expander {
    let mut expander = walking();
    expander.commands = Commands::Run(records);
    expander
}

#[test]
fn the_rest_treats_members_as_directories() {
    let folder = tree();
    let names = |name: &str| {
        let (names, problems) = expand(&with_words(), folder.path(), name);
        assert!(problems.is_empty(), "{name}: {problems:?}");
        names
    };
    // "If no such directory exists, the resulting set is the empty-set."
    assert_eq!(names("{cmu,mit}/staff"), ["cmu/staff"]);
    assert!(names("{nasa,mit}/staff").is_empty());
    assert_eq!(names("{cmu,mit}/staff/*.c"), ["cmu/staff/x.c"]);
    // "A normal Unix name is just a special case of a set pathname that refers to only one object."
    assert_eq!(names("missing"), ["missing"]);
    assert_eq!(names("{missing,cmu}"), ["missing", "cmu"]);
    assert_eq!(
        names("*/david/*"),
        [
            "home/david/a.c",
            "home/david/b.c",
            "link/david/a.c",
            "link/david/b.c"
        ]
    );
    assert_eq!(names("db/*"), [""; 0]);
    assert_eq!(names(r"db/\cmu home\"), ["cmu", "home"]);
    assert_eq!(names(r"cmu/db\staff gone\"), ["cmu/staff", "cmu/gone"]);
    assert_eq!(
        names(r"db/\cmu home gone\/d*"),
        ["cmu/db", "home/dana", "home/david"]
    );
    assert_eq!(names(r"db/\home/david/a gone\.c"), ["home/david/a.c"]);
    assert_eq!(names(r"db/\/usr https://h/x\"), ["/usr", "https://h/x"]);
    assert_eq!(names(r"*db/\cmu\/db/\staff\"), ["cmu/staff"]);
    // "a type-specific specification applied to an object of the wrong type will also return the
    // empty-set"
    assert!(names(r"mit/\cmu\").is_empty());
}

#[test]
fn urls_are_passed_on() {
    let text = br"https://h//p?a=*/\https://h/x https://h/y\/z";
    let (names, problems) = expand_whole(&with_words(), &[text, b"https://h/?"]);
    assert!(problems.is_empty(), "{problems:?}");
    let expected = ["https://h/x/z", "https://h/y/z", "https://h/?"].map(Vec::from);
    assert_eq!(names, expected);
}

#[test]
fn what_cannot_be_expanded_is_a_problem() {
    let folder = tree();
    let why = |expander: &Expander, name: &str| {
        let (names, problems) = expand(expander, folder.path(), name);
        assert_eq!((names.len(), problems.len()), (0, 1), "{name}: {names:?}");
        problems[0].to_string()
    };
    assert!(why(&walking(), r"db/\q\").contains("no engine"));
    assert!(why(&with_words(), r"db/\wrong\").contains("a wrong query"));
    assert!(why(&with_words(), r"db/\q\*").contains("put a / between"));
    assert!(why(&with_words(), r"db/\https://h/x\/*").contains("a URL cannot be listed"));
    assert!(why(&walking(), "%ls%").contains("unless an option allows it"));
    let (_, problems) = expand_whole(&walking(), &[b"~nobody-has-this-name/x"]);
    assert!(problems[0].to_string().contains("no such user"));
}

#[test]
fn one_search_call_answers_wildcards() {
    let folder = tree();
    let recorder = Arc::new(Recorder::default());
    let mut expander = Expander::new(Arc::clone(&recorder) as _);
    expander.attributes = Attribute::Wanted;
    let (mut names, _) = expand(&expander, folder.path(), "{cmu,home,link}/*/?.c");
    names.sort();
    assert_eq!(
        names,
        [
            "cmu/staff/x.c",
            "home/david/a.c",
            "home/david/b.c",
            "link/david/a.c",
            "link/david/b.c"
        ]
    );
    let requests = std::mem::take(&mut *recorder.0.lock().unwrap());
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].roots().len(), 3);
    assert_eq!(requests[0].roots()[0].pattern().to_text(), b"/*|/*/?.c");
    let name = SetName::parse(&[&bytes(folder.path()), &b"/d*"[..]].concat()).unwrap();
    let found = expander
        .expand(vec![name])
        .next(&Cancel::default())
        .unwrap()
        .unwrap();
    assert_eq!(found.attributes.unwrap().size, 5);
}

#[test]
fn homes_are_found() {
    let mut expander = walking();
    expander.homes = Arc::new(|user| match user {
        b"" => Ok(Some(b"/h/me".to_vec())),
        b"root" => Ok(Some(b"/".to_vec())),
        _ => Ok(None),
    });
    let names = expand_whole(&expander, &[b"~", b"~root/x", b"~root", b"[~]", b"a~"]).0;
    let expected = ["/h/me", "/x", "/", "~", "a~"].map(Vec::from);
    assert_eq!(names, expected);
    let (names, _) = expand_whole(&walking(), &[b"~root"]);
    assert_eq!(names.len(), 1, "the database of users has root");
}

#[test]
fn commands_print_names() {
    let folder = tree();
    for (name, records, expected) in [
        (
            "home/%echo david; echo /abs%",
            Records::Either,
            &["home/david", "/abs"][..],
        ),
        (
            "home/%echo david; echo dana%/*.c",
            Records::Either,
            &["home/david/a.c", "home/david/b.c"],
        ),
        (r"%printf 'a b\000c\000'%", Records::Either, &["a b", "c"]),
        (r"%printf 'a\nb\000c'%", Records::Nul, &["a\nb", "c"]),
        ("%printf '\\n\\nx'%", Records::Lines, &["x"]),
        (
            "{home,cmu}/%ls%",
            Records::Lines,
            &["home/dana", "home/david", "cmu/db", "cmu/staff"],
        ),
        ("db/%ls%", Records::Lines, &[]),
        ("gone/%ls%", Records::Lines, &[]),
    ] {
        let (names, problems) = expand(&with_commands(records), folder.path(), name);
        assert!(problems.is_empty(), "{name}: {problems:?}");
        assert_eq!(names, expected, "{name}");
    }
}

#[test]
fn a_failing_command_keeps_its_names_and_says_why() {
    let folder = tree();
    let name = "%echo a; echo no luck >&2; echo more >&2; exit 3%";
    let (names, problems) = expand(&with_commands(Records::Either), folder.path(), name);
    assert_eq!(names, ["a"]);
    assert_eq!(problems.len(), 1);
    let text = problems[0].to_string();
    assert!(text.ends_with("it exited with status 3: no luck"), "{text}");
    let (_, problems) = expand(
        &with_commands(Records::Either),
        folder.path(),
        "%kill -9 $$%",
    );
    assert!(problems[0].to_string().contains("signal 9"));
}

#[test]
fn a_cancel_kills_the_whole_group() {
    let folder = tree();
    let text = format!("{}/%sleep 60 & echo $!; sleep 60%", folder.path().display());
    let name = SetName::parse(text.as_bytes()).unwrap();
    let cancel = Cancel::default();
    let mut names = with_commands(Records::Either).expand(vec![name]);
    let found: Found = names.next(&cancel).unwrap().unwrap();
    let pid = String::from_utf8_lossy(&found.name)
        .rsplit('/')
        .next()
        .unwrap()
        .to_owned();
    let begun = Instant::now();
    let switch = cancel.clone();
    let helper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        switch.cancel();
    });
    assert!(names.next(&cancel).is_none());
    helper.join().unwrap();
    let stat = format!("/proc/{pid}/stat");
    let lives = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
    while lives() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{pid} lives");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_program_is_an_engine() {
    let folder = tree();
    let script = r#"printf '%s\0' "$0" "${0%%/db*}/home" rel; exit 1"#;
    let program = Program::new("/bin/sh", vec!["-c".into(), script.into()]).unwrap();
    let mut expander = walking();
    expander.engines = vec![Arc::new(program)];
    let (names, problems) = expand(&expander, folder.path(), r"db/\a\\b\");
    let asked = format!(r"db/\a\\b\");
    assert_eq!(names, [&asked[..], "home", "rel"]);
    assert!(problems[0].to_string().contains("status 1"));
    assert!(Program::new("sh", Vec::new()).is_err());
    assert!(expand(&expander, folder.path(), r"gone/\q\").0.is_empty());
}

#[test]
fn a_missing_folder_is_empty() {
    let (names, problems) = expand(&walking(), Path::new("/missing-folder"), "*/x*");
    assert!(names.is_empty() && problems.is_empty(), "{problems:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn a_literal_expands_to_the_path_only(path in prop::collection::vec(1u8.., 1..12)) {
        let names = expand_whole(&walking(), &[&SetName::literal(&path)]);
        prop_assert_eq!(names.0, [path]);
    }
}
