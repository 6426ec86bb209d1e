//! Chirp's line `search`, asked by a client that was written only from the protocol.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt, symlink};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use trawl_testkit::oracle;
use trawl_testkit::skip;

use crate::site::{LONG, Server, Site, mode, somebody};

fn serve(site: &Site, words: &[String]) -> Server {
    let mut all = vec![
        "--listen-chirp=127.0.0.1:0".to_owned(),
        format!("--chirp-user={}", somebody()),
    ];
    all.extend_from_slice(words);
    site.serve(&all)
}

/// Returns the output of the client.
fn ask(server: &Server, words: &[&str]) -> String {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/server/chirp_client.py");
    let mut client = oracle::command("python3");
    client
        .arg(program)
        .arg(server.port().to_string())
        .args(words);
    oracle::run(&mut client).expect_code(0).text()
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().skip(2).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn a_client_of_chirp_is_answered() {
    if let Some(skip) = skip::without_program("a client of Chirp", "python3") {
        return skip.say();
    }
    let site = Site::new("chirp");
    let tree = site.tree();
    for name in ["open/a b.c", "open/one:two.c", "open/xy.c", "open/deep/y.c"] {
        fs::write(tree.join(name), name).expect("room");
    }
    symlink("deep/y.c", tree.join("open/link.c")).expect("room");
    let server = serve(&site, &[format!("--export=t={}", tree.display())]);
    let text = ask(&server, &["*.c", "/t/open", "0"]);
    let head: Vec<&str> = text.lines().take(2).collect();
    assert_eq!(head, ["logged in hostname 127.0.0.1", "result 0"]);
    // A name that the lines cannot express is an error, not a wrong name.
    let found = [
        "0\t/a b.c\t",
        "0\t/deep/x.c\t",
        "0\t/deep/y.c\t",
        "0\t/link.c\t",
        "0\t/xy.c\t",
    ];
    let expected = [&found[..], &["84\t2\t/t/open"]].concat();
    assert_eq!(sorted(&text), expected);
    // `?` is one byte; paths with the root; anchored; two directories, one of which does not exist.
    let ask = |pattern: &str, paths: &str, flags: &str| {
        let text = ask(&server, &[pattern, paths, flags]);
        let lines = text.lines().skip(2).map(str::to_owned);
        lines.collect::<Vec<_>>()
    };
    assert_eq!(
        ask("?.c", "/t/open", "4"),
        ["0\t/t/open/deep/x.c\t", "0\t/t/open/deep/y.c\t"]
    );
    assert_eq!(ask("/xy.c|/none", "/t/open", "0"), ["0\t/xy.c\t"]);
    let two = ask("x.c", "/t/none|/t/open/../open//deep", "4");
    assert_eq!(two, ["2\t1\t/t/none", "0\t/t/open/deep/x.c\t"]);
    assert_eq!(ask("a?b.c", "/t/op%65n", "0"), ["0\t/a b.c\t"]);
    // The first match in the earliest directory that has one.
    assert_eq!(
        ask("*.c", "/t/open/deep:/t/open", "5"),
        ["0\t/t/open/deep/x.c\t"]
    );
    // The flag for periods has no effect there.
    fs::write(tree.join("open/deep/.y.c"), "").expect("room");
    let with_period = ["0\t/.y.c\t", "0\t/x.c\t", "0\t/y.c\t"];
    assert_eq!(ask("*.c", "/t/open/deep", "8"), with_period);
    assert_eq!(ask("*.c", "/t/open/deep", "0"), with_period);
    // The attributes from stat(2), of a link's target, in Chirp's order.
    let of = fs::metadata(tree.join("open/link.c")).expect("it is there");
    let numbers = format!(
        "{} {} {} {} {} {} {} {} {} {} {} {} {}",
        of.dev(),
        of.ino(),
        of.mode(),
        of.nlink(),
        of.uid(),
        of.gid(),
        of.rdev(),
        of.size(),
        of.blksize(),
        of.blocks(),
        of.atime(),
        of.mtime(),
        of.ctime()
    );
    assert_eq!(
        ask("link.c", "/t/open", "2"),
        [format!("0\t/link.c\t{numbers}")]
    );
    // Nothing outside of the export.
    assert_eq!(ask("passwd", "/t/../../etc", "0"), ["2\t1\t/etc"]);
}

/// Starts the server of cctools over the same tree; returns it and its port.
fn of_cctools(site: &Site) -> (Running, u16) {
    let port = site.scratch.join("port");
    let acl = site.write("tree/.__acl", "hostname:* rwldax\n");
    mode(&acl, 0o644);
    let transient = site.scratch.join("transient");
    fs::create_dir(&transient).expect("room");
    mode(&transient, 0o777);
    let mut server = oracle::command("chirp_server");
    server
        .arg(format!("--root={}", site.tree().display()))
        .arg(format!("--transient={}", transient.display()))
        .arg(format!("--port-file={}", port.display()))
        .args(["--inherit-default-acl", "--advertise=-", "--auth=hostname"])
        .args(["--interface=127.0.0.1", "--no-core-dump"])
        .arg("--debug-file=:stderr")
        .stderr(Stdio::null());
    if skip::is_root() {
        server.args(["--user", "nobody"]);
    }
    let running = Running(server.spawn().expect("it starts"));
    let until = Instant::now() + LONG;
    loop {
        let text = fs::read_to_string(&port).unwrap_or_default();
        if let Ok(port) = text.trim().parse() {
            return (running, port);
        }
        assert!(Instant::now() < until, "the server of cctools says no port");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A program that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The client of cctools reads our answers as it reads those of its own server.
#[test]
fn the_client_of_cctools_is_answered_as_its_server_answers() {
    for program in ["chirp", "chirp_server"] {
        if let Some(skip) = skip::without_program("the client and server of cctools", program) {
            return skip.say();
        }
    }
    let site = Site::new("chirp-cctools");
    let open = site.tree().join("open");
    for name in ["a b.c", "xy.c", ".hidden.c", "deep/y.c", "deep/z.h"] {
        fs::write(open.join(name), name).expect("room");
    }
    fs::create_dir_all(open.join("deep/deeper/deepest")).expect("room");
    fs::write(open.join("deep/deeper/deepest/w.c"), "").expect("room");
    symlink("xy.c", open.join("link.c")).expect("room");
    let ours = serve(&site, &[format!("--export=open={}", open.display())]);
    let (_running, theirs) = of_cctools(&site);
    for question in [
        "/open *.c",
        "-i /open *.c",
        "-m /open *.c",
        "-im /open *.c",
        "-s /open deep/y.c",
        "-ims /open xy.c",
        "/open /xy.c",
        "/open /*.c",
        "/open deep/*",
        "/open deep/*.c|/xy.c",
        "/open ?y.c",
        "/open [xy]y.c",
        "/open nothing",
        "/open/deep *.c",
        "-i /open/deep w.c",
        "/open/deep/deeper /deepest/w.c",
        "/none *.c",
        "/open/xy.c *",
    ] {
        let ask = |port: u16| {
            let mut client = oracle::command("chirp");
            client.args(["-a", "hostname", "-t", "60"]);
            client.arg(format!("127.0.0.1:{port}")).arg("search");
            let ran = oracle::run(client.args(question.split(' ')));
            let mut lines: Vec<String> = ran.text().lines().map(str::to_owned).collect();
            lines.sort_unstable();
            (lines, ran.errors(), ran.code)
        };
        assert_eq!(ask(ours.port()), ask(theirs), "search {question}");
    }
}

#[test]
fn nothing_but_searches_is_done() {
    if let Some(skip) = skip::without_program("a client of Chirp", "python3") {
        return skip.say();
    }
    let site = Site::new("chirp-only");
    let file = site.tree().join("open/deep/x.c");
    let server = serve(&site, &[]);
    let path = file.display().to_string();
    let bad: Vec<String> = ["unlink", "getfile", "mkdir", "whoami", "search"]
        .into_iter()
        .map(|command| format!("{command} {path}"))
        .chain(["search x / 128".to_owned(), "search [ / 0".to_owned()])
        .collect();
    let tree = site.tree().display().to_string();
    let words = ["x.c", &tree[..], "0"].into_iter();
    let words: Vec<&str> = words.chain(bad.iter().map(|line| &line[..])).collect();
    let text = ask(&server, &words);
    let refused = text.lines().filter(|line| *line == "-8").count();
    // An unclosed bracket stands for itself, and no file has that name.
    assert!(refused >= bad.len() - 1, "{text}");
    assert!(file.exists());
    // As the named user, who may not look everywhere.
    if skip::is_root() {
        assert!(text.contains(&format!("13\t1\t{tree}/shut")), "{text}");
    }
    // Noise, and a line without an end.
    for noise in [&b"\n\n\xff\xfe\nhostname"[..], &[b'x'; 40_000]] {
        let mut socket = TcpStream::connect(("127.0.0.1", server.port())).expect("it listens");
        socket.set_read_timeout(Some(LONG)).expect("a socket");
        let _ = socket.write_all(noise);
        let _ = socket.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = socket.read_to_end(&mut answer);
        assert!(
            answer.iter().all(|byte| b"no\n".contains(byte)),
            "{answer:?}"
        );
    }
    mode(&site.tree().join("shut"), 0o755);
}

#[test]
fn who_chirps_is_no_superuser_unless_it_is_said() {
    let site = Site::new("chirp-user");
    let ended = site.serve(&["--listen-chirp=127.0.0.1:0".to_owned()]).end();
    assert!(ended.contains("--chirp-user"), "{ended}");
    let words = [
        "--listen-chirp=127.0.0.1:0".to_owned(),
        "--chirp-user=no such".to_owned(),
    ];
    let ended = site.serve(&words).end();
    assert!(ended.contains("there is no such user"), "{ended}");
}
