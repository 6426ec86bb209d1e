//! Command lines about trees that are at other places on the server. The oracle is the question asked
//! on this machine after the tree was moved to where the client calls it: every byte must be equal.

use std::ffi::OsStr;
use std::fs::{self, FileTimes};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use trawl_testkit::oracle::{self, Identity, Ran};
use trawl_testkit::skip;

use crate::site::{Server, Site, somebody};

/// A tree at `export/vol` that clients call `gpfs`, and one at `export/two` that they call `data`.
struct Mapped {
    site: Site,
    server: Option<Server>,
}

/// The trees, as the client calls them and as the server does.
const TREES: [(&str, &str); 2] = [("gpfs", "export/vol"), ("data", "export/two")];

impl Mapped {
    fn new(name: &str, words: &[&str]) -> Mapped {
        let site = Site::new(name);
        let at = |path: &str| site.scratch.join(path);
        fs::create_dir_all(at("export")).expect("room");
        fs::rename(site.tree(), at("export/vol")).expect("our own");
        for (path, text) in [
            ("export/vol/proj/a.h5", "needle a\n"),
            ("export/vol/proj/na\nme", "needle b\n"),
            ("export/vol/proj/deep/gpfs", "needle c\n"),
            ("export/vol/proj/copy", "needle c\n"),
            ("export/two/x.c", "needle d\n"),
        ] {
            fs::create_dir_all(at(path).parent().expect("a directory")).expect("room");
            fs::write(at(path), text).expect("room");
        }
        let bytes = Path::new(OsStr::from_bytes(b"export/vol/proj/\xff\xfe"));
        fs::write(site.scratch.path().join(bytes), "needle e\n").expect("room");
        std::os::unix::fs::symlink("a.h5", at("export/vol/proj/link")).expect("room");
        std::os::unix::fs::symlink("/nowhere/at/all", at("export/vol/proj/lost")).expect("room");
        std::os::unix::fs::symlink("../proj/a.h5", at("export/vol/open/link")).expect("room");
        let later = SystemTime::now() + Duration::from_secs(3600);
        keep_accessed(&at("export"), FileTimes::new().set_accessed(later));
        // Where the client calls them, there is something else on this machine.
        for decoy in ["gpfs/proj/decoy", "data/decoy", "elsewhere"] {
            fs::create_dir_all(at(decoy)).expect("room");
        }
        let mut mapped = Mapped { site, server: None };
        mapped.index(&["export/vol", "export/two"]);
        let index = mapped.at("index").display().to_string();
        let (server, socket) = mapped
            .site
            .at_socket(&[&["--index", &index], words].concat());
        mapped.server = Some(server);
        let rule = |(here, there): (&str, &str)| {
            let (here, there) = (mapped.at(here), mapped.at(there));
            let (here, there) = (here.display(), there.display());
            format!("{here} = unix://{}:{there}\n", socket.display())
        };
        let rules: String = TREES.map(rule).concat();
        fs::create_dir_all(mapped.at("settings/trawl")).expect("room");
        fs::write(mapped.at("settings/trawl/remote"), rules).expect("room");
        mapped
    }

    fn at(&self, path: &str) -> PathBuf {
        self.site.scratch.join(path)
    }

    fn index(&self, trees: &[&str]) {
        let mut command = oracle::command(&self.site.program);
        command.arg("--index").arg(self.at("index")).arg("index");
        command.args(trees.iter().map(|tree| self.at(tree)));
        oracle::run(&mut command).expect_code(0);
    }

    /// Runs the program. `HERE` in words stands for the directory with the client's trees, `THERE` for
    /// that with the server's.
    fn run(&self, who: &Identity, before: &[&str], directory: &str, words: &[&str]) -> Ran {
        let mut command = who.command(&self.site.program);
        let top = self.site.scratch.path().display().to_string();
        let words = words.iter().map(|word| word.replace("HERE", &top));
        command.args(before).args(words);
        command.env("XDG_CONFIG_HOME", self.at("settings"));
        command.env("TRAWL_INDEX", self.at("index"));
        oracle::run(command.current_dir(self.at(directory)))
    }

    /// Moves the trees to where clients call them, and indexes them there.
    fn move_here(&mut self) {
        self.server = None;
        fs::remove_dir_all(self.at("index")).expect("our own");
        for (here, there) in TREES {
            fs::remove_dir_all(self.at(here)).expect("our own");
            fs::rename(self.at(there), self.at(here)).expect("our own");
        }
        self.index(&TREES.map(|(here, _)| here));
    }
}

