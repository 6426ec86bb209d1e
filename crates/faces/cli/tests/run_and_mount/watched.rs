//! A server that reports changes: they are seen soon, although cached answers would stay valid for
//! an hour; and while nothing changes, nothing is asked.
//!
//! Requests and answers pass through a line that counts and keeps them.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use trawl_testkit::oracle::Identity;
use trawl_testkit::skip::Skip;

use crate::site::{Site, TRAWL, cannot};

/// Longer than anything here takes on a machine under load.
const DEADLINE: Duration = Duration::from_secs(600);
/// The short age; nothing is watched before half of it has passed.
const AGE: Duration = Duration::from_secs(2);

fn cannot_watch(what: &str, tree: &Path) -> Option<Skip> {
    if let Some(skip) = cannot(what) {
        return Some(skip);
    }
    use trawl_sys::fanotify::{Group, QueueSize};
    if let Err(error) = Group::new(QueueSize::Limited) {
        return Some(Skip::new(what, error));
    }
    let magic = trawl_sys::filesystem::of_path(tree).map(|found| found.system.magic);
    let kind = magic.ok().and_then(trawl_sys::filesystem::name);
    let is_known = matches!(kind, Some("ext4" | "xfs" | "btrfs" | "tmpfs" | "overlay"));
    (!is_known).then(|| Skip::new(what, "temporary files lie on an unwatched file system"))
}

/// The line between a client and the servers that are started for it.
#[derive(Default)]
struct Line {
    asked_bytes: AtomicUsize,
    said: Mutex<Vec<u8>>,
    is_cut: AtomicBool,
    sockets: Mutex<Vec<UnixStream>>,
}

