//! Certificates on both sides.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use trawl_remote::tls::Certificates;
use trawl_remote::tls::identity::identities;
use trawl_remote::{Address, Remote};
use trawl_testkit::oracle::{self, Identity};
use trawl_testkit::skip;

use crate::authority::{Authority, GOOD, Signed, Wish};
use crate::site::{LONG, Server, Site, found, mode, request, somebody};

/// Files with which a server is run.
pub(crate) struct Secured {
    pub(crate) site: Site,
    /// Authorities for the certificates of servers and of clients.
    pub(crate) servers: Authority,
    pub(crate) clients: Authority,
}

impl Secured {
    pub(crate) fn new(name: &str) -> Secured {
        Secured {
            site: Site::new(name),
            servers: Authority::new("servers"),
            clients: Authority::new("clients"),
        }
    }

    /// Starts a server with this certificate and this table of users.
    pub(crate) fn serve(&self, certificate: &Signed, users: &str, words: &[&str]) -> Server {
        let file = |name: &str, text: &str| self.site.write(name, text).display().to_string();
        let mut all = vec![
            "--listen=tls:127.0.0.1:0".to_owned(),
            format!("--cert={}", file("server.pem", &certificate.pem)),
            format!("--key={}", file("server.key", &certificate.key)),
            format!("--client-ca={}", file("clients.pem", &self.clients.pem)),
            format!("--users={}", file("users", users)),
        ];
        all.extend(words.iter().map(|word| (*word).to_owned()));
        self.site.serve(&all)
    }

    /// Returns the files of a client.
    pub(crate) fn files(&self, ca: &Authority, own: Option<&Signed>) -> Certificates {
        let file = |name: &str, text: &str| Some(self.site.write(name, text));
        let absent = Some(self.site.scratch.join("none.pem"));
        Certificates {
            ca: file("client-ca.pem", &ca.pem),
            cert: own.map_or(absent.clone(), |own| file("client.pem", &own.pem)),
            key: own.map_or(absent, |own| file("client.key", &own.key)),
        }
    }
}

pub(crate) fn remote(host: &str, port: u16, certificates: Certificates) -> Remote {
    let address = Address::parse(format!("tls:{host}:{port}").as_ref()).expect("an address");
    Remote::new(address.with_certificates(certificates))
}

fn hex(signed: &Signed) -> String {
    identities(&signed.der)[0].clone()
}

#[test]
fn who_has_a_certificate_is_served_as_their_user() {
    let secured = Secured::new("tls");
    let own = secured.clients.sign(&GOOD);
    let users = format!("# one line\n{}={}\n", hex(&own), somebody());
    let server = secured.serve(&secured.servers.sign(&GOOD), &users, &[]);
    let port = server.port();
    let who = match skip::is_root() {
        true => {
            let uid = trawl_sys::identity::uid_of(b"nobody").expect("a database");
            Identity::user(uid.expect("nobody"))
        }
        false => Identity::Ourselves,
    };
    let tree = secured.site.tree();
    let find = oracle::gnu(
        "find",
        [".", "-name", "x.c", "-printf", "%P\\n"],
        &tree,
        &who,
    );
    let files = secured.files(&secured.servers, Some(&own));
    let told = |path: Option<&PathBuf>| path.expect("it is given").display().to_string();
    let mut command = oracle::command(&secured.site.program);
    command.args(["search", "--status", "--remote"]);
    command.arg(format!("tls:localhost:{port}"));
    command.args(["--ca", &told(files.ca.as_ref())]);
    command.args(["--cert", &told(files.cert.as_ref())]);
    command.args(["--key", &told(files.key.as_ref()), "x.c"]);
    let ran = oracle::run(command.arg(&tree));
    assert_eq!(ran.text(), find.text(), "{ran}");
    assert!(ran.errors().contains("answered by: remote (live)"), "{ran}");
    // Many questions on one connection, and a large answer.
    let remote = remote("localhost", port, files);
    let large = crate::site::large(&secured.site, 800);
    for _ in 0..3 {
        let ask = || request("*", &large);
        assert_eq!(
            found(&remote, ask()).expect("an answer"),
            crate::site::live(ask())
        );
    }
}

