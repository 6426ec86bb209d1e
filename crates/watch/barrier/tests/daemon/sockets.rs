//! The socket: who reaches it, what they are told, and what hostile clients achieve.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use trawl_barrier::protocol::{Answer, Outcome, Request};
use trawl_barrier::status::Status;
use trawl_barrier::{Engine, Listening, Metrics, Scope, ServeError, Server, client};
use trawl_sys::become_user::{User, as_user};

use crate::site::{LONG, Site};

const ANN: u32 = 4801;
const BOB: u32 = 4802;

/// What the daemon says about itself.
const PROFILE: &[u8] = b"a profile\nof two lines";

fn user(uid: u32) -> User {
    User {
        uid,
        gid: uid,
        groups: vec![uid],
    }
}

struct Served {
    site: Site,
    socket: PathBuf,
    server: Option<Server>,
    engine: Option<Engine>,
}

impl Served {
    fn new() -> Option<Served> {
        let site = Site::new()?;
        let place = site.place();
        let listening = Listening::bind(&place).expect("a socket");
        let owner = place.owner().expect("an owner");
        let engine = site.start_with(place, site.settings(), trawl_barrier::Start::Scanned, None);
        let server =
            Server::start(listening, engine.caller(), owner, metrics()).expect("it starts");
        Some(Served {
            socket: site.source().path().join("live/socket"),
            site,
            server: Some(server),
            engine: Some(engine),
        })
    }

    /// Sends these bytes and returns the reply.
    fn exchange(&self, bytes: &[u8]) -> Vec<u8> {
        exchange(&self.socket, bytes)
    }
}

fn metrics() -> Metrics {
    Arc::new(|| Ok(PROFILE.to_vec()))
}

impl Drop for Served {
    fn drop(&mut self) {
        self.server.take();
        if let Some(engine) = self.engine.take() {
            engine.stop();
        }
    }
}

fn exchange(socket: &Path, bytes: &[u8]) -> Vec<u8> {
    let mut stream = UnixStream::connect(socket).expect("it is there");
    stream.set_read_timeout(Some(LONG)).expect("a time");
    let mut reply = Vec::new();
    // A refused client may find the other end closed.
    let _ = stream.write_all(bytes);
    let _ = stream.read_to_end(&mut reply);
    reply
}

fn now_request(deadline: Duration) -> Vec<u8> {
    let max_age = Duration::ZERO;
    Request::Now { deadline, max_age }.encode()
}

#[test]
fn a_question_on_the_socket_is_answered_and_the_socket_goes_with_the_daemon() {
    let Some(served) = Served::new() else { return };
    let made = served.site.write("new");
    let source = served.site.source();
    let answer = client::ask_barrier(&source, LONG, Duration::ZERO);
    let answer = answer.expect("it can be asked").expect("it is there");
    assert_eq!(answer.outcome, Outcome::Fresh, "{answer:?}");
    assert!(served.site.fake.paths().contains(&made));
    let status = client::ask_status(&source)
        .expect("it can be asked")
        .expect("it is there");
    assert_eq!(status.get("barriers_total"), Some("1"));
    served.socket.metadata().expect("the socket is there");
    let socket = served.socket.clone();
    drop(served);
    assert!(!socket.exists());
}

#[test]
fn only_the_superuser_and_the_daemons_user_learn_how_long_questions_took() {
    let Some(served) = Served::new() else { return };
    let source = served.site.source();
    let told = client::ask_metrics(&source).expect("it can be asked");
    assert_eq!(told.as_deref(), Some(PROFILE));
    for uid in [ANN, BOB] {
        let asked = as_user(&user(uid), || client::ask_metrics(&source));
        let refused = asked.expect("root may become anyone");
        assert!(
            matches!(refused, Err(ServeError::Refused { .. })),
            "user {uid}: {refused:?}"
        );
    }
    drop(served);
    assert!(matches!(client::ask_metrics(&source), Ok(None)));
}

