//! `trawl locate`: the same paths as plocate, only paths that the user may see, and features beyond
//! plocate.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use trawl_testkit::oracle::{self, Identity, Ran};
use trawl_testkit::prng::Prng;
use trawl_testkit::skip::{without_program, without_root};

use crate::site::{Site, objects};

/// Maximum length of paths that all tools accept.
const PATH_BYTES: usize = 4000;

/// Returns the paths, which end in NUL bytes.
fn paths(ran: &Ran) -> BTreeSet<Vec<u8>> {
    let all = ran.stdout.split(|byte| *byte == 0).map(<[u8]>::to_vec);
    all.filter(|path| !path.is_empty() && path.len() < PATH_BYTES)
        .collect()
}

fn words(line: &[&str]) -> Vec<OsString> {
    line.iter().map(OsString::from).collect()
}

/// Creates a plocate database of the same tree.
fn database(site: &Site) -> std::path::PathBuf {
    let database = site.scratch.join("plocate.db");
    let mut command = oracle::command("updatedb");
    command.arg("--database-root").arg(site.tree());
    command.arg("--output").arg(&database);
    for (option, value) in [
        ("--require-visibility", "0"),
        ("--prunepaths", ""),
        ("--prunefs", ""),
        ("--prunenames", ""),
        ("--prune-bind-mounts", "no"),
    ] {
        command.args([option, value]);
    }
    oracle::run(&mut command).expect_code(0);
    database
}

/// Generator of questions from pieces of paths: options, then patterns.
struct Questions {
    random: Prng,
    texts: Vec<String>,
}

impl Questions {
    /// Returns a piece of some path.
    fn piece(&mut self, longest: usize) -> String {
        loop {
            let text = &self.texts[self.random.below(self.texts.len() as u64) as usize];
            let letters: Vec<char> = text.chars().collect();
            let start = self.random.below(letters.len() as u64) as usize;
            let length = 1 + self.random.below(longest as u64) as usize;
            let piece: String = letters.iter().skip(start).take(length).collect();
            if !piece.contains(['\\', '[', '\n']) && !piece.starts_with('-') {
                return piece;
            }
        }
    }

    /// Returns the piece with some letters replaced.
    fn blurred(&mut self, piece: &str, by: &[&str]) -> String {
        let letter = |c: char| match self.random.below(4) {
            0 => by[self.random.below(by.len() as u64) as usize].to_owned(),
            _ => c.to_string(),
        };
        piece.chars().map(letter).collect()
    }

    fn next(&mut self) -> Vec<String> {
        let piece = self.piece(9);
        let plain = |piece: &str| {
            let quoted = piece.chars().map(|c| match c {
                '*' | '?' | '.' | '^' | '$' | '+' | '(' | ')' | '{' | '}' | '|' => format!("[{c}]"),
                c => c.to_string(),
            });
            quoted.collect::<String>()
        };
        let question = match self.random.below(10) {
            0 => vec![piece],
            1 => vec!["-i".into(), piece.to_uppercase()],
            2 => vec!["-b".into(), piece],
            3 => vec![format!(
                "*{}*",
                self.blurred(&piece, &["?", "*", "[a-m]", "[!x]"])
            )],
            4 => vec![
                "-b".into(),
                format!("{}*", self.blurred(&piece, &["?", "*"])),
            ],
            5 => vec![
                "-i".into(),
                "-b".into(),
                format!("*{}", piece.to_lowercase()),
            ],
            6 => vec![
                "--regex".into(),
                self.blurred(&plain(&piece), &[".", ".*", "(a|b)?"]),
            ],
            7 => vec![
                "-r".into(),
                self.blurred(&plain(&piece), &[".", "a*", "\\(x\\|e\\)"]),
            ],
            8 => vec![piece, self.piece(3)],
            _ => vec![
                "-b".into(),
                "--regex".into(),
                format!("^{}", plain(&self.piece(3))),
            ],
        };
        match question
            .iter()
            .any(|word| word.contains("[[") || word.contains("[*]]"))
        {
            true => self.next(),
            false => question,
        }
    }
}

#[test]
fn the_same_paths_as_plocate() {
    let Some(skip) = without_program("plocate", "plocate") else {
        return compare_with_plocate();
    };
    skip.say();
}

