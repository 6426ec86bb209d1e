//! The service for many users, in a mount namespace with users of its own.

mod amounts;
mod assistants;
mod browser;
mod certificates;
mod clients;
mod crowd;
mod directory;
mod heads;
mod leaving;
mod openid;
mod passwords;
mod permissions;
mod proofs;
mod quotas;
mod records;
mod sessions;
mod users;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use serde_json::Value;
use trawl_identity::credentials::{Credentials, Kind, New, Scopes};
use trawl_testkit::oracle;
use trawl_testkit::permissions::{Person, people};
use trawl_testkit::site::{Site, StandIn};
use trawl_testkit::{Scratch, Skip, skip};

use crate::authority::{Authority, GOOD, Signed, Wish};
use crate::client::{Answer, SERVER, wait_until};

/// Returns the name of a person in the namespace of the service.
pub(crate) fn name_of(person: &Person) -> String {
    match person.uid {
        0 => "root".to_owned(),
        65_534 => "nobody".to_owned(),
        uid => format!("u{uid}"),
    }
}

/// Returns the files passwd and group, with everybody whom tests ask as, and the user of the front.
fn accounts() -> (String, String) {
    let mut passwd = "root:x:0:0::/:/bin/sh\nfront:x:59999:59999::/:/bin/sh\n".to_owned();
    let mut group = "root:x:0:u60003,u60010\n".to_owned();
    let mut members: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for person in people::everybody().iter().filter(|person| person.uid != 0) {
        let name = name_of(person);
        passwd += &format!("{name}:x:{}:{}::/:/bin/sh\n", person.uid, person.gid);
        for gid in person.groups.iter().filter(|gid| **gid != 0) {
            members.entry(*gid).or_default().push(name.clone());
        }
    }
    for (gid, members) in members {
        group += &format!("g{gid}:x:{gid}:{}\n", members.join(","));
    }
    (passwd, group)
}

/// Says that a test is skipped if it cannot run here.
pub(crate) fn cannot(test: &str) -> bool {
    let skip = skip::without_root(test).or_else(|| {
        let mut probe = oracle::command("unshare");
        let ran = probe.args(["--mount", "true"]).output();
        let can = ran.is_ok_and(|ran| ran.status.success());
        (!can).then(|| Skip::new(test, "there are no mount namespaces"))
    });
    match skip {
        None => false,
        Some(skip) => {
            skip.say();
            true
        }
    }
}

/// A running service, which ends when it is dropped.
pub(crate) struct Gate {
    child: Child,
    said: Arc<Mutex<String>>,
    /// `localhost:PORT`
    pub(crate) address: String,
    settings: Settings,
}

/// What a service is started with.
#[derive(Clone)]
pub(crate) struct Settings {
    scratch: Arc<Scratch>,
    authority: Arc<Authority>,
    /// The installed program.
    program: PathBuf,
    words: Vec<OsString>,
    /// Bind mounts in the namespace of the service: pairs of source and target.
    mounts: Vec<(PathBuf, &'static str)>,
}

impl Settings {
    /// Returns settings for the index of a site, which others may read, or for a stand-in.
    pub(crate) fn new(label: &str, trawl: &Path, index: Option<&Path>) -> Settings {
        let scratch = Scratch::new(label);
        let program = scratch.install(Path::new(SERVER));
        let authority = Authority::new("an authority");
        let server = authority.sign(&GOOD);
        let write = |name: &str, text: &str, mode: u32| {
            let path = scratch.join(name);
            std::fs::write(&path, text).expect("our own");
            let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
            std::fs::set_permissions(&path, mode).expect("our own");
            path
        };
        let ca = write("ca.pem", &authority.pem, 0o644);
        let cert = write("server.pem", &server.pem, 0o644);
        let key = write("server.key", &server.key, 0o600);
        let users = write("users", "cn:somebody=u60005\ncn:chief=root\n", 0o644);
        let (passwd, group) = accounts();
        let mounts = vec![
            (write("passwd", &passwd, 0o644), "/etc/passwd"),
            (write("group", &group, 0o644), "/etc/group"),
        ];
        let word = |name: &str, path: &Path| {
            let mut word = OsString::from(name);
            word.push(path);
            word
        };
        let mut words = vec![
            word("--program=", trawl),
            "--listen=127.0.0.1:0".into(),
            "--user=front".into(),
            word("--proxy=", &scratch.join("proxy")),
            word("--cert=", &cert),
            word("--key=", &key),
            word("--client-ca=", &ca),
            word("--users=", &users),
            word("--state=", &scratch.join("state")),
            word("--record=", &scratch.join("record")),
        ];
        words.extend(index.map(|index| word("--index=", index)));
        Settings {
            scratch: Arc::new(scratch),
            authority: Arc::new(authority),
            program,
            words,
            mounts,
        }
    }

