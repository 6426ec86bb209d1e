//! Rankings and counts of several servers as one answer. The oracle is the question asked on this machine after
//! the trees of both servers were moved here and indexed together: every byte must be equal.

use std::fs::{self, File, FileTimes};
use std::io::Read;
use std::os::unix::fs::chown;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use trawl_testkit::oracle::{self, Ran};
use trawl_testkit::skip;

use crate::mapped::keep_accessed;
use crate::site::{LONG, Server, Site};

/// Two servers: one has `export/one`, which the client calls `a`, the other has `export/two`, which
/// the client calls `b`.
struct Both {
    site: Site,
    servers: Vec<Server>,
}

/// The trees of the servers, as the client calls them and as they are called there.
const TREES: [(&str, &str); 2] = [("a", "export/one"), ("b", "export/two")];

/// Files of both trees with their sizes; several are equally large.
const FILES: [&[(&str, usize)]; 2] = [
    &[
        ("x.c", 100),
        ("deep/er/main.rs", 30_000),
        ("deep/x.c", 5000),
        ("deep/same", 4096),
        ("many/1.h", 1),
        ("many/2.h", 2),
        ("many/3.h", 3),
        ("main-notes.md", 70_000),
    ],
    &[
        ("y.c", 100),
        ("deep/er/main.c", 30_001),
        ("deep/same", 4096),
        ("more/1.h", 9000),
        ("more/2", 0),
        ("more/3", 12),
        ("more/4", 13),
        ("more/5.rs", 14),
        ("x.c", 200_000),
    ],
];

impl Both {
    fn new(name: &str) -> Both {
        let site = Site::new(name);
        let mut age = 0;
        for ((_, there), files) in TREES.iter().zip(FILES) {
            for (path, size) in files {
                let path = site.scratch.join(there).join(path);
                fs::create_dir_all(path.parent().expect("a directory")).expect("room");
                fs::write(&path, vec![b'x'; *size]).expect("room");
                // Pairs of equal times.
                age += 1;
                let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_500_000_000);
                let time = time + Duration::from_secs(age / 2 * 7919 % 1000);
                let times = FileTimes::new().set_modified(time);
                let file = File::options().write(true).open(&path).expect("our own");
                file.set_times(times).expect("our own");
                if skip::is_root() && age % 3 == 0 {
                    chown(&path, Some(4711 + age as u32 % 2), Some(4712)).expect("root may");
                }
            }
        }
        let later = SystemTime::now() + Duration::from_secs(3600);
        let times = FileTimes::new().set_accessed(later);
        keep_accessed(&site.scratch.join("export"), times);
        let mut both = Both {
            site,
            servers: Vec::new(),
        };
        for (number, (_, there)) in TREES.iter().enumerate() {
            both.index(&[there], &format!("index{number}"));
            let server = both.serve(number);
            both.servers.push(server);
        }
        both.write_rules("everything", |here, there, is_own| match is_own {
            true => Some((here.to_owned(), there.to_owned())),
            // The other tree is not at this server.
            false => Some((here.to_owned(), format!("nowhere/{here}"))),
        });
        both
    }

    /// Writes the rules of both servers for both trees.
    fn write_rules(&self, name: &str, rule: impl Fn(&str, &str, bool) -> Option<(String, String)>) {
        let mut rules = String::new();
        for number in 0..2 {
            for (tree, (here, there)) in TREES.iter().enumerate() {
                if let Some((here, there)) = rule(here, there, tree == number) {
                    let (here, there) = (self.at(&here), self.at(&there));
                    let socket = self.socket(number);
                    let (here, socket) = (here.display(), socket.display());
                    rules += &format!("{here} = unix://{socket}:{}\n", there.display());
                }
            }
        }
        let settings = self.at(name).join("trawl");
        fs::create_dir_all(&settings).expect("room");
        fs::write(settings.join("remote"), rules).expect("room");
    }

    fn at(&self, path: &str) -> PathBuf {
        self.site.scratch.join(path)
    }

    fn socket(&self, number: usize) -> PathBuf {
        self.at(&format!("socket{number}"))
    }

    fn index(&self, trees: &[&str], index: &str) {
        let mut command = oracle::command(&self.site.program);
        command.arg("--index").arg(self.at(index)).arg("index");
        command.args(trees.iter().map(|tree| self.at(tree)));
        oracle::run(&mut command).expect_code(0);
    }

    fn serve(&self, number: usize) -> Server {
        let socket = self.socket(number);
        let index = self.at(&format!("index{number}")).display().to_string();
        let listen = format!("--listen=unix:{}", socket.display());
        let server = self.site.serve(&["--index".into(), index, listen]);
        let until = Instant::now() + LONG;
        while !socket.exists() {
            assert!(Instant::now() < until, "{}", server.said());
            std::thread::sleep(Duration::from_millis(5));
        }
        server
    }

    /// Returns the words that name these sockets.
    fn remote(&self, sockets: &[PathBuf]) -> Vec<String> {
        let words = sockets.iter().flat_map(|socket| {
            let address = format!("unix:{}", socket.display());
            ["--remote".to_owned(), address]
        });
        words.collect()
    }

    fn both(&self) -> Vec<String> {
        self.remote(&[self.socket(0), self.socket(1)])
    }

    /// Returns the command for a question. `HERE` in words stands for the directory with the client's
    /// trees.
    fn command(&self, settings: &str, before: &[String], words: &[&str]) -> std::process::Command {
        let top = self.site.scratch.path().display().to_string();
        let words = words.iter().map(|word| word.replace("HERE", &top));
        let mut command = oracle::command(&self.site.program);
        command.args(before).args(words);
        command.env("XDG_CONFIG_HOME", self.at(settings));
        command.env("TRAWL_INDEX", self.at("index"));
        command.env("TZ", "Europe/Berlin");
        command.current_dir(self.at("tree"));
        command
    }

    fn ask(&self, settings: &str, before: &[String], words: &[&str]) -> Ran {
        oracle::run(&mut self.command(settings, before, words))
    }

    fn ask_here(&self, words: &[&str]) -> Ran {
        self.ask("none", &["--remote".into(), "here".into()], words)
    }

    /// Prints an answer on a terminal.
    fn show(&self, before: &[String], words: &[&str]) -> String {
        let pair = trawl_sys::pseudo_terminal::open(90, 24).expect("a terminal");
        let mut command = self.command("everything", before, words);
        command.stdout(pair.theirs);
        let mut child = command.spawn().expect("it starts");
        drop(command);
        let mut bytes = Vec::new();
        // The end of a terminal is an error.
        let _ = File::from(pair.ours).read_to_end(&mut bytes);
        child.wait().expect("it is ours");
        String::from_utf8(bytes).expect("names of the test")
    }

    /// Moves the trees to where the client calls them, and indexes them together.
    fn move_here(&mut self) {
        self.servers.clear();
        for (here, there) in TREES {
            fs::rename(self.at(there), self.at(here)).expect("our own");
        }
        self.index(&TREES.map(|(here, _)| here), "index");
    }
}

