//! Members of sets at servers that are reached over TLS: their bytes, as the certificate's user, and
//! errors where a certificate is no good or a peer says nothing.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{TryRecvError, channel};
use std::time::{Duration, Instant};

use trawl_fetch::Servers;
use trawl_remote::client::Patience;
use trawl_remote::tls::Certificates;
use trawl_sets::opener::{Fetched, Opener};
use trawl_sets::{Found, Options, Problem, Set};
use trawl_testkit::oracle;
use trawl_testkit::skip;

use crate::authority::{GOOD, Wish};
use crate::site::{LONG, mode, somebody};
use crate::tls::Secured;

/// Fetches a member; fails the test instead of waiting for long.
fn fetch(
    port: u16,
    host: &str,
    file: &Path,
    with: (Certificates, Duration),
) -> Result<Fetched, Problem> {
    let patience = Patience {
        silence: with.1,
        ..Patience::default()
    };
    let servers = Servers::new(with.0, patience);
    let name = format!("trawl://{host}:{port}{}", file.display());
    let (give, get) = channel();
    let done = Box::new(move |outcome| drop(give.send(outcome)));
    assert!(
        servers
            .start(&Found::named(name.into_bytes()), 0, done)
            .is_none()
    );
    get.recv_timeout(LONG).expect("an outcome, never a hang")
}

fn refusal(outcome: Result<Fetched, Problem>, words: &str) {
    let problem = outcome.expect_err("it is refused");
    let text = format!("{problem}: {}", problem.source);
    assert!(
        text.contains(words) && text.contains("trawl://"),
        "{words} is not in: {text}"
    );
}

#[test]
fn members_come_over_tls_and_bad_certificates_are_problems() {
    let secured = Secured::new("tls-members");
    let own = secured.clients.sign(&GOOD);
    let users = format!("cn:{}={}\n", GOOD.common, somebody());
    let server = secured.serve(&secured.servers.sign(&GOOD), &users, &[]);
    let port = server.port();
    let file = secured.site.tree().join("open/large");
    let text: String = (0..300_000).map(|number| format!("{number}\n")).collect();
    fs::write(&file, &text).expect("room");
    mode(&file, 0o644);
    let files = |ca| secured.files(ca, Some(&own));
    let mut fetched =
        fetch(port, "localhost", &file, (files(&secured.servers), LONG)).expect("it is served");
    let mut got = String::new();
    std::io::Read::read_to_string(&mut fetched.file, &mut got).expect("the whole");
    assert!(got == text, "{} of {} bytes", got.len(), text.len());
    if skip::is_root() {
        // The certificate's user may not read this one.
        let shut = secured.site.tree().join("shut/x.c");
        let outcome = fetch(port, "localhost", &shut, (files(&secured.servers), LONG));
        refusal(outcome, "ermission denied");
    }
    let outcome = fetch(port, "localhost", &file, (files(&secured.clients), LONG));
    refusal(outcome, "signed by an authority that is not trusted");
    let outcome = fetch(port, "127.0.0.1", &file, (files(&secured.servers), LONG));
    refusal(outcome, "is for another name");
    let expired = secured.clients.sign(&Wish {
        until: 2020,
        ..GOOD
    });
    let old = secured.files(&secured.servers, Some(&expired));
    let outcome = fetch(port, "localhost", &file, (old, LONG));
    refusal(outcome, "certificate of this program has expired");
}

#[test]
fn a_peer_that_never_answers_the_handshake_is_given_up() {
    let secured = Secured::new("tls-members-silent");
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("it is bound").port();
    let files = secured.files(&secured.servers, Some(&secured.clients.sign(&GOOD)));
    // Another client, which began earlier, gives up at its own limit of 15 s.
    let (give, patient) = channel();
    let with = (files.clone(), LONG);
    std::thread::spawn(move || {
        let outcome = fetch(port, "localhost", Path::new("/x"), with);
        let _ = give.send(outcome.map(drop));
    });
    let _connection = silent.accept().expect("the other client");
    std::thread::sleep(Duration::from_secs(1));
    let outcome = fetch(
        port,
        "localhost",
        Path::new("/x"),
        (files, Duration::from_millis(300)),
    );
    refusal(outcome, "");
    // Connecting and the handshake end at the caller's limit.
    let waits = matches!(patient.try_recv(), Err(TryRecvError::Empty));
    assert!(waits, "it waited as long as a client without a limit");
    drop(silent);
}

