//! `trawl watch`: up-to-date answers however the daemon ends, and what users may do.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{FileTypeExt, chown};
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use trawl_testkit::daemon::Daemon;
use trawl_testkit::oracle::{self, Identity, Ran};
use trawl_testkit::{FileSystem, LoopMount, Scratch, Skip, lines};

/// Longer than anything here takes beside other work.
const LONG: Duration = Duration::from_secs(600);
const ANN: u32 = 4811;

/// A file system of its own, and an index beside it.
pub(crate) struct Watched {
    /// The first field, because the daemon must end before what it watches is unmounted.
    daemon: Option<Daemon>,
    mount: LoopMount,
    pub(crate) scratch: Scratch,
    /// Directory of the index.
    pub(crate) index: PathBuf,
}

impl Watched {
    pub(crate) fn new() -> Option<Watched> {
        Watched::on(FileSystem::Ext4, 64 << 20)
    }

    pub(crate) fn sized(size_bytes: u64) -> Option<Watched> {
        Watched::on(FileSystem::Ext4, size_bytes)
    }

    pub(crate) fn on(kind: FileSystem, size_bytes: u64) -> Option<Watched> {
        let mount = LoopMount::new(kind, size_bytes);
        let mount = mount.map_err(|skip: Skip| skip.say()).ok()?;
        fs::create_dir(mount.path().join("d")).expect("room");
        let scratch = Scratch::new("watch");
        Some(Watched {
            mount,
            index: scratch.join("index"),
            scratch,
            daemon: None,
        })
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.mount.path().to_owned()
    }

    pub(crate) fn program(&self) -> Command {
        let mut command = oracle::command(env!("CARGO_BIN_EXE_trawl"));
        command.env("TRAWL_INDEX", &self.index);
        command
    }

    /// Sends a signal to the daemon's process.
    pub(crate) fn signal(&self, signal: &str) {
        let daemon = self.daemon.as_ref().expect("it is there");
        let id = daemon.id().to_string();
        oracle::run(oracle::command("kill").args([signal, &id])).expect_code(0);
    }

    pub(crate) fn trawl(&self, words: &[&str]) -> Ran {
        oracle::run(self.program().args(words).arg(self.root()))
    }

    /// Waits until the daemon has found out what changed before it started.
    #[track_caller]
    pub(crate) fn settle(&self) {
        patiently(|| self.trawl(&["find", "--fresh=60s"])).expect_code(0);
    }

    /// Starts the daemon and waits until it reports that it watches.
    pub(crate) fn start(&mut self, prepare: impl FnOnce(&mut Command)) {
        let mut command = self.program();
        command.arg0("trawld").arg(self.root());
        prepare(&mut command);
        self.daemon = Some(Daemon::start(&mut command));
    }

    /// Ends the daemon with this signal; returns its exit code, if it has one.
    pub(crate) fn end(&mut self, signal: &str) -> Option<i32> {
        let mut daemon = self.daemon.take().expect("it is there");
        daemon.end(signal).code()
    }

    /// Unmounts the file system and mounts it again.
    pub(crate) fn mount_again(&self) -> Result<(), Skip> {
        self.mount.mount_again()
    }

    /// Compares what find prints of the tree, live and from the index.
    #[track_caller]
    pub(crate) fn compare(&self) {
        compare(&self.root(), &mut self.program());
    }
}

/// Compares what find prints of a tree, live and from the index that `program` asks.
#[track_caller]
pub(crate) fn compare(root: &Path, program: &mut Command) {
    let format = ["-printf", "%p %i %s %m %U %G %T@ %C@ %n %l\\n"];
    let expected = oracle::run(oracle::command("find").arg(root).args(format));
    program.arg("find").arg(root).args(format);
    let found = patiently(|| oracle::run(program));
    assert_eq!((found.code, found.errors()), (Some(0), String::new()));
    let (order, ending) = (lines::Order::Any, lines::Ending::Newline);
    lines::assert_same("the tree", &expected.stdout, &found.stdout, order, ending);
}

/// Asks again while an answer says that it did not wait longer: a question waits ten seconds, or two
/// while what changed is being found out, and a busy machine may need more.
pub(crate) fn patiently(mut ask: impl FnMut() -> Ran) -> Ran {
    let begun = Instant::now();
    loop {
        let ran = ask();
        let errors = ran.errors();
        let is_early = errors.contains("is being found out") || errors.contains("waits longer");
        if ran.code != Some(1) || !is_early || begun.elapsed() > LONG {
            return ran;
        }
    }
}