impl Line {
    /// Starts this command for each client that connects.
    fn listen(site: &Site, name: &str, words: Vec<String>) -> (String, Arc<Line>) {
        let path = site.scratch.join(name);
        let listener = UnixListener::bind(&path).expect("room");
        let line = Arc::new(Line::default());
        let shared = Arc::clone(&line);
        std::thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                if !shared.is_cut.load(Ordering::SeqCst) {
                    let (line, words) = (Arc::clone(&shared), words.clone());
                    std::thread::spawn(move || line.serve(client, &words));
                }
            }
        });
        (format!("unix:{}", path.display()), line)
    }

    fn serve(&self, mut client: UnixStream, words: &[String]) {
        let (mut server, theirs) = UnixStream::pair().expect("room");
        let output = OwnedFd::from(theirs.try_clone().expect("room"));
        let mut command = trawl_testkit::oracle::command(&words[0]);
        command.args(&words[1..]).stdout(Stdio::from(output));
        command.stdin(Stdio::from(OwnedFd::from(theirs)));
        let mut child = command.spawn().expect("it starts");
        drop(command);
        let copies = [&client, &server].map(|it| it.try_clone().expect("room"));
        self.sockets.lock().expect("whole").extend(copies);
        let (mut up, mut down) = (
            client.try_clone().expect("room"),
            server.try_clone().expect("room"),
        );
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut buffer = [0; 4096];
                while let Ok(count @ 1..) = up.read(&mut buffer) {
                    self.asked_bytes.fetch_add(count, Ordering::SeqCst);
                    if down.write_all(&buffer[..count]).is_err() {
                        break;
                    }
                }
                let _ = down.shutdown(Shutdown::Both);
            });
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = server.read(&mut buffer) {
                self.said.lock().expect("whole").extend(&buffer[..count]);
                if client.write_all(&buffer[..count]).is_err() {
                    break;
                }
            }
            for socket in [&client, &server] {
                let _ = socket.shutdown(Shutdown::Both);
            }
        });
        let _ = child.kill();
        let _ = child.wait();
    }

    fn asked(&self) -> usize {
        self.asked_bytes.load(Ordering::SeqCst)
    }

    fn has_said(&self, words: &str) -> bool {
        let said = self.said.lock().expect("whole");
        said.windows(words.len()).any(|it| it == words.as_bytes())
    }

    /// Ends every server, and lets none start again.
    fn cut(&self) {
        self.is_cut.store(true, Ordering::SeqCst);
        for socket in self.sockets.lock().expect("whole").iter() {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

/// A shell in a remote tree, which runs scripts line by line.
struct Inside {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Inside {
    fn start(site: &Site, server: &str) -> Inside {
        Inside::start_with(site, server, &[])
    }

    fn start_with(site: &Site, server: &str, options: &[&str]) -> Inside {
        let age = format!("--max-age={}s", AGE.as_secs());
        let mut command = site.command_with(server, &[&[&*age], options].concat());
        command.arg("bash").current_dir(site.scratch.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let input = child.stdin.take();
        let mut inside = Inside {
            child,
            input,
            output,
        };
        inside.ask(&format!("cd {}; exec 2>&1", site.point().display()));
        inside
    }

    /// Returns the output of a script.
    fn ask(&mut self, script: &str) -> String {
        let input = self.input.as_mut().expect("it is open");
        writeln!(input, "{script}\necho; echo =end=").expect("it reads");
        let mut said = String::new();
        loop {
            let mut line = String::new();
            let count = self.output.read_line(&mut line).expect("text");
            assert!(count > 0, "it ended: {said}");
            if line == "=end=\n" {
                return said.trim_end().to_owned();
            }
            said += &line;
        }
    }

    /// Runs a script until it prints this.
    #[track_caller]
    fn expect(&mut self, script: &str, wanted: &str) {
        let until = Instant::now() + DEADLINE;
        loop {
            let said = self.ask(script);
            if said == wanted {
                return;
            }
            assert!(Instant::now() < until, "{script}: {said}, not {wanted}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Runs a script until it has asked nothing for longer than unwatched answers stay valid.
    #[track_caller]
    fn quiet(&mut self, line: &Line, script: &str) {
        let until = Instant::now() + DEADLINE;
        let (mut since, mut asked) = (Instant::now(), line.asked());
        while since.elapsed() < 3 * AGE {
            self.ask(script);
            if line.asked() != asked {
                (since, asked) = (Instant::now(), line.asked());
            }
            assert!(Instant::now() < until, "it goes on asking");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn end(mut self) {
        drop(self.input.take());
        self.child.wait().expect("it ends");
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        drop(self.input.take());
        if std::thread::panicking() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn server(options: &[&str]) -> Vec<String> {
    let words = [&[TRAWL, "serve", "--stdio"], options].concat();
    words.into_iter().map(str::to_owned).collect()
}

/// Looks at names, attributes, missing entries, targets of links, and contents.
const LOOK: &str = "ls -lR . | cksum; for d in */; do cat $d/file; stat -c %a $d $d/file; \
                    readlink $d/link; ls -d $d/none; done";

fn plant(site: &Site, names: &[&str]) {
    for name in names {
        let dir = site.tree().join(name);
        fs::create_dir(&dir).expect("room");
        fs::write(dir.join("file"), "first\n").expect("room");
        symlink("there", dir.join("link")).expect("room");
        fs::create_dir(dir.join("sub")).expect("room");
        fs::write(dir.join("sub/below"), "below\n").expect("room");
    }
}

#[test]
fn changes_are_seen_soon_and_nothing_else_is_asked() {
    let site = Site::empty("running-watched");
    if let Some(skip) = cannot_watch("changes that a server tells", &site.tree()) {
        return skip.say();
    }
    let names = [
        "append", "chmod", "create", "dir", "link", "move", "over", "own", "remove",
    ];
    plant(&site, &names);
    let (server, line) = Line::listen(&site, "socket", server(&[]));
    let mut inside = Inside::start(&site, &server);
    inside.quiet(&line, LOOK);
    let tree = |path: &str| site.tree().join(path);
    let file = fs::OpenOptions::new()
        .append(true)
        .open(tree("append/file"));
    file.and_then(|mut file| file.write_all(b"second\n"))
        .expect("room");
    let mode = |path: &str, mode| {
        fs::set_permissions(tree(path), fs::Permissions::from_mode(mode)).expect("ours");
    };
    mode("chmod/file", 0o604);
    mode("own", 0o705);
    fs::write(tree("create/none"), "new\n").expect("room");
    fs::rename(tree("dir/sub"), tree("dir/none")).expect("room");
    fs::remove_file(tree("link/link")).expect("ours");
    symlink("elsewhere", tree("link/link")).expect("room");
    fs::rename(tree("move/file"), tree("move/none")).expect("room");
    fs::write(tree("over/new"), "other\n").expect("room");
    fs::rename(tree("over/new"), tree("over/file")).expect("room");
    fs::remove_dir_all(tree("remove")).expect("ours");
    fs::create_dir_all(tree("top/deep/er")).expect("room");
    for (script, wanted) in [
        ("cat append/file", "first\nsecond"),
        ("stat -c %a chmod/file", "604"),
        ("stat -c %a own", "705"),
        ("cat create/none", "new"),
        ("ls create", "file\nlink\nnone\nsub"),
        ("test -e dir/sub; echo $?; cat dir/none/below", "1\nbelow"),
        ("readlink link/link", "elsewhere"),
        ("test -e move/file; echo $?; cat move/none", "1\nfirst"),
        ("cat over/file", "other"),
        ("test -e remove; echo $?", "1"),
        ("find top", "top\ntop/deep\ntop/deep/er"),
    ] {
        inside.expect(script, wanted);
    }
    // Entries that were seen since are watched, too.
    inside.quiet(&line, LOOK);
    fs::write(tree("top/deep/er/x"), "new\n").expect("room");
    inside.expect("cat top/deep/er/x", "new");
    fs::write(tree("dir/none/below"), "changed\n").expect("room");
    inside.expect("cat dir/none/below", "changed");
    let native = inside.ask(&format!("cd {} && {LOOK}", site.tree().display()));
    inside.expect(&format!("cd {} && {LOOK}", site.point().display()), &native);
    inside.end();
    site.expect_nothing_left();
}

#[test]
fn what_is_not_watched_has_the_short_age() {
    let site = Site::empty("running-unwatched");
    if let Some(skip) = cannot_watch("changes that a server cannot tell", &site.tree()) {
        return skip.say();
    }
    let names = ["a", "b", "c", "d", "e", "f"];
    plant(&site, &names);
    // The top and two more; then none at all.
    for most in ["3", "0"] {
        let options = ["--watched-directories", most];
        let (server, line) = Line::listen(&site, &format!("socket{most}"), server(&options));
        let mut inside = Inside::start(&site, &server);
        // It is asked repeatedly, as long as some directories are not watched.
        let until = Instant::now() + DEADLINE;
        let (mut asked, mut times) = (line.asked(), 0);
        while times < 4 {
            inside.ask(LOOK);
            times += usize::from(line.asked() != asked);
            asked = line.asked();
            assert!(Instant::now() < until, "it does not ask again");
            std::thread::sleep(Duration::from_millis(50));
        }
        for name in names {
            fs::write(site.tree().join(name).join("file"), most).expect("room");
            fs::write(site.tree().join(name).join(most), most).expect("room");
        }
        for name in names {
            let script = format!("cat {name}/file; cat {name}/{most}");
            inside.expect(&script, &most.repeat(2));
        }
        inside.end();
    }
    site.expect_nothing_left();
}

#[test]
fn without_the_server_nothing_is_told_for_long() {
    let site = Site::empty("running-unheard");
    if let Some(skip) = cannot_watch("a server that watched and is gone", &site.tree()) {
        return skip.say();
    }
    plant(&site, &["a", "b"]);
    let (server, line) = Line::listen(&site, "socket", server(&[]));
    let mut inside = Inside::start(&site, &server);
    inside.quiet(&line, LOOK);
    line.cut();
    fs::write(site.tree().join("a/file"), "unheard\n").expect("room");
    for script in ["stat -c %a a/file", "ls b", "stat -c %a ."] {
        let until = Instant::now() + DEADLINE;
        while !inside.ask(script).contains("Input/output error") {
            assert!(Instant::now() < until, "{script} is told for ever");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    // The server is there again, and its reports are received again.
    line.is_cut.store(false, Ordering::SeqCst);
    inside.expect("cat a/file", "unheard");
    inside.quiet(&line, LOOK);
    fs::write(site.tree().join("a/file"), "heard\n").expect("room");
    inside.expect("cat a/file", "heard");
    inside.end();
    site.expect_nothing_left();
}

#[test]
fn users_are_told_of_what_they_see() {
    let site = Site::empty("running-users");
    let what = "changes that two users are told";
    if let Some(skip) = cannot_watch(what, &site.tree()) {
        return skip.say();
    }
    if let Some(skip) = trawl_testkit::skip::without_program(what, "setpriv") {
        return skip.say();
    }
    for options in site.ways() {
        plant(&site, &["hers", "shared"]);
        expect_told_what_is_seen(&site, options);
        fs::remove_dir_all(site.tree()).expect("ours");
        fs::create_dir(site.tree()).expect("room");
    }
    site.expect_nothing_left();
}

fn expect_told_what_is_seen(site: &Site, options: &[&str]) {
    const ANN: u32 = 61_001;
    const BOB: u32 = 61_002;
    let tree = |path: &str| site.tree().join(path);
    chown(tree("hers"), Some(ANN), Some(ANN)).expect("root may");
    let mode = |path: &str, mode| {
        fs::set_permissions(tree(path), fs::Permissions::from_mode(mode)).expect("ours");
    };
    mode("hers", 0o700);
    let program = site.scratch.install(Path::new(TRAWL));
    let user = |uid: u32| {
        let mut command = Identity::user(uid).command(&program);
        command.args(["serve", "--stdio"]);
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let words = words.map(|word| word.to_str().expect("text").to_owned());
        let socket = format!("socket{uid}{}", options.concat());
        Line::listen(site, &socket, words.collect())
    };
    let ((ann, ann_line), (bob, bob_line)) = (user(ANN), user(BOB));
    let start = |server: &str| Inside::start_with(site, server, options);
    let (mut ann, mut bob) = (start(&ann), start(&bob));
    ann.quiet(&ann_line, LOOK);
    bob.quiet(&bob_line, "ls -l shared shared/sub; cat shared/file");
    // A directory that may not be listed is not watched.
    bob.expect("ls hers 2> /dev/null || echo no", "no");
    fs::write(tree("hers/between-us"), "").expect("room");
    fs::write(tree("shared/for-all"), "").expect("room");
    ann.expect("ls hers", "between-us\nfile\nlink\nsub");
    for inside in [&mut ann, &mut bob] {
        inside.expect("ls shared", "file\nfor-all\nlink\nsub");
    }
    // Directories that were open and no longer are.
    mode("shared", 0o700);
    bob.expect("cat shared/file 2> /dev/null || echo no", "no");
    fs::write(tree("shared/whispered"), "").expect("room");
    // Earlier changes were reported before, or are not reported.
    fs::write(tree("said-to-all"), "").expect("room");
    bob.expect("ls -d said-to-all", "said-to-all");
    let until = Instant::now() + DEADLINE;
    while !bob_line.has_said("said-to-all") {
        assert!(Instant::now() < until, "it is not told");
        std::thread::sleep(Duration::from_millis(20));
    }
    for secret in ["between-us", "whispered"] {
        assert!(!bob_line.has_said(secret), "{secret}");
    }
    assert!(ann_line.has_said("between-us"));
    ann.end();
    bob.end();
}
