//! Named indices: questions have the answers of GNU find, whether an index answers, is damaged or is
//! behind, and nobody learns anything of rows that they may not read.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use trawl_testkit::oracle::{self, Identity, Ran};
use trawl_testkit::prng::Prng;
use trawl_testkit::skip::without_root;

use crate::golden::recorded;
use crate::site::{Site, files_below, objects};
use crate::watch::Watched;

/// Segments with fewer rows have no index.
const FILES: usize = 2400;

/// Creates files whose values are few or many, with some rare ones.
fn populate(top: &Path, seed: u64) {
    let mut prng = Prng::new(seed);
    let mut below = |most: u64| prng.below(most);
    for number in 0..FILES {
        let dir = top.join(format!("d{}/e{}", number % 7, number % 90));
        fs::create_dir_all(&dir).unwrap();
        let path = dir.join(format!("f{number}"));
        let file = File::create(&path).unwrap();
        let size = match below(400) {
            0 => below(1 << 40),
            1 => 12_345,
            _ => below(9),
        };
        file.set_len(size).unwrap();
        let age = Duration::from_secs(below(1000) * 86_400 + 43_200);
        file.set_modified(SystemTime::now() - age).unwrap();
        if below(300) == 0 {
            fs::hard_link(&path, dir.join(format!("l{number}"))).unwrap();
        }
        if below(200) == 0 {
            // Only root may do this.
            let _ = chown(&path, Some(4000 + below(3) as u32), None);
        }
        let mode = if below(250) == 0 { 0o4711 } else { 0o644 };
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    }
}

const DEFINITIONS: [&str; 6] = [
    "big --kind ordered --on size",
    "when --kind ordered --on mtime",
    "owner --kind ordered --on uid,size",
    "links --kind ordered --on nlink",
    "inodes --kind hashed --on ino",
    "modes --kind hashed --on mode",
];

fn site(label: &str, seed: u64) -> Site {
    let site = Site::empty(label);
    populate(&site.tree(), seed);
    site.run("index --quiet .").expect_code(0);
    site
}

fn define_all(site: &Site) {
    for definition in DEFINITIONS {
        site.run(&format!("index define {definition} . --quiet"))
            .expect_code(0);
    }
}

fn index_files(site: &Site) -> Vec<PathBuf> {
    let mut files = files_below(&site.index_dir());
    files.retain(|path| path.extension().is_some_and(|ending| ending == "index"));
    files
}

/// Questions with few answers, with the index that answers.
fn questions(site: &Site) -> Vec<(String, &'static str)> {
    let some = site.tree().join("d3/e3/f3").metadata().unwrap();
    vec![
        ("-size +1G".to_owned(), "big"),
        ("-size 12345c".to_owned(), "big"),
        ("-type f -size +3M ! -size +900G".to_owned(), "big"),
        // Directories are new, too, so the index would leave many rows.
        ("-type f -mtime -3".to_owned(), ""),
        ("-mtime +990".to_owned(), "when"),
        ("-uid 4001".to_owned(), "owner"),
        ("-uid 4001 -size -4c".to_owned(), "owner"),
        ("-links +1 -type f".to_owned(), ""),
        ("-links +50".to_owned(), "links"),
        (format!("-inum {}", some.ino()), "inodes"),
    ]
}