/// Makes changes of every kind.
pub(crate) fn change(root: &Path, round: usize) {
    let made = root.join(format!("d/made-{round}"));
    fs::create_dir_all(made.join("below")).expect("room");
    fs::write(made.join("below/file"), "x".repeat(round * 100)).expect("room");
    fs::hard_link(made.join("below/file"), root.join(format!("link-{round}"))).expect("room");
    if let Some(before) = round.checked_sub(1) {
        let old = root.join(format!("d/made-{before}"));
        fs::rename(&old, root.join(format!("moved-{before}"))).expect("it is there");
        let link = root.join(format!("link-{before}"));
        fs::write(&link, "through the other name").expect("it is there");
        chown(&link, Some(ANN), None).expect("root may");
    }
}

#[test]
fn answers_are_as_of_now_however_the_daemon_ends() {
    let Some(mut watched) = Watched::new() else {
        return;
    };
    watched.start(|_| {});
    let root = watched.root();
    for round in 0..6 {
        change(&root, round);
        watched.compare();
    }
    // A daemon that is killed leaves its mark; changes in the meantime are found.
    assert_eq!(watched.end("-KILL"), None);
    change(&root, 6);
    watched.start(|_| {});
    for round in 7..10 {
        wait_until_watching(&watched);
        change(&root, round);
        watched.compare();
    }
    assert_eq!(watched.end("-TERM"), Some(0));
    change(&root, 10);
    let asked = watched.trawl(&["find", "--fresh"]);
    assert_eq!(asked.code, Some(1));
    assert!(asked.errors().contains("no daemon watches it"), "{asked}");
    watched.trawl(&["find"]).expect_code(0);
    watched.start(|_| {});
    wait_until_watching(&watched);
    watched.compare();
    watched.trawl(&["verify"]);
    assert_eq!(watched.end("-INT"), Some(0));
    oracle::run(watched.program().arg("verify")).expect_code(0);
    let removed = oracle::run(watched.program().args(["sources", "remove"]).arg(&root));
    removed.expect_code(0);
}

fn wait_until_watching(watched: &Watched) {
    let begun = Instant::now();
    while watched.trawl(&["watch", "--status"]).code != Some(0) {
        assert!(
            begun.elapsed() < LONG,
            "{}",
            watched.trawl(&["watch", "--status"])
        );
    }
}

#[test]
fn a_right_that_is_taken_away_is_away_in_the_next_answer() {
    let Some(mut watched) = Watched::new() else {
        return;
    };
    let secret = watched.root().join("d/secret");
    fs::create_dir(&secret).expect("room");
    fs::write(secret.join("name"), "").expect("room");
    watched.start(|_| {});
    let ann = Identity::user(ANN);
    let names = || {
        let mut command = ann.command(env!("CARGO_BIN_EXE_trawl"));
        command.env("TRAWL_INDEX", watched.scratch.join("index"));
        oracle::run(
            command
                .arg("find")
                .arg(watched.root())
                .args(["-name", "name"]),
        )
        .text()
    };
    assert!(names().contains("name"));
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o700)).expect("root may");
    assert_eq!(names(), "");
    assert_eq!(watched.end("-TERM"), Some(0));
}

#[test]
fn status_is_said_in_three_ways_and_to_users_less() {
    let Some(mut watched) = Watched::new() else {
        return;
    };
    let before = watched.trawl(&["watch", "--status"]);
    assert_eq!(before.code, Some(2), "{before}");
    watched.start(|_| {});
    watched.trawl(&["find"]).expect_code(0);
    let text = watched.trawl(&["watch", "--status"]).expect_code(0).text();
    assert!(text.contains("barriers_total         1"), "{text}");
    let json = watched.trawl(&["watch", "--status", "--json"]).text();
    let json: serde_json::Value = serde_json::from_str(&json).expect("an object");
    assert_eq!(
        (&json["state"], &json["barriers_total"]),
        (&"watching".into(), &1.into())
    );
    let metrics = watched.trawl(&["watch", "--status", "--prometheus"]).text();
    assert!(
        metrics.contains("# TYPE trawl_watch_barriers_total counter\n"),
        "{metrics}"
    );
    prometheus_reads(&watched, &metrics);
    let mut asks = Identity::user(ANN).command(env!("CARGO_BIN_EXE_trawl"));
    asks.env("TRAWL_INDEX", watched.scratch.join("index"));
    let told = oracle::run(asks.args(["watch", "--status", "--json"])).text();
    let told: serde_json::Value = serde_json::from_str(&told).expect("an object");
    assert_eq!(
        told.as_object().map(serde_json::Map::len),
        Some(3),
        "{told}"
    );
    assert_eq!(watched.end("-TERM"), Some(0));
    let after = watched.trawl(&["watch", "--status", "--json"]);
    assert!(after.text().contains("unwatched"), "{after}");
}