fn compare_with_plocate() {
    let site = Site::odd("locate");
    let database = database(&site);
    let plocate = |words: &[OsString]| {
        let mut command = oracle::command("plocate");
        command.arg("-d").arg(&database).args(words);
        oracle::run(&mut command)
    };
    let find = oracle::gnu("find", ["-print0"], &site.tree(), &Identity::Ourselves);
    let texts = paths(&find).into_iter().filter_map(|path| {
        let path = String::from_utf8(path).ok()?;
        path.get(1..)
            .filter(|path| !path.is_empty())
            .map(str::to_owned)
    });
    let mut questions = Questions {
        random: Prng::new(7),
        texts: texts.collect(),
    };
    let root = site.tree().into_os_string().into_vec();
    let (mut matched, mut wrong) = (0, Vec::new());
    for _ in 0..300 {
        let question: Vec<OsString> = questions.next().into_iter().map(Into::into).collect();
        let theirs = plocate(&[words(&["-0"]), question.clone()].concat());
        if theirs.errors().contains("prematurely") {
            continue;
        }
        let ours = site.trawl(&[words(&["locate", "-0"]), question.clone()].concat());
        // The tree itself is an entry for us but not for plocate.
        let mut found = paths(&ours);
        found.remove(&root);
        let expected = paths(&theirs);
        matched += usize::from(!expected.is_empty());
        if found != expected {
            let more: Vec<_> = found
                .difference(&expected)
                .map(|p| p.escape_ascii().to_string())
                .collect();
            let less: Vec<_> = expected
                .difference(&found)
                .map(|p| p.escape_ascii().to_string())
                .collect();
            wrong.push(format!(
                "{question:?}: more {more:?}, less {less:?}; {ours}"
            ));
        }
        let counted = site.trawl(&[words(&["locate", "-c"]), question.clone()].concat());
        let all = ours.stdout.iter().filter(|byte| **byte == 0).count();
        assert_eq!(counted.text(), format!("{all}\n"), "{question:?}");
        assert_eq!(counted.code, ours.code, "{question:?}");
        assert_eq!(ours.code == Some(0), all > 0, "{question:?}");
    }
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(matched > 150, "only {matched} match something");
}

#[test]
fn paths_come_in_order_and_as_many_as_asked_for() {
    let site = Site::odd("locate-order");
    let all = site.run("locate -0 a").expect_code(0);
    let find = site.run(&format!("find {} -path *a* -print0", site.tree().display()));
    assert_eq!(all.stdout, find.stdout, "the order is that of find");
    let three = site.run("locate -0 -l 3 a").expect_code(0);
    let count = three.stdout.iter().filter(|byte| **byte == 0).count();
    assert_eq!(count, 3);
    assert!(all.stdout.starts_with(&three.stdout));
    assert_eq!(site.run("locate -c -n 3 a").text(), "3\n");
    assert_eq!(site.run("locate -c -l 0 a").expect_code(1).text(), "0\n");
}

fn small(label: &str) -> Site {
    let site = Site::empty(label);
    for dir in ["src/deep", "other"] {
        std::fs::create_dir_all(site.tree().join(dir)).unwrap();
    }
    for file in [
        "src/main.rs",
        "src/deep/Main.txt",
        "other/main",
        "src/a\x1bb",
    ] {
        std::fs::write(site.tree().join(file), "x").unwrap();
    }
    site.index();
    site
}

#[test]
fn answers_for_machines_and_below_directories() {
    let site = small("locate-small");
    let tree = site.tree().display().to_string();
    let ran = site.run("locate --below src main").expect_code(0);
    assert_eq!(ran.text(), format!("{tree}/src/main.rs\n"));
    let ran = site.run("locate -i --json --below src/deep --below src main");
    let found: Vec<_> = objects(&ran)
        .into_iter()
        .map(|o| o["path"].clone())
        .collect();
    assert_eq!(
        found,
        [
            format!("{tree}/src/main.rs"),
            format!("{tree}/src/deep/Main.txt")
        ]
    );
    let ran = site.run("locate --csv -b main");
    assert_eq!(
        ran.text(),
        format!("path,path_raw\n{tree}/other/main,\n{tree}/src/main.rs,\n")
    );
    let ran = site.run("locate --fuzzy mainrs").expect_code(0);
    assert_eq!(ran.text(), format!("{tree}/src/main.rs\n"));
    let ran = site.run("locate --fuzzy -l 1 main").expect_code(0);
    assert_eq!(ran.text(), format!("{tree}/other/main\n"));
    assert!(site.run("locate --status main").errors().contains("as of"));
    assert_eq!(site.run("locate -S").text(), site.run("sources").text());
    assert_eq!(site.run("locate nothing-of-this").expect_code(1).text(), "");
}