    /// Returns settings for a site; its `trawl` is where others may run it.
    pub(crate) fn of(site: &Site) -> Settings {
        Settings::new("http-gate", &site.trawl, Some(&site.scratch.join("index")))
    }

    /// Returns settings with a stand-in, which others may run.
    pub(crate) fn with(stand_in: &StandIn) -> Settings {
        Settings::new("http-gate", &stand_in.scratch.join("trawl"), None)
    }

    /// Adds a word.
    pub(crate) fn word(mut self, word: impl Into<OsString>) -> Settings {
        self.words.push(word.into());
        self
    }

    /// Mounts a file or directory in the namespace of the service.
    pub(crate) fn mount(mut self, what: PathBuf, at: &'static str) -> Settings {
        self.mounts.push((what, at));
        self
    }

    /// Has the service listen at this port.
    pub(crate) fn at_port(mut self, port: u16) -> Settings {
        self.words
            .retain(|word| !word.to_string_lossy().starts_with("--listen="));
        self.word(format!("--listen=127.0.0.1:{port}"))
    }

    /// Returns a path beside the service's files.
    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.scratch.join(name)
    }

    /// Replaces the list of groups, which the service reads for each question.
    pub(crate) fn change_groups(&self, change: impl Fn(&str) -> String) {
        let path = self.join("group");
        let text = std::fs::read_to_string(&path).expect("our own");
        // The file itself is mounted, so that it must stay the same.
        std::fs::write(&path, change(&text)).expect("our own");
    }

    /// Returns sessions and tokens, as `trawl token` sees them.
    pub(crate) fn credentials(&self) -> Credentials {
        Credentials::open(&self.join("state")).expect("our own")
    }

    /// Makes a token.
    pub(crate) fn token(&self, user: &str, scopes: &str) -> String {
        let new = New {
            kind: Kind::Token,
            user,
            scopes: scopes.parse::<Scopes>().expect("scopes"),
            lifetime: Duration::from_secs(3600),
            note: "",
            token: None,
            identity: None,
        };
        let made = self.credentials().create(new, SystemTime::now());
        made.expect("a token").0
    }

    /// Makes a token for everything.
    pub(crate) fn whole_token(&self, user: &str) -> String {
        self.token(user, "names,contents,sql")
    }

    /// Makes a certificate, and returns the words with which curl shows it.
    pub(crate) fn certificate(&self, common: &str) -> Vec<String> {
        let wish = Wish { common, ..GOOD };
        self.shown(&self.authority.sign(&wish))
    }

    /// Returns the words with which curl shows a certificate.
    pub(crate) fn shown(&self, signed: &Signed) -> Vec<String> {
        let (cert, key) = (self.join("client.pem"), self.join("client.key"));
        std::fs::write(&cert, &signed.pem).expect("our own");
        std::fs::write(&key, &signed.key).expect("our own");
        let text = |path: &Path| path.to_str().expect("text").to_owned();
        vec!["--cert".into(), text(&cert), "--key".into(), text(&key)]
    }

    /// Starts the service.
    #[track_caller]
    pub(crate) fn start(&self) -> Gate {
        let program = [self.program.clone().into(), "--many".into()];
        self.run(program.into_iter().chain(self.words.clone()))
    }