fn sorted(ran: &Ran) -> Vec<String> {
    let text = ran.text();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

/// Compares all questions with GNU find.
#[track_caller]
fn compare(site: &Site, context: &str) {
    for (question, _) in questions(site) {
        let (ours, gnu) = (
            site.run(&format!("find . {question}")),
            site.gnu(&format!("find . {question}")),
        );
        let is_same = sorted(&ours) == sorted(&gnu);
        assert!(is_same, "{question}: {context}: {ours}\n{gnu}");
        assert_eq!(ours.code, Some(0), "{question}: {context}: {ours}");
    }
}

#[test]
fn answers_are_those_of_find() {
    for seed in 1..4 {
        let site = site("indices-answers", seed);
        compare(&site, "without indices");
        define_all(&site);
        assert_eq!(index_files(&site).len() % DEFINITIONS.len(), 0);
        assert!(!index_files(&site).is_empty());
        compare(&site, "with indices");
    }
}

/// The paper has "B+Tree, K-D-Tree, hash table" as "the underlying indexing mechanism" (Propeller,
/// section 3.2): a question uses one without being told.
#[test]
fn a_question_uses_the_index_of_its_attributes() {
    let site = site("indices-used", 7);
    let uses = |question: &str| {
        let ran = site
            .run(&format!("find -D indices . {question}"))
            .expect_code(0);
        let said = ran.errors();
        let names = said.lines().filter_map(|line| {
            let rest = line.split_once("the named index ")?.1;
            Some(rest.split(' ').next()?.to_owned())
        });
        names.collect::<Vec<String>>()
    };
    assert_eq!(uses("-size +1G"), Vec::<String>::new());
    define_all(&site);
    let is_root = without_root("owners in named indices").is_none();
    for (question, index) in questions(&site) {
        if !index.is_empty() && (index != "owner" || is_root) {
            assert!(uses(&question).contains(&index.to_owned()), "{question}");
        }
    }
    // Most rows match, so reading the column is as good.
    assert_eq!(uses("-size -9c"), Vec::<String>::new());
    assert_eq!(uses("-name 'f1*'"), Vec::<String>::new());
    // Other commands share the evaluator's filters.
    let counted = site.run("find . -size +1G -printf x").text();
    let gnu = site.gnu("find . -size +1G -printf x").text();
    assert_eq!(counted, gnu);
}

#[test]
fn an_index_that_is_behind_or_damaged_changes_no_answer() {
    let site = site("indices-damaged", 11);
    define_all(&site);
    let tree = site.tree();
    // Behind: rows change in a scan that does not get to the indices.
    for number in (0..FILES).step_by(11) {
        let path = tree.join(format!("d{}/e{}/f{number}", number % 7, number % 90));
        match number % 3 {
            0 => fs::remove_file(&path).unwrap(),
            1 => File::create(&path).unwrap().set_len(3 << 30).unwrap(),
            _ => fs::rename(&path, path.with_extension("moved")).unwrap(),
        }
    }
    site.run("index --quiet .").expect_code(0);
    compare(&site, "scanned again");
    assert!(
        site.run("index list .")
            .text()
            .lines()
            .all(|line| line.ends_with("current"))
    );
    // Damaged: each file in another way.
    let files = index_files(&site);
    for (at, path) in files.iter().enumerate() {
        let mut bytes = fs::read(path).unwrap();
        let middle = bytes.len() / 2;
        match at % 4 {
            0 => bytes.truncate(middle),
            1 => bytes[middle] ^= 0x10,
            2 => bytes
                .iter_mut()
                .skip(80)
                .step_by(97)
                .for_each(|byte| *byte ^= 1),
            _ => bytes.clear(),
        }
        fs::write(path, bytes).unwrap();
    }
    compare(&site, "damaged");
    let verified = site.run("index --verify");
    assert_ne!(verified.code, Some(0), "{verified}");
    site.run("index --quiet .").expect_code(0);
    site.run("index --verify").expect_code(0);
    compare(&site, "made again");
    for path in index_files(&site) {
        fs::remove_file(path).unwrap();
    }
    compare(&site, "lost");
    let list = site.run("index list .");
    assert!(
        list.text().lines().all(|line| line.ends_with("behind")),
        "{list}"
    );
    // A list of definitions that makes no sense is no index.
    let settings = files_below(&site.index_dir());
    let settings = settings
        .iter()
        .find(|path| path.ends_with("indices/settings"));
    fs::write(settings.unwrap(), b"\xff\x00 what").unwrap();
    compare(&site, "no definitions");
    let again = site.run("index --quiet .");
    assert!(
        again.errors().contains("define its indices again"),
        "{again}"
    );
}

#[test]
fn show_lists_values_in_order() {
    let site = site("indices-show", 13);
    define_all(&site);
    let gnu = |format: &str, tests: &str| {
        let ran = site.gnu(&format!(
            "find . -mindepth 1 {tests} -printf {format}\\t%p\\n"
        ));
        let mut rows: Vec<(u64, String)> = ran
            .text()
            .lines()
            .map(|line| {
                let (value, path) = line.split_once('\t').unwrap();
                (value.parse().unwrap(), path.to_owned())
            })
            .collect();
        rows.sort_unstable();
        rows
    };
    let show = |words: &str| {
        let ran = site
            .run(&format!("index show {words} --json"))
            .expect_code(0);
        let rows = objects(&ran).into_iter().map(|row| {
            let value = row["index_values"].as_str().unwrap().parse().unwrap();
            (value, row["path"].as_str().unwrap().to_owned())
        });
        rows.collect::<Vec<(u64, String)>>()
    };
    let is_ordered = |rows: &[(u64, String)]| rows.windows(2).all(|two| two[0].0 <= two[1].0);
    for (words, tests) in [
        ("big 12345", "-size 12345c"),
        ("big 1G..", "-size +1073741823c"),
        ("big 1M..500G", "-size +1048575c ! -size +536870912000c"),
    ] {
        let mut shown = show(words);
        assert!(is_ordered(&shown), "{words}");
        shown.sort_unstable();
        assert_eq!(shown, gnu("%s", tests), "{words}");
    }
    let all = gnu("%s", "");
    let first = show("big -n 5");
    assert_eq!(
        first.iter().map(|(size, _)| *size).collect::<Vec<u64>>(),
        all.iter()
            .take(5)
            .map(|(size, _)| *size)
            .collect::<Vec<u64>>()
    );
    let cut = site.run("index show big -n 5");
    assert!(cut.errors().contains("only the first 5"), "{cut}");
    let number = site.tree().join("d3/e3/f3").metadata().unwrap().ino();
    assert_eq!(
        show(&format!("inodes {number}")),
        gnu("%i", &format!("-inum {number}"))
    );
}

#[test]
fn definitions_are_made_listed_and_dropped() {
    let site = site("indices-defined", 17);
    let ran = site
        .run("index define big --kind ordered --on size .")
        .expect_code(0);
    assert!(ran.text().contains("1 named index"), "{ran}");
    for (line, why) in [
        ("define big --kind hashed --on size .", "exists already"),
        ("define 9 --kind ordered --on size .", "invalid name"),
        (
            "define a --kind ordered --on colour .",
            "unknown attribute `colour`",
        ),
        ("define a --kind ordered --on size,size .", "given twice"),
        ("define a --kind tree --on size .", "tree"),
        ("define a --kind ordered --on size /", "is not indexed"),
        ("drop other .", "there is no index `other`"),
        ("show other --in .", "has no named index `other`"),
        ("show big x --in .", "`x` is no size"),
        ("show big 1,2 --in .", "1 attributes"),
    ] {
        let ran = site.run(&format!("index {line}"));
        assert_eq!(ran.code, Some(2), "{line}: {ran}");
        assert!(ran.errors().contains(why), "{line}: {ran}");
    }
    let listed = objects(&site.run("index list --json"));
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["named_index"], "big");
    assert_eq!(listed[0]["is_current"], true);
    for number in 1..16 {
        site.run(&format!(
            "index define i{number} --kind hashed --on ino -q ."
        ))
        .expect_code(0);
    }
    let full = site.run("index define one-more --kind hashed --on ino -q .");
    assert!(full.errors().contains("at most 16"), "{full}");
    for number in 1..16 {
        site.run(&format!("index drop i{number} .")).expect_code(0);
    }
    site.run("index drop big .").expect_code(0);
    assert!(
        files_below(&site.index_dir())
            .iter()
            .all(|path| !path.to_string_lossy().contains("/indices/"))
    );
    assert_eq!(site.run("index list").text(), "");
    site.run("index --verify").expect_code(0);
}