/// Rankings, without their paths.
const RANKINGS: &[&[&str]] = &[
    &["top"],
    &["top", "-n", "5"],
    &["top", "-n", "0"],
    &["top", "-b", "--apparent-size"],
    &["top", "--json", "-n", "7"],
    &["top", "--csv", "-n", "3"],
    &["top", "-0"],
    &["top", "--oldest"],
    &["top", "--oldest", "-n", "4", "--json"],
    &["top", "--newest"],
    &["top", "--newest=atime", "-n", "6"],
    &["top", "--dirs"],
    &["top", "--dirs", "-n", "3", "--by", "entries"],
    &["top", "--dirs", "--json", "-n", "4"],
    &["top", "--fullest"],
    &["top", "--fullest", "--csv"],
    &["top", "--owners"],
    &["top", "--owners", "--by", "entries", "--json"],
    &["top", "--groups", "--csv"],
    &["top", "--extensions"],
    &["top", "--extensions", "-n", "2"],
    &[
        "top",
        "--extensions",
        "-n",
        "2",
        "--by",
        "entries",
        "--apparent-size",
    ],
    &["top", "--extensions", "--json"],
    &["top", "--projects"],
];

/// Expressions that sort what find prints.
const SORTED: &[&[&str]] = &[
    &["-sort", "-size"],
    &["-sort", "size", "-limit", "5"],
    &["-type", "f", "-sort", "name,-size", "-ls"],
    &["-type", "f", "-sort", "-mtime", "-printf", "%s %t %f\\n"],
    &["-type", "f", "-sort", "mtime", "-limit", "9", "-print0"],
    &["-type", "f", "-sort", "path"],
    &["-sort", "-dir", "-name", "*.[ch]"],
    &["-name", "no such file", "-sort", "size"],
    // Not sorted.
    &["-name", "-sort", "-o", "-name", "deep"],
];

