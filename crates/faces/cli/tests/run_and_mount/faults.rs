//! Servers that end in the middle of an answer: an error, never a short answer.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use trawl_testkit::oracle;

use crate::site::{Site, TRAWL, cannot};

/// Number of bytes that have passed, and the maximum.
pub(crate) struct Line {
    left_bytes: AtomicUsize,
    pub(crate) sent_bytes: AtomicUsize,
    connections: AtomicUsize,
    pub(crate) is_cut: AtomicBool,
    /// Whether servers report that they support nothing but search.
    pub(crate) is_old: AtomicBool,
    /// Duration of each piece on the first connection, once [`FREE_BYTES`] have passed.
    pause: Duration,
    /// Delay with which all other connections begin.
    delay: Duration,
}

const FREE_BYTES: usize = 300_000;
/// Length of a server's first message.
const HELLO_BYTES: usize = 36;

/// Listens in front of the tree's server. The servers' output ends after this many bytes, and then
/// no connection is accepted.
pub(crate) fn between(site: &Site, bytes: usize) -> (String, Arc<Line>) {
    slow(site, bytes, Duration::ZERO, Duration::ZERO)
}

/// Listens as [`between`] does; the first connection becomes slow, and others begin late.
fn slow(site: &Site, bytes: usize, delay: Duration, pause: Duration) -> (String, Arc<Line>) {
    let path = site.scratch.join("socket");
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).expect("room");
    let line = Arc::new(Line {
        left_bytes: AtomicUsize::new(bytes),
        sent_bytes: AtomicUsize::new(0),
        connections: AtomicUsize::new(0),
        is_cut: AtomicBool::new(false),
        is_old: AtomicBool::new(false),
        pause,
        delay,
    });
    let shared = Arc::clone(&line);
    std::thread::spawn(move || {
        while let Ok((client, _)) = listener.accept() {
            let is_first = shared.connections.fetch_add(1, Ordering::Relaxed) == 0;
            if !shared.is_cut.load(Ordering::Relaxed) {
                let line = Arc::clone(&shared);
                std::thread::spawn(move || serve(client, &line, is_first));
            }
        }
    });
    (format!("unix:{}", path.display()), line)
}

fn serve(mut client: UnixStream, line: &Arc<Line>, is_first: bool) {
    if !is_first {
        std::thread::sleep(line.delay);
    }
    let (mut server, theirs) = UnixStream::pair().expect("room");
    let mut command = oracle::command(TRAWL);
    let output = theirs.try_clone().expect("room");
    command
        .args(["serve", "--stdio"])
        .stdin(Stdio::from(OwnedFd::from(theirs)));
    command.stdout(Stdio::from(OwnedFd::from(output)));
    let mut child = command.spawn().expect("it starts");
    drop(command);
    let (mut up, mut down) = (
        client.try_clone().expect("room"),
        server.try_clone().expect("room"),
    );
    let counted = Arc::clone(line);
    let asking = std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = up.read(&mut buffer) {
            counted.sent_bytes.fetch_add(count, Ordering::Relaxed);
            if down.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
        let _ = down.shutdown(Shutdown::Both);
    });
    if line.is_old.load(Ordering::Relaxed) {
        let mut hello = [0; HELLO_BYTES];
        server.read_exact(&mut hello).expect("it says hello");
        // The server's features.
        hello[HELLO_BYTES - 8..].fill(0);
        let _ = client.write_all(&hello);
    }
    let (mut buffer, mut passed) = ([0; 512], 0);
    while let Ok(count @ 1..) = server.read(&mut buffer) {
        let before = line
            .left_bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                Some(left.saturating_sub(count))
            });
        if before.is_ok_and(|left| left <= count) {
            line.is_cut.store(true, Ordering::Relaxed);
            break;
        }
        if client.write_all(&buffer[..count]).is_err() {
            break;
        }
        passed += count;
        if is_first && passed > FREE_BYTES {
            std::thread::sleep(line.pause);
        }
    }
    let _ = client.shutdown(Shutdown::Both);
    let _ = server.shutdown(Shutdown::Both);
    let _ = child.kill();
    let _ = child.wait();
    let _ = asking.join();
}

fn plant(site: &Site, directories: usize) {
    for number in 0..directories {
        let dir = site.tree().join(format!("d{number:03}"));
        std::fs::create_dir(&dir).expect("room");
        for name in ["a", "b", "c"] {
            std::fs::write(dir.join(name), name).expect("room");
        }
    }
}