/// Gives files and directories a time of access that reading them does not change, mount(8).
pub(crate) fn keep_accessed(path: &Path, times: FileTimes) {
    let kind = fs::symlink_metadata(path).expect("it exists").file_type();
    if kind.is_dir() {
        for entry in fs::read_dir(path).expect("our own") {
            keep_accessed(&entry.expect("our own").path(), times);
        }
    }
    if !kind.is_symlink() {
        let file = fs::File::open(path).expect("our own");
        file.set_times(times).expect("our own");
    }
}

fn people() -> Vec<Identity> {
    let mut all = vec![Identity::Ourselves];
    if skip::is_root() {
        let uid = trawl_sys::identity::uid_of(somebody().as_bytes());
        all.push(Identity::user(uid.expect("a database").expect("a user")));
    }
    all
}

/// Working directories and questions.
const QUESTIONS: &[(&str, &[&str])] = &[
    ("elsewhere", &["find", "HERE/gpfs/proj"]),
    ("elsewhere", &["find", "HERE/gpfs/proj/", "-name", "*.h5"]),
    ("elsewhere", &["find", "HERE//./gpfs//proj/../proj", "-ls"]),
    ("elsewhere", &["find", "--live", "HERE/gpfs", "-size", "-2"]),
    (
        "elsewhere",
        &["find", "HERE/gpfs", "HERE/data", "-type", "f"],
    ),
    (
        "elsewhere",
        &["find", "HERE/gpfs", "-path", "HERE/gpfs/pr*"],
    ),
    ("elsewhere", &["find", "HERE/gpfs", "-path", "*export*"]),
    (
        "elsewhere",
        &["find", "HERE/gpfs", "-regex", ".*/gpfs/proj/[^/]*"],
    ),
    (
        "elsewhere",
        &["find", "HERE/gpfs/proj", "-printf", "%p|%P|%H|%h|%f|%l\\n"],
    ),
    (
        "elsewhere",
        &["find", "HERE/gpfs", "-samefile", "HERE/gpfs/proj/a.h5"],
    ),
    (
        "elsewhere",
        &["find", "HERE/gpfs", "-newer", "HERE/gpfs/proj/none"],
    ),
    (
        "elsewhere",
        &["find", "HERE/gpfs", "-maxdepth", "0", "-name", "gpfs"],
    ),
    (
        "elsewhere",
        &["find", "-0", "HERE/gpfs/none", "HERE/gpfs/proj"],
    ),
    (
        "elsewhere",
        &["find", "--json", "HERE/gpfs/proj", "!", "-type", "l"],
    ),
    (
        "elsewhere",
        &["find", "-L", "HERE/gpfs/proj", "-xtype", "l"],
    ),
    ("gpfs/proj", &["find"]),
    ("gpfs/proj", &["find", ".", "-samefile", "a.h5"]),
    (
        "gpfs/proj",
        &["find", "../proj/deep", "HERE/gpfs/proj/link"],
    ),
    (
        "gpfs/proj",
        &["find", "--live", "-L", ".", "-newer", "../proj/a.h5"],
    ),
    ("elsewhere", &["ls", "-la", "HERE/gpfs/proj"]),
    ("elsewhere", &["ls", "-R", "HERE/gpfs/none", "HERE/gpfs"]),
    (
        "elsewhere",
        &["ls", "-a", "--hyperlink=always", "HERE/gpfs/open"],
    ),
    ("elsewhere", &["ls", "--csv", "HERE/data"]),
    ("gpfs/proj", &["ls", "-l"]),
    (
        "elsewhere",
        &[
            "stat",
            "-c",
            "%n %N %s %i",
            "HERE/gpfs/proj/a.h5",
            "HERE/data/none",
        ],
    ),
    (
        "elsewhere",
        &["stat", "-f", "-c", "%n %T", "HERE/gpfs/proj"],
    ),
    ("elsewhere", &["du", "-ab", "HERE/gpfs", "HERE/data"]),
    ("gpfs/proj", &["du", "-b", "deep", "HERE/gpfs/shut"]),
    (
        "elsewhere",
        &["stats", "--by", "owner,extension", "HERE/gpfs"],
    ),
    (
        "elsewhere",
        &["top", "HERE/gpfs", "--", "-path", "*/gpfs/proj/*"],
    ),
    ("elsewhere", &["top", "--dirs", "HERE/gpfs"]),
    ("elsewhere", &["duplicates", "--min-size", "1", "HERE/gpfs"]),
    ("elsewhere", &["locate", "--below", "HERE/gpfs", "a.h5"]),
    (
        "gpfs/proj",
        &["locate", "--below", ".", "-b", "copy", "--json"],
    ),
    ("elsewhere", &["getfattr", "-R", "-d", "HERE/gpfs"]),
    ("elsewhere", &["search", "*", "HERE/gpfs/proj"]),
    (
        "elsewhere",
        &[
            "search",
            "--include-root",
            "*.h5",
            "HERE/gpfs",
            "HERE/gpfs/none",
        ],
    ),
    ("gpfs/proj", &["search", "--json", "a.h5"]),
    (
        "elsewhere",
        &["grep", "--sort", "path", "needle", "HERE/gpfs/proj"],
    ),
    ("elsewhere", &["grep", "needle", "HERE/gpfs/proj/a.h5"]),
    (
        "elsewhere",
        &[
            "grep",
            "--sort",
            "path",
            "-l",
            "needle",
            "HERE/gpfs/proj/*",
            "HERE/gpfs/none",
        ],
    ),
    ("gpfs/proj", &["grep", "--sort", "path", "-c", "needle"]),
    ("elsewhere", &["set", "--sort", "HERE/gpfs/proj/*"]),
    (
        "elsewhere",
        &["set", "--sort", "--json", "HERE/gpfs/{proj,open}/*"],
    ),
    ("gpfs/proj", &["set", "--sort", "*", "HERE/data/{x.c,y}"]),
];