#[test]
fn a_refresh_asks_the_daemon_or_scans() {
    let Some(mut watched) = Watched::new() else {
        return;
    };
    let theirs = watched.root().join("d");
    chown(&theirs, Some(ANN), None).expect("root may");
    watched.start(|_| {});
    let refresh = |path: &Path| {
        let mut command = Identity::user(ANN).command(env!("CARGO_BIN_EXE_trawl"));
        command.env("TRAWL_INDEX", watched.scratch.join("index"));
        oracle::run(command.args(["index", "--refresh"]).arg(path))
    };
    refresh(&theirs).expect_code(0);
    let refused = refresh(&watched.root());
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.errors().contains("directory's owner"), "{refused}");
    assert_eq!(watched.end("-TERM"), Some(0));
    fs::write(theirs.join("new"), "").expect("room");
    let mut ours = watched.program();
    oracle::run(ours.args(["index", "--refresh"]).arg(&theirs)).expect_code(0);
    assert!(watched.trawl(&["find"]).text().contains("d/new"));
}

/// Checks what a service manager does, and what it is told.
#[test]
fn the_manager_is_told_and_keeps_the_queue() {
    let Some(mut watched) = Watched::new() else {
        return;
    };
    let path = watched.scratch.join("notify");
    let manager = UnixDatagram::bind(&path).expect("a socket");
    manager.set_read_timeout(Some(LONG)).expect("a time");
    let next = || {
        let mut buffer = [0; 4096];
        let read = manager.recv(&mut buffer).expect("it is told");
        String::from_utf8_lossy(&buffer[..read]).into_owned()
    };
    watched.start(|command| {
        command
            .env("NOTIFY_SOCKET", &path)
            .env("WATCHDOG_USEC", "300000");
    });
    let mut said = String::new();
    while !said.contains("WATCHDOG=1") {
        said += &next();
        said.push('\n');
    }
    for line in ["FDSTORE=1", "FDNAME=trawl-", "READY=1", "STATUS=watching /"] {
        assert!(said.contains(line), "{line} in {said}");
    }
    assert_eq!(watched.end("-TERM"), Some(0));
    while !said.contains("STOPPING=1") {
        said += &next();
    }
}

/// Listens on the source's socket, and becomes the daemon when a line arrives.
const SOCKET_UNIT: &str = r"
import os, socket, sys
path, words = sys.argv[1], sys.argv[2:]
unit = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
unit.bind(path)
os.chmod(path, 0o666)
unit.listen(8)
print('listening', flush=True)
sys.stdin.readline()
os.dup2(unit.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_FDS='1', LISTEN_FDNAMES='trawld', LISTEN_PID=str(os.getpid()))
os.execv(words[0], words)
";

fn socket_below(dir: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(dir).ok()?.flatten();
    entries.into_iter().find_map(|entry| {
        let kind = entry.file_type().ok()?;
        match kind.is_dir() {
            true => socket_below(&entry.path()),
            false => kind.is_socket().then(|| entry.path()),
        }
    })
}