/// Compares questions about a part and about the whole with GNU find, and returns which named indices
/// answered.
#[track_caller]
fn compare_parts(site: &Site, tops: &[&OsStr], context: &str) -> Vec<String> {
    let mut used = Vec::new();
    for top in tops {
        for tests in ["-size +1G", "-size 12345c", "-links +50", "-mtime +990"] {
            let words: Vec<&OsStr> = [
                OsStr::new("find"),
                OsStr::new("-D"),
                OsStr::new("indices"),
                top,
            ]
            .into_iter()
            .chain(tests.split(' ').map(OsStr::new))
            .collect();
            let ours = site.trawl(&words).expect_code(0);
            let gnu = oracle::gnu("find", &words[3..], &site.tree(), &Identity::Ourselves);
            assert_eq!(sorted(&ours), sorted(&gnu), "{words:?}: {context}: {ours}");
            if ours.errors().contains("named index big answered") {
                used.push(format!("{} {tests}", top.to_string_lossy()));
            }
        }
    }
    used
}

/// "a part of a source": an index of a directory has the rows below it, and says nothing of others.
#[test]
fn an_index_of_a_part_has_its_rows() {
    let site = Site::empty("indices-part");
    let odd = OsStr::from_bytes(b"My Music\n\xff");
    let tree = site.tree();
    populate(&tree.join("before"), 41);
    populate(&tree.join(odd), 42);
    populate(&tree.join("My Music\n"), 43);
    site.run("index --quiet .").expect_code(0);
    let define = [
        "index", "define", "big", "--kind", "ordered", "--on", "size", "-q",
    ];
    let words: Vec<&OsStr> = define.iter().map(OsStr::new).chain([odd]).collect();
    site.trawl(&words).expect_code(0);
    let inside = OsString::from_vec([odd.as_bytes(), b"/d3"].concat());
    let tops = [OsStr::new("."), OsStr::new("before"), odd, &inside];
    let used = compare_parts(&site, &tops, "defined");
    let name = odd.to_string_lossy();
    assert!(used.contains(&format!("{name} -size 12345c")), "{used:?}");
    assert!(used.contains(&format!("{name} -size +1G")), "{used:?}");
    let is_inside = |one: &String| one.starts_with(&*name);
    assert!(used.iter().all(is_inside), "other rows are read: {used:?}");
    let listed = objects(&site.run("index list --json"));
    let gnu = oracle::gnu(
        "find",
        [
            odd,
            OsStr::new("-mindepth"),
            OsStr::new("1"),
            OsStr::new("-printf"),
            OsStr::new("x"),
        ],
        &tree,
        &Identity::Ourselves,
    );
    assert_eq!(listed[0]["rows_covered"], gnu.text().len(), "{listed:?}");
    assert_eq!(listed[0]["rows_left"], 0);
    assert_eq!(listed[0]["is_current"], true);
    // Values in order, below the part and below the whole.
    for top in tops {
        let words = ["index", "show", "big", "12345", "-0", "--in"].map(OsStr::new);
        let shown = site.trawl(&[&words[..], &[top]].concat()).expect_code(0);
        let tests = ["-size", "12345c", "-print0"].map(OsStr::new);
        let gnu = [&[top][..], &tests].concat();
        let gnu = oracle::gnu("find", gnu, &tree, &Identity::Ourselves);
        let split = |ran: &Ran| {
            let mut paths: Vec<Vec<u8>> = ran
                .stdout
                .split(|byte| *byte == 0)
                .map(<[u8]>::to_vec)
                .collect();
            paths.sort_unstable();
            paths
        };
        assert_eq!(split(&shown), split(&gnu));
    }
    // Behind, damaged, and gone.
    File::create(tree.join(odd).join("d3/new"))
        .unwrap()
        .set_len(12_345)
        .unwrap();
    site.run("index --quiet .").expect_code(0);
    compare_parts(&site, &tops, "scanned again");
    for path in index_files(&site) {
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x10;
        fs::write(path, bytes).unwrap();
    }
    compare_parts(&site, &tops, "damaged");
    assert_ne!(site.run("index --verify").code, Some(0));
    site.run("index --quiet .").expect_code(0);
    site.run("index --verify").expect_code(0);
    compare_parts(&site, &tops, "made again");
    fs::rename(tree.join(odd), tree.join("elsewhere")).unwrap();
    site.run("index --quiet .").expect_code(0);
    compare_parts(&site, &tops[..2], "moved away");
    let listed = objects(&site.run("index list --json"));
    assert_eq!(listed[0]["rows_covered"], 0, "{listed:?}");
    site.run("index drop big .").expect_code(0);
}