    /// Starts the service as people do: by `trawl serve --http`.
    #[track_caller]
    pub(crate) fn start_by_command(&self, trawl: &Path) -> Gate {
        let (mut before, mut after) = (vec![trawl.into()], vec![OsString::from("serve")]);
        for word in &self.words {
            let word = word.to_str().expect("text");
            let (name, value) = word.split_once('=').expect("an option");
            let value = OsString::from(value);
            match name {
                "--program" => {}
                "--index" => before.extend(["--index".into(), value]),
                "--listen" => after.extend(["--http".into(), value]),
                "--proxy" => {
                    after.extend(["--http".into(), format!("unix:{}", value.display()).into()])
                }
                "--user" => after.extend(["--tls-user".into(), value]),
                "--state" => after.extend(["--sessions".into(), value]),
                name => after.extend([name.into(), value]),
            }
        }
        self.run(before.into_iter().chain(after))
    }

    /// Returns what the service says when it refuses to start.
    #[track_caller]
    pub(crate) fn refused(&self) -> String {
        let mut command = oracle::command(&self.program);
        // Outside the namespace there is another user.
        let ran = oracle::run(command.arg("--many").args(&self.words).arg("--user=nobody"));
        assert_eq!(ran.code, Some(2), "{}", ran.errors());
        ran.errors()
    }

    /// Runs the service with few descriptors, as from a login shell: it has to raise that limit.
    #[track_caller]
    fn run(&self, words: impl Iterator<Item = OsString>) -> Gate {
        const SCRIPT: &str = "ulimit -Sn 256 && exec \"$@\"";
        let mut command = in_namespace(&self.mounts, SCRIPT);
        command.args(words);
        let mut child = command
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the service starts");
        let said = Arc::new(Mutex::new(String::new()));
        let lines = BufReader::new(child.stderr.take().expect("a pipe"));
        let all = Arc::clone(&said);
        std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                let mut all = all.lock().expect("no panic");
                all.push_str(&line);
                all.push('\n');
            }
        });
        let mut gate = Gate {
            child,
            said,
            address: String::new(),
            settings: self.clone(),
        };
        wait_until("the service does not listen", || {
            assert!(gate.is_running(), "{}", gate.said());
            gate.said().contains("for proxies")
        });
        let said = gate.said();
        let port = said
            .lines()
            .find_map(|line| line.split_once("https://127.0.0.1:"))
            .unwrap_or_else(|| panic!("no address: {said}"));
        gate.address = format!("localhost:{}", port.1);
        gate
    }
}

impl Gate {
    /// Returns what the service has said.
    pub(crate) fn said(&self) -> String {
        self.said.lock().expect("no panic").clone()
    }

    fn is_running(&self) -> bool {
        Path::new(&format!("/proc/{}/exe", self.child.id())).exists()
    }

    /// Runs curl over TLS; `path` begins with `/`.
    #[track_caller]
    pub(crate) fn curl<W: AsRef<str>>(&self, path: &str, words: &[W]) -> Answer {
        self.request(&format!("https://{}{path}", self.address), words)
    }

    /// Runs curl over the socket for proxies.
    #[track_caller]
    pub(crate) fn proxied<W: AsRef<str>>(&self, path: &str, words: &[W]) -> Answer {
        let socket = self.settings.join("proxy");
        let socket = socket.to_str().expect("text").to_owned();
        let mut all = vec!["--unix-socket".to_owned(), socket];
        all.extend(words.iter().map(|word| word.as_ref().to_owned()));
        self.request(&format!("http://localhost{path}"), &all)
    }

    #[track_caller]
    fn request<W: AsRef<str>>(&self, url: &str, words: &[W]) -> Answer {
        let mut command = oracle::command("curl");
        command.args(["--silent", "--show-error", "--include", "--max-time", "120"]);
        command.arg("--cacert").arg(self.settings.join("ca.pem"));
        command.args(words.iter().map(AsRef::as_ref)).arg(url);
        let ran = oracle::run(&mut command);
        Answer::of(&ran.stdout, ran.code)
    }

    /// Asks with a session or token.
    #[track_caller]
    pub(crate) fn ask(&self, secret: &str, name: &str, arguments: &Value) -> Answer {
        let header = bearer(secret);
        let (path, body) = (format!("/api/v1/{name}"), arguments.to_string());
        self.curl(&path, &["--header", &header, "--json", &body])
    }