fn questions() -> Vec<Vec<&'static str>> {
    let paths = ["HERE/a", "HERE/b"];
    let rankings = RANKINGS.iter().map(|words| [words, &paths[..]].concat());
    let tested = ["top", "HERE/a", "HERE/b", "--", "-name", "*.[ch]"];
    let sorted = SORTED
        .iter()
        .map(|words| [&["find"][..], &paths[..], words].concat());
    let formed = ["--json", "--csv", "-0"].map(|form| {
        let words = ["-type", "f", "-sort", "-size", "-limit", "6"];
        [&["find", form][..], &paths[..], &words[..]].concat()
    });
    // Each server has one of the paths.
    let counted = [
        &["stats", "HERE/a", "HERE/b"][..],
        &["stats", "--csv", "HERE/b", "HERE/a"],
    ];
    rankings
        .chain([tested.to_vec()])
        .chain(counted.map(<[&str]>::to_vec))
        .chain(sorted)
        .chain(formed)
        .collect()
}

/// Questions about all that the servers have.
const LOCATED: &[&[&str]] = &[
    &["locate", "x.c"],
    &["locate", "-n", "3", "main"],
    &["locate", "-0", "-b", "deep"],
    &["locate", "--json", "same"],
    &["locate", "--csv", "-n", "2", "same"],
    &["locate", "-c", "same"],
    &["locate", "-c", "-n", "1", "same"],
    &["locate", "no such name"],
    &["locate", "-c", "no such name"],
    // Matches at one server only.
    &["locate", "y.c"],
    &["locate", "--fuzzy", "-b", "mn"],
    &["locate", "--fuzzy", "-b", "-n", "2", "mn"],
];

/// Returns the exit code of a question about a tree that is not indexed.
fn code_without_a_tree(words: &[&str]) -> Option<i32> {
    Some(if words[0] == "find" { 1 } else { 2 })
}