/// Definitions are public, and so must be the path of a part.
#[test]
fn a_part_that_not_all_can_see_is_refused() {
    let site = Site::empty("indices-hidden-part");
    let tree = site.tree();
    fs::create_dir_all(tree.join("shut/below")).unwrap();
    fs::create_dir_all(tree.join("open/below")).unwrap();
    fs::write(tree.join("open/file"), "").unwrap();
    fs::set_permissions(tree.join("shut"), Permissions::from_mode(0o700)).unwrap();
    site.run("index --quiet .").expect_code(0);
    let define = |part: &str| {
        site.run(&format!(
            "index define a --kind ordered --on size -q {part}"
        ))
    };
    for part in ["open", "open/below", "shut"] {
        define(part).expect_code(0);
        site.run("index drop a .").expect_code(0);
    }
    let mut refused = vec!["open/file"];
    if without_root("an index for everyone").is_none() {
        refused.push("shut/below");
    }
    for part in refused {
        let ran = define(part);
        assert_eq!(ran.code, Some(2), "{part}: {ran}");
        assert!(
            ran.errors().contains("is not a directory that everyone"),
            "{part}: {ran}"
        );
        assert_eq!(site.run("index list").text(), "");
    }
    let ran = site.run("index define a --kind ordered --on attr:lines -q open");
    assert!(ran.errors().contains("of a whole source"), "{ran}");
}