    /// Asks without arguments.
    #[track_caller]
    pub(crate) fn get(&self, secret: &str, path: &str) -> Answer {
        self.curl(path, &["--header", &bearer(secret)])
    }

    /// Sends what begins a session.
    #[track_caller]
    pub(crate) fn log_in(&self, arguments: &Value) -> Answer {
        self.curl("/api/v1/session", &["--json", &arguments.to_string()])
    }

    /// Returns the processes of the service by their words: pairs of a number and the first word.
    pub(crate) fn processes(&self) -> Vec<(u32, String)> {
        let mut found = Vec::new();
        let mut left = vec![self.child.id()];
        while let Some(number) = left.pop() {
            let words = std::fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
            let word = words.split(|byte| *byte == 0).nth(1).unwrap_or_default();
            found.push((number, String::from_utf8_lossy(word).into_owned()));
            let Ok(tasks) = std::fs::read_dir(format!("/proc/{number}/task")) else {
                continue;
            };
            for task in tasks.filter_map(Result::ok) {
                let list = std::fs::read_to_string(task.path().join("children"));
                let list = list.unwrap_or_default();
                left.extend(
                    list.split_whitespace()
                        .filter_map(|word| word.parse::<u32>().ok()),
                );
            }
        }
        found
    }

    /// Returns a command that runs a program in the namespace of the service, as a user whom it finds
    /// there, with this user's groups.
    pub(crate) fn as_user(&self, user: &str, gid: u32, program: &str) -> Command {
        let mut command = oracle::command("nsenter");
        command.arg(format!("--mount=/proc/{}/ns/mnt", self.child.id()));
        command.args(["setpriv", "--reuid", user, "--regid", &gid.to_string()]);
        command.args(["--init-groups", "--inh-caps=-all", "--", program]);
        command
    }

    /// Returns the numbers of the processes with this first word.
    pub(crate) fn those(&self, word: &str) -> Vec<u32> {
        let all = self.processes().into_iter();
        all.filter(|(_, known)| known == word)
            .map(|(number, _)| number)
            .collect()
    }

    /// Returns the lines of the record, once there are this many.
    #[track_caller]
    pub(crate) fn record(&self, lines: usize) -> Vec<Value> {
        let read = || std::fs::read_to_string(self.settings.join("record")).unwrap_or_default();
        wait_until("the record is too short", || {
            read().lines().count() >= lines
        });
        let text = read();
        let parse =
            |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        text.lines().map(parse).collect()
    }

    /// Ends the service with SIGTERM, and returns what it has said.
    #[track_caller]
    pub(crate) fn end(mut self) -> String {
        let processes = self.processes();
        oracle::run(oracle::command("kill").arg(self.child.id().to_string())).expect_code(0);
        let status = self.child.wait().expect("it ends");
        assert_eq!(status.code(), Some(0), "{}", self.said());
        wait_until("processes live on", || {
            let alive = |number: u32| trawl_testkit::process::is_alive(number);
            !processes.iter().any(|(number, _)| alive(*number))
        });
        self.said()
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            // The others end with it.
            let mut kill = oracle::command("kill");
            let _ = kill.arg(self.child.id().to_string()).status();
        }
        let _ = self.child.wait();
    }
}

/// Returns a command that runs a script in a mount namespace, with further words as its arguments, once
/// files and directories are mounted there.
pub(crate) fn in_namespace(mounts: &[(PathBuf, &str)], script: &str) -> Command {
    let mut command = oracle::command("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c"]);
    let mount =
        "while [ \"$1\" != -- ]; do mount --bind \"$1\" \"$2\" || exit; shift 2; done; shift";
    command.arg(format!("{mount}; {script}")).arg("sh");
    for (what, at) in mounts {
        command.arg(what).arg(at);
    }
    command.arg("--");
    command
}

/// Returns the header that shows a session or token.
pub(crate) fn bearer(secret: &str) -> String {
    format!("Authorization: Bearer {secret}")
}