#[test]
fn nobody_answers_where_nobody_is() {
    let Some(site) = Site::new() else { return };
    let ask = || client::ask_barrier(&site.source(), LONG, Duration::ZERO).expect("no error");
    assert_eq!(ask(), None, "never watched");
    let place = site.place();
    assert_eq!(ask(), None, "no socket");
    // The state that a killed daemon leaves.
    let listening = Listening::bind(&place).expect("a socket");
    let socket = site.source().path().join("live/socket");
    let left = socket.with_extension("left");
    fs::rename(&socket, &left).expect("it is ours");
    drop(listening);
    fs::rename(&left, &socket).expect("it is ours");
    assert_eq!(ask(), None, "a socket that nobody listens to");
    drop(Listening::bind(&place).expect("it is replaced"));
}

#[test]
fn the_socket_has_its_permissions_and_those_reach_it_who_see_the_source() {
    let Some(served) = Served::new() else { return };
    let mode = |path: &Path| fs::metadata(path).expect("it is there").mode() & 0o7777;
    assert_eq!(mode(&served.socket), 0o666);
    assert_eq!(mode(served.socket.parent().expect("live")), 0o755);
    let connects = || as_user(&user(ANN), || UnixStream::connect(&served.socket).is_ok());
    assert_eq!(connects(), Ok(true));
    // As when the directories above the source's root are closed: the index is closed then, too.
    let above = served
        .site
        .source()
        .path()
        .parent()
        .expect("sources")
        .to_owned();
    fs::set_permissions(&above, fs::Permissions::from_mode(0o750)).expect("it is ours");
    assert_eq!(connects(), Ok(false));
}

#[test]
fn others_are_told_the_state_and_the_lag_and_no_paths() {
    let Some(served) = Served::new() else { return };
    let source = served.site.source();
    let ask =
        |uid| as_user(&user(uid), || client::ask_status(&source)).expect("root may become anyone");
    let status = ask(ANN).expect("it can be asked").expect("it is there");
    let names: Vec<&str> = status.fields().map(|(field, _)| field.name).collect();
    assert_eq!(names, ["state", "lag_ms"]);
    let all = Status::parse(&served.exchange(&Request::Status.encode())).expect("a status");
    assert!(all.fields().count() > 10);
}

#[test]
fn a_refresh_is_for_who_owns_the_directory() {
    let Some(served) = Served::new() else { return };
    let root = served.site.root.clone();
    let make = |name: &str, owner: u32, mode: u32| {
        let path = root.join(name);
        fs::create_dir_all(&path).expect("room");
        chown(&path, Some(owner), Some(owner)).expect("root may");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("root may");
        path
    };
    let anns = make("ann", ANN, 0o755);
    let closed = make("bob", BOB, 0o700);
    let inside = make("bob/ann", ANN, 0o755);
    std::os::unix::fs::symlink(&anns, root.join("link")).expect("room");
    let source = served.site.source();
    let ask = |uid, path: &Path| {
        let path = path.as_os_str().as_bytes();
        let asked = as_user(&user(uid), || client::ask_refresh(&source, path, LONG));
        let answer = asked
            .expect("root may become anyone")
            .expect("it can be asked");
        answer.expect("it is there")
    };
    assert_eq!(ask(ANN, &anns).outcome, Outcome::Fresh);
    let refused = ask(ANN, &closed);
    assert_eq!(refused.outcome, Outcome::Refused);
    // The same words for a path that is another user's, closed, missing, a link or elsewhere.
    for path in [root.join("missing"), inside.clone(), root.join("link")] {
        assert_eq!(ask(BOB, &path), refused, "{}", path.display());
    }
    assert_eq!(ask(4803, Path::new("/etc")), refused);
    assert_eq!(ask(4804, &root.join("ann/../ann")), refused);
    // The user owns the directory but cannot reach it.
    assert_eq!(ask(4805, &inside), refused);
    let asked = served.site.fake.with(|seen| seen.rescans.clone());
    let path = anns.as_os_str().as_bytes().to_vec();
    assert_eq!(
        asked,
        [(Scope::Subtree(path), "a user asked for it".to_owned())]
    );
    let outcomes: Vec<_> = (0..8).map(|_| ask(ANN, &anns)).collect();
    let last = outcomes.last().expect("eight");
    assert!(last.reasons().contains("too many requests"), "{last:?}");
}

