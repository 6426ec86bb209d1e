//! Servers that are stalled, slow, killed or gone: their members become problems in a bounded time,
//! others arrive, and nothing short looks complete.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use trawl_testkit::Scratch;

use crate::support::{
    LONG, NEVER, content, error, fetch_all, holding, listen, name, proxy, server, servers, serving,
    start, within,
};

/// A short limit, for tests in which it is exceeded.
const SHORT: Duration = Duration::from_millis(300);

fn small_files(scratch: &Scratch, count: usize) -> Vec<PathBuf> {
    let paths = (0..count).map(|number| scratch.join(format!("f{number}")));
    paths
        .inspect(|path| std::fs::write(path, path.display().to_string()).unwrap())
        .collect()
}

#[test]
fn a_stalled_server_fails_its_members_and_is_left_alone() {
    let scratch = Scratch::new("fetch");
    let (stalled, well) = (scratch.join("stalled"), scratch.join("well"));
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&kept);
    listen(&stalled, move |_, client| keep.lock().unwrap().push(client));
    server(&well, serving());
    let files = small_files(&scratch, 200);
    let names: Vec<_> = files
        .iter()
        .enumerate()
        .map(|(number, file)| name([&stalled, &well][number % 2], file))
        .collect();
    // If each of the hundred waited for a silence of its own, that would be 500 s.
    let servers = servers(Duration::from_secs(5));
    let (asked, asking) = (Arc::clone(&servers), names.clone());
    let outcomes = within(2 * LONG, move || fetch_all(&asked, &asking, 0));
    for (number, outcome) in outcomes.into_iter().enumerate() {
        match number % 2 {
            0 => assert_eq!(error(outcome).kind(), std::io::ErrorKind::TimedOut),
            _ => assert!(!content(outcome.unwrap()).unwrap().is_empty()),
        }
    }
    let connections = kept.lock().unwrap().len();
    error(fetch_all(&servers, &names[..1], 0).remove(0));
    assert_eq!(kept.lock().unwrap().len(), connections, "it is left alone");
}

#[test]
fn one_server_of_four_that_is_gone_costs_its_members_only() {
    let scratch = Scratch::new("fetch");
    let sockets: Vec<_> = (0..4).map(|at| scratch.join(format!("s{at}"))).collect();
    for socket in &sockets[1..] {
        server(socket, serving());
    }
    let files = small_files(&scratch, 400);
    let numbered = files.iter().enumerate();
    let names: Vec<_> = numbered
        .map(|(at, file)| name(&sockets[at % 4], file))
        .collect();
    for (at, outcome) in fetch_all(&servers(LONG), &names, 0).into_iter().enumerate() {
        match at % 4 {
            0 => assert!(error(outcome).to_string().contains("cannot reach")),
            _ => assert_eq!(
                content(outcome.unwrap()).unwrap(),
                files[at].display().to_string().into_bytes()
            ),
        }
    }
}

#[test]
fn a_server_killed_in_the_middle_is_asked_once_more() {
    let scratch = Scratch::new("fetch");
    let (socket, front, always) = (scratch.join("s"), scratch.join("p"), scratch.join("q"));
    server(&socket, serving());
    let files = small_files(&scratch, 60);
    let connections = proxy(&front, socket.clone(), |number| {
        (number == 0).then_some(2_000)
    });
    let names: Vec<_> = files.iter().map(|file| name(&front, file)).collect();
    for (outcome, file) in fetch_all(&servers(LONG), &names, 0).into_iter().zip(&files) {
        let expected = file.display().to_string().into_bytes();
        assert_eq!(content(outcome.unwrap()).unwrap(), expected);
    }
    assert_eq!(*connections.lock().unwrap(), 2);
    // A server whose connections all break soon: members or problems, no short content, no hang.
    proxy(&always, socket, |_| Some(700));
    let names: Vec<_> = files.iter().map(|file| name(&always, file)).collect();
    let mut arrived = 0;
    for (outcome, file) in fetch_all(&servers(LONG), &names, 0).into_iter().zip(&files) {
        if let Ok(fetched) = outcome {
            let expected = file.display().to_string().into_bytes();
            assert_eq!(content(fetched).unwrap(), expected);
            arrived += 1;
        }
    }
    assert!(arrived < files.len(), "{arrived}");
}