#[test]
fn a_mapped_answer_has_the_bytes_of_one_about_the_tree_where_the_client_calls_it() {
    let mut mapped = Mapped::new("mapped", &[]);
    let ask = |mapped: &Mapped, before: &[&str]| -> Vec<Ran> {
        let each = |who: &Identity| -> Vec<Ran> {
            let questions = QUESTIONS.iter();
            let asked = questions.map(|(from, words)| mapped.run(who, before, from, words));
            asked.collect()
        };
        people().iter().flat_map(each).collect()
    };
    let there = ask(&mapped, &[]);
    mapped.move_here();
    let here = ask(&mapped, &["--remote", "here"]);
    let questions = people().len();
    let questions = std::iter::repeat_n(QUESTIONS, questions).flatten();
    let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    let host = format!("file://{}", host.trim_end());
    let mut wrong = Vec::new();
    for ((there, here), (directory, words)) in there.iter().zip(&here).zip(questions) {
        // A hyperlink to a file of this machine need not name the machine.
        let without_host = |ran: &Ran| ran.text().replace(&host, "file://");
        let differs = without_host(there) != without_host(here)
            || (!there.text().contains("file://") && there.stdout != here.stdout)
            || there.errors() != here.errors()
            || there.code != here.code;
        if differs {
            wrong.push(format!(
                "{directory} {words:?}\nmapped: {there}\n{}\nhere: {here}\n{}\n",
                there.text(),
                here.text(),
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Answers that name times and snapshots of the index: what differs from the server's own answer is
/// the path.
#[test]
fn what_only_the_server_knows_is_told_with_paths_of_the_client() {
    let mapped = Mapped::new("mapped-index", &[]);
    mapped.index(&["export/vol", "export/two"]);
    let socket = mapped.at("socket").display().to_string();
    let address = format!("unix:{socket}");
    let own = |words: &[&str]| {
        let mut command = oracle::command(&mapped.site.program);
        let top = mapped.site.scratch.path().display().to_string();
        let words = words.iter().map(|word| {
            let word = word.replace("HERE/gpfs", "HERE/export/vol");
            word.replace("HERE", &top)
        });
        // Without the rules.
        command.args(["--remote", &address]).args(words);
        command.env("XDG_CONFIG_HOME", "/nonexistent");
        oracle::run(command.current_dir(mapped.at("elsewhere")))
    };
    for words in [
        &["history", "--json", "HERE/gpfs/proj/a.h5"][..],
        &["growth", "--json", "--by", "dir", "HERE/gpfs"],
        &["diff", "HERE/gpfs"],
        &["--status", "find", "HERE/gpfs/proj"],
        &["--status", "--no-wait", "ls", "HERE/gpfs"],
        &[
            "--status",
            "find",
            "--live",
            "HERE/gpfs/proj",
            "-name",
            "a.h5",
        ],
        &["--max-age", "0s", "ls", "HERE/gpfs"],
        &["--fresh=1ms", "stat", "-c", "%n", "HERE/gpfs"],
        &["find", "HERE/gpfs/proj"],
    ] {
        let found = mapped.run(&Identity::Ourselves, &[], "elsewhere", words);
        let wanted = own(words);
        let named = |text: String| {
            let text = text
                .replace("/export/vol", "/gpfs")
                .replace("/export/two", "/data");
            // The second is another one.
            let is_time = |line: &&str| !line.contains("read from the file system");
            text.lines().filter(is_time).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(named(wanted.text()), named(found.text()), "{words:?}");
        assert_eq!(named(wanted.errors()), named(found.errors()), "{words:?}");
        assert_eq!(wanted.code, found.code, "{words:?}: {found}");
        let all = found.text() + &found.errors();
        assert!(!all.contains("/export/"), "{words:?}: {found}");
    }
    // Without a path they are about all that has a name here.
    let remote = ["--remote", &address];
    let ask = |words: &[&str]| mapped.run(&Identity::Ourselves, &remote, "elsewhere", words);
    let sources = ask(&["sources", "--json"]).expect_code(0).text();
    let top = mapped.site.scratch.path().display().to_string();
    for (here, there) in TREES {
        assert!(sources.contains(&format!("\"{top}/{here}\"")), "{sources}");
        assert!(
            !sources.contains(&format!("\"{top}/{there}\"")),
            "{sources}"
        );
    }
    let found = ask(&["locate", "x.c"]).expect_code(0).text();
    let shown = ["data/x.c", "gpfs/open/deep/x.c", "gpfs/shut/x.c"];
    let shown = shown.map(|path| format!("{top}/{path}\n")).concat();
    assert_eq!(found.replace(&format!("{top}/gpfs/open/x.c\n"), ""), shown);
    let quota = ask(&["quota", "HERE/gpfs"]);
    assert!(
        !(quota.text() + &quota.errors()).contains("/export/"),
        "{quota}"
    );
}

#[test]
fn what_has_no_name_on_the_client_or_cannot_be_mapped_is_refused() {
    let mapped = Mapped::new("mapped-refused", &[]);
    let address = format!("unix:{}", mapped.at("socket").display());
    let remote = ["--remote", &address];
    let who = Identity::Ourselves;
    for (directory, words, why) in [
        (
            "elsewhere",
            &["find", "HERE/gpfs", "HERE/elsewhere"][..],
            "does not lie in",
        ),
        ("elsewhere", &["find", "HERE/gpfs", "x"], "does not lie in"),
        (
            "gpfs/proj",
            &["find", ".", "../../elsewhere"],
            "does not lie in",
        ),
        (
            "gpfs/proj",
            &["ls", ".", "../../gpfs/proj"],
            "does not lie in",
        ),
        (
            "elsewhere",
            &["find", "HERE/gpfs", "-newer", "x"],
            "is mapped to this server",
        ),
        (
            "elsewhere",
            &["find", "HERE/gpfs", "-samefile", "HERE/export/vol"],
            "is mapped to",
        ),
        (
            "elsewhere",
            &["find", "HERE/gpfs", "-group-of", "HERE/gpfs/proj/a.h5"],
            "own paths",
        ),
        (
            "elsewhere",
            &["sql", "--below", "HERE/gpfs", "SELECT 1"],
            "own paths",
        ),
        (
            "elsewhere",
            &["grep", "x", "HERE/gpfs", "--", "-name", "x"],
            "--include",
        ),
        (
            "elsewhere",
            &["locate", "--below", "HERE/gpfs", "vol"],
            "otherwise on the server",
        ),
        (
            "elsewhere",
            &["locate", "--below", "HERE/gpfs", "--regex", "x"],
            "otherwise on",
        ),
        ("gpfs/proj/decoy", &["ls"], "the server cannot enter"),
    ] {
        let ran = mapped.run(&who, &remote, directory, words);
        assert!(ran.errors().contains(why), "{words:?}: {ran}");
        assert_ne!(ran.code, Some(0), "{words:?}");
        assert_eq!(ran.text(), "", "{words:?}");
    }
    // A path outside the mapped trees alone is the server's own, as without rules.
    let ran = mapped.run(&who, &remote, "elsewhere", &["find", "HERE/export/two"]);
    assert!(ran.text().contains("/export/two/x.c"), "{ran}");
    // A mapping opens nothing that a server with exports does not show.
    let mapped = Mapped::new("mapped-exports", &["--export", "tmp=/tmp"]);
    let ran = mapped.run(&who, &[], "elsewhere", &["find", "HERE/gpfs"]);
    assert!(ran.errors().contains("exported trees only"), "{ran}");
    assert_eq!((ran.text().as_str(), ran.code), ("", Some(2)), "{ran}");
}