/// Users who ask before the daemon exists wait until it does.
#[test]
fn a_socket_that_the_manager_listens_on_is_used_and_stays() {
    let Some(mut watched) = Watched::new() else {
        return;
    };
    watched.start(|_| {});
    let index = watched.index.clone();
    let socket = socket_below(&index).expect("the daemon's socket");
    assert_eq!(watched.end("-TERM"), Some(0));
    assert_eq!(socket_below(&index), None);
    let note = index.join("watched");
    assert!(!note.exists(), "nobody is asked");
    let unit = watched.trawl(&["watch", "--socket-unit"]).expect_code(0);
    let line = format!("ListenStream={}\nSocketMode=0666\n", socket.display());
    assert!(unit.text().contains(&line), "{unit}");
    let mut command = oracle::command("python3");
    let program = watched.program();
    let variables = program.get_envs();
    command.envs(variables.filter_map(|(name, value)| Some((name, value?))));
    command.args(["-c", SOCKET_UNIT]).arg(&socket);
    command.arg(program.get_program()).arg("watch");
    let mut daemon = command
        .arg(watched.root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 runs");
    let mut said = BufReader::new(daemon.stdout.take().expect("a pipe"));
    let mut line = String::new();
    said.read_line(&mut line).expect("text");
    assert_eq!(line, "listening\n");
    fs::write(watched.root().join("d/new"), "x").expect("room");
    let question = watched
        .program()
        .arg("find")
        .arg(watched.root())
        .args(["-name", "new"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut tell = daemon.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut tell, b"\n").expect("it listens");
    let answer = question.wait_with_output().expect("it ends");
    watched.daemon = Some(Daemon::of(daemon));
    let found = String::from_utf8_lossy(&answer.stdout).into_owned();
    assert!(
        answer.status.success() && found.ends_with("/d/new\n"),
        "{found}"
    );
    assert_eq!(watched.end("-TERM"), Some(0));
    assert_eq!(socket_below(&index), Some(socket));
    // The manager would start another daemon: questions continue to ask until nobody listens for
    // it.
    assert!(note.exists());
    watched.trawl(&["find"]).expect_code(0);
    watched.start(|_| {});
    assert_eq!(watched.end("-TERM"), Some(0));
    assert!(!note.exists(), "this one listened itself");
}

/// Listens on a socket as another user.
const STRANGER: &str = r"
import os, socket, sys
unit = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
unit.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o666)
os.setresuid(4811, 4811, 4811)
unit.listen(8)
print('listening', flush=True)
sys.stdin.readline()
";

#[test]
fn a_socket_that_a_stranger_listens_on_is_not_believed() {
    let Some(mut watched) = Watched::new() else {
        return;
    };
    watched.start(|_| {});
    let socket = socket_below(&watched.index).expect("the daemon's socket");
    assert_eq!(watched.end("-TERM"), Some(0));
    watched.trawl(&["watch", "--socket-unit"]).expect_code(0);
    let mut command = oracle::command("python3");
    command.args(["-c", STRANGER]).arg(&socket);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut stranger = command.spawn().expect("python3 runs");
    let stdout = stranger.stdout.take();
    watched.daemon = Some(Daemon::of(stranger));
    let mut line = String::new();
    BufReader::new(stdout.expect("a pipe"))
        .read_line(&mut line)
        .expect("text");
    assert_eq!(line, "listening\n");
    let asked = watched.trawl(&["find"]);
    assert_eq!(asked.code, Some(1), "{asked}");
    assert!(
        asked
            .errors()
            .contains("user 4811, neither the superuser nor the index's owner, listens on"),
        "{asked}"
    );
    assert!(asked.text().contains("/d\n"), "{asked}");
}

#[test]
fn one_daemon_watches_a_source() {
    let Some(mut watched) = Watched::new() else {
        return;
    };
    watched.start(|_| {});
    let second = watched.trawl(&["watch"]);
    assert_eq!(second.code, Some(2), "{second}");
    assert!(
        second.errors().contains("watched by another daemon"),
        "{second}"
    );
    let removed = watched.trawl(&["sources", "remove"]);
    assert_eq!(removed.code, Some(2), "{removed}");
    assert!(
        removed
            .errors()
            .contains("watched by another daemon: stop it first"),
        "{removed}"
    );
    watched.compare();
    assert_eq!(watched.end("-TERM"), Some(0));
}

#[test]
fn an_ordinary_user_watches_their_own_tree() {
    let scratch = Scratch::new("watch-own");
    if let Some(skip) = trawl_testkit::skip::without_root("watching as a user") {
        return skip.say();
    }
    let home = scratch.join("home");
    fs::create_dir_all(home.join("tree/d")).expect("room");
    for path in ["home", "home/tree", "home/tree/d"] {
        chown(scratch.join(path), Some(ANN), Some(ANN)).expect("root may");
    }
    let ann = Identity::user(ANN);
    let program = || {
        let mut command = ann.command(env!("CARGO_BIN_EXE_trawl"));
        command.env("TRAWL_INDEX", home.join("index"));
        command
    };
    let daemon = Daemon::start(program().arg("watch").arg(home.join("tree")));
    fs::write(home.join("tree/d/new"), "").expect("room");
    let ran = oracle::run(program().arg("find").arg(home.join("tree")));
    drop(daemon);
    assert!(ran.text().contains("tree/d/new"), "{ran}");
}

/// Checks the metrics of every source, and promtool's judgement of all metrics.
fn prometheus_reads(watched: &Watched, metrics: &str) {
    let root = watched.root().display().to_string();
    let one = format!("trawl_source_watched{{source=\"{root}\"}} 1\n");
    assert!(metrics.contains(&one), "{metrics}");
    let age = format!("trawl_source_snapshot_age_seconds{{source=\"{root}\"}} ");
    assert!(metrics.contains(&age), "{metrics}");
    if let Some(skip) = trawl_testkit::skip::without_program("names and units", "promtool") {
        return skip.say();
    }
    let file = watched.scratch.join("metrics");
    std::fs::write(&file, metrics).unwrap();
    let mut promtool = oracle::command("promtool");
    promtool.args(["check", "metrics"]);
    promtool.stdin(std::fs::File::open(file).unwrap());
    let ran = oracle::run(&mut promtool).expect_code(0);
    assert_eq!((ran.text(), ran.errors()), (String::new(), String::new()));
}