#[test]
fn what_is_gone_exists_no_more() {
    let site = small("locate-gone");
    std::fs::remove_file(site.tree().join("other/main")).unwrap();
    std::os::unix::fs::symlink("nowhere", site.tree().join("other/main.link")).unwrap();
    site.index();
    std::fs::remove_file(site.tree().join("src/main.rs")).unwrap();
    let tree = site.tree().display().to_string();
    let both = format!("{tree}/other/main.link\n{tree}/src/main.rs\n");
    assert_eq!(site.run("locate -b main").text(), both);
    let there = site.run("locate -e -b main").expect_code(0);
    assert_eq!(there.text(), format!("{tree}/other/main.link\n"));
    assert_eq!(site.run("locate -e -c -b main").text(), "1\n");
    site.run("locate -e main.rs").expect_code(1);
}

#[test]
fn mistakes_are_told() {
    let site = small("locate-mistakes");
    for (line, word) in [
        ("locate", "PATTERN"),
        ("locate -d x main", "--index"),
        ("locate --regex (", "Unmatched"),
        ("locate a\\", "backslash"),
        ("locate -l many main", "many"),
        ("locate --json --csv -c main", "--count"),
    ] {
        let ran = site.run(line).expect_code(2);
        assert!(ran.errors().contains(word), "{ran}");
        assert_eq!(ran.text(), "", "{line}");
    }
    let ran = site.run("locate --below /no/such main");
    assert!(ran.errors().contains("not indexed"), "{ran}");
    assert_eq!(ran.text(), "");
}

#[test]
fn a_reader_that_has_enough_ends_it_quietly() {
    let site = Site::odd("locate-pipe");
    let mut command = site.command();
    command.args(["locate", ""]).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let done = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&done.stderr), "");
}

const USER: u32 = 4712;

/// Runs the program as a user without rights, on root's index.
fn as_user(site: &Site, words: &[&str]) -> Ran {
    let mut command = Identity::user(USER).command(site.scratch.join("trawl"));
    command.args(words).current_dir("/");
    command.env("TRAWL_INDEX", site.index_dir());
    oracle::run(&mut command)
}