#[test]
fn no_bytes_bring_it_down() {
    let Some(served) = Served::new() else { return };
    let is_refused = |bytes: &[u8]| {
        let reply = Answer::parse(&served.exchange(bytes));
        reply.is_some_and(|answer| answer.outcome == Outcome::Refused)
    };
    assert!(is_refused(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert!(is_refused(&[0xff; 4000]));
    assert!(is_refused(b"trawl 1 refresh 1 4097\n"));
    assert!(is_refused(b"trawl 9 now 1 1\n"));
    let mut random = trawl_testkit::Prng::new(7);
    for _ in 0..200 {
        let length = random.below(150);
        let mut bytes: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
        bytes.push(b'\n');
        bytes.resize(bytes.len() + 120, 0);
        served.exchange(&bytes);
    }
    let answer = Answer::parse(&served.exchange(&now_request(LONG))).expect("an answer");
    assert_eq!(answer.outcome, Outcome::Fresh);
}

#[test]
fn who_says_nothing_is_let_go_and_locks_nobody_out() {
    let Some(served) = Served::new() else { return };
    let silent: Vec<UnixStream> = as_user(&user(ANN), || {
        let connect = |_| UnixStream::connect(&served.socket).ok();
        (0..100).filter_map(connect).collect()
    })
    .expect("root may become anyone");
    assert_eq!(
        silent.len(),
        100,
        "the kernel takes them, and the daemon refuses most"
    );
    let ask = |uid| {
        let ask = || exchange(&served.socket, &now_request(LONG));
        Answer::parse(&as_user(&user(uid), ask).expect("root may become anyone"))
    };
    let others = ask(BOB).expect("an answer");
    assert_eq!(others.outcome, Outcome::Fresh, "{others:?}");
    // Connections that were not refused are closed after a while, too.
    for mut stream in silent {
        stream.set_read_timeout(Some(LONG)).expect("a time");
        let mut reply = Vec::new();
        let _ = stream.read_to_end(&mut reply);
    }
    let own = ask(ANN).expect("an answer");
    assert_eq!(own.outcome, Outcome::Fresh, "{own:?}");
}

#[test]
fn a_path_that_is_too_long_for_a_socket_is_no_hindrance() {
    let Some(served) = Served::new() else { return };
    // `sun_path` has 108 bytes.
    let long = served.site.source().path().as_os_str().len();
    let deep = trawl_testkit::Scratch::new(&"x".repeat(150 - long.min(100)));
    let path = deep.join("index");
    let index = trawl_writer::create_index(&path, Some(trawl_format::Readers::Owner));
    let index = index.expect("an index");
    let source =
        trawl_writer::add_source(&index, b"/s", &[], crate::site::now()).expect("a source");
    let place = trawl_format::Watching::begin(&index, &source).expect("it is free");
    let listening = Listening::bind(&place).expect("a socket");
    let engine = served.engine.as_ref().expect("it is there");
    let server = Server::start(listening, engine.caller(), 0, metrics()).expect("it starts");
    assert!(source.path().join("live/socket").as_os_str().len() > 108);
    let status = client::ask_status(&source).expect("it can be asked");
    assert!(status.is_some());
    let mode = fs::metadata(source.path().join("live/socket"))
        .expect("it is there")
        .mode();
    assert_eq!(mode & 0o7777, 0o600, "an index for its owner alone");
    drop(server);
}
