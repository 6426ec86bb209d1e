//! Command lines that a server answers: the same bytes and exit code as there, and nothing else.

use std::fs;
use std::io::{ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use trawl_remote::client::{CommandLine, OutputStream, Part};
use trawl_remote::rows::{Piece, Row};
use trawl_remote::{Address, Remote, RemoteError};
use trawl_testkit::oracle::{self, Identity, Ran};
use trawl_testkit::skip;

use crate::site::{LONG, Server, Site, large, mode, somebody};

/// A served tree with an index.
struct Served {
    site: Site,
    server: Server,
    socket: PathBuf,
}

impl Served {
    fn new(name: &str, words: &[&str]) -> Served {
        let site = Site::new(name);
        fs::write(
            site.tree().join("open/na\nme\u{202e}\x07"),
            "hidden needle\n",
        )
        .expect("room");
        index(&site);
        let index = index_of(&site);
        let index = index.display().to_string();
        let all = [&["--index", &index], words].concat();
        let (server, socket) = site.at_socket(&all);
        Served {
            site,
            server,
            socket,
        }
    }

    fn address(&self) -> String {
        format!("unix:{}", self.socket.display())
    }

    /// Runs the program as this user in the directory above the tree.
    fn run(&self, who: &Identity, before: &[&str], words: &[&str]) -> Ran {
        let mut command = who.command(&self.site.program);
        command.args(before).args(words);
        command.env("TRAWL_INDEX", index_of(&self.site));
        oracle::run(command.current_dir(self.site.scratch.path()))
    }

    fn remote(&self) -> Remote {
        Remote::new(Address::parse(self.address().as_ref()).expect("an address"))
    }

    /// Sends words to the server as an attacker would, without the checks of our client.
    fn send(&self, words: &[&str]) -> Result<(u32, String), RemoteError> {
        let words = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        let directory = self.site.scratch.path().as_os_str().as_bytes().to_vec();
        receive(
            &self.remote(),
            CommandLine {
                words,
                directory,
                ..CommandLine::default()
            },
        )
    }
}

/// Indexes the tree.
fn index(site: &Site) {
    let mut command = oracle::command(&site.program);
    command.arg("--index").arg(index_of(site)).arg("index");
    oracle::run(command.arg(site.tree())).expect_code(0);
}

fn index_of(site: &Site) -> PathBuf {
    site.scratch.join("index")
}

/// Returns the exit code and everything printed.
fn receive(remote: &Remote, line: CommandLine) -> Result<(u32, String), RemoteError> {
    let mut command = remote.command(line)?;
    let mut all = Vec::new();
    loop {
        match command.next_part(&|| true)? {
            Part::Printed(_, bytes) => all.extend(bytes),
            Part::Exited(code) => return Ok((code, String::from_utf8_lossy(&all).into_owned())),
        }
    }
}

/// Another user if we may become one, else ourselves.
fn somebody_else() -> Identity {
    match skip::is_root() {
        true => {
            let uid = trawl_sys::identity::uid_of(somebody().as_bytes());
            Identity::user(uid.expect("a database").expect("a user"))
        }
        false => Identity::Ourselves,
    }
}

const QUESTIONS: &[&[&str]] = &[
    &["find", "tree"],
    &[
        "find",
        "tree/open",
        "tree/shut",
        "-type",
        "f",
        "-size",
        "-2",
        "-ls",
    ],
    &["find", "tree", "-printf", "%p %s %M\\n", "-name", "-delete"],
    &["find", "--json", "tree"],
    &["find", "-0", "tree", "-name", "*.c"],
    &["find", "tree", "-bad"],
    &["ls", "-la", "tree/open"],
    &["ls", "-R", "nowhere", "tree"],
    &["stat", "tree/open/x.c", "tree/none"],
    &["du", "-ab", "tree"],
    &["stats", "--by", "owner,extension", "tree"],
    &["top", "tree", "--", "-type", "f"],
    &["duplicates", "tree"],
    &["locate", "x.c"],
    &["locate", "--regex", "x\\.[ch]$"],
    &["getfattr", "-R", "-d", "tree"],
    &["search", "*.c", "tree"],
    &["grep", "needle", "tree/open", "-r"],
    &["grep", "n\\w+le", "tree/open/*"],
    &["set", "tree/open/*"],
    &["history", "tree/open/x.c"],
    &["growth", "tree"],
    &["diff", "latest", "latest"],
    &["sources", "--json"],
    &["quota", "/proc"],
    &["quota", "--json", "/proc"],
    &["--at", "latest", "--no-wait", "ls", "--csv", "tree/open"],
];

#[test]
fn an_answer_has_the_bytes_and_the_exit_code_that_it_has_on_the_server() {
    let served = Served::new("lines", &[]);
    let address = served.address();
    for who in [Identity::Ourselves, somebody_else()] {
        for words in QUESTIONS {
            let here = served.run(&who, &[], words);
            let there = served.run(&who, &["--remote", &address], words);
            assert_eq!(here.code, there.code, "{words:?}: {there}");
            assert_eq!(here.stdout, there.stdout, "{words:?}: {there}");
            assert_eq!(here.errors(), there.errors(), "{words:?}");
        }
    }
    // The questions show something, and not everything to everybody.
    let all = served.run(&Identity::Ourselves, &["--remote", &address], QUESTIONS[0]);
    assert!(all.text().contains("tree/shut/x.c"), "{all}");
    let less = served.run(&somebody_else(), &["--remote", &address], QUESTIONS[0]);
    assert_eq!(
        less.text().contains("tree/shut/x.c"),
        !skip::is_root(),
        "{less}"
    );
    // The variable asks like the option, which overrides it.
    let mut command = oracle::command(&served.site.program);
    command
        .env("TRAWL_REMOTE", "unix:/nowhere/at/all")
        .args(["find", "/"]);
    let ran = oracle::run(&mut command);
    assert!(
        ran.errors().contains("cannot reach unix:/nowhere/at/all"),
        "{ran}"
    );
    assert_eq!(ran.code, Some(2), "{ran}");
    let ran = oracle::run(command.args(["-maxdepth", "0"]).env("TRAWL_REMOTE", "here"));
    assert_eq!((ran.text().as_str(), ran.code), ("/\n", Some(0)), "{ran}");
}

/// On a terminal, names are quoted and listed in columns as wide as the client's terminal.
#[test]
fn an_answer_fits_the_terminal_of_the_client() {
    use std::io::Read;
    let served = Served::new("terminal", &[]);
    for at in 0..40 {
        fs::write(served.site.tree().join(format!("open/file {at}")), "").expect("room");
    }
    index(&served.site);
    let address = served.address();
    let print = |before: &[&str], columns: u16| {
        let pair = trawl_sys::pseudo_terminal::open(columns, 24).expect("a terminal");
        let mut command = oracle::command(&served.site.program);
        command
            .args(before)
            .args(["ls", "--color=auto", "tree/open"]);
        command
            .env("TRAWL_INDEX", index_of(&served.site))
            .current_dir(served.site.scratch.path());
        command.stdout(pair.theirs);
        let mut child = command.spawn().expect("it starts");
        drop(command);
        let mut bytes = Vec::new();
        // The end of a terminal is an error.
        let _ = fs::File::from(pair.ours).read_to_end(&mut bytes);
        assert!(child.wait().expect("it is ours").success());
        bytes
    };
    for columns in [37, 120] {
        let there = print(&["--remote", &address], columns);
        let width = there.split(|byte| *byte == b'\n').map(<[u8]>::len).max();
        assert!(
            width > Some(10) && there.contains(&b'\''),
            "{}",
            there.escape_ascii()
        );
        assert_eq!(there, print(&[], columns), "{columns}");
    }
    assert_ne!(
        print(&["--remote", &address], 37),
        print(&["--remote", &address], 120)
    );
}

#[test]
fn nothing_is_run_or_written_or_read_elsewhere_for_a_client() {
    let served = Served::new("refused", &[]);
    let mark = served.site.scratch.join("mark");
    let (mark_text, tree) = (mark.display().to_string(), served.site.tree());
    let tree = tree.display().to_string();
    let address = format!("command:touch {mark_text}");
    let named = format!("t={mark_text}");
    let touch = format!("/%touch {mark_text}%");
    // What braces make is a name, too: here, that of a server, which must not be asked.
    let socket = served.site.scratch.join("elsewhere");
    let elsewhere = UnixListener::bind(&socket).expect("room");
    elsewhere.set_nonblocking(true).expect("our own");
    let braces = format!("unix{{:,x}}//{}:/p", socket.display());
    let lines: &[&[&str]] = &[
        &["grep", "x", &braces],
        &["find", &tree, "-fprint", &mark_text],
        &["find", &tree, "-fls", &mark_text],
        &["find", &tree, "-delete"],
        &["find", &tree, "-exec", "touch", &mark_text, ";"],
        &["find", &tree, "-exec", "touch", &mark_text, "+"],
        &["find", &tree, "-execdir", "touch", &mark_text, ";"],
        &["find", &tree, "-ok", "touch", &mark_text, ";"],
        &["find", "--profile", &mark_text, &tree],
        &["find", "--arrow", &tree, "-fprint", &mark_text],
        &["find", "-files0-from", "/etc/passwd"],
        &["--profile", &mark_text, "find", &tree],
        &["ls", &format!("--profile={mark_text}"), &tree],
        &["ls", "--prof", &mark_text, &tree],
        &["--index", &mark_text, "index", &tree],
        &["index", &tree],
        &["top", &tree, "--", "-fprint", &mark_text],
        &["stats", &tree, "--", "-exec", "touch", &mark_text, ";"],
        &["du", "--files0-from=/etc/passwd"],
        &["du", "--exclude-from=/etc/passwd", &tree],
        &["grep", "-f", "/etc/passwd", &tree],
        &["grep", "x", &touch],
        &["grep", "-e", "x", &touch],
        &["set", "--allow-commands", &touch],
        &["set", &tree, "--", "touch", &mark_text],
        &["set", "ssh://host/x"],
        &["grep", "x", "http://localhost:1/x"],
        &["search", "--remote", &address, "x", "/"],
        &["--remote", &address, "find", "/"],
        &["--remote=command:touch", "find", "/"],
        &["run", "touch", &mark_text],
        &["mount", &address, &tree],
        &["export", "--csv", &mark_text],
        &["sql", "-o", &mark_text, "SELECT 1"],
        &["sql", "--table", &named, "SELECT * FROM t"],
        &["sql", "--file", "/etc/passwd"],
        &["sql", "--temp-dir", &tree, "SELECT 1"],
        &["sql"],
        &["sources", "remove", &tree],
        &["gc"],
        &["watch"],
        &["serve", "--stdio"],
        &["hooks", "run", &tree],
        &["token", "list"],
        &["attr", "set", &tree],
        &["profile", "record", "-o", &mark_text],
        &["groups", "list"],
        &["man"],
        &["answer", "find", &tree],
        &[],
    ];
    for words in lines {
        let (code, said) = served.send(words).expect("an answer");
        assert!(code == 1 || code == 2, "{words:?}: {code} {said}");
        assert!(
            said.len() > 10 && !said.contains("root:"),
            "{words:?}: {said}"
        );
        assert!(!mark.exists(), "{words:?}: {said}");
    }
    assert!(Path::new(&tree).join("open/deep").exists());
    let is_asked = || elsewhere.accept().is_ok();
    assert!(!is_asked(), "for a client");
    // Here, it is asked.
    std::thread::scope(|scope| {
        let asks = scope.spawn(|| served.run(&Identity::Ourselves, &["grep", "x"], &[&braces]));
        let mut was_asked = false;
        while !asks.is_finished() {
            was_asked |= is_asked();
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert!(was_asked, "{}", asks.join().expect("no panic"));
    });
    // The program says so before it asks.
    for words in [
        &["run", "true"][..],
        &["find", "--profile", "x", "."],
        &["sql"],
    ] {
        let ran = served.run(&Identity::Ourselves, &["--remote", "unix:/nowhere"], words);
        assert_eq!(ran.code, Some(2), "{ran}");
        assert!(ran.errors().contains("server"), "{ran}");
    }
}

/// Puts a program in place of `trawl-sql`, whose own tests compare what it sends with what it writes: it
/// prints these rows.
fn answer_with(served: &Served, rows: &[Vec<&str>]) {
    let mut printed = Vec::new();
    for fields in rows {
        let fields = fields.iter().map(|field| field.as_bytes().to_vec());
        let row = Piece::Row(Row {
            key: Vec::new(),
            fields: fields.collect(),
        });
        printed.extend(row.encode());
    }
    let at = |name: &str| served.site.scratch.join(name);
    fs::write(at("rows"), printed).expect("room");
    let script = format!("#!/bin/sh\ncat '{}'\n", at("rows").display());
    fs::write(at("trawl-sql"), script).expect("room");
    mode(&at("trawl-sql"), 0o755);
}

/// Returns the rows of an export with a file of this name.
fn export_with(name: &str) -> Vec<Vec<&str>> {
    vec![
        vec!["entries/part-00001.csv", "path\n"],
        vec!["entries/part-00001.csv", "/x\n"],
        vec!["entries/part-00001.csv"],
        vec![name, "issue\n"],
        vec![name],
        vec!["export.json", "{}\n"],
        vec!["export.json"],
    ]
}

#[test]
fn the_files_of_a_servers_export_are_made_here() {
    let served = Served::new("exports", &[]);
    let address = served.address();
    let at = |name: &str| served.site.scratch.join(name);
    let export = |to: &str, more: &[&str]| {
        let words = ["export", "--tables", "entries,issues", "--csv", to];
        let words = [&words[..], more].concat();
        served.run(&Identity::Ourselves, &["--remote", &address], &words)
    };
    let read = |name: &str| fs::read_to_string(at(name)).expect("a file");
    answer_with(&served, &export_with("issues/part-00001.csv"));
    export("out", &[]).expect_code(0);
    assert_eq!(read("out/entries/part-00001.csv"), "path\n/x\n");
    assert_eq!(read("out/issues/part-00001.csv"), "issue\n");
    assert_eq!(read("out/export.json"), "{}\n");
    // An earlier export is replaced if that is wanted, something else never.
    let ran = export("out", &[]).expect_code(2);
    assert!(ran.errors().contains("--force"), "{ran}");
    fs::write(at("out/old"), "").expect("room");
    export("out", &["--force"]).expect_code(0);
    assert!(!at("out/old").exists());
    export("tree", &["--force"]).expect_code(2);
    assert!(at("tree/open").exists());
    // No other files are made, and no half exports.
    let before = names_in(&at("."));
    for name in [
        "issues/../../evil",
        "../evil",
        "/tmp/evil",
        "dirs/part-00001.csv",
        "issues/part-00002.csv",
        "issues/part-00001.parquet",
        "issues/part-00001.csv\0",
    ] {
        answer_with(&served, &export_with(name));
        let ran = export("other", &[]).expect_code(2);
        assert!(ran.errors().contains("cannot read the answer"), "{ran}");
        assert_eq!(names_in(&at(".")), before, "{name}");
    }
    for length in 0..7 {
        let rows = &export_with("issues/part-00001.csv")[..length];
        answer_with(&served, rows);
        export("other", &[]).expect_code(2);
        assert_eq!(names_in(&at(".")), before, "{length}");
    }
    // What the program says is its own, and so is the end.
    fs::write(at("trawl-sql"), "#!/bin/sh\necho no >&2; exit 2\n").expect("room");
    let ran = export("other", &[]).expect_code(2);
    assert_eq!(ran.errors(), "no\n", "{ran}");
    assert_eq!(names_in(&at(".")), before);
    let twice = ["--remote", &address, "--remote", "unix:/nowhere"];
    let ran = served.run(&Identity::Ourselves, &twice, &["export", "--csv", "other"]);
    assert_eq!(ran.code, Some(2), "{ran}");
    assert!(ran.errors().contains("one after the other"), "{ran}");
}

/// Returns the names in a directory, sorted.
fn names_in(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("a directory");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("a name").file_name().to_string_lossy().into())
        .collect();
    names.sort();
    names
}

/// Words, variables and directories that no client of ours sends.
#[test]
fn hostile_command_lines_are_refused() {
    let served = Served::new("hostile", &[]);
    let remote = served.remote();
    let line = CommandLine {
        words: vec![b"find".to_vec(), b"/nowhere".to_vec()],
        directory: b"/".to_vec(),
        ..CommandLine::default()
    };
    let refused = [
        CommandLine {
            variables: vec![b"LD_PRELOAD=/tmp/x.so".to_vec()],
            ..line.clone()
        },
        CommandLine {
            variables: vec![b"TZ=/etc/shadow".to_vec()],
            ..line.clone()
        },
        CommandLine {
            words: vec![vec![b'x'; 2 << 20]],
            ..line.clone()
        },
        CommandLine {
            words: vec![b"a\0b".to_vec()],
            ..line.clone()
        },
        CommandLine {
            directory: b"relative".to_vec(),
            ..line.clone()
        },
        CommandLine {
            directory: b"/no/such/place".to_vec(),
            ..line.clone()
        },
    ];
    for line in refused {
        let answer = receive(&remote, line.clone());
        assert!(
            matches!(answer, Err(RemoteError::Refused { .. })),
            "{answer:?}"
        );
    }
    let (code, said) = receive(&remote, line).expect("an answer");
    assert!(code == 1 && said.contains("/nowhere"), "{said}");
}

#[test]
fn a_server_with_exports_answers_no_command_lines() {
    let site = Site::new("exported-lines");
    let export = format!("--export=t={}", site.tree().display());
    let (_server, socket) = site.at_socket(&[&export]);
    let mut command = oracle::command(&site.program);
    command
        .arg("--remote")
        .arg(format!("unix:{}", socket.display()));
    let ran = oracle::run(command.args(["find", "/t"]));
    assert_eq!(ran.code, Some(2), "{ran}");
    assert!(ran.errors().contains("exported trees only"), "{ran}");
}

#[test]
fn a_server_that_is_down_is_named_and_the_others_answer() {
    let served = Served::new("down", &[]);
    let address = served.address();
    let both = ["--remote", "unix:/nowhere/x", "--remote", &address];
    let ran = served.run(&Identity::Ourselves, &both, QUESTIONS[0]);
    let here = served.run(&Identity::Ourselves, &[], QUESTIONS[0]);
    assert_eq!(ran.stdout, here.stdout, "{ran}");
    assert_eq!(ran.code, Some(1), "{ran}");
    assert!(ran.errors().contains("/nowhere/x"), "{ran}");
    let twice = ["--remote", &address, "--remote", &address];
    let ran = served.run(&Identity::Ourselves, &twice, QUESTIONS[0]);
    assert_eq!(ran.stdout, here.stdout.repeat(2), "{ran}");
    assert_eq!(ran.code, Some(0), "{ran}");
}

#[test]
fn several_servers_are_asked_at_once() {
    let site = Site::new("at-once");
    let sockets = ["one", "other"].map(|name| site.scratch.join(name));
    let listening = sockets
        .each_ref()
        .map(|path| UnixListener::bind(path).expect("room"));
    let mut command = oracle::command(&site.program);
    for path in &sockets {
        command
            .arg("--remote")
            .arg(format!("unix:{}", path.display()));
    }
    command.args(["find", "/"]).stderr(Stdio::null());
    let mut client = command.spawn().expect("it starts");
    // Neither answers. A client that waited for the first would leave it before it asks the other.
    let [one, _other] = listening
        .each_ref()
        .map(|socket| socket.accept().expect("it is asked").0);
    one.set_nonblocking(true).expect("a socket");
    let rest = (&one).read_to_end(&mut Vec::new()).err();
    assert_eq!(
        rest.map(|error| error.kind()),
        Some(ErrorKind::WouldBlock),
        "the first was left"
    );
    client.kill().expect("our own");
    client.wait().expect("it ends");
}

#[test]
fn rules_say_which_paths_are_asked_where() {
    let served = Served::new("rules", &[]);
    let settings = served.site.scratch.join("settings");
    fs::create_dir_all(settings.join("trawl")).expect("room");
    let (tree, address) = (served.site.tree(), served.address());
    let shut = tree.join("shut");
    let rules = format!(
        "# rules\n{} = {address}\n{} = unix:/nowhere/x\n",
        tree.display(),
        shut.display()
    );
    fs::write(settings.join("trawl/remote"), rules).expect("room");
    let ask = |words: &[&str], directory: &Path| {
        let mut command = oracle::command(&served.site.program);
        command.env("XDG_CONFIG_HOME", &settings).args(words);
        oracle::run(command.current_dir(directory))
    };
    // Only the server has an index.
    let ran = ask(&["stats", "open", "--json"], &tree);
    assert!(
        ran.code == Some(0) && ran.text().contains("entries"),
        "{ran}"
    );
    for (words, directory) in [(&["find", "shut"], &tree), (&["ls", "."], &shut)] {
        let ran = ask(words, directory);
        assert!(
            ran.errors().contains("cannot reach unix:/nowhere/x"),
            "{ran}"
        );
    }
    // Without a path it is about the whole index of this machine, which has none.
    let ran = ask(&["quota"], &shut);
    assert!(
        ran.code == Some(2) && !ran.errors().contains("/nowhere/x"),
        "{ran}"
    );
    let ran = ask(&["find", "open", "shut"], &tree);
    assert!(
        ran.code == Some(2) && ran.errors().contains("different servers"),
        "{ran}"
    );
    // Scripts that call the program `find` see what is here, with all actions.
    let plain = served.site.scratch.join("find");
    std::os::unix::fs::symlink(&served.site.program, &plain).expect("room");
    let mut command = oracle::command(&plain);
    command.env("XDG_CONFIG_HOME", &settings).current_dir(&tree);
    let ran = oracle::run(command.args(["shut", "-exec", "echo", "{}", ";"]));
    assert_eq!(ran.text(), "shut\nshut/x.c\n", "{ran}");
    let ran = ask(&["--remote", "here", "find", "--live", "shut"], &tree);
    assert_eq!(ran.text(), "shut\nshut/x.c\n", "{ran}");
    let index = index_of(&served.site).display().to_string();
    for words in [
        &["-i", &index, "find", "shut"][..],
        &["find", "--index", &index, "shut"],
    ] {
        assert_eq!(ask(words, &tree).text(), "shut\nshut/x.c\n", "{words:?}");
    }
    for words in [&["grep", "x", "shut"][..], &["set", "shut/*"]] {
        let ran = ask(words, &tree);
        assert!(
            ran.errors().contains("cannot reach unix:/nowhere/x"),
            "{ran}"
        );
    }
    fs::write(settings.join("trawl/remote"), "x = y\n").expect("room");
    let ran = ask(&["ls", "."], &tree);
    assert!(ran.errors().contains("trawl/remote: line 1"), "{ran}");
}

/// Returns the processes that descend from the server, except those that serve users.
fn answering(server: &Server) -> Vec<u32> {
    let children = |pid: u32| -> Vec<u32> {
        let tasks = fs::read_dir(format!("/proc/{pid}/task"));
        let tasks = tasks.into_iter().flatten().flatten();
        let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
        let lists: Vec<String> = lists.collect();
        let numbers = lists.iter().flat_map(|list| list.split_whitespace());
        numbers.filter_map(|number| number.parse().ok()).collect()
    };
    server.children().into_iter().flat_map(children).collect()
}

#[test]
fn a_command_ends_when_its_client_leaves() {
    let served = Served::new("leaves", &[]);
    let top = large(&served.site, 40_000 / 8);
    let mut words = vec![b"find".to_vec(), b"--live".to_vec()];
    words.extend((0..8).map(|_| top.as_os_str().as_bytes().to_vec()));
    let line = CommandLine {
        words,
        directory: b"/".to_vec(),
        ..CommandLine::default()
    };
    let until = Instant::now() + LONG;
    let mut command = served.remote().command(line).expect("it is asked");
    let part = command.next_part(&|| true).expect("a part");
    assert!(
        matches!(part, Part::Printed(OutputStream::Output, _)),
        "{part:?}"
    );
    assert_eq!(
        answering(&served.server).len(),
        1,
        "it waits for this end to read"
    );
    drop(command);
    while !answering(&served.server).is_empty() {
        assert!(
            Instant::now() < until,
            "it goes on: {}",
            served.server.said()
        );
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Each command line is a process: a user has so many at once, and then is told.
#[test]
fn too_many_command_lines_at_once_are_refused() {
    let served = Served::new("many", &[]);
    let top = large(&served.site, 40_000 / 8);
    let line = CommandLine {
        words: vec![
            b"find".to_vec(),
            b"--live".to_vec(),
            top.as_os_str().as_bytes().to_vec(),
        ],
        directory: b"/".to_vec(),
        ..CommandLine::default()
    };
    // Little credit, so that each waits for this end to read.
    let patience = trawl_remote::client::Patience {
        credit: 1,
        ..Default::default()
    };
    let address = Address::parse(served.address().as_ref()).expect("an address");
    let remote = Remote::with(address, patience);
    let mut waiting = Vec::new();
    for _ in 0..32 {
        let mut command = remote.command(line.clone()).expect("it is asked");
        command.next_part(&|| true).expect("a part");
        waiting.push(command);
    }
    let refused = receive(&remote, line.clone());
    let is_told = matches!(&refused, Err(RemoteError::Refused { text, .. }) if text.contains("32"));
    assert!(is_told, "{refused:?}");
    // When one ends, another may begin.
    drop(waiting.pop());
    let until = Instant::now() + LONG;
    while receive(&served.remote(), line.clone()).is_err() {
        assert!(Instant::now() < until, "{}", served.server.said());
    }
}

/// A person who reads page by page pauses for longer than a search may stall.
#[test]
fn a_pause_of_the_reader_ends_nothing() {
    let served = Served::new("pause", &["--stall=1s"]);
    let top = large(&served.site, 40_000 / 8);
    let mut command = oracle::command(&served.site.program);
    command.args(["--remote", &served.address(), "find", "--live"]);
    command
        .args((0..8).map(|_| &top))
        .stdout(std::process::Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut output = child.stdout.take().expect("a pipe");
    std::thread::sleep(std::time::Duration::from_secs(3));
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut output, &mut bytes).expect("an answer");
    assert!(child.wait().expect("it is ours").success());
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(lines, 8 * (1 + 2 * 5_000));
}

#[test]
fn an_interrupt_ends_the_question_here_and_there() {
    let served = Served::new("interrupt", &[]);
    let top = large(&served.site, 40_000 / 8);
    let mut command = oracle::command(&served.site.program);
    command.args(["--remote", &served.address(), "find", "--live"]);
    command.args((0..8).map(|_| &top));
    command.stdout(std::process::Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut output = child.stdout.take().expect("a pipe");
    // It then waits for this end to read.
    std::io::Read::read_exact(&mut output, &mut [0; 100]).expect("an answer");
    let process = trawl_sys::command::watch_end(&child).expect("a descriptor");
    // SIGTERM: whoever runs the tests may ignore SIGINT, and so would the program.
    trawl_sys::command::send_signal(&process, 15).expect("it runs");
    assert_eq!(child.wait().expect("it is ours").code(), Some(130));
    let until = Instant::now() + LONG;
    while !answering(&served.server).is_empty() {
        assert!(
            Instant::now() < until,
            "it goes on: {}",
            served.server.said()
        );
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn a_file_of_rules_that_cannot_be_read_is_named() {
    if let Some(skip) = skip::without_root("rules of another user") {
        return skip.say();
    }
    let site = Site::new("unreadable-rules");
    let settings = site.scratch.join("settings/trawl");
    fs::create_dir_all(&settings).expect("room");
    fs::write(settings.join("remote"), "").expect("room");
    mode(&settings.join("remote"), 0o600);
    let mut command = somebody_else().command(&site.program);
    command.env("XDG_CONFIG_HOME", site.scratch.join("settings"));
    let ran = oracle::run(command.args(["ls", "/"]));
    assert_eq!(ran.code, Some(2), "{ran}");
    assert!(ran.errors().contains("settings/trawl/remote"), "{ran}");
}