/// Returns what a client with these files is told.
fn told(server: &Server, host: &str, files: Certificates, tree: &Path) -> String {
    let remote = remote(host, server.port(), files);
    match found(&remote, request("*", tree)) {
        Ok(lines) => panic!("it was answered: {lines:?}"),
        Err(error) => error.to_string(),
    }
}

fn expect(text: &str, words: &str) {
    assert!(text.contains(words), "{words} is not in: {text}");
}

#[test]
fn a_servers_certificate_that_is_no_good_is_told() {
    let secured = Secured::new("tls-server");
    let own = secured.clients.sign(&GOOD);
    let users = format!("{}={}\n", hex(&own), somebody());
    let tree = secured.site.tree();
    let good = secured.serve(&secured.servers.sign(&GOOD), &users, &[]);
    let files = |ca| secured.files(ca, Some(&own));
    let text = told(&good, "localhost", files(&secured.clients), &tree);
    expect(&text, "signed by an authority that is not trusted");
    let text = told(&good, "127.0.0.1", files(&secured.servers), &tree);
    expect(&text, "is for another name");
    drop(good);
    let expired = Wish {
        until: 2020,
        ..GOOD
    };
    let server = secured.serve(&secured.servers.sign(&expired), &users, &[]);
    let text = told(&server, "localhost", files(&secured.servers), &tree);
    expect(&text, "its certificate has expired");
    drop(server);
    // A peer that does not speak TLS at all.
    let plain = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = plain.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        let (mut client, _) = plain.accept().expect("a client");
        let _ = client.write_all(b"220 mail.example.org ESMTP\r\n");
        let _ = client.read(&mut [0; 4096]);
    });
    let remote = remote("localhost", port, files(&secured.servers));
    let text = found(&remote, request("*", &tree))
        .expect_err("no TLS")
        .to_string();
    expect(&text, "is not TLS");
}

#[test]
fn a_renewed_certificate_is_shown_to_new_clients() {
    let secured = Secured::new("tls-renewed");
    let own = secured.clients.sign(&GOOD);
    let users = format!("{}={}\n", hex(&own), somebody());
    let tree = secured.site.tree();
    let server = secured.serve(&secured.servers.sign(&GOOD), &users, &[]);
    let before = remote(
        "localhost",
        server.port(),
        secured.files(&secured.servers, Some(&own)),
    );
    let lines = found(&before, request("*", &tree)).expect("an answer");
    let others = Authority::new("other servers");
    let signed = others.sign(&GOOD);
    for (name, text) in [("server.pem", &signed.pem), ("server.key", &signed.key)] {
        let beside = secured.site.write("new", text);
        std::fs::rename(beside, secured.site.scratch.join(name)).expect("our own");
    }
    server.hear("new connections use the new certificate");
    let until = Instant::now() + LONG;
    let refused = loop {
        let files = secured.files(&secured.servers, Some(&own));
        match found(
            &remote("localhost", server.port(), files),
            request("*", &tree),
        ) {
            Err(error) => break error.to_string(),
            Ok(_) => assert!(Instant::now() < until, "the old certificate is still shown"),
        }
    };
    expect(&refused, "signed by an authority that is not trusted");
    // A connection from before stays: another one would not be accepted.
    assert_eq!(
        found(&before, request("*", &tree)).expect("an answer"),
        lines
    );
    let after = remote(
        "localhost",
        server.port(),
        secured.files(&others, Some(&own)),
    );
    assert_eq!(
        found(&after, request("*", &tree)).expect("an answer"),
        lines
    );
}