#[test]
fn users_find_what_find_shows_them() {
    if let Some(skip) = without_root("other users") {
        return skip.say();
    }
    let site = Site::empty("locate-user");
    for (dir, mode, owner) in [
        ("open", 0o755, 0),
        ("open/private", 0o700, 0),
        ("open/passed", 0o711, 0),
        ("open/passed/inner", 0o755, 0),
        ("mine", 0o700, USER),
        ("group", 0o750, 0),
        ("many", 0o700, 0),
    ] {
        let path = site.tree().join(dir);
        std::fs::create_dir(&path).unwrap();
        for number in 0..1500 {
            std::fs::write(path.join(format!("file-{number}.txt")), "").unwrap();
        }
        std::os::unix::fs::chown(&path, Some(owner), Some(0)).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    site.scratch.install(Path::new(env!("CARGO_BIN_EXE_trawl")));
    site.index();
    let mut command = Identity::user(USER).command("find");
    command.arg(site.tree()).arg("-print0");
    let shown = paths(&oracle::run(&mut command));
    assert!(shown.len() > 3000);
    for pattern in [
        "file-1", "e-77.txt", "private", "inner", "mine", "many", "e",
    ] {
        let has = |path: &&Vec<u8>| {
            let name = std::ffi::OsStr::from_bytes(path);
            name.to_string_lossy().contains(pattern)
        };
        let expected: BTreeSet<_> = shown.iter().filter(has).cloned().collect();
        let found = as_user(&site, &["locate", "-0", pattern]);
        assert_eq!(paths(&found), expected, "{pattern}");
        assert_eq!(found.errors(), "", "{pattern}");
        let count = as_user(&site, &["locate", "-c", pattern]);
        assert_eq!(count.text(), format!("{}\n", expected.len()), "{pattern}");
        let there = as_user(&site, &["locate", "-0", "-e", pattern]);
        assert_eq!(paths(&there), expected, "{pattern}");
    }
    let guess = as_user(&site, &["locate", "--fuzzy", "-l", "9999", "-0", "mnyfl"]);
    assert!(paths(&guess).iter().all(|path| shown.contains(path)));
}

/// Expressions with tests of names that rule rows out, or that do not.
const EXPRESSIONS: &[&str] = &[
    ". -name note-1*.txt",
    ". -name NOTE-1* -o -iname *-77.TXT",
    ". -iname note-2[0-9].* -size -1 -print",
    ". -name *k* -iname *K*",
    ". -path ./many/*-9.txt",
    ". -path *many/n*5*",
    "./many -path ./many/note-3.txt",
    "many/ -path many/note-3*",
    "many/../many -path *y/../many/note-3*",
    "many -ipath MANY/NOTE-4?.TXT",
    ". -wholename ./many -o -wholename *3.log",
    ". -regex .*/note-[12]+\\.txt",
    ". -regextype posix-extended -regex (./many|./none)/note-(7|8)7\\.(txt|log)",
    ". -iregex .*LOG",
    ". -regextype posix-basic -regex .*\\(1\\)\\12.*",
    ". ! -name note* -print",
    ". ! ( -name note* -o -name *.x )",
    ". -name nothing-like-this",
    ". -name nothing-like-this -o -name note-1.txt -print",
    ". -name many -prune -o -name n*1.txt -print",
    ". -name inner -prune -o -print",
    ". -depth -name note-55*",
    ". -maxdepth 1 -name note-1*",
    ". -mindepth 2 -name *-1?.txt",
    "-L many link -name *-7.txt",
    "-L many link -path */link/note-7.txt",
    "-L link -path link/note-7.t*",
    ". -name note-5.txt -quit",
    ". -name note-5* , -name note-66.txt -print",
    ". -name ?ote-12.txt -o -name [m]any",
    ". -name note-\\*",
    ". -name é*",
    ". -iname É*",
    ". -iname *\u{212a}*",
    ". -iname *k*",
];

#[test]
fn find_says_the_same_with_and_without_an_index_of_names() {
    let site = Site::odd("names");
    let many = site.tree().join("many");
    std::fs::create_dir_all(many.join("inner")).unwrap();
    for number in 0..1500 {
        let ending = ["txt", "log", "x"][number % 3];
        std::fs::write(many.join(format!("note-{number}.{ending}")), "").unwrap();
        std::fs::write(many.join(format!("inner/é\u{212a}{number}.K")), "").unwrap();
    }
    std::os::unix::fs::symlink("many", site.tree().join("link")).unwrap();
    site.index();
    let ask =
        |line: &str| site.trawl(&[&["find"], &line.split(' ').collect::<Vec<_>>()[..]].concat());
    let with: Vec<Ran> = EXPRESSIONS.iter().map(|line| ask(line)).collect();
    let files = crate::site::files_below(&site.index_dir());
    let is_names = |path: &&std::path::PathBuf| path.extension().is_some_and(|e| e == "names");
    let names: Vec<_> = files.iter().filter(is_names).collect();
    assert!(!names.is_empty());
    for path in names {
        std::fs::remove_file(path).unwrap();
    }
    for (line, with) in EXPRESSIONS.iter().zip(with) {
        let without = ask(line);
        assert_eq!(with.stdout, without.stdout, "{line}");
        assert_eq!(with.errors(), without.errors(), "{line}");
        assert_eq!(with.code, without.code, "{line}");
        let find = oracle::gnu("find", line.split(' '), &site.tree(), &Identity::Ourselves);
        let sorted = |ran: &Ran| {
            let mut lines: Vec<Vec<u8>> = ran
                .stdout
                .split(|b| *b == b'\n')
                .map(<[u8]>::to_vec)
                .collect();
            lines.sort();
            lines
        };
        if !line.contains("-quit") {
            assert_eq!(sorted(&without), sorted(&find), "{line}");
        }
    }
}