#[test]
fn two_servers_answer_like_one_index_of_both_trees() {
    let mut both = Both::new("merged");
    let (servers, questions) = (both.both(), questions());
    let there: Vec<Ran> = questions
        .iter()
        .map(|words| both.ask("everything", &servers, words))
        .collect();
    let watched = ["top", "top --dirs", "top --owners", "find -sort -size"];
    let watched = watched.map(|words| {
        let mut words: Vec<&str> = words.split(' ').collect();
        words.splice(1..1, (words[0] == "find").then_some("HERE/a"));
        words.splice(1..1, (words[0] == "find").then_some("HERE/b"));
        words.extend(
            (words[0] == "top")
                .then_some(["HERE/a", "HERE/b"])
                .iter()
                .flatten(),
        );
        words
    });
    let shown = watched.each_ref().map(|words| both.show(&servers, words));
    both.move_here();
    let mut wrong = Vec::new();
    for (words, there) in questions.iter().zip(&there) {
        let here = both.ask_here(words);
        // Each server lacks one of the trees.
        let is_named = there.errors().contains("/a’") && there.errors().contains("/b’");
        let code = code_without_a_tree(words);
        if here.stdout != there.stdout || there.code != code || !is_named {
            wrong.push(format!(
                "{words:?}\n{there}\n{}\nhere:\n{}",
                there.text(),
                here.text()
            ));
        }
    }
    let here = ["--remote".to_owned(), "here".to_owned()];
    for (words, there) in watched.iter().zip(&shown) {
        let here = both.show(&here, words);
        if here != *there {
            wrong.push(format!("{words:?} on a terminal\n{there}\nhere:\n{here}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // The answers are about something.
    assert!(shown[0].contains('%') && there[0].text().lines().count() == 17);
}

#[test]
fn paths_of_two_servers_are_located_like_those_of_one_index() {
    let both = Both::new("merged-located");
    both.index(&TREES.map(|(_, there)| there), "index");
    for words in LOCATED {
        let there = both.ask("none", &both.both(), words);
        let here = both.ask_here(words);
        assert_eq!(here.text(), there.text(), "{words:?}: {there}");
        assert_eq!(here.code, there.code, "{words:?}: {there}");
        assert_eq!(here.errors(), there.errors(), "{words:?}");
    }
}

#[test]
fn equal_rows_come_in_the_order_of_the_servers() {
    let both = Both::new("merged-ties");
    both.write_rules("same", |_, there, is_own| {
        is_own.then(|| ("same".to_owned(), there.to_owned()))
    });
    // Both have it under the same name, and the same time.
    let inode = |number: usize| {
        let path = both.at(TREES[number].1).join("deep/same");
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let file = File::options().write(true).open(&path).expect("our own");
        let times = FileTimes::new().set_modified(time);
        file.set_times(times).expect("our own");
        use std::os::unix::fs::MetadataExt;
        fs::metadata(&path).expect("it exists").ino().to_string()
    };
    let inodes = [0, 1].map(inode);
    let words = ["find", "--live", "HERE/same", "-name", "same", "-type", "f"];
    let words = [&words[..], &["-sort", "size", "-printf", "%i\n"]].concat();
    for order in [[0, 1], [1, 0]] {
        let servers = both.remote(&order.map(|number| both.socket(number)));
        let ran = both.ask("same", &servers, &words).expect_code(0);
        let wanted = order.map(|number| inodes[number].clone() + "\n").concat();
        assert_eq!(ran.text(), wanted, "{ran}");
    }
}

/// Counts, without their paths.
const COUNTS: &[&[&str]] = &[
    &["stats"],
    &["stats", "-n", "2"],
    &["stats", "-n", "0", "--by", "extension", "--csv"],
    &["stats", "--json", "--share", "disk"],
    &[
        "stats", "--by", "owner", "--by", "age", "--by", "size", "--csv",
    ],
    &[
        "stats",
        "--by",
        "owner,extension",
        "--by",
        "type,size",
        "-n",
        "3",
    ],
    &[
        "stats", "--by", "project", "--by", "accessed", "--by", "changed", "--csv",
    ],
    &["stats", "--by", "name-length", "--json"],
];

#[test]
fn counts_of_two_servers_are_those_of_one_index_of_both_trees() {
    let mut both = Both::new("merged-counts");
    // Both trees have the same path here.
    both.write_rules("rules", |_, there, is_own| {
        is_own.then(|| ("same".to_owned(), there.to_owned()))
    });
    let servers = both.both();
    let ask = |both: &Both, before: &[String], words: &[&str], least: &str| {
        let tested = ["HERE/same", "--", "-mindepth", least];
        both.ask("rules", before, &[words, &tested[..]].concat())
    };
    let there: Vec<Ran> = COUNTS
        .iter()
        .map(|words| ask(&both, &servers, words, "0").expect_code(0))
        .collect();
    both.servers.clear();
    fs::rename(both.at("export"), both.at("same")).expect("our own");
    both.index(&["same"], "index");
    for (words, there) in COUNTS.iter().zip(&there) {
        // The trees are one level down, and what holds them is not theirs.
        let here = ask(&both, &["--remote".into(), "here".into()], words, "1").expect_code(0);
        assert_eq!(here.text(), there.text(), "{words:?}");
        assert_eq!(here.errors(), there.errors(), "{words:?}");
    }
    // The answers are about something.
    assert!(
        there[0]
            .text()
            .starts_with(&format!("{}: 25 entries", both.at("same").display()))
    );
}

#[test]
fn a_server_that_is_down_is_named_and_the_rest_stays_in_order() {
    let both = Both::new("merged-down");
    let down = both.at("nowhere/socket");
    let with = [both.socket(0), down, both.socket(1)];
    let (with, without) = (both.remote(&with), both.both());
    for words in questions().iter().step_by(3) {
        let ran = both.ask("everything", &with, words);
        let wanted = both.ask("everything", &without, words);
        assert_eq!(ran.stdout, wanted.stdout, "{words:?}: {ran}");
        assert_eq!(ran.code, code_without_a_tree(words), "{words:?}: {ran}");
        assert!(ran.errors().contains("nowhere/socket"), "{ran}");
    }
    for words in LOCATED {
        let ran = both.ask("none", &with, words);
        let wanted = both.ask("none", &without, words);
        assert_eq!(ran.stdout, wanted.stdout, "{words:?}: {ran}");
        assert_eq!(ran.code, Some(1), "{words:?}: {ran}");
    }
    let none = both.remote(&[both.at("nowhere/x"), both.at("nowhere/y")]);
    let ran = both.ask("everything", &none, &["top", "--owners", "HERE/a"]);
    assert_eq!((ran.text().as_str(), ran.code), ("", Some(1)), "{ran}");
    assert!(ran.errors().contains("nowhere/x") && ran.errors().contains("nowhere/y"));
}

#[test]
fn arrow_streams_are_not_joined() {
    let both = Both::new("merged-arrow");
    for words in [
        &["top", "--arrow", "HERE/a"][..],
        &["find", "--arrow", "HERE/a"],
        &["ls", "--arrow", "HERE/a"],
    ] {
        let ran = both.ask("everything", &both.both(), words).expect_code(2);
        assert!(ran.errors().contains("--json"), "{ran}");
        assert!(ran.stdout.is_empty(), "{ran}");
    }
}