#[test]
fn a_clients_certificate_that_is_no_good_is_told() {
    let secured = Secured::new("tls-client");
    let (own, other) = (secured.clients.sign(&GOOD), secured.clients.sign(&GOOD));
    let users = format!("{}={}\ncn:gone=no such user\n", hex(&own), somebody());
    let tree = secured.site.tree();
    let server = secured.serve(&secured.servers.sign(&GOOD), &users, &[]);
    let ask = |own: Option<&Signed>| {
        told(
            &server,
            "localhost",
            secured.files(&secured.servers, own),
            &tree,
        )
    };
    let expired = secured.clients.sign(&Wish {
        until: 2020,
        ..GOOD
    });
    expect(
        &ask(Some(&expired)),
        "certificate of this program has expired",
    );
    let strange = Authority::new("clients").sign(&GOOD);
    expect(&ask(Some(&strange)), "the certificate of this program");
    expect(
        &ask(Some(&other)),
        &format!("{} belongs to no user here", hex(&other)),
    );
    let gone = secured.clients.sign(&Wish {
        common: "gone",
        ..GOOD
    });
    expect(&ask(Some(&gone)), "a user that does not exist");
    // Without any certificate.
    let files = secured.files(&secured.servers, None);
    let nothing = Certificates {
        cert: None,
        key: None,
        ..files
    };
    if !Path::new("/etc/trawl/cert.pem").exists() {
        let remote = remote("localhost", server.port(), nothing);
        let text = found(&remote, request("*", &tree))
            .expect_err("no one")
            .to_string();
        expect(&text, "wants a certificate of this program");
    }
    if skip::is_root() {
        let root = secured.clients.sign(&Wish {
            common: "root",
            ..GOOD
        });
        secured.site.write("users", "cn:root=root\n");
        expect(&ask(Some(&root)), "no certificate stands for the superuser");
    }
    // The table is read again: a line that is gone lets nobody in.
    secured
        .site
        .write("users", &format!("{}={}\n", hex(&own), somebody()));
    let files = secured.files(&secured.servers, Some(&own));
    let lines = found(
        &remote("localhost", server.port(), files.clone()),
        request("x.c", &tree),
    );
    assert!(!lines.expect("an answer").is_empty());
    secured.site.write("users", "");
    expect(
        &told(&server, "localhost", files, &tree),
        "belongs to no user here",
    );
}

#[test]
fn one_too_many_is_told_over_tls_too() {
    let secured = Secured::new("tls-many");
    let own = secured.clients.sign(&GOOD);
    let users = format!("cn:somebody={}\n", somebody());
    let words = ["--user-connections=1", "--stall=500ms"];
    let server = secured.serve(&secured.servers.sign(&GOOD), &users, &words);
    let files = secured.files(&secured.servers, Some(&own));
    let large = crate::site::large(&secured.site, 1500);
    let first = remote("localhost", server.port(), files.clone());
    let mut search = trawl_call::Search::open(&first, request("*", &large)).expect("let in");
    assert!(search.advance().expect("an answer"));
    let text = told(&server, "localhost", files, &large);
    expect(&text, "too many connections");
    // A client that reads nothing for a while still gets the whole answer.
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let mut records = 1;
    while search.advance().expect("it is gone on with") {
        records += 1;
    }
    assert_eq!(records, 3000);
}

#[test]
fn strangers_disturb_nobody() {
    let secured = Secured::new("tls-strangers");
    let own = secured.clients.sign(&GOOD);
    let users = format!("san:localhost={}\n", somebody());
    let server = secured.serve(&secured.servers.sign(&GOOD), &users, &[]);
    let port = server.port();
    let mut kept = Vec::new();
    // More than may be strangers at a time.
    for number in 0..560u16 {
        let mut socket = std::net::TcpStream::connect(("127.0.0.1", port)).expect("it listens");
        // The truncated head of a TLS record; noise; nothing.
        let bytes: &[u8] = match number % 3 {
            0 => &[22, 3, 1, 2, 0, 1],
            1 if number < 60 => &[b'x'; 600],
            _ => &[],
        };
        let _ = socket.write_all(bytes);
        kept.push(socket);
    }
    let files = secured.files(&secured.servers, Some(&own));
    let remote = remote("localhost", port, files);
    let lines = found(&remote, request("x.c", &secured.site.tree())).expect("an answer");
    assert!(lines.contains(&"open/deep/x.c".to_owned()), "{lines:?}");
    let closed = |at: usize| {
        let mut socket = &kept[at];
        socket.set_read_timeout(Some(LONG)).expect("a socket");
        let mut answer = Vec::new();
        let _ = socket.read_to_end(&mut answer);
        answer
    };
    // The connection that sent noise was closed with an alert.
    assert_eq!(closed(58).first(), Some(&21));
    // The oldest made room, and nobody had to wait until all had taken too long.
    assert_eq!(closed(2), b"");
    let mut newer = &kept[300];
    newer.set_nonblocking(true).expect("a socket");
    let read = newer.read(&mut [0]).map_err(|error| error.kind());
    assert_eq!(read, Err(std::io::ErrorKind::WouldBlock));
}