#[test]
fn a_tree_takes_few_questions_of_the_server() {
    if let Some(skip) = cannot("questions of a command") {
        return skip.say();
    }
    let site = Site::empty("running-questions");
    plant(&site, 200);
    let (server, line) = between(&site, usize::MAX);
    let mut command = site.command(&server);
    command.args([
        "sh",
        "-c",
        "find $0 -ls | wc -l; ls -lR $0 | wc -l; du -s $0 >/dev/null",
    ]);
    let ran = oracle::run(command.arg(site.point())).expect_code(0);
    // The top, and for each directory the directory itself and its content; for ls, three more
    // lines each.
    assert_eq!(ran.text(), "801\n1402\n", "{ran}");
    // A greeting, the attributes of the top, and one request for everything below it; some credit.
    let (sent, path) = (&line.sent_bytes, site.tree().as_os_str().len());
    let sent = sent.load(Ordering::Relaxed);
    assert!(sent < 400 + 4 * path, "{sent} bytes were asked with");
    assert_eq!(line.connections.load(Ordering::Relaxed), 1);
}

#[test]
fn a_server_that_ends_is_an_error() {
    if let Some(skip) = cannot("commands whose server ends") {
        return skip.say();
    }
    let site = Site::empty("running-cut");
    plant(&site, 300);
    std::fs::write(site.tree().join("big"), vec![b'x'; 3 << 20]).expect("room");
    for (script, bytes) in [
        ("find $0 -ls", 20_000),
        ("ls -lR $0", 60_000),
        ("cat $0/big", 2_000_000),
        ("set -o pipefail; tar -cf - $0 | cat", 400_000),
        ("du -s $0", 4_000),
        // This command does not notice.
        ("echo $0/*/*", 20_000),
    ] {
        let (server, line) = between(&site, bytes);
        let mut command = site.command(&server);
        let ran = oracle::run(command.args(["bash", "-c", script]).arg(site.point()));
        assert!(ran.code.is_some_and(|code| code > 0), "{script}\n{ran}");
        let errors = ran.errors();
        assert!(errors.contains("trawl: "), "{script}\n{ran}");
        assert!(line.is_cut.load(Ordering::Relaxed), "{script}\n{ran}");
        if script.starts_with("echo") {
            assert_eq!(ran.code, Some(125), "{ran}");
        } else {
            assert!(errors.contains("Input/output error"), "{script}\n{ran}");
        }
    }
    site.expect_nothing_left();
}

#[test]
fn call_by_call_each_name_is_asked_for() {
    if let Some(skip) = cannot("a server that is asked call by call") {
        return skip.say();
    }
    let site = Site::empty("running-calls");
    for number in 0..200 {
        let name = format!("a-name-of-some-length-{number:03}");
        std::fs::write(site.tree().join(name), "x").expect("room");
    }
    let asked = |options: &[&str]| {
        let (server, line) = between(&site, usize::MAX);
        let mut command = oracle::command(TRAWL);
        command.arg("run").args(options).arg("--remote");
        command.arg(site.remote(&server)).args(["--", "ls", "-l"]);
        let ran = oracle::run(command.arg(site.point())).expect_code(0);
        (ran.text(), line.sent_bytes.load(Ordering::Relaxed))
    };
    for way in [&[][..], &["--sandbox"][..]] {
        let (at_once, few) = asked(way);
        let (each, many) = asked(&[way, &["--call-by-call"]].concat());
        assert_eq!(at_once, each);
        // At least 200 paths, compared with one question.
        assert!(
            few < 4000 && many > 200 * 20,
            "{way:?}: {few}, {many} bytes"
        );
    }
    site.expect_nothing_left();
}

#[test]
fn what_an_answer_comes_to_late_is_asked_for_by_itself_once() {
    if let Some(skip) = cannot("an answer that takes long") {
        return skip.say();
    }
    let site = Site::empty("running-late");
    plant(&site, 1500);
    let late = site.tree().join("late");
    std::fs::create_dir(&late).expect("room");
    std::fs::write(late.join("x"), "there").expect("room");
    // Long before the answer about the whole tree has reached it; that answer continues meanwhile.
    let (delay, pause) = (Duration::from_millis(500), Duration::from_millis(5));
    let (server, line) = slow(&site, usize::MAX, delay, pause);
    let mut command = site.command(&server);
    command.args(["sh", "-c", "cat $0/late/x; ls $0/late"]);
    let ran = oracle::run(command.arg(site.point())).expect_code(0);
    assert_eq!(
        (ran.text().as_str(), ran.errors().as_str()),
        ("therex\n", "")
    );
    let connections = line.connections.load(Ordering::Relaxed);
    assert!(
        connections <= 3,
        "{connections} connections for one directory"
    );
}