/// Returns a port whose connections go to another one: a server of its own, for a client.
fn forwarded(to: u16) -> u16 {
    let front = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = front.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        for near in front.incoming().flatten() {
            let far = TcpStream::connect(("127.0.0.1", to)).expect("it is served");
            for (mut from, mut to) in [
                (
                    near.try_clone().expect("room"),
                    far.try_clone().expect("room"),
                ),
                (far, near),
            ] {
                std::thread::spawn(move || std::io::copy(&mut from, &mut to));
            }
        }
    });
    port
}

#[test]
fn members_of_other_servers_do_not_wait_for_a_silent_one() {
    let secured = Secured::new("tls-members-one-silent");
    let own = secured.clients.sign(&GOOD);
    let users = format!("cn:{}={}\n", GOOD.common, somebody());
    let server = secured.serve(&secured.servers.sign(&GOOD), &users, &[]);
    let servers: Vec<u16> = (0..3).map(|_| forwarded(server.port())).collect();
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let quiet = silent.local_addr().expect("it is bound").port();
    let file = secured.site.tree().join("open/deep/x.c");
    let name = |port| format!("trawl://localhost:{port}{}", file.display()).into_bytes();
    // The silent one's members come first, and there are many of them.
    let lost = |number| format!("trawl://localhost:{quiet}/{number}").into_bytes();
    let names = (0..40).map(lost);
    let others = servers.iter().map(|port| name(*port));
    let names: Vec<Vec<u8>> = names.chain(others).collect();
    let files = secured.files(&secured.servers, Some(&own));
    // The silent one has 40 members: if each waited for a silence of its own, they would take longer
    // than anything may.
    let patience = Patience {
        silence: Duration::from_secs(12),
        ..Patience::default()
    };
    let opener = Arc::new(Servers::new(files, patience));
    let begun = Instant::now();
    let set = Set::open(
        Box::new(names.into_iter()),
        vec![opener],
        Options::default(),
    )
    .expect("a set");
    // A problem of the silent one does not come before them.
    for number in 0..3 {
        let member = set.iterate().expect("a member");
        let mut text = String::new();
        let mut file = member.expect("it is served").file;
        std::io::Read::read_to_string(&mut file, &mut text).expect("the whole");
        assert_eq!(text, "tree/open/deep", "member {number}");
    }
    // All members of the silent one fail together.
    let problems = std::iter::from_fn(|| set.iterate());
    let problems = problems.map(|member| member.expect_err("nobody serves it").name);
    let mut problems: Vec<Vec<u8>> = problems.collect();
    let mut wanted: Vec<Vec<u8>> = (0..40).map(lost).collect();
    problems.sort();
    wanted.sort();
    assert_eq!(problems, wanted);
    let took = begun.elapsed();
    assert!(took < patience.silence * 40 / 2, "{took:?}");
}

#[test]
fn commands_find_members_over_tls() {
    let secured = Secured::new("tls-members-commands");
    let own = secured.clients.sign(&GOOD);
    let users = format!("cn:{}={}\n", GOOD.common, somebody());
    let server = secured.serve(&secured.servers.sign(&GOOD), &users, &[]);
    let home = secured.site.scratch.join("home");
    let config = home.join(".config/trawl");
    fs::create_dir_all(&config).expect("room");
    let keep = |name: &str, text: &str| {
        fs::write(config.join(name), text).expect("room");
        mode(&config.join(name), 0o600);
    };
    keep("cert.pem", &own.pem);
    keep("key.pem", &own.key);
    let name = format!(
        "trawl://localhost:{}{}/open/deep/x.c",
        server.port(),
        secured.site.tree().display()
    );
    let ask = |words: &[&str]| {
        let mut command = oracle::command(&secured.site.program);
        oracle::run(command.env("HOME", &home).args(words).current_dir("/"))
    };
    keep("ca.pem", &secured.servers.pem);
    let ran = ask(&["set", &name, "--", "cat", "{}"]);
    assert_eq!(
        (ran.code, ran.text().as_str()),
        (Some(0), "tree/open/deep"),
        "{ran}"
    );
    let ran = ask(&["grep", "-h", "open", &name]);
    assert_eq!(
        (ran.code, ran.text().as_str()),
        (Some(0), "tree/open/deep\n"),
        "{ran}"
    );
    keep("ca.pem", &secured.clients.pem);
    for words in [
        &["set", &name, "--", "cat", "{}"][..],
        &["grep", "-h", "open", &name],
    ] {
        let ran = ask(words);
        assert_eq!(ran.text(), "", "{ran}");
        assert!(matches!(ran.code, Some(1 | 2)), "{ran}");
        assert!(ran.errors().contains("not trusted"), "{ran}");
    }
}