#[test]
fn a_stream_that_breaks_ends_with_an_error() {
    let scratch = Scratch::new("fetch");
    let (socket, front) = (scratch.join("s"), scratch.join("p"));
    server(&socket, serving());
    proxy(&front, socket, |number| (number > 0).then_some(900_000));
    let large = scratch.join("large");
    std::fs::write(&large, vec![1; 8 << 20]).unwrap();
    std::thread::sleep(SHORT);
    let fetched = fetch_all(&servers(LONG), &[name(&front, &large)], 0)
        .remove(0)
        .unwrap();
    assert!(fetched.is_stream);
    let broken = content(fetched).map(|bytes| bytes.len()).unwrap_err();
    assert_eq!(broken.kind(), std::io::ErrorKind::ConnectionReset);
}

#[test]
fn closing_ends_everything_at_once() {
    let scratch = Scratch::new("fetch");
    let stalled = scratch.join("stalled");
    let mut kept = Vec::new();
    listen(&stalled, move |_, client| kept.push(client));
    let names: Vec<_> = (0..50)
        .map(|at| name(&stalled, &scratch.join(format!("f{at}"))))
        .collect();
    let servers = servers(NEVER);
    let get = start(&servers, &names, 0);
    std::thread::sleep(SHORT);
    within(LONG, move || servers.close());
    for _ in &names {
        let (_, outcome) = get.recv_timeout(LONG).unwrap();
        assert_eq!(error(outcome).kind(), std::io::ErrorKind::Interrupted);
    }
}

#[test]
fn a_slow_server_does_not_slow_down_another() {
    let scratch = Scratch::new("fetch");
    let (socket, slow, fast) = (
        scratch.join("s"),
        scratch.join("slow"),
        scratch.join("fast"),
    );
    server(&socket, serving());
    server(&fast, serving());
    let is_over = Arc::new(AtomicBool::new(false));
    let passes = Arc::clone(&is_over);
    holding(&slow, socket, move |_| passes.load(Ordering::SeqCst));
    let files = small_files(&scratch, 32);
    let numbered = files.iter().enumerate();
    let names: Vec<_> = numbered
        .map(|(at, file)| name([&slow, &fast][at % 2], file))
        .collect();
    let servers = servers(LONG);
    let get = start(&servers, &names, 0);
    let next = || {
        let (number, outcome) = get.recv_timeout(LONG).unwrap();
        content(outcome.unwrap()).unwrap();
        number % 2
    };
    // All of the fast server come although the slow one has answered nothing.
    let first: Vec<usize> = (0..16).map(|_| next()).collect();
    assert_eq!(first, [1; 16]);
    is_over.store(true, Ordering::SeqCst);
    let then: Vec<usize> = (0..16).map(|_| next()).collect();
    assert_eq!(then, [0; 16]);
}

/// A writer that replaces all bytes in place, again and again: members have one version's bytes.
#[test]
fn versions_are_never_mixed() {
    let scratch = Scratch::new("fetch");
    let socket = scratch.join("s");
    server(&socket, serving());
    let path = scratch.join("changing");
    let size = 3 << 20;
    std::fs::write(&path, vec![0; size]).unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let (is_over, file) = (Arc::clone(&over), path.clone());
    let writer = std::thread::spawn(move || {
        for value in 1u8.. {
            if is_over.load(Ordering::Relaxed) {
                return;
            }
            // By renaming: a reader with the file open sees one version.
            let new = file.with_extension("new");
            std::fs::write(&new, vec![value % 251; size]).unwrap();
            std::fs::rename(&new, &file).unwrap();
            std::thread::sleep(Duration::from_millis(150));
        }
    });
    let servers = servers(LONG);
    let names = vec![name(&socket, &path); 8];
    let (mut whole, mut problems) = (0, 0);
    for _ in 0..2 {
        for outcome in fetch_all(&servers, &names, 1 << 30) {
            match outcome {
                Ok(fetched) => {
                    let bytes = content(fetched).unwrap();
                    assert_eq!(bytes.len(), size);
                    assert!(bytes.iter().all(|byte| *byte == bytes[0]));
                    whole += 1;
                }
                Err(problem) => {
                    assert_eq!(problem.source.kind(), std::io::ErrorKind::ResourceBusy);
                    problems += 1;
                }
            }
        }
    }
    over.store(true, Ordering::Relaxed);
    writer.join().unwrap();
    println!("{whole} whole, {problems} problems");
}