/// What came from a trace, or is not mounted now, has named indices, too.
#[test]
fn a_tree_that_is_in_the_index_alone_has_them() {
    let site = recorded();
    let define = "index define big --kind ordered --on size --quiet /srv/project";
    site.run(define).expect_code(0);
    let shown = site.run("index show big 12345.. --json --in /srv/project");
    let shown = objects(&shown.expect_code(0));
    let values: Vec<_> = shown.iter().map(|entry| &entry["index_values"]).collect();
    assert_eq!(values, ["12345", "2000000"]);
    let listed = objects(&site.run("index list --json /srv/project"));
    assert_eq!(listed.len(), 1);
    site.run("index drop big /srv/project").expect_code(0);
    assert_eq!(site.run("index list").text(), "");
}

/// The words of actions are names of directories, too.
#[test]
fn a_directory_with_the_name_of_an_action_can_be_scanned() {
    let site = Site::empty("indices-words");
    for word in ["define", "list", "show", "drop", "help"] {
        fs::create_dir(site.tree().join(word)).unwrap();
        site.run(&format!("index --quiet ./{word}")).expect_code(0);
        site.run(&format!("index --quiet -- {word}")).expect_code(0);
    }
    let sources = site.run("sources").text();
    assert_eq!(sources.lines().count(), 5, "{sources}");
    let help = site.run("index --help").text();
    assert!(help.contains("./define"), "{help}");
}

