//! Ends of a connection that die, stop or are cut off: the result is an error or the whole answer,
//! never a part that looks complete.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use trawl_call::{CallError, Search};
use trawl_remote::client::Patience;
use trawl_remote::{Address, Remote};

use crate::authority::GOOD;
use crate::site::{Server, Site, found, large, live, request, somebody};
use crate::tls::{Secured, remote};

fn signal(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .expect("a process");
    kill_process(pid, signal).expect("it runs");
}

/// Returns a client with little data in flight, so that both ends are in the middle of an answer
/// for long.
fn slowly(path: &Path, silence: Duration) -> Remote {
    let patience = Patience {
        silence,
        credit: 40_000,
        ..Patience::default()
    };
    Remote::with(Address::Unix(path.to_owned()), patience)
}

/// Reads some records, does something to the server, and reads the rest.
fn interrupted(
    remote: &Remote,
    tree: &Path,
    strike: impl FnOnce(),
) -> Result<Vec<String>, CallError> {
    let mut search = Search::open(remote, request("*", tree))?;
    let (mut lines, mut strike) = (Vec::new(), Some(strike));
    while let Some(record) = search.next_record()? {
        lines.push(record.path.escape_ascii().to_string());
        if lines.len() == 50
            && let Some(strike) = strike.take()
        {
            strike();
        }
    }
    Ok(lines)
}

fn strike(server: &Server, how: Signal) {
    for child in server.children() {
        signal(child, how);
    }
}

#[test]
fn a_process_killed_in_the_middle_is_gone_on_with() {
    let site = Site::new("killed");
    let (server, path) = site.at_socket(&[]);
    let tree = large(&site, 2000);
    let remote = slowly(&path, Duration::from_secs(60));
    let lines = interrupted(&remote, &tree, || strike(&server, Signal::KILL));
    assert!(lines.expect("gone on with") == live(request("*", &tree)));
}

#[test]
fn a_server_killed_in_the_middle_is_an_error() {
    let site = Site::new("killed-all");
    let (mut server, path) = site.at_socket(&[]);
    let tree = large(&site, 2000);
    let remote = slowly(&path, Duration::from_secs(60));
    let answer = interrupted(&remote, &tree, || {
        let children = server.children();
        server.child.kill().expect("it runs");
        server.child.wait().expect("it runs");
        children
            .into_iter()
            .for_each(|child| signal(child, Signal::KILL));
    });
    let text = answer.expect_err("it cannot be whole").to_string();
    assert!(text.contains("cannot reach"), "{text}");
}

#[test]
fn a_process_that_stands_still_is_an_error() {
    let site = Site::new("stalled");
    let (server, path) = site.at_socket(&[]);
    let tree = large(&site, 2000);
    let remote = slowly(&path, Duration::from_millis(700));
    let answer = interrupted(&remote, &tree, || strike(&server, Signal::STOP));
    strike(&server, Signal::CONT);
    let text = answer.expect_err("it cannot be whole").to_string();
    assert!(text.contains("has sent nothing"), "{text}");
    // Other clients, and later questions, are served.
    let later = slowly(&path, Duration::from_secs(60));
    let ask = || request("x.c", &site.tree());
    assert_eq!(found(&later, ask()).expect("an answer"), live(ask()));
}

/// Starts a proxy. The first connection, or every one, ends after this many bytes from the server.
fn cutter(to: u16, most: usize, all: bool) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        for number in 0.. {
            let Ok((client, _)) = listener.accept() else {
                return;
            };
            let left = if number == 0 || all { most } else { usize::MAX };
            let server = TcpStream::connect(("127.0.0.1", to)).expect("it listens");
            let (mut up, mut down) = (both(&client), both(&server));
            std::thread::spawn(move || std::io::copy(&mut up, &mut down));
            std::thread::spawn(move || pass(server, client, left));
        }
    });
    port
}

fn both(socket: &TcpStream) -> TcpStream {
    socket.try_clone().expect("a descriptor")
}

fn pass(mut from: TcpStream, mut to: TcpStream, mut left: usize) {
    let mut buffer = [0; 4096];
    while left > 0 {
        let most = left.min(buffer.len());
        let Ok(count @ 1..) = from.read(&mut buffer[..most]) else {
            break;
        };
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
        left -= count;
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

#[test]
fn tls_that_is_cut_is_gone_on_with_or_an_error() {
    let secured = Secured::new("cut");
    let own = secured.clients.sign(&GOOD);
    let users = format!("cn:somebody={}\n", somebody());
    let server = secured.serve(&secured.servers.sign(&GOOD), &users, &[]);
    let port = server.port();
    let tree = large(&secured.site, 700);
    let files = secured.files(&secured.servers, Some(&own));
    let ask = || request("*", &tree);
    let whole = live(ask());
    let mut gone_on = 0;
    for cut in (100..250_000).step_by(31_013) {
        let proxy = cutter(port, cut, false);
        match found(&remote("localhost", proxy, files.clone()), ask()) {
            Ok(lines) => {
                assert!(lines == whole, "cut at {cut}");
                gone_on += 1;
            }
            // Before the first record there is nothing to continue from.
            Err(error) => {
                let text = error.to_string();
                let is_told = text.contains("complete") || text.contains("ended the connection");
                assert!(is_told, "{cut}: {text}");
            }
        }
    }
    assert!(gone_on > 3, "{gone_on}");
    // Within the greeting, repeatedly.
    let proxy = cutter(port, 300, true);
    let answer = found(&remote("localhost", proxy, files), ask());
    let text = answer.expect_err("it cannot be whole").to_string();
    assert!(text.contains("cannot authenticate"), "{text}");
}
