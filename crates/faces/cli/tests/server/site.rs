//! A tree, a running server, and the users who may ask it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use trawl_call::options::Flags;
use trawl_call::{CallError, Executor, LiveWalk, Pattern, Request, Search};
use trawl_testkit::{Scratch, skip};

const TRAWL: &str = env!("CARGO_BIN_EXE_trawl");
/// Longer than anything here takes.
pub(crate) const LONG: Duration = Duration::from_secs(120);

pub(crate) fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("our own");
}

/// A tree, and the program in a place where every user can run it.
pub(crate) struct Site {
    pub(crate) scratch: Scratch,
    pub(crate) program: PathBuf,
}

impl Site {
    pub(crate) fn new(name: &str) -> Site {
        let scratch = Scratch::new(name);
        let program = scratch.install(Path::new(TRAWL));
        let site = Site { scratch, program };
        for dir in ["tree/open/deep", "tree/shut"] {
            let path = site.scratch.join(dir);
            fs::create_dir_all(&path).expect("room");
            fs::write(path.join("x.c"), dir).expect("room");
        }
        mode(&site.scratch.join("tree/shut"), 0o700);
        site
    }

    pub(crate) fn tree(&self) -> PathBuf {
        self.scratch.join("tree")
    }

    /// Writes a file that others may not use.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.scratch.join(name);
        fs::write(&path, text).expect("room");
        mode(&path, 0o600);
        path
    }

    /// Starts a server, with few descriptors as from a login shell: it has to raise that limit.
    pub(crate) fn serve(&self, words: &[String]) -> Server {
        let mut command = trawl_testkit::oracle::command("sh");
        command.args(["-c", "ulimit -Sn 256 && exec \"$@\"", "sh"]);
        command.arg(&self.program).arg("serve").args(words);
        command.stderr(Stdio::piped());
        Server::new(command.spawn().expect("it starts"))
    }

    /// Starts a server at a socket; returns when it listens.
    pub(crate) fn at_socket(&self, words: &[&str]) -> (Server, PathBuf) {
        let socket = self.scratch.join("socket");
        let mut all = vec![format!("--listen=unix:{}", socket.display())];
        all.extend(words.iter().map(|word| (*word).to_owned()));
        let server = self.serve(&all);
        let until = Instant::now() + LONG;
        while !socket.exists() {
            assert!(Instant::now() < until, "{}", server.said());
            std::thread::sleep(Duration::from_millis(5));
        }
        (server, socket)
    }
}

/// A server that ends with the test, and its output.
pub(crate) struct Server {
    pub(crate) child: Child,
    said: Arc<Mutex<String>>,
    /// Records the server's output until it ends.
    listener: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn new(mut child: Child) -> Server {
        let said = Arc::<Mutex<String>>::default();
        let errors = BufReader::new(child.stderr.take().expect("it is a pipe"));
        let notes = Arc::clone(&said);
        let listener = std::thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                notes.lock().expect("no panic").push_str(&(line + "\n"));
            }
        });
        Server {
            child,
            said,
            listener,
        }
    }

    pub(crate) fn said(&self) -> String {
        self.said.lock().expect("no panic").clone()
    }

    /// Waits until the server prints these words; returns the rest of the line.
    pub(crate) fn hear(&self, words: &str) -> String {
        let until = Instant::now() + LONG;
        loop {
            let said = self.said();
            let line = said.lines().find_map(|line| line.split_once(words));
            if let Some((_, rest)) = line {
                return rest.to_owned();
            }
            assert!(Instant::now() < until, "{words} is not said: {said}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Returns the server's port.
    pub(crate) fn port(&self) -> u16 {
        let address = self.hear("listens at ");
        let port = address
            .rsplit(':')
            .next()
            .and_then(|port| port.parse().ok());
        port.expect("a port")
    }

    /// Waits until the server ends by itself; returns its output.
    pub(crate) fn end(mut self) -> String {
        let until = Instant::now() + LONG;
        while self.child.try_wait().expect("it is ours").is_none() || !self.listener.is_finished() {
            assert!(Instant::now() < until, "it does not end: {}", self.said());
            std::thread::sleep(Duration::from_millis(5));
        }
        self.said()
    }

    /// Returns the server's running child processes.
    pub(crate) fn children(&self) -> Vec<u32> {
        let pid = self.child.id();
        let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        let text = text.expect("it runs");
        text.split_whitespace()
            .filter_map(|pid| pid.parse().ok())
            .collect()
    }

    /// Returns the server's memory use.
    pub(crate) fn memory_kib(&self) -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let text = text.expect("it runs");
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().next());
        number
            .and_then(|number| number.parse().ok())
            .expect("a number")
    }
}

/// Returns the name of a user who is not the superuser: ourselves, or nobody.
pub(crate) fn somebody() -> String {
    if skip::is_root() {
        return "nobody".to_owned();
    }
    let uid = trawl_sys::identity::effective_uid();
    let name = trawl_sys::identity::user_name(uid).expect("a database");
    String::from_utf8(name.expect("a name")).expect("text")
}

pub(crate) fn request(pattern: &str, root: &Path) -> Request {
    let (language, options) = Flags(Flags::METADATA).read().expect("flags");
    let pattern = Pattern::new(pattern.as_bytes(), language).expect("a pattern");
    Request::new(&pattern, &[root.as_os_str().as_bytes()], options).expect("a question")
}

/// Returns the paths that are found; errors have their numbers.
pub(crate) fn found(executor: &dyn Executor, request: Request) -> Result<Vec<String>, CallError> {
    let mut search = Search::open(executor, request)?;
    let mut lines = Vec::new();
    while let Some(record) = search.next_record()? {
        let path = record.path.escape_ascii();
        lines.push(match record.outcome {
            trawl_call::Outcome::Match(_) => path.to_string(),
            trawl_call::Outcome::Error(trouble) => format!("!{} {path}", trouble.errno),
        });
    }
    Ok(lines)
}

/// Returns the paths that this process finds itself.
pub(crate) fn live(request: Request) -> Vec<String> {
    found(&LiveWalk::default(), request).expect("a walk")
}

/// Creates a tree with this number of directories with one file each: an answer that does not fit
/// into buffers.
pub(crate) fn large(site: &Site, directories: usize) -> PathBuf {
    let top = site.scratch.join("large");
    for number in 0..directories {
        let dir = top.join(format!("{number:05}-{}", "d".repeat(120)));
        fs::create_dir_all(&dir).expect("room");
        fs::write(dir.join("f".repeat(120)), "").expect("room");
    }
    // The first look sets their access times.
    trawl_testkit::tick();
    live(request("*", &top));
    top
}