/// Nothing that a stranger can see depends on rows that they may not read.
#[test]
fn strangers_see_nothing_of_closed_directories() {
    if let Some(skip) = without_root("named indices of closed directories") {
        return skip.say();
    }
    let stranger = Identity::user(65_000);
    let look = |seed: u64| {
        let site = Site::empty("indices-closed");
        let (open, shut) = (site.tree().join("open"), site.tree().join("shut"));
        populate(&open, 5);
        populate(&shut, seed);
        fs::write(shut.join("secret"), vec![b'x'; 77_777]).unwrap();
        fs::set_permissions(&shut, Permissions::from_mode(0o700)).unwrap();
        site.run("index --quiet .").expect_code(0);
        // Times and inode numbers differ between the trees.
        for definition in DEFINITIONS {
            if !definition.contains("mtime") && !definition.contains("ino") {
                site.run(&format!("index define {definition} . --quiet"))
                    .expect_code(0);
            }
        }
        let program = site.scratch.install(Path::new(env!("CARGO_BIN_EXE_trawl")));
        let ask = |words: &str| {
            let mut line = stranger.command(&program);
            line.arg("-i").arg(site.index_dir()).args(words.split(' '));
            oracle::run(line.current_dir(site.tree()))
        };
        let secret = ask("index show big 77777 --in .");
        assert_eq!(secret.text(), "", "{secret}");
        let all = ask("index show big --in . -n 100000 -0");
        assert!(!all.text().contains("shut/"), "{all}");
        assert!(all.text().contains("open/"), "{all}");
        let ours = ask("find . -size 77777c");
        assert_eq!(ours.text(), "", "{ours}");
        // Sizes of files that the stranger can open.
        let mut find = stranger.command("find");
        find.arg(site.index_dir());
        find.args(["-name", "*.index", "-readable", "-printf", "%s\n"]);
        let sizes = sorted(&oracle::run(&mut find));
        let listed = ask("index list .").text();
        (
            sizes,
            listed.replace(&site.tree().display().to_string(), ""),
        )
    };
    let (one, other) = (look(21), look(22));
    assert!(!one.0.is_empty());
    assert_eq!(one.0, other.0);
}

/// Writers go on while questions are asked; the daemon makes files for new segments.
#[test]
fn answers_under_a_daemon_are_current() {
    let Some(mut watched) = Watched::new() else {
        return;
    };
    populate(&watched.root(), 31);
    watched.trawl(&["index", "--quiet"]).expect_code(0);
    let root = watched.root().to_str().unwrap().to_owned();
    for definition in DEFINITIONS {
        let words = format!("index define {definition} --quiet {root}");
        let mut line = watched.program();
        oracle::run(line.args(words.split(' '))).expect_code(0);
    }
    watched.start(|_| {});
    watched.settle();
    let mut prng = Prng::new(99);
    for round in 0..30 {
        let number = prng.below(FILES as u64) as usize;
        let path = watched
            .root()
            .join(format!("d{}/e{}/f{number}", number % 7, number % 90));
        match round % 3 {
            0 => drop(fs::remove_file(&path)),
            1 => File::create(&path).unwrap().set_len(5 << 30).unwrap(),
            _ => drop(chown(&path, Some(4001), None)),
        }
        for tests in [
            &["-size", "+1G"][..],
            &["-uid", "4001"],
            &["-links", "+1", "-type", "f"],
        ] {
            let mut ours = watched.program();
            let ours = oracle::run(ours.arg("find").arg(&root).args(tests));
            let words = [&[&root[..]], tests].concat();
            let gnu = oracle::gnu("find", words, Path::new("/"), &Identity::Ourselves);
            assert_eq!(
                sorted(&ours),
                sorted(&gnu),
                "round {round}: {tests:?}: {ours}"
            );
        }
    }
}