#[test]
fn files_that_others_could_use_are_refused() {
    let secured = Secured::new("tls-files");
    let good = secured.servers.sign(&GOOD);
    let start = |change: &dyn Fn(), words: &[&str]| {
        // This writes the files; the ones that are read afterwards are changed.
        drop(secured.serve(&good, "cn:a=b\n", &["--connections=x"]));
        change();
        let file = |name: &str| secured.site.scratch.join(name).display().to_string();
        let mut all = vec![
            "--listen=tls:127.0.0.1:0".to_owned(),
            format!("--cert={}", file("server.pem")),
            format!("--key={}", file("server.key")),
            format!("--client-ca={}", file("clients.pem")),
            format!("--users={}", file("users")),
        ];
        all.extend(words.iter().map(|word| (*word).to_owned()));
        secured.site.serve(&all).end()
    };
    let path = |name: &str| secured.site.scratch.join(name);
    expect(
        &start(&|| mode(&path("server.key"), 0o644), &[]),
        "everyone may use it",
    );
    expect(
        &start(&|| mode(&path("users"), 0o666), &[]),
        "only the superuser can write",
    );
    let other = secured.servers.sign(&GOOD);
    let swap = || drop(secured.site.write("server.key", &other.key));
    expect(&start(&swap, &[]), "do not match");
    expect(
        &start(&|| drop(secured.site.write("clients.pem", "")), &[]),
        "no certificate",
    );
    expect(
        &start(&|| drop(secured.site.write("users", "alice\n")), &[]),
        "a line is not",
    );
    expect(
        &start(&|| {}, &["--tls-user=no such user"]),
        if skip::is_root() {
            "there is no such user"
        } else {
            "listens at"
        },
    );
}

/// Whole command lines, with the certificates in the place where clients look for them.
#[test]
fn command_lines_are_answered_as_the_user_of_the_certificate() {
    let secured = Secured::new("tls-lines");
    let own = secured.clients.sign(&GOOD);
    let users = format!("{}={}\n", hex(&own), somebody());
    let server = secured.serve(&secured.servers.sign(&GOOD), &users, &[]);
    let home = secured.site.scratch.join("home");
    let settings = home.join(".config/trawl");
    std::fs::create_dir_all(&settings).expect("room");
    for (name, text) in [
        ("ca.pem", &secured.servers.pem),
        ("cert.pem", &own.pem),
        ("key.pem", &own.key),
    ] {
        std::fs::write(settings.join(name), text).expect("room");
        mode(&settings.join(name), 0o600);
    }
    let mut command = oracle::command(&secured.site.program);
    command.env("HOME", &home);
    let tree = secured.site.tree();
    command.args(["--remote", &format!("tls:localhost:{}", server.port())]);
    command.args(["find", "--live"]).arg(&tree);
    let ran = oracle::run(&mut command);
    let who = match skip::is_root() {
        true => {
            let uid = trawl_sys::identity::uid_of(b"nobody").expect("a database");
            Identity::user(uid.expect("nobody"))
        }
        false => Identity::Ourselves,
    };
    let mut find = who.command("find");
    let expected = oracle::run(find.arg(&tree));
    let sorted = |ran: &oracle::Ran| {
        let mut lines: Vec<String> = ran.text().lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    assert_eq!(sorted(&ran), sorted(&expected), "{ran}");
    assert_eq!(ran.errors(), expected.errors());
    assert_eq!(ran.code, expected.code, "{ran}");
}
